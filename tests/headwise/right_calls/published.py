"""Right calls of what reads published models: on made-up ones, and nothing is fetched."""

import tempfile
from functools import cache
from pathlib import Path

import torch
from small_encoder import PIECES, publish

from headwise.models import minilm, wordpiece
from right_calls.call import SEEN, Call, Table, of

MODULES = [minilm, wordpiece]
RECORDS = {"minilm.Seen"}
TOKENS = torch.tensor([[2, 5, 3], [2, 3, 0]])
WORDS = wordpiece.WordPiece(PIECES)
SIZES = {"d_model": 8, "num_heads": 2, "num_layers": 1, "d_ff": 12, "max_len": 4}
SENTENCES = {"sentences": ["the cat", "cats!"]}


@cache
def folder() -> Path:
    return publish(Path(tempfile.mkdtemp()))


def small() -> minilm.MiniLM:
    return minilm.MiniLM(WORDS, **SIZES)


RIGHT: Table = {
    "minilm.MiniLM": lambda: Call(
        minilm.MiniLM,
        {"tokenizer": WORDS, **SIZES, "eps": 1e-12, "segments": 2},
        {"d_ff": {"None"}},
    ),
    "minilm.MiniLM.embed": lambda: of(small(), "embed", **SENTENCES, batch_size=2),
    "minilm.MiniLM.encode": lambda: of(small(), "encode", **SENTENCES),
    "minilm.MiniLM.forward": lambda: of(
        small(),
        tokens=TOKENS,
        mask=SEEN,
        need_weights=False,
        free={"tokens": {"longer"}},
    ),
    "minilm.MiniLM.pool": lambda: of(small(), "pool", states=torch.randn(2, 3, 8), tokens=TOKENS),
    "minilm.load": lambda: Call(minilm.load, {"folder": folder()}, {"folder": {"str", "there"}}),
    "minilm.table": lambda: Call(
        minilm.table,
        {"pieces": ["a", "b"], "weights": torch.ones(2, 2)},
        {"weights": {"double", "half"}},
    ),
    "wordpiece.WordPiece": lambda: Call(wordpiece.WordPiece, {"vocabulary": PIECES}),
    "wordpiece.WordPiece.decode": lambda: Call(WORDS.decode, {"tokens": [5, 6]}),
    "wordpiece.WordPiece.encode": lambda: Call(
        WORDS.encode, {"text": "the cat", "max_len": 8}, {"text": {"str"}}
    ),
    "wordpiece.WordPiece.pieces": lambda: Call(
        WORDS.pieces, {"text": "the cat"}, {"text": {"str"}}
    ),
    "wordpiece.words": lambda: Call(wordpiece.words, {"text": "the cat"}, {"text": {"str"}}),
}
