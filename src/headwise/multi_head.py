"""Multi-head attention: the module that the rest of the library uses."""

from typing import Literal, overload

import torch
from torch import Tensor, nn

from headwise._check import (
    KNOWN,
    WIDEST,
    check_divides,
    check_dropout,
    check_flags,
    check_kind,
    check_sizes,
    check_widths,
    check_window,
)
from headwise._check_tensors import check_input, check_mask, check_where
from headwise._sight import Places, bias_of, find_places, see, with_sink
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
        alibi: scores sink with distance, in each head at its own pace, see headwise.alibi.
        window: a query sees itself and the window - 1 keys before it. Such a layer is causal.
        sinks: how many of the first keys are seen beside the window.
        learned_sink: softmax has one more score in each row, a learned one for each head,
            and what falls to it is lost: then the weights of a row sum to less than 1.
        qk_norm: queries and keys are normalised (RMSNorm over d_k, with a gain) before they turn.
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
        alibi: bool = False,
        window: int | None = None,
        sinks: int = 0,
        learned_sink: bool = False,
        qk_norm: bool = False,
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
        check_flags(bias=bias, alibi=alibi, learned_sink=learned_sink, qk_norm=qk_norm)
        check_window(window, sinks)
        if rotary is not None:
            check_kind("rotary", rotary, Rotary)
            if rotary.d_k != d_k:
                raise ValueError(f"rotary: got d_k = {rotary.d_k}, expected {d_k}, as here")
        self.d_model, self.num_heads, self.d_k, self.d_v = map(int, (d_model, num_heads, d_k, d_v))
        self.key_dim, self.value_dim, self.dropout = int(key_dim), int(value_dim), float(dropout)
        self.num_kv_heads, self.rotary, self.alibi = int(num_kv_heads), rotary, alibi
        self.window, self.sinks = None if window is None else int(window), int(sinks)

        self.W_q = nn.Linear(d_model, num_heads * d_k, bias=bias)
        self.W_k = nn.Linear(key_dim, num_kv_heads * d_k, bias=bias)
        self.W_v = nn.Linear(value_dim, num_kv_heads * d_v, bias=bias)
        self.W_o = nn.Linear(num_heads * d_v, d_model, bias=bias)
        self.norm_q = nn.RMSNorm(d_k, eps=1e-6) if qk_norm else None
        self.norm_k = nn.RMSNorm(d_k, eps=1e-6) if qk_norm else None
        self.sink = nn.Parameter(torch.zeros(num_heads)) if learned_sink else None

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
        places = self._places(query, key, cache, positions)

        Q = self.project_queries(query, places.queries)  # (batch, num_heads, seq_len, d_k)
        if cache is None:
            K, V = self.project_keys(key, value, places.queries if key is query else None)
        else:
            K, V = cache.recall(self, query, key, value, places.queries)

        kept, key_len = (K, V), K.size(2)
        mask, bias, is_causal = self._see(mask, is_causal, places, cache)
        if self.sink is not None:
            K, V, mask, bias = with_sink(self.sink, K, V, mask, bias)
        if need_weights:
            if is_causal:
                mask = combine(mask, causal_mask(Q.size(2), key_len, device=Q.device))
            if self.num_kv_heads != self.num_heads:
                K, V = share_heads(K, self.num_heads), share_heads(V, self.num_heads)
            out, weights = attention(Q, K, V, mask, bias=bias, dropout=dropout)
            weights = weights[..., :key_len]  # without the sink's
        else:
            out = fused_attention(Q, K, V, mask, bias=bias, dropout=dropout, is_causal=is_causal)
        out = self.W_o(merge_heads(out))  # (batch, seq_len, d_model)

        if cache is not None:
            cache.keep(self, *kept, places.history)
        return (out, weights) if need_weights else out

    def project_queries(self, query: Tensor, positions: Tensor | None = None) -> Tensor:
        """Q (batch, num_heads, seq_len, d_k), normalised and turned if the layer does that."""
        check_input("query", query, ("batch", "seq_len", self.d_model), self.W_q)
        Q = split_heads(self.W_q(query), self.num_heads)  # (batch, num_heads, seq_len, d_k)
        return self._turned(Q, self.norm_q, positions)

    def project_keys(
        self, key: Tensor, value: Tensor, positions: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """K (batch, num_kv_heads, key_len, d_k) and V (batch, num_kv_heads, key_len, d_v)."""
        check_input("key", key, ("batch", "key_len", self.key_dim), self.W_k)
        check_input("value", value, (key.size(0), key.size(1), self.value_dim), self.W_v)
        K = split_heads(self.W_k(key), self.num_kv_heads)  # (batch, num_kv_heads, key_len, d_k)
        V = split_heads(self.W_v(value), self.num_kv_heads)  # (batch, num_kv_heads, key_len, d_v)
        return self._turned(K, self.norm_k, positions), V

    def _turned(self, x: Tensor, norm: nn.Module | None, positions: Tensor | None) -> Tensor:
        """Queries or keys, normalised and turned; positions are 0, 1, 2, … by default."""
        x = x if norm is None else norm(x)
        if self.rotary is None:
            if positions is not None:
                check_where("positions", positions, x.size(0), x.size(2), x)
            return x
        if positions is None:
            positions = torch.arange(x.size(2), device=x.device)  # (seq_len,)
        turned: Tensor = self.rotary(x, positions)
        return turned

    def _places(
        self, query: Tensor, key: Tensor, cache: KeyValueCache | None, positions: Tensor | None
    ) -> Places:
        """Where queries and keys stand, if that matters to this layer."""
        keys_matter = self.alibi or self.window is not None or self.sink is not None
        if self.rotary is None and not keys_matter:
            return Places()
        return find_places(query, key, cache, positions, keys_matter)

    def _see(
        self, mask: Tensor | None, is_causal: bool, places: Places, cache: KeyValueCache | None
    ) -> tuple[Tensor | None, Tensor | None, bool]:
        """Mask, bias and whether it is still to be made causal."""
        if not self.alibi and self.window is None and self.sink is None:
            return mask, None, is_causal
        mask = see(mask, is_causal, places, window=self.window, sinks=self.sinks, cache=cache)
        return mask, bias_of(self.num_heads, places) if self.alibi else None, False

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
        if KNOWN.to_fit:
            return
        check_input("query", query, ("batch", "seq_len", self.d_model), self.W_q)
        if not key is value is query or self.key_dim != self.d_model:  # or `project_keys` does it
            check_input("key", key, (query.size(0), "key_len", self.key_dim), self.W_k)
            check_input("value", value, (query.size(0), key.size(1), self.value_dim), self.W_v)
        check_flags(is_causal=is_causal, need_weights=need_weights)
        key_len = key.size(1)
        if cache is not None:
            check_kind("cache", cache, KeyValueCache)
            key_len += 0 if cache.fixed else cache.length
            self._check_ring(cache)
        if self.window is not None and not is_causal:
            raise ValueError(f"is_causal: got False, expected True, as window = {self.window}")
        if mask is not None:
            check_mask(mask, (query.size(0), self.num_heads, query.size(1), key_len), query)
        if positions is not None:
            check_where("positions", positions, query.size(0), query.size(1), query)

    def _check_ring(self, cache: KeyValueCache) -> None:
        """A ring drops no key that this layer would still see."""
        if cache.window is None:
            return
        if self.window is None:
            raise ValueError(
                "cache: got a ring, expected one that keeps all, as there is no window"
            )
        if cache.window < self.window or cache.sinks != self.sinks:
            raise ValueError(
                f"cache: got window = {cache.window} and sinks = {cache.sinks}, expected at least "
                f"{self.window} and just {self.sinks}, as in the layer"
            )

    def extra_repr(self) -> str:
        """The settings that the projections do not show."""
        shown = [f"num_heads={self.num_heads}"]
        if self.num_kv_heads != self.num_heads:
            shown.append(f"num_kv_heads={self.num_kv_heads}")
        shown.append(f"d_k={self.d_k}, d_v={self.d_v}, dropout={self.dropout}")
        if self.alibi:
            shown.append("alibi=True")
        if self.window is not None:
            shown.append(f"window={self.window}, sinks={self.sinks}")
        if self.sink is not None:
            shown.append("learned_sink=True")
        return ", ".join(shown)
