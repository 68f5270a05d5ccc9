"""The checks that every module of the library makes on what it is given.

What is of the wrong kind raises a TypeError, and what has the wrong value, shape, dtype or device
a ValueError. Both name the argument, what came and what was expected. Checks compare shapes and
types, hardly ever values, so they cost next to nothing and can be traced; those that do read
values pass where there are none to read.
"""

import math
import numbers
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import wraps
from typing import ParamSpec, TypeVar

import torch
from torch import Tensor

P = ParamSpec("P")
R = TypeVar("R")

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
INTEGERS = (
    *(torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.uint8, torch.uint16, torch.uint32, torch.uint64),
)
# More than that is a slip, and would end in an error of the allocator, or the process.
WIDEST = 2**16  # one axis of a weight
ROWS = 2**24  # of a table: words, or positions
LONGEST = 2**28  # positions in a sequence
LARGEST = 2**33  # numbers in a mask
LARGEST_OF_FLOATS = 2**30  # numbers in another tensor, where each takes more room
FARTHEST = 2**53  # position: up to here, double precision tells one from the next


class _Known(threading.local):
    """Whether what this thread hands to modules is known to fit, and what they then share."""

    to_fit = False
    positions: tuple[int, int, torch.device, Tensor] | None = None  # from, to, where they lie


KNOWN = _Known()


@contextmanager
def known_to_fit() -> Iterator[None]:
    """Checks of tensors are left out meanwhile: what comes is like what a call before it had.

    They would take a seventh of the time of a model that writes token by token.
    """
    before, KNOWN.to_fit = KNOWN.to_fit, True
    try:
        yield
    finally:
        KNOWN.to_fit, KNOWN.positions = before, None


# Numbers


def check_sizes(*, most: int = 2**63 - 1, **sizes: int) -> None:
    """Every size is a whole number of at least 1."""
    for name, size in sizes.items():
        check_whole(name, size, 1, most)


def check_widths(**widths: int) -> None:
    """Every width is a whole number of at least 1, and a matrix of it can be had."""
    check_sizes(most=WIDEST, **widths)


def check_lengths(*, most: int = LARGEST, **lengths: int) -> None:
    """Every length is a whole number of at least 0, and a tensor of all of them can be had."""
    for name, length in lengths.items():
        check_whole(name, length, 0, LONGEST)
    check_numel(", ".join(lengths), list(lengths.values()), most)


def check_numel(name: str, sizes: Sequence[int], most: int = LARGEST) -> None:
    """A tensor of these sizes can be had, as far as they are known."""
    if torch.compiler.is_compiling():
        return
    if math.prod(int(size) for size in sizes if isinstance(size, int | numbers.Integral)) > most:
        got = " and ".join(map(str, sizes))
        raise ValueError(f"{name}: got {got}, expected at most {most:,} numbers")


def check_whole(name: str, x: int, least: int, most: int, expected: str = "a whole number") -> None:
    """A whole number from least to most, of Python's or NumPy's, and True is none.

    NumPy's narrow and unsigned ones run over in silence: np.uint8(3) - np.uint8(5) is 254.
    """
    if type(x) is int and least <= x <= most:
        return
    if isinstance(x, torch.SymInt) or (isinstance(x, Tensor) and being_traced()):
        return  # the size of an axis, of which a trace knows no value
    if isinstance(x, bool) or not isinstance(x, int | numbers.Integral):
        error = ValueError if isinstance(x, numbers.Real) else TypeError
        raise error(f"{name}: got {kind(x)}, expected {expected} of at least {least}")
    if not isinstance(x, int) and str(getattr(x, "dtype", "int64")) not in ("int32", "int64"):
        raise TypeError(f"{name}: got {kind(x)}, expected an int, np.int32 or np.int64")
    if x < least:
        raise ValueError(f"{name}: got {x!r}, expected {expected} of at least {least}")
    if x > most:
        raise ValueError(f"{name}: got {kind(x)}, expected {expected} of at most {most:,}")


def check_start(start: int) -> None:
    """The first of some positions is a position."""
    check_whole("start", start, 0, FARTHEST - LONGEST, "a position")


def check_positions(name: str, start: int, length: int, max_len: int) -> None:
    """So many positions from start on are among the first max_len."""
    check_start(start)
    if start + length > max_len:
        raise ValueError(
            f"{name}: got positions {start} to {start + length - 1}, "
            f"expected 0 to {max_len - 1}, as max_len = {max_len}"
        )


def check_divides(
    num_heads: int, d_model: int, *, name: str = "num_heads", width: str = "d_model"
) -> None:
    """num_heads divides d_model, so that each head gets a whole number of columns."""
    check_whole(name, num_heads, 1, WIDEST)
    if d_model % num_heads:
        raise ValueError(f"{name}: got {num_heads}, expected a divisor of {width} = {d_model}")


def check_dropout(dropout: float) -> None:
    """Dropout is a probability."""
    if isinstance(dropout, bool | Fraction) or not isinstance(dropout, float | int | numbers.Real):
        raise TypeError(f"dropout: got {kind(dropout)}, expected a probability from 0 to 1")
    if not 0.0 <= dropout <= 1.0:
        raise ValueError(f"dropout: got {dropout!r}, expected a probability from 0 to 1")


