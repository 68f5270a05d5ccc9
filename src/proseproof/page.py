"""A page as data: its blocks, listings, outputs, code spans, headings, links and figures.

Python-Markdown allows a fence at any indentation (tabs, admonitions, lists), where CommonMark sees
indented code; so fences are found line by line, and everything that a reader would see as code
without it being one of the known kinds is reported.
"""

from __future__ import annotations

import ast
import io
import posixpath
import re
import tokenize
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from proseproof.listings import INCLUDE
from proseproof.messages import Finding

FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<ticks>`{3,}|~{3,})(?P<info>.*)$")
COMMENT = re.compile(r"^\s*<!--\s*(?P<body>.*?)\s*-->\s*$")
DIRECTIVE = re.compile(r"proseproof\s*:\s*(?P<word>[a-z]+)\b\s*:?\s*(?P<rest>.*)", re.DOTALL)
ATTRIBUTES = re.compile(r'(?:\s+(?:title|hl_lines|linenums)="[^"]*")*\s*')
HEADING = re.compile(r"^(?P<level>#{1,6})\s+(?P<title>.*?)\s*(?:\{(?P<attrs>[^{}]*)\})?\s*$")
SPAN = re.compile(
    r"(?<![\\`])(?P<ticks>`+)(?!`)(?P<text>.+?)(?<!`)(?P=ticks)(?!`)"
    r"(?:\{:?(?P<attrs>[^{}\n]*)\})?",
    re.DOTALL,
)
LINK = re.compile(
    r"(?P<figure>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]"
    r"\((?P<target>[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+\"[^\"]*\")?\)",
)
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?", re.IGNORECASE)
BETWEEN = re.compile(r"\s*(?:,|;|、|，|；|and|or|和|与|及|或|, and)?\s*")
SHAPE_OF = re.compile(
    r"\s*(?:is|(?:is |are )?of shape|(?:has|with|have)(?: the)? shape|是|为|(?:的)?形状[是为])\s*"
)
REFERENCE = re.compile(r"^\s*\[(?!\^)(?P<text>[^\]]+)\]:\s+(?P<target>\S+)")
HTML_LINK = re.compile(r"<(?P<tag>a|img)\b(?P<attrs>[^>]*)>")
CONTAINER = re.compile(r"^\s*(?:!!!|\?\?\?\+?|===[!+]?|[-*+]\s|\d+[.)]\s|\[\^[^\]]+\]:|:\s)")
PLAIN = frozenset(
    re.findall(
        r"\w+",
        "text console mermaid math latex yaml toml json html css diff markdown csv makefile dot",
    )
)
PYTHON_LIKE = frozenset(
    {"py", "python", "python3", "py3", "pycon", "ipython", "ipython3", "pytb", "sage", "jupyter"}
)
SHELL = frozenset({"sh", "bash"})


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
    gpu: bool = False
    skip: str | None = None
    raises: str | None = None
    figures: list[tuple[int, str, str]] = field(default_factory=list)

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


@dataclass(frozen=True)
class Plain:
    """A fence in a language that is not code."""

    line: int
    language: str
    text: str


@dataclass(frozen=True)
class Span:
    """Inline code in a sentence, a heading or a table."""

    line: int
    text: str
    marks: frozenset[str] = frozenset()
    row: tuple[str, ...] = ()  # the numbers listed with this one: `2`, `0` and `1`
    subject: str = ""  # the name whose shape this is said to be: `Q` of shape `(5, 8)`

    @property
    def mark(self) -> str:
        """`wrong`, `text` or nothing."""
        return next((mark for mark in ("wrong", "text") if mark in self.marks), "")


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
    headings: list[Heading] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    is_lab: bool = False
    shown: int = 0

    @cached_property
    def source_lines(self) -> list[str]:
        """The page as Python sees it: each block's code in its own lines, all else empty."""
        lines = [""] * len(self.text.split("\n"))
        for block in self.blocks:
            if block.language == "python":
                code = block.code.removesuffix("\n").split("\n")
                lines[block.first - 1 : block.first - 1 + len(code)] = code
        return lines

    def problem(self, line: int, message: str, remedy: str = "", detail: str = "") -> None:
        """Note something wrong with how the page is written."""
        self.findings.append(Finding(self.path, line, message, detail, remedy))


