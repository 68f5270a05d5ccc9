"""Scaled dot-product attention: written out, and through PyTorch's fused kernel."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from headwise._autocast import cast_as_one
from headwise._check import check_attention, check_flags
from headwise.masks import causal_mask, combine, to_additive


@cast_as_one
def attention(
    Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None, *, dropout: float = 0.0
) -> tuple[Tensor, Tensor]:
    """The values that each query gathers, and the weights with which it gathers them.

    Q is (..., query, d_k), K is (..., key, d_k), V is (..., key, d_v), with any number of leading
    axes. The mask is boolean, True where a query may see a key, and broadcasts to
    (..., query, key). A query that may see nothing gathers zeros. A NaN or an infinity in K or V
    reaches queries that may not see it too, as it does in PyTorch. Dropout is applied whenever it
    is not 0: pass 0 outside training.

    Returns out (..., query, d_v) and weights (..., query, key).
    """
    check_attention(Q, K, V, mask, dropout)
    dtype, d_k = Q.dtype, Q.size(-1)
    # Scores soon pass 65504, where float16 ends: half precision is computed in single.
    Q, K, V = (x.to(torch.promote_types(dtype, torch.float32)) for x in (Q, K, V))

    # Q is divided, and not the product: these are fewer numbers, and the product stays smaller.
    scores = (Q / math.sqrt(d_k)) @ K.transpose(-2, -1)  # (..., query, key)
    if mask is not None:
        scores = scores + to_additive(mask, scores.dtype)
        # Softmax would turn a row of nothing but -inf into NaN: it shares out 1 over zeros ...
        blind = (scores == -torch.inf).all(dim=-1, keepdim=True)  # (..., query, 1)
        scores = scores.masked_fill(blind, 0.0)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(blind, 0.0)  # ... and here that becomes 0
    weights = F.dropout(weights, dropout)
    out = weights @ V  # (..., query, d_v)
    return out.to(dtype), weights.to(dtype)


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
    than itself, where the last query stands at the last key. The two outputs agree in every dtype
    as long as no score passes the range of float32 (in double, of float64); keys that tie at a
    score of a million and more are told apart by rounding alone, in PyTorch's kernels too. Second
    derivatives are for `attention` alone: PyTorch's kernel has none on the CPU.

    Returns out (..., query, d_v).
    """
    check_attention(Q, K, V, mask, dropout)
    check_flags(is_causal=is_causal)
    query, key = Q.size(-2), K.size(-2)
    if query == 1:
        is_causal = False  # the last query sees every key
    # The kernel's own is_causal takes no mask beside it, and puts the first query at the first key.
    if is_causal and (mask is not None or query != key):
        mask = combine(mask, causal_mask(query, key, device=Q.device))
        is_causal = False
    return F.scaled_dot_product_attention(Q, K, V, mask, dropout, is_causal)