def check_window(window: int | None, sinks: int) -> None:
    """A window, if any, is of at least 1; without one there is nothing to keep beside it."""
    if window is not None:
        check_sizes(window=window, most=LONGEST)
    check_whole("sinks", sinks, 0, LONGEST)
    if sinks and window is None:
        raise ValueError(f"sinks: got {sinks} without a window, expected 0")


def check_positive(**numbers_: float) -> None:
    """Every number is a finite one above 0."""
    for name, x in numbers_.items():
        if isinstance(x, bool) or not isinstance(x, float | int | numbers.Real):
            raise TypeError(f"{name}: got {kind(x)}, expected a number above 0")
        if not 0.0 < x < math.inf:
            raise ValueError(f"{name}: got {x!r}, expected a finite number above 0")


def check_flags(**flags: bool) -> None:
    """Every flag is True or False, and nothing that only counts as one of them."""
    if KNOWN.to_fit:
        return
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise TypeError(f"{name}: got {kind(flag)}, expected True or False")


def check_first(check: Callable[P, None]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """The function, with its arguments checked by the call: a generator would first be run."""

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            check(*args, **kwargs)
            return function(*args, **kwargs)

        return checked

    return wrap


# Things


def check_kind(name: str, x: object, *classes: type, expected: str | None = None) -> None:
    """x is of one of the classes."""
    if KNOWN.to_fit:
        return
    if not isinstance(x, classes):
        wanted = expected or " or ".join(one.__name__ for one in classes)
        raise TypeError(f"{name}: got {kind(x)}, expected {wanted}")


def check_each(name: str, xs: Sequence[object], one: type, *, expected: str) -> None:
    """xs is a list, or another sequence, of such things: a string is no sequence of strings."""
    if isinstance(xs, str | bytes) or not isinstance(xs, Sequence):
        raise TypeError(f"{name}: got {kind(xs)}, expected {expected}")
    for x in xs:
        if not isinstance(x, one):
            raise TypeError(f"{name}: got {kind(x)} in it, expected {expected}")


def check_callable(name: str, x: object) -> None:
    """x can be called."""
    if not callable(x):
        raise TypeError(f"{name}: got {kind(x)}, expected something to call")


def check_floating(name: str, dtype: torch.dtype) -> None:
    """The dtype is one of floats."""
    check_kind(name, dtype, torch.dtype, expected="a floating torch.dtype")
    if dtype not in FLOATS:
        raise ValueError(f"{name}: got {dtype}, expected a floating torch.dtype")


def check_numeric(name: str, dtype: torch.dtype) -> None:
    """The dtype is one in which 0 and 1 can be written and counted."""
    check_kind(name, dtype, torch.dtype, expected="a torch.dtype of numbers")
    if dtype not in (torch.bool, *INTEGERS, *FLOATS):
        raise ValueError(f"{name}: got {dtype}, expected a torch.dtype of real numbers")


def check_place(device: torch.device | str | None) -> None:
    """The device is there, so that tensors can be made on it."""
    if device is None or torch.compiler.is_compiling():
        return
    check_kind("device", device, torch.device, str, expected="a torch.device or its name")
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, ValueError) as error:
        raise ValueError(f"device: got {device}, expected one of this machine") from error


# Recording


def being_traced() -> bool:
    """Whether torch.jit.trace is at work, to which sizes are tensors."""
    return bool(torch.jit.is_tracing())  # type: ignore[attr-defined, no-untyped-call]


def being_recorded() -> bool:
    """Whether what runs now becomes a graph, for other sizes and values as well."""
    return torch.compiler.is_compiling() or being_traced()


# Words for messages


def show(shape: Sequence[int | str]) -> str:
    """A shape as one writes it: (2, 5, d_model)."""
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def kind(x: object) -> str:
    """What came, in short: a number or a word as it is, and of anything else its class."""
    if x is None or isinstance(x, str | bytes | numbers.Number):
        text = repr(x)
        return text if len(text) <= 60 else f"{text[:57]}..."
    if isinstance(x, type):
        return f"the class {x.__name__}"
    return f"{'an' if type(x).__name__[0] in 'aeiouAEIOU' else 'a'} {type(x).__name__}"


# Real numbers


def check_real(
    name: str, x: float, least: float, most: float = math.inf, *, above: bool = False
) -> None:
    """A finite number from least to most; with `above`, it is more than least."""
    low = f"more than {least:g}" if above else f"at least {least:g}"
    expected = f"a number of {low}" + ("" if most == math.inf else f" and at most {most:g}")
    if isinstance(x, bool) or not isinstance(x, float | int | numbers.Real):
        raise TypeError(f"{name}: got {kind(x)}, expected {expected}")
    if not least <= x <= most or (above and x == least) or not math.isfinite(x):
        raise ValueError(f"{name}: got {kind(x)}, expected {expected}")


# Texts


def check_prompt(name: str, tokens: Sequence[int], vocab: int = ROWS) -> None:
    """A list of tokens, at least one of them, each of them one of so many."""
    check_each(name, tokens, object, expected="a list of tokens")
    if len(tokens) == 0:
        raise ValueError(f"{name}: got no token, expected at least one")
    for token in tokens:
        check_whole(name, token, 0, vocab - 1, "a token")


def check_model(name: str, x: object) -> None:
    """x can be called, and is no class, which would only make one."""
    if isinstance(x, type):
        raise TypeError(f"{name}: got {kind(x)}, expected something to call")
    check_callable(name, x)
