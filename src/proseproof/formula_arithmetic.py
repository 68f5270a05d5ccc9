"""Arithmetic of formulas: with numbers, and with tensors of torch as their shapes say."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

from proseproof.latex_nodes import Node, spelt

CLOSE, LITTLE = 1e-9, 1e-12  # of float64, after some sums and products
ORDERS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, ">": operator.gt, "≤": operator.le, "≥": operator.ge,
}  # fmt: skip


class FormulaError(Exception):
    """A formula that has no value, and why."""


def is_number(value: Any) -> bool:
    """True for a number of Python's own."""
    return isinstance(value, int | float)


def dims(value: Any) -> int:
    """How many axes a value has."""
    return getattr(value, "ndim", 0)


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of a tensor; of a number there is none."""
    return tuple(getattr(value, "shape", ()))


def added(one: Any, two: Any) -> Any:
    """The sum, in which a row is added to every row of a matrix."""
    try:
        return one + two
    except (RuntimeError, TypeError):
        raise FormulaError(f"{shape_of(one)} and {shape_of(two)} cannot be added") from None


def multiplied(one: Any, two: Any, join: str) -> Any:
    """The product, of numbers or of matrices."""
    if not dims(one) or not dims(two):
        if isinstance(one, list) or isinstance(two, list):
            raise FormulaError("a list is not multiplied")
        return one * two
    if join == "×":
        raise FormulaError(r"\times joins numbers; matrices stand side by side")
    try:
        return one @ two
    except RuntimeError:
        shapes = f"{shape_of(one)} by {shape_of(two)}"
        raise FormulaError(f"cannot multiply {shapes}") from None


def divided(one: Any, two: Any) -> Any:
    """The quotient; of whole numbers a whole one if it is."""
    if dims(two):
        raise FormulaError(f"divides by something of shape {shape_of(two)}")
    if two == 0:
        raise FormulaError("it divides by zero")
    if is_number(one) and is_number(two) and not math.isinf(one) and one % two == 0:
        return one // two if isinstance(one, int) and isinstance(two, int) else one / two
    return one / two


def extreme(name: str, values: list[Any]) -> Any:
    """The largest or the smallest: of numbers, of one tensor, or place by place of several."""
    if all(map(is_number, values)):
        return (max if name == "max" else min)(values)
    if len(values) == 1:
        return getattr(values[0], name)()
    import torch

    tensors = [torch.as_tensor(value, dtype=torch.float64) for value in values]
    return reduce(torch.maximum if name == "max" else torch.minimum, tensors)


def compared(sign: str, one: Any, two: Any, left: Node, right: Node) -> bool:
    """Whether a relation holds between two values; the trees show with how many digits."""
    if sign == "∈":
        return isinstance(two, list) and any(equal(one, other) for other in two)
    if sign == "≈":
        return _about(one, two, left, right)
    if sign in "=≠":
        return equal(one, two) is (sign == "=")
    if shape_of(one) != shape_of(two) and dims(one) and dims(two):
        return False
    # What differs in the last bits alone is equal: neither less nor more.
    found, near = ORDERS[sign](one, two), _near(one, two)
    if not dims(found):
        return bool(found and not near) or (sign in "≤≥" and bool(near))
    return bool((found | near if sign in "≤≥" else found & ~near).all())


def _about(one: Any, two: Any, left: Node, right: Node) -> bool:
    for node, said, true in ((right, two, one), (left, one, two)):
        inner = node.parts[0] if node.kind == "negative" else node
        if inner.kind == "number":
            decimals = len(inner.text.partition(".")[2])
            return bool(abs(float(true) - said) <= 0.5 * 10.0**-decimals * (1 + CLOSE))
    raise FormulaError(r"\approx needs a number on one side: its digits say how near")


def equal(one: Any, two: Any) -> bool:
    """True when two values are the same, to what float64 can tell."""
    if isinstance(one, list | tuple) or isinstance(two, list | tuple):
        if not isinstance(one, list | tuple) or not isinstance(two, list | tuple):
            return False
        return len(one) == len(two) and all(map(equal, one, two))
    if dims(one) or dims(two):
        if shape_of(one) != shape_of(two):
            return False
        return bool(_near(one, two).all())
    try:
        return bool(_near(one, two))
    except (TypeError, ValueError):
        return bool(one == two)


def _near(one: Any, two: Any) -> Any:
    """Where two values agree, infinities included."""
    if dims(one) or dims(two):
        return ((one - two).abs() <= CLOSE * abs(two) + LITTLE) | (one == two)
    one, two = (float(x.item() if hasattr(x, "item") else x) for x in (one, two))
    return math.isclose(one, two, rel_tol=CLOSE, abs_tol=LITTLE)


def short(value: Any) -> str:
    """A value in a few words, for a message."""
    if dims(value):
        return f"a tensor {shape_of(value)} that begins {value.flatten()[:2].tolist()}"
    if hasattr(value, "item") and not isinstance(value, list):
        value = value.item()
    text = f"{value:.10g}" if isinstance(value, float) else str(value)
    return text if len(text) < 60 else text[:57] + "..."


def said_of(node: Node, value: Any) -> str:
    """What a part of a formula is, for a message."""
    text = spelt(node)
    return text if text == short(value) else f"{text} is {short(value)}"
