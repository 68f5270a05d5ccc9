"""Attention, with a mask and without; one head and several, whose weights are given."""

from __future__ import annotations

from copy import copy

import torch
from torch import Tensor
from torch.func import functional_call

from headwise import MultiHeadAttention, ParameterHead
from headwise.attention import attention
from headwise.by_hand import by_hand
from headwise.drawing.arrows import compare
from sitekit.graph_inputs import Floats, Mask, Number
from sitekit.graphs import Program

_HEAD = ParameterHead(4)
_HEADS = MultiHeadAttention(8, 2, bias=False)
_Q, _K, _V = (
    Floats("batch", "heads", "query", "d_k"),
    Floats("batch", "heads", "key", "d_k"),
    Floats("batch", "heads", "key", "d_v"),
)
_X, _W = Floats("batch", "seq_len", 4), Floats(4, 4, most=1.0)
_X8, _W8 = Floats("batch", "seq_len", 8), Floats(8, 8, most=1.0)
_WIDTH = "num_heads*d_k"


def head(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor) -> object:
    """What one head makes of x, with these weights and no biases."""
    weights = {"W_q": W_q, "W_k": W_k, "W_v": W_v, "W_o": W_o}
    biases = {name: torch.zeros(4) for name in ("b_q", "b_k", "b_v", "b_o")}
    return functional_call(_HEAD, {**weights, **biases}, (x,))


def multi_head(
    x: Tensor, mask: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor
) -> object:
    """What two heads make of x, with these weights, as nn.Linear holds them: (out, in)."""
    given = zip(("W_q", "W_k", "W_v", "W_o"), (W_q, W_k, W_v, W_o), strict=True)
    weights = {f"{name}.weight": weight for name, weight in given}
    return functional_call(_HEADS, weights, (x, x, x, mask), {"need_weights": True})


def any_heads(
    query: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, num_heads: int
) -> object:
    """The same without a mask, for any width and any number of heads."""
    layer = copy(_HEADS)
    layer.d_model = layer.key_dim = layer.value_dim = query.size(-1)
    layer.num_heads = layer.num_kv_heads = num_heads
    layer.d_k = layer.d_v = query.size(-1) // num_heads
    given = zip(("W_q", "W_k", "W_v", "W_o"), (W_q, W_k, W_v, W_o), strict=True)
    weights = {f"{name}.weight": weight for name, weight in given}
    return functional_call(layer, weights, (query,), {"need_weights": True})


def refusal() -> str:
    """What the library says of heads that do not divide the width, with names for the sizes."""
    try:
        MultiHeadAttention(97, 89)
    except ValueError as error:
        return str(error).replace("97", "{d_model}").replace("89", "{num_heads}")
    raise AssertionError("89 heads divide a width of 97")


PROGRAMS = {
    "attention": Program(attention, {"Q": _Q, "K": _K, "V": _V}),
    "attention_masked": Program(
        attention, {"Q": _Q, "K": _K, "V": _V, "mask": Mask("batch", "heads", "query", "key")}
    ),
    "by_hand": Program(
        by_hand,
        {
            "X": Floats("seq_len", "d_model"),
            "W_q": Floats("d_model", "d_k", most=1.0),
            "W_k": Floats("d_model", "d_k", most=1.0),
            "W_v": Floats("d_model", "d_v", most=1.0),
        },
    ),
    "compare": Program(compare, {"query": Floats(2), "keys": Floats("key", 2)}),
    "head": Program(head, {"x": _X, "W_q": _W, "W_k": _W, "W_v": _W, "W_o": _W}, _HEAD),
    "multi_head": Program(
        multi_head,
        {
            "x": _X8,
            "mask": Mask("seq_len", "seq_len"),
            **dict.fromkeys(("W_q", "W_k", "W_v", "W_o"), _W8),
        },
        _HEADS,
    ),
    "any_heads": Program(
        any_heads,
        {
            "query": Floats("batch", "seq_len", _WIDTH),
            **dict.fromkeys(("W_q", "W_k", "W_v", "W_o"), Floats(_WIDTH, _WIDTH, most=1.0)),
            "num_heads": Number("num_heads"),
        },
        refusal=refusal(),
    ),
}
