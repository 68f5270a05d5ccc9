"""Two languages, one page: what has to be the same on both sides."""

from __future__ import annotations

import ast
import difflib
import functools
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from proseproof import shape_comments
from proseproof.messages import Finding
from proseproof.page import WORDS, Block, Listing, Page, Plain
from proseproof.settings import Settings


@dataclass(frozen=True)
class Item:
    """Something on one side: its line, how it is shown, and what has to be equal."""

    line: int
    shown: str
    key: Any


def compare(settings: Settings, page: Page, other: Page) -> list[Finding]:
    """Where the two pages of a pair differ."""
    found: list[Finding] = []
    languages = tuple(settings.languages)
    for what, items in (
        ("headings", _headings),
        ("blocks", _blocks),
        ("shape comments", _shape_comments),
        ("outputs", _outputs),
        ("listings", _listings),
        ("fences that are not code", _plains),
        ("shape tables", _tables),
        ("front matter", _front),
    ):
        found += _differ(what, page, other, items(page), items(other))
    found += _differ(
        "drawings", page, other, _drawings(page, languages), _drawings(other, languages)
    )
    found += _differ(
        "figures", page, other, _links(page, True, languages), _links(other, True, languages)
    )
    for what, bag in (("claims", _claims), ("formulas", _formulas), ("links", _targets)):
        left, right = bag(page, languages), bag(other, languages)
        found += _bags(what, page, other, left, right)
    return found


def _section(page: Page, line: int) -> str:
    anchors = [heading.anchor for heading in page.headings if heading.line <= line]
    return anchors[-1] if anchors else ""


def sections_of_blocks(page: Page) -> list[str]:
    """The section in which each block stands."""
    return [_section(page, block.line) for block in page.blocks]


def _headings(page: Page) -> list[Item]:
    return [
        Item(one.line, f"{'#' * one.level} {{#{one.anchor}}}", (one.level, one.anchor))
        for one in page.headings
    ]


@functools.lru_cache(maxsize=1024)
def tree_of(code: str) -> str:
    """The syntax tree, in which comments leave no trace; the code itself when it has none."""
    try:
        return ast.dump(ast.parse(code))
    except SyntaxError:
        return code


def _blocks(page: Page) -> list[Item]:
    items = []
    for block in page.blocks:
        tree = tree_of(block.code) if block.language == "python" else block.code
        marks = (block.language, block.silent, block.skip is None, block.raises)
        shown = f"```{block.language} {block.info}".rstrip() + "\n" + block.code
        key = (_section(page, block.line), tree, marks, _attributes(block))
        items.append(Item(block.line, shown, key))
    return items


def _shape_comments(page: Page) -> list[Item]:
    items = []
    for block in page.blocks:
        if block.language != "python":
            continue
        try:
            ends = shape_comments.comments_of(block.code)[0]
        except Exception:  # code that cannot be read is reported where it is run
            continue
        items += [Item(block.first + n - 1, text, text) for n, text in sorted(ends.items())]
    return items


def _outputs(page: Page) -> list[Item]:
    outputs = [block.output for block in page.blocks if block.output is not None]
    return [Item(one.line, one.text, one.text.split()) for one in outputs]


def _listings(page: Page) -> list[Item]:
    return [
        Item(one.line, f"{one.spec} {one.info}", (_section(page, one.line), one.spec, one.info))
        for one in page.listings
    ]


def _attributes(fence: Block | Listing | Plain) -> str:
    """What stands behind a fence's language, but for its title, which is translated."""
    return " ".join(sorted(re.findall(r'(?!title)\b[\w-]+="[^"]*"', fence.info)))


def _plains(page: Page) -> list[Item]:
    items = []
    for one in page.plains:
        shown = f"```{one.language} {one.info}".rstrip() + "\n" + one.text
        key = (_section(page, one.line), one.language, _attributes(one), _untranslated(one))
        items.append(Item(one.line, shown, key))
    return items


def _untranslated(plain: Plain) -> str | list[str]:
    """What of a fence is the same in every language; the lock holds the rest."""
    if plain.language in ("text", "markdown", "html"):
        return ""
    if plain.language in ("mermaid", "dot", "csv"):
        return re.findall(r"\d+(?:\.\d+)?", plain.text)
    text = plain.text
    if plain.language in ("math", "latex"):
        text = re.sub(r"\\(?:text|mbox)\w*\{[^{}]*\}", r"\\text{}", text)
    elif plain.language in ("console", "toml", "yaml", "makefile"):
        text = re.sub(r"(?:^|\s)#.*$", "", text, flags=re.MULTILINE)
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def _tables(page: Page) -> list[Item]:
    items = []
    for table in page.tables:
        for line, spans in table.rows:
            texts = tuple(span.text for span in spans)
            items.append(Item(line, f"{table.expression}: {texts}", (table.expression, texts)))
    return items


