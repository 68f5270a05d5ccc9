"""Arithmetic of formulas: with numbers, and with tensors of torch as their shapes say."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

from proseproof.latex_tree import Node, spelt

CLOSE = 1e-9  # of float64, after some sums and products
ORDERS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, ">": operator.gt, "≤": operator.le, "≥": operator.ge,
}  # fmt: skip


class FormulaError(Exception):
    """A formula that has no value, and why."""


def is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def dims(value: Any) -> int:
    return getattr(value, "ndim", 0)


def shape_of(value: Any) -> tuple[int, ...]:
    return tuple(getattr(value, "shape", ()))


def added(one: Any, two: Any) -> Any:
    try:
        return one + two
    except (RuntimeError, TypeError):
        raise FormulaError(f"{shape_of(one)} and {shape_of(two)} cannot be added") from None


def multiplied(one: Any, two: Any, join: str) -> Any:
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
    if dims(two):
        raise FormulaError(f"divides by something of shape {shape_of(two)}")
    if two == 0:
        raise FormulaError("it divides by zero")
    if is_number(one) and is_number(two) and not math.isinf(one) and one % two == 0:
        return one // two if isinstance(one, int) and isinstance(two, int) else one / two
    return one / two


def extreme(name: str, values: list[Any]) -> Any:
    if all(map(is_number, values)):
        return (max if name == "max" else min)(values)
    if len(values) == 1:
        return getattr(values[0], name)()
    import torch

    tensors = [torch.as_tensor(value, dtype=torch.float64) for value in values]
    return reduce(torch.maximum if name == "max" else torch.minimum, tensors)


def compared(sign: str, one: Any, two: Any, left: Node, right: Node) -> bool:
    if sign == "∈":
        return isinstance(two, list) and any(equal(one, other) for other in two)
    if sign == "≈":
        return _about(one, two, left, right)
    if sign in "=≠":
        return equal(one, two) is (sign == "=")
    if shape_of(one) != shape_of(two) and dims(one) and dims(two):
        return False
    found = ORDERS[sign](one, two)
    return bool(found.all()) if dims(found) else bool(found)


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
        near = (one - two).abs() <= CLOSE * (1 + two.abs())
        return bool((near | (one == two)).all())  # where both are infinite, too
    try:
        one, two = (float(x.item() if hasattr(x, "item") else x) for x in (one, two))
    except (TypeError, ValueError):
        return bool(one == two)
    return math.isclose(one, two, rel_tol=CLOSE, abs_tol=CLOSE) or one == two


def short(value: Any) -> str:
    """A value in a few words, for a message."""
    if dims(value):
        return f"a tensor {shape_of(value)} that begins {value.flatten()[:2].tolist()}"
    if hasattr(value, "item") and not isinstance(value, list):
        value = value.item()
    text = f"{value:.10g}" if isinstance(value, float) else str(value)
    return text if len(text) < 60 else text[:57] + "..."


def said_of(node: Node, value: Any) -> str:
    text = spelt(node)
    return text if text == short(value) else f"{text} is {short(value)}"
