"""What a listing says besides its code, in the language of its page: comments and docstrings.

The source is written in one language. A table holds what its comments and docstrings say in
another: an entry for each comment, for each paragraph of a docstring and for each item in one, with
the lines of each joined by spaces. Code, and comments that are asserted, stay as they are.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from proseproof import shape_comments
from proseproof.listings import ListingError, definitions, resolve
from proseproof.messages import Finding
from proseproof.page import Page
from proseproof.settings import Settings

NARROWEST = 88  # no listing is wrapped closer than this, however short its lines are
DIRECTIVE = re.compile(r"(?:type|noqa|pragma|fmt|mypy|ruff|pylint|pyright)\b *(?::|$)")
ITEM = re.compile(r"[-*] |\d+\. |>>> ")
ARGUMENT = re.compile(r"\*{0,2}\w+: ")
OPENS, CLOSES = "（《「『“‘【", "，。；：、！？）》」』”’】…"
TOKEN = re.compile(rf" +|[{OPENS}]*(?:(?:\([ -'*-~]*\)|[!-~])+|[^ ])[{CLOSES}]*")


class Untranslated(ListingError):
    """A listing says something for which the table of the page's language has no words."""

    def __init__(self, message: str, detail: str, remedy: str) -> None:
        super().__init__(message)
        self.detail, self.remedy = detail, remedy


@dataclass
class Part:
    """A paragraph or an item: its lines, and how the first and the others are indented."""

    first: str
    rest: str
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join(self.lines)

    def goes_on(self, indent: str, text: str) -> bool:
        """True when a line that follows belongs to this part."""
        if not self.lines or ITEM.match(text) or (indent and ARGUMENT.match(text)):
            return False
        heads = self.lines[-1].endswith(":") and len(indent) > len(self.rest)
        return len(indent) >= len(self.first) and not heads


@dataclass
class Place:
    """A comment or a docstring: its lines in the listing, what stands before it, and its parts."""

    first: int
    last: int
    before: str  # code in front of a comment, or the margin
    sign: str  # `#`, or the quotes of a docstring with what stands in front of them
    parts: list[Part]

    @property
    def is_comment(self) -> bool:
        return self.sign == "#"

    def rewritten(self, words: Mapping[str, str], width: int) -> list[str]:
        """The lines with the words of another language."""
        if self.is_comment and self.before.strip():  # behind code there is but one line
            said = self.parts[0].text
            return [f"{self.before}# {words.get(said, said)}"]
        head = f"{self.before}# " if self.is_comment else self.before
        quotes = self.sign.lstrip("rRuU")
        lines: list[str] = []
        for number, part in enumerate(self.parts):
            first = self.sign if number == 0 and not self.is_comment else ""
            ends = len(quotes) if len(self.parts) == 1 and not self.is_comment else 0
            said = words.get(part.text, part.text)
            lines += _wrapped(said, head + first + part.first, head + part.rest, width - ends)
        if self.is_comment:
            return lines
        return [*lines[:-1], lines[-1] + quotes] if len(lines) == 1 else [*lines, head + quotes]


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text)


def _wrapped(text: str, first: str, rest: str, width: int) -> list[str]:
    """Lines of no more than `width` columns, as far as that can be."""
    lines, line, begun = [], first, False
    for token in TOKEN.findall(text):
        if begun and _width(line + token.rstrip()) > width:
            lines.append(line.rstrip())
            line, begun = rest, False
        if begun or not token.isspace():
            line, begun = line + token, True
    return [*lines, line.rstrip()]


def _parts(text: str) -> list[Part]:
    """The paragraphs and items of a text, and the empty lines between them."""
    parts: list[Part] = []
    for line in text.splitlines():
        said = line.strip()
        indent = line[: len(line) - len(line.lstrip())] if said else ""
        if said and parts and parts[-1].goes_on(indent, said):
            parts[-1].lines.append(said)
            parts[-1].rest = indent
        else:
            hangs = indent and ARGUMENT.match(said)
            parts.append(Part(indent, indent + " " * 4 * bool(hangs), [said] if said else []))
    return parts


def _statements(tree: ast.AST) -> Iterator[ast.Constant]:
    """The strings that are statements: docstrings."""
    for node in ast.walk(tree):
        said = node.value if isinstance(node, ast.Expr) else None
        if isinstance(said, ast.Constant) and isinstance(said.value, str):
            yield said


def _docstrings(listing: str) -> Iterator[Place]:
    lines = listing.splitlines()
    for node in _statements(ast.parse(listing)):
        before = lines[node.lineno - 1][: node.col_offset]
        match = re.match(
            r"""[rRuU]?(?:\"{3}|'{3}|"|')""", lines[node.lineno - 1][node.col_offset :]
        )
        if match is None or before.strip() or not str(node.value).strip():
            continue
        parts = _parts(inspect.cleandoc(str(node.value)))
        yield Place(node.lineno, node.end_lineno or node.lineno, before, match[0], parts)


