"""One layer of the encoder and one of the decoder, each with the norm before or after."""

from torch import Tensor, nn

from headwise._check import (
    check_divides,
    check_dropout,
    check_flags,
    check_kind,
    check_positive,
    check_widths,
)
from headwise._check_tensors import check_input, check_mask, check_tensor
from headwise.cache import KeyValueCache
from headwise.feed_forward import FeedForward, check_feed_forward
from headwise.multi_head import MultiHeadAttention


class Residual(nn.Module):
    """The connection around a sublayer f, with its layer normalisation and its dropout.

    Post-LN, as in the paper, is norm(x + f(x)); pre-LN (norm_first) is x + f(norm(x)). A layer
    writes both as x = residual.leave(x, f(residual.enter(x))).
    """

    def __init__(
        self, d_model: int, *, dropout: float = 0.1, norm_first: bool = False, eps: float = 1e-5
    ) -> None:
        super().__init__()
        check_widths(d_model=d_model)
        check_dropout(dropout)
        check_flags(norm_first=norm_first)
        check_positive(eps=eps)
        self.d_model, self.norm_first = int(d_model), norm_first
        self.norm = nn.LayerNorm(self.d_model, eps=eps)
        self.dropout = nn.Dropout(dropout)

    def enter(self, x: Tensor) -> Tensor:
        """What the sublayer reads, (batch, seq_len, d_model)."""
        check_input("x", x, ("batch", "seq_len", self.d_model), self.norm)
        if self.norm_first:
            x = self.norm(x)
        return x

    def leave(self, x: Tensor, change: Tensor) -> Tensor:
        """x with the sublayer's change added to it, (batch, seq_len, d_model)."""
        self._check(x, change)
        x = x + self.dropout(change)
        if not self.norm_first:
            x = self.norm(x)
        return x

    def _check(self, x: Tensor, change: Tensor) -> None:
        check_input("x", x, ("batch", "seq_len", self.d_model), self.norm)
        check_tensor("change", change)
        if (change.shape, change.dtype, change.device) != (x.shape, x.dtype, x.device):
            check_input("change", change, x.shape, self.norm)


def check_layer(
    d_model: int,
    num_heads: int,
    d_ff: int | None,
    dropout: float,
    activation: str,
    norm_first: bool,
) -> None:
    """A layer can be made of this: told before any weight is drawn."""
    check_widths(d_model=d_model, num_heads=num_heads)
    check_divides(num_heads, d_model)
    check_feed_forward(d_model, d_ff, dropout, activation)
    check_flags(norm_first=norm_first)


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network, each inside a residual connection.

    Args:
        d_model: width of the layer.
        num_heads: how many heads; it divides d_model.
        d_ff: width inside the feed-forward network, 4 * d_model by default.
        dropout: the share dropped while training: of the weights, inside the feed-forward
            network and of what each sublayer adds.
        activation: "relu" or "gelu".
        norm_first: pre-LN; otherwise post-LN.
        eps: what the norms add to the variance; BERT's add less than PyTorch's.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int | None = None,
        *,
        dropout: float = 0.1,
        activation: str = "relu",
        norm_first: bool = False,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        check_layer(d_model, num_heads, d_ff, dropout, activation, norm_first)
        check_positive(eps=eps)
        self.d_model, self.num_heads = int(d_model), int(num_heads)
        self.attention = MultiHeadAttention(d_model, num_heads, dropout=dropout)
        self.feed_forward = FeedForward(d_model, d_ff, dropout=dropout, activation=activation)
        self.residual_1 = Residual(d_model, dropout=dropout, norm_first=norm_first, eps=eps)
        self.residual_2 = Residual(d_model, dropout=dropout, norm_first=norm_first, eps=eps)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        is_causal: bool = False,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """x (batch, seq_len, d_model), changed by what each position sees: same shape.

        Args:
            x: (batch, seq_len, d_model).
            mask: boolean, True where a query may see a key; broadcasts to
                (batch, num_heads, seq_len, seq_len).
            is_causal: no position sees a later one, as a decoder without a memory needs.
            need_weights: also return the weights, (batch, num_heads, seq_len, seq_len).
        """
        self._check(x, mask, is_causal, need_weights)
        h = self.residual_1.enter(x)
        out = self.attention(h, mask=mask, is_causal=is_causal, need_weights=need_weights)
        if need_weights:
            out, weights = out
        x = self.residual_1.leave(x, out)

        h = self.residual_2.enter(x)
        x = self.residual_2.leave(x, self.feed_forward(h))
        return (x, weights) if need_weights else x

    def _check(self, x: Tensor, mask: Tensor | None, is_causal: bool, need_weights: bool) -> None:
        check_input("x", x, ("batch", "seq_len", self.d_model), self.attention.W_q)
        check_flags(is_causal=is_causal, need_weights=need_weights)
        if mask is not None:
            check_mask(mask, (x.size(0), self.num_heads, x.size(1), x.size(1)), x)


