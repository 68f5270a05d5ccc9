"""What the drill changes: every kind of change, and where on the pages it can be made."""

from __future__ import annotations

import keyword
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from proseproof import listings, shape_comments
from proseproof.drill_edits import (
    DIRECTIONS,
    SWAPS,
    code_tokens,
    lines_with,
    means_something,
    misspelt,
    other_digit,
    renamed,
    replaced,
    token_changes,
    with_token,
)
from proseproof.page import Block, Page, Span
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

    @property
    def is_lab(self) -> bool:
        """True for a change to a lab, which takes longer to prove than a page."""
        return any(path.endswith(".py") and "/labs/" in path for path in self.texts)


class Author:
    """Thinks up changes to a project's pages and sources."""

    def __init__(self, project: Project, seed: int) -> None:
        self.project, self.settings = project, project.settings
        self.chance = random.Random(seed)
        paths = project.paths()
        first = next(iter(self.settings.languages.values()), "")
        # Changes to both languages start from the first one.
        self.pages = [project.page(path) for path in paths]
        self.leading = [
            page
            for page in self.pages
            if not is_measured(page)
            and (self.settings.language(page.path) is None or page.path.startswith(f"{first}/"))
        ]
        self.names = sorted(
            {
                name
                for page in self.pages
                for span in page.spans
                if shape_comments.parse_dims(span.text) is not None
                for name in re.findall(r"[A-Za-z_]\w*", span.text)
            }
        )

    def kinds(self) -> dict[str, Callable[[], Iterator[Change]]]:
        """Every kind of change, and where its candidates come from."""
        return {
            "digit in a shape": lambda: self._spans("digit in a shape", self._shape_digit),
            "digit in a number": lambda: self._spans("digit in a number", self._number_digit),
            "dimension's name": lambda: self._spans("dimension's name", self._dimension),
            "name misspelt": lambda: self._spans("name misspelt", self._name),
            "printed digit": self._printed,
            "operator, index or keyword": lambda: self._blocks("operator, index or keyword"),
            "mask's direction": self._masks,
            "figure's data": self._figures,
            "line of a listed source": self._sources,
            "shape comment": self._shape_comments,
            "fence's info string": self._fences,
            "heading's anchor": self._anchors,
            "link": self._links,
            "sentence in one language": self._sentences,
            "block in one language": lambda: self._blocks("block in one language", alone=True),
        }

    # Spans, in both languages.

    def _spans(self, kind: str, change: Callable[[Page, Span], str | None]) -> Iterator[Change]:
        for page in self.leading:
            for span in page.spans:
                new = None if span.mark == "text" else change(page, span)
                if new is None or new == span.text:
                    continue
                texts = self._in_both(page, span, new)
                if texts:
                    yield Change(kind, page.path, span.line, f"`{span.text}` → `{new}`", texts)

    def _in_both(self, page: Page, span: Span, new: str) -> dict[str, str] | None:
        old, now = f"`{span.text}`", f"`{new}`"
        text = lines_with(page.text, [(span.line, old, now)])
        if text is None:
            return None
        texts = {page.path: text}
        other = self.project.other(page.path)
        if other is not None:
            anchor = _anchor(page, span.line)
            same = [
                one
                for one in other.spans
                if one.text == span.text and _anchor(other, one.line) == anchor
            ]
            place = min(same, key=lambda one: abs(one.line - span.line), default=None)
            there = None if place is None else lines_with(other.text, [(place.line, old, now)])
            if there is None:
                return None
            texts[other.path] = there
        return texts

    def _shape_digit(self, page: Page, span: Span) -> str | None:
        if shape_comments.parse_dims(span.text) is None or span.mark:
            return None
        return other_digit(span.text, self.chance)

    def _number_digit(self, page: Page, span: Span) -> str | None:
        if span.mark or shape_comments.parse_dims(span.text) is not None:
            return None
        compared = re.search(r"==|<|>", span.text) or re.fullmatch(r"-?[\d.]+", span.text)
        return other_digit(span.text, self.chance) if compared else None

    def _dimension(self, page: Page, span: Span) -> str | None:
        if shape_comments.parse_dims(span.text) is None or span.mark:
            return None
        return renamed(span.text, self.names, self.chance)

    def _name(self, page: Page, span: Span) -> str | None:
        if not re.fullmatch(r"[\w.]+", span.text) or span.mark or keyword.iskeyword(span.text):
            return None
        return misspelt(span.text, self.chance)

    # Blocks.

    def _blocks(self, kind: str, alone: bool = False) -> Iterator[Change]:
        for page in self.leading:
            for index, block in enumerate(page.blocks):
                if block.language == "python" and block.skip is None:
                    for place, old, new in token_changes(block.code, SWAPS):
                        change = self._token(kind, page, index, place, old, new, alone)
                        if change is not None:
                            yield change

    def _masks(self) -> Iterator[Change]:
        kind = "mask's direction"
        for page in self.leading:
            for index, block in enumerate(page.blocks):
                if block.language == "python" and "mask" in block.code:
                    for place, old, new in token_changes(block.code, DIRECTIONS, numbers=False):
                        change = self._token(kind, page, index, place, old, new, False)
                        if change is not None:
                            yield change
        for path, first, last in self._listed():
            yield from self._source(kind, path, first, last, DIRECTIONS, numbers=False)

    def _figures(self) -> Iterator[Change]:
        """Code that makes what a figure shows, and figures that a block has to draw."""
        kind = "figure's data"
        for page in self.leading:
            for index, block in enumerate(page.blocks):
                if page.is_lab and block.language == "python":
                    for place, old, new in token_changes(block.code, SWAPS):
                        change = self._token(kind, page, index, place, old, new, False)
                        if change is not None:
                            yield change
                for _, _, path in block.figures:
                    text = (self.settings.root / path).read_text(encoding="utf-8")
                    other = other_digit(text, self.chance)
                    if other is not None:
                        yield Change(kind, page.path, block.line, path, {path: other})

    def _token(
        self, kind: str, page: Page, index: int, place: int, old: str, new: str, alone: bool
    ) -> Change | None:
        block = page.blocks[index]
        texts = {}
        sides = [page]
        other = self.project.other(page.path)
        if alone and other is None:
            return None
        if other is not None and not alone:
            sides.append(other)
        for side in sides:
            if index >= len(side.blocks):
                return None
            text = with_token(side, side.blocks[index], place, old, new)
            if text is None:
                return None
            texts[side.path] = text
        line = block.first + code_tokens(block.code)[place].start[0] - 1
        shown = page.source_lines[line - 1].strip()
        return Change(kind, page.path, line, f"{old!r} → {new!r} in {shown}", texts, alone)

    def _printed(self) -> Iterator[Change]:
        for page in self.leading:
            other = self.project.other(page.path)
            for index, block in enumerate(page.blocks):
                if block.output is None:
                    continue
                for offset, line in enumerate(block.output.text.splitlines()):
                    new = other_digit(line, self.chance)
                    if new is None:
                        continue
                    place = block.output.first + offset
                    texts = {page.path: lines_with(page.text, [(place, line, new)])}
                    there = other.blocks[index].output if other else None
                    if other is not None and there is not None:
                        edit = (there.first + offset, line, new)
                        texts[other.path] = lines_with(other.text, [edit])
                    done = {path: text for path, text in texts.items() if text is not None}
                    if len(done) == len(texts):
                        what = f"{line.strip()} → {new.strip()}"
                        yield Change("printed digit", page.path, place, what, done)

    def _shape_comments(self) -> Iterator[Change]:
        kind = "shape comment"
        for page in self.leading:
            other = self.project.other(page.path)
            for index, block in enumerate(page.blocks):
                comments = _comment_lines(block)
                there = _comment_lines(other.blocks[index]) if other else []
                for number, (line, text) in enumerate(comments):
                    new = self._other_shape(text)
                    if new is None:
                        continue
                    texts = {page.path: lines_with(page.text, [(line, text, new)])}
                    if other is not None and number < len(there):
                        edit = (there[number][0], text, new)
                        texts[other.path] = lines_with(other.text, [edit])
                    done = {path: text for path, text in texts.items() if text is not None}
                    yield Change(kind, page.path, line, f"{text} → {new}", done)
        for path, first, last in self._listed():
            source = (self.settings.root / path).read_text(encoding="utf-8")
            for line, text in shape_comments.comments_of(source)[0].items():
                new = self._other_shape(text) if first <= line <= last else None
                changed = lines_with(source, [(line, text, new)]) if new else None
                if changed is not None:
                    yield Change(kind, path, line, f"{text} → {new}", {path: changed})

    def _other_shape(self, text: str) -> str | None:
        if self.chance.random() < 0.5 and re.search(r"\d", text):
            return other_digit(text, self.chance)
        names = re.findall(r"[A-Za-z_]\w*", text)
        if len(set(names)) > 1:
            one, two = self.chance.sample(sorted(set(names)), 2)
            return re.sub(
                rf"\b({one}|{two})\b", lambda match: two if match[0] == one else one, text
            )
        return text[:-1].rstrip(",") + ", 1)"

    # Sources that pages quote.

    def _listed(self) -> list[tuple[str, int, int]]:
        """File, first and last line of everything that pages quote."""
        found: dict[str, tuple[str, int, int]] = {}
        for page in self.leading:
            for one in page.listings:
                path, _, name = one.spec.partition(":")
                source = (self.settings.root / path).read_text(encoding="utf-8")
                found[one.spec] = (path, *listings.definitions(source)[name])
        return list(found.values())

    def _sources(self) -> Iterator[Change]:
        for path, first, last in self._listed():
            yield from self._source("line of a listed source", path, first, last, SWAPS)

    def _source(
        self,
        kind: str,
        path: str,
        first: int,
        last: int,
        swaps: dict[str, str],
        numbers: bool = True,
    ) -> Iterator[Change]:
        source = (self.settings.root / path).read_text(encoding="utf-8")
        for place, old, new in token_changes(source, swaps, numbers):
            token = code_tokens(source)[place]
            if first <= token.start[0] <= last:
                changed = replaced(source, token, new)
                if means_something(source, changed):
                    shown = source.splitlines()[token.start[0] - 1].strip()
                    what = f"{old!r} → {new!r} in {shown}"
                    yield Change(kind, path, token.start[0], what, {path: changed})

    # The page's frame.

    def _fences(self) -> Iterator[Change]:
        for page in self.pages:
            for block in page.blocks:
                if page.is_lab or block.language != "python":
                    continue
                line = page.text.split("\n")[block.line - 1]
                new = self.chance.choice(
                    [
                        "```py",
                        "```Python",
                        "``` python",
                        "```{.python}",
                        "```pycon",
                        "```",
                        "~~~python",
                    ]
                )
                text = lines_with(page.text, [(block.line, "```python", new)])
                if text is not None:
                    what = f"{line.strip()} → {new}"
                    yield Change(
                        "fence's info string", page.path, block.line, what, {page.path: text}
                    )

    def _anchors(self) -> Iterator[Change]:
        for page in self.pages:
            if self.settings.language(page.path) is None:
                continue
            for heading in page.headings:
                new = misspelt(heading.anchor, self.chance)
                if new is None:
                    continue
                edit = (heading.line, f"{{#{heading.anchor}}}", f"{{#{new}}}")
                text = lines_with(page.text, [edit])
                if text is not None:
                    what = f"#{heading.anchor} → #{new}"
                    yield Change(
                        "heading's anchor", page.path, heading.line, what, {page.path: text}, True
                    )

    def _links(self) -> Iterator[Change]:
        for page in self.pages:
            for link in page.links:
                new = misspelt(link.target, self.chance)
                outside = re.match(r"[a-z]+:", link.target)
                if new is None or (outside and self.settings.language(page.path) is None):
                    continue
                text = lines_with(page.text, [(link.line, f"({link.target})", f"({new})")])
                if text is not None:
                    what = f"{link.target} → {new}"
                    yield Change("link", page.path, link.line, what, {page.path: text}, True)

    def _sentences(self) -> Iterator[Change]:
        for page in self.pages:
            if self.settings.language(page.path) is None:
                continue
            for number, line in enumerate(page.text.split("\n"), 1):
                inside = any(
                    block.line <= number <= (block.output.last + 1 if block.output else block.last)
                    for block in page.blocks
                )
                words = re.findall(r"(?<![\w`{#.(/])[^\W\d_]{2,}(?![\w`}./])", line)
                plain = line.lstrip("# ").strip()
                skip = inside or not words or plain.startswith(("|", "<", "!", "`", "-", "%", ">"))
                if skip or ":" in line[:14] or "](" in line:
                    continue
                word = self.chance.choice(words)
                text = lines_with(page.text, [(number, word, word[::-1] + word[0])])
                if text is not None and text != page.text:
                    yield Change(
                        "sentence in one language", page.path, number, f"{word} changed",
                        {page.path: text}, True,
                    )  # fmt: skip


