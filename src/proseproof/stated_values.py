"""What a sentence says of its subject: `A` is `B`, judged as one.

`Here` is the place at which it is judged: the variables of the block above, what that block
printed and raised, and its code.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import operator
from collections.abc import Iterator
from typing import Any

from proseproof import shape_comments
from proseproof.execution import Run
from proseproof.page import Span
from proseproof.quoted_code import Code, keywords_in, parsed
from proseproof.sentence_subjects import kind_of
from proseproof.values import digits, fingerprint, numbers_in, same, truth

HOW = (
    "say of what: `x == {0}`, `x` is `{0}`, or name it behind the code, `{0}`{{of=x}}, which "
    "readers do not see"
)
OPERATORS = {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge}


class Fails(Exception):
    """A span that does not pass: it is false, or nobody can tell whether it is true."""

    def __init__(self, rule: str, reason: str, *, false: bool = True) -> None:
        super().__init__(reason)
        self.rule, self.reason, self.false = rule, reason, false


class Here:
    """What is known at one place of a page."""

    def __init__(self, run: Run | None, page_code: Code) -> None:
        self.code = page_code
        self.values: dict[str, Any] = {}
        self.output, self.error, self.block = "", "", ""
        if run is not None:
            self.values = {**run.watch.bindings, **run.namespace}
            self.output = run.stdout + "\n" + run.last_line
            self.error = type(run.error).__name__ if run.error else ""
            self.block = run.block.code

    @property
    def sizes(self) -> dict[str, int]:
        """The whole numbers that have a name here."""
        return {name: value for name, value in self.values.items() if type(value) is int}

    def evaluate(self, text: str) -> Any:
        """The value of an expression; one that changes what the next are judged by is refused."""
        if "(" not in text:
            return eval(text, dict(self.values))
        before = {name: fingerprint(value) for name, value in self.values.items()}
        value = eval(text, dict(self.values))
        for name, was in before.items():
            if fingerprint(self.values[name]) != was:
                raise Fails("call", f"it changes {name}; do that in a block", false=False)
        return value

    def error_of(self, text: str) -> str:
        """The name of the error that an expression raises; nothing when it has a value."""
        try:
            self.evaluate(text)
        except Fails:
            return ""
        except Exception as error:
            return type(error).__name__
        return ""

    def knows(self, text: str) -> bool:
        """True when the expression has a value here."""
        try:
            self.evaluate(text)
        except Fails:
            raise
        except Exception:
            return False
        return True


def said_of(here: Here, span: Span) -> str:
    """The rule by which the span holds of its subjects; nothing when they cannot be its subjects.

    Of code that the author named himself, and of values, which say nothing alone, it has to hold.
    """
    kind = kind_of(span.text)
    if span.of:
        return _bound(here, span, kind)
    if not span.subjects or span.link == "raises":
        return ""
    known = [subject for subject in span.subjects if here.knows(subject)]
    if len(known) < len(span.subjects):
        return ""
    if len(set(span.subjects)) < len(span.subjects):
        raise Fails(kind or "value", f"it is said twice of {span.subjects[0]}", false=False)
    for subject in span.subjects:
        value = here.evaluate(subject)
        if span.plain and not (kind == "shape" and _shape(value) is not None):
            return ""
        if kind:
            _check(here, span, kind, subject, value)
        elif not _alike(here, span, subject, value):
            return ""
    return kind or "value"


def _bound(here: Here, span: Span, kind: str) -> str:
    """`0.42`{of=x}, and `dim=0`{of="f(x, _).sum() == 1"}, where `_` stands for the code itself.

    It may stand for a method: `view`{of="x._(3, 2)[0, 1] == 1"}.
    """
    try:
        nodes = list(ast.walk(ast.parse(span.of)))
        names = {one.id for one in nodes if isinstance(one, ast.Name)}
        names |= {one.attr for one in nodes if isinstance(one, ast.Attribute)}
        if "_" in names:
            whole = ast.unparse(_put_in(span.of, span.text))
            value = here.evaluate(whole)
        else:
            value = here.evaluate(span.of)
    except Fails:
        raise
    except Exception as error:
        reason = f"of={span.of}: {type(error).__name__}: {error}"
        raise Fails("value", reason, false=False) from None
    if "_" in names:
        if not truth(value):
            raise Fails("value", f"{whole} is {_short(value)}")
        return "value"
    if kind:
        _check(here, span, kind, span.of, value)
    elif not _equal(value, here.evaluate(span.text)):
        raise Fails("value", f"{span.of} is {_short(value)}")
    return kind or "value"


def _put_in(expression: str, text: str) -> ast.AST:
    """The expression with the span in place of `_`: as an argument, when it is a keyword."""
    marked = ast.parse(expression, mode="eval")
    for node in ast.walk(marked):
        if not isinstance(node, ast.Call):
            continue
        for place, argument in enumerate(node.args):
            if isinstance(argument, ast.Name) and argument.id == "_" and _is_keyword(text):
                call = ast.parse(f"f({text})", mode="eval").body
                assert isinstance(call, ast.Call)
                del node.args[place]
                node.keywords += call.keywords
                return marked

    class Put(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return ast.parse(text, mode="eval").body if node.id == "_" else node

        def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
            self.generic_visit(node)
            if node.attr == "_":
                node.attr = text if text.isidentifier() else ""
            return node

    return Put().visit(marked)  # type: ignore[no-any-return]


def _is_keyword(text: str) -> bool:
    name, sign, value = text.partition("=")
    return bool(sign) and name.isidentifier() and not value.startswith("=")


def _check(here: Here, span: Span, kind: str, subject: str, value: Any) -> None:
    """Fails when the span, which is a value of this kind, is not that of the subject."""
    try:
        holds, truly = _compare(here, span, kind, value)
    except shape_comments.ShapeError as error:
        raise Fails(kind, str(error), false=False) from None
    if holds == (span.link == "is not"):
        other = "" if not span.plain else "; if something else is meant, " + HOW.format(span.text)
        raise Fails(kind, f"{subject} {truly}{other}")


def _compare(here: Here, span: Span, kind: str, value: Any) -> tuple[bool, str]:
    if kind == "shape":
        shape = _shape(value)
        if shape is not None:
            return _agrees(here, span.text, shape), f"has the shape {shape}"
        kind = "display"
    if kind == "number":
        row = span.row or (span.text,)
        numbers = numbers_in(value)
        if span.link in OPERATORS:
            said_one = float(span.text.replace("−", "-"))
            holds = all(OPERATORS[span.link](number, said_one) for number in numbers)
            return holds and bool(numbers), f"is {_short(value)}"
        said = [(float(text.replace("−", "-")), digits(text)) for text in row]
        if len(row) == 1:
            said *= max(len(numbers), 1)
        holds = len(said) == len(numbers) and all(
            same(true, number, shown) for true, (number, shown) in zip(numbers, said, strict=True)
        )
        return holds, f"is {_short(value)}"
    literal = ast.literal_eval(span.text)
    if literal is None:
        return value is None, f"is {_short(value)}"
    if isinstance(literal, bool):
        one = value.any() if not literal and hasattr(value, "any") else value
        holds = hasattr(value, "shape") or isinstance(value, bool)
        return holds and truth(one) is literal, f"is {_short(value)}"
    return _equal(value, literal), f"is {_short(value)}"


def _agrees(here: Here, text: str, shape: shape_comments.Shape) -> bool:
    dims = shape_comments.parse_dims(text)
    assert dims is not None
    sizes = here.sizes
    for item in dims.elts:
        gap = isinstance(item, ast.Constant) and item.value is ...
        if not gap and shape_comments.evaluate(item, sizes) is None:
            raise shape_comments.ShapeError(f"nothing here says how large {ast.unparse(item)} is")
    try:
        shape_comments.agree(dims, shape, sizes)
    except shape_comments.ShapeError:
        return False
    return True


def _shape(value: Any) -> shape_comments.Shape | None:
    """The shape of a tensor, or the value itself when it is one."""
    if isinstance(value, tuple) and all(type(size) is int for size in value):
        return tuple(value)
    shape = getattr(value, "shape", None)
    return tuple(shape) if isinstance(shape, tuple) and not inspect.isclass(value) else None


def _alike(here: Here, span: Span, subject: str, value: Any) -> bool:
    """True when two expressions were compared, and agree; false when they are not of that sort."""
    if _is_test(span.text) or not here.knows(span.text):
        return False
    other = here.evaluate(span.text)
    if type(other).__name__ == "dtype" and hasattr(value, "dtype"):
        value, subject = value.dtype, f"the dtype of {subject}"
    elif span.link == "a":
        if not inspect.isclass(other):
            return False
        owner = issubclass if inspect.isclass(value) else isinstance
        if not owner(value, other):
            raise Fails("value", f"{subject} is a {type(value).__name__}")
        return True
    if not (_is_plain(value) and _is_plain(other)):
        return False
    if span.link in OPERATORS:
        pair = [*numbers_in(value), *numbers_in(other)]
        if len(pair) != 2:
            return False
        if not OPERATORS[span.link](*pair):
            raise Fails("value", f"{subject} is {pair[0]:g}; {span.text} is {pair[1]:g}")
        return True
    if _equal(value, other) == (span.link == "is not"):
        raise Fails("value", f"{subject} is {_short(value)}; {span.text} is {_short(other)}")
    return True


def _is_test(text: str) -> bool:
    """True for `a == b` and the like, which a sentence says for itself."""
    body = parsed(text).body
    return bool(body) and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Compare)


def _is_plain(value: Any) -> bool:
    """True for data, which can be compared; not for functions, classes, modules."""
    return not (callable(value) or inspect.ismodule(value)) or hasattr(value, "tolist")


def _equal(one: Any, two: Any) -> bool:
    """True when two values are the same, floats to the digits that the second is written with."""
    if hasattr(one, "tolist") and not hasattr(two, "tolist"):
        one = one.tolist()
    if isinstance(one, list | tuple) and isinstance(two, list | tuple):
        return len(one) == len(two) and all(map(_equal, one, two))
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(_equal(one[key], two[key]) for key in one)
    if type(two) is float and type(one) in (int, float):
        return same(one, two, digits(repr(two)))
    try:
        if hasattr(one, "shape") and hasattr(two, "shape") and one.shape != two.shape:
            return False
        return truth(one == two) if not hasattr(one, "shape") or 0 not in one.shape else True
    except Exception:
        return False


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) < 60 else text[:57] + "..."


def keyword(here: Here, span: Span, name: str, value: str) -> str:
    """`dim=-1`: it stands in the block, is the variable's value, or a default of what is named."""
    try:
        wanted = ast.unparse(ast.parse(value, mode="eval"))
    except SyntaxError:
        raise Fails("keyword", f"{value!r} is not Python") from None
    defaults = list(_defaults(here, span, name)) if span.default else []
    others = {one.replace(" ", "") for one in span.near if one.startswith(f"{name}=")}
    if defaults and not others:
        if any(_equal(one, _value_of(here, value)) for one in defaults):
            return "keyword"
        raise Fails("keyword", f"by default it is {_short(defaults[0])}")
    written = [one for one in keywords_in(here.block) if one[1] == name]
    elsewhere = [one for one in here.code.keyword_values if one[1] == name]
    for known in (written, elsewhere):
        chosen = [one for one in known if one[0] in {n.rpartition(".")[2] for n in span.near}]
        found = {one[2] for one in chosen or known}
        if found == {wanted}:
            return "keyword"
        if name in here.values and known is written:
            break
        if wanted in found:
            both = " and ".join(f"{name}={one}" for one in sorted(found))
            how = f'{span.text}{{of="f(x, _).shape == (2, 3)"}} or name the call beside it'
            reason = f"the code has {both}: this could mean any; say what comes of it, as in {how}"
            raise Fails("keyword", reason, false=False)
    if name in here.values:
        if _equal(here.values[name], _value_of(here, value)):
            return "keyword"
        raise Fails("keyword", f"{name} is {_short(here.values[name])}")
    if any(_equal(one, _value_of(here, value)) for one in defaults):
        return "keyword"
    given = sorted({f"{name}={one[2]}" for one in [*written, *elsewhere]})
    true = f"; the code has {', '.join(given)}" if given else ""
    raise Fails("keyword", f"no code on this page says so{true}", false=bool(given))


