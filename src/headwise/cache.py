"""The cache: keys and values of earlier calls, so that decoding does not repeat them."""

import weakref
from typing import NamedTuple, Protocol, cast

import torch
from torch import Tensor, nn

from headwise._check import (
    KNOWN,
    LONGEST,
    being_recorded,
    check_flags,
    check_kind,
    check_sizes,
    check_whole,
    check_window,
    kind,
)
from headwise._check_tensors import check_alike, check_input, check_shape, check_where, may_hold


class CachedLayer(Protocol):
    """What a cache asks of the attention layer that it serves."""

    num_kv_heads: int
    d_k: int
    d_v: int

    @property
    def W_k(self) -> nn.Module:
        """What makes keys."""
        ...

    @property
    def W_v(self) -> nn.Module:
        """What makes values."""
        ...

    def project_keys(
        self, key: Tensor, value: Tensor, positions: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """K (batch, num_kv_heads, key_len, d_k) and V (batch, num_kv_heads, key_len, d_v)."""
        ...


class KeyValueCache:
    """The projected keys and values of earlier calls, so that decoding does not repeat them.

    A cache serves one attention layer and one batch. For self-attention it grows: each call adds
    the keys and values of its query. For cross-attention it is fixed: the first call projects the
    key that it is given, and later calls reuse that; a key with other numbers is refused, unless
    K and V were replaced by hand. A call that fails leaves the cache as it was.

    By default a growing cache makes itself anew at every call, one token longer. With max_len, its
    memory is allocated once and written to in place. With a window it is a ring: a new token takes
    the place of the one that has just left the window, and only the first `sinks` tokens stay.
    Where gradients are recorded, or a graph is, neither writes in place.

    A deep copy, or what pickle brings back, holds the numbers without their gradients, and is the
    next layer's that uses it, if it fits.

    Args:
        fixed: for cross-attention.
        max_len: the most positions that will come.
        window: how many of the last positions stay, at least the layer's own window.
        sinks: how many of the first positions stay beside the window.
    """

    def __init__(
        self,
        *,
        fixed: bool = False,
        max_len: int | None = None,
        window: int | None = None,
        sinks: int = 0,
    ) -> None:
        check_flags(fixed=fixed)
        check_window(window, sinks)
        if max_len is not None:
            check_sizes(max_len=max_len, most=LONGEST)
        for name, size in (("max_len", max_len), ("window", window)):
            if fixed and size is not None:
                raise ValueError(f"{name}: got {size} for a fixed cache, expected None")
        self.fixed, self.sinks = fixed, int(sinks)
        self.max_len = None if max_len is None else int(max_len)
        self.window = None if window is None else int(window)
        self.K: Tensor | None = None
        self.V: Tensor | None = None
        self.positions: Tensor | None = None  # of all keys so far, where they are not 0, 1, 2, …
        self._seen = 0  # positions, of which a ring holds the last
        self._layer: weakref.ref[CachedLayer] | None = None
        self._source: tuple[Tensor, Tensor, Tensor] | None = None  # K, and the key and value of it
        self._room: tuple[_Room | None, Tensor | None, Tensor | None] = (None, None, None)
        self._pending: _Pending | None = None

    @property
    def length(self) -> int:
        """How many positions have been seen: where the next one of a growing cache will stand."""
        if self.K is None:
            return 0
        if self._by_hand:
            check_shape("cache", self.K, ("batch", "num_kv_heads", "key_len", "d_k"))
        return self.K.size(2) if self.window is None else self._seen

    @property
    def _by_hand(self) -> bool:
        """Whether somebody has put another K or V here than `keep` did."""
        return self.K is not self._room[1] or self.V is not self._room[2]

    def held(self, seq_len: int) -> Tensor | None:
        """Which positions `recall` will give, in its order, for so many new ones: (key_len,).

        None stands for all of them in order, which only a ring may break.
        """
        check_whole("seq_len", seq_len, 0, LONGEST)
        length = self.length
        if self.window is None or length + (seq_len == 1) <= self._slots():
            return None
        device = cast(Tensor, self.K).device
        if seq_len == 1:
            return self._in_slots(length + 1, device)
        new = torch.arange(length, length + seq_len, device=device)
        return torch.cat((self._in_slots(length, device), new))

    def recall(
        self,
        layer: CachedLayer,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        positions: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """K and V for this call, kept ones included; the cache itself does not change yet.

        positions are those of the query, which new keys of its own stand at as well.
        """
        _check_layer(layer)
        check_shape("query", query, ("batch", "length", "width"))
        for name, x in (("key", key), ("value", value)):
            if x is not query:
                check_shape(name, x, ("batch", "length", "width"))
        if self.fixed is (key is query):
            raise ValueError(
                "cache: got a fixed one for self-attention, whose key is its query, expected a "
                "growing one"
                if self.fixed
                else "cache: got a growing one with a key of its own, expected a fixed one"
            )
        empty = self.K is None and self.V is None
        if not empty:
            kept_K, kept_V = self._checked(layer, key, value)
            if self.fixed:
                return kept_K, kept_V
        elif self.fixed:
            K, V = layer.project_keys(key, value)
            self._source = (K, key, value)
            return K, V
        length = self.length + key.size(1)
        if self.max_len is not None and length > self.max_len:
            raise ValueError(
                f"cache: got {length} positions, expected at most max_len = {self.max_len}"
            )
        K, V = layer.project_keys(key, value, positions)
        if self.max_len is None and self.window is None:
            if empty:
                return K, V
            return torch.cat((kept_K, K), dim=2), torch.cat((kept_V, V), dim=2)
        if empty:
            kept_K, kept_V = K[:, :, :0], V[:, :, :0]
        return self._joined(kept_K, kept_V, K, V)

    def keep(
        self, layer: CachedLayer, K: Tensor, V: Tensor, positions: Tensor | None = None
    ) -> None:
        """Keep what `recall` gave, now that the call has succeeded.

        positions are those of all keys so far, if they are not 0, 1, 2, …
        """
        _check_layer(layer)
        pending = self._pending
        if pending is None or pending.K is not K or pending.V is not V:  # all that there ever was
            check_input("K", K, ("batch", layer.num_kv_heads, "key_len", layer.d_k), layer.W_k)
            check_input("V", V, (K.size(0), layer.num_kv_heads, K.size(2), layer.d_v), layer.W_v)
            pending = _Pending(K, V, None, 0, K.size(2))
        if positions is not None:
            check_where("positions", positions, K.size(0), pending.seen, K)
        if self.window is not None and K.size(2) > self._slots():
            slots = self._in_slots(pending.seen, K.device)
            last = slots - pending.seen + K.size(2)  # where the new ones stand in K
            chosen = torch.where(slots >= pending.before, last, self._slot_of(slots))
            K, V = K[:, :, chosen], V[:, :, chosen]
        self.K, self.V, self._seen, self.positions = K, V, pending.seen, positions
        self._layer = weakref.ref(layer)
        self._pending = None
        self._move_into(pending.room)

    def copy(self) -> "KeyValueCache":
        """Another cache for the same layer that goes its own way: a call does not change both."""
        other = KeyValueCache.__new__(KeyValueCache)
        other.__dict__ = {**self.__dict__, "_room": (None, None, None), "_pending": None}
        other._move_into(None if self._by_hand else self._room[0])
        return other

    def update(self, other: "KeyValueCache") -> None:
        """Hold what the other cache holds, which is of the same sort."""
        check_kind("other", other, KeyValueCache)
        for name in ("fixed", "max_len", "window", "sinks"):
            theirs, ours = getattr(other, name), getattr(self, name)
            if theirs != ours:
                raise ValueError(f"other: got {name}={theirs}, expected {ours}, as here")
        self.K, self.V, self._seen, self.positions = other.K, other.V, other._seen, other.positions
        self._layer, self._source = other._layer, other._source
        self._move_into(None if other._by_hand else other._room[0])

    # Memory allocated ahead

    def _slots(self) -> int:
        """How many keys a ring holds."""
        return self.sinks + cast(int, self.window)

    def _slot_of(self, positions: Tensor) -> Tensor:
        """Where in a ring each position lies: the first ones stay, the others go round."""
        round_ = self.sinks + (positions - self.sinks) % cast(int, self.window)
        return torch.where(positions < self.sinks, positions, round_)

    def _in_slots(self, seen: int, device: torch.device | None) -> Tensor:
        """Which position lies in each slot of a ring, once so many have been seen."""
        slots = torch.arange(min(seen, self._slots()), device=device)
        latest = seen - 1 - (seen - 1 - slots) % cast(int, self.window)
        return torch.where(slots < self.sinks, slots, latest)

    def _joined(
        self, kept_K: Tensor, kept_V: Tensor, K: Tensor, V: Tensor
    ) -> tuple[Tensor, Tensor]:
        """What is kept and what is new, if possible without copying what is kept."""
        before, seen = self.length, self.length + K.size(2)
        slot, slots = before, self.max_len
        if self.window is not None:
            slots = self._slots()
            if seen > slots and K.size(2) == 1:  # round the ring
                slot = self.sinks + (before - self.sinks) % self.window
            elif seen > slots:  # more than a ring holds, but this call needs all of them
                slots = None
        end = slot + K.size(2)
        if slots is None or not _can_be_written(kept_K, kept_V, K, V):
            K = torch.cat((kept_K[:, :, :slot], K, kept_K[:, :, end:]), dim=2)
            V = torch.cat((kept_V[:, :, :slot], V, kept_V[:, :, end:]), dim=2)
            self._pending = _Pending(K, V, None, before, seen)
            return K, V
        room = self._room[0]
        if room is None or self._by_hand or not room.is_free(self, before):
            room = _Room(kept_K, kept_V, K, V, slots)
        room.K.narrow(2, slot, K.size(2)).copy_(K)
        room.V.narrow(2, slot, V.size(2)).copy_(V)
        room.written = seen
        used = min(seen, slots)
        K, V = room.K.narrow(2, 0, used), room.V.narrow(2, 0, used)
        self._pending = _Pending(K, V, room, before, seen)
        return K, V

    def _move_into(self, room: "_Room | None") -> None:
        """K and V lie in this room, unless they are replaced by hand."""
        left = self._room[0]
        if left is not None and left is not room:
            left.holders.discard(self)
        if room is not None and left is not room:
            room.holders.add(self)
        self._room = (room, self.K, self.V)

    def _checked(self, layer: CachedLayer, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """What is kept, which fits this layer and this key."""
        K, V = cast(Tensor, self.K), cast(Tensor, self.V)  # whoever set them by hand
        if KNOWN.to_fit:
            return K, V
        if self._layer is not None and self._layer() is not layer:
            raise ValueError("cache: got one that another layer filled, expected this layer's own")
        if self._by_hand or self._layer is None:
            check_shape("cache", K, ("batch", layer.num_kv_heads, "key_len", layer.d_k))
            check_shape("cache", V, (K.size(0), layer.num_kv_heads, K.size(2), layer.d_v))
        if K.size(0) != key.size(0):
            raise ValueError(f"cache: got one of batch {K.size(0)}, expected batch {key.size(0)}")
        if self.fixed and K.size(2) != key.size(1):
            raise ValueError(
                f"cache: got one of {K.size(2)} keys, expected the {key.size(1)} of this key"
            )
        if self.window is not None and K.size(2) != min(self._seen, self._slots()):
            expected = min(self._seen, self._slots())
            raise ValueError(f"cache: got one of {K.size(2)} keys, expected the ring's {expected}")
        check_alike("cache", K, "the key", key)
        check_alike("cache", V, "the key", key)
        if self._source is not None and self._source[0] is K:
            for name, kept, x in zip(("key", "value"), self._source[1:], (key, value), strict=True):
                # Computed a second time, the same numbers may differ in their last bits.
                if x is kept:
                    continue
                same = x.shape == kept.shape and may_hold(
                    x.isclose(kept.to(x), 0.01, 0.01, equal_nan=True)
                )
                if not same:
                    raise ValueError(f"cache: got one for another {name}, expected this {name}'s")
        return K, V

    def __getstate__(self) -> dict[str, object]:
        """All but the layer, which a copy of both would only point past, and what it was fed."""
        K, V = (x.detach().clone() if isinstance(x, Tensor) else x for x in (self.K, self.V))
        gone = dict.fromkeys(("_layer", "_source", "_pending"))
        return {**self.__dict__, "K": K, "V": V, **gone, "_room": (None, None, None)}


class _Pending(NamedTuple):
    """What `recall` gave, and what the cache will be if `keep` gets it back."""

    K: Tensor
    V: Tensor
    room: "_Room | None"  # in which they lie
    before: int  # positions seen before the call
    seen: int  # and after it


class _Room:
    """Memory for keys and values to come, at which several caches may look.

    A cache and its copies share it until two of them go different ways.
    """

    def __init__(self, kept_K: Tensor, kept_V: Tensor, K: Tensor, V: Tensor, slots: int) -> None:
        batch, num_kv_heads, length, _ = kept_K.shape
        dtype = torch.promote_types(kept_K.dtype, K.dtype)  # which autocast may make differ
        self.K = K.new_empty(batch, num_kv_heads, slots, K.size(3), dtype=dtype)
        self.V = V.new_empty(batch, num_kv_heads, slots, V.size(3), dtype=dtype)
        self.K[:, :, :length] = kept_K
        self.V[:, :, :length] = kept_V
        self.written = 0  # positions, those of a call that failed later included
        self.holders: weakref.WeakSet[KeyValueCache] = weakref.WeakSet()

    def is_free(self, cache: KeyValueCache, length: int) -> bool:
        """Whether this cache, with so many positions, may write the next ones here.

        Nobody has written there, and in a ring, where new ones take the place of old ones, nobody
        else is still at an earlier position.
        """
        if self.K.is_inference() and not torch.is_inference_mode_enabled():
            return False  # PyTorch forbids it
        if self.written != length:
            return False
        return cache.window is None or all(one.length == length for one in self.holders)


def _can_be_written(*tensors: Tensor) -> bool:
    """Whether these may go into memory that later calls change."""
    differentiated = torch.is_grad_enabled() and any(x.requires_grad for x in tensors)
    return not (differentiated or being_recorded())


def _check_layer(layer: CachedLayer) -> None:
    if KNOWN.to_fit:
        return
    if not isinstance(layer, nn.Module) or not hasattr(layer, "project_keys"):
        raise TypeError(f"layer: got {kind(layer)}, expected an attention layer of headwise")