def _comments(listing: str) -> Iterator[Place]:
    asserted = shape_comments.comments_of(listing)
    group: list[tuple[int, str, str]] = []  # line, what stands before, the comment

    def place() -> Iterator[Place]:
        if group:
            parts = _parts("\n".join(text for *_, text in group))
            yield Place(group[0][0], group[-1][0], group[0][1], "#", parts)
            group.clear()

    for token in shape_comments.comment_tokens(listing)[0]:
        line, before = token.start[0], token.line[: token.start[1]]
        text = token.string.lstrip("#").removeprefix(" ").rstrip()
        if group and (line, before) != (group[-1][0] + 1, group[-1][1]):
            yield from place()
        if line in asserted.ends or line in asserted.alone:
            yield from place()
        elif re.search(r"[^\W\d_]", text) and not DIRECTIVE.match(text):
            group.append((line, before, text))
            if before.strip():
                yield from place()
        else:
            yield from place()
    yield from place()


def _places(listing: str) -> list[Place]:
    found = [*_docstrings(listing), *_comments(listing)]
    return sorted(found, key=lambda one: one.first)


def passages(listing: str) -> list[tuple[int, str]]:
    """What the comments and docstrings of a listing say, each with its line there."""
    return [
        (place.first, part.text)
        for place in _places(listing)
        for part in place.parts
        if part.text and not _is_code(part.text)
    ]


def translated(listing: str, words: Mapping[str, str]) -> str:
    """The listing with its comments and docstrings in other words, and the same code."""
    lines = listing.splitlines()
    width = max(NARROWEST, *map(_width, lines))
    for place in reversed(_places(listing)):
        lines[place.first - 1 : place.last] = place.rewritten(words, width)
    text = "\n".join(lines)
    if _code(text) != _code(listing):
        raise ListingError("its translation would change the code: look for quotes or backslashes")
    if (wide := max(map(_width, lines))) > width:
        line = next(one.strip() for one in lines if _width(one) == wide)
        raise ListingError(f"a translated line is {wide} columns wide, not {width}: {line}")
    return text


def _code(text: str) -> tuple[str, list[str]] | None:
    """The program without what its docstrings say, and the comments that are asserted."""
    try:
        tree = ast.parse(text)
        asserted = [*shape_comments.comments_of(text).ends.values()]
    except SyntaxError:
        return None
    for node in _statements(tree):
        node.value = ""
    return ast.dump(tree), asserted


def shown(settings: Settings, path: str, spec: str) -> str:
    """The source text of `spec` as the page at `path` shows it."""
    text = resolve(settings.root, spec)
    table, words = settings.listing_words(path)
    if not table:
        return text
    missing = [(line, said) for line, said in passages(text) if not words.get(said)]
    if missing:
        file, _, name = spec.partition(":")
        source = (settings.root / file).read_text(encoding="utf-8")
        above = definitions(source)[name][0] - 1
        rows = [f'{json.dumps(said, ensure_ascii=False)} = ""' for _, said in missing]
        raise Untranslated(
            f"{file}:{above + missing[0][0]}: {table} has no words for what {name} says",
            "\n".join(dict.fromkeys(rows)),
            f"add to {table}, with a translation each",
        )
    try:
        return translated(text, words)
    except ListingError as error:
        raise Untranslated(f"{spec!r}: {error}", "", f"mend its entries in {table}") from None


def check(settings: Settings, pages: list[Page]) -> list[Finding]:
    """Entries of the tables that no listing needs, and those that have other numbers or shapes."""
    found = []
    for language, table in settings.listings.items():
        said: set[str] = set()
        for page in pages:
            place = settings.language(page.path)
            if place is not None and place[0] == language:
                said |= _said(settings, page)
        file = settings.root / table
        source = file.read_text(encoding="utf-8") if file.is_file() else ""
        for text, words in settings.listing_words(f"{settings.languages[language]}/")[1].items():
            if text not in said:
                message, remedy = "no listing says", "remove the entry"
            elif words and _figures(words) != _figures(text):
                message, remedy = "the translation has other numbers or shapes:", "let them agree"
            else:
                continue
            start = source.find(json.dumps(text, ensure_ascii=False)[1:-1])
            line = source.count("\n", 0, max(start, 0)) + 1
            found.append(Finding(table, line, f"{message} {text!r}", remedy=remedy))
    return found


def _said(settings: Settings, page: Page) -> set[str]:
    said: set[str] = set()
    for listing in page.listings:
        try:
            said |= {text for _, text in passages(resolve(settings.root, listing.spec))}
        except ListingError:  # reported where the page is proved
            continue
    return said


def _figures(text: str) -> list[str]:
    """The numbers and the shapes in a text."""
    brackets = re.findall(r"\([ -'*-~]*,[ -'*-~]*\)", text)
    shapes = [one for one in brackets if shape_comments.parse_dims(one) is not None]
    numbers = re.findall(r"(?<![A-Za-z0-9_.])\d+(?:\.\d+)?(?![A-Za-z0-9_])", text)
    return sorted([*shapes, *numbers])


def _is_code(text: str) -> bool:
    """True for a line of Python with a call in it, which is the same in every language."""
    if re.search(r"\w \(", text):  # words, and a shape: `K (2, 3) and V (2, 3)` would parse
        return False
    try:
        tree = ast.parse(text.rstrip("."))
    except (SyntaxError, ValueError):
        return False
    return any(isinstance(node, ast.Call) for node in ast.walk(tree))
