"""Changes of the drill that put another true value of the page in place of the right one.

So do real mistakes: the shape, the number or the name is one that the page has, in another place.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from proseproof import shape_comments
from proseproof.drill_changes import Author, Change
from proseproof.drill_edits import other_digit
from proseproof.page import Page, Span
from proseproof.quoted_code import keywords_in
from proseproof.sentence_subjects import NUMBER, kind_of
from proseproof.values import digits, is_number, same

KEYWORD = re.compile(r"([A-Za-z_]\w*)=([^=\s].*)")
ERROR = re.compile(r"[A-Z]\w*(?:Error|Exception)")
CONSTANTS = ("True", "False", "None")
ERRORS = ("IndexError", "KeyError", "RuntimeError", "TypeError", "ValueError")


@dataclass
class Said:
    """What a page says and shows, by kind."""

    shapes: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    keywords: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    names: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def on(cls, page: Page) -> Said:
        """The values of one page."""
        said = cls()
        for block in page.blocks:
            for _, name, value in keywords_in(block.code):
                said.keywords[name].append(value)
            said.errors += ERROR.findall(block.code)
            shown = block.output.text if block.output else ""
            said.numbers += [one for one in NUMBER.findall(shown) if not one.endswith(".")]
            said.names["shape"] += re.findall(r"^(\w+) = .*  # \(", block.code, re.MULTILINE)
        for span in page.spans:
            said._add(span)
        return said

    def _add(self, span: Span) -> None:
        kind, keyword, compared = kind_of(span.text), KEYWORD.fullmatch(span.text), _right(span)
        if span.mark:
            return
        if kind == "shape":
            self.shapes.append(span.text)
        elif kind == "number":
            self.numbers.append(span.text)
        elif keyword is not None:
            self.keywords[keyword[1]].append(keyword[2])
        elif ERROR.fullmatch(span.text):
            self.errors.append(span.text)
        elif compared:
            (self.numbers if NUMBER.fullmatch(compared) else self.shapes).append(compared)
        for subject in () if span.plain else span.subjects:
            if subject.isidentifier():
                self.names[kind].append(subject)


def kinds(author: Author) -> dict[str, Callable[[], Iterator[Change]]]:
    """Every kind of change that is made here, and where its candidates come from."""
    return {kind: partial(_changes, author, kind, another) for kind, another in KINDS.items()}


def _changes(
    author: Author, kind: str, another: Callable[[Author, Said, Span], str | None]
) -> Iterator[Change]:
    for page in author.leading:
        said = Said.on(page)
        for span in page.spans:
            new = None if span.mark else another(author, said, span)
            made = author.span(kind, page, span, new)
            if made is not None:
                yield made


def _one(author: Author, values: list[str]) -> str | None:
    """One of the values; each counts once, however often the page has it."""
    return author.chance.choice(sorted(set(values))) if values else None


def _shape(author: Author, said: Said, span: Span) -> str | None:
    if kind_of(span.text) != "shape":
        return None
    return _one(author, [one for one in said.shapes if not _alike(one, span.text)])


def _number(author: Author, said: Said, span: Span) -> str | None:
    if kind_of(span.text) != "number":
        return None
    return _one(author, [one for one in said.numbers if not _alike(one, span.text)])


def _keyword(author: Author, said: Said, span: Span) -> str | None:
    match = KEYWORD.fullmatch(span.text)
    if match is None:
        return None
    name, value = match.groups()
    known = [one for one in said.keywords[name] if _is_literal(one) == _is_literal(value)]
    new = _one(author, [one for one in known if not _alike(one, value)])
    if new is None and value in CONSTANTS:
        new = "False" if value == "True" else "True"
    if new is None:
        new = other_digit(value, author.chance)
    if new is None and value.isidentifier():
        names = [one for values in said.keywords.values() for one in values if one.isidentifier()]
        new = _one(author, [one for one in names if one not in (value, name, *CONSTANTS)])
    return f"{name}={new}" if new else None


def _constant(author: Author, said: Said, span: Span) -> str | None:
    if span.text not in CONSTANTS:
        return None
    return author.chance.choice([one for one in CONSTANTS if one != span.text])


def _error(author: Author, said: Said, span: Span) -> str | None:
    if not ERROR.fullmatch(span.text):
        return None
    others = [one for one in said.errors if not _related(one, span.text)]
    return _one(author, others or [one for one in ERRORS if not _related(one, span.text)])


def _related(one: str, two: str) -> bool:
    """True when an error of one name is an error of the other too."""
    first, second = getattr(builtins, one, None), getattr(builtins, two, None)
    if not (isinstance(first, type) and isinstance(second, type)):
        return one == two
    return issubclass(first, second) or issubclass(second, first)


def _subject(author: Author, said: Said, span: Span) -> str | None:
    """A name of which the same sort of thing is said elsewhere on the page."""
    if not (span.is_subject and span.text.isidentifier()):
        return None
    sorts = [names for names in said.names.values() if span.text in names]
    return _one(author, [one for names in sorts for one in names if one != span.text])


def _right(span: Span) -> str:
    """The number or the shape on the right side of a comparison."""
    node = _parsed(span.text)
    if not isinstance(node, ast.Compare):
        return ""
    right = node.comparators[-1]
    text = ast.get_source_segment(span.text, right) or ""
    shape = isinstance(right, ast.Tuple) and shape_comments.parse_dims(text) is not None
    return text if shape or is_number(right) else ""


def _right_side(author: Author, said: Said, span: Span) -> str | None:
    right = _right(span)
    if not right or not span.text.endswith(right):
        return None
    known = said.numbers if NUMBER.fullmatch(right) else said.shapes
    left = span.text.removesuffix(right)
    new = _one(
        author, [one for one in known if not (_alike(one, right) or _looser(left, right, one))]
    )
    return left + new if new else None


def _looser(left: str, old: str, new: str) -> bool:
    """True for an inequality that says less than it did, and so cannot become false."""
    sign = re.search(r"([<>])=?\s*$", left)
    if sign is None or not NUMBER.fullmatch(old):
        return False
    return float(new) > float(old) if sign[1] == "<" else float(new) < float(old)


def _order(author: Author, said: Said, span: Span) -> str | None:
    """Two elements of a shape or of a list change places."""
    node = _parsed(span.text)
    if isinstance(node, ast.Compare):
        node = node.comparators[-1]
    if not isinstance(node, ast.Tuple | ast.List):
        return None
    parts = [(one, ast.get_source_segment(span.text, one) or "") for one in node.elts]
    pairs = [(a, b) for a in parts for b in parts if a[0].col_offset < b[0].col_offset]
    pairs = [(a, b) for a, b in pairs if a[1] != b[1] and span.text.isascii()]
    if not pairs:
        return None
    (one, first), (two, second) = author.chance.choice(pairs)
    text = span.text
    between = text[one.end_col_offset : two.col_offset]
    return text[: one.col_offset] + second + between + first + text[two.end_col_offset :]


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return False
    return True


def _alike(one: str, two: str) -> bool:
    """True when two values are written alike, or are one number to the digits that are shown."""
    if NUMBER.fullmatch(one) and NUMBER.fullmatch(two):
        first, second = (float(text.replace("−", "-")) for text in (one, two))
        return same(first, second, digits(two)) or same(second, first, digits(one))
    return "".join(one.split()) == "".join(two.split())


KINDS: dict[str, Callable[[Author, Said, Span], str | None]] = {
    "another shape": _shape,
    "another number": _number,
    "another value of a keyword": _keyword,
    "another of True, False, None": _constant,
    "another error": _error,
    "another subject": _subject,
    "another right side": _right_side,
    "another order": _order,
}
