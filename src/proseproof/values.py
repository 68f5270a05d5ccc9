"""What values say: the shapes in them, and whether a number that is written is theirs."""

from __future__ import annotations

import ast
import inspect
import math
import re
from collections.abc import Iterator
from typing import Any

from proseproof.shape_comments import Shape

LARGE = 4096  # more numbers than anybody quotes from


def shapes_in(value: Any, depth: int) -> Iterator[Shape]:
    """The shapes of the tensors in a value, down to `depth` containers."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and not inspect.isclass(value):
        yield tuple(shape)
    elif isinstance(value, tuple | list) and depth:
        if isinstance(value, tuple) and hasattr(value, "numel"):
            yield tuple(value)
        for item in value[:64]:
            yield from shapes_in(item, depth - 1)
    elif isinstance(value, dict) and depth:
        for item in list(value.values())[:64]:
            yield from shapes_in(item, depth - 1)
    elif callable(getattr(value, "named_parameters", None)) and not inspect.isclass(value):
        for _, parameter in value.named_parameters():
            yield tuple(parameter.shape)
        for _, buffer in value.named_buffers():
            yield tuple(buffer.shape)
    elif hasattr(value, "__dataclass_fields__") and depth and not inspect.isclass(value):
        for name in value.__dataclass_fields__:
            yield from shapes_in(getattr(value, name, None), depth - 1)


def numbers_in(value: Any) -> list[float]:
    """The numbers of a number, a list of numbers, a tensor of torch or an array of NumPy.

    Of what is large, and of what has no numbers, there are none.
    """
    if isinstance(value, int | float):
        return [float(value)]
    if isinstance(value, list | tuple) and all(type(n) in (int, float) for n in value):
        return [float(number) for number in value]
    if inspect.isclass(value) or not (hasattr(value, "reshape") and hasattr(value, "item")):
        return []
    if hasattr(value, "detach"):
        value = value.detach()
    try:
        if math.prod(value.shape) > LARGE:
            return []
        return [float(number) for number in value.reshape(-1).tolist()]
    except (TypeError, ValueError):  # complex numbers, words, dates
        return []


def is_number(node: ast.expr) -> bool:
    """True for a number that is written out, with or without a sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def digits(text: str) -> int | None:
    """How many decimals a float is written with; None for an integer or an exponent."""
    match = re.fullmatch(r"[-+]?\d*\.(\d*)", text.strip())
    return len(match[1]) if match else None


def same(true: Any, said: Any, digits: int | None) -> bool:
    """True when the two are equal, or the true one rounds to the digits that are shown."""
    try:
        value = float(true)
    except (TypeError, ValueError):
        return False
    if digits is None:
        return value == float(said)
    return bool(abs(value - float(said)) <= 0.5 * 10.0 ** -float(digits) * (1 + 1e-9))


def stands_in(said: list[tuple[float, int | None]], numbers: list[float]) -> bool:
    """True when the numbers that are said stand among `numbers` in this order."""
    return any(
        all(
            same(true, value, digits)
            for true, (value, digits) in zip(numbers[start:], said, strict=False)
        )
        for start in range(len(numbers) - len(said) + 1)
    )


def truth(value: Any) -> bool:
    """True for a value that is true; a tensor is when it has elements and all of them are."""
    if hasattr(value, "all") and hasattr(value, "shape"):
        return math.prod(value.shape) > 0 and bool(value.all())
    return bool(value)
