"""Scaled dot-product attention: written out, and through PyTorch's fused kernel."""

import math
from collections.abc import Sequence
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor

from headwise._autocast import cast_as_one, multiplied_dtype
from headwise._check import FLOATS, KNOWN, being_recorded, check_dropout, check_flags, show
from headwise._check_tensors import check_alike, check_device, check_mask, check_shape, check_tensor
from headwise.masks import causal_mask, combine, to_additive


@cast_as_one
def attention(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    mask: Tensor | None = None,
    *,
    bias: Tensor | None = None,
    dropout: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """The values that each query gathers, and the weights with which it gathers them.

    Q is (..., query, d_k), K is (..., key, d_k), V is (..., key, d_v), with any number of leading
    axes. The mask is boolean, True where a query may see a key, and broadcasts to
    (..., query, key). So does the bias, which is added to the scores. A query that may see nothing
    gathers zeros. A NaN in K or V reaches queries that may not see it too, and an infinity can, as
    in PyTorch. Dropout is applied whenever it is not 0: pass 0 outside training.

    Returns out (..., query, d_v) and weights (..., query, key).
    """
    check_attention(Q, K, V, mask, bias, dropout)
    dtype, d_k = Q.dtype, Q.size(-1)
    # Scores can pass 65504, where float16 ends: half precision is computed in single.
    Q, K, V = (x.to(torch.promote_types(dtype, torch.float32)) for x in (Q, K, V))

    # Q is divided, and not the product: fewer numbers in a long text, and a smaller product.
    scores = (Q / math.sqrt(d_k)) @ K.transpose(-2, -1)  # (..., query, key)
    if bias is not None:
        scores = scores + bias.to(scores.dtype)
    if mask is not None:
        scores = scores + to_additive(mask, scores.dtype)
        # Softmax would turn a row of nothing but -inf into NaN; of zeros it makes equal weights ...
        blind = (scores == -torch.inf).all(dim=-1, keepdim=True)  # (..., query, 1)
        scores = scores.masked_fill(blind, 0.0)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(blind, 0.0)  # ... which become 0 here
    weights = F.dropout(weights, dropout)
    out = weights @ V  # (..., query, d_v)
    return out.to(dtype), weights.to(dtype)


def fused_attention(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    mask: Tensor | None = None,
    *,
    bias: Tensor | None = None,
    dropout: float = 0.0,
    is_causal: bool = False,
) -> Tensor:
    """The same output as `attention`, without ever holding all the weights in memory.

    Shapes, mask and bias are those of `attention`. With four axes, K and V may have fewer heads
    than Q, which then share them in groups: (batch, num_kv_heads, key, d_k). With is_causal, each
    query also sees no key later than itself, where the last query stands at the last key. The two
    outputs agree in every dtype as long as no score passes the range of float32 (in double, of
    float64); keys that tie at a score of a million and more are told apart by rounding alone, in
    PyTorch's kernels too. Second derivatives are for `attention` alone: PyTorch's kernel has none
    on the CPU.

    Returns out (..., query, d_v).
    """
    check_attention(Q, K, V, mask, bias, dropout, may_share=True)
    check_flags(is_causal=is_causal)
    query, key = Q.size(-2), K.size(-2)
    if query == 1:
        is_causal = False  # the last query sees every key
    if is_causal and _hides_keys_of_long(Q, K, V, mask, bias, dropout):
        return _causal_with_hidden_keys(Q, K, V, cast(Tensor, mask))
    # The kernel's own is_causal takes no mask beside it, and puts the first query at the first key.
    if is_causal and (mask is not None or bias is not None or query != key):
        mask = combine(mask, causal_mask(query, key, device=Q.device))
        is_causal = False
    if bias is not None:
        bias = bias if mask is None else torch.where(mask, bias, -torch.inf)
        mask = bias.to(Q.dtype)
    if not _is_grouped(Q, K):
        return F.scaled_dot_product_attention(Q, K, V, mask, dropout, is_causal)
    if query == 1 and (mask is None or mask.dim() < 3 or mask.size(-3) == 1):
        # The single queries of a group are to its keys what several queries of one head are.
        groups = Q.reshape(Q.size(0), K.size(1), -1, Q.size(3))  # (batch, num_kv_heads, group, d_k)
        out = F.scaled_dot_product_attention(groups, K, V, mask, dropout)
        return out.reshape(Q.size(0), Q.size(1), 1, V.size(3))  # (batch, num_heads, 1, d_v)
    return F.scaled_dot_product_attention(Q, K, V, mask, dropout, is_causal, enable_gqa=True)


LONG = 512  # from here on a mask of queries by keys costs more than wider vectors


def _hides_keys_of_long(
    Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None, bias: Tensor | None, dropout: float
) -> bool:
    """Whether a mask that hides keys from all queries alike, in a long text, is all there is."""
    if mask is None or bias is not None or dropout or being_recorded():
        return False
    key = K.size(-2)
    if Q.size(-2) != key or key < LONG or V.size(-1) != Q.size(-1):
        return False
    for_all_heads = mask.dim() < 3 or mask.size(-3) == 1 or K.shape[:-2] == Q.shape[:-2]
    return tuple(mask.shape[-2:]) == (1, key) and for_all_heads and _range(Q) > 1e30


def _causal_with_hidden_keys(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor) -> Tensor:
    """Causal attention under a mask (..., 1, key), in memory that grows with the length alone.

    The kernel is causal without a mask only. So the mask goes into the vectors: one more column,
    1 in every query, 0 in a key that may be seen and hugely negative in the others.
    """
    shown = mask.transpose(-2, -1)  # (..., key, 1)
    column = torch.zeros_like(K[..., :1]).masked_fill(~shown, -_range(Q) / 16)
    out = F.scaled_dot_product_attention(
        F.pad(Q, (0, 1), value=1.0),
        torch.cat((K, column), dim=-1),
        F.pad(V, (0, 1)),
        is_causal=True,
        scale=1 / math.sqrt(Q.size(-1)),
        enable_gqa=_is_grouped(Q, K),
    )[..., : V.size(-1)]
    blind = mask.cumsum(dim=-1).transpose(-2, -1) == 0  # (..., query, 1)
    return out.masked_fill(blind, 0.0)


def _range(x: Tensor) -> float:
    """The largest number of the dtype in which x is multiplied."""
    return torch.finfo(multiplied_dtype(x)).max


def _is_grouped(Q: Tensor, K: Tensor) -> bool:
    return Q.dim() == 4 and bool(K.size(1) != Q.size(1))  # of a trace, sizes are tensors


def check_attention(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    dropout: float,
    *,
    may_share: bool = False,
) -> None:
    """Everything fits together: Q (..., query, d_k), K (..., key, d_k), V (..., key, d_v)."""
    if KNOWN.to_fit:
        return
    check_tensor("Q", Q)
    if Q.dim() < 2 or Q.size(-1) == 0 or Q.dtype not in FLOATS:
        raise ValueError(
            f"Q: got shape {show(Q.shape)} of {Q.dtype}, expected (..., query, d_k) of floats"
        )
    *leading, query, d_k = Q.shape
    shared = leading
    if may_share and isinstance(K, Tensor) and Q.dim() == K.dim() == 4:
        if K.size(1) == 0 or Q.size(1) % K.size(1):
            raise ValueError(
                f"K: got {K.size(1)} heads, expected a divisor of the {Q.size(1)} of Q"
            )
        shared = [Q.size(0), K.size(1)]
    check_shape("K", K, (*shared, "key", d_k))
    check_shape("V", V, (*shared, K.size(-2), "d_v"))
    check_alike("K", K, "Q", Q)
    check_alike("V", V, "Q", Q)
    scores = (*leading, query, K.size(-2))
    if mask is not None:
        check_mask(mask, scores, Q)
    if bias is not None:
        _check_bias(bias, scores, Q)
    check_dropout(dropout)


def _check_bias(bias: Tensor, scores: Sequence[int], like: Tensor) -> None:
    """The bias is of floats, lies where `like` lies, and broadcasts to the scores."""
    check_tensor("bias", bias)
    if bias.dtype not in FLOATS:
        raise ValueError(f"bias: got dtype {bias.dtype}, expected a floating one")
    check_device("bias", bias, "the scores", like)
    pairs = zip(reversed(bias.shape), reversed(scores), strict=False)
    if bias.dim() not in (2, len(scores)) or not all(n in (1, wanted) for n, wanted in pairs):
        raise ValueError(
            f"bias: got shape {show(bias.shape)}, expected one that broadcasts to {show(scores)}"
        )
