"""The checks that every module of the library makes on what it is given.

Each raises a ValueError that names the argument, what came and what was expected. They compare
shapes and types, hardly ever values, so they cost next to nothing and can be traced by
torch.compile.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def check_sizes(**sizes: int) -> None:
    """Every size is a whole number of at least 1."""
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ValueError(f"{name}: got {size!r}, expected a whole number of at least 1")


def check_divides(num_heads: int, d_model: int, *, width: str = "d_model") -> None:
    """num_heads divides d_model, so that each head gets a whole number of columns."""
    check_sizes(num_heads=num_heads)
    if d_model % num_heads:
        raise ValueError(f"num_heads: got {num_heads}, expected a divisor of {width} = {d_model}")


def check_dropout(dropout: float) -> None:
    """Dropout is a probability."""
    if not 0.0 <= dropout <= 1.0:
        raise ValueError(f"dropout: got {dropout!r}, expected a probability from 0 to 1")


def check_shape(name: str, x: Tensor, expected: Sequence[int | str]) -> None:
    """The shape of x is as expected, where a word stands for any size."""
    if x.dim() == len(expected):
        for size, wanted in zip(x.shape, expected, strict=True):
            if not isinstance(wanted, str) and size != wanted:
                break
        else:
            return
    raise ValueError(f"{name}: got shape {show(x.shape)}, expected {show(expected)}")


def check_device(name: str, x: Tensor, reference: str, like: Tensor) -> None:
    """Both tensors lie on one device."""
    if x.device != like.device:
        raise ValueError(f"{name}: got device {x.device}, expected {like.device}, as {reference}")


def check_alike(name: str, x: Tensor, reference: str, like: Tensor) -> None:
    """Both tensors lie on one device and have one dtype; under autocast dtypes may differ."""
    check_device(name, x, reference, like)
    if x.dtype != like.dtype and not torch.is_autocast_enabled(x.device.type):
        raise ValueError(f"{name}: got dtype {x.dtype}, expected {like.dtype}, as {reference}")


def check_values(name: str, x: Tensor, valid: Tensor, expected: str) -> None:
    """Every value of x is valid.

    The one check that reads values, for masks that come from elsewhere. It passes where there
    are none to read: while torch.compile traces, and on the meta device.
    """
    if not torch.compiler.is_compiling() and not x.is_meta and not valid.all():
        raise ValueError(f"{name}: got {x[~valid][0].item()!r} in it, expected {expected}")


def check_mask(mask: Tensor, scores: Sequence[int], like: Tensor, *, name: str = "mask") -> None:
    """The mask is boolean, lies where `like` lies, and broadcasts to the scores in one way only.

    It has either the last two axes of the scores or all of them. Between the two lies a trap:
    a mask (batch, query, key) would meet scores (batch, num_heads, query, key) with its batch
    axis on the heads, and where the sizes happen to agree nothing would fail.
    """
    if mask.dtype != torch.bool:
        raise ValueError(
            f"{name}: got dtype {mask.dtype}, expected torch.bool, where True may be seen; "
            "headwise.masks converts other conventions"
        )
    check_device(name, mask, "the scores", like)
    if mask.dim() not in (2, len(scores)):
        hint = "; [:, None] gives (batch, query, key) an axis for the heads"
        raise ValueError(
            f"{name}: got shape {show(mask.shape)}, expected (query, key) or all {len(scores)} "
            f"axes, to broadcast to {show(scores)}{hint if mask.dim() == 3 else ''}"
        )
    pairs = zip(reversed(mask.shape), reversed(scores), strict=False)
    if not all(size in (1, wanted) for size, wanted in pairs):
        raise ValueError(
            f"{name}: got shape {show(mask.shape)}, expected one that broadcasts to {show(scores)}"
        )


def check_attention(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None, dropout: float) -> None:
    """Q, K, V and the mask fit together: (..., query, d_k), (..., key, d_k), (..., key, d_v)."""
    if Q.dim() < 2 or Q.size(-1) == 0 or not Q.is_floating_point():
        raise ValueError(
            f"Q: got shape {show(Q.shape)} of {Q.dtype}, expected (..., query, d_k) of floats"
        )
    *leading, query, d_k = Q.shape
    check_shape("K", K, (*leading, "key", d_k))
    check_shape("V", V, (*leading, K.size(-2), "d_v"))
    check_alike("K", K, "Q", Q)
    check_alike("V", V, "Q", Q)
    if mask is not None:
        check_mask(mask, (*leading, query, K.size(-2)), Q)
    check_dropout(dropout)


def show(shape: Sequence[int | str]) -> str:
    """A shape as one writes it: (2, 5, d_model)."""
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
