"""FlashAttention in plain PyTorch: the formula's own numbers, tile by tile.

All the weights together are (query, key) numbers a head, and nobody needs them all at once. A
softmax can be computed over the first keys and corrected when more of them come: what has been
gathered shrinks by one factor. So tiles of scores are made, used and thrown away, and memory grows
with the length and not with its square. Backward makes each tile a second time.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from headwise._autocast import cast_as_one
from headwise._check import FLOATS
from headwise._check_tensors import check_alike, check_shape
from headwise._tiled_op import as_operator, check_tiled


class Running(NamedTuple):
    """All that one has to remember of the keys seen so far.

    Of each row, highest is the largest score and total the sum of exp(score - highest), both
    (..., query, 1); gathered is the sum of exp(score - highest) * value, (..., query, d_v).
    """

    highest: Tensor
    total: Tensor
    gathered: Tensor

    @staticmethod
    def nothing(like: Tensor, d_v: int) -> "Running":
        """What there is to remember before the first key, for as many rows as `like` has."""
        row = like.new_zeros(*like.shape[:-1], 1)  # (..., query, 1)
        return Running(row - torch.inf, row, row.expand(*row.shape[:-1], d_v))

    def add(self, scores: Tensor, V: Tensor) -> "Running":
        """What there is to remember after more keys, with scores (..., query, key)."""
        highest = torch.maximum(self.highest, scores.amax(dim=-1, keepdim=True))  # (..., query, 1)
        # A row that has seen nothing is still at -inf, and -inf - -inf would be NaN.
        against = highest.masked_fill(highest == -torch.inf, 0.0)  # (..., query, 1)
        shares = (scores - against).exp()  # (..., query, key)
        # What was gathered stood against a lower maximum, so it shrinks to fit the new one.
        shrink = (self.highest - against).exp()  # (..., query, 1)
        total = self.total * shrink + shares.sum(dim=-1, keepdim=True)  # (..., query, 1)
        gathered = self.gathered * shrink + shares @ V  # (..., query, d_v)
        return Running(highest, total, gathered)

    @property
    def out(self) -> Tensor:
        """The result so far (..., query, d_v): of a row that has seen nothing, zeros."""
        return self.gathered / self.total.masked_fill(self.total == 0, 1.0)

    @property
    def logsumexp(self) -> Tensor:
        """The log of each row's sum (..., query, 1), from which weights can be had again.

        Of a row that has seen nothing it is inf, so that exp(score - inf) gives its weights, 0.
        """
        nothing = self.total == 0
        return (self.highest + self.total.log()).masked_fill(nothing, torch.inf)


def running_softmax(scores: Tensor, V: Tensor) -> list[Running]:
    """softmax(scores) @ V, one key at a time: every step, of which the last has the result in out.

    scores is (key,), where -inf hides a key, and V is (key, d_v).
    """
    check_shape("scores", scores, ("key",))
    check_shape("V", V, (scores.size(0), "d_v"))
    if scores.dtype not in FLOATS:
        raise ValueError(f"scores: got dtype {scores.dtype}, expected floats")
    check_alike("V", V, "scores", scores)
    steps = [Running.nothing(scores[None], V.size(1))]
    for score, value in zip(scores, V, strict=True):
        steps.append(steps[-1].add(score[None, None], value[None]))
    return steps


@cast_as_one
def flash_attention(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    mask: Tensor | None = None,
    *,
    bias: Tensor | None = None,
    is_causal: bool = False,
    window: int | None = None,
    sinks: int = 0,
    tile: int = 128,
) -> Tensor:
    """The same output as `attention`, and its gradients, without ever holding all the weights.

    Q is (batch, num_heads, query, d_k), K (batch, num_kv_heads, key, d_k) and V
    (batch, num_kv_heads, key, d_v); num_kv_heads divides num_heads, and query head i reads the key
    head i // (num_heads // num_kv_heads). A query that may see nothing gathers zeros.

    Args:
        mask: boolean, True where a query may see a key; broadcasts to
            (batch, num_heads, query, key).
        bias: numbers that are added to the scores, of the same shapes. ALiBi's needs only
            (1, num_heads, 1, key): what is the same for a whole row does not change its softmax.
        is_causal: no query sees a later key; the last query stands at the last key.
        window: with is_causal, how many keys a query sees at most, itself included.
        sinks: with a window, how many of the first keys are seen by all later queries as well.
        tile: how many queries, and how many keys, are held against each other at a time.

    Returns out (batch, num_heads, query, d_v). Second derivatives are for `attention` alone.
    """
    mask, bias = check_tiled(Q, K, V, mask, bias, is_causal, window, sinks, tile)
    out, _ = _operator(Q, K, V, mask, bias, is_causal, window, sinks, tile)
    return out  # (batch, num_heads, query, d_v)


class _Sight(NamedTuple):
    """What a query may see, and how its scores are made, a tile at a time."""

    mask: Tensor | None
    bias: Tensor | None
    is_causal: bool
    window: int | None
    sinks: int
    ahead: int  # by how much the first query stands behind the first key

    def tiles(self, queries: slice, key_len: int, tile: int) -> Iterator[slice]:
        """The tiles of keys of which any of these queries may see something."""
        first, last = queries.start + self.ahead, queries.stop - 1 + self.ahead
        for keys in _tiles(key_len, tile):
            later = self.is_causal and keys.start > last
            passed = self.window is not None and keys.stop - 1 <= first - self.window
            if not later and not (passed and keys.start >= self.sinks):
                yield keys

    def scores(self, Q: Tensor, K: Tensor, queries: slice, keys: slice) -> Tensor:
        """The scores of a tile, -inf where a query may not see a key; Q is scaled already."""
        scores = Q @ K.transpose(-2, -1)  # (batch, num_heads, query, key)
        if self.bias is not None:
            scores = scores + _part(self.bias, queries, keys).to(scores)
        if self.mask is not None:
            scores = scores.masked_fill(~_part(self.mask, queries, keys), -torch.inf)
        if self.is_causal:
            at = torch.arange(queries.start, queries.stop, device=Q.device)[:, None] + self.ahead
            key = torch.arange(keys.start, keys.stop, device=Q.device)
            hidden = key > at
            if self.window is not None:
                hidden |= (at - key >= self.window) & (key >= self.sinks)
            scores = scores.masked_fill(hidden, -torch.inf)
        return scores


def _tiles(length: int, tile: int) -> Iterator[slice]:
    """The places from 0 to length, so many at a time."""
    return (slice(start, min(start + tile, length)) for start in range(0, length, tile))


def _part(x: Tensor, queries: slice, keys: slice) -> Tensor:
    """A tile of a mask or a bias, of which an axis of 1 serves all queries, or all keys."""
    x = x[:, :, queries] if x.size(2) > 1 else x
    return x[:, :, :, keys] if x.size(3) > 1 else x


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
    """The output, and the log of each row's sum: all that backward needs to make a tile again."""
    wide = torch.promote_types(Q.dtype, torch.float32)
    scale, group = 1 / math.sqrt(Q.size(-1)), Q.size(1) // K.size(1)
    sight = _Sight(mask, bias, is_causal, window, sinks, K.size(2) - Q.size(2))
    out = Q.new_empty(*Q.shape[:3], V.size(3))  # (batch, num_heads, query, d_v)
    logsumexp = Q.new_empty(Q.shape[:3], dtype=wide)  # (batch, num_heads, query)
    for queries in _tiles(Q.size(2), tile):
        Q_i = Q[:, :, queries].to(wide) * scale
        running = Running.nothing(Q_i, V.size(3))
        for keys in sight.tiles(queries, K.size(2), tile):
            K_j, V_j = (x[:, :, keys].to(wide).repeat_interleave(group, 1) for x in (K, V))
            running = running.add(sight.scores(Q_i, K_j, queries, keys), V_j)
        out[:, :, queries] = running.out.to(out.dtype)
        logsumexp[:, :, queries] = running.logsumexp.squeeze(-1)
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
    """The gradients of Q, K and V; dX stands for that of X."""
    wide = logsumexp.dtype
    scale, group = 1 / math.sqrt(Q.size(-1)), Q.size(1) // K.size(1)
    sight = _Sight(mask, bias, is_causal, window, sinks, K.size(2) - Q.size(2))
    dQ, dK, dV = (torch.zeros_like(x, dtype=wide) for x in (Q, K, V))
    for queries in _tiles(Q.size(2), tile):
        Q_i, dout_i, out_i = (x[:, :, queries].to(wide) for x in (Q, dout, out))
        Q_i = Q_i * scale
        # Softmax pulls every row's sum back to 1: this is by how much, one number a row.
        pull = (dout_i * out_i).sum(dim=-1, keepdim=True)
        for keys in sight.tiles(queries, K.size(2), tile):
            K_j, V_j = (x[:, :, keys].to(wide).repeat_interleave(group, 1) for x in (K, V))
            scores = sight.scores(Q_i, K_j, queries, keys)
            weights = (scores - logsumexp[:, :, queries, None]).exp()
            dscores = weights * (dout_i @ V_j.transpose(-2, -1) - pull)
            dQ[:, :, queries] += dscores @ K_j * scale
            # A head of keys that serves several heads of queries gets the sum of their gradients.
            dK[:, :, keys] += _summed(dscores.transpose(-2, -1) @ Q_i, group)
            dV[:, :, keys] += _summed(weights.transpose(-2, -1) @ dout_i, group)
    return dQ.to(Q.dtype), dK.to(K.dtype), dV.to(V.dtype)


def _summed(x: Tensor, group: int) -> Tensor:
    """One head for every `group` heads, (batch, num_heads / group, key, d)."""
    batch, num_heads, key, d = x.shape
    return x.reshape(batch, num_heads // group, group, key, d).sum(dim=2)


_operator = as_operator("flash_attention", _forward, _backward)
