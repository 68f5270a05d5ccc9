"""The block of today: attention and a feed-forward network, each behind a norm of its own."""

from torch import Tensor, nn

from headwise._check import check_dropout, check_flags, check_kind, check_real, check_widths
from headwise._check_tensors import check_input
from headwise.cache import KeyValueCache
from headwise.feed_forward import ACTIVATIONS, FeedForward, SwiGLU
from headwise.multi_head import MultiHeadAttention
from headwise.rms_norm import RMSNorm

NORMS = {"layer": nn.LayerNorm, "rms": RMSNorm}


def check_block(norm: str, activation: str, bias: bool, eps: float, dropout: float) -> None:
    """A block can be made of this."""
    for name, word, known in (
        ("norm", norm, [*NORMS]),
        ("activation", activation, [*ACTIVATIONS, "swiglu"]),
    ):
        check_kind(name, word, str)
        if word not in known:
            raise ValueError(f"{name}: got {word!r}, expected one of {sorted(known)}")
    check_flags(bias=bias)
    check_real("eps", eps, 0, 1, above=True)
    check_dropout(dropout)


def make_norm(norm: str, d_model: int, *, eps: float = 1e-5, bias: bool = False) -> nn.Module:
    """A norm for vectors of d_model numbers: "layer", with or without a bias, or "rms"."""
    check_block(norm, "relu", bias, eps, 0.0)
    check_widths(d_model=d_model)
    if norm == "layer":
        return nn.LayerNorm(d_model, eps, bias=bias)
    return RMSNorm(d_model, eps)


class Block(nn.Module):
    """x + attention(norm(x)), then the same with the feed-forward network; no position sees a
    later one.

    Args:
        attention: how positions look at each other; it also sets the width, d_model.
        d_ff: width inside the feed-forward network, by default that network's own default.
        norm: "rms" or "layer".
        activation: "swiglu", or one of FeedForward's.
        bias: whether the feed-forward network and a layer norm have biases.
        eps: of the norms.
        dropout: the share dropped while training, inside the feed-forward network and of what
            each of the two parts adds.
    """

    def __init__(
        self,
        attention: MultiHeadAttention,
        *,
        d_ff: int | None = None,
        norm: str = "rms",
        activation: str = "swiglu",
        bias: bool = False,
        eps: float = 1e-5,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_kind("attention", attention, MultiHeadAttention)
        check_block(norm, activation, bias, eps, dropout)
        self.d_model = attention.d_model
        self.norm_1 = make_norm(norm, self.d_model, eps=eps, bias=bias)
        self.attention = attention
        self.norm_2 = make_norm(norm, self.d_model, eps=eps, bias=bias)
        self.feed_forward = (
            SwiGLU(self.d_model, d_ff, dropout=dropout, bias=bias)
            if activation == "swiglu"
            else FeedForward(self.d_model, d_ff, dropout=dropout, activation=activation, bias=bias)
        )
        self.dropout = nn.Dropout(dropout) if dropout else nn.Identity()

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        positions: Tensor | None = None,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """x (batch, seq_len, d_model), changed by what each position sees: same shape.

        Args:
            x: (batch, seq_len, d_model); with a cache, only the positions that are new.
            mask: boolean, True where a query may see a key; broadcasts to
                (batch, num_heads, seq_len, key_len), cached keys included.
            positions: where each x stands, (seq_len,) or (batch, seq_len); by default they go on
                where the cache ends.
            cache: keeps keys and values for the next call.
        """
        check_input("x", x, ("batch", "seq_len", self.d_model), self.norm_1)
        h = self.norm_1(x)  # (batch, seq_len, d_model)
        seen = self.attention(h, mask=mask, is_causal=True, cache=cache, positions=positions)
        x = x + self.dropout(seen)
        h = self.norm_2(x)  # (batch, seq_len, d_model)
        x = x + self.dropout(self.feed_forward(h))
        return x
