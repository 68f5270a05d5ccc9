"""The drill: change one small thing at a time, run the proofs, and count what they catch.

Every change is made in a copy of the project. What both languages show (claims, blocks, outputs,
shapes) is changed in both, so that the comparison of the two cannot be what catches it, and the
lock is then left out; the lock and the comparison are drilled by changes to one language alone.
"""

from __future__ import annotations

import ast
import io
import json
import keyword
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proseproof import listings, shape_comments
from proseproof.execution import execute, sweep
from proseproof.messages import Finding
from proseproof.page import Block, Page, Span
from proseproof.prover import PageProof, Project, check_project
from proseproof.settings import Settings

LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", ".cache", "site", "node_modules", "__pycache__", "*.egg-info", ".*_cache"
)
SWAPS = {
    "+": "-", "-": "+", "*": "+", "/": "*", "//": "*", "@": "*", "**": "*",
    "==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
    "True": "False", "False": "True", "and": "or", "or": "and",
}  # fmt: skip
DIRECTIONS = {"tril": "triu", "triu": "tril", "~": "", "==": "!=", "is_causal": "is_causa1"}
TIMEOUT = 180


@dataclass(frozen=True)
class Change:
    """One small change: the new text of each file that it touches."""

    kind: str
    path: str
    line: int
    what: str
    texts: dict[str, str]
    alone: bool = False  # in one language only, so that pairs and lock are in play


@dataclass
class Outcome:
    """What became of a change: the finding, or why it means nothing, or how the proof broke."""

    change: Change
    caught: bool
    why: str
    reason: str = ""
    broke: str = ""


def _lines_with(text: str, edits: list[tuple[int, str, str]]) -> str | None:
    """The text with `old` replaced by `new` once in each given line; None when one is not there."""
    lines = text.split("\n")
    for number, old, new in edits:
        if not 0 < number <= len(lines) or old not in lines[number - 1]:
            return None
        lines[number - 1] = lines[number - 1].replace(old, new, 1)
    return "\n".join(lines)


def _other_digit(text: str, chance: random.Random) -> str | None:
    places = [place for place, sign in enumerate(text) if sign.isdigit()]
    if not places:
        return None
    place = chance.choice(places)
    new = chance.choice([digit for digit in "123456789" if digit != text[place]])
    return text[:place] + new + text[place + 1 :]


def _misspelt(text: str, chance: random.Random) -> str | None:
    places = [
        n
        for n in range(len(text) - 1)
        if text[n] != text[n + 1] and text[n].isalpha() and text[n + 1].isalpha()
    ]
    if not places:
        return None
    n = chance.choice(places)
    return text[:n] + text[n + 1] + text[n] + text[n + 2 :]


