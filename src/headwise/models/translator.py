"""A small Transformer that translates Chinese numerals into English words, trained and shipped.

It sees pairs such as 二百三十五 and two hundred thirty five alone, character by character on one
side and word by word on the other, and none of the rules that made them.

    python -m headwise.models.translator translate 三百零五
    python -m headwise.models.translator train --out my.pt
    python -m headwise.models.translator evaluate
"""

import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

import torch
from torch import Tensor

from headwise._check import check_each, check_flags, check_floating, check_kind, check_whole
from headwise._check_tensors import check_alike, check_readable, check_tokens
from headwise._command import Parser
from headwise.models.numerals import (
    CHARACTERS,
    ONES,
    TENS,
    THOUSANDS,
    parse_chinese,
    to_chinese,
)
from headwise.transformer import Transformer

PAD, BOS, EOS = 0, 1, 2
SRC_TOKENS = ("<pad>", *CHARACTERS)
TGT_TOKENS = ("<pad>", "<bos>", "<eos>", *ONES, *TENS[2:], "hundred", *THOUSANDS[1:])
MAX_WORDS = 15  # the longest number has 14, and then comes <eos>


# Tokens


def encode(texts: Sequence[str]) -> Tensor:
    """Chinese numerals as source tokens, a token a character: (batch, src_len)."""
    check_each("texts", texts, str, expected="a list of strings")
    if "" in texts:
        raise ValueError("texts: got '' in them, expected numerals")
    return _padded([_tokens(text, SRC_TOKENS) for text in texts])


def encode_words(texts: Sequence[str]) -> Tensor:
    """English words as target tokens, between <bos> and <eos>: (batch, tgt_len)."""
    check_each("texts", texts, str, expected="a list of strings")
    return _padded([[BOS, *_tokens(text.split(), TGT_TOKENS), EOS] for text in texts])


def decode_words(tokens: Tensor) -> list[str]:
    """Target tokens (batch, tgt_len) as English words, up to <eos> and without <bos>."""
    check_tokens("tokens", tokens, ("batch", "tgt_len"), len(TGT_TOKENS))
    check_readable("tokens", tokens)
    texts = []
    for row in tokens.tolist():
        row = row[: row.index(EOS)] if EOS in row else row
        texts.append(" ".join(TGT_TOKENS[token] for token in row if token not in (PAD, BOS)))
    return texts


def _tokens(pieces: Sequence[str], vocabulary: Sequence[str]) -> list[int]:
    for piece in pieces:
        if piece not in vocabulary:
            raise ValueError(f"texts: got {piece!r} in them, expected {' '.join(vocabulary)}")
    return [vocabulary.index(piece) for piece in pieces]


def _padded(rows: Sequence[list[int]]) -> Tensor:
    longest = max(map(len, rows), default=0)
    filled = [row + [PAD] * (longest - len(row)) for row in rows]
    return torch.tensor(filled, dtype=torch.long).reshape(len(rows), longest)


# The model

MODEL: dict[str, Any] = {"d_model": 64, "num_heads": 4, "num_layers": 2, "d_ff": 128}
CHECKPOINT = Path(__file__).with_suffix(".pt")
_FORKING = threading.Lock()


def new_model(seed: int = 0) -> Transformer:
    """The translator before it has learned anything; the seed decides its weights."""
    check_whole("seed", seed, 0, 2**63 - 1)
    # The caller's random numbers stay as they are, even if several threads do this at once.
    with _FORKING, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return _model()


def _model() -> Transformer:
    return Transformer(len(SRC_TOKENS), len(TGT_TOKENS), **MODEL, dropout=0.0, norm_first=True)


