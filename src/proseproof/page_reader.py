"""Reading a page: a Markdown file, or a lab in percent format."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import yaml  # type: ignore[import-untyped]

from proseproof.page import WORDS, Block, Page
from proseproof.page_fences import FenceReader
from proseproof.page_prose import ProseReader


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
        return _fill(Page(path, text, is_lab=True), *_lab(text))
    return _fill(Page(path, text), text.split("\n"), [])


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


def _fill(page: Page, lines: list[str], cells: list[Block]) -> Page:
    """The page with everything that its lines hold."""
    prose = list(lines)
    page.blocks += cells
    page.shown = len(cells)
    _front_matter(page, lines, prose)
    FenceReader(page, lines, prose).read()
    ProseReader(page, prose).read()
    page.blocks.sort(key=lambda block: block.line)
    page.findings.sort()
    return page


def _front_matter(page: Page, lines: list[str], prose: list[str]) -> None:
    """Read the front matter, and leave nothing of it in `prose` but the words that readers see."""
    first = next((n for n, line in enumerate(lines) if line.strip()), None)
    if first is None or lines[first].rstrip() != "---":
        return
    if not page.is_lab and first != 0:
        return
    ends = [n for n in range(first + 1, len(lines)) if lines[n].rstrip() == "---"]
    if not ends:
        page.problem(first + 1, "the front matter is not closed", "end it with ---")
        return
    try:
        front = yaml.safe_load("\n".join(lines[first + 1 : ends[0]])) or {}
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = first + 2 + (mark.line if mark else 0)
        page.problem(line, "the front matter is not valid YAML", detail=str(error))
        front = {}
    if not isinstance(front, dict):
        page.problem(first + 1, "the front matter is not a mapping", "write key: value")
        front = {}
    page.front = {key: value for key, value in front.items() if key != "jupyter"}
    prose[first : ends[0] + 1] = [""] * (ends[0] + 1 - first)
    for name in WORDS:
        if isinstance(said := page.front.get(name), str):
            places = [n for n in range(first, ends[0]) if re.match(rf"{name}\s*:", lines[n])]
            place = places[0] if places else first
            prose[place] = " ".join(said.split())
            page.front_lines[place + 1] = name
