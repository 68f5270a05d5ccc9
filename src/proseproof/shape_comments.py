"""Shape comments that are asserted: `x = f(y)  # (batch, seq_len, d_model)`.

The source is rewritten on its way into the interpreter: behind each line that ends in such a
comment, or in a value, goes a check of what the line assigned, returned or made. Line numbers
stay; under `torch.compile` the check folds away, since `is_compiling()` is a constant there.
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
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

from proseproof.shape_dims import Shape as Shape
from proseproof.shape_dims import ShapeError as ShapeError
from proseproof.shape_dims import agree as agree
from proseproof.shape_dims import evaluate as evaluate
from proseproof.shape_dims import parse_dims as parse_dims
from proseproof.shape_like import is_size_list, looks_like_shape, sizes_named
from proseproof.shape_rewriter import CHECK, COMPILING, DIMS, Rewriter
from proseproof.value_comments import (
    Value,
    ValueCommentError,
    lines_with_value,
    looks_like_value,
    parse_value,
)


@dataclass
class Comment:
    """One comment of one source file that is asserted, and whether it ever was.

    What stands in square brackets is a shape where the line makes a tensor, and else a value.
    """

    path: str
    line: int
    text: str
    dims: ast.Tuple | None
    value: Value | None = None
    ran: bool = False
    held: dict[Any, dict[str, int]] = field(default_factory=dict)  # what it was right for

    @functools.cached_property
    def nested(self) -> bool:
        """True for a comment that names several shapes: `((a, b), (c, d))`."""
        return self.dims is not None and any(isinstance(one, ast.Tuple) for one in self.dims.elts)

    @functools.cached_property
    def parts(self) -> list[tuple[ast.Tuple, str, list[str]]]:
        """Each shape that is named, as a tree, as text, and the names in it."""
        shapes = self.dims.elts if self.dims and self.nested else [self.dims]
        return [
            (one, ast.unparse(one), [n.id for n in ast.walk(one) if isinstance(n, ast.Name)])
            for one in shapes
            if isinstance(one, ast.Tuple)
        ]

    def bound(
        self, dims: ast.Tuple, shape: tuple[int, ...], sizes: dict[str, int]
    ) -> dict[str, int]:
        """The names that the comparison binds; a line in a loop makes the same shape each time."""
        key = dims, shape, *sizes.items()
        try:
            return self.held[key]
        except (KeyError, TypeError):  # TypeError: a size that is still a symbol
            new = agree(dims, shape, sizes)
        with contextlib.suppress(TypeError):
            self.held[key] = new
        return new


@dataclass
class Watch:
    """What shape comments saw while one block ran; only the page's own bind names for its prose."""

    path: str = ""
    bindings: dict[str, int] = field(default_factory=dict)
    failed: list[Failure] = field(default_factory=list)
    free: dict[int, set[str]] = field(default_factory=dict)
    alike: dict[tuple[int, str], set[tuple[str, str]]] = field(default_factory=dict)

    def note_names(self, line: int, said: str, new: Iterable[str], sizes: dict[str, int]) -> None:
        """Keep the names that only this comment binds, and those that it cannot tell apart."""
        self.free.setdefault(line, set()).update(new)
        names = sorted(sizes)
        same = {(a, b) for a in names for b in names if a < b and sizes[a] == sizes[b]}
        self.alike[line, said] = self.alike.get((line, said), same) & same


class Failure(NamedTuple):
    """A comment that did not hold, whatever became of the error, and the page's line that ran."""

    line: int
    error: ShapeError | ValueCommentError


registry: dict[tuple[str, int], Comment] = {}
watches: list[Watch] = []


def _sizes(names: list[str], bindings: dict[str, int], frame: FrameType) -> dict[str, int]:
    """Sizes by name: from a call's bindings, its variables, `self`, and the globals."""
    found = {name: bindings[name] for name in names if type(bindings.get(name)) is int}
    if len(found) < len(names):  # a frame's variables are slow to come by
        variables = frame.f_locals
        owner = variables.get("self")
        for name in names:
            for value in (
                found.get(name),
                variables.get(name),
                None if owner is None else getattr(owner, name, None),
                frame.f_globals.get(name),
            ):
                if type(value) is int:
                    found[name] = value
                    break
    return found


