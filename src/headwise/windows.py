"""Sliding windows: a query sees the last few keys, and perhaps the very first as well."""

import torch
from torch import Tensor

from headwise._check import LONGEST, check_lengths, check_place, check_sizes, check_window, show
from headwise._check_tensors import check_device, check_integers, check_tensor


def window_mask(
    seq_len: int,
    key_len: int | None = None,
    *,
    window: int,
    sinks: int = 0,
    device: torch.device | str | None = None,
) -> Tensor:
    """A causal mask (seq_len, key_len) in which each query sees `window` keys, its own the last.

    The first `sinks` keys are seen as well, by every query that does not stand before them. As in
    `causal_mask`, the last query stands at the last key.
    """
    key_len = seq_len if key_len is None else key_len
    check_lengths(seq_len=seq_len, key_len=key_len)
    check_place(device)
    keys = torch.arange(key_len, device=device)
    queries = torch.arange(key_len - seq_len, key_len, device=device)
    causal = keys <= queries[:, None]  # (seq_len, key_len)
    return causal & near(queries, keys, window, sinks)


def near(queries: Tensor, keys: Tensor, window: int, sinks: int = 0) -> Tensor:
    """Which keys lie in the window of which queries, or among the first, by their positions.

    Positions are whole numbers, (query,) and (key,), for a mask (query, key); or (batch, query)
    and (batch, key), for (batch, 1, query, key). Later keys are not hidden: that is for a causal
    mask.
    """
    check_both(queries, keys)
    check_sizes(window=window, most=LONGEST)
    check_window(window, sinks)
    distance = distances(queries, keys)
    if sinks == 0:
        return distance < window
    return (distance < window) | (_per_head(keys) < sinks)


def distances(queries: Tensor, keys: Tensor) -> Tensor:
    """How far behind each query each key lies: (query, key), or (batch, 1, query, key)."""
    check_both(queries, keys)
    return _per_head(queries).transpose(-2, -1) - _per_head(keys)


def _per_head(positions: Tensor) -> Tensor:
    """Positions (key,) as (1, key), and (batch, key) as (batch, 1, 1, key), to meet scores."""
    return positions[None] if positions.dim() == 1 else positions[:, None, None]


def check_both(queries: Tensor, keys: Tensor) -> None:
    """Positions of queries and of keys, both for all sentences alike or both for each its own."""
    for name, positions in (("queries", queries), ("keys", keys)):
        check_tensor(name, positions)
        check_integers(name, positions)
    check_device("keys", keys, "queries", queries)
    alike = queries.dim() == keys.dim() and queries.shape[:-1] == keys.shape[:-1]
    if queries.dim() not in (1, 2) or not alike:
        raise ValueError(
            f"queries, keys: got shapes {show(queries.shape)} and {show(keys.shape)}, expected "
            "(query,) and (key,), or (batch, query) and (batch, key)"
        )
