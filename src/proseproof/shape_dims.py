"""Shapes as they are written, `(batch, 2 * n, ...)`, held against shapes as they are."""

from __future__ import annotations

import ast
from collections.abc import Sequence

Shape = tuple[int, ...]


class ShapeError(AssertionError):
    """A shape comment does not hold."""

    remedy = "write the true shape into the comment"


def parse_dims(text: str) -> ast.Tuple | None:
    """The tuple that a comment or span writes, when every item can be a size."""
    text = text.strip()
    if not (text.startswith("(") and text.endswith(")")):
        return None
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    if not isinstance(node, ast.Tuple) or not text_is_tuple(text):
        return None
    if node.elts and all(isinstance(item, ast.Tuple) for item in node.elts):
        inner = [item for item in node.elts if isinstance(item, ast.Tuple)]
        return node if all(_is_dim(dim) for item in inner for dim in item.elts) else None
    return node if all(_is_dim(item) for item in node.elts) else None


def text_is_tuple(text: str) -> bool:
    """True when the outer parentheses are the tuple's own, as in `(a, b)` but not `(a), (b)`."""
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return place == len(text) - 1
    return False


def _is_dim(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return node.value is ... or type(node.value) is int
    if isinstance(node, ast.Name):
        return True
    if isinstance(node, ast.BinOp):
        kinds = (ast.Mult, ast.Div, ast.FloorDiv, ast.Add, ast.Sub)
        return isinstance(node.op, kinds) and _is_dim(node.left) and _is_dim(node.right)
    return False


def evaluate(node: ast.expr, sizes: dict[str, int]) -> int | None:
    """The size that an item stands for, or None while one of its names is free."""
    if isinstance(node, ast.Constant):
        return int(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.Name):
        return sizes.get(node.id)
    assert isinstance(node, ast.BinOp)
    left, right = evaluate(node.left, sizes), evaluate(node.right, sizes)
    if left is None or right is None:
        return None
    if isinstance(node.op, ast.Mult):
        return left * right
    if isinstance(node.op, ast.Add):
        return left + right
    if isinstance(node.op, ast.Sub):
        return left - right
    if right == 0 or left % right:
        raise ShapeError(f"{ast.unparse(node)} is {left} / {right}, which leaves a rest")
    return left // right


def agree(dims: ast.Tuple, shape: Sequence[int], sizes: dict[str, int]) -> dict[str, int]:
    """The names that the comparison binds; ShapeError when shape and dims disagree."""
    items = dims.elts
    gaps = [
        n for n, item in enumerate(items) if isinstance(item, ast.Constant) and item.value is ...
    ]
    if len(gaps) > 1:
        raise ShapeError(f"{ast.unparse(dims)} has more than one ...")
    if gaps:
        missing = len(shape) - len(items) + 1
        if missing < 0:
            raise ShapeError(
                f"{ast.unparse(dims)} has at least {len(items) - 1} axes, the shape is {shape}"
            )
        pairs = [*zip(items[: gaps[0]], shape, strict=False)]
        pairs += zip(items[gaps[0] + 1 :], shape[gaps[0] + missing :], strict=True)
    elif len(items) != len(shape):
        raise ShapeError(f"{ast.unparse(dims)} has {len(items)} axes, the shape is {tuple(shape)}")
    else:
        pairs = [*zip(items, shape, strict=True)]
    bound = dict(sizes)
    new: dict[str, int] = {}
    later = []
    for item, size in pairs:
        if isinstance(item, ast.Name) and item.id not in bound:
            bound[item.id] = new[item.id] = size
        else:
            later.append((item, size))
    for item, size in later:
        value = evaluate(item, bound)
        if value is None:
            name, value = _solve(item, size, bound)
            if value is None:
                raise ShapeError(f"{ast.unparse(dims)}: nothing says what {ast.unparse(item)} is")
            bound[name] = new[name] = value
        elif value != size:
            raise ShapeError(
                f"{ast.unparse(dims)} against {tuple(shape)}: "
                f"{ast.unparse(item)} is {value}, the axis {size}"
            )
    return new


def _solve(item: ast.expr, size: int, sizes: dict[str, int]) -> tuple[str, int | None]:
    """The one free name of a product or quotient, and what it has to be."""
    assert isinstance(item, ast.BinOp)
    known = evaluate(item.right, sizes)
    if known and isinstance(item.left, ast.Name):
        if isinstance(item.op, ast.Div | ast.FloorDiv):
            return item.left.id, size * known
        if isinstance(item.op, ast.Mult) and size % known == 0:
            return item.left.id, size // known
    known = evaluate(item.left, sizes)
    if known and isinstance(item.right, ast.Name) and isinstance(item.op, ast.Mult):
        return item.right.id, size // known if size % known == 0 else None
    return "", None
