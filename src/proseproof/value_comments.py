"""Value comments that are asserted: `x.sum()  # 7.0`, `y = x * 2  # tensor([2., 4.])`.

Floats are compared to the digits that the comment shows; `7.0` and `7.` show a whole number.
"""

from __future__ import annotations

import ast
import contextlib
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

MAKERS = {"tensor", "torch.tensor", "array", "np.array", "numpy.array"}
KEYWORDS = {"dtype", "device", "requires_grad", "size"}
ODD = {"nan": math.nan, "inf": math.inf}
EXACT = 1e-6  # what rounding may do to a whole number


class ValueCommentError(AssertionError):
    """A value comment does not hold."""

    remedy = "write the true value into the comment"


@dataclass(frozen=True)
class Value:
    """A value as a comment writes it."""

    text: str
    node: ast.expr

    @property
    def may_be_words(self) -> bool:
        """True for a whole number or a quotation, which may be the number of a step, or a remark.

        Only a line that makes a number, or a string, makes it a value.
        """
        return isinstance(self.node, ast.Constant) and type(self.node.value) in (int, str)

    def expect(self, value: Any) -> None:
        """ValueCommentError when `value` is another one."""
        plain = _plain(value)
        is_alike = isinstance(plain, str) if _number(self.node) is None else _is_number(plain)
        if self.may_be_words and not is_alike:
            return
        if isinstance(value, str) and value.strip() == self.text:  # what print is given
            return
        if not self._same(self.node, value):
            raise ValueCommentError(f"the line makes {_short(value)}, the comment says {self.text}")

    def _same(self, node: ast.expr, value: Any) -> bool:
        if isinstance(node, ast.Call):
            if ast.unparse(node.func).endswith("tensor") != hasattr(value, "detach"):
                return False
            for keyword in node.keywords:
                if keyword.arg == "dtype" and _last(ast.unparse(keyword.value)) != _last(
                    str(getattr(value, "dtype", ""))
                ):
                    return False
            return hasattr(value, "tolist") and self._same(node.args[0], value)
        value = _plain(value)
        if isinstance(node, ast.List | ast.Tuple):
            return (
                isinstance(value, list | tuple)
                and len(value) == len(node.elts)
                and all(map(self._same, node.elts, value))
            )
        if isinstance(node, ast.Dict):
            keys = [ast.literal_eval(key) for key in node.keys if key is not None]
            return (
                isinstance(value, dict)
                and value.keys() == set(keys)
                and all(
                    self._same(one, value[key]) for key, one in zip(keys, node.values, strict=True)
                )
            )
        if _number(node) is not None:
            return _is_number(value) and self._rounds(node, value)
        said = ast.literal_eval(node)
        return type(value) is type(said) and value == said

    def _rounds(self, node: ast.expr, value: float) -> bool:
        said = _number(node)
        assert said is not None
        if isinstance(said, int) or math.isinf(said) or math.isinf(value):
            return value == said
        if math.isnan(said) or math.isnan(value):
            return math.isnan(said) and math.isnan(value)
        text = (ast.get_source_segment(self.text, node) or "").replace(" ", "")
        if re.fullmatch(r"[-+]?[\d_]+(\.0?)?(e[-+]?\d+)?", text, re.IGNORECASE):
            return math.isclose(value, said, rel_tol=EXACT, abs_tol=EXACT if said == 0 else 0)
        exponent = Decimal(text).as_tuple().exponent
        assert isinstance(exponent, int)
        return abs(value - said) <= 0.5 * 10.0**exponent * (1 + EXACT)


def parse_value(text: str) -> Value | None:
    """The value that a comment consists of: a literal, or a tensor or array of literals."""
    text = re.sub(r",\s*grad_fn=<[^<>]*>", "", text.strip())
    if re.fullmatch(r"\(\s*\d*\s*\)|0\d.*|.*,", text):  # a note's mark, a colour, code put aside
        return None
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    if isinstance(node, ast.Tuple) and not text.startswith("("):
        return None
    if isinstance(node, ast.Call):
        known = ast.unparse(node.func) in MAKERS and len(node.args) == 1
        if not known or any(keyword.arg not in KEYWORDS for keyword in node.keywords):
            return None
        return Value(text, node) if _is_literal(node.args[0]) else None
    return Value(text, node) if _is_literal(node) else None


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return all(map(_is_literal, node.elts))
    if isinstance(node, ast.Dict):
        return all(key is not None and isinstance(key, ast.Constant) for key in node.keys) and all(
            map(_is_literal, node.values)
        )
    if _number(node) is not None:
        return True
    return isinstance(node, ast.Constant) and type(node.value) in (bool, str, type(None))


def _number(node: ast.expr) -> int | float | None:
    """The number that is written out, with or without a sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        inside = _number(node.operand)
        return -inside if inside is not None and isinstance(node.op, ast.USub) else inside
    if isinstance(node, ast.Name):
        return ODD.get(node.id)
    if isinstance(node, ast.Constant) and _is_number(node.value):
        assert isinstance(node.value, int | float)
        return node.value
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    """Numbers and lists of Python for a tensor, an array or one of their elements."""
    if hasattr(value, "tolist") and hasattr(value, "shape"):
        return value.tolist()
    return value


def _last(name: str) -> str:
    return name.strip("'\"").rpartition(".")[2]


def _short(value: Any) -> str:
    shown = re.sub(r"\s+", " ", repr(value))
    return shown if len(shown) <= 200 else f"{shown[:200]}…"


# What looks like a value, and is not the whole comment.

OUTPUT = r"(?:[-=]*>|→|==?|≈|~|(?:outputs?|prints?|输出|打印)\s*[:：]?(?=\W))\s*"


def looks_like_value(text: str, after_value: bool) -> bool:
    """True when a reader takes the comment for a value; `after_value` when its line makes one."""
    if re.search(r"(?<![\w.])(?:tensor|array)\(\s*[\[\d-]", text):
        return True
    if not after_value:
        return False
    if any(_is_claim(code) for code in re.findall(r"`([^`]+)`", text)):
        return True
    shown = re.sub(rf"^{OUTPUT}", "", text, flags=re.IGNORECASE)
    if shown != text and parse_value(shown) is not None:
        return True
    cut = r"[-+]?\d+\.\d+\s*(?:\.\.\.|…)"
    numpy = r"\[[-+.\de\[\]]+(?:\s+[-+.\de\[\]]+)+\]"
    return bool(re.fullmatch(rf"{cut}|{numpy}", shown)) or _is_claim(text)


def _is_claim(code: str) -> bool:
    """True for `a == b` and `n = 4`."""
    with contextlib.suppress(SyntaxError, ValueError):
        (node,) = ast.parse(code.strip()).body
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Compare):
            return isinstance(node.value.ops[0], ast.Eq)
        return isinstance(node, ast.Assign) and _is_literal(node.value) and " = " in code
    return False


def lines_with_value(source: str) -> Iterator[int]:
    """The lines on which a statement ends that makes a value."""
    for node in ast.walk(ast.parse(source)):
        kinds = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Return
        if isinstance(node, kinds) and node.value is not None:
            yield node.end_lineno or node.lineno