def is_measured(page: Page) -> bool:
    """True for a lab that takes minutes and shows what depends on the machine.

    Its frame and its sentences are drilled, its cells are not.
    """
    return page.is_lab and bool(page.front.get("varies"))


def _anchor(page: Page, line: int) -> str:
    anchors = [heading.anchor for heading in page.headings if heading.line <= line]
    return anchors[-1] if anchors else ""


def _comment_lines(block: Block) -> list[tuple[int, str]]:
    if block.language != "python":
        return []
    ends = shape_comments.comments_of(block.code)[0]
    return [(block.first + line - 1, text) for line, text in sorted(ends.items())]


def choose(author: Author, count: int) -> list[Change]:
    """Changes spread evenly over the kinds, and within a kind over the files."""
    queues: dict[str, list[Change]] = {}
    for kind, source in author.kinds().items():
        by_path: dict[str, list[Change]] = defaultdict(list)
        for change in source():
            by_path[change.path].append(change)
        for changes in by_path.values():
            author.chance.shuffle(changes)
        queue = []
        while any(by_path.values()):
            queue += [changes.pop() for changes in by_path.values() if changes]
        queues[kind] = queue
    chosen: list[Change] = []
    while len(chosen) < count and any(queues.values()):
        for queue in queues.values():
            if queue and len(chosen) < count:
                chosen.append(queue.pop(0))
    return chosen