def _renamed(text: str, names: list[str], chance: random.Random) -> str | None:
    """A shape with one dimension's name changed to another."""
    here = re.findall(r"[A-Za-z_]\w*", text)
    if not here:
        return None
    old = chance.choice(here)
    new = chance.choice([name for name in names if name not in here] or ["width"])
    return re.sub(rf"\b{old}\b", new, text, count=1)


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
            if not _is_measured(page)
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
        text = _lines_with(page.text, [(span.line, old, now)])
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
            there = None if place is None else _lines_with(other.text, [(place.line, old, now)])
            if there is None:
                return None
            texts[other.path] = there
        return texts

    def _shape_digit(self, page: Page, span: Span) -> str | None:
        if shape_comments.parse_dims(span.text) is None or span.mark:
            return None
        return _other_digit(span.text, self.chance)

    def _number_digit(self, page: Page, span: Span) -> str | None:
        if span.mark or shape_comments.parse_dims(span.text) is not None:
            return None
        compared = re.search(r"==|<|>", span.text) or re.fullmatch(r"-?[\d.]+", span.text)
        return _other_digit(span.text, self.chance) if compared else None

    def _dimension(self, page: Page, span: Span) -> str | None:
        if shape_comments.parse_dims(span.text) is None or span.mark:
            return None
        return _renamed(span.text, self.names, self.chance)

    def _name(self, page: Page, span: Span) -> str | None:
        if not re.fullmatch(r"[\w.]+", span.text) or span.mark or keyword.iskeyword(span.text):
            return None
        return _misspelt(span.text, self.chance)

    # Blocks.

    def _blocks(self, kind: str, alone: bool = False) -> Iterator[Change]:
        for page in self.leading:
            for index, block in enumerate(page.blocks):
                if block.language == "python" and block.skip is None:
                    for place, old, new in _token_changes(block.code, SWAPS):
                        change = self._token(kind, page, index, place, old, new, alone)
                        if change is not None:
                            yield change

    def _masks(self) -> Iterator[Change]:
        kind = "mask's direction"
        for page in self.leading:
            for index, block in enumerate(page.blocks):
                if block.language == "python" and "mask" in block.code:
                    for place, old, new in _token_changes(block.code, DIRECTIONS, numbers=False):
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
                    for place, old, new in _token_changes(block.code, SWAPS):
                        change = self._token(kind, page, index, place, old, new, False)
                        if change is not None:
                            yield change
                for _, _, path in block.figures:
                    text = (self.settings.root / path).read_text(encoding="utf-8")
                    other = _other_digit(text, self.chance)
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
            text = _with_token(side, side.blocks[index], place, old, new)
            if text is None:
                return None
            texts[side.path] = text
        line = block.first + _tokens(block.code)[place].start[0] - 1
        shown = page.source_lines[line - 1].strip()
        return Change(kind, page.path, line, f"{old!r} → {new!r} in {shown}", texts, alone)

    def _printed(self) -> Iterator[Change]:
        for page in self.leading:
            other = self.project.other(page.path)
            for index, block in enumerate(page.blocks):
                if block.output is None:
                    continue
                for offset, line in enumerate(block.output.text.splitlines()):
                    new = _other_digit(line, self.chance)
                    if new is None:
                        continue
                    place = block.output.first + offset
                    texts = {page.path: _lines_with(page.text, [(place, line, new)])}
                    there = other.blocks[index].output if other else None
                    if other is not None and there is not None:
                        edit = (there.first + offset, line, new)
                        texts[other.path] = _lines_with(other.text, [edit])
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
                    texts = {page.path: _lines_with(page.text, [(line, text, new)])}
                    if other is not None and number < len(there):
                        edit = (there[number][0], text, new)
                        texts[other.path] = _lines_with(other.text, [edit])
                    done = {path: text for path, text in texts.items() if text is not None}
                    yield Change(kind, page.path, line, f"{text} → {new}", done)
        for path, first, last in self._listed():
            source = (self.settings.root / path).read_text(encoding="utf-8")
            for line, text in shape_comments.comments_of(source)[0].items():
                new = self._other_shape(text) if first <= line <= last else None
                changed = _lines_with(source, [(line, text, new)]) if new else None
                if changed is not None:
                    yield Change(kind, path, line, f"{text} → {new}", {path: changed})

    def _other_shape(self, text: str) -> str | None:
        if self.chance.random() < 0.5 and re.search(r"\d", text):
            return _other_digit(text, self.chance)
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
        for place, old, new in _token_changes(source, swaps, numbers):
            token = _tokens(source)[place]
            if first <= token.start[0] <= last:
                changed = _replaced(source, token, new)
                if _means_something(source, changed):
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
                text = _lines_with(page.text, [(block.line, "```python", new)])
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
                new = _misspelt(heading.anchor, self.chance)
                if new is None:
                    continue
                edit = (heading.line, f"{{#{heading.anchor}}}", f"{{#{new}}}")
                text = _lines_with(page.text, [edit])
                if text is not None:
                    what = f"#{heading.anchor} → #{new}"
                    yield Change(
                        "heading's anchor", page.path, heading.line, what, {page.path: text}, True
                    )

    def _links(self) -> Iterator[Change]:
        for page in self.pages:
            for link in page.links:
                new = _misspelt(link.target, self.chance)
                outside = re.match(r"[a-z]+:", link.target)
                if new is None or (outside and self.settings.language(page.path) is None):
                    continue
                text = _lines_with(page.text, [(link.line, f"({link.target})", f"({new})")])
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
                text = _lines_with(page.text, [(number, word, word[::-1] + word[0])])
                if text is not None and text != page.text:
                    yield Change(
                        "sentence in one language", page.path, number, f"{word} changed",
                        {page.path: text}, True,
                    )  # fmt: skip


def _is_measured(page: Page) -> bool:
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


