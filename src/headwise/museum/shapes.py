"""Four bugs that put numbers on the wrong axis and return the right shape."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

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


def every_head_sees_every_token(split: Callable[[Tensor, int], Tensor]) -> None:
    """Write each token's number all over its vector: every head must then read 0, 1, 2, …"""
    tokens = torch.arange(6.0)[None, :, None].expand(2, 6, 8)
    heads = split(tokens, 4)
    for h in range(4):
        found = heads[0, h, :, 0].tolist()
        assert found == [0, 1, 2, 3, 4, 5], f"head {h} reads tokens {found}"


# X3: softmax over the wrong axis


def weights_over_queries(scores: Tensor) -> Tensor:
    """Meant to share out 1 for each query."""
    return torch.softmax(scores, dim=-2)


def weights_over_keys(scores: Tensor) -> Tensor:
    """Right: shares 1 among the keys, for each query."""
    return torch.softmax(scores, dim=-1)


def rows_sum_to_one(weights: Callable[[Tensor], Tensor]) -> None:
    """What a query gives to all keys together must be 1."""
    scores = torch.linspace(-2, 2, 2 * 3 * 4 * 5).view(2, 3, 4, 5).sin()
    sums = weights(scores).sum(-1)
    assert torch.allclose(sums, torch.ones(2, 3, 4)), f"a row sums to {sums[0, 0, 0]:.2f}"


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


def every_token_stays_itself(merge: Callable[[Tensor], Tensor]) -> None:
    """Write each token's number into all its heads: row t of the output must be t and only t."""
    heads = torch.arange(3.0)[None, None, :, None].expand(1, 2, 3, 4)
    merged = merge(heads)
    for t in range(3):
        found = sorted(set(merged[0, t].tolist()))
        assert found == [t], f"row {t} holds tokens {found}"


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


def scores_are_dot_products(scores: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Score (i, j) must be the dot product of query i and key j, up to one factor for all."""
    generator = torch.Generator().manual_seed(0)
    Q, K = torch.randn(2, 1, 1, 3, 4, generator=generator)
    found = scores(Q, K)[0, 0]
    expected = torch.einsum("id,jd->ij", Q[0, 0], K[0, 0])
    likeness = F.cosine_similarity(found.flatten(), expected.flatten(), dim=0).item()
    assert likeness > 0.999, f"the scores resemble the dot products by {likeness:.2f}, not 1"


SHAPES = (
    Exhibit("X1", split_by_reshape, split_by_transpose, every_head_sees_every_token),
    Exhibit("X3", weights_over_queries, weights_over_keys, rows_sum_to_one),
    Exhibit("X10", merge_without_transpose, merge_with_transpose, every_token_stays_itself),
    Exhibit("X11", transpose_by_view, transpose_by_transpose, scores_are_dot_products),
)
