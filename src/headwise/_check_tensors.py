"""The checks of tensors: their shapes, dtypes, devices, masks, and now and then their values."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from headwise._autocast import multiplied_dtype
from headwise._check import (
    FLOATS,
    INTEGERS,
    KNOWN,
    being_recorded,
    check_lengths,
    check_numel,
    check_numeric,
    kind,
    show,
)


def check_tensor(name: str, x: Tensor) -> None:
    """x is a tensor of the usual kind, whose numbers all lie in memory."""
    if KNOWN.to_fit:
        return
    if not isinstance(x, Tensor):
        raise TypeError(f"{name}: got {kind(x)}, expected a tensor")
    if x.layout != torch.strided or x.is_nested:
        layout = "nested" if x.is_nested else x.layout
        raise ValueError(f"{name}: got a {layout} tensor, expected a dense one")


def check_shape(name: str, x: Tensor, expected: Sequence[int | str]) -> None:
    """The shape of x is as expected, where a word stands for any size."""
    if KNOWN.to_fit:
        return
    check_tensor(name, x)
    shape = x.shape
    if len(shape) == len(expected):
        for size, wanted in zip(shape, expected, strict=True):
            if type(wanted) is not str and size != wanted:
                break
        else:
            return
    raise ValueError(f"{name}: got shape {show(shape)}, expected {show(expected)}")


def check_device(name: str, x: Tensor, reference: str, like: Tensor) -> None:
    """Both tensors lie on one device."""
    if KNOWN.to_fit:
        return
    if x.device != like.device:
        raise ValueError(f"{name}: got device {x.device}, expected {like.device}, as {reference}")


def check_alike(name: str, x: Tensor, reference: str, like: Tensor) -> None:
    """Both tensors lie on one device and have one dtype, if need be thanks to autocast."""
    if KNOWN.to_fit:
        return
    check_device(name, x, reference, like)
    if x.dtype != like.dtype and multiplied_dtype(x) != multiplied_dtype(like):
        raise ValueError(f"{name}: got dtype {x.dtype}, expected {like.dtype}, as {reference}")


def check_input(name: str, x: Tensor, expected: Sequence[int | str], layer: nn.Module) -> None:
    """x has the expected shape, and the dtype and device of the layer that reads it."""
    if KNOWN.to_fit:
        return
    check_shape(name, x, expected)
    weight = getattr(layer, "weight", None)
    if not isinstance(weight, Tensor):  # a wrapper around the layer, or a quantized one
        weight = next(layer.parameters(), None)
    if weight is not None:
        check_alike(name, x, "the weights", weight)
    elif not x.is_floating_point():
        raise ValueError(f"{name}: got dtype {x.dtype}, expected a floating one")


def check_vectors(name: str, x: Tensor, width: int, layer: nn.Module) -> None:
    """x holds vectors of this width, and has the dtype and device of the layer that reads it."""
    if KNOWN.to_fit:
        return
    check_tensor(name, x)
    check_input(name, x, (*x.shape[:-1], width), layer)


def check_values(name: str, x: Tensor, valid: Tensor, expected: str) -> None:
    """Every value of x is valid: one of few checks that read values."""
    if not may_hold(valid):
        raise ValueError(f"{name}: got {x[~valid][0].item()!r} in it, expected {expected}")


def check_range(name: str, x: Tensor, least: int, most: int) -> None:
    """Every value of x lies between the two, or is one of them."""
    if KNOWN.to_fit:
        return
    x = x.long()  # a narrow dtype could not even hold the limits
    valid = (x >= least) & (x <= most)
    if not may_hold(valid):
        check_values(name, x, valid, f"{least} to {most:,}")


def may_hold(valid: Tensor) -> bool:
    """Whether everything is True, as far as one can tell.

    One cannot tell while torch.compile, torch.export or torch.jit.trace is at work, on the meta
    device, under vmap, and of tensors that only pretend to have values: then it may.
    """
    if being_recorded() or valid.is_meta:
        return True
    try:
        return bool(valid.all())
    except RuntimeError:  # vmap and FakeTensorMode say so in errors of their own
        return True


def check_readable(name: str, x: Tensor) -> None:
    """x is a tensor whose values are there to be read."""
    check_tensor(name, x)
    if x.is_meta:
        raise ValueError(f"{name}: got a tensor on the meta device, expected one with values")


def check_counts(name: str, counts: Tensor, **length: int) -> None:
    """Every count is a whole number from 0 to a length, which goes by its own name."""
    check_tensor(name, counts)
    check_integers(name, counts)
    check_lengths(**length)
    (most,) = length.values()
    check_numel(f"{name}, {next(iter(length))}", (*counts.shape, most))
    check_range(name, counts, 0, most)


def check_floats(name: str, x: Tensor) -> None:
    """x holds vectors of floats, each of at least one number."""
    if x.dtype not in FLOATS or x.size(-1) == 0:
        raise ValueError(f"{name}: got shape {show(x.shape)} of {x.dtype}, expected floats")


def check_integers(name: str, x: Tensor) -> None:
    """The dtype of x is one of whole numbers."""
    if x.dtype not in INTEGERS:
        raise ValueError(f"{name}: got dtype {x.dtype}, expected one of whole numbers")


def check_where(name: str, positions: Tensor, batch: int, seq_len: int, like: Tensor) -> None:
    """Positions are whole numbers, (seq_len,) or (batch, seq_len), and lie where `like` lies."""
    if KNOWN.to_fit:
        return
    check_tensor(name, positions)
    check_integers(name, positions)
    if tuple(positions.shape) not in ((seq_len,), (batch, seq_len)):
        raise ValueError(
            f"{name}: got shape {show(positions.shape)}, expected {show((seq_len,))} or "
            f"{show((batch, seq_len))}"
        )
    check_device(name, positions, "what stands there", like)


def check_tokens(name: str, tokens: Tensor, shape: Sequence[int | str], vocab: int) -> None:
    """Tokens of this shape, each of them one of so many."""
    if KNOWN.to_fit:
        return
    check_shape(name, tokens, shape)
    if tokens.dtype not in (torch.int64, torch.int32):
        raise ValueError(f"{name}: got dtype {tokens.dtype}, expected tokens in torch.int64")
    check_range(name, tokens, 0, vocab - 1)


def as_boolean(name: str, x: Tensor) -> Tensor:
    """A mask of zeros and ones as a boolean one; a boolean one stays as it is."""
    check_tensor(name, x)
    if x.dtype == torch.bool:
        return x
    check_numeric(name, x.dtype)
    check_values(name, x, (x == 0) | (x == 1), "0 and 1 alone")
    return x != 0


def check_mask(mask: Tensor, scores: Sequence[int], like: Tensor, *, name: str = "mask") -> None:
    """The mask is boolean, lies where `like` lies, and broadcasts to the scores in one way only.

    It has either the last two axes of the scores or all of them. Between the two lies a trap:
    a mask (batch, query, key) would meet scores (batch, num_heads, query, key) with its batch
    axis on the heads, and where the sizes happen to agree nothing would fail.
    """
    if KNOWN.to_fit:
        return
    check_tensor(name, mask)
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
