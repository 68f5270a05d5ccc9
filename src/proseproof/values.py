"""What values say: the numbers in them, whether one that is written is theirs, and yes or no."""

from __future__ import annotations

import ast
import inspect
import math
import re
from typing import Any

LARGE = 4096  # more numbers than anybody quotes from


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
    if float(said).is_integer():  # 0.0 and 1.0 say that it is so, and not that it nearly is
        return abs(value - float(said)) <= 1e-6 * max(1.0, abs(float(said)))
    return bool(abs(value - float(said)) <= 0.5 * 10.0 ** -float(digits) * (1 + 1e-9))


def truth(value: Any) -> bool:
    """True for a value that is true; a tensor is when it has elements, and all of them are."""
    if hasattr(value, "all") and hasattr(value, "shape"):
        return bool(value.all()) and 0 not in value.shape
    return bool(value)


def answer(value: Any) -> bool | None:
    """Yes or no, also as a tensor or an array without axes; None for what is neither."""
    if getattr(value, "shape", None) == () and str(getattr(value, "dtype", "")).endswith("bool"):
        return bool(value)
    return value if isinstance(value, bool) else None


def fingerprint(value: Any) -> Any:
    """Something that differs once the value has been changed in place."""
    if hasattr(value, "_version") and hasattr(value, "requires_grad"):
        return value._version, tuple(value.shape), value.requires_grad
    if callable(getattr(value, "named_modules", None)) and not inspect.isclass(value):
        modes = tuple(module.training for _, module in value.named_modules())
        return modes, tuple((id(one), one._version) for one in value.parameters())
    if isinstance(value, list | dict | set):
        items = value.values() if isinstance(value, dict) else value
        return len(value), tuple(map(id, list(items)[:64]))
    if hasattr(value, "tobytes") and hasattr(value, "size") and value.size <= LARGE:
        return value.tobytes()
    return None
