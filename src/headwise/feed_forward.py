"""The feed-forward network, plain and gated: in it, no position sees another."""

from collections.abc import Callable
from functools import partial

import torch.nn.functional as F
from torch import Tensor, nn

from headwise._check import (
    WIDEST,
    check_dropout,
    check_flags,
    check_kind,
    check_sizes,
    check_widths,
)
from headwise._check_tensors import check_input

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),  # GPT-2's, off by less than 0.001
}


def check_feed_forward(d_model: int, d_ff: int | None, dropout: float, activation: str) -> None:
    """A feed-forward network can be made of this."""
    check_widths(d_model=d_model)
    check_sizes(d_ff=1 if d_ff is None else d_ff, most=4 * WIDEST)
    check_dropout(dropout)
    check_kind("activation", activation, str)
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation: got {activation!r}, expected one of {sorted(ACTIVATIONS)}")


class FeedForward(nn.Module):
    """Two linear maps with a bend between them, the same for every position.

    Args:
        d_model: width of what comes in and goes out.
        d_ff: width in between, 4 * d_model by default, as in the paper.
        dropout: the share of the middle that is dropped while training.
        activation: "relu", as in the paper, "gelu", or "gelu_tanh", as in GPT-2.
        bias: whether the two linear maps have a bias.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int | None = None,
        *,
        dropout: float = 0.0,
        activation: str = "relu",
        bias: bool = True,
    ) -> None:
        super().__init__()
        check_feed_forward(d_model, d_ff, dropout, activation)
        check_flags(bias=bias)
        d_model, d_ff = int(d_model), int(4 * d_model if d_ff is None else d_ff)
        self.d_model, self.d_ff, self.activation = d_model, d_ff, activation
        self.W_1 = nn.Linear(d_model, d_ff, bias=bias)
        self.W_2 = nn.Linear(d_ff, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout) if dropout else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """x (batch, seq_len, d_model), each position worked on by itself: same shape."""
        check_input("x", x, ("batch", "seq_len", self.d_model), self.W_1)
        hidden = ACTIVATIONS[self.activation](self.W_1(x))  # (batch, seq_len, d_ff)
        out: Tensor = self.W_2(self.dropout(hidden))  # (batch, seq_len, d_model)
        return out

    def extra_repr(self) -> str:
        """The setting that the submodules do not show."""
        return f"activation={self.activation!r}"


class SwiGLU(nn.Module):
    """Two linear maps side by side, one of them a gate for the other, then a third back.

    Args:
        d_model: width of what comes in and goes out.
        d_ff: width in between, by default two thirds of 4 * d_model, so that three matrices have
            about as many weights as the two of FeedForward.
        dropout: the share of the middle that is dropped while training.
        bias: whether the three linear maps have a bias.
    """

    def __init__(
        self, d_model: int, d_ff: int | None = None, *, dropout: float = 0.0, bias: bool = False
    ) -> None:
        super().__init__()
        check_feed_forward(d_model, d_ff, dropout, "relu")
        check_flags(bias=bias)
        d_model, d_ff = int(d_model), int(-(-8 * d_model // 3) if d_ff is None else d_ff)
        self.d_model, self.d_ff = d_model, d_ff
        self.W_gate = nn.Linear(d_model, d_ff, bias=bias)
        self.W_1 = nn.Linear(d_model, d_ff, bias=bias)
        self.W_2 = nn.Linear(d_ff, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout) if dropout else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """x (batch, seq_len, d_model), each position worked on by itself: same shape."""
        check_input("x", x, ("batch", "seq_len", self.d_model), self.W_1)
        gate = F.silu(self.W_gate(x))  # (batch, seq_len, d_ff)
        hidden = gate * self.W_1(x)  # (batch, seq_len, d_ff)
        out: Tensor = self.W_2(self.dropout(hidden))  # (batch, seq_len, d_model)
        return out