def _tokens(code: str) -> list[tokenize.TokenInfo]:
    """The code's tokens without comments and line ends, which translations may change."""
    left_out = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE}
    tokens = tokenize.generate_tokens(io.StringIO(code).readline)
    return [token for token in tokens if token.type not in left_out]


def _token_changes(
    code: str, swaps: dict[str, str], numbers: bool = True
) -> Iterator[tuple[int, str, str]]:
    try:
        tokens = _tokens(code)
    except (tokenize.TokenError, SyntaxError):
        return
    for place, token in enumerate(tokens):
        before = tokens[place - 1].string if place else ""
        two_before = tokens[place - 2].string if place > 1 else ""
        if two_before == "manual_seed" or before in ("->", "import"):
            continue
        if token.string in swaps:
            if token.string in ("*", "**", "/") and before in ("(", ",", "["):
                continue  # unpacking, or a mark in a signature
            yield place, token.string, swaps[token.string]
        elif numbers and token.type == tokenize.NUMBER and re.fullmatch(r"\d+", token.string):
            yield place, token.string, str(int(token.string) + 1)


def _replaced(code: str, token: tokenize.TokenInfo, new: str) -> str:
    lines = code.split("\n")
    row, begin, end = token.start[0] - 1, token.start[1], token.end[1]
    lines[row] = lines[row][:begin] + new + lines[row][end:]
    return "\n".join(lines)


def _means_something(old: str, new: str) -> bool:
    try:
        return ast.dump(ast.parse(old)) != ast.dump(ast.parse(new))
    except SyntaxError:
        return False


def _with_token(page: Page, block: Block, place: int, old: str, new: str) -> str | None:
    tokens = _tokens(block.code)
    if place >= len(tokens) or tokens[place].string != old:
        return None
    changed = _replaced(block.code, tokens[place], new)
    if not _means_something(block.code, changed):
        return None
    lines = page.text.split("\n")
    body = changed.rstrip("\n").split("\n")
    first = block.first - 1
    for number, line in enumerate(body):
        lines[first + number] = (block.indent + line) if line.strip() else lines[first + number]
    return "\n".join(lines)


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


# Proving a change, in a process of its own.


def _proofs(project: Project, change: Change) -> Iterator[tuple[str, Callable[[], list[Finding]]]]:
    """The proofs that can see the change, those that are likely to first."""
    pages = [path for path in change.texts if path.endswith(".md") or "/labs/" in path]
    touched = pages or _readers(project, [*change.texts])
    late: list[tuple[str, Callable[[], list[Finding]]]] = []
    for path in touched:
        steps = PageProof(project, path).steps()
        for name, step in steps:
            if name == "fresh" and not change.alone:
                continue
            if name == "cells" and _is_measured(project.page(path)):
                continue
            number = name.removeprefix("line ")
            near = path == change.path and number.isdigit() and int(number) <= change.line
            if name in ("accounted", "pair", "covered", "fresh"):
                yield f"{path} {name}", step
            elif near:
                late.insert(0, (f"{path} {name}", step))
            else:
                late.append((f"{path} {name}", step))
    yield from late
    if pages:
        yield "project", lambda: check_project(project)
        for path in project.paths():
            if path not in touched:
                proof = PageProof(project, path)
                yield f"{path} links", proof.accounted


def _readers(project: Project, sources: list[str]) -> list[str]:
    """Pages that quote or import a source; those that quote it first."""
    quoting, importing = [], []
    for path in project.paths():
        page = project.page(path)
        if any(one.spec.partition(":")[0] in sources for one in page.listings):
            quoting.append(path)
        elif any(name in block.code for block in page.blocks for name in project.settings.rewrite):
            importing.append(path)
    return quoting + importing


def _prove(settings: Settings, project: Project, change: Change) -> str:
    """The first finding that the change causes, or nothing."""
    fresh_project = Project(settings, {
        path: page for path, page in project.pages.items() if path not in change.texts
    })  # fmt: skip
    for path in change.texts:
        if path.endswith(".md") or "/labs/" in path:
            fresh_project.page(path)
    for name, step in _proofs(fresh_project, change):
        found = step()
        if found:
            return f"{name}: {found[0].path}:{found[0].line}: {found[0].message}"
    return _tests(settings, change)


