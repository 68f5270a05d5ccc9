"""The cache: keys and values of earlier calls, so that decoding does not repeat them."""

import weakref
from typing import Protocol, cast

import torch
from torch import Tensor, nn

from headwise._check import (
    check_alike,
    check_flags,
    check_input,
    check_kind,
    check_shape,
    check_tensor,
    kind,
    may_hold,
)


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

    A deep copy, or what pickle brings back, holds the numbers without their gradients, and is the
    next layer's that uses it, if it fits.
    """

    def __init__(self, *, fixed: bool = False) -> None:
        check_flags(fixed=fixed)
        self.fixed = fixed
        self.K: Tensor | None = None
        self.V: Tensor | None = None
        self._layer: weakref.ref[CachedLayer] | None = None
        self._source: tuple[Tensor, Tensor, Tensor] | None = None  # K, and the key and value of it

    @property
    def length(self) -> int:
        """How many positions are kept: where the next one of a growing cache will stand."""
        if self.K is None:
            return 0
        check_shape("cache", self.K, ("batch", "num_kv_heads", "key_len", "d_k"))
        return self.K.size(2)

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
        for name, x in (("query", query), ("key", key), ("value", value)):
            check_tensor(name, x)
        if self.fixed is (key is query):
            raise ValueError(
                "cache: got a fixed one for self-attention, whose key is its query, expected a "
                "growing one"
                if self.fixed
                else "cache: got a growing one with a key of its own, expected a fixed one"
            )
        if self.K is None and self.V is None:
            K, V = layer.project_keys(key, value, None if self.fixed else positions)
            self._source = (K, key, value) if self.fixed else None
            return K, V
        kept_K, kept_V = self._checked(layer, key, value)
        if self.fixed:
            return kept_K, kept_V
        K, V = layer.project_keys(key, value, positions)
        return torch.cat((kept_K, K), dim=2), torch.cat((kept_V, V), dim=2)

    def keep(self, layer: CachedLayer, K: Tensor, V: Tensor) -> None:
        """Keep what `recall` gave, now that the call has succeeded."""
        _check_layer(layer)
        check_input("K", K, ("batch", layer.num_kv_heads, "key_len", layer.d_k), layer.W_k)
        check_input("V", V, (K.size(0), layer.num_kv_heads, K.size(2), layer.d_v), layer.W_v)
        self.K, self.V, self._layer = K, V, weakref.ref(layer)

    def copy(self) -> "KeyValueCache":
        """Another cache for the same layer that goes its own way: a call does not change both."""
        other = KeyValueCache(fixed=self.fixed)
        other.update(self)
        return other

    def update(self, other: "KeyValueCache") -> None:
        """Hold what the other cache holds, which is of the same sort."""
        check_kind("other", other, KeyValueCache)
        if other.fixed is not self.fixed:
            raise ValueError(f"other: got fixed={other.fixed}, expected {self.fixed}, as here")
        self.K, self.V = other.K, other.V
        self._layer, self._source = other._layer, other._source

    def _checked(self, layer: CachedLayer, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """What is kept, which fits this layer and this key."""
        K, V = cast(Tensor, self.K), cast(Tensor, self.V)  # whoever set them by hand
        if self._layer is not None and self._layer() is not layer:
            raise ValueError("cache: got one that another layer filled, expected this layer's own")
        check_shape("cache", K, ("batch", layer.num_kv_heads, "key_len", layer.d_k))
        check_shape("cache", V, (K.size(0), layer.num_kv_heads, K.size(2), layer.d_v))
        if K.size(0) != key.size(0):
            raise ValueError(f"cache: got one of batch {K.size(0)}, expected batch {key.size(0)}")
        if self.fixed and K.size(2) != key.size(1):
            raise ValueError(
                f"cache: got one of {K.size(2)} keys, expected the {key.size(1)} of this key"
            )
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
        K, V = (x.detach() if isinstance(x, Tensor) else x for x in (self.K, self.V))
        return {**self.__dict__, "K": K, "V": V, "_layer": None, "_source": None}


def _check_layer(layer: CachedLayer) -> None:
    if not isinstance(layer, nn.Module) or not hasattr(layer, "project_keys"):
        raise TypeError(f"layer: got {kind(layer)}, expected an attention layer of headwise")
