"""Multi-head attention: the module that the rest of the library uses."""

from typing import Literal, overload

import torch
from torch import Tensor, nn

from headwise._check import (
    WIDEST,
    check_divides,
    check_dropout,
    check_flags,
    check_input,
    check_kind,
    check_mask,
    check_sizes,
    check_where,
    check_widths,
)
from headwise.attention import attention, fused_attention
from headwise.cache import KeyValueCache
from headwise.heads import merge_heads, share_heads, split_heads
from headwise.masks import causal_mask, combine
from headwise.rotary import Rotary


class MultiHeadAttention(nn.Module):
    """Attention by several heads at once, each through its own columns of the projections.

    Args:
        d_model: width of the query and of the output.
        num_heads: how many heads; it divides d_model unless d_k is given.
        num_kv_heads: how many heads of keys and values, a divisor of num_heads, which is the
            default. Query head i looks at key head i // (num_heads / num_kv_heads).
        d_k: width of one head's queries and keys, d_model / num_heads by default.
        d_v: width of one head's values, d_k by default.
        key_dim: width of the key that comes in, d_model by default.
        value_dim: width of the value that comes in, key_dim by default.
        bias: whether the four projections have a bias.
        dropout: the share of weights dropped while training.
        rotary: turns queries and keys to their positions, see headwise.rotary.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        num_kv_heads: int | None = None,
        d_k: int | None = None,
        d_v: int | None = None,
        key_dim: int | None = None,
        value_dim: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        rotary: Rotary | None = None,
    ) -> None:
        super().__init__()
        check_widths(d_model=d_model, num_heads=num_heads)
        if d_k is None:
            check_divides(num_heads, d_model)
            d_k = d_model // num_heads
        d_v = d_k if d_v is None else d_v
        key_dim = d_model if key_dim is None else key_dim
        value_dim = key_dim if value_dim is None else value_dim
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        check_sizes(d_k=d_k, d_v=d_v, most=WIDEST // num_heads)
        check_widths(key_dim=key_dim, value_dim=value_dim)
        check_divides(num_kv_heads, num_heads, name="num_kv_heads", width="num_heads")
        check_dropout(dropout)
        check_flags(bias=bias)
        if rotary is not None:
            check_kind("rotary", rotary, Rotary)
            if rotary.d_k != d_k:
                raise ValueError(f"rotary: got d_k = {rotary.d_k}, expected {d_k}, as here")
        self.d_model, self.num_heads, self.d_k, self.d_v = map(int, (d_model, num_heads, d_k, d_v))
        self.key_dim, self.value_dim, self.dropout = int(key_dim), int(value_dim), float(dropout)
        self.num_kv_heads, self.rotary = int(num_kv_heads), rotary

        self.W_q = nn.Linear(d_model, num_heads * d_k, bias=bias)
        self.W_k = nn.Linear(key_dim, num_kv_heads * d_k, bias=bias)
        self.W_v = nn.Linear(value_dim, num_kv_heads * d_v, bias=bias)
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
        cache: KeyValueCache | None = ...,
        positions: Tensor | None = ...,
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
        cache: KeyValueCache | None = ...,
        positions: Tensor | None = ...,
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
        cache: KeyValueCache | None = None,
        positions: Tensor | None = None,
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
            positions: where the query stands, in whole numbers, (seq_len,) or (batch, seq_len);
                by default, the last query stands at the last key. A key of its own stands at
                0, 1, 2, …
        """
        key = query if key is None else key
        value = key if value is None else value
        self._check(query, key, value, mask, cache, is_causal, need_weights, positions)
        dropout = self.dropout if self.training else 0.0
        if positions is None and self.rotary is not None:
            positions = self._positions(query, key, cache)

        Q = self.project_queries(query, positions)  # (batch, num_heads, seq_len, d_k)
        if cache is None:
            K, V = self.project_keys(key, value, positions if key is query else None)
        else:
            K, V = cache.recall(self, query, key, value, positions)

        if need_weights:
            if is_causal:
                mask = combine(mask, causal_mask(Q.size(2), K.size(2), device=Q.device))
            all_K, all_V = share_heads(K, self.num_heads), share_heads(V, self.num_heads)
            out, weights = attention(Q, all_K, all_V, mask, dropout=dropout)
        else:
            out = fused_attention(Q, K, V, mask, dropout=dropout, is_causal=is_causal)
        out = self.W_o(merge_heads(out))  # (batch, seq_len, d_model)

        if cache is not None:
            cache.keep(self, K, V)
        return (out, weights) if need_weights else out

    def project_queries(self, query: Tensor, positions: Tensor | None = None) -> Tensor:
        """Q (batch, num_heads, seq_len, d_k), turned to its positions if the layer is rotary."""
        check_input("query", query, ("batch", "seq_len", self.d_model), self.W_q)
        Q = split_heads(self.W_q(query), self.num_heads)  # (batch, num_heads, seq_len, d_k)
        return self._turned(Q, positions)

    def project_keys(
        self, key: Tensor, value: Tensor, positions: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """K (batch, num_kv_heads, key_len, d_k) and V (batch, num_kv_heads, key_len, d_v)."""
        check_input("key", key, ("batch", "key_len", self.key_dim), self.W_k)
        check_input("value", value, (key.size(0), key.size(1), self.value_dim), self.W_v)
        K = split_heads(self.W_k(key), self.num_kv_heads)  # (batch, num_kv_heads, key_len, d_k)
        V = split_heads(self.W_v(value), self.num_kv_heads)  # (batch, num_kv_heads, key_len, d_v)
        return self._turned(K, positions), V

    def _turned(self, x: Tensor, positions: Tensor | None) -> Tensor:
        """Queries or keys, turned to their positions, which are 0, 1, 2, … by default."""
        if positions is not None:
            check_where("positions", positions, x.size(0), x.size(2), x)
        if self.rotary is None:
            return x
        if positions is None:
            positions = torch.arange(x.size(2), device=x.device)  # (seq_len,)
        turned: Tensor = self.rotary(x, positions)
        return turned

    def _positions(self, query: Tensor, key: Tensor, cache: KeyValueCache | None) -> Tensor:
        """Where the query stands if nobody says so, (seq_len,)."""
        seq_len = query.size(1)
        start = key.size(1) - seq_len
        if cache is not None and not cache.fixed:
            start = cache.length
        return torch.arange(start, start + seq_len, device=query.device)

    def _check(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        cache: KeyValueCache | None,
        is_causal: bool,
        need_weights: bool,
        positions: Tensor | None,
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
        if positions is not None:
            check_where("positions", positions, query.size(0), query.size(1), query)

    def extra_repr(self) -> str:
        """The settings that the projections do not show."""
        settings: dict[str, float] = {
            "num_heads": self.num_heads,
            "num_kv_heads": self.num_kv_heads,
        }
        settings |= {"d_k": self.d_k, "d_v": self.d_v, "dropout": self.dropout}
        if self.num_kv_heads == self.num_heads:
            del settings["num_kv_heads"]
        return ", ".join(f"{name}={value}" for name, value in settings.items())
