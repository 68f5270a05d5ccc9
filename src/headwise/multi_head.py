"""Multi-head attention: the module that the rest of the library uses, and its cache."""

import weakref
from typing import Literal, cast, overload

import torch
from torch import Tensor, nn

from headwise._check import (
    WIDEST,
    check_alike,
    check_divides,
    check_dropout,
    check_flags,
    check_input,
    check_kind,
    check_mask,
    check_shape,
    check_sizes,
    check_widths,
    may_hold,
)
from headwise.attention import attention, fused_attention
from headwise.heads import merge_heads, split_heads
from headwise.masks import causal_mask, combine


class MultiHeadAttention(nn.Module):
    """Attention by several heads at once, each through its own columns of the projections.

    Args:
        d_model: width of the query and of the output.
        num_heads: how many heads; it divides d_model unless d_k is given.
        d_k: width of one head's queries and keys, d_model / num_heads by default.
        d_v: width of one head's values, d_k by default.
        key_dim: width of the key that comes in, d_model by default.
        value_dim: width of the value that comes in, key_dim by default.
        bias: whether the four projections have a bias.
        dropout: the share of weights dropped while training.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        d_k: int | None = None,
        d_v: int | None = None,
        key_dim: int | None = None,
        value_dim: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_widths(d_model=d_model, num_heads=num_heads)
        if d_k is None:
            check_divides(num_heads, d_model)
            d_k = d_model // num_heads
        d_v = d_k if d_v is None else d_v
        key_dim = d_model if key_dim is None else key_dim
        value_dim = key_dim if value_dim is None else value_dim
        check_sizes(d_k=d_k, d_v=d_v, most=WIDEST // num_heads)
        check_widths(key_dim=key_dim, value_dim=value_dim)
        check_dropout(dropout)
        check_flags(bias=bias)
        self.d_model, self.num_heads, self.d_k, self.d_v = map(int, (d_model, num_heads, d_k, d_v))
        self.key_dim, self.value_dim, self.dropout = int(key_dim), int(value_dim), float(dropout)

        self.W_q = nn.Linear(d_model, num_heads * d_k, bias=bias)
        self.W_k = nn.Linear(key_dim, num_heads * d_k, bias=bias)
        self.W_v = nn.Linear(value_dim, num_heads * d_v, bias=bias)
        self.W_o = nn.Linear(num_heads * d_v, d_model, bias=bias)

    @overload
    def forward(
        self,
        query: Tensor,
        key: Tensor | None = ...,
        value: Tensor | None = ...,
        mask: Tensor | None = ...,
        *,
        is_causal: bool = ...,
        need_weights: Literal[False] = ...,
        cache: "KeyValueCache | None" = ...,
    ) -> Tensor: ...

    @overload
    def forward(
        self,
        query: Tensor,
        key: Tensor | None = ...,
        value: Tensor | None = ...,
        mask: Tensor | None = ...,
        *,
        is_causal: bool = ...,
        need_weights: Literal[True],
        cache: "KeyValueCache | None" = ...,
    ) -> tuple[Tensor, Tensor]: ...

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        mask: Tensor | None = None,
        *,
        is_causal: bool = False,
        need_weights: bool = False,
        cache: "KeyValueCache | None" = None,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """What each position of the query gathers from the value, (batch, seq_len, d_model).

        Args:
            query: (batch, seq_len, d_model).
            key: (batch, key_len, key_dim), the query by default.
            value: (batch, key_len, value_dim), the key by default.
            mask: boolean, True where a query may see a key; broadcasts to
                (batch, num_heads, seq_len, key_len), cached keys included.
            is_causal: no query sees a later key; the last query stands at the last key.
            need_weights: also return the weights, (batch, num_heads, seq_len, key_len).
            cache: keeps keys and values for the next call.
        """
        key = query if key is None else key
        value = key if value is None else value
        self._check(query, key, value, mask, cache, is_causal, need_weights)
        dropout = self.dropout if self.training else 0.0

        Q = split_heads(self.W_q(query), self.num_heads)  # (batch, num_heads, seq_len, d_k)
        if cache is None:
            K, V = self.project_keys(key, value)
        else:
            K, V = cache.recall(self, query, key, value)

        if need_weights:
            if is_causal:
                mask = combine(mask, causal_mask(Q.size(2), K.size(2), device=Q.device))
            out, weights = attention(Q, K, V, mask, dropout=dropout)
        else:
            out = fused_attention(Q, K, V, mask, dropout=dropout, is_causal=is_causal)
        out = self.W_o(merge_heads(out))  # (batch, seq_len, d_model)

        if cache is not None:
            cache.keep(self, K, V)
        return (out, weights) if need_weights else out

    def project_keys(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """K (batch, num_heads, key_len, d_k) and V (batch, num_heads, key_len, d_v)."""
        check_input("key", key, ("batch", "key_len", self.key_dim), self.W_k)
        check_input("value", value, (key.size(0), key.size(1), self.value_dim), self.W_v)
        K = split_heads(self.W_k(key), self.num_heads)  # (batch, num_heads, key_len, d_k)
        V = split_heads(self.W_v(value), self.num_heads)  # (batch, num_heads, key_len, d_v)
        return K, V

    def _check(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        cache: "KeyValueCache | None",
        is_causal: bool,
        need_weights: bool,
    ) -> None:
        check_input("query", query, ("batch", "seq_len", self.d_model), self.W_q)
        check_input("key", key, (query.size(0), "key_len", self.key_dim), self.W_k)
        check_input("value", value, (query.size(0), key.size(1), self.value_dim), self.W_v)
        check_flags(is_causal=is_causal, need_weights=need_weights)
        key_len = key.size(1)
        if cache is not None:
            check_kind("cache", cache, KeyValueCache)
            key_len += 0 if cache.fixed else cache.length
        if mask is not None:
            check_mask(mask, (query.size(0), self.num_heads, query.size(1), key_len), query)

    def extra_repr(self) -> str:
        """The settings that the projections do not show."""
        return f"num_heads={self.num_heads}, d_k={self.d_k}, d_v={self.d_v}, dropout={self.dropout}"


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
        self._layer: weakref.ref[MultiHeadAttention] | None = None
        self._source: tuple[Tensor, Tensor, Tensor] | None = None  # K, and the key and value of it

    @property
    def length(self) -> int:
        """How many positions are kept: where the next one of a growing cache will stand."""
        if self.K is None:
            return 0
        check_shape("cache", self.K, ("batch", "num_heads", "key_len", "d_k"))
        return self.K.size(2)

    def recall(
        self, layer: MultiHeadAttention, query: Tensor, key: Tensor, value: Tensor
    ) -> tuple[Tensor, Tensor]:
        """K and V for this call, kept ones included; the cache itself does not change yet."""
        check_kind("layer", layer, MultiHeadAttention)
        for name, x in (("query", query), ("key", key), ("value", value)):
            check_shape(name, x, ("batch", "length", "width"))
        if self.fixed is (key is query):
            raise ValueError(
                "cache: got a fixed one for self-attention, whose key is its query, expected a "
                "growing one"
                if self.fixed
                else "cache: got a growing one with a key of its own, expected a fixed one"
            )
        if self.K is None and self.V is None:
            K, V = layer.project_keys(key, value)
            self._source = (K, key, value) if self.fixed else None
            return K, V
        kept_K, kept_V = self._checked(layer, key, value)
        if self.fixed:
            return kept_K, kept_V
        K, V = layer.project_keys(key, value)
        return torch.cat((kept_K, K), dim=2), torch.cat((kept_V, V), dim=2)

    def keep(self, layer: MultiHeadAttention, K: Tensor, V: Tensor) -> None:
        """Keep what `recall` gave, now that the call has succeeded."""
        check_kind("layer", layer, MultiHeadAttention)
        check_input("K", K, ("batch", layer.num_heads, "key_len", layer.d_k), layer.W_k)
        check_input("V", V, (K.size(0), layer.num_heads, K.size(2), layer.d_v), layer.W_v)
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

    def _checked(
        self, layer: MultiHeadAttention, key: Tensor, value: Tensor
    ) -> tuple[Tensor, Tensor]:
        """What is kept, which fits this layer and this key."""
        K, V = cast(Tensor, self.K), cast(Tensor, self.V)  # whoever set them by hand
        if self._layer is not None and self._layer() is not layer:
            raise ValueError("cache: got one that another layer filled, expected this layer's own")
        check_shape("cache", K, ("batch", layer.num_heads, "key_len", layer.d_k))
        check_shape("cache", V, (K.size(0), layer.num_heads, K.size(2), layer.d_v))
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
