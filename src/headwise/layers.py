"""One layer of the encoder and one of the decoder, each with the norm before or after."""

from dataclasses import dataclass, field

from torch import Tensor, nn

from headwise._check import check_dropout, check_sizes
from headwise.feed_forward import FeedForward
from headwise.multi_head import KeyValueCache, MultiHeadAttention


class Residual(nn.Module):
    """The connection around a sublayer f, with its layer normalisation and its dropout.

    Post-LN, as in the paper, is norm(x + f(x)); pre-LN (norm_first) is x + f(norm(x)). A layer
    writes both as x = residual.leave(x, f(residual.enter(x))).
    """

    def __init__(self, d_model: int, *, dropout: float = 0.1, norm_first: bool = False) -> None:
        super().__init__()
        check_sizes(d_model=d_model)
        check_dropout(dropout)
        self.norm_first = norm_first
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def enter(self, x: Tensor) -> Tensor:
        """What the sublayer reads, (batch, seq_len, d_model)."""
        if self.norm_first:
            x = self.norm(x)
        return x

    def leave(self, x: Tensor, change: Tensor) -> Tensor:
        """x with the sublayer's change added to it, (batch, seq_len, d_model)."""
        x = x + self.dropout(change)
        if not self.norm_first:
            x = self.norm(x)
        return x


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
        self.d_model = d_model
        self.attention = MultiHeadAttention(d_model, num_heads, dropout=dropout)
        self.feed_forward = FeedForward(d_model, d_ff, dropout=dropout, activation=activation)
        self.residual_1 = Residual(d_model, dropout=dropout, norm_first=norm_first)
        self.residual_2 = Residual(d_model, dropout=dropout, norm_first=norm_first)

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
        h = self.residual_1.enter(x)
        out = self.attention(h, mask=mask, is_causal=is_causal, need_weights=need_weights)
        if need_weights:
            out, weights = out
        x = self.residual_1.leave(x, out)

        h = self.residual_2.enter(x)
        x = self.residual_2.leave(x, self.feed_forward(h))
        return (x, weights) if need_weights else x


@dataclass
class LayerCache:
    """What a decoder layer keeps between calls: keys and values, its own and the memory's."""

    own: KeyValueCache = field(default_factory=KeyValueCache)
    memory: KeyValueCache = field(default_factory=lambda: KeyValueCache(fixed=True))


class DecoderLayer(nn.Module):
    """Causal self-attention, attention to the encoder's memory, then the feed-forward network.

    The arguments are those of EncoderLayer.
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
        self.d_model = d_model
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
            cache: what earlier calls kept; this call adds to it.
        """
        own, fixed = (None, None) if cache is None else (cache.own, cache.memory)

        h = self.residual_1.enter(x)
        out = self.self_attention(
            h, mask=mask, is_causal=True, need_weights=need_weights, cache=own
        )
        if need_weights:
            out, weights = out
        x = self.residual_1.leave(x, out)

        h = self.residual_2.enter(x)
        out = self.cross_attention(
            h, memory, mask=memory_mask, need_weights=need_weights, cache=fixed
        )
        if need_weights:
            out, memory_weights = out
        x = self.residual_2.leave(x, out)

        h = self.residual_3.enter(x)
        x = self.residual_3.leave(x, self.feed_forward(h))
        return (x, weights, memory_weights) if need_weights else x