def check(value: Any, path: str, line: int, bindings: dict[str, int]) -> None:
    """Assert the comment of `path`:`line` for the value that the line made."""
    comment = registry[path, line]
    frame = sys._getframe(1)
    try:
        if comment.value is not None and (comment.dims is None or not _has_shape(value)):
            comment.ran = True
            comment.value.expect(value)
        elif value is not None:  # None: an optional argument that was left out
            _check_shapes(comment, value, bindings, frame)
    except (ShapeError, ValueCommentError) as error:
        told = type(error)(f"{path}:{line}: {error}")
        for watch in watches:
            watch.failed.append(Failure(_line_of(watch.path, path, line, frame), told))
        raise told from None


def _line_of(page: str, path: str, line: int, frame: FrameType | None) -> int:
    """The page's line at which a comment failed that stands there, or in code that it calls."""
    if path == page:
        return line
    while frame is not None and frame.f_code.co_filename != page:
        frame = frame.f_back
    return frame.f_lineno if frame is not None else 1


def _check_shapes(comment: Comment, value: Any, bindings: dict[str, int], frame: FrameType) -> None:
    several = isinstance(value, tuple | list) and not _is_shape(value)
    values = value if comment.nested or several else [value]
    parts = comment.parts if comment.nested else comment.parts * len(values)
    if len(parts) != len(values):
        raise ShapeError(
            f"{comment.text} names {len(parts)} shapes, the line makes {len(values)} values"
        )
    for one, (dims, said, names) in zip(values, parts, strict=True):
        if one is None:
            continue
        comment.ran = True
        shape = one if _is_shape(one) else getattr(one, "shape", None)
        if shape is None:
            raise ShapeError(f"{comment.text}: a {type(one).__name__} has no shape")
        sizes = _sizes(names, bindings, frame)
        new = comment.bound(dims, tuple(shape), sizes)
        bindings.update(new)
        for watch in watches:
            if watch.path == comment.path:
                watch.bindings |= new
                watch.note_names(comment.line, said, new, sizes | new)


def _has_shape(value: Any) -> bool:
    if isinstance(value, list | tuple) and not _is_shape(value):
        return any(hasattr(one, "shape") for one in value)
    return _is_shape(value) or hasattr(value, "shape")


def _is_shape(value: Any) -> bool:
    return isinstance(value, tuple) and (
        hasattr(value, "numel") or (bool(value) and all(type(size) is int for size in value))
    )


class Comments(NamedTuple):
    """The comments of a source that are asserted, and those that a reader takes for such."""

    ends: dict[int, str]
    alone: list[int]  # a shape on a line of its own
    unchecked: list[tuple[int, str, str]]  # line, "shape" or "value", the comment


@functools.lru_cache(maxsize=1024)
def comment_tokens(source: str) -> tuple[list[tokenize.TokenInfo], Exception | None]:
    """The comments of a source, as far as it can be read, and the error at which that ends."""
    found: list[tokenize.TokenInfo] = []
    try:
        if "#" in source:  # else there is nothing to find
            for token in tokenize.generate_tokens(io.StringIO(source).readline):
                if token.type == tokenize.COMMENT:
                    found.append(token)
    except (tokenize.TokenError, SyntaxError) as error:
        return found, error
    return found, None


@functools.lru_cache(maxsize=1024)
def comments_of(source: str) -> Comments:
    """Shapes and values at line ends; shapes on a line of their own; what only looks like one."""
    found = Comments({}, [], [])
    tokens, error = comment_tokens(source)
    if error is not None:
        raise error
    for token in tokens:
        line, text = token.start[0], token.string.lstrip("#").strip()
        ends = bool(token.line[: token.start[1]].strip())
        dims, value = _read(text, source)
        if value is not None and dims is None and not ends:
            if not isinstance(value.node, ast.Constant):
                found.unchecked.append((line, "value", token.string))
        elif value is not None and value.may_be_words:
            if line in _value_lines(source):
                found.ends[line] = text
        elif dims is not None or value is not None:
            if ends:
                found.ends[line] = text
            else:
                found.alone.append(line)
        elif re.search(r"[\d,`(=×]|[A-Z] [A-Z]|\w_\w| x ", text):  # else no need to look closer
            if looks_like_value(text, ends and line in _value_lines(source)):
                found.unchecked.append((line, "value", token.string))
            elif looks_like_shape(text, _known_sizes(source)):
                found.unchecked.append((line, "shape", token.string))
    return found


