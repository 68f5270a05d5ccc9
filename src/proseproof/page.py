"""A page as data: its blocks, listings, outputs, code spans, headings, links and figures."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from proseproof import device_code
from proseproof.messages import Finding

# What a translation changes: the front matter's words.
WORDS = ("title", "description", "summary", "subtitle")


@dataclass(frozen=True)
class Output:
    """The fence that shows what a block prints; `first` to `last` are the lines of its body."""

    line: int
    first: int
    last: int
    indent: str
    text: str


@dataclass
class Block:
    """Code that is executed; `first` is the page's line of its first line."""

    line: int
    first: int
    last: int
    indent: str
    code: str
    language: str = "python"
    output: Output | None = None
    silent: bool = False
    skip: str | None = None
    raises: str | None = None  # the error's name, and words of its message: `ValueError: too long`
    figures: list[tuple[int, str, str]] = field(default_factory=list)
    info: str = ""  # what stands behind the fence's language: title="…" hl_lines="…"

    @property
    def gpu(self) -> bool:
        """True when the code is for an accelerator too."""
        return device_code.is_named(self.code)

    @property
    def kind(self) -> str:
        """How the block is proved, in one word."""
        if self.skip is not None:
            return "skipped"
        return "gpu" if self.gpu else self.language


@dataclass(frozen=True)
class Listing:
    """A quotation from the source."""

    line: int
    spec: str
    info: str = ""


@dataclass(frozen=True)
class Plain:
    """A fence in a language that is not code."""

    line: int
    language: str
    text: str
    info: str = ""


@dataclass(frozen=True)
class Span:
    """Inline code in a sentence, a heading or a table."""

    line: int
    text: str
    marks: frozenset[str] = frozenset()
    row: tuple[str, ...] = ()  # the numbers listed with this one: `2`, `0` and `1`
    of: str = ""  # what the author says that this is said of: `0.42`{of=weights.max()}
    subjects: tuple[str, ...] = ()  # what the sentence says it of: `Q` and `K` have shape `(5, 8)`
    link: str = ""  # how: `is`, `is not`, or `a` for a kind of thing
    plain: bool = False  # the subject is a word of the sentence, and not in code
    near: tuple[str, ...] = ()  # other code in the same sentence
    default: bool = False  # the sentence speaks of defaults
    raised: bool = False  # the sentence says that this is raised
    is_subject: bool = False  # something is said of it

    @property
    def said(self) -> Span:
        """What is said, wherever it stands."""
        return replace(self, line=0)

    @property
    def mark(self) -> str:
        """`wrong`, `text` or nothing."""
        return next((mark for mark in ("wrong", "text") if mark in self.marks), "")


@dataclass(frozen=True)
class Formula:
    """A formula in the prose, without its dollars; one that is not closed has no text."""

    line: int
    text: str
    display: bool = False


@dataclass(frozen=True)
class Heading:
    """A heading and its explicit anchor."""

    line: int
    level: int
    title: str
    anchor: str


@dataclass(frozen=True)
class Link:
    """A link or a figure (then `text` is its alt text)."""

    line: int
    text: str
    target: str
    figure: bool


@dataclass(frozen=True)
class Table:
    """A table whose rows state shapes; `expression` gives the true ones."""

    line: int
    expression: str
    rows: tuple[tuple[int, tuple[Span, ...]], ...]


@dataclass(frozen=True)
class Section:
    """The prose from one heading to the next; the part before the first has no anchor."""

    anchor: str
    line: int
    prose: str


@dataclass
class Page:
    """One page, read once."""

    path: str
    text: str
    front: dict[str, Any] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)
    listings: list[Listing] = field(default_factory=list)
    plains: list[Plain] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    formulas: list[Formula] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    is_lab: bool = False
    shown: int = 0
    prose: list[str] = field(default_factory=list)  # the lines without fences and comments
    front_lines: dict[int, str] = field(default_factory=dict)  # of words in the front matter

    @cached_property
    def source_lines(self) -> list[str]:
        """The page as Python sees it: each block's code in its own lines, all else empty."""
        lines = [""] * len(self.text.split("\n"))
        for block in self.blocks:
            if block.language == "python":
                code = block.code.removesuffix("\n").split("\n")
                lines[block.first - 1 : block.first - 1 + len(code)] = code
        return lines

    def drawings(self) -> dict[str, int]:
        """The drawings that the page shows, by path, and the line of each."""
        folder = posixpath.dirname(self.path)
        return {
            posixpath.normpath(posixpath.join(folder, link.target)): link.line
            for link in self.links
            if link.figure and link.target.endswith(".svg") and ":" not in link.target
        }

    def problem(self, line: int, message: str, remedy: str = "", detail: str = "") -> None:
        """Note something wrong with how the page is written."""
        self.findings.append(Finding(self.path, line, message, detail, remedy))
