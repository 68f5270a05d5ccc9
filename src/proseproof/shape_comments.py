"""Shape comments that are asserted: `x = f(y)  # (batch, seq_len, d_model)`.

The source is rewritten on its way into the interpreter: behind each line that ends in such a
comment goes a check of what the line assigned, returned or made. Line numbers stay; under
`torch.compile` the check folds away, since `is_compiling()` is a constant there.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib.abc
import importlib.machinery
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from types import CodeType, FrameType, ModuleType
from typing import Any

from proseproof.shape_rewriter import CHECK, COMPILING, DIMS, Rewriter

Shape = tuple[int, ...]


class ShapeError(AssertionError):
    """A shape comment does not hold."""


@dataclass
class Comment:
    """One shape comment of one source file, and whether its line ever ran."""

    path: str
    line: int
    text: str
    dims: ast.Tuple
    ran: bool = False

    @functools.cached_property
    def nested(self) -> bool:
        """True for a comment that names several shapes: `((a, b), (c, d))`."""
        return bool(self.dims.elts) and isinstance(self.dims.elts[0], ast.Tuple)

    @functools.cached_property
    def parts(self) -> list[tuple[ast.Tuple, str, list[str]]]:
        """Each shape that is named, as a tree, as text, and the names in it."""
        shapes = self.dims.elts if self.nested else [self.dims]
        return [
            (one, ast.unparse(one), [n.id for n in ast.walk(one) if isinstance(n, ast.Name)])
            for one in shapes
            if isinstance(one, ast.Tuple)
        ]


@dataclass
class Watch:
    """What shape comments saw while one block ran; only the page's own bind names for its prose."""

    path: str = ""
    bindings: dict[str, int] = field(default_factory=dict)
    asserted: set[str] = field(default_factory=set)
    shapes: set[Shape] = field(default_factory=set)


registry: dict[tuple[str, int], Comment] = {}
watches: list[Watch] = []


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
        return node.value is ... or (isinstance(node.value, int) and node.value is not True)
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


def _sizes(names: list[str], bindings: dict[str, int], frame: FrameType) -> dict[str, int]:
    """Sizes by name: from a call's bindings, its variables, `self`, and the globals."""
    variables = frame.f_locals
    owner = variables.get("self")
    found = {}
    for name in names:
        for value in (
            bindings.get(name),
            variables.get(name),
            None if owner is None else getattr(owner, name, None),
            frame.f_globals.get(name),
        ):
            if type(value) is int:
                found[name] = value
                break
    return found


def check(value: Any, path: str, line: int, bindings: dict[str, int]) -> None:
    """Assert the shape comment of `path`:`line` for the value that the line made."""
    comment = registry[path, line]
    if value is None:  # an optional argument that was left out
        return
    comment.ran = True
    several = isinstance(value, tuple | list) and not _is_shape(value)
    values = value if comment.nested or several else [value]
    parts = comment.parts if comment.nested else comment.parts * len(values)
    if len(parts) != len(values):
        raise ShapeError(
            f"{path}:{line}: {comment.text} names {len(parts)} shapes, "
            f"the line makes {len(values)} values"
        )
    for one, (dims, said, names) in zip(values, parts, strict=True):
        if one is None:
            continue
        shape = one if _is_shape(one) else getattr(one, "shape", None)
        if shape is None:
            raise ShapeError(f"{path}:{line}: {comment.text}: a {type(one).__name__} has no shape")
        shape = tuple(shape)
        try:
            new = agree(dims, shape, _sizes(names, bindings, sys._getframe(1)))
        except ShapeError as error:
            raise ShapeError(f"{path}:{line}: {error}") from None
        bindings.update(new)
        for watch in watches:
            watch.asserted.add(said)
            watch.shapes.add(shape)
            if watch.path == path:
                watch.bindings |= new


def _is_shape(value: Any) -> bool:
    return isinstance(value, tuple) and (
        hasattr(value, "numel") or (bool(value) and all(type(size) is int for size in value))
    )


@functools.lru_cache(maxsize=1024)
def comments_of(source: str) -> tuple[dict[int, str], list[int], list[tuple[int, str]]]:
    """Shape comments at line ends; those on a line of their own; and those with other words."""
    ends: dict[int, str] = {}
    alone: list[int] = []
    mixed: list[tuple[int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        line, text = token.start[0], token.string.lstrip("#").strip()
        if parse_dims(text) is None:
            if re.search(r"(?<![\w.\])])\(\s*\w+\s*(?:,\s*[\w*/ ]+)+,?\s*\)|torch\.Size", text):
                mixed.append((line, token.string))
        elif token.line[: token.start[1]].strip():
            ends[line] = text
        else:
            alone.append(line)
    return ends, alone, mixed


def rewrite(source: str, path: str, shift: int = 0) -> tuple[ast.Module, list[int]]:
    """The checked syntax tree, and the lines of shape comments that belong to nothing.

    `shift` is added to line numbers in `registry`, for code that begins inside a page.
    """
    tree = ast.parse(source, path)
    ends, alone, _ = comments_of(source)
    last = shift + len(source.splitlines())
    for place in [*registry]:
        if place[0] == path and shift < place[1] <= last:
            del registry[place]
    for line, text in ends.items():
        dims = parse_dims(text)
        assert dims is not None
        registry[path, line + shift] = Comment(path, line + shift, text, dims)
    if not ends:
        return tree, alone
    rewriter = Rewriter(path, ends, source.splitlines(), shift)
    tree.body = rewriter.body(tree.body)
    lost = sorted({*alone, *(set(ends) - rewriter.used)})
    return ast.fix_missing_locations(tree), lost


def namespace(source: str = "") -> dict[str, Any]:
    """The names that rewritten code refers to; torch is loaded only for code that imports it."""
    is_compiling: Any = bool
    imports = re.search(r"^\s*(?:import|from)\s+torch\b", source, re.MULTILINE)
    if imports or "torch" in sys.modules:
        with contextlib.suppress(ImportError):
            from torch.compiler import is_compiling
    return {CHECK: check, DIMS: {}, COMPILING: is_compiling}


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module with its shape comments asserted; no byte code is kept."""

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:  # type: ignore[override]
        """Compile the rewritten source."""
        source = importlib.util.decode_source(data) if isinstance(data, bytes) else data
        name = str(path)
        if not comments_of(source)[0] and not comments_of(source)[1]:
            return compile(source, name, "exec", dont_inherit=True)
        tree, lost = rewrite(source, name)
        for line in lost:
            dims = ast.Tuple([], ast.Load())
            registry.setdefault((name, line), Comment(name, line, "", dims))
        return compile(tree, name, "exec", dont_inherit=True)

    def get_code(self, fullname: str) -> CodeType | None:
        """Always from the source: cached byte code would lack the checks."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module with the check in reach."""
        module.__dict__.update(namespace(self.get_data(self.path).decode("utf-8", "replace")))
        super().exec_module(module)


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of the packages whose shape comments are asserted."""

    def __init__(self, packages: Iterable[str]) -> None:
        self.packages = tuple(packages)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The usual spec, with our loader."""
        if fullname.partition(".")[0] not in self.packages:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is None:
            for finder in sys.meta_path:
                if finder is not self and finder is not importlib.machinery.PathFinder:
                    spec = finder.find_spec(fullname, path, target)
                    if spec is not None:
                        break
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec
