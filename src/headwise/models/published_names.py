"""Published names in ours: where each weight of BERT, GPT-2, Llama and GGUF goes in our modules.

A published model is a mapping from names to tensors. Most of its tensors go into ours as they
are, under another name; some lie on their side, and some hold several of ours in one.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from torch import Tensor

from headwise._check import check_each, check_kind, kind, show
from headwise._check_tensors import check_tensor
from headwise.rotary import Layout


class Name(NamedTuple):
    """A weight as it is published, and where it goes; {i} stands for the number of a layer.

    Where several of ours are named, theirs holds them one below the other, in this order.
    """

    theirs: str
    ours: tuple[str, ...]
    transposed: bool = False


def _linear(theirs: str, *ours: str, transposed: bool = False) -> list[Name]:
    """A linear map with a bias."""
    return [
        Name(
            f"{theirs}.{end}", tuple(f"{one}.{end}" for one in ours), transposed and end == "weight"
        )
        for end in ("weight", "bias")
    ]


def _plain(names: Mapping[str, str]) -> list[Name]:
    return [Name(f"{theirs}.weight", (f"{ours}.weight",)) for theirs, ours in names.items()]


# BertModel, of which the pooler is left out.
_BERT, _LAYER = "encoder.layer.{i}", "layers.{i}"
BERT = [
    *_plain(
        {
            "embeddings.word_embeddings": "embedding",
            "embeddings.position_embeddings": "positions",
            "embeddings.token_type_embeddings": "segments",
        }
    ),
    *_linear("embeddings.LayerNorm", "norm"),
    *_linear(f"{_BERT}.attention.self.query", f"{_LAYER}.attention.W_q"),
    *_linear(f"{_BERT}.attention.self.key", f"{_LAYER}.attention.W_k"),
    *_linear(f"{_BERT}.attention.self.value", f"{_LAYER}.attention.W_v"),
    *_linear(f"{_BERT}.attention.output.dense", f"{_LAYER}.attention.W_o"),
    *_linear(f"{_BERT}.attention.output.LayerNorm", f"{_LAYER}.residual_1.norm"),
    *_linear(f"{_BERT}.intermediate.dense", f"{_LAYER}.feed_forward.W_1"),
    *_linear(f"{_BERT}.output.dense", f"{_LAYER}.feed_forward.W_2"),
    *_linear(f"{_BERT}.output.LayerNorm", f"{_LAYER}.residual_2.norm"),
]

# GPT2LMHeadModel, whose linear maps are called Conv1D and have their inputs in rows.
_H, _BLOCK = "transformer.h.{i}", "blocks.{i}"
GPT2 = [
    *_plain({"transformer.wte": "embedding", "transformer.wpe": "position_embedding"}),
    *_linear(f"{_H}.ln_1", f"{_BLOCK}.norm_1"),
    *_linear(
        f"{_H}.attn.c_attn",
        *(f"{_BLOCK}.attention.W_{letter}" for letter in "qkv"),
        transposed=True,
    ),
    *_linear(f"{_H}.attn.c_proj", f"{_BLOCK}.attention.W_o", transposed=True),
    *_linear(f"{_H}.ln_2", f"{_BLOCK}.norm_2"),
    *_linear(f"{_H}.mlp.c_fc", f"{_BLOCK}.feed_forward.W_1", transposed=True),
    *_linear(f"{_H}.mlp.c_proj", f"{_BLOCK}.feed_forward.W_2", transposed=True),
    *_linear("transformer.ln_f", "norm"),
    *_plain({"lm_head": "W_vocab"}),
]

# LlamaForCausalLM.
_MODEL = "model.layers.{i}"
LLAMA = _plain(
    {
        "model.embed_tokens": "embedding",
        f"{_MODEL}.input_layernorm": f"{_BLOCK}.norm_1",
        f"{_MODEL}.self_attn.q_proj": f"{_BLOCK}.attention.W_q",
        f"{_MODEL}.self_attn.k_proj": f"{_BLOCK}.attention.W_k",
        f"{_MODEL}.self_attn.v_proj": f"{_BLOCK}.attention.W_v",
        f"{_MODEL}.self_attn.o_proj": f"{_BLOCK}.attention.W_o",
        f"{_MODEL}.post_attention_layernorm": f"{_BLOCK}.norm_2",
        f"{_MODEL}.mlp.gate_proj": f"{_BLOCK}.feed_forward.W_gate",
        f"{_MODEL}.mlp.up_proj": f"{_BLOCK}.feed_forward.W_1",
        f"{_MODEL}.mlp.down_proj": f"{_BLOCK}.feed_forward.W_2",
        "model.norm": "norm",
        "lm_head": "W_vocab",
    }
)

# The architecture "llama" of GGUF, in which the rows of W_q and W_k are put in order for pairs.
_BLK = "blk.{i}"
GGUF = _plain(
    {
        "token_embd": "embedding",
        f"{_BLK}.attn_norm": f"{_BLOCK}.norm_1",
        f"{_BLK}.attn_q": f"{_BLOCK}.attention.W_q",
        f"{_BLK}.attn_k": f"{_BLOCK}.attention.W_k",
        f"{_BLK}.attn_v": f"{_BLOCK}.attention.W_v",
        f"{_BLK}.attn_output": f"{_BLOCK}.attention.W_o",
        f"{_BLK}.ffn_norm": f"{_BLOCK}.norm_2",
        f"{_BLK}.ffn_gate": f"{_BLOCK}.feed_forward.W_gate",
        f"{_BLK}.ffn_up": f"{_BLOCK}.feed_forward.W_1",
        f"{_BLK}.ffn_down": f"{_BLOCK}.feed_forward.W_2",
        "output_norm": "norm",
        "output": "W_vocab",  # left out where it is the embedding
    }
)

NAMES = {"BERT": BERT, "GPT-2": GPT2, "Llama": LLAMA, "GGUF": GGUF}
LAYOUTS: dict[str, Layout] = {"Llama": "halves", "GGUF": "pairs"}  # of RoPE, where there is one


def renamed(tensors: Mapping[str, Tensor], names: Sequence[Name]) -> dict[str, Tensor]:
    """The tensors under our names, as our modules keep them; the originals stay as they are.

    Args:
        tensors: those of a published model, by their names.
        names: which goes where, one of NAMES.
    """
    check_kind("tensors", tensors, Mapping, expected="tensors by name")
    check_each("names", names, Name, expected="a list of Name")
    rows = {name.theirs: name for name in names}
    found: dict[str, Tensor] = {}
    for theirs, tensor in tensors.items():
        check_kind("tensors", theirs, str, expected="tensors by name")
        check_tensor("tensors", tensor)
        general, number = _without_number(theirs)
        if general not in rows:
            raise ValueError(f"tensors: got {theirs}, expected names such as {names[0].theirs}")
        name = rows[general]
        if not 1 + name.transposed <= tensor.dim() <= 2:
            raise ValueError(f"tensors: got {theirs} of {tensor.dim()} axes, expected a matrix")
        tensor = tensor.mT if name.transposed else tensor
        if tensor.size(0) % len(name.ours):
            raise ValueError(f"tensors: got {theirs} of shape {show(tensor.shape)}, expected rows")
        for ours, part in zip(name.ours, tensor.chunk(len(name.ours)), strict=True):
            found[ours.replace("{i}", number)] = part
    return found


def table(model: str) -> str:
    """The names of one of NAMES as lines: theirs, ours, and what else changes.

    A bias goes where its weight goes.
    """
    check_kind("model", model, str, expected=f"one of {sorted(NAMES)}")
    if model not in NAMES:
        raise ValueError(f"model: got {kind(model)}, expected one of {sorted(NAMES)}")
    rows = []
    for name in NAMES[model]:
        if name.theirs.endswith(".weight"):
            turned = [f"rows for {LAYOUTS[model]}"] if model in LAYOUTS else []
            changes = ["transposed"] * name.transposed + ["packed"] * (len(name.ours) > 1)
            changes += turned if name.ours[0].endswith(("W_q.weight", "W_k.weight")) else []
            first, *others = (one.removesuffix(".weight") for one in name.ours)
            ours = " ".join((first, *(other.rpartition(".")[2] for other in others)))
            rows.append((name.theirs.removesuffix(".weight"), ours, ", ".join(changes)))
    wide = [max(len(row[i]) for row in rows) for i in range(2)]
    lines = (f"{a:{wide[0]}}  {b:{wide[1]}}  {c}".rstrip() for a, b, c in rows)
    return "\n".join(lines)


def _without_number(name: str) -> tuple[str, str]:
    """The name with {i} for the first number in it, and that number."""
    words = name.split(".")
    number = next((word for word in words if word.isascii() and word.isdigit()), "")
    general = ["{i}" if word == number else word for word in words]
    return ".".join(general), number
