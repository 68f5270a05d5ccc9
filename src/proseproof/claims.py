"""Judging code spans: what a sentence says about the code has to hold.

What a sentence says of a subject (see `sentence_subjects`) is judged whole, with its subject: a
value, a shape, a keyword. Any other span is taken for the first of these that it can be, and judged
in the namespace of the last block above it, or, above the first block of its section, of that one:

- `path`: has a `/` or a known suffix, and no space: it is in the repository;
- `import`: an import statement: it can be carried out;
- `comparison`: it holds; a float counts to the digits shown;
- `assignment`: `d_k = d_model // num_heads`: both sides are equal;
- `keyword`: `dim=-1`: the block gives it this value and no other, or it is a default;
- `raises`: an error that is named is the block's, or stands in its code or its output;
- `name`: it exists (see `Names.exists` for where it is looked up);
- `call`: evaluated when its first name is in the namespace; otherwise a fragment, which has to
  stand in the page's code, or, written with `...`, name something that exists;
- `test`: an expression or a call that answers yes or no: the answer is yes;
- `expression`: it evaluates, or stands in the page's code;
- `string`: it stands in the block's code or its output;
- `command`: `make test`, `pytest docs`: the target, script or module exists, the files too;
- `quotation`: what is none of these has to stand in the page's code.

A shape, a number, a list, `True`, `False` or `None` that is said of nothing is refused: it could
mean anything. A span marked `{.wrong}` is judged the other way round: it has to be false for its
own sake, and not because a name in it is missing. One marked `{.text}` is only mentioned: every
name in it has to exist (see `mentions`).
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

from proseproof import stated_values
from proseproof.commands import SUFFIX, command
from proseproof.execution import Run
from proseproof.listings import ListingError, resolve
from proseproof.mentions import Mentions
from proseproof.names import Names
from proseproof.page import Page, Span
from proseproof.quoted_code import Code, tail
from proseproof.sentence_subjects import kind_of
from proseproof.settings import Settings
from proseproof.stated_values import HOW, Fails, Here
from proseproof.values import answer, digits, is_number, same, truth

NOISE = 1e-12  # 0.1 + 0.2 != 0.3 is no matter of digits
TESTS = ("comparison", "test")
PATH = re.compile(r"[\w.*-]*(/[\w.*-]*)*(:[\w.]+)?")


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
        if not self.holds:
            return "fails"
        return "proved wrong" if self.span.mark == "wrong" else "holds"


class Judge:
    """Judges the spans that belong to one block of a page."""

    def __init__(self, settings: Settings, page: Page, run: Run | None, code: Code) -> None:
        self.settings, self.page, self.code = settings, page, code
        self.here = Here(run, code)
        self.values = self.here.values
        self.names = Names(settings, self.values, code)
        self.mentions = Mentions(settings, page, self.names)

    def judge(self, span: Span) -> Verdict:
        """The verdict on one span."""
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                mentioned = span.mark == "text"
                rule = self.mentions.judge(span.text) if mentioned else self._holds(span)
            except Fails as failure:
                denied = span.link == "false" and failure.rule in TESTS
                wrong = (span.mark == "wrong" or denied) and failure.false
                return Verdict(span, failure.rule, wrong, "" if wrong else failure.reason)
        if span.mark == "wrong":
            return Verdict(span, rule, False, f"is marked as wrong, but it holds ({rule})")
        if span.link == "false" and rule in TESTS:
            return Verdict(span, rule, False, "is said to be false, but it holds")
        return Verdict(span, rule, True)

    # The rules, in order.

    def _holds(self, span: Span) -> str:
        """The rule by which a span holds; Fails when it does not."""
        text, wrong = re.sub(r"^#!python ", "", span.text), span.mark == "wrong"
        rule = stated_values.said_of(self.here, span)
        if rule:
            return rule
        if (span.raised and self.names.exists(text)) or stated_values.is_error(text):
            return stated_values.raised(self.here, span)
        if self._is_path(text):
            return self._path(text)
        if re.match(r"(import|from)\s", text):
            return self._import(text)
        if kind_of(text):
            return self._value(text)
        try:
            node = ast.parse(text.removeprefix("."), mode="eval").body
        except (SyntaxError, ValueError):
            return self._not_an_expression(span, text, wrong)
        if isinstance(node, ast.Compare):
            return self._comparison(node)
        if isinstance(node, ast.Name | ast.Attribute) and re.fullmatch(r"\.?[\w.]+", text):
            if self.names.exists(text.removeprefix(".")):
                return "name"
            if (self.settings.root / text).exists():
                return "path"
            raise Fails("name", "there is no such name here" + self.names.near(text))
        if isinstance(node, ast.Call):
            return self._call(node, span, text)
        return self._expression(span, text, "expression")

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
                        raise Fails("path", str(error)) from None
                return "path"
        raise Fails("path", "there is no such file in the repository")

    def _import(self, text: str) -> str:
        try:
            exec(text, {})
        except (ImportError, SyntaxError) as error:
            raise Fails("import", f"{type(error).__name__}: {error}") from None
        return "import"

    def _value(self, text: str) -> str:
        """A value that is said of nothing."""
        kind, code = kind_of(text), Code()
        code.add(self.here.block)
        if kind == "string":
            if repr(ast.literal_eval(text)) in code.literals | self.code.literals:
                return kind
            if str(ast.literal_eval(text)) in self.here.output:
                return kind
            raise Fails(kind, "it stands neither in the page's code nor in the output")
        if kind == "display" and code.has(text):
            return "quotation"
        said = {"number": "a number", "shape": "a shape", "display": "a list of values"}
        alone = f"{said.get(kind, text)} alone could be said of anything"
        raise Fails(kind, f"{alone}; {HOW.format(text)}", false=False)

    def _comparison(self, node: ast.Compare) -> str:
        try:
            shown = self._to_digits_shown(node)
            if shown is False or (shown is None and not self._all_hold(node)):
                sides = " ".join(self._side(side) for side in [node.left, *node.comparators])
                raise Fails("comparison", f"it is false: {sides}")
        except Fails:
            raise
        except Exception as error:
            raise self._broken("comparison", error) from None
        return "comparison"

    @staticmethod
    def _broken(rule: str, error: Exception) -> Fails:
        """An expression that raises is false, unless it only speaks of what is not there."""
        false = not isinstance(error, NameError)
        return Fails(rule, f"{type(error).__name__}: {error}", false=false)

    def _all_hold(self, node: ast.Compare) -> bool:
        """True when each link of a chain holds; tensors hold when all their elements do."""
        sides = [ast.unparse(side) for side in (node.left, *node.comparators)]
        for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
            pair = ast.Compare(_parsed(left), [operator], [_parsed(right)])
            if not truth(self.here.evaluate(ast.unparse(pair))):
                return False
        return True

    def _to_digits_shown(self, node: ast.Compare) -> bool | None:
        """Whether `x == 0.42` holds, or `x != 0.42`, once x is rounded as the float is written.

        None for any other comparison, and where it makes no difference.
        """
        if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
            return None
        for shown, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
            if is_number(shown) and isinstance(ast.literal_eval(shown), float):
                said, true = ast.literal_eval(shown), self.here.evaluate(ast.unparse(other))
                if getattr(true, "shape", ()) != () or abs(float(true) - said) < NOISE:
                    return None
                equal = same(float(true), said, digits(ast.unparse(shown)))
                return equal is isinstance(node.ops[0], ast.Eq)
        return None

    def _side(self, node: ast.expr) -> str:
        text = ast.unparse(node)
        if isinstance(node, ast.Constant):
            return text
        value = str(self.here.evaluate(text))
        return f"{text} is {value if len(value) < 60 else value[:57] + '...'};"

    def _call(self, node: ast.Call, span: Span, text: str) -> str:
        links = list(_chain(node))
        if not text.startswith(".") and not any(map(_is_open, links)):
            try:
                self.here.evaluate(text)
            except Fails:
                raise
            except Exception:
                known = _root(node) in self.values
            else:
                known = True
            if known:
                return self._expression(span, text, "call")
        for link in links:
            self._fragment(link)
        return "call"

    def _fragment(self, node: ast.Call) -> None:
        """A call whose object is not here: `transpose(1, 2)`, `view(...)`."""
        name = ast.unparse(node.func)
        if not re.fullmatch(r"[\w.]+", name):
            name = name.rpartition(".")[2]
        if not self.names.exists(name):
            raise Fails("call", f"there is no {name} here" + self.names.near(name))
        for word in node.keywords:
            if word.arg and not self.names.is_parameter(word.arg):
                raise Fails("call", f"nothing here takes a parameter {word.arg!r}")
        given = [ast.unparse(part) for part in takewhile(_is_given, node.args)]
        if _is_open(node) and given:
            # `f(a, ...)` quotes a call of the page as far as it goes.
            start = f"{name.rpartition('.')[2]}({', '.join(given)}"
            if not self.code.quotes(start):
                raise Fails("call", f"no call on this page begins with {start}")
        if _is_open(node) or not (node.args or node.keywords):
            return
        if not {tail(node), ast.unparse(node)} & self.code.calls:
            raise Fails(
                "call",
                f"{tail(node)} is neither in the page's code nor can it be made here; "
                "write it with its object, as in x.f(…), or with f(...)",
                false=False,
            )

    def _expression(self, span: Span, text: str, rule: str) -> str:
        try:
            value = self.here.evaluate(text)
        except Fails:
            raise
        except Exception as error:
            if not span.mark and self.code.has(text):
                return "quotation"
            if not span.mark and span.is_subject and type(error).__name__ in span.near:
                return "raises"
            raise self._broken(rule, error) from None
        if span.is_subject:
            return rule
        # A sentence that gives a test, such as `torch.equal(a, b)`, says that it holds.
        if answer(value) is False:
            raise Fails("test", f"it is False; if that is what is meant, write: {text} is False")
        return rule if answer(value) is None else "test"

    def _not_an_expression(self, span: Span, text: str, wrong: bool) -> str:
        match = re.fullmatch(r"([A-Za-z_]\w*)(\s*)=(\s*)(.+)", text)
        if match is not None:
            name, left, right, value = match.groups()
            if not left and not right:
                if not self.names.is_parameter(name) and name not in self.values:
                    raise Fails("keyword", f"nothing here takes a parameter {name!r}")
                return stated_values.keyword(self.here, span, name, value)
            return self._assignment(text, name, value)
        if keyword.iskeyword(text):
            return "name"
        if command(self.settings.root, text):
            return "command"
        if not wrong and (self.code.has(text) or self.code.quotes(text.rstrip(":"))):
            return "quotation"
        reason = "this is not Python and not quoted from the page's code"
        raise Fails("quotation", reason, false=not _is_statement(text))

    def _assignment(self, text: str, name: str, value: str) -> str:
        if name not in self.values:
            if self.code.has(text):
                return "assignment"
            reason = f"{name} is not defined here, and the page's code has no such line"
            raise Fails("assignment", reason, false=False)
        try:
            equal = truth(self.here.evaluate(f"({name}) == ({value})"))
        except Fails:
            raise
        except Exception as error:
            raise self._broken("assignment", error) from None
        if not equal:
            raise Fails("assignment", f"{name} is {self.values[name]!r}")
        return "assignment"


def _is_statement(text: str) -> bool:
    """True for a statement of Python, or the first line of one."""
    for whole in (text, text.rstrip(":") + ": pass"):
        with contextlib.suppress(SyntaxError, ValueError):
            ast.parse(whole)
            return True
    return False


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
