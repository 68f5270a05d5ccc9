"""Judging code spans: what a sentence says about the code has to hold.

A span is taken for the first of these that it can be, and judged in the namespace of the last
block above it (the page's first block when there is none):

- `path`: has a `/` or a known suffix, and no space: it is in the repository;
- `import`: an import statement: it can be carried out;
- `shape`: a tuple of sizes: the shape of a tensor that is there or was made there; right after a
  tensor's name (`x` of shape `(2, 3)`, `x` 的形状是 `(2, 3)`), the shape of that tensor;
- `number`: a float stands in the page's code, the output or the values; numbers that are listed,
  as in `2`, `0` and `1`, stand there in this order; a whole number alone says nothing that could
  be judged, and is refused;
- `string`: it stands in the page's code or the output;
- `comparison`: it holds; a float counts to the digits shown;
- `assignment`: `d_k = d_model // num_heads`: both sides are equal;
- `keyword`: `dim=-1`: some callable on the page, or known to it, has that parameter;
- `name`: it exists (see `Names.exists` for where it is looked up);
- `call`: evaluated when its first name is in the namespace; otherwise a fragment, which has to
  stand in the page's code, or, written with `...`, name something that exists;
- `expression`: it evaluates, or is quoted from the page's code;
- `command`: `make test`, `pytest docs`: the target, script or module exists, the files too;
- `quotation`: what is none of these has to stand in the page's code.

A span marked `{.wrong}` is judged the other way round: it must not exist, hold or evaluate.
"""

from __future__ import annotations

import ast
import contextlib
import io
import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from proseproof import shape_comments
from proseproof.commands import SUFFIX, command
from proseproof.execution import Run
from proseproof.listings import ListingError, resolve
from proseproof.names import Names
from proseproof.page import Page, Span
from proseproof.quoted_code import Code, tail
from proseproof.settings import Settings
from proseproof.values import digits, is_number, numbers_in, same, shapes_in, stands_in, truth

PATH = re.compile(r"[\w.*-]*(/[\w.*-]*)*(:[\w.]+)?")
NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?(?![\w])", re.IGNORECASE)


@dataclass(frozen=True)
class Verdict:
    """How one span was judged."""

    span: Span
    rule: str
    holds: bool
    reason: str = ""

    @property
    def word(self) -> str:
        """The verdict in one word, for the report."""
        if self.rule == "text":
            return "not judged"
        if not self.holds:
            return "fails"
        return "proved wrong" if self.span.mark == "wrong" else "holds"


class _Fails(Exception):
    """The span is not true; the message says why."""


