"""From one wide vector to several narrow heads and back, in the two layouts in use."""

from torch import Tensor

from headwise._check import check_divides, check_shape


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """The heads side by side: (batch, seq_len, d_model) to (batch, num_heads, seq_len, d_k)."""
    check_shape("x", x, ("batch", "seq_len", "d_model"))
    batch, seq_len, d_model = x.shape
    check_divides(num_heads, d_model)
    d_k = d_model // num_heads
    x = x.reshape(batch, seq_len, num_heads, d_k)  # (batch, seq_len, num_heads, d_k)
    return x.transpose(1, 2)  # (batch, num_heads, seq_len, d_k)


def merge_heads(x: Tensor) -> Tensor:
    """The heads joined again: (batch, num_heads, seq_len, d_k) to (batch, seq_len, d_model)."""
    check_shape("x", x, ("batch", "num_heads", "seq_len", "d_k"))
    batch, num_heads, seq_len, d_k = x.shape
    x = x.transpose(1, 2)  # (batch, seq_len, num_heads, d_k)
    return x.reshape(batch, seq_len, num_heads * d_k)  # (batch, seq_len, d_model)


def fold_heads(x: Tensor, num_heads: int) -> Tensor:
    """The heads in the batch axis: (batch, seq_len, d_model) to (batch*num_heads, seq_len, d_k).

    The heads of one batch item stand next to each other, so item b's head h is at
    b * num_heads + h. What goes with a batch item has to be repeated in that order:
    repeat_interleave does it, repeat does not.
    """
    x = split_heads(x, num_heads)
    batch, _, seq_len, d_k = x.shape
    return x.reshape(batch * num_heads, seq_len, d_k)  # (batch * num_heads, seq_len, d_k)


def unfold_heads(x: Tensor, num_heads: int) -> Tensor:
    """The way back: (batch*num_heads, seq_len, d_k) to (batch, seq_len, d_model)."""
    check_shape("x", x, ("batch * num_heads", "seq_len", "d_k"))
    folded, seq_len, d_k = x.shape
    check_divides(num_heads, folded, width="batch * num_heads")
    x = x.reshape(folded // num_heads, num_heads, seq_len, d_k)
    return merge_heads(x)