def _means_nothing(settings: Settings, project: Project, change: Change) -> str:
    """Why a change that nobody caught leaves the page right; nothing when it does not."""
    old = project.pages.get(change.path)
    if old is None:
        return _another_example(settings, change)
    new = Project(settings).page(change.path)
    pairs = [
        (one, two)
        for one, two in zip(old.blocks, new.blocks, strict=True)
        if one.code != two.code and one.language == "python"
    ]
    if pairs and old.is_lab:
        return "the cells print and draw the same, and every sentence about them holds"
    if pairs and all(_computes_the_same(old, one, new, two) for one, two in pairs):
        return "the code computes the same"
    if pairs and change.kind == "operator, index or keyword":
        return "the page stays true: the code prints what is shown, and every sentence holds"
    if change.kind == "digit in a number" and re.search("[<>]", change.what):
        return "the inequality stays true"
    return ""


def _another_example(settings: Settings, change: Change) -> str:
    """The reason for a source that only tries another size of the tensors it makes up."""
    sized = "|".join(("randn", "rand", "randint", "zeros", "ones", "arange", "full", "empty"))
    before, _, line = change.what.partition(" in ")
    old = before.partition(" → ")[0].strip("'")
    made = re.search(rf"\b(?:{sized})\(([^)]*)", line)
    if old.isdigit() and made and re.search(rf"\b{old}\b", made[1]):
        return "it tries an example of another size, and all that is said of it holds"
    return ""


def _computes_the_same(old: Page, one: Block, new: Page, two: Block) -> bool:
    first, second = execute(old, one), execute(new, two)
    names = {name for name in first.namespace if not name.startswith("__")}
    return first.stdout == second.stdout and all(
        _same_value(first.namespace[name], second.namespace.get(name)) for name in names
    )


def _same_value(one: Any, two: Any) -> bool:
    if type(one) is not type(two):
        return False
    if hasattr(one, "numel") and hasattr(one, "shape"):
        return bool(one.shape == two.shape and (one == two).all())
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(map(_same_value, one, two))
    return not isinstance(one, int | float | str | bool) or one == two


def _tests(settings: Settings, change: Change) -> str:
    """Run the test file that mirrors a changed source, as the whole suite would."""
    for path in change.texts:
        match = re.fullmatch(r"src/(\w+)/(\w+)\.py", path)
        file = f"tests/{match[1]}/test_{match[2]}.py" if match else ""
        if match and (settings.root / file).is_file():
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", file],
                cwd=settings.root,
                env={**os.environ, "PYTHONPATH": str(settings.root / "src")},
                capture_output=True,
                text=True,
            )
            if done.returncode:
                failed = re.findall(r"^(?:FAILED|ERROR) (.*)", done.stdout, re.MULTILINE)
                return f"test: {failed[0] if failed else file}"
    return ""


@dataclass
class Worker:
    """One copy of the project, in which one change at a time is proved."""

    settings: Settings
    project: Project
    change: Change | None = None
    pid: int = 0
    pipe: int = 0
    since: float = 0.0
    kept: dict[str, str] = field(default_factory=dict)

    def start(self, change: Change) -> None:
        """Make the change and prove it in a forked process."""
        root = self.settings.root
        self.change, self.since = change, time.monotonic()
        self.kept = {path: (root / path).read_text(encoding="utf-8") for path in change.texts}
        for path, text in change.texts.items():
            (root / path).write_text(text, encoding="utf-8")
        self.pipe, writer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.pipe)
            os.setpgid(0, 0)
            null = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(null, number)
            answer = {"why": "", "reason": "", "broke": ""}
            try:
                sys.path.insert(0, str(root / "src"))
                answer["why"] = _prove(self.settings, self.project, change)
                if not answer["why"]:
                    answer["reason"] = _means_nothing(self.settings, self.project, change)
            except BaseException as error:  # a proof that breaks has caught nothing
                answer["broke"] = f"{type(error).__name__}: {error}"
            sweep()
            os.write(writer, json.dumps(answer).encode())
            os._exit(0)
        os.close(writer)

    def finish(self) -> Outcome:
        """The answer; the copy is as it was."""
        assert self.change is not None
        raw = b""
        late = time.monotonic() - self.since > TIMEOUT
        if late:
            os.killpg(self.pid, signal.SIGKILL)
        while chunk := os.read(self.pipe, 65536):
            raw += chunk
        os.close(self.pipe)
        os.waitpid(self.pid, 0)
        for path, text in self.kept.items():
            (self.settings.root / path).write_text(text, encoding="utf-8")
        answer = json.loads(raw) if raw else {"why": "the interpreter crashed"}
        why = "it never ends" if late else answer["why"]
        change, self.change = self.change, None
        return Outcome(change, bool(why), why, answer.get("reason", ""), answer.get("broke", ""))


