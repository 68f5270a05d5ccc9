"""Changes of the drill to code: tokens of blocks and of listed sources, outputs, shape comments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from proseproof import listings, shape_comments
from proseproof.drill_changes import Author, Change
from proseproof.drill_edits import (
    DIRECTIONS,
    SWAPS,
    code_tokens,
    lines_with,
    means_something,
    other_digit,
    replaced,
    token_changes,
)
from proseproof.page import Block, Page


def kinds(author: Author) -> dict[str, Callable[[], Iterator[Change]]]:
    """Every kind of change to code, and where its candidates come from."""
    return {
        "printed digit": partial(_printed, author),
        "operator, index or keyword": partial(_blocks, author, "operator, index or keyword"),
        "mask's direction": partial(_masks, author),
        "figure's data": partial(_figures, author),
        "line of a listed source": partial(_sources, author),
        "shape comment": partial(_shape_comments, author),
        "block in one language": partial(_blocks, author, "block in one language", alone=True),
    }


def _swapped(
    author: Author,
    kind: str,
    page: Page,
    index: int,
    swaps: dict[str, str],
    *,
    numbers: bool = True,
    alone: bool = False,
) -> Iterator[Change]:
    """One token of a block exchanged."""
    for place, _, new in token_changes(page.blocks[index].code, swaps, numbers):
        change = author.tokens(kind, page, index, {place: new}, alone)
        if change is not None:
            yield change


def _blocks(author: Author, kind: str, alone: bool = False) -> Iterator[Change]:
    for page in author.leading:
        for index, block in enumerate(page.blocks):
            if block.language == "python" and block.skip is None:
                yield from _swapped(author, kind, page, index, SWAPS, alone=alone)


def _masks(author: Author) -> Iterator[Change]:
    kind = "mask's direction"
    for page in author.leading:
        for index, block in enumerate(page.blocks):
            if block.language == "python" and "mask" in block.code:
                yield from _swapped(author, kind, page, index, DIRECTIONS, numbers=False)
    for path, first, last in _listed(author):
        yield from _source(author, kind, path, first, last, DIRECTIONS, numbers=False)


def _figures(author: Author) -> Iterator[Change]:
    """Code that makes what a figure shows, and figures that a block has to draw."""
    kind = "figure's data"
    for page in author.leading:
        for index, block in enumerate(page.blocks):
            if page.is_lab and block.language == "python":
                yield from _swapped(author, kind, page, index, SWAPS)
            for _, _, path in block.figures:
                text = (author.settings.root / path).read_text(encoding="utf-8")
                other = other_digit(text, author.chance)
                if other is not None:
                    yield Change(kind, page.path, block.line, path, {path: other})


def _printed(author: Author) -> Iterator[Change]:
    for page in author.leading:
        other = author.project.other(page.path)
        for index, block in enumerate(page.blocks):
            if block.output is None:
                continue
            for offset, line in enumerate(block.output.text.splitlines()):
                new = other_digit(line, author.chance)
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


def _shape_comments(author: Author) -> Iterator[Change]:
    kind = "shape comment"
    for page in author.leading:
        other = author.project.other(page.path)
        for index, block in enumerate(page.blocks):
            comments = _comment_lines(block)
            there = _comment_lines(other.blocks[index]) if other else []
            for number, (line, text) in enumerate(comments):
                new = _other_shape(author, text)
                if new is None:
                    continue
                texts = {page.path: lines_with(page.text, [(line, text, new)])}
                if other is not None and number < len(there):
                    edit = (there[number][0], text, new)
                    texts[other.path] = lines_with(other.text, [edit])
                done = {path: text for path, text in texts.items() if text is not None}
                yield Change(kind, page.path, line, f"{text} → {new}", done)
    for path, first, last in _listed(author):
        source = (author.settings.root / path).read_text(encoding="utf-8")
        for line, text in shape_comments.comments_of(source)[0].items():
            new = _other_shape(author, text) if first <= line <= last else None
            changed = lines_with(source, [(line, text, new)]) if new else None
            if changed is not None:
                yield Change(kind, path, line, f"{text} → {new}", {path: changed})


def _other_shape(author: Author, text: str) -> str | None:
    if author.chance.random() < 0.5 and re.search(r"\d", text):
        return other_digit(text, author.chance)
    names = re.findall(r"[A-Za-z_]\w*", text)
    if len(set(names)) > 1:
        one, two = author.chance.sample(sorted(set(names)), 2)
        return re.sub(rf"\b({one}|{two})\b", lambda match: two if match[0] == one else one, text)
    return text[:-1].rstrip(",") + ", 1)"


# Sources that pages quote.


def _listed(author: Author) -> list[tuple[str, int, int]]:
    """File, first and last line of everything that pages quote."""
    found: dict[str, tuple[str, int, int]] = {}
    for page in author.leading:
        for one in page.listings:
            path, _, name = one.spec.partition(":")
            source = (author.settings.root / path).read_text(encoding="utf-8")
            found[one.spec] = (path, *listings.definitions(source)[name])
    return list(found.values())


def _sources(author: Author) -> Iterator[Change]:
    for path, first, last in _listed(author):
        yield from _source(author, "line of a listed source", path, first, last, SWAPS)


def _source(
    author: Author,
    kind: str,
    path: str,
    first: int,
    last: int,
    swaps: dict[str, str],
    numbers: bool = True,
) -> Iterator[Change]:
    source = (author.settings.root / path).read_text(encoding="utf-8")
    for place, old, new in token_changes(source, swaps, numbers):
        token = code_tokens(source)[place]
        if first <= token.start[0] <= last:
            changed = replaced(source, token, new)
            if means_something(source, changed):
                shown = source.splitlines()[token.start[0] - 1].strip()
                what = f"{old!r} → {new!r} in {shown}"
                yield Change(kind, path, token.start[0], what, {path: changed})


def _comment_lines(block: Block) -> list[tuple[int, str]]:
    if block.language != "python":
        return []
    ends = shape_comments.comments_of(block.code)[0]
    return [(block.first + line - 1, text) for line, text in sorted(ends.items())]
