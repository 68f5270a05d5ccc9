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
- `name`: it exists (see `Judge.exists` for where it is looked up);
- `call`: evaluated when its first name is in the namespace; otherwise a fragment, which has to
  stand in the page's code, or, written with `...`, name something that exists;
- `expression`: it evaluates, or is quoted from the page's code;
- `command`: `make test`, `pytest docs`: the target, script or module exists, the files too;
- `quotation`: what is none of these has to stand in the page's code.

A span marked `{.wrong}` is judged the other way round: it must not exist, hold or evaluate.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import copy
import difflib
import functools
import importlib
import importlib.util
import inspect
import io
import keyword
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

from proseproof import shape_comments
from proseproof.execution import Run
from proseproof.listings import ListingError, definitions, resolve
from proseproof.page import Page, Span
from proseproof.settings import Settings, source_files

SUFFIX = re.compile(
    r"\.(py|md|toml|ya?ml|txt|json|css|js|svg|png|ipynb|lock|cfg|html|csv|pt)(:[\w.]+)?$"
)
PATH = re.compile(r"[\w.*-]*(/[\w.*-]*)*(:[\w.]+)?")
HOMES = ("torch.Tensor", "torch", "torch.nn", "torch.nn.functional", "torch.nn.Module")
ALIASES = {"nn": "torch.nn", "F": "torch.nn.functional", "np": "numpy", "plt": "matplotlib.pyplot"}
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


@dataclass
class Code:
    """What stands in the code of a page's blocks and listings, for spans that quote it."""

    text: str = ""
    names: set[str] = field(default_factory=set)
    keywords: set[str] = field(default_factory=set)
    literals: set[str] = field(default_factory=set)
    sources: list[str] = field(default_factory=list)

    @property
    def calls(self) -> set[str]:
        """Every call that is written there, whole and without the object it is made on."""
        return {call for source in self.sources for call in _calls_in(source)}

    def add(self, source: str) -> None:
        """Take in one piece of code."""
        new = _code_of(source)
        self.text += new.text
        self.names |= new.names
        self.sources.append(source)
        self.keywords |= new.keywords
        self.literals |= new.literals

    def quotes(self, text: str) -> bool:
        """True when the words of `text` stand in the code in this order."""
        wanted = _spaceless(text)
        if not wanted:
            return False
        left = r"(?<!\w)" if wanted[0].isalnum() or wanted[0] == "_" else ""
        right = r"(?!\w)" if wanted[-1].isalnum() or wanted[-1] == "_" else ""
        return re.search(left + re.escape(wanted) + right, self.text) is not None


@functools.lru_cache(maxsize=1024)
def _code_of(source: str) -> Code:
    """One piece of code, read once: most of them stand on a page of each language."""
    code = Code("\n" + _spaceless(source))
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return code
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            dotted = _dotted(node)
            if dotted:
                code.names |= {dotted, dotted.rpartition(".")[2]}
        elif isinstance(node, ast.arg):
            code.names.add(node.arg)
            code.keywords.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            code.names.add(node.name)
        elif isinstance(node, ast.Constant):
            code.literals.add(repr(node.value))
        if isinstance(node, ast.Call):
            code.keywords |= {word.arg for word in node.keywords if word.arg}
    return code


@functools.lru_cache(maxsize=1024)
def _calls_in(source: str) -> set[str]:
    try:
        calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    except SyntaxError:
        return set()
    return {text for node in calls for text in (_tail(node), ast.unparse(node))}


