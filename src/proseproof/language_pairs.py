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
    for what, paired in (("blocks", _blocks), ("outputs", _outputs)):
        found += _differ(what, page, other, paired(page, other), paired(other, page))
    for what, items in (
        ("headings", _headings),
        ("shape comments", _shape_comments),
        ("listings", _listings),
        ("fences that are not code", _plains),
        ("shape tables", _tables),
        ("front matter", _front),
    ):
        found += _differ(what, page, other, items(page), items(other))
    found += _differ(
        "drawings",
        page,
        other,
        _drawings(page, other, languages),
        _drawings(other, page, languages),
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


HAN = re.compile(r"[\u4e00-\u9fff]")
FIGURE = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?|\b(?:True|False|None|nan|inf)\b")


class _Wordless(ast.NodeTransformer):
    """Takes the words out of a program, and leaves what they are put together with."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def _hidden(self, text: str, parts: list[str]) -> ast.Constant:
        self.words.append(text)
        return ast.Constant(f"{sorted(FIGURE.findall(text))} {sorted(parts)}")

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.Constant:
        """What is put in may come in another order, as words do."""
        text = "".join(str(one.value) for one in node.values if isinstance(one, ast.Constant))
        return self._hidden(
            text, [ast.dump(one) for one in node.values if not isinstance(one, ast.Constant)]
        )

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if not isinstance(node.value, str):
            return node
        return self._hidden(node.value, re.findall(r"\{[^{}]*\}|%[-+.\d]*[a-z]", node.value))


@functools.lru_cache(maxsize=1024)
def _wordless(code: str) -> tuple[str, tuple[str, ...]]:
    """The syntax tree without its strings' words, and these."""
    taker = _Wordless()
    try:
        return ast.dump(taker.visit(ast.parse(code))), tuple(taker.words)
    except SyntaxError:
        return code, ()


def same_program(code: str, other: str) -> bool:
    """Whether two programs differ in nothing but strings in Chinese on one side alone."""
    (left, words), (right, others) = _wordless(code), _wordless(other)
    return left == right and all(
        one == two or bool(HAN.search(one)) is not bool(HAN.search(two))
        for one, two in zip(words, others, strict=True)
    )


def _shared(code: str, others: list[str]) -> str:
    """A syntax tree that this program and its translation have in common."""
    tree = tree_of(code)
    if tree in map(tree_of, others):
        return tree
    return min([tree, *(tree_of(one) for one in others if same_program(code, one))])


def _trees(page: Page, twin: Page) -> list[str]:
    """What has to be equal of each block."""
    others = [one.code for one in twin.blocks if one.language == "python"]
    return [
        _shared(one.code, others) if one.language == "python" else one.code for one in page.blocks
    ]


def _blocks(page: Page, twin: Page) -> list[Item]:
    items = []
    for block, tree in zip(page.blocks, _trees(page, twin), strict=True):
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


def _outputs(page: Page, twin: Page) -> list[Item]:
    """What is printed; of a translated block, the numbers in it."""
    items = []
    codes = {tree_of(block.code) for block in twin.blocks}
    for block in page.blocks:
        if (shown := block.output) is not None:
            same = tree_of(block.code) in codes
            key = shown.text.split() if same else sorted(FIGURE.findall(shown.text))
            items.append(Item(shown.line, shown.text, key))
    return items


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


def _drawings(page: Page, twin: Page, languages: tuple[str, ...]) -> list[Item]:
    """What draws each figure of the page, and into which file."""
    others = [expression for block in twin.blocks for _, expression, _ in block.figures]
    return [
        Item(line, f"{code} {path}", (_shared(code, others), _neutral(path, languages)))
        for block in page.blocks
        for line, code, path in block.figures
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
