"""Counters that the ledger's expressions may call: what stands near a number on its page.

- `items()`: the items of the list that follows;
- `rows()`, `columns()`: of the table that follows, or in which the number stands;
- `listed()`: the things that the sentence lists behind the number;
- `parts()`: the parts of the code in the sentence: of a shape, a list, or the arguments of a call;
- `spans()`: the pieces of code in the sentence, or in the row of a table;
- `lines()`: the lines of the fence that follows in the section, or else of the block;
  `lines("forward")`: those of that function's body in the block; `lines("h = ")`: that begin so;
- `printed(k)`: the k-th number that the block prints, the first being 1, the last −1;
- `coded("_ * Q")`: the number that stands in the block's code where the pattern has `_`;
- `sections("q\\d")`: the sections of the page whose anchors begin so, below its title;
- `blocks("fill")`: the blocks of code in that section, or without one on the page.

The last two take another page as a further argument: `sections("q", "docs/en/questions.md")`.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from proseproof import language_pairs, number_words
from proseproof.bindings import Unbound
from proseproof.listing_words import shown
from proseproof.listings import ListingError
from proseproof.numbers import CODE, Claim, PageNumbers, Unit, sentence_at
from proseproof.sentence_subjects import SPAN

if TYPE_CHECKING:
    from proseproof.execution import Run
    from proseproof.project import Project

STOP = re.compile(r"[.!?](?=\s|$)|[。！？]|\|")
SEPARATOR = re.compile(
    r"\s*(?:[;；、]|[,，](?:\s*(?:and|or)\b)?|\s(?:and|or)\s|(?<=[\w\x01\x02*）)”\"])\s?(?:和|与|或|以及|及)\s?)"
)
NAMES = (
    "items",
    "rows",
    "columns",
    "listed",
    "parts",
    "spans",
    "lines",
    "printed",
    "coded",
    "sections",
    "blocks",
)


class Counters:
    """The counters at the place of one number."""

    def __init__(
        self, project: Project, path: str, numbers: PageNumbers, claim: Claim, run: Run | None
    ) -> None:
        self.project, self.path, self.numbers = project, path, numbers
        self.claim, self.run = claim, run

    def functions(self) -> dict[str, Callable[..., Any]]:
        """The counters by name."""
        return {name: getattr(self, name) for name in NAMES}

    def _following(self) -> list[Unit]:
        """The units behind the claim's own, in its section; of the page for the front matter."""
        units = self.numbers.units
        place = next(n for n, unit in enumerate(units) if unit is self.claim.unit)
        section = self.claim.section if self.claim.unit.kind != "description" else None
        return [unit for unit in units[place + 1 :] if section in (None, unit.section)]

    def _first(self, kind: str) -> list[Unit]:
        """The first list or table in what follows."""
        found: list[Unit] = []
        for unit in self._following():
            if unit.kind == kind:
                if found and kind == "row" and unit.line != found[-1].line + 1 + (len(found) == 1):
                    break
                found.append(unit)
            elif found and not (kind == "item" and unit.text[:1] in " \t"):
                break
        if not found:
            raise Unbound(f"no {'list' if kind == 'item' else 'table'} follows")
        return found

    def items(self) -> int:
        """The items of the list that follows."""
        found = self._first("item")
        indent = _indent(found[0])
        return sum(_indent(unit) <= indent for unit in found)

    def _table(self) -> list[Unit]:
        if self.claim.unit.kind != "row":
            return self._first("row")
        units = [unit for unit in self.numbers.units if unit.kind == "row"]
        place = next(n for n, unit in enumerate(units) if unit is self.claim.unit)
        first = place
        while first and units[first].line - units[first - 1].line in (1, 2):
            first -= 1
        last = place
        while last + 1 < len(units) and units[last + 1].line - units[last].line in (1, 2):
            last += 1
        return units[first : last + 1]

    def rows(self) -> int:
        """The rows of the table, without its head."""
        return len(self._table()) - 1

    def columns(self) -> int:
        """The columns of the table."""
        return self._table()[0].bare.strip().strip("|").count("|") + 1

    def listed(self) -> int:
        """How many things the sentence lists."""
        found = self.list_behind()
        if not found:
            raise Unbound("the sentence lists nothing behind the number")
        return len(found)

    def list_behind(self) -> list[str]:
        """What the sentence lists behind the number, and behind a colon if there is one."""
        bare = self.claim.unit.bare
        stop = STOP.search(bare, self.claim.end)
        behind = bare[self.claim.end : stop.start() if stop else len(bare)]
        before, _, after = behind.replace("：", ":").partition(":")
        lists = [
            [part for part in SEPARATOR.split(text) if re.search(rf"[\w{CODE}]", part)]
            for text in (after, before)
        ]
        return next((parts for parts in lists if len(parts) > 1), [])

    def parts(self) -> int:
        """How many parts the code nearest in the sentence has."""
        begin, end = sentence_at(self.claim.unit.bare, self.claim.start)
        spans = SPAN.finditer(self.claim.unit.text, begin, end)
        for match in sorted(spans, key=lambda one: abs(one.start() - self.claim.start)):
            with contextlib.suppress(SyntaxError, ValueError):
                node = ast.parse(match["text"], mode="eval").body
                if isinstance(node, ast.Tuple | ast.List):
                    return len(node.elts)
                if isinstance(node, ast.Call) and node.args:
                    return len(node.args) + len(node.keywords)
        raise Unbound("the sentence has no code of several parts")

    def spans(self) -> int:
        """How many pieces of code the sentence, or the row of a table, has."""
        begin, end = sentence_at(self.claim.unit.bare, self.claim.start)
        if self.claim.unit.kind == "row":
            begin, end = 0, len(self.claim.unit.text)
        return sum(1 for _ in SPAN.finditer(self.claim.unit.text, begin, end))

    def lines(self, of: str = "") -> int:
        """The lines of the fence that follows in the section, or of the block.

        Of a function in the block, those of its body without the docstring; or the lines that
        begin so: lines("forward"), lines("h = ").
        """
        if of:
            return self._lines_of(of)
        page = self.project.page(self.path)
        heads = [one.line for one in page.headings if one.line > self.claim.line]
        fences = [(one.line, one.code) for one in page.blocks]
        fences += [(one.line, one.text) for one in page.plains]
        for one in page.listings:
            with contextlib.suppress(ListingError):
                text = shown(self.project.settings, page.path, one.spec)
                fences.append((one.line, text))
        below = [
            one
            for one in sorted(fences)
            if self.claim.line < one[0] < min(heads, default=one[0] + 1)
        ]
        if not below and self.run is None:
            raise Unbound("no fence follows, and there is no block")
        text = below[0][1] if below else self.run.block.code if self.run else ""
        return sum(bool(line.strip()) for line in text.splitlines())

    def _lines_of(self, text: str) -> int:
        code = self.run.block.code if self.run is not None else ""
        lines = code.splitlines()
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.FunctionDef) and node.name == text:
                body = node.body[1:] if ast.get_docstring(node) is not None else node.body
                inner = lines[body[0].lineno - 1 : body[-1].end_lineno] if body else []
                return sum(bool(line.strip()) for line in inner)
        found = sum(line.strip().startswith(text) for line in lines)
        if not found:
            raise Unbound(f"the block has no function {text}, and no line that begins so")
        return found

    def printed(self, place: int) -> float:
        """A number that the block prints."""
        found = printed_numbers(self.run)
        try:
            return found[place - 1 if place > 0 else place]
        except IndexError:
            raise Unbound(f"the block prints {len(found)} numbers") from None

    def coded(self, pattern: str) -> list[float]:
        """A number in the code of the block, or a row of them."""
        code = self.run.block.code if self.run is not None else ""
        parts = re.split(r"(?<!\w)_(?!\w)", pattern)
        one = r"-?\d[\d_]*(?:\.\d+)?(?:e-?\d+)?"
        number = rf"((?<![\w.]){one}(?:, {one})*)(?![\w.])"
        found = set(re.findall(number.join(re.escape(part) for part in parts), code))
        if len(parts) != 2 or len(found) != 1:
            raise Unbound(f"{pattern} stands for {len(found)} numbers in the code of the block")
        return [float(each.replace("_", "")) for each in found.pop().split(", ")]

    def sections(self, anchors: str = "", page: str = "") -> int:
        """The sections below the title, those whose anchors begin with a pattern."""
        headings = self.project.page(page or self.path).headings
        return sum(one.level == 2 and bool(re.match(anchors, one.anchor)) for one in headings)

    def blocks(self, section: str = "", page: str = "") -> int:
        """The blocks of code of a section, or of a page."""
        sections = language_pairs.sections_of_blocks(self.project.page(page or self.path))
        return sum(section in ("", one) for one in sections)


def printed_text(run: Run | None) -> str:
    """What a block prints or, in a lab, shows as text."""
    text = run.stdout if run is not None else ""
    for output in run.outputs if run is not None else []:
        shown = output.get("data", {}).get("text/plain", "")
        text += "\n" + (shown if isinstance(shown, str) else "".join(shown))
    return text


def printed_numbers(run: Run | None) -> list[float]:
    """The numbers in what a block prints or shows."""
    return [one.value for one in number_words.find(printed_text(run)) if not one.word]


def _indent(unit: Unit) -> int:
    return len(unit.text) - len(unit.text.lstrip())
