"""From one wide vector to several narrow heads and back, in the two layouts in use."""

from torch import Tensor

from headwise._check import check_divides, check_widths
from headwise._check_tensors import check_shape


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


def share_heads(x: Tensor, num_heads: int) -> Tensor:
    """Each head of keys or values so often that there are num_heads: those of a group share one.

    x is (batch, num_kv_heads, key_len, d_k), and num_kv_heads divides num_heads. The copies of one
    head stand next to each other, as the query heads of its group do.
    """
    check_shape("x", x, ("batch", "num_kv_heads", "key_len", "d_k"))
    check_widths(num_heads=num_heads)
    check_divides(x.size(1), num_heads, name="x.size(1)", width="num_heads")
    if x.size(1) == num_heads:
        return x
    return x.repeat_interleave(num_heads // x.size(1), dim=1)  # (batch, num_heads, key_len, d_k)


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