def _front(page: Page) -> list[Item]:
    items = []
    for name, value in sorted(page.front.items(), key=lambda one: str(one[0])):
        # Words may differ, but not be there on one side only; the lock holds what they say.
        items.append(Item(1, f"{name}: {value}", (name, None if name in WORDS else value)))
    return items


def _neutral(target: str, languages: tuple[str, ...]) -> str:
    for language in languages:
        target = re.sub(rf"(?<=[./_-]){language}(?=[./_-])", "·", target)
    return target


def _links(page: Page, figure: bool, languages: tuple[str, ...]) -> list[Item]:
    return [
        Item(one.line, one.target, _neutral(one.target, languages))
        for one in page.links
        if one.figure is figure
    ]


def _drawings(page: Page, languages: tuple[str, ...]) -> list[Item]:
    """What draws each figure of the page, and into which file."""
    return [
        Item(line, f"{expression} {path}", (tree_of(expression), _neutral(path, languages)))
        for block in page.blocks
        for line, expression, path in block.figures
    ]


def _targets(page: Page, languages: tuple[str, ...]) -> list[Item]:
    items = _links(page, False, languages)
    return [Item(one.line, one.shown, (_section(page, one.line), one.key)) for one in items]


def _claims(page: Page, languages: tuple[str, ...]) -> list[Item]:
    """Each section's claims, once each: how often a sentence repeats a name is its own affair."""
    found: dict[tuple[str, str], Item] = {}
    for span in page.spans:
        text = f"`{span.text}`" + (f"{{.{span.mark}}}" if span.mark else "")
        key = (_section(page, span.line), text)
        found.setdefault(key, Item(span.line, text, key))
    return list(found.values())


def _formulas(page: Page, languages: tuple[str, ...]) -> list[Item]:
    """The formulas of each section, each as often as it stands there."""
    items = []
    for one in page.formulas:
        text = "".join(one.text.split())
        items.append(Item(one.line, f"${one.text}$", (_section(page, one.line), text)))
    return items


def _differ(
    what: str, page: Page, other: Page, left: list[Item], right: list[Item]
) -> list[Finding]:
    if [item.key for item in left] == [item.key for item in right]:
        return []
    ours, theirs = [repr(item.key) for item in left], [repr(item.key) for item in right]
    rows = []
    line = 0
    for tag, a, b, c, d in difflib.SequenceMatcher(
        None, ours, theirs, autojunk=False
    ).get_opcodes():
        if tag == "equal":
            continue
        for n in range(max(b - a, d - c)):
            one = left[a + n] if a + n < b else None
            two = right[c + n] if c + n < d else None
            line = line or (one.line if one else left[min(a, len(left) - 1)].line if left else 1)
            rows += _side_by_side(page.path, one, other.path, two)
    message = f"{what} differ from {other.path}"
    return [Finding(page.path, line, message, "\n".join(rows), "make both sides the same")]


def _bags(what: str, page: Page, other: Page, left: list[Item], right: list[Item]) -> list[Finding]:
    """As `_differ`, but the order within a section is free, since word order is."""
    ours, theirs = Counter(item.key for item in left), Counter(item.key for item in right)
    only_here = [item for item in left if item.key in ours - theirs]
    only_there = [item for item in right if item.key in theirs - ours]
    starts = {section.anchor: section.line for section in page.sections}
    found = []
    for anchor in dict.fromkeys(item.key[0] for item in [*only_here, *only_there]):
        here = [item for item in only_here if item.key[0] == anchor]
        there = [item for item in only_there if item.key[0] == anchor]
        rows: list[str] = []
        for one, two in zip_longest(here, there):
            rows += _side_by_side(page.path, one, other.path, two)
        line = here[0].line if here else starts.get(anchor, 1)
        message = f"{what} in #{anchor} differ from {other.path}"
        remedy = "make both sides the same"
        found.append(Finding(page.path, line, message, "\n".join(rows), remedy))
    return found


def _side_by_side(path: str, one: Item | None, other: str, two: Item | None) -> list[str]:
    width = 46
    head = [
        f"{path}:{one.line}" if one else f"{path}: (nothing)",
        f"{other}:{two.line}" if two else f"{other}: (nothing)",
    ]
    left = one.shown.splitlines() if one else []
    right = two.shown.splitlines() if two else []
    rows = [f"{_fit(head[0], width)} | {head[1]}"]
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal" and len(left) > 1:
            continue
        for n in range(max(b - a, d - c)):
            ours = left[a + n] if a + n < b else ""
            theirs = right[c + n] if c + n < d else ""
            rows.append(f"{_fit(ours, width)} {'|' if tag == 'equal' else '≠'} {theirs}")
    return rows


def _fit(text: str, width: int) -> str:
    taken = sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text)
    return text + " " * max(0, width - taken)
