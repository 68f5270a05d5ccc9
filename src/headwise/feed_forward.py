"""The feed-forward network: the part of a layer in which no position sees another."""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from headwise._check import (
    WIDEST,
    check_dropout,
    check_input,
    check_kind,
    check_sizes,
    check_widths,
)

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}


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
        activation: "relu", as in the paper, or "gelu".
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int | None = None,
        *,
        dropout: float = 0.0,
        activation: str = "relu",
    ) -> None:
        super().__init__()
        check_feed_forward(d_model, d_ff, dropout, activation)
        d_model, d_ff = int(d_model), int(4 * d_model if d_ff is None else d_ff)
        self.d_model, self.d_ff, self.activation = d_model, d_ff, activation
        self.W_1 = nn.Linear(d_model, d_ff)
        self.W_2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """x (batch, seq_len, d_model), each position worked on by itself: same shape."""
        check_input("x", x, ("batch", "seq_len", self.d_model), self.W_1)
        hidden = ACTIVATIONS[self.activation](self.W_1(x))  # (batch, seq_len, d_ff)
        out: Tensor = self.W_2(self.dropout(hidden))  # (batch, seq_len, d_model)
        return out

    def extra_repr(self) -> str:
        """The setting that the submodules do not show."""
        return f"activation={self.activation!r}"
