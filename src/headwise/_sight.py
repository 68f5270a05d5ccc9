"""Where the queries and keys of a call stand, what each may see, and what its scores get added."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from headwise._check import KNOWN, show
from headwise.alibi import alibi_bias
from headwise.cache import KeyValueCache
from headwise.masks import causal_mask, combine
from headwise.windows import near


class Places(NamedTuple):
    """Where queries and keys stand, each (seq_len,) or (batch, seq_len), where a layer asks."""

    queries: Tensor | None = None
    keys: Tensor | None = None  # those that the cache gives included
    held: Tensor | None = None  # which of all keys a ring gives; None: all, in order
    history: Tensor | None = None  # of all keys, for the cache, where the caller said any


def find_places(
    query: Tensor,
    key: Tensor,
    cache: KeyValueCache | None,
    given: Tensor | None,
    keys_matter: bool = True,
) -> Places:
    """The places of a call: those that the caller gave, and otherwise 0, 1, 2, …

    By default, the last query stands at the last key.
    """
    seq_len, before, held = query.size(1), 0, None
    growing = cache is not None and not cache.fixed
    if cache is not None and growing:
        before, held = cache.length, cache.held(seq_len)
    total = before + key.size(1)
    queries = _counted(total - seq_len, total, query.device) if given is None else given
    earlier = None if cache is None or key is not query else cache.positions
    if not keys_matter and (key is not query or (given is None and earlier is None)):
        return Places(queries)
    keys = torch.arange(total, device=query.device)  # (total,)
    if key is not query:
        return Places(queries, keys)
    if given is None and earlier is None:
        return Places(queries, keys if held is None else keys[held], held)
    earlier = keys[:before] if earlier is None else earlier[..., :before]
    history = torch.cat(alike(earlier, queries), dim=-1)  # (..., total)
    if cache is not None and cache.sinks and history.dim() == 2:
        raise ValueError(
            f"positions: got shape {show(queries.shape)} with a ring that keeps sinks, expected "
            f"{show((seq_len,))}: the first tokens of all sentences stand at one place there"
        )
    return Places(queries, history if held is None else history[..., held], held, history)


def _counted(start: int, end: int, device: torch.device) -> Tensor:
    """start, start + 1, …, end - 1; all layers of a model that writes get the same tensor."""
    if not KNOWN.to_fit:
        return torch.arange(start, end, device=device)
    if KNOWN.positions is None or KNOWN.positions[:3] != (start, end, device):
        KNOWN.positions = start, end, device, torch.arange(start, end, device=device)
    return KNOWN.positions[3]


def alike(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Positions of all sentences alike, or both of each sentence its own."""
    if a.dim() < b.dim():
        a = a.expand(b.size(0), -1)
    elif b.dim() < a.dim():
        b = b.expand(a.size(0), -1)
    return a, b


def see(
    mask: Tensor | None,
    is_causal: bool,
    places: Places,
    *,
    window: int | None,
    sinks: int,
    cache: KeyValueCache | None,
) -> Tensor | None:
    """The caller's mask, the causal one and the window's in one, for the keys of these places."""
    assert places.queries is not None and places.keys is not None
    queries, keys = alike(places.queries, places.keys)
    seq_len, key_len = queries.size(-1), keys.size(-1)
    if mask is not None and places.held is not None and mask.size(-1) != 1:
        mask = mask[..., places.held]
    ring = cache is not None and cache.window == window and cache.sinks == sinks
    if window is not None and not (ring and seq_len == 1 and places.history is None):
        mask = combine(mask, near(queries, keys, window, sinks))
    if not is_causal or seq_len == 1:  # the last query sees every key
        return mask
    if places.held is None:
        return combine(mask, causal_mask(seq_len, key_len, device=keys.device))
    last = places.held[-1]  # a ring gives new keys last, unless there is but one
    came = torch.arange(1 - seq_len, 1, device=keys.device) + last
    return combine(mask, places.held <= came[:, None])


def bias_of(num_heads: int, places: Places) -> Tensor:
    """ALiBi for the keys of these places, (batch or 1, num_heads, seq_len, key_len)."""
    assert places.queries is not None and places.keys is not None
    return alibi_bias(num_heads, *alike(places.queries, places.keys))


def with_sink(
    sink: Tensor, K: Tensor, V: Tensor, mask: Tensor | None, bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
    """One more key, whose score is the sink of each head (num_heads,), and whose value is zero."""
    key_len = K.size(2)
    K, V = F.pad(K, (0, 0, 0, 1)), F.pad(V, (0, 0, 0, 1))
    if mask is not None:
        mask = F.pad(mask.expand(*mask.shape[:-1], key_len), (0, 1), value=True)
    if bias is None:
        bias = sink.new_zeros(1, len(sink), 1, key_len)
    column = sink[:, None, None].to(bias.dtype).expand(*bias.shape[:-1], 1)
    return K, V, mask, torch.cat((bias, column), dim=-1)
