"""What √d_k is for: attention without it, how far scores spread, and what gradient is left."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from headwise.attention import attention
from sitekit.graph_inputs import Floats
from sitekit.graphs import Program


def attention_unscaled(Q: Tensor, K: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
    """The library's attention, with queries multiplied by what it divides them by."""
    return attention(Q * math.sqrt(Q.size(-1)), K, V)


def softmax_gradient(weights: Tensor) -> Tensor:
    """The norm of softmax's Jacobian where it gives these weights, mean over the queries.

    The derivative of weight i by score j is w_i (1 - w_i) where i is j, and -w_i w_j elsewhere.
    """
    one = torch.eye(weights.size(-1), dtype=weights.dtype)
    jacobian = weights[:, :, None] * (one - weights[:, None, :])  # (query, key, key)
    norms: Tensor = jacobian.flatten(1).norm(dim=-1)
    return norms.mean(dim=0)


PROGRAMS = {
    "attention_unscaled": Program(
        attention_unscaled,
        {
            "Q": Floats("batch", "heads", "query", "d_k"),
            "K": Floats("batch", "heads", "key", "d_k"),
            "V": Floats("batch", "heads", "key", "d_v"),
        },
    ),
    "softmax_gradient": Program(softmax_gradient, {"weights": Floats("query", "key", most=32.0)}),
    "spread": Program(torch.std, {"scores": Floats("query", "key", most=32.0)}),
}