def _read(text: str, source: str) -> tuple[ast.Tuple | None, Value | None]:
    """The shape and the value that a whole comment can be read as."""
    dims = parse_dims(text)
    if dims is not None:
        return dims, None
    inside = re.fullmatch(r"(?:(?:torch\.)?Size\(\[(.*)\]\)|\[(.*)\])", text)
    if inside is not None and (inside[2] is None or is_size_list(text, _known_sizes(source))):
        items = (inside[1] or inside[2] or "").strip().rstrip(",")
        dims = parse_dims(f"({items},)" if items else "()")
    return dims, parse_value(text)


def values_of(source: str) -> list[tuple[int, str]]:
    """The comments that are held against a value, and not only against its shape."""
    ends = comments_of(source).ends.items()
    return [(line, text) for line, text in ends if _read(text, source)[1] is not None]


@functools.lru_cache(maxsize=64)
def _known_sizes(source: str) -> frozenset[str]:
    shapes = [parse_dims(token.string.lstrip("#")) for token in comment_tokens(source)[0]]
    names = {n.id for one in shapes if one for n in ast.walk(one) if isinstance(n, ast.Name)}
    return frozenset({*names, *sizes_named(source)})


@functools.lru_cache(maxsize=64)
def _value_lines(source: str) -> frozenset[int]:
    return frozenset(lines_with_value(source))


def rewrite(
    source: str, path: str, shift: int = 0, values: bool = True
) -> tuple[ast.Module, list[int]]:
    """The checked syntax tree, and the lines of comments that belong to nothing.

    `shift` is added to line numbers in `registry`, for code that begins inside a page. Without
    `values`, those that are said are let be: a made-up device computes none.
    """
    tree = ast.parse(source, path)
    all_ends, alone, _ = comments_of(source)
    last = shift + len(source.splitlines())
    for place in [*registry]:
        if place[0] == path and shift < place[1] <= last:
            del registry[place]
    ends = {}
    for line, text in all_ends.items():
        dims, value = _read(text, source)
        if value is None or values:
            ends[line] = text
            registry[path, line + shift] = Comment(path, line + shift, text, dims, value)
    if not ends:
        return tree, alone
    rewriter = Rewriter(path, ends, source.splitlines(), shift)
    tree.body = rewriter.body(tree.body)
    lost = sorted({*alone, *(set(ends) - rewriter.used)})
    return ast.fix_missing_locations(tree), lost


def says_nothing(watch: Watch, first: int, last: int) -> Iterator[tuple[int, str, str]]:
    """Line, fault and remedy of shape comments, from `first` to `last`, that others could replace.

    A name that is used once and that nothing else binds fits any axis; two names of one size fit
    each other's.
    """
    own = [
        comment
        for (path, line), comment in registry.items()
        if path == watch.path and first <= line <= last and comment.dims is not None
    ]
    uses = Counter(name for comment in own for _, _, names in comment.parts for name in names)
    for line, names in sorted(watch.free.items()):
        loose = sorted(name for name in names if uses[name] == 1)
        if loose:
            message = (
                f"nothing else says how large it is, so any size would pass: {', '.join(loose)}"
            )
            remedy = "give it a value in the block, or write the number"
            yield line, message, remedy
    for (line, said), pairs in sorted(watch.alike.items()):
        for one, other in sorted(pairs):
            message = f"{one} and {other} are equal here, so {said} would pass with them exchanged"
            yield line, message, "give them different sizes, or write the numbers"


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
        if not comments_of(source).ends and not comments_of(source).alone:
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