def load(path: str | Path = CHECKPOINT) -> Transformer:
    """The trained translator: the one that comes with the library, or your own."""
    check_kind("path", path, str, Path)
    model = new_model()  # not on the meta device, which would load torch.compile for two seconds
    try:
        model.load_state_dict(torch.load(path, weights_only=True), assign=True)
        for weight in model.parameters():
            check_readable("weight", weight)
            check_alike("weight", weight, "the first", model.src_embedding.weight)
            check_floating("dtype", weight.dtype)
    except Exception as error:  # what comes out of a file may be of any kind
        raise ValueError(f"path: got {path}, expected the weights of a translator") from error
    return model.eval()


def check_translator(model: Transformer) -> None:
    """The model is one of `new_model`, trained or not."""
    check_kind("model", model, Transformer)
    vocabularies = (model.src_vocab, model.tgt_vocab)
    if vocabularies != (len(SRC_TOKENS), len(TGT_TOKENS)):
        raise ValueError(
            f"model: got vocabularies of {vocabularies[0]} and {vocabularies[1]} tokens, "
            f"expected {len(SRC_TOKENS)} and {len(TGT_TOKENS)}"
        )
    if model.src_embedding.weight.is_meta:
        raise ValueError("model: got one on the meta device, expected weights with values")


def translate(texts: Sequence[str], model: Transformer | None = None) -> list[str]:
    """What the model says in English for each Chinese numeral; by default the trained model.

    Every spelling of `parse_chinese` may come; the model itself reads that of `to_chinese`.
    """
    check_each("texts", texts, str, expected="a list of strings")
    if model is not None:
        check_translator(model)
    try:
        texts = [to_chinese(parse_chinese(text)) for text in texts]
    except ValueError as error:  # of one text; the caller knows them as texts
        raise ValueError(f"texts: {str(error).removeprefix('text: ')}") from None
    return say(load() if model is None else model, texts) if texts else []


def say(model: Transformer, texts: Sequence[str], *, use_cache: bool = True) -> list[str]:
    """The model's words for numerals that are spelled as `to_chinese` does, right or wrong."""
    check_flags(use_cache=use_cache)
    check_translator(model)
    src = encode(texts).to(model.src_embedding.weight.device)
    tokens: Any = model.generate(src, MAX_WORDS, BOS, EOS, use_cache=use_cache)
    return decode_words(tokens)


def _lines(file: TextIO) -> list[str]:
    """The lines of a file in which something stands."""
    try:
        return [line for line in file if line.strip()]
    except UnicodeDecodeError as error:
        raise ValueError(f"text: got bytes that are not {error.encoding}, expected it") from error


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 0 if all went well, 2 with one line of why if the input was wrong."""
    from headwise.models import translator_training as training  # it needs this module itself

    parser = Parser(
        prog="python -m headwise.models.translator",
        description="Chinese numerals to English words.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    to_translate = commands.add_parser("translate", help="say Chinese numerals in English")
    to_translate.add_argument("text", nargs="*", help="numerals; without any, the lines of stdin")
    to_evaluate = commands.add_parser("evaluate", help="test on numbers never learned from")
    to_train = commands.add_parser("train", help="train from random weights")
    to_train.add_argument("--seed", type=int, default=0)
    to_train.add_argument("--steps", type=int, default=training.STEPS)
    to_train.add_argument("--out", type=Path, default=Path("translator.pt"))
    to_train.add_argument("--resume", action="store_true", help="go on after an interruption")
    for command in (to_evaluate, to_train):
        command.add_argument("--count", type=int, default=10_000, help="numbers to test on")
    options = parser.read(arguments)
    try:
        if options.command == "translate":
            texts = options.text or _lines(sys.stdin)
            for words in translate(texts):
                print(words)
        elif options.command == "evaluate":
            for name, right in training.accuracy(load(), options.count).items():
                print(f"{name}: {right} exact")
        else:
            training.train(
                options.out,
                seed=options.seed,
                steps=options.steps,
                count=options.count,
                resume=options.resume,
            )
    except (ValueError, OSError) as error:
        line = " ".join(str(error).splitlines())  # a path may break one
        print(f"headwise.models.translator: {line}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