class Judge:
    """Judges the spans that belong to one block of a page."""

    def __init__(self, settings: Settings, page: Page, run: Run | None, code: Code) -> None:
        self.settings, self.page, self.run, self.code = settings, page, run, code
        self.values: dict[str, Any] = {}
        self.seen: set[shape_comments.Shape] = set()
        self.asserted: set[str] = set()
        self.output = ""
        if run is not None:
            self.values = {**run.watch.bindings, **run.namespace}
            self.seen = run.made | run.watch.shapes
            self.asserted = run.watch.asserted
            self.output = run.stdout + "\n" + run.last_line
        self.names = Names(settings, self.values, code)

    def judge(self, span: Span) -> Verdict:
        """The verdict on one span."""
        if span.mark == "text":
            return Verdict(span, "text", True)
        wrong = span.mark == "wrong"
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                rule, reason = self._holds(span, wrong), ""
            except _Fails as failure:
                rule, _, reason = str(failure).partition("|")
        if not wrong:
            return Verdict(span, rule, not reason, reason)
        if reason:
            return Verdict(span, rule, True)
        return Verdict(span, rule, False, f"is marked as wrong, but it holds ({rule})")

    # The rules, in order.

    def _holds(self, span: Span, wrong: bool) -> str:
        """The rule by which a span holds; _Fails("rule|reason") when it does not."""
        text = re.sub(r"^#!python ", "", span.text)
        if self._is_path(text):
            return self._path(text)
        if re.match(r"(import|from)\s", text):
            return self._import(text)
        try:
            node = ast.parse(text.removeprefix("."), mode="eval").body
        except (SyntaxError, ValueError):
            return self._not_an_expression(text, wrong)
        if text.startswith("(") and shape_comments.parse_dims(text) is not None:
            return self._shape(text, span.subject)
        if isinstance(node, ast.Constant) or is_number(node):
            return self._literal(node, span)
        if isinstance(node, ast.Compare):
            return self._comparison(node)
        if isinstance(node, ast.Name | ast.Attribute) and re.fullmatch(r"\.?[\w.]+", text):
            if self.names.exists(text.removeprefix(".")):
                return "name"
            if (self.settings.root / text).exists():
                return "path"
            raise _Fails("name|there is no such name here" + self.names.near(text))
        if isinstance(node, ast.Call):
            return self._call(node, text, wrong)
        return self._expression(text, "expression", wrong)

    def _is_path(self, text: str) -> bool:
        if " " in text or not PATH.fullmatch(text) or not re.search(r"[A-Za-z]", text):
            return False
        if "/" in text and not SUFFIX.search(text) and not text.endswith("/"):
            # `d_model/num_heads` is a quotient when both names are known.
            names = text.split("/")
            if all(name.isidentifier() and name in self.values for name in names):
                return False
        return "/" in text or (bool(SUFFIX.search(text)) and not self.names.exists(text))

    def _path(self, text: str) -> str:
        path, _, name = text.partition(":")
        root = self.settings.root
        for base in (root, (root / self.page.path).parent, root / "docs"):
            place = base / path
            if place.exists() or ("*" in path and next(iter(base.glob(path)), None)):
                if name and not name.isdigit():
                    try:
                        resolve(root, text)
                    except ListingError as error:
                        raise _Fails(f"path|{error}") from None
                return "path"
        raise _Fails("path|there is no such file in the repository")

    def _import(self, text: str) -> str:
        try:
            exec(text, {})
        except (ImportError, SyntaxError) as error:
            raise _Fails(f"import|{type(error).__name__}: {error}") from None
        return "import"

    def _shape(self, text: str, subject: str) -> str:
        dims = shape_comments.parse_dims(text)
        assert dims is not None
        own = getattr(self.values.get(subject), "shape", None)
        if own is None and ast.unparse(dims) in self.asserted:
            return "shape"
        sizes = {name: int(value) for name, value in self.values.items() if type(value) is int}
        known = self.seen | set(self._shapes_here()) if own is None else {tuple(own)}
        wanted: list[int | None] = []
        for item in dims.elts:
            if isinstance(item, ast.Constant) and item.value is ...:
                wanted.append(None)
                continue
            try:
                size = shape_comments.evaluate(item, sizes)
            except shape_comments.ShapeError as error:
                raise _Fails(f"shape|{error}") from None
            if size is None:
                raise _Fails(f"shape|nothing here says how large {ast.unparse(item)} is")
            wanted.append(size)
        for shape in known:
            try:
                shape_comments.agree(dims, shape, sizes)
            except shape_comments.ShapeError:
                continue
            return "shape"
        if own is not None:
            raise _Fails(f"shape|{subject} has the shape {tuple(own)}")
        if text.replace(" ", "") in self.output.replace(" ", ""):
            return "shape"
        said = f" = {tuple(wanted)}" if any(isinstance(d, ast.Name) for d in dims.elts) else ""
        near = sorted(shape for shape in known if len(shape) == len(wanted))
        raise _Fails(
            f"shape|no tensor here has the shape {text}{said}; "
            f"with as many axes: {', '.join(map(str, near[:8])) or 'none'}"
        )

    def _shapes_here(self) -> Iterator[shape_comments.Shape]:
        for value in self.values.values():
            yield from shapes_in(value, 3)

    def _literal(self, node: ast.expr, span: Span) -> str:
        value = ast.literal_eval(node)
        if value is None or isinstance(value, bool) or value is ...:
            return "literal"
        if isinstance(value, str | bytes):
            if repr(value) in self.code.literals or str(value) in self.output:
                return "string"
            raise _Fails("string|it stands neither in the page's code nor in the output")
        row = span.row or (span.text,)
        if len(row) == 1 and isinstance(value, int):
            raise _Fails(
                "number|a whole number alone cannot be judged; write an equality, as in n == 4, "
                "or leave the code marks off"
            )
        said = [(float(text), digits(text)) for text in row]
        for numbers in self._number_rows():
            if stands_in(said, numbers):
                return "number"
        shown = ", ".join(row)
        raise _Fails(f"number|{shown} stands neither in the page's code nor in output or values")

    def _number_rows(self) -> Iterator[list[float]]:
        """Rows of numbers in which a sentence's numbers may stand."""
        yield [float(token) for token in NUMBER.findall(self.output)]
        yield [float(token) for token in NUMBER.findall(self.code.text)]
        for name, value in self.values.items():
            if name[:2] != "__":
                yield numbers_in(value)

    def _comparison(self, node: ast.Compare) -> str:
        try:
            if not self._all_hold(node) and not self._to_digits_shown(node):
                sides = " ".join(self._side(side) for side in [node.left, *node.comparators])
                raise _Fails(f"comparison|it is false: {sides}")
        except _Fails:
            raise
        except Exception as error:
            raise _Fails(f"comparison|{type(error).__name__}: {error}") from None
        return "comparison"

    def _all_hold(self, node: ast.Compare) -> bool:
        """True when each link of a chain holds; tensors hold when all their elements do."""
        sides = [ast.unparse(side) for side in (node.left, *node.comparators)]
        for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
            pair = ast.Compare(_parsed(left), [operator], [_parsed(right)])
            if not truth(self._evaluate(ast.unparse(pair))):
                return False
        return True

    def _to_digits_shown(self, node: ast.Compare) -> bool:
        """True for `x == 0.42` when x is 0.42 once rounded as the float is written."""
        if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq):
            return False
        for shown, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
            if is_number(shown) and isinstance(ast.literal_eval(shown), float):
                said, true = ast.literal_eval(shown), self._evaluate(ast.unparse(other))
                return same(float(true), said, digits(ast.unparse(shown)))
        return False

    def _side(self, node: ast.expr) -> str:
        text = ast.unparse(node)
        if isinstance(node, ast.Constant):
            return text
        value = str(self._evaluate(text))
        return f"{text} is {value if len(value) < 60 else value[:57] + '...'};"

    def _call(self, node: ast.Call, text: str, wrong: bool) -> str:
        links = list(_chain(node))
        if not text.startswith(".") and not any(map(_is_open, links)):
            try:
                self._evaluate(text)
            except Exception:
                known = _root(node) in self.values
            else:
                known = True
            if known:
                return self._expression(text, "call", wrong)
        for link in links:
            self._fragment(link)
        return "call"

    def _fragment(self, node: ast.Call) -> None:
        """A call whose object is not here: `transpose(1, 2)`, `view(...)`."""
        name = ast.unparse(node.func)
        if not re.fullmatch(r"[\w.]+", name):
            name = name.rpartition(".")[2]
        if not self.names.exists(name):
            raise _Fails(f"call|there is no {name} here" + self.names.near(name))
        for word in node.keywords:
            if word.arg and not self.names.is_parameter(word.arg):
                raise _Fails(f"call|nothing here takes a parameter {word.arg!r}")
        given = [ast.unparse(part) for part in takewhile(_is_given, node.args)]
        if _is_open(node) and given:
            # `f(a, ...)` quotes a call of the page as far as it goes.
            start = f"{name.rpartition('.')[2]}({', '.join(given)}"
            if not self.code.quotes(start):
                raise _Fails(f"call|no call on this page begins with {start}")
        if _is_open(node) or not (node.args or node.keywords):
            return
        if not {tail(node), ast.unparse(node)} & self.code.calls:
            raise _Fails(
                f"call|{tail(node)} is neither in the page's code nor can it be made here; "
                "write it with its object, as in x.f(…), or with f(...)"
            )

    def _expression(self, text: str, rule: str, wrong: bool) -> str:
        try:
            value = self._evaluate(text)
        except Exception as error:
            if not wrong and self.code.quotes(text):
                return "quotation"
            raise _Fails(f"{rule}|{type(error).__name__}: {error}") from None
        # A sentence that gives a test, such as `torch.equal(a, b)`, says that it holds.
        if value is False and (wrong or not self.code.quotes(text)):
            raise _Fails(f"{rule}|it is False; if that is what is meant, write: {text} is False")
        return rule

    def _not_an_expression(self, text: str, wrong: bool) -> str:
        match = re.fullmatch(r"([A-Za-z_]\w*)(\s*)=(\s*)(.+)", text)
        if match is not None:
            name, left, right, value = match.groups()
            if not left and not right:
                return self._keyword(name, value)
            return self._assignment(text, name, value)
        if keyword.iskeyword(text):
            return "name"
        if command(self.settings.root, text):
            return "command"
        if not wrong and self.code.quotes(text.rstrip(":")):
            return "quotation"
        raise _Fails("quotation|this is not Python and not quoted from the page's code")

    def _keyword(self, name: str, value: str) -> str:
        if not self.names.is_parameter(name) and name not in self.values:
            raise _Fails(f"keyword|nothing here takes a parameter {name!r}")
        if self.code.quotes(f"{name}={value}"):
            return "keyword"
        try:
            node = ast.parse(value, mode="eval").body
        except SyntaxError:
            raise _Fails(f"keyword|{value!r} is not Python") from None
        if name in self.values and not self.names.is_parameter(name):
            return self._assignment(f"{name} = {value}", name, value)
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and not self.names.exists(part.id):
                raise _Fails(f"keyword|there is no {part.id} here")
        return "keyword"

    def _assignment(self, text: str, name: str, value: str) -> str:
        if self.code.quotes(text):
            return "assignment"
        if name not in self.values:
            raise _Fails(
                f"assignment|{name} is not defined here, and the page's code has no such line"
            )
        try:
            equal = truth(self._evaluate(f"({name}) == ({value})"))
        except Exception as error:
            raise _Fails(f"assignment|{type(error).__name__}: {error}") from None
        if not equal:
            raise _Fails(f"assignment|{name} is {self.values[name]!r}")
        return "assignment"

    def _evaluate(self, text: str) -> Any:
        return eval(text, dict(self.values))


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _chain(node: ast.expr) -> Iterator[ast.Call]:
    """The calls of a chain, last first: `b()`, then `a()` of `a().b()`."""
    while isinstance(node, ast.Call | ast.Attribute):
        if isinstance(node, ast.Call):
            yield node
            node = node.func
        else:
            node = node.value


def _is_given(node: ast.expr) -> bool:
    """True for an argument that is written out."""
    return not (isinstance(node, ast.Constant) and node.value is ...)


def _is_open(node: ast.Call) -> bool:
    """True for `f(...)`, which leaves its arguments open."""
    return any(isinstance(item, ast.Constant) and item.value is ... for item in node.args)
