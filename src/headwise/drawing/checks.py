"""The checks that drawings make on what they are given.

A wrong type raises a TypeError, a wrong value a ValueError; both name the argument, what came and
what was expected.
"""

import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from headwise._check import show


def check_kind(argument: str, value: object, kind: type, expected: str) -> None:
    """The value is of that kind."""
    if not isinstance(value, kind):
        raise TypeError(f"{argument}: got {called(value)}, expected {expected}")


def check_tensor(argument: str, value: object) -> None:
    """The value is a tensor."""
    check_kind(argument, value, Tensor, "a tensor")


def check_text(argument: str, value: object) -> None:
    """The value is a string."""
    check_kind(argument, value, str, "a string")


def strings(argument: str, values: Sequence[str], count: int) -> list[str]:
    """The values as a list of so many strings."""
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise TypeError(f"{argument}: got {called(values)}, expected a sequence of strings")
    found = list(values)
    for value in found:
        check_text(argument, value)
    if len(found) != count:
        raise ValueError(f"{argument}: got {len(found)}, expected {count}")
    return found


def real_numbers(argument: str, x: Tensor, where: str = "") -> Tensor:
    """The numbers of x, of which there is at least one, in double precision on the CPU.

    They are at most 1e100 in size, so that their differences and squares are numbers too.
    where: what to add to a message, such as " in 'loss'".
    """
    check_tensor(argument, x)
    if x.is_complex() or x.is_quantized or x.is_nested:
        got = "a nested tensor" if x.is_nested else f"dtype {x.dtype}"
        raise ValueError(f"{argument}: got {got}{where}, expected real numbers")
    if x.is_meta:
        raise ValueError(f"{argument}: got a tensor on the meta device{where}, expected numbers")
    if x.numel() == 0:
        raise ValueError(f"{argument}: got 0 numbers{where}, expected at least one")
    numbers = x.detach().to_dense().cpu().double()
    most = numbers.abs().max().item()
    if not math.isfinite(most):
        raise ValueError(
            f"{argument}: got numbers that are not finite{where}, expected finite ones"
        )
    if most > 1e100:
        raise ValueError(
            f"{argument}: got {most:g}{where}, expected numbers of at most 1e+100 in size"
        )
    return numbers


def real_list(
    argument: str, values: Sequence[float] | Tensor, where: str = "", *, in_a_row: bool = False
) -> list[float]:
    """The values as a list of numbers such as `real_numbers` accepts.

    in_a_row: they have one axis; otherwise any shape will do.
    """
    if not isinstance(values, Tensor):
        try:
            if not isinstance(values, Iterable):
                raise TypeError("a single number")
            values = torch.as_tensor(values, dtype=torch.float64)
        except (TypeError, ValueError, RuntimeError, OverflowError):
            got = called(values) + where
            raise TypeError(f"{argument}: got {got}, expected a tensor or numbers") from None
    if in_a_row and values.dim() != 1:
        raise ValueError(f"{argument}: got shape {show(values.shape)}{where}, expected (n,)")
    return [float(number) for number in real_numbers(argument, values, where).flatten().tolist()]


def called(value: object) -> str:
    """What to call a value in a message: None, a class, or its type."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return "None" if value is None else type(value).__name__