def _value_of(here: Here, text: str) -> Any:
    try:
        return here.evaluate(text)
    except Exception as error:
        raise Fails("keyword", f"{type(error).__name__}: {error}", false=False) from None


def _defaults(here: Here, span: Span, name: str) -> Iterator[Any]:
    """The defaults that the callables named in the sentence have for a parameter."""
    for one in span.near:
        if not here.knows(one.partition("(")[0]):
            continue
        owner = here.evaluate(one.partition("(")[0])
        for function in (owner, getattr(owner, "forward", None)):
            try:
                parameter = inspect.signature(function).parameters.get(name)  # type: ignore[arg-type]
            except (TypeError, ValueError):
                continue
            if parameter is not None and parameter.default is not parameter.empty:
                yield parameter.default


def is_error(name: str) -> bool:
    """True for the name of an error that Python has."""
    error = getattr(builtins, name, None)
    return inspect.isclass(error) and issubclass(error, Exception)


def raised(here: Here, span: Span) -> str:
    """It raises a `ValueError`: the block above does, or shows that something does.

    `f(x)` raises a `ValueError`: it does.
    """
    for subject in span.subjects:
        error = here.error_of(subject)
        if error and error != "NameError":
            if error == span.text:
                return "raises"
            raise Fails("raises", f"{subject} raises {error}")
    code = {one.id for one in ast.walk(parsed(here.block)) if isinstance(one, ast.Name)}
    if span.text == here.error or (not here.error and span.text in code):
        return "raises"
    if span.text in here.output:
        return "raises"
    if here.code.raises(span.text) and not here.error:
        return "raises"
    true = f"the block raises {here.error}" if here.error else "nothing here raises it"
    raise Fails("raises", true, false=bool(here.error))
