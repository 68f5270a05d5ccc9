"""Attention by hand: every number on the way, under the name that the chapter gives it."""

import math
from typing import NamedTuple

from torch import Tensor

from headwise._check_tensors import check_alike, check_floats, check_shape
from headwise.attention import attention


class Steps(NamedTuple):
    """What is computed, in order; each token has a row."""

    Q: Tensor
    K: Tensor
    V: Tensor
    dots: Tensor
    scores: Tensor
    powers: Tensor
    total: Tensor
    weights: Tensor
    out: Tensor


def by_hand(X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Steps:
    """Self-attention of one sequence without a mask, step by step.

    X is (seq_len, d_model), W_q and W_k are (d_model, d_k), W_v is (d_model, d_v). The weights are
    powers / total. Scores beyond about 88 have no power in float32, but they have weights:
    `attention` subtracts the largest score of a row from all of them first.
    """
    check_shape("X", X, ("seq_len", "d_model"))
    check_floats("X", X)
    check_shape("W_q", W_q, (X.size(1), "d_k"))
    if W_q.size(1) == 0:
        raise ValueError("W_q: got 0 columns, expected at least one")
    check_shape("W_k", W_k, (X.size(1), W_q.size(1)))
    check_shape("W_v", W_v, (X.size(1), "d_v"))
    for name, W in (("W_q", W_q), ("W_k", W_k), ("W_v", W_v)):
        check_alike(name, W, "X", X)
    Q = X @ W_q  # (seq_len, d_k)
    K = X @ W_k  # (seq_len, d_k)
    V = X @ W_v  # (seq_len, d_v)
    dots = Q @ K.transpose(0, 1)  # (seq_len, seq_len)
    scores = dots / math.sqrt(K.size(1))
    powers = scores.exp()
    total = powers.sum(dim=-1, keepdim=True)  # (seq_len, 1)
    out, weights = attention(Q, K, V)
    return Steps(Q, K, V, dots, scores, powers, total, weights, out)
