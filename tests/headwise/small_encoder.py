"""A made-up encoder in the layout in which MiniLM is published, small enough to be altered."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from headwise.models.wordpiece import SPECIAL

PIECES = [*SPECIAL, "the", "cat", "sat", "on", "mat", "##s", "!"]
CONFIG: dict[str, Any] = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "vocab_size": len(PIECES),
    "hidden_size": 8,
    "num_attention_heads": 2,
    "num_hidden_layers": 3,
    "intermediate_size": 12,
    "max_position_embeddings": 16,
    "layer_norm_eps": 1e-12,
    "type_vocab_size": 2,
}
LAYER = {
    "attention.self.query": (8, 8),
    "attention.self.key": (8, 8),
    "attention.self.value": (8, 8),
    "attention.output.dense": (8, 8),
    "attention.output.LayerNorm": (8,),
    "intermediate.dense": (12, 8),
    "output.dense": (8, 12),
    "output.LayerNorm": (8,),
}


def published_state() -> dict[str, Tensor]:
    """Random weights under the names that BERT's have, with the parts that nobody needs."""
    torch.manual_seed(0)
    state = {
        "embeddings.word_embeddings.weight": torch.randn(len(PIECES), 8),
        "embeddings.position_embeddings.weight": torch.randn(16, 8),
        "embeddings.token_type_embeddings.weight": torch.randn(2, 8),
        "embeddings.LayerNorm.weight": torch.randn(8),
        "embeddings.LayerNorm.bias": torch.randn(8),
        "embeddings.position_ids": torch.arange(16)[None],
        "pooler.dense.weight": torch.zeros(8, 8),
    }
    for layer in range(3):
        for name, shape in LAYER.items():
            state[f"encoder.layer.{layer}.{name}.weight"] = torch.randn(*shape)
            state[f"encoder.layer.{layer}.{name}.bias"] = torch.randn(shape[0])
    return state


def publish(
    folder: Path, state: dict[str, Tensor] | None = None, pieces: list[str] = PIECES, **config: Any
) -> Path:
    """Write the three files into a folder, with what the test wants to be different."""
    folder.mkdir(exist_ok=True)
    settings = {name: value for name, value in (CONFIG | config).items() if value is not None}
    (folder / "config.json").write_text(json.dumps(settings))
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    save_file(published_state() if state is None else state, folder / "model.safetensors")
    return folder
