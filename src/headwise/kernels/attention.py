"""Attention by the Triton kernels: what happens on the host before and after they run."""

import math
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from headwise._autocast import cast_as_one
from headwise._tiled_op import as_operator, check_tiled
from headwise.kernels.backward import backward_keys, backward_queries
from headwise.kernels.forward import forward
from headwise.kernels.modes import INTERPRETED


@cast_as_one
def triton_attention(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    mask: Tensor | None = None,
    *,
    bias: Tensor | None = None,
    is_causal: bool = False,
    window: int | None = None,
    sinks: int = 0,
    tile: int = 64,
) -> Tensor:
    """The same as `headwise.flash.flash_attention`, by kernels in Triton, forward and backward.

    Q is (batch, num_heads, query, d_k), K (batch, num_kv_heads, key, d_k) and V
    (batch, num_kv_heads, key, d_v), on a GPU, or anywhere if the kernels are interpreted. The other
    arguments are those of flash_attention; tile is a power of two of at least 16.

    Returns out (batch, num_heads, query, d_v). Second derivatives are for `attention` alone.
    """
    mask, bias = check_tiled(Q, K, V, mask, bias, is_causal, window, sinks, tile)
    if tile < 16 or tile & (tile - 1):
        raise ValueError(f"tile: got {tile}, expected a power of two of at least 16")
    if not INTERPRETED and Q.device.type == "cpu":
        raise ValueError("Q: got device cpu, expected cuda, as the kernels are compiled")
    out, _ = _operator(Q, K, V, mask, bias, is_causal, window, sinks, tile)
    return out  # (batch, num_heads, query, d_v)


def _forward(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    is_causal: bool,
    window: int | None,
    sinks: int,
    tile: int,
) -> tuple[Tensor, Tensor]:
    """The output, and the log of each row's sum."""
    Q, K, V = (x.contiguous() for x in (Q, K, V))  # kernels count on rows that follow each other
    batch, num_heads, query, _ = Q.shape
    wide = torch.promote_types(Q.dtype, torch.float32)
    out = Q.new_empty(batch, num_heads, query, V.size(3))  # (batch, num_heads, query, d_v)
    logsumexp = Q.new_empty(batch, num_heads, query, dtype=wide)  # (batch, num_heads, query)
    arguments = _arguments(Q, K, V, mask, bias, is_causal, window, sinks, tile)
    if out.numel() + logsumexp.numel():  # a grid of no programs is an error
        forward[triton.cdiv(query, tile), batch * num_heads](Q, K, V, out, logsumexp, **arguments)
    return out, logsumexp


def _backward(
    dout: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    is_causal: bool,
    window: int | None,
    sinks: int,
    tile: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of Q, K and V."""
    Q, K, V, dout = (x.contiguous() for x in (Q, K, V, dout))
    batch, num_heads, query, _ = Q.shape
    num_kv_heads, key = K.shape[1:3]
    wide = logsumexp.dtype
    pull = (dout.to(wide) * out.to(wide)).sum(dim=-1)  # (batch, num_heads, query)
    dQ, dK, dV = torch.zeros_like(Q), torch.zeros_like(K), torch.zeros_like(V)
    given = (Q, K, V, dout, logsumexp, pull)
    arguments = _arguments(Q, K, V, mask, bias, is_causal, window, sinks, tile)
    if pull.numel():
        backward_queries[triton.cdiv(query, tile), batch * num_heads](*given, dQ, **arguments)
    if K.numel():
        backward_keys[triton.cdiv(key, tile), batch * num_kv_heads](*given, dK, dV, **arguments)
    return dQ, dK, dV


def _arguments(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    is_causal: bool,
    window: int | None,
    sinks: int,
    tile: int,
) -> dict[str, Any]:
    """What all kernels are told beside the tensors that they read and write."""
    batch, num_heads, query, d_k = Q.shape
    key, d_v = K.size(2), V.size(3)
    scores = (batch, num_heads, query, key)
    seen = Q if mask is None else mask.expand(scores).view(torch.uint8)  # Q: never looked at
    added = Q if bias is None else bias.expand(scores)
    places = ("batch", "head", "query", "key")
    return {
        **{"mask": seen, **dict(zip((f"mask_{p}" for p in places), seen.stride(), strict=True))},
        **{"bias": added, **dict(zip((f"bias_{p}" for p in places), added.stride(), strict=True))},
        **{"num_heads": num_heads, "group": num_heads // K.size(1)},
        **{"query_len": query, "key_len": key, "d_k": d_k, "d_v": d_v},
        **{"window": window or 0, "sinks": sinks, "TILE": tile},
        # Tiles have a power of two of columns, and tl.dot wants 16 of them.
        "D_K": max(16, triton.next_power_of_2(d_k)),
        "D_V": max(16, triton.next_power_of_2(d_v)),
        "SCALE": 1 / math.sqrt(d_k),
        "WIDE": tl.float64 if Q.dtype == torch.float64 else tl.float32,
        **{"HAS_MASK": mask is not None, "HAS_BIAS": bias is not None},
        **{"IS_CAUSAL": is_causal, "HAS_WINDOW": window is not None},
    }


_operator = as_operator("triton_attention", _forward, _backward)