def _copies(settings: Settings, folder: Path, count: int) -> Iterator[Worker]:
    for number in range(count):
        root = folder / str(number)
        shutil.copytree(settings.root, root, ignore=LEFT_OUT)
        copy = Settings.load(root)
        assert copy is not None
        project = Project(copy)
        for path in project.paths():
            project.page(path)
        yield Worker(copy, project)


def drill(settings: Settings, seed: int, count: int, workers: int) -> int:
    """Make `count` changes, prove each, and print what was caught; 1 when something slips by."""
    with tempfile.TemporaryDirectory(prefix="proseproof-drill-") as folder:
        team = list(_copies(settings, Path(folder), workers))
        if any("torch" in page.text for page in team[0].project.pages.values()):
            import torch

            torch.set_num_threads(1)  # threads do not survive a fork
        sys.meta_path.insert(0, shape_comments.Finder(settings.rewrite))
        broken = _before(team[0])
        if broken:
            print(f"the pages do not hold as they are: {broken}", file=sys.stderr)
            return 2
        changes = choose(Author(Project(settings), seed), count)
        outcomes = _work(team, changes)
    return _summary(outcomes, seed)


def _before(worker: Worker) -> str:
    """What is wrong with the project as it is."""
    texts = {path: worker.project.page(path).text for path in worker.project.paths()}
    worker.start(Change("nothing", "", 0, "", texts, True))
    select.select([worker.pipe], [], [])
    outcome = worker.finish()
    return outcome.why or outcome.broke


def _work(team: list[Worker], changes: list[Change]) -> list[Outcome]:
    waiting, outcomes = list(changes), []
    while waiting or any(worker.change for worker in team):
        for worker in team:
            if worker.change is None and waiting:
                worker.start(waiting.pop(0))
        busy = [worker for worker in team if worker.change is not None]
        ready, _, _ = select.select([worker.pipe for worker in busy], [], [], 1.0)
        for worker in busy:
            if worker.pipe in ready or time.monotonic() - worker.since > TIMEOUT:
                outcomes.append(worker.finish())
                caught = sum(outcome.caught for outcome in outcomes)
                progress = f"\r{len(outcomes)}/{len(changes)} changes, {caught} caught"
                print(progress, end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return outcomes


def _judge(why: str) -> str:
    """Which proof caught a change."""
    head = why.partition(":")[0]
    words = head.split(" ")
    return "blocks" if words[-2:-1] == ["line"] else words[-1] if len(words) == 2 else head


def _summary(outcomes: list[Outcome], seed: int) -> int:
    kinds: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        kinds[outcome.change.kind].append(outcome)
    print(f"seed {seed}\n")
    print(f"{'kind of change':32} {'caught':>7} {'made':>6} {'files':>6}")
    for kind, group in kinds.items():
        caught = sum(outcome.caught for outcome in group)
        files = len({outcome.change.path for outcome in group})
        print(f"{kind:32} {caught:7} {len(group):6} {files:6}")
    caught = sum(outcome.caught for outcome in outcomes)
    files = len({outcome.change.path for outcome in outcomes})
    print(f"{'all':32} {caught:7} {len(outcomes):6} {files:6}\n")
    judges = Counter(_judge(outcome.why) for outcome in outcomes if outcome.caught)
    print("caught by: " + ", ".join(f"{name} {n}" for name, n in judges.most_common()) + "\n")
    survivors = [outcome for outcome in outcomes if not outcome.caught]
    for outcome in survivors:
        change = outcome.change
        print(f"not caught: {change.path}:{change.line}: {change.kind}: {change.what}")
        broke = f"the proof broke: {outcome.broke}" if outcome.broke else ""
        print(f"    {outcome.reason or broke or 'UNEXPLAINED'}")
    return int(any(not outcome.reason for outcome in survivors))
