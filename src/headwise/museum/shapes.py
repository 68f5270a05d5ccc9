"""Four bugs that put numbers on the wrong axis and return the right shape."""

from collections.abc import Callable
from itertools import product
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from headwise.museum.detecting import answer
from headwise.museum.exhibit import Exhibit

# X1: reshape without transpose


def split_by_reshape(x: Tensor, num_heads: int) -> Tensor:
    """Meant to give each head its part of every token."""
    batch, seq_len, d_model = x.shape
    d_k = d_model // num_heads
    return x.reshape(batch, num_heads, seq_len, d_k)  # (batch, num_heads, seq_len, d_k)


def split_by_transpose(x: Tensor, num_heads: int) -> Tensor:
    """Right: cuts each token's vector first, then brings the heads forward."""
    batch, seq_len, d_model = x.shape
    d_k = d_model // num_heads
    x = x.reshape(batch, seq_len, num_heads, d_k)  # (batch, seq_len, num_heads, d_k)
    return x.transpose(1, 2)  # (batch, num_heads, seq_len, d_k)


def every_head_sees_every_token(split: Callable[[Tensor, int], Any]) -> None:
    """Number all cells, eight to a token: head h must find its own two of every token, in order."""
    x = torch.arange(96.0).view(2, 6, 8)
    heads = answer("split", split, x.clone(), 4, shape=(2, 4, 6, 2))
    for b, h in product(range(2), range(4)):
        tokens = (heads[b, h] // 8 - 6 * b)[:, 0].tolist()
        assert tokens == [0, 1, 2, 3, 4, 5], f"head {h} of item {b} reads tokens {tokens}"
        found, expected = heads[b, h].tolist(), x[b, :, 2 * h : 2 * h + 2].tolist()
        assert found == expected, f"head {h} of item {b} holds cells {found}, not {expected}"


# X3: softmax over the wrong axis


def weights_over_queries(scores: Tensor) -> Tensor:
    """Meant to give each query weights that sum to 1."""
    return torch.softmax(scores, dim=-2)


def weights_over_keys(scores: Tensor) -> Tensor:
    """Right: for each query, the weights of its keys sum to 1."""
    return torch.softmax(scores, dim=-1)


def rows_sum_to_one(weights: Callable[[Tensor], Any]) -> None:
    """What a query gives to all keys together must be 1, and no key may get less than 0."""
    scores = torch.arange(120.0).view(2, 3, 4, 5).sin()
    found = answer("weights", weights, scores, shape=(2, 3, 4, 5))
    sums = found.sum(-1).flatten()
    worst = sums[(sums - 1).abs().argmax()].item()
    assert abs(worst - 1) < 0.01, f"a row sums to {worst:.2f}"
    assert found.min() >= 0, f"a key gets the weight {found.min():.2f}"


# X10: heads merged without the transpose


def merge_without_transpose(x: Tensor) -> Tensor:
    """Meant to put the heads of each token together again."""
    batch, num_heads, seq_len, d_k = x.shape
    return x.reshape(batch, seq_len, num_heads * d_k)  # (batch, seq_len, num_heads * d_k)


def merge_with_transpose(x: Tensor) -> Tensor:
    """Right: brings a token's heads together before joining them."""
    batch, num_heads, seq_len, d_k = x.shape
    x = x.transpose(1, 2)  # (batch, seq_len, num_heads, d_k)
    return x.reshape(batch, seq_len, num_heads * d_k)  # (batch, seq_len, num_heads * d_k)


def every_token_stays_itself(merge: Callable[[Tensor], Any]) -> None:
    """Number all cells, eight to a token, and split them: merged, each must be in its old place."""
    x = torch.arange(48.0).view(2, 3, 8)
    heads = x.view(2, 3, 2, 4).transpose(1, 2).contiguous()  # (2, 2, 3, 4)
    merged = answer("merge", merge, heads, shape=(2, 3, 8))
    for b, t in product(range(2), range(3)):
        tokens = sorted(set((merged[b, t] // 8 - 3 * b).tolist()))
        assert tokens == [t], f"row {t} of item {b} holds tokens {tokens}"
        found, expected = merged[b, t].tolist(), x[b, t].tolist()
        assert found == expected, f"row {t} of item {b} holds cells {found}, not {expected}"


# X11: view on the wrong axes giving the right shape


def transpose_by_view(Q: Tensor, K: Tensor) -> Tensor:
    """Meant to compare each query with each key."""
    batch, num_heads, key, d_k = K.shape
    K_t = K.view(batch, num_heads, d_k, key)  # (batch, num_heads, d_k, key)
    return Q @ K_t  # (batch, num_heads, query, key)


def transpose_by_transpose(Q: Tensor, K: Tensor) -> Tensor:
    """Right: rows become columns."""
    K_t = K.transpose(-2, -1)  # (batch, num_heads, d_k, key)
    return Q @ K_t  # (batch, num_heads, query, key)


def scores_are_dot_products(scores: Callable[[Tensor, Tensor], Any]) -> None:
    """Score (i, j) must be the dot product of query i and key j, up to one factor for all."""
    generator = torch.Generator().manual_seed(0)
    Q = torch.randn(2, 3, 4, 6, generator=generator)
    K = torch.randn(2, 3, 5, 6, generator=generator)
    expected = torch.einsum("bhid,bhjd->bhij", Q, K).double().flatten()
    found = answer("scores", scores, Q, K, shape=(2, 3, 4, 5)).flatten()
    likeness = F.cosine_similarity(found, expected, dim=0).item()
    assert likeness > 0.999, f"the scores resemble the dot products by {likeness:.2f}, not 1"


SHAPES = (
    Exhibit("X1", split_by_reshape, split_by_transpose, every_head_sees_every_token),
    Exhibit("X3", weights_over_queries, weights_over_keys, rows_sum_to_one),
    Exhibit("X10", merge_without_transpose, merge_with_transpose, every_token_stays_itself),
    Exhibit("X11", transpose_by_view, transpose_by_transpose, scores_are_dot_products),
)