def read(root: Path, path: str) -> Page:
    """The page at `path`; whatever is wrong with it stands in its `findings`."""
    raw = (root / path).read_bytes()
    try:
        text = raw.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        page = Page(path, raw.decode("utf-8", "replace"))
        page.problem(line, f"not UTF-8: byte {raw[error.start]:#04x}", "save the file as UTF-8")
        return page
    if path.endswith(".py"):
        return _Reader(Page(path, text, is_lab=True), *_lab(text)).page
    return _Reader(Page(path, text), text.split("\n"), []).page


def _lab(text: str) -> tuple[list[str], list[Block]]:
    """A percent-format script as Markdown lines (numbers kept) and code cells."""
    lines = text.split("\n")
    prose = [""] * len(lines)
    cells: list[Block] = []
    marks = [(number, line) for number, line in enumerate(lines) if line.startswith("# %%")]
    bounds = [(-1, "# %%"), *marks, (len(lines), "")]
    for (begin, mark), (end, _) in pairwise(bounds):
        kind = "markdown" if "[markdown]" in mark else "raw" if "[raw]" in mark else "code"
        start = begin + 1
        body = lines[start:end]
        if kind == "code" and any(line.strip() and not line.startswith("#") for line in body):
            code = "\n".join(body).rstrip() + "\n"
            cells.append(Block(begin + 1 or 1, start + 1, end, "", code))
        elif kind != "code" or begin == -1:  # before the first mark stands the front matter
            prose[start:end] = [re.sub(r"^# ?", "", line) for line in body]
    return prose, cells