def _dotted(node: ast.expr) -> str:
    """`a.b.c` for such a chain of names, and nothing for any other expression."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _spaceless(text: str) -> str:
    """Code without comments and without any space that means nothing."""
    lines = [re.sub(r"\s#\s.*$", "", line) for line in text.splitlines()]
    joined = re.sub(r"\s+", " ", "\n".join(lines)).strip()
    return re.sub(r" ?([^\w\s]) ?", r"\1", joined)


def _tail(node: ast.Call) -> str:
    """A call without the object it is made on: `transpose(1, 2)` of `x.transpose(1, 2)`."""
    short = copy.copy(node)
    if isinstance(node.func, ast.Attribute):
        short.func = ast.Name(node.func.attr, ast.Load())
    return ast.unparse(short)


class Judge:
    """Judges the spans that belong to one block of a page."""

    def __init__(self, settings: Settings, page: Page, run: Run | None, code: Code) -> None:
        self.settings, self.page, self.run, self.code = settings, page, run, code
        self.values: dict[str, Any] = {}
        self.seen: set[shape_comments.Shape] = set()
        self.asserted: set[str] = set()
        self.output = ""
        self.own = own_names(settings.root, settings.rewrite)
        if run is not None:
            self.values = {**run.watch.bindings, **run.namespace}
            self.seen = run.made | run.watch.shapes
            self.asserted = run.watch.asserted
            self.output = run.stdout + "\n" + run.last_line

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
        if isinstance(node, ast.Constant) or _is_number(node):
            return self._literal(node, span)
        if isinstance(node, ast.Compare):
            return self._comparison(node)
        if isinstance(node, ast.Name | ast.Attribute) and re.fullmatch(r"\.?[\w.]+", text):
            if self.exists(text.removeprefix(".")):
                return "name"
            if (self.settings.root / text).exists():
                return "path"
            raise _Fails("name|there is no such name here" + self._near(text))
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
        return "/" in text or (bool(SUFFIX.search(text)) and not self.exists(text))

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
            yield from _shapes_in(value, 3)

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
        said = [(float(text), _digits(text)) for text in row]
        for numbers in self._number_rows():
            if _stands_in(said, numbers):
                return "number"
        shown = ", ".join(row)
        raise _Fails(f"number|{shown} stands neither in the page's code nor in output or values")

    def _number_rows(self) -> Iterator[list[float]]:
        """Rows of numbers in which a sentence's numbers may stand."""
        yield [float(token) for token in NUMBER.findall(self.output)]
        yield [float(token) for token in NUMBER.findall(self.code.text)]
        for name, value in self.values.items():
            if isinstance(value, int | float) and name[:2] != "__":
                yield [float(value)]
            elif isinstance(value, list | tuple) and all(type(n) in (int, float) for n in value):
                yield [float(number) for number in value]
            elif _is_tensor(value) and value.numel() <= 4096 and not value.is_complex():
                yield value.detach().reshape(-1).tolist()

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
            if not _truth(self._evaluate(ast.unparse(pair))):
                return False
        return True

    def _to_digits_shown(self, node: ast.Compare) -> bool:
        """True for `x == 0.42` when x is 0.42 once rounded as the float is written."""
        if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq):
            return False
        for shown, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
            if _is_number(shown) and isinstance(ast.literal_eval(shown), float):
                said, true = ast.literal_eval(shown), self._evaluate(ast.unparse(other))
                return _same(float(true), said, _digits(ast.unparse(shown)))
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
        if not self.exists(name):
            raise _Fails(f"call|there is no {name} here" + self._near(name))
        for word in node.keywords:
            if word.arg and not self._is_parameter(word.arg):
                raise _Fails(f"call|nothing here takes a parameter {word.arg!r}")
        given = [ast.unparse(part) for part in takewhile(_is_given, node.args)]
        if _is_open(node) and given:
            # `f(a, ...)` quotes a call of the page as far as it goes.
            start = f"{name.rpartition('.')[2]}({', '.join(given)}"
            if not self.code.quotes(start):
                raise _Fails(f"call|no call on this page begins with {start}")
        if _is_open(node) or not (node.args or node.keywords):
            return
        if not {_tail(node), ast.unparse(node)} & self.code.calls:
            raise _Fails(
                f"call|{_tail(node)} is neither in the page's code nor can it be made here; "
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
        command = self._command(text)
        if command:
            return command
        if not wrong and self.code.quotes(text.rstrip(":")):
            return "quotation"
        raise _Fails("quotation|this is not Python and not quoted from the page's code")

    def _keyword(self, name: str, value: str) -> str:
        if not self._is_parameter(name) and name not in self.values:
            raise _Fails(f"keyword|nothing here takes a parameter {name!r}")
        if self.code.quotes(f"{name}={value}"):
            return "keyword"
        try:
            node = ast.parse(value, mode="eval").body
        except SyntaxError:
            raise _Fails(f"keyword|{value!r} is not Python") from None
        if name in self.values and not self._is_parameter(name):
            return self._assignment(f"{name} = {value}", name, value)
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and not self.exists(part.id):
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
            equal = _truth(self._evaluate(f"({name}) == ({value})"))
        except Exception as error:
            raise _Fails(f"assignment|{type(error).__name__}: {error}") from None
        if not equal:
            raise _Fails(f"assignment|{name} is {self.values[name]!r}")
        return "assignment"

    def _command(self, text: str) -> str:
        return command(self.settings.root, text)

    def _evaluate(self, text: str) -> Any:
        return eval(text, dict(self.values))

    # Names.

    def exists(self, dotted: str) -> bool:
        """True when a name is known here.

        Looked up in this order: the namespace; builtins and keywords; the page's code; attributes
        of what the namespace holds; what the project's own packages define; `homes` (torch, its
        tensors and modules); an importable module.
        """
        first, _, rest = dotted.partition(".")
        if first in self.values:
            return _has(self.values[first], rest) or dotted in self.code.names
        if first == "self" and rest:
            return dotted in self.code.names
        if _has(builtins, dotted) or keyword.iskeyword(dotted) or dotted in self.code.names:
            return True
        for value in self.values.values():
            if _is_rich(value) and _has(value, dotted):
                return True
        if first in ALIASES and _import_path(ALIASES[first] + ("." + rest if rest else "")):
            return True
        if dotted in self.own.names:
            return True
        for home in (*HOMES, *self.settings.homes):
            owner = _import_path(home)
            if owner is not None and _has(owner, dotted):
                return True
        return bool(_import_path(dotted))

    def _is_parameter(self, name: str) -> bool:
        if name in self.code.keywords or name in self.own.keywords:
            return True
        for value in self.values.values():
            if callable(value) and name in _parameters(value):
                return True
        return name in _known_parameters()

    def _near(self, text: str) -> str:
        known = [name for name in {*self.values, *self.code.names} if not name.startswith("__")]
        near = difflib.get_close_matches(text, sorted(known), n=3)
        return f"; near: {', '.join(near)}" if near else ""


def command(root: Path, text: str) -> str:
    """`command` when `text` is a shell command whose program and files exist; else nothing."""
    try:
        words = shlex.split(text.removeprefix("$ "))
    except ValueError:
        return ""
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        words = words[1:]
    if len(words) < 2 and not (words and shutil.which(words[0])):
        return ""
    program, *rest = words
    if program == "make":
        makefile = root / "Makefile"
        text = makefile.read_text(encoding="utf-8") if makefile.is_file() else ""
        targets = set(re.findall(r"^([\w-]+)\s*:(?!=)", text, re.MULTILINE))
        plain = [word for word in rest if "=" not in word]
        return "command" if all(word in targets for word in plain) else ""
    if program in ("python", "python3") and rest[:1] == ["-m"]:
        name = rest[1] if len(rest) > 1 else ""
        if not re.fullmatch(r"[\w.]+", name) or not _spec(name):
            return ""
        rest = rest[2:]
    elif program not in ("git", "cd", "python", "python3", "source", ".") and not _which(program):
        return ""
    files = [word.partition("#")[0].partition("::")[0] for word in rest if SUFFIX.search(word)]
    return "command" if all((root / file).exists() for file in files) else ""


def _which(program: str) -> bool:
    return bool(shutil.which(program) or (Path(sys.executable).parent / program).exists())


def _spec(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _has(owner: Any, dotted: str) -> bool:
    for name in dotted.split(".") if dotted else []:
        try:
            owner = inspect.getattr_static(owner, name)
        except AttributeError:
            try:
                owner = getattr(owner, name)
            except Exception:
                return False
        if isinstance(owner, staticmethod | classmethod):
            owner = owner.__func__
    return True


def _is_rich(value: Any) -> bool:
    """True for objects whose attributes a sentence may name without naming the object."""
    return not isinstance(value, int | float | str | bytes | list | dict | set) and not (
        inspect.ismodule(value) and value.__name__ == "builtins"
    )


@functools.cache
def _import_path(dotted: str) -> Any:
    """The object at an importable path, or None."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        name = ".".join(parts[:cut])
        if parts[0] not in sys.modules and not _spec(parts[0]):
            return None
        try:
            owner: Any = importlib.import_module(name)
        except Exception:  # not a module, or one that cannot be imported: no such name
            continue
        for part in parts[cut:]:
            owner = getattr(owner, part, None)
        return owner
    return None


@functools.cache
def own_names(root: Path, packages: tuple[str, ...]) -> Code:
    """What the project's own packages define, read from their sources without importing them."""
    found = Code()
    for name in packages:
        for file in source_files(root, name):
            source = file.read_text(encoding="utf-8")
            known = definitions(source)
            tree = ast.parse(source)
            found.names |= {file.stem, *known, *(one.rpartition(".")[2] for one in known)}
            found.keywords |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return found


@functools.lru_cache(maxsize=4096)
def _signature(value: Any) -> frozenset[str]:
    try:
        return frozenset(inspect.signature(value).parameters)
    except (ValueError, TypeError):
        text = (inspect.getdoc(value) or "").partition("\n\n")[0]
        match = re.match(r"\s*[\w.]+\((.*?)\)", text, re.DOTALL)
        return frozenset(re.findall(r"[A-Za-z_]\w*", match[1])) if match else frozenset()


def _parameters(value: Any) -> frozenset[str]:
    try:
        return _signature(value)
    except TypeError:  # not hashable
        return frozenset()


@functools.cache
def _known_parameters() -> frozenset[str]:
    """Parameters of everything public in the homes."""
    found: set[str] = set()
    for home in HOMES:
        owner = _import_path(home)
        for name in dir(owner) if owner is not None else ():
            value = None if name.startswith("_") else inspect.getattr_static(owner, name, None)
            if callable(value):
                found |= _parameters(value)
                if inspect.isclass(value) and "forward" in vars(value):
                    found |= _parameters(vars(value)["forward"])
    return frozenset(found)


def _shapes_in(value: Any, depth: int) -> Iterator[shape_comments.Shape]:
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and not inspect.isclass(value):
        yield tuple(shape)
    elif isinstance(value, tuple | list) and depth:
        if isinstance(value, tuple) and hasattr(value, "numel"):
            yield tuple(value)
        for item in value[:64]:
            yield from _shapes_in(item, depth - 1)
    elif isinstance(value, dict) and depth:
        for item in list(value.values())[:64]:
            yield from _shapes_in(item, depth - 1)
    elif callable(getattr(value, "named_parameters", None)) and not inspect.isclass(value):
        for _, parameter in value.named_parameters():
            yield tuple(parameter.shape)
        for _, buffer in value.named_buffers():
            yield tuple(buffer.shape)
    elif hasattr(value, "__dataclass_fields__") and depth and not inspect.isclass(value):
        for name in value.__dataclass_fields__:
            yield from _shapes_in(getattr(value, name, None), depth - 1)


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "numel") and hasattr(value, "item") and not inspect.isclass(value)


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _digits(text: str) -> int | None:
    """How many decimals a float is written with; None for an integer or an exponent."""
    match = re.fullmatch(r"[-+]?\d*\.(\d*)", text.strip())
    return len(match[1]) if match else None


def _same(true: Any, said: Any, digits: int | None) -> bool:
    """True when the two are equal, or the true one rounds to the digits that are shown."""
    try:
        value = float(true)
    except (TypeError, ValueError):
        return False
    if digits is None:
        return value == float(said)
    return bool(abs(value - float(said)) <= 0.5 * 10.0 ** -float(digits) * (1 + 1e-9))


def _stands_in(said: list[tuple[float, int | None]], numbers: list[float]) -> bool:
    return any(
        all(
            _same(true, value, digits)
            for true, (value, digits) in zip(numbers[start:], said, strict=False)
        )
        for start in range(len(numbers) - len(said) + 1)
    )


def _truth(value: Any) -> bool:
    return bool(value.all()) if hasattr(value, "all") and hasattr(value, "shape") else bool(value)


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
