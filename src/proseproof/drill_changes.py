"""A change of the drill, and what is needed to make one in both languages at once."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from proseproof import shape_comments
from proseproof.drill_edits import code_tokens, with_span, with_tokens
from proseproof.page import Page, Span
from proseproof.project import Project


@dataclass(frozen=True)
class Change:
    """One small change: the new text of each file that it touches."""

    kind: str
    path: str
    line: int
    what: str
    texts: dict[str, str]
    alone: bool = False  # in one language only, so that pairs and lock are in play
    span: Span | None = None  # the code in a sentence that is changed,
    new: str = ""  # and what stands there now

    @property
    def is_lab(self) -> bool:
        """True for a change to a lab, which takes longer to prove than a page."""
        return any(path.endswith(".py") and "/labs/" in path for path in self.texts)


class Author:
    """Writes changes to a project's pages and sources, as chance has it."""

    def __init__(self, project: Project, seed: int) -> None:
        self.project, self.settings = project, project.settings
        self.chance = random.Random(seed)
        first = next(iter(self.settings.languages.values()), "")
        # Changes to both languages start from the first one.
        self.pages = [project.page(path) for path in project.paths()]
        self.leading = [
            page
            for page in self.pages
            if not is_measured(page)
            and (self.settings.language(page.path) is None or page.path.startswith(f"{first}/"))
        ]
        self.dimensions = sorted(
            {
                name
                for page in self.pages
                for span in page.spans
                if shape_comments.parse_dims(span.text) is not None
                for name in re.findall(r"[A-Za-z_]\w*", span.text)
            }
        )

    def span(self, kind: str, page: Page, span: Span, new: str | None) -> Change | None:
        """Put other code in place of a span, in both languages."""
        if new is None or new == span.text:
            return None
        sides = [(page, span)]
        other = self.project.other(page.path)
        if other is not None:
            twin = _twin(page, span, other)
            if twin is None:
                return None
            sides.append((other, twin))
        texts = {}
        for side, one in sides:
            text = with_span(side, one, new)
            if text is None:
                return None
            texts[side.path] = text
        what = f"`{span.text}` → `{new}`"
        return Change(kind, page.path, span.line, what, texts, span=span, new=new)

    def tokens(
        self, kind: str, page: Page, index: int, new: dict[int, str], alone: bool = False
    ) -> Change | None:
        """Put other tokens in place of those of a block, in both languages or in one alone."""
        sides = [page]
        other = self.project.other(page.path)
        if alone and other is None:
            return None
        if other is not None and not alone:
            sides.append(other)
        texts = {}
        old = code_tokens(page.blocks[index].code)
        for side in sides:
            if index >= len(side.blocks):
                return None
            text = with_tokens(side, side.blocks[index], old, new)
            if text is None:
                return None
            texts[side.path] = text
        line = page.blocks[index].first + old[min(new)].start[0] - 1
        shown = page.source_lines[line - 1].strip()
        if len(new) == 1:
            what = f"{old[min(new)].string!r} → {new[min(new)]!r} in {shown}"
        else:
            what = f"{shown} → {texts[page.path].split(chr(10))[line - 1].strip()}"
        return Change(kind, page.path, line, what, texts, alone)


def is_measured(page: Page) -> bool:
    """True for a lab that takes minutes and shows what depends on the machine.

    Its frame and its sentences are drilled, its cells are not.
    """
    return page.is_lab and bool(page.front.get("varies"))


def anchor_of(page: Page, line: int) -> str:
    """The anchor of the section in which a line stands."""
    anchors = [heading.anchor for heading in page.headings if heading.line <= line]
    return anchors[-1] if anchors else ""


def _twin(page: Page, span: Span, other: Page) -> Span | None:
    """The same code on the other side: said of the same, or else in the same place in order."""

    def alike(side: Page, near: str) -> list[Span]:
        return [one for one in side.spans if one.text == span.text and _at(side, one) == near]

    here, there = alike(page, _at(page, span)), alike(other, _at(page, span))
    said = [one for one in here if _said(one) == _said(span)]
    heard = [one for one in there if _said(one) == _said(span)]
    if len(said) == len(heard):
        here, there = said, heard
    place = next(n for n, one in enumerate(here) if one is span)
    return there[min(place, len(there) - 1)] if there else None


def _at(page: Page, span: Span) -> str:
    return anchor_of(page, span.line)


def _said(span: Span) -> tuple[object, ...]:
    return span.of, span.subjects, span.row, span.mark
