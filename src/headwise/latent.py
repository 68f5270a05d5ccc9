"""Latent attention (MLA): keys and values of all heads out of one short vector a token."""

import math
import weakref

import torch
from torch import Tensor, nn

from headwise._check import (
    WIDEST,
    check_divides,
    check_flags,
    check_kind,
    check_sizes,
    check_widths,
)
from headwise._check_tensors import check_alike, check_input, check_mask, check_shape
from headwise.attention import fused_attention
from headwise.heads import merge_heads, split_heads
from headwise.rotary import Rotary


class LatentAttention(nn.Module):
    """Multi-head self-attention whose cache holds one latent vector a token, and not all its heads.

    A token is compressed into a latent vector, and W_uk and W_uv make keys and values of every head
    out of it. Turning keys to their positions would come between W_uk and the queries, so positions
    travel beside: each head has a second, rotary query, and all heads share one rotary key, which
    is kept as well. There are no biases.

    In the plain form the latent vectors grow into keys and values. In the absorbed form W_uk goes
    to the queries and W_uv to the output: (W_q x)ᵀ (W_uk c) is (W_ukᵀ W_q x)ᵀ c, so the latent
    vectors themselves are keys and values, of a single head that all query heads share.

    Args:
        d_model: width of what comes in and of what goes out.
        num_heads: how many heads; it divides d_model unless d_k is given.
        d_latent: width of the latent vector.
        rotary: turns the rotary queries and the rotary key; its d_k is their width.
        d_k: width of one head's other queries and keys, d_model / num_heads by default.
        d_v: width of one head's values, d_k by default.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_latent: int,
        rotary: Rotary,
        *,
        d_k: int | None = None,
        d_v: int | None = None,
    ) -> None:
        super().__init__()
        check_widths(d_model=d_model, num_heads=num_heads, d_latent=d_latent)
        check_kind("rotary", rotary, Rotary)
        if d_k is None:
            check_divides(num_heads, d_model)
            d_k = d_model // num_heads
        d_v = d_k if d_v is None else d_v
        check_sizes(d_k=d_k, d_v=d_v, most=WIDEST // num_heads)
        check_sizes(rotary=rotary.d_k, most=WIDEST // num_heads)
        self.d_model, self.num_heads, self.d_latent = int(d_model), int(num_heads), int(d_latent)
        self.d_k, self.d_v, self.d_rotary = int(d_k), int(d_v), rotary.d_k
        self.rotary = rotary

        self.W_q = nn.Linear(d_model, num_heads * d_k, bias=False)
        self.W_qr = nn.Linear(d_model, num_heads * self.d_rotary, bias=False)
        self.W_kr = nn.Linear(d_model, self.d_rotary, bias=False)
        self.W_dkv = nn.Linear(d_model, d_latent, bias=False)
        self.W_uk = nn.Linear(d_latent, num_heads * d_k, bias=False)
        self.W_uv = nn.Linear(d_latent, num_heads * d_v, bias=False)
        self.W_o = nn.Linear(num_heads * d_v, d_model, bias=False)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        is_causal: bool = False,
        absorbed: bool = False,
        cache: "LatentCache | None" = None,
        positions: Tensor | None = None,
    ) -> Tensor:
        """What each token gathers from the others, (batch, seq_len, d_model).

        Args:
            x: (batch, seq_len, d_model).
            mask: boolean, True where a query may see a key; broadcasts to
                (batch, num_heads, seq_len, key_len), cached keys included.
            is_causal: no query sees a later key; the last query stands at the last key.
            absorbed: compute the same in the absorbed form, which pays with a long cache.
            cache: keeps latent vectors and rotary keys for the next call.
            positions: whole numbers, (seq_len,) or (batch, seq_len); by default they go on where
                the cache ends.
        """
        kept = self._check(x, mask, is_causal, absorbed, cache)
        if positions is None:
            positions = torch.arange(kept, kept + x.size(1), device=x.device)  # (seq_len,)
        Q = split_heads(self.W_q(x), self.num_heads)  # (batch, num_heads, seq_len, d_k)
        Q_r = split_heads(self.W_qr(x), self.num_heads)
        Q_r = self.rotary(Q_r, positions)  # (batch, num_heads, seq_len, d_rotary)
        K_r = self.rotary(self.W_kr(x)[:, None], positions)  # (batch, 1, seq_len, d_rotary)
        latent = self.W_dkv(x)[:, None]  # (batch, 1, seq_len, d_latent)
        if cache is not None:
            latent, K_r = cache.recall(self, latent, K_r)

        form = self._absorbed if absorbed else self._plain
        heads = form(Q, Q_r, K_r, latent, mask, is_causal)  # (batch, num_heads, seq_len, d_v)
        out: Tensor = self.W_o(merge_heads(heads))  # (batch, seq_len, d_model)
        if cache is not None:
            cache.keep(self, latent, K_r)
        return out

    def _plain(
        self,
        Q: Tensor,
        Q_r: Tensor,
        K_r: Tensor,
        latent: Tensor,
        mask: Tensor | None,
        is_causal: bool,
    ) -> Tensor:
        """Attention over keys and values that the latent vectors grow into."""
        K = split_heads(self.W_uk(latent[:, 0]), self.num_heads)  # (batch, num_heads, key_len, d_k)
        V = split_heads(self.W_uv(latent[:, 0]), self.num_heads)  # (batch, num_heads, key_len, d_v)
        K_r = K_r.expand(-1, self.num_heads, -1, -1)  # (batch, num_heads, key_len, d_rotary)
        Q = torch.cat((Q, Q_r), dim=-1)  # (batch, num_heads, seq_len, d_k + d_rotary)
        K = torch.cat((K, K_r), dim=-1)  # (batch, num_heads, key_len, d_k + d_rotary)
        return fused_attention(Q, K, V, mask, is_causal=is_causal)

    def _absorbed(
        self,
        Q: Tensor,
        Q_r: Tensor,
        K_r: Tensor,
        latent: Tensor,
        mask: Tensor | None,
        is_causal: bool,
    ) -> Tensor:
        """Attention over the latent vectors themselves, by queries that W_uk has gone into."""
        W_uk = self.W_uk.weight.view(self.num_heads, self.d_k, self.d_latent)
        W_uv = self.W_uv.weight.view(self.num_heads, self.d_v, self.d_latent)
        Q = Q @ W_uk  # (batch, num_heads, seq_len, d_latent)
        Q = torch.cat((Q, Q_r.to(Q.dtype)), dim=-1)
        # The scores are the same numbers as before, and are divided by the same root.
        Q = Q * math.sqrt((self.d_latent + self.d_rotary) / (self.d_k + self.d_rotary))
        K = torch.cat((latent, K_r), dim=-1)  # (batch, 1, key_len, d_latent + d_rotary)
        out = fused_attention(Q, K, latent, mask, is_causal=is_causal)
        return out @ W_uv.transpose(-2, -1)  # (batch, num_heads, seq_len, d_v)

    def _check(
        self,
        x: Tensor,
        mask: Tensor | None,
        is_causal: bool,
        absorbed: bool,
        cache: "LatentCache | None",
    ) -> int:
        """How many positions are kept already."""
        check_input("x", x, ("batch", "seq_len", self.d_model), self.W_q)
        check_flags(is_causal=is_causal, absorbed=absorbed)
        kept = 0
        if cache is not None:
            check_kind("cache", cache, LatentCache)
            kept = cache.length
        if mask is not None:
            check_mask(mask, (x.size(0), self.num_heads, x.size(1), kept + x.size(1)), x)
        return kept

    def extra_repr(self) -> str:
        """The settings that the projections do not show."""
        return f"num_heads={self.num_heads}, d_k={self.d_k}, d_v={self.d_v}"


class LatentCache:
    """The latent vectors and rotary keys of earlier calls: all that latent attention has to keep.

    A cache serves one layer and one batch. A call that fails leaves it as it was. A deep copy, or
    what pickle brings back, holds the numbers without their gradients, and is the next layer's that
    uses it, if it fits.
    """

    def __init__(self) -> None:
        self.latent: Tensor | None = None
        self.K_r: Tensor | None = None
        self._layer: weakref.ref[LatentAttention] | None = None

    @property
    def length(self) -> int:
        """How many positions are kept: where the next one will stand."""
        return 0 if self.latent is None else self.latent.size(2)

    def recall(self, layer: LatentAttention, latent: Tensor, K_r: Tensor) -> tuple[Tensor, Tensor]:
        """What is kept and what is new, one behind the other; the cache does not change yet.

        latent is (batch, 1, seq_len, d_latent) and K_r (batch, 1, seq_len, d_rotary).
        """
        self._check_new(layer, latent, K_r)
        if self.latent is None or self.K_r is None:
            return latent, K_r
        if self._layer is not None and self._layer() is not layer:
            raise ValueError("cache: got one that another layer filled, expected this layer's own")
        check_shape("cache", self.latent, (latent.size(0), 1, "key_len", layer.d_latent))
        check_shape("cache", self.K_r, (latent.size(0), 1, self.length, layer.d_rotary))
        check_alike("cache", self.latent, "latent", latent)
        check_alike("cache", self.K_r, "K_r", K_r)
        latent = torch.cat((self.latent, latent), dim=2)  # (batch, 1, key_len, d_latent)
        K_r = torch.cat((self.K_r, K_r), dim=2)  # (batch, 1, key_len, d_rotary)
        return latent, K_r

    def keep(self, layer: LatentAttention, latent: Tensor, K_r: Tensor) -> None:
        """Keep what `recall` gave, now that the call has succeeded."""
        self._check_new(layer, latent, K_r)
        self.latent, self.K_r, self._layer = latent, K_r, weakref.ref(layer)

    def _check_new(self, layer: LatentAttention, latent: Tensor, K_r: Tensor) -> None:
        check_kind("layer", layer, LatentAttention)
        check_input("latent", latent, ("batch", 1, "key_len", layer.d_latent), layer.W_dkv)
        check_input("K_r", K_r, (latent.size(0), 1, latent.size(2), layer.d_rotary), layer.W_kr)

    def __getstate__(self) -> dict[str, object]:
        """All but the layer, which a copy of both would only point past."""
        latent, K_r = (x if x is None else x.detach() for x in (self.latent, self.K_r))
        return {"latent": latent, "K_r": K_r, "_layer": None}