class LayerCache:
    """What a decoder layer keeps between calls: keys and values, its own and the memory's."""

    def __init__(
        self, own: KeyValueCache | None = None, memory: KeyValueCache | None = None
    ) -> None:
        self.own = KeyValueCache() if own is None else own
        self.memory = KeyValueCache(fixed=True) if memory is None else memory
        self.check_parts()

    def check_parts(self, name: str = "") -> None:
        """One part grows and the other is fixed; name is what the caller calls this cache."""
        for part, one, fixed in (("own", self.own, False), ("memory", self.memory, True)):
            called = f"{name}.{part}" if name else part
            check_kind(called, one, KeyValueCache)
            if one.fixed is not fixed:
                raise ValueError(f"{called}: got fixed={one.fixed}, expected {fixed}")

    def copy(self) -> "LayerCache":
        """Another cache for the same layer that goes its own way."""
        self.check_parts()
        return LayerCache(self.own.copy(), self.memory.copy())

    def update(self, other: "LayerCache") -> None:
        """Hold what the other cache holds."""
        check_kind("other", other, LayerCache)
        other.check_parts("other")
        self.own.update(other.own)
        self.memory.update(other.memory)


class DecoderLayer(nn.Module):
    """Causal self-attention, attention to the encoder's memory, then the feed-forward network.

    The arguments are those of EncoderLayer, but for eps.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int | None = None,
        *,
        dropout: float = 0.1,
        activation: str = "relu",
        norm_first: bool = False,
    ) -> None:
        super().__init__()
        check_layer(d_model, num_heads, d_ff, dropout, activation, norm_first)
        self.d_model, self.num_heads = int(d_model), int(num_heads)
        self.self_attention = MultiHeadAttention(d_model, num_heads, dropout=dropout)
        self.cross_attention = MultiHeadAttention(d_model, num_heads, dropout=dropout)
        self.feed_forward = FeedForward(d_model, d_ff, dropout=dropout, activation=activation)
        self.residual_1 = Residual(d_model, dropout=dropout, norm_first=norm_first)
        self.residual_2 = Residual(d_model, dropout=dropout, norm_first=norm_first)
        self.residual_3 = Residual(d_model, dropout=dropout, norm_first=norm_first)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        *,
        need_weights: bool = False,
        cache: LayerCache | None = None,
    ) -> Tensor | tuple[Tensor, Tensor, Tensor]:
        """x (batch, seq_len, d_model), changed by what each position sees: same shape.

        No position of x sees a later one: that needs no mask.

        Args:
            x: (batch, seq_len, d_model); with a cache, only the positions that are new.
            memory: what the encoder gave, (batch, src_len, d_model).
            mask: boolean, True where a query may see a key; broadcasts to
                (batch, num_heads, seq_len, key_len), cached keys included.
            memory_mask: the same for the memory, (batch, num_heads, seq_len, src_len).
            need_weights: also return the weights of both attentions,
                (batch, num_heads, seq_len, key_len) and (batch, num_heads, seq_len, src_len).
            cache: what earlier calls kept; this call adds to it once it has succeeded.
        """
        self._check(x, memory, mask, memory_mask, need_weights, cache)
        grown = LayerCache() if cache is None else cache.copy()

        h = self.residual_1.enter(x)
        out = self.self_attention(
            h, mask=mask, is_causal=True, need_weights=need_weights, cache=grown.own
        )
        if need_weights:
            out, weights = out
        x = self.residual_1.leave(x, out)

        h = self.residual_2.enter(x)
        out = self.cross_attention(
            h, memory, mask=memory_mask, need_weights=need_weights, cache=grown.memory
        )
        if need_weights:
            out, memory_weights = out
        x = self.residual_2.leave(x, out)

        h = self.residual_3.enter(x)
        x = self.residual_3.leave(x, self.feed_forward(h))
        if cache is not None:
            cache.update(grown)
        return (x, weights, memory_weights) if need_weights else x

    def _check(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None,
        memory_mask: Tensor | None,
        need_weights: bool,
        cache: LayerCache | None,
    ) -> None:
        check_input("x", x, ("batch", "seq_len", self.d_model), self.self_attention.W_q)
        batch, seq_len, _ = x.shape
        check_input("memory", memory, (batch, "src_len", self.d_model), self.cross_attention.W_k)
        check_flags(need_weights=need_weights)
        key_len = seq_len
        if cache is not None:
            check_kind("cache", cache, LayerCache)
            cache.check_parts("cache")
            key_len += cache.own.length
        scores = (batch, self.num_heads, seq_len)
        if mask is not None:
            check_mask(mask, (*scores, key_len), x)
        if memory_mask is not None:
            check_mask(memory_mask, (*scores, memory.size(1)), x, name="memory_mask")
