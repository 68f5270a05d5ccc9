"""Scaled dot-product attention: written out, and through PyTorch's fused kernel."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from headwise._check import check_attention
from headwise.masks import causal_mask, combine


def attention(
    Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None, *, dropout: float = 0.0
) -> tuple[Tensor, Tensor]:
    """The values that each query gathers, and the weights with which it gathers them.

    Q is (..., query, d_k), K is (..., key, d_k), V is (..., key, d_v), with any number of leading
    axes. The mask is boolean, True where a query may see a key, and broadcasts to
    (..., query, key). A query that may see nothing gathers zeros. Dropout is applied whenever
    it is not 0: pass 0 outside training.

    Returns out (..., query, d_v) and weights (..., query, key).
    """
    check_attention(Q, K, V, mask, dropout)
    d_k = Q.size(-1)

    scores = Q @ K.transpose(-2, -1) / math.sqrt(d_k)  # (..., query, key)
    if mask is not None:
        # The lowest finite number, because a row of nothing but -inf would turn into NaN.
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        # Softmax has shared out 1 even in a row that may see nothing: here it becomes 0.
        weights = weights.masked_fill(~mask, 0.0)
    weights = F.dropout(weights, dropout)
    out = weights @ V  # (..., query, d_v)
    return out, weights


def fused_attention(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    mask: Tensor | None = None,
    *,
    dropout: float = 0.0,
    is_causal: bool = False,
) -> Tensor:
    """The same output as `attention`, without ever holding all the weights in memory.

    Shapes and mask are those of `attention`. With is_causal, each query also sees no key later
    than itself, where the last query stands at the last key.

    Returns out (..., query, d_v).
    """
    check_attention(Q, K, V, mask, dropout)
    query, key = Q.size(-2), K.size(-2)
    if query == 1:
        is_causal = False  # the last query sees every key
    # The kernel's own is_causal takes no mask beside it, and puts the first query at the first key.
    if is_causal and (mask is not None or query != key):
        mask = combine(mask, causal_mask(query, key, device=Q.device))
        is_causal = False
    return F.scaled_dot_product_attention(Q, K, V, mask, dropout, is_causal)
