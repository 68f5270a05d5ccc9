"""Right calls of what SmolLM2 is read with: files, tokens, names, and the model itself."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType

import torch
from gguf_files import MERGES, small_model, vocabulary

from headwise.choosing import Choice
from headwise.models import byte_tokens, gguf, published_names, smollm2
from right_calls.call import Call, Table

MODULES: list[ModuleType] = [byte_tokens, gguf, published_names, smollm2]
RECORDS = {"gguf.Kind", "gguf.Place", "published_names.Name", "smollm2.SmolLM2"}
COMMANDS = {"smollm2.main", "smollm2.load"}  # loading raises what `weights.find` raises
ANY_TEXT = {"str"}


@cache
def path() -> Path:
    """A small model in a folder of its own."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    return small_model(Path(folder))


def tokens() -> byte_tokens.ByteTokens:
    return byte_tokens.ByteTokens(vocabulary(), MERGES, [0, 1])


def asked(name: str, **arguments: object) -> Call:
    arguments = {"loaded": smollm2.read(path()), "prompt": "the an", **arguments}
    return Call(getattr(smollm2, name), arguments, {"prompt": ANY_TEXT})


RIGHT: Table = {
    "byte_tokens.digit_words": lambda: Call(
        byte_tokens.digit_words, {"text": "in 1999"}, {"text": ANY_TEXT}, list
    ),
    "byte_tokens.ByteTokens": lambda: Call(
        byte_tokens.ByteTokens,
        {"vocabulary": vocabulary(), "merges": MERGES, "special": [0, 1]},
    ),
    "byte_tokens.ByteTokens.encode": lambda: Call(
        tokens().encode, {"text": "the an"}, {"text": ANY_TEXT}
    ),
    "byte_tokens.ByteTokens.decode": lambda: Call(tokens().decode, {"tokens": [3, 4]}),
    "gguf.GGUF": lambda: Call(gguf.GGUF, {"path": path()}),
    "gguf.GGUF.tensor": lambda: Call(gguf.GGUF(path()).tensor, {"name": "output_norm.weight"}),
    "published_names.renamed": lambda: Call(
        published_names.renamed,
        {
            "tensors": {"model.layers.0.self_attn.q_proj.weight": torch.ones(4, 4)},
            "names": published_names.LLAMA,
        },
    ),
    "published_names.table": lambda: Call(published_names.table, {"model": "Llama"}),
    "smollm2.read": lambda: Call(smollm2.read, {"path": path()}),
    "smollm2.write": lambda: asked(
        "write",
        max_new=3,
        choice=Choice(top_k=3),
        generator=torch.Generator().manual_seed(0),
    ),
    "smollm2.look": lambda: asked("look"),
}
