"""Small made-up GGUF files: a writer, a model shaped like Llama, and a reference for its tokens."""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGMLQuantizationType, quants
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor

from headwise.models.byte_tokens import LETTERS

NUMBERS = {"F32": 0, "F16": 1, "Q4_1": 3, "Q8_0": 8}
VALUE_KINDS: dict[type, tuple[int, str]] = {bool: (7, "?"), int: (4, "I"), float: (6, "f")}
Tensors = Mapping[str, tuple[str, Tensor]]  # the kind in which each is kept


def string(text: str | bytes) -> bytes:
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(data)) + data


def value(x: Any) -> tuple[int, bytes]:
    """The type of a value, and its bytes."""
    if isinstance(x, str | bytes):
        return 8, string(x)
    if isinstance(x, list):
        kind = value(x[0])[0] if x else 4
        parts = b"".join(value(one)[1] for one in x)
        return 9, struct.pack("<IQ", kind, len(x)) + parts
    number, letter = VALUE_KINDS[type(x)]
    return number, struct.pack(f"<{letter}", x)


def quantised(kind: str, x: Tensor) -> bytes:
    """The numbers as the reference library keeps them."""
    data = quants.quantize(x.numpy().astype(np.float32), GGMLQuantizationType(NUMBERS[kind]))
    return bytes(np.ascontiguousarray(data).tobytes())


def header(metadata: Mapping[str, Any], entries: list[bytes], version: int = 3) -> bytes:
    keys = [(key, *value(x)) for key, x in metadata.items()]
    pairs = [string(key) + struct.pack("<I", kind) + data for key, kind, data in keys]
    counts = struct.pack("<IQQ", version, len(entries), len(pairs))
    return b"GGUF" + counts + b"".join(pairs) + b"".join(entries)


def entry(name: str, shape: tuple[int, ...], kind: int, offset: int) -> bytes:
    sizes = struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
    return string(name) + sizes + struct.pack("<IQ", kind, offset)


def gguf_bytes(metadata: Mapping[str, Any], tensors: Tensors) -> bytes:
    """A whole file."""
    align = metadata.get("general.alignment", 32)
    entries, data = [], b""
    for name, (kind, x) in tensors.items():
        entries.append(entry(name, tuple(x.shape), NUMBERS[kind], len(data)))
        data += quantised(kind, x)
        data += b"\0" * (-len(data) % align)
    start = header(metadata, entries)
    return start + b"\0" * (-len(start) % align) + data


MERGES = ["t h", "th e", "Ġ the", "a n"]


def vocabulary() -> list[str]:
    """Every byte that is a letter of GPT-2's, two joined pieces and a special token."""
    return ["<end>", "<begin>", *LETTERS, "th", "the", "Ġthe", "an"]


def metadata(**changes: Any) -> dict[str, Any]:
    """What a header says of the model; a change of None leaves something out."""
    words = vocabulary()
    said = {
        "general.architecture": "llama",
        "llama.block_count": 2,
        "llama.context_length": 64,
        "llama.embedding_length": 32,
        "llama.feed_forward_length": 64,
        "llama.attention.head_count": 4,
        "llama.attention.head_count_kv": 2,
        "llama.rope.freq_base": 500.0,
        "llama.rope.dimension_count": 8,
        "llama.attention.layer_norm_rms_epsilon": 2.0**-17,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": words,
        "tokenizer.ggml.token_type": [3, 3] + [1] * (len(words) - 2),
        "tokenizer.ggml.merges": MERGES,
        "tokenizer.ggml.eos_token_id": 0,
    }
    said |= {key.replace("__", "."): x for key, x in changes.items()}
    return {key: x for key, x in said.items() if x is not None}


def weights(tied: bool = True) -> dict[str, tuple[str, Tensor]]:
    """Random weights, most of them quantised."""
    generator = torch.Generator().manual_seed(0)

    def drawn(kind: str, *shape: int) -> tuple[str, Tensor]:
        return kind, torch.randn(shape, generator=generator) / 4

    vocab = len(vocabulary())
    found = {"token_embd.weight": drawn("Q8_0", vocab, 32)}
    for i in range(2):
        found |= {
            f"blk.{i}.attn_norm.weight": drawn("F32", 32),
            f"blk.{i}.attn_q.weight": drawn("Q4_1", 32, 32),
            f"blk.{i}.attn_k.weight": drawn("Q4_1", 16, 32),
            f"blk.{i}.attn_v.weight": drawn("Q4_1", 16, 32),
            f"blk.{i}.attn_output.weight": drawn("Q4_1", 32, 32),
            f"blk.{i}.ffn_norm.weight": drawn("F32", 32),
            f"blk.{i}.ffn_gate.weight": drawn("Q4_1", 64, 32),
            f"blk.{i}.ffn_up.weight": drawn("F16", 64, 32),
            f"blk.{i}.ffn_down.weight": drawn("Q4_1", 32, 64),
        }
    found["output_norm.weight"] = drawn("F32", 32)
    return found if tied else found | {"output.weight": drawn("F16", vocab, 32)}


def small_model(folder: Path, *, tied: bool = True, **changes: Any) -> Path:
    """A GGUF file of a model that can be read; changes are made to its header."""
    path = folder / "small.gguf"
    path.write_bytes(gguf_bytes(metadata(**changes), weights(tied)))
    return path


def reference(words: list[str], merges: list[str], special: list[int]) -> Tokenizer:
    """What the library `tokenizers` makes of the same vocabulary, digits cut off first."""
    numbers = {word: token for token, word in enumerate(words)}
    theirs = Tokenizer(models.BPE(numbers, [tuple(merge.split(" ")) for merge in merges]))
    theirs.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    theirs.decoder = decoders.ByteLevel()
    theirs.add_special_tokens([words[token] for token in special])
    return theirs