class _Reader:
    """Goes through the lines once and fills the page."""

    def __init__(self, page: Page, lines: list[str], cells: list[Block]) -> None:
        self.page = page
        self.lines = lines
        self.prose = list(lines)
        page.blocks += cells
        page.shown = len(cells)
        self._front_matter()
        self._fences()
        self._comments()
        self._tables()
        self._indented_code()
        self._prose()
        self._figures()
        self._sections()
        page.blocks.sort(key=lambda block: block.line)
        page.findings.sort()

    def _front_matter(self) -> None:
        first = next((n for n, line in enumerate(self.lines) if line.strip()), None)
        if first is None or self.lines[first].rstrip() != "---":
            return
        if not self.page.is_lab and first != 0:
            return
        ends = [n for n in range(first + 1, len(self.lines)) if self.lines[n].rstrip() == "---"]
        if not ends:
            self.page.problem(first + 1, "the front matter is not closed", "end it with ---")
            return
        try:
            front = yaml.safe_load("\n".join(self.lines[first + 1 : ends[0]])) or {}
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = first + 2 + (mark.line if mark else 0)
            self.page.problem(line, "the front matter is not valid YAML", detail=str(error))
            front = {}
        if not isinstance(front, dict):
            self.page.problem(first + 1, "the front matter is not a mapping", "write key: value")
            front = {}
        self.page.front = {key: value for key, value in front.items() if key != "jupyter"}
        self._blank(first, ends[0] + 1)

    def _blank(self, begin: int, end: int) -> None:
        self.prose[begin:end] = [""] * (end - begin)

    def _fences(self) -> None:
        number = 0
        while number < len(self.lines):
            if not self.prose[number].strip():
                number += 1
                continue
            match = FENCE.match(self.lines[number])
            if match is None:
                if re.search(r"^\s*(?:[-*+>]|\d+[.)]).*?(```|~~~)", self.lines[number]):
                    self.page.problem(
                        number + 1,
                        "a fence has to begin its line",
                        "move the fence to its own line",
                    )
                number += 1
                continue
            ticks, indent = match["ticks"], match["indent"]
            if ticks[0] == "`" and "`" in match["info"]:
                number += 1  # an inline span with many ticks
                continue
            closing = re.compile(rf"^[ \t]*{re.escape(ticks[0])}{{{len(ticks)},}}[ \t]*$")
            end = next(
                (n for n in range(number + 1, len(self.lines)) if closing.match(self.lines[n])),
                None,
            )
            if end is None:
                self.page.shown += 1
                self.page.problem(number + 1, "this fence is not closed", f"end it with {ticks}")
                self._blank(number, len(self.lines))
                return
            if not self.lines[end].startswith(indent + ticks[0]):
                self.page.problem(
                    end + 1, "the closing fence is not in line with the opening one", "align it"
                )
            body = [self._dedent(line, indent) for line in self.lines[number + 1 : end]]
            self._fence(number, end, indent, match["info"], ticks, "\n".join([*body, ""]))
            number = end + 1

    @staticmethod
    def _dedent(line: str, indent: str) -> str:
        return line[len(indent) :] if line.startswith(indent) else line.lstrip()

    def _fence(self, number: int, end: int, indent: str, info: str, ticks: str, body: str) -> None:
        page, line = self.page, number + 1
        page.shown += 1
        language = info.strip().split(" ")[0]
        directives = self._directives_above(number)
        self._blank(number, end + 1)
        say = 'write ```python, alone or followed by title="…" or hl_lines="…"'
        if ticks[0] == "~":
            page.problem(line, "a ~~~ fence is never run", "write it with ```")
        elif info[:1].isspace():
            page.problem(line, "a fence with a space before its language is never run", say)
        elif not language:
            page.problem(line, "a fence without a language", "name it: ```python, ```text …")
        elif language.startswith("{") or (language.lower() in PYTHON_LIKE and language != "python"):
            page.problem(line, f"a fence marked {info.strip()!r} is never run", say)
        elif "--8<--" in body:
            self._listing(line, language, info, body)
        elif language == "python" and not ATTRIBUTES.fullmatch(info.removeprefix("python")):
            page.problem(line, f"a fence marked {info.strip()!r} is never run", say)
        elif self.page.is_lab and language == "python":
            page.problem(line, "a python fence in a lab", "make it a code cell: # %%")
        elif language == "python" or language in SHELL:
            if language in SHELL and info.strip() != language:
                page.problem(line, f"a fence marked {info.strip()!r}", f"write ```{language}")
            block = Block(line, line + 1, end, indent, body, language)
            self._apply(block, directives)
            page.blocks.append(block)
            return
        elif language not in PLAIN:
            page.problem(
                line,
                f"a fence in {language!r}, which is neither run nor known not to be code",
                f"use one of: python, {', '.join(sorted(PLAIN))}",
            )
        elif self._is_output(directives):
            self._output(Output(line, line + 1, end, indent, body), language)
            return
        else:
            self._plain(Plain(line, language, body))
        for place, word, _ in directives:
            page.problem(place + 1, f"<!--{word}--> belongs before a ```python block")

    @staticmethod
    def _is_output(directives: list[tuple[int, str, str]]) -> bool:
        return [word for _, word, _ in directives] == ["expected-output"]

    def _directives_above(self, number: int) -> list[tuple[int, str, str]]:
        """The comments between a fence and what stands above it, top first, taken off the page."""
        found: list[tuple[int, str, str]] = []
        above = number - 1
        while above >= 0:
            line = self.prose[above]
            match = COMMENT.match(line)
            if line.strip() and match is None:
                break
            if match is None and self.lines[above].strip():
                break
            if match is not None:
                body = match["body"]
                directive = DIRECTIVE.match(body)
                if directive is not None:
                    found.append((above, directive["word"], directive["rest"]))
                elif re.fullmatch(r"pytest-codeblocks\s*:\s*expected-output", body):
                    found.append((above, "expected-output", ""))
                elif body.startswith(("pytest-codeblocks", "pytest.mark")):
                    self._refuse(above, body)
                else:
                    break
                self.prose[above] = ""
            above -= 1
        return found[::-1]

    def _refuse(self, number: int, body: str) -> None:
        word = body.partition(":")[2].strip() or body
        remedy = {
            "cont": "blocks stand alone: repeat what this one needs",
            "skip": "write <!--proseproof: skip: the reason-->",
            "expected-output-ignore-whitespace": "write <!--pytest-codeblocks:expected-output-->",
        }.get(word, "write <!--proseproof: …--> (gpu, silent, skip: reason, raises Error)")
        self.page.problem(number + 1, f"<!--{body}--> is refused", remedy)

    def _apply(self, block: Block, directives: list[tuple[int, str, str]]) -> None:
        for number, word, rest in directives:
            if word == "gpu" and not rest:
                block.gpu = True
            elif word == "silent" and not rest:
                block.silent = True
            elif word == "skip" and rest:
                block.skip = rest
            elif word == "raises" and re.fullmatch(r"[\w.]+", rest):
                block.raises = rest
            elif word == "figure" and re.fullmatch(r"\S+ \S+", rest):
                name, path = rest.split(" ")
                block.figures.append((number + 1, name, path))
            elif word == "skip":
                self.page.problem(
                    number + 1,
                    "a skip without a reason",
                    "write <!--proseproof: skip: the reason-->",
                )
            else:
                self.page.problem(
                    number + 1,
                    f"<!--proseproof: {word} {rest}--> is not understood before a block",
                    "one of: gpu · silent · skip: reason · raises Error · figure name path",
                )

    def _listing(self, line: int, language: str, info: str, body: str) -> None:
        match = INCLUDE.match(body.strip())
        if language != "python" or match is None:
            self.page.problem(
                line,
                "a listing holds nothing but its include",
                '```python title="path", then one line --8<-- "path:name"',
            )
            return
        path = match["spec"].partition(":")[0]
        if f'title="{path}"' not in info:
            self.page.problem(line, "a listing says where it is from", f'add title="{path}"')
        self.page.listings.append(Listing(line, match["spec"]))

    def _output(self, output: Output, language: str) -> None:
        block = self.page.blocks[-1] if self.page.blocks and not self.page.is_lab else None
        between = range(block.last, output.line - 1) if block is not None else range(0)
        others: list[Listing | Plain] = [*self.page.listings, *self.page.plains]
        if (
            block is None
            or any(self.prose[n].strip() for n in between)
            or any(block.last <= other.line < output.line for other in others)
        ):
            self.page.problem(
                output.line,
                "an expected output with no block right above",
                "put it below its block",
            )
        elif block.output is not None:
            self.page.problem(output.line, "a second output for one block", "show it in one fence")
        elif language != "text":
            self.page.problem(output.line, f"an output in {language!r}", "write ```text")
        elif block.language != "python":
            self.page.problem(output.line, "an output below a shell block", "show a python block")
        else:
            block.output = output

    def _plain(self, plain: Plain) -> None:
        self.page.plains.append(plain)
        blocks = self.page.blocks
        if (
            plain.language == "text"
            and blocks
            and not self.page.is_lab
            and not any(self.lines[n].strip() for n in range(blocks[-1].last + 1, plain.line - 1))
        ):
            self.page.problem(
                plain.line,
                "a text fence right below a block, which nobody checks",
                "put <!--pytest-codeblocks:expected-output--> above it",
            )
        elif plain.language in ("text", "markdown") and _is_program(plain.text):
            self.page.problem(
                plain.line, "Python in a fence that is not run", "write ```python, or a listing"
            )

    def _comments(self) -> None:
        """Take the remaining comments off the page; those that would do nothing are reported."""
        text = "\n".join(self.prose)
        for match in re.finditer(r"<!--(.*?)(-->|\Z)", text, re.DOTALL):
            number = text.count("\n", 0, match.start())
            body = match[1].strip()
            directive = DIRECTIVE.match(body)
            if not match[2]:
                self.page.problem(number + 1, "this comment is not closed", "end it with -->")
            elif body.startswith(("pytest-codeblocks", "pytest.mark")):
                if body.endswith("expected-output"):
                    self.page.problem(number + 1, "an expected output without a ```text fence")
                else:
                    self._refuse(number, body)
            elif directive is not None and directive["word"] == "shapes":
                continue
            elif directive is not None or body.startswith("proseproof"):
                self.page.problem(
                    number + 1,
                    f"<!--{body}--> stands before nothing",
                    "put it right above its block",
                )
        kept = re.sub(
            r"<!--(?!\s*proseproof\s*:\s*shapes\b).*?(?:-->|\Z)",
            lambda match: "\n" * match[0].count("\n"),
            text,
            flags=re.DOTALL,
        )
        self.prose = kept.split("\n")

    def _tables(self) -> None:
        for number, line in enumerate(self.prose):
            match = COMMENT.match(line)
            directive = DIRECTIVE.match(match["body"]) if match else None
            if directive is None:
                continue
            self.prose[number] = ""
            rows: list[tuple[int, tuple[Span, ...]]] = []
            below = number + 1
            while below < len(self.prose) and not self.prose[below].strip():
                below += 1
            while below < len(self.prose) and self.prose[below].lstrip().startswith("|"):
                row = self._spans_of(self.prose[below], below + 1)
                rows.append((below + 1, tuple(row)))
                below += 1
            if len(rows) < 3 or not directive["rest"]:
                self.page.problem(
                    number + 1, "<!--proseproof: shapes EXPR--> needs a table right below it"
                )
                continue
            self.page.tables.append(Table(number + 1, directive["rest"], tuple(rows[2:])))

    def _indented_code(self) -> None:
        """Report text that Markdown shows as code because it is indented by four."""
        levels = [0]
        blank = True
        for number, line in enumerate(self.prose):
            if not line.strip():
                blank = True
                continue
            indent = len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
            while indent < levels[-1]:
                levels.pop()
            if CONTAINER.match(line):
                levels.append(indent + 1)
            elif blank and indent >= max(4, 4 * -(-levels[-1] // 4) + 4):
                self.page.problem(number + 1, "indented code, which nobody runs", "write a fence")
            blank = False

    def _spans_of(self, text: str, line: int) -> list[Span]:
        found: list[Span] = []
        rows: list[list[str]] = []
        end = 0
        for match in SPAN.finditer(text):
            marks = frozenset(re.findall(r"\.([\w-]+)", match["attrs"] or ""))
            place = line + text.count("\n", 0, match.start())
            words = " ".join(match["text"].split()).strip()
            between, before = text[end : match.start()], found[-1].text if found else ""
            if BETWEEN.fullmatch(between) and NUMBER.fullmatch(words) and NUMBER.fullmatch(before):
                rows[-1].append(words)
                rows.append(rows[-1])
            else:
                rows.append([words])
            subject = ""
            if words.startswith("(") and before.isidentifier() and SHAPE_OF.fullmatch(between):
                subject = before
            elif before.startswith("(") and words.isidentifier() and between.strip() == "的":
                found[-1] = replace(found[-1], subject=words)
            found.append(Span(place, words, marks, subject=subject))
            end = match.end()
        return [
            replace(span, row=tuple(row)) if len(row) > 1 else span
            for span, row in zip(found, rows, strict=True)
        ]

    def _prose(self) -> None:
        start: int | None = None
        anchors: dict[str, int] = {}
        for number, line in enumerate([*self.prose, ""]):
            if line.strip():
                start = number if start is None else start
                if not line.startswith("#"):
                    continue
            if start is not None:
                end = number if not line.strip() else number + 1
                self._paragraph("\n".join(self.prose[start:end]), start + 1)
                start = None
            heading = HEADING.match(line)
            if heading is not None:
                self._heading(number + 1, heading, anchors)

    def _heading(self, line: int, match: re.Match[str], anchors: dict[str, int]) -> None:
        anchor = re.search(r"#([\w-]+)", match["attrs"] or "")
        name = anchor[1] if anchor else ""
        if name in anchors and name:
            self.page.problem(line, f"the anchor #{name} is taken by line {anchors[name]}")
        anchors[name] = line
        self.page.headings.append(Heading(line, len(match["level"]), match["title"], name))

    def _paragraph(self, text: str, line: int) -> None:
        page = self.page
        page.spans += self._spans_of(text, line)
        bare = SPAN.sub(lambda match: re.sub(r"[^\n]", "x", match[0]), text)
        if re.search(r"(?<!\\)`", bare):
            place = line + bare[: bare.index("`")].count("\n")
            page.problem(place, "a code span that is not closed", "close it with a backtick")
        shown_code = re.search(r"<(pre|code)\b", bare)
        if shown_code:
            place = line + bare.count("\n", 0, shown_code.start())
            page.problem(place, f"<{shown_code[1]}> shows code that nobody runs", "write a fence")
        if "--8<--" in bare:
            place = line + bare.count("\n", 0, bare.index("--8<--"))
            page.problem(place, "an include outside a listing", "quote it in a ```python fence")
        for match in LINK.finditer(bare):
            place = line + bare.count("\n", 0, match.start())
            words = text[match.start("text") : match.end("text")]
            page.links.append(Link(place, words, match["target"], bool(match["figure"])))
            if not match["figure"]:  # a figure that is itself a link
                for inner in LINK.finditer(match["text"]):
                    page.links.append(Link(place, inner["text"], inner["target"], True))
        for number, one in enumerate(bare.split("\n")):
            reference = REFERENCE.match(one)
            if reference:
                page.links.append(Link(line + number, "", reference["target"], False))
            for tag in HTML_LINK.finditer(one):
                source = re.search(r'(?:href|src)="([^"]*)"', tag["attrs"])
                alt = re.search(r'alt="([^"]*)"', tag["attrs"])
                if source:
                    figure = tag["tag"] == "img"
                    words = alt[1] if alt else ""
                    page.links.append(Link(line + number, words, source[1], figure))

    def _figures(self) -> None:
        """Report a drawing that is not shown, and one that is shown and that no block draws."""
        page, folder = self.page, posixpath.dirname(self.page.path)
        drawn = {path: line for block in page.blocks for line, _, path in block.figures}
        shown = {
            posixpath.normpath(posixpath.join(folder, link.target)): link.line
            for link in page.links
            if link.figure and link.target.endswith(".svg") and ":" not in link.target
        }
        for path in drawn.keys() - shown.keys():
            place = posixpath.relpath(path, folder or ".")
            page.problem(drawn[path], f"{path} is drawn and not shown", f"![caption]({place})")
        for path in shown.keys() - drawn.keys():
            remedy = f"<!--proseproof: figure NAME {path}--> above the block that draws it"
            page.problem(shown[path], f"no block of this page draws {path}", remedy)

    def _sections(self) -> None:
        """Prose of each section, with the comments of its blocks but without code and outputs."""
        lines = list(self.prose)
        for block in self.page.blocks:
            for number, comment in _comments_in(block):
                lines[number - 1] = comment
        marks = [(heading.line, heading.anchor) for heading in self.page.headings]
        bounds = [(1, ""), *marks, (len(lines) + 1, "")]
        for (begin, anchor), (end, _) in pairwise(bounds):
            prose = "\n".join(line.strip() for line in lines[begin - 1 : end - 1] if line.strip())
            if prose or anchor:
                self.page.sections.append(Section(anchor, begin, prose))


def _is_program(text: str) -> bool:
    """True for text that parses as Python and does something."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return False
    kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.For)
    return any(isinstance(node, kinds) for node in body) or any(
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) for node in body
    )


def _comments_in(block: Block) -> list[tuple[int, str]]:
    if block.language != "python":
        return []
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(block.code).readline):
            if token.type == tokenize.COMMENT:
                found.append((block.first + token.start[0] - 1, token.string))
    except (tokenize.TokenError, SyntaxError):
        return found
    return found
