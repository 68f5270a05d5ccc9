"""Labs as pages like all the others: notebooks in percent format, shown with their record.

mkdocs-jupyter finds them; its HTML is left aside. A lab becomes Markdown, so that headings, code,
formulas, search and colours are the site's own. Nothing is run: what the cells show is recorded in
the repository, and the tests compare it. Only while serving does an edited lab run, in a process of
its own, and its page shows the new results when they are there.
"""

from __future__ import annotations

import ast
import html
import re
import subprocess
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jupytext
import nbformat

from proseproof import records
from proseproof.settings import Settings
from sitekit.notebooks import KERNEL, Notebook

# The width of a drawing that a phone may shrink to its own, and its words can still be read: beside
# the page's margins, and from edge to edge.
PHONE, EDGES = 400.0, 440.0
RUNS = ".cache/labs"


class LabError(Exception):
    """What a lab cannot be shown with; `line` is its line in the lab's file."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


@dataclass
class Lab:
    """A lab as Markdown, the figures that its placeholders stand for, and the notebook itself."""

    markdown: str
    figures: list[str] = field(default_factory=list)
    notebook: Notebook | None = None
    made: dict[str, str] = field(default_factory=dict)
    is_running: bool = False


@dataclass
class Runner:
    """Runs labs that were edited while the site is served, one process a lab."""

    root: Path
    running: dict[str, tuple[Path, subprocess.Popen[bytes]]] = field(default_factory=dict)

    def result(
        self, name: str, codes: Sequence[str], language: str
    ) -> tuple[records.Record | None, str]:
        """The record of these cells, once there is one, and what went wrong, if something did."""
        stem = "".join(map(records.code_hash, codes))
        file = self.root / RUNS / f"{records.code_hash(repr(stem))}.json"
        failed = file.with_suffix(".txt")
        if (record := _readable(file, language)) is not None:
            return record, ""
        if failed.is_file():
            return None, failed.read_text(encoding="utf-8")
        started = self.running.get(name)
        if started is None or started[0] != file:
            self.stop(name)
            command = [sys.executable, "-m", "proseproof", "update", f"docs/{name}"]
            process = subprocess.Popen(
                [*command, "--record-to", str(file)],
                cwd=self.root,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            self.running[name] = (file, process)
        return None, ""

    def stop(self, name: str = "") -> None:
        """End the process of one lab, or all of them."""
        for one in [name] if name else [*self.running]:
            if started := self.running.pop(one, None):
                started[1].terminate()
                started[1].wait()


def _readable(file: Path, language: str) -> records.Record | None:
    try:
        return records.read(file, language)
    except records.RecordError:
        return None


def read(path: Path) -> Notebook:
    """The lab as a notebook without outputs, its cells numbered so that two reads are the same."""
    notebook = jupytext.read(path)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
    return notebook


def line_of(text: str, part: str) -> int:
    """The line of `text` on which `part` begins, or 1 if it is not there."""
    return text.count("\n", 0, max(text.find(part), 0)) + 1


def load(path: Path, settings: Settings, inner: str, language: str, runner: Runner | None) -> Lab:
    """The lab with what is recorded for its cells.

    A record has both languages: both sides of a lab are the same program, but for its words, and a
    figure comes with its twin in the other language. With a runner, a lab whose code is not the
    recorded one is run.
    """
    text = path.read_text(encoding="utf-8")
    notebook = read(path)
    code_cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell in code_cells:
        try:
            ast.parse(cell.source)
        except SyntaxError as error:
            line = line_of(text, cell.source) + (error.lineno or 1) - 1
            raise LabError(line, f"SyntaxError: {error.msg}") from None
    codes = [cell.source for cell in code_cells]
    file = records.file_of(settings, inner)
    try:
        record = records.read(file, language)
    except records.RecordError as error:
        raise LabError(1, f"{error}; to mend: make update") from None
    is_running = False
    if record is None or not record.is_of(codes):
        if runner is None:
            name = file.relative_to(settings.root).as_posix()
            why = "is of other code" if record else "is missing"
            raise LabError(1, f"the record {name} {why}; to mend: make update")
        found, failure = runner.result(f"{language}/{inner}", codes, language)
        if failure:
            number, _, message = failure.partition("\n")
            raise LabError(int(number), message)
        is_running = found is None
        record = found or record or records.Record([])
    shown = [cell.outputs for cell in record.cells]
    if not record.is_of(codes):  # while it runs, what did not change keeps its results
        kept = {cell.code: cell.outputs for cell in record.cells}
        shown = [kept.get(records.code_hash(code), []) for code in codes]
    for cell, outputs in zip(code_cells, shown, strict=True):
        cell.outputs = [nbformat.from_dict(_spoken(output, language)) for output in outputs]
        cell.metadata = {}
    lab = _page(notebook, text)
    lab.made, lab.is_running = record.made, is_running
    return lab


def _spoken(output: dict[str, Any], language: str) -> dict[str, Any]:
    """The output, with a figure's twin in its place if that speaks the page's language."""
    data = output.get("data")
    if data is None:
        return output
    data = dict(data)
    twin = data.pop("application/vnd.headwise.twin+json", None)
    if twin and twin["lang"] == language:
        data |= {"image/svg+xml": twin["svg"], "text/plain": twin["alt"]}
    return output | {"data": data}


def _page(notebook: Notebook, text: str) -> Lab:
    parts: list[str] = []
    figures: list[str] = []
    for cell in notebook.cells:
        if cell.cell_type != "code":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            drawn = _shown(output, line_of(text, cell.source))
            if drawn.startswith("<figure"):
                parts.append(f'<div data-figure="{len(figures)}"></div>')
                figures.append(drawn)
            elif drawn:
                parts.append(f"```text\n{drawn}\n```")
    notebook.metadata = {"kernelspec": dict(KERNEL)}
    notebook.cells = [cell for cell in notebook.cells if cell.cell_type != "raw"]
    return Lab("\n\n".join(parts), figures, notebook)


def _shown(output: Any, line: int) -> str:
    """An output as the text of a fence, or as a `<figure>`."""
    if output.output_type == "stream":
        return str(output.text).rstrip()
    data = output.data
    if "image/svg+xml" in data:
        svg = data["image/svg+xml"]
        if 'role="img"' not in svg:
            raise LabError(line, "a figure without a text alternative: use headwise.drawing.plot")
        return _figure(svg)
    if any(kind.startswith("image/") for kind in data):
        raise LabError(line, "a picture made of pixels: draw it with headwise.drawing.plot, as SVG")
    return html.unescape(str(data.get("text/plain", ""))).rstrip()


def _figure(svg: str) -> str:
    """The drawing as large as can be read; maps that stand side by side also one by one."""
    said = re.search(r' width="([\d.]+)', svg)
    width = float(said[1]) if said else PHONE
    if width <= PHONE:
        return f'<figure class="plot" style="--width: {width:g}">{svg}</figure>'
    maps = _maps(svg)
    if len(maps) > 1:
        # What is drawn once is shown again, a map at a time: the page grows by a line for each.
        name = f"maps-{zlib.crc32(svg.encode()):x}"
        svg = re.sub(r"(</title>)(.*)(</svg>)", rf'\1<g id="{name}">\2</g>\3', svg, flags=re.S)
        look = " ".join(
            re.findall(r'\b(?:fill|font-family|font-size)="[^"]+"', svg.partition(">")[0])
        )
        for left, top, wide, high in maps:
            place = f"{left:g} {top:g} {wide:g} {high:g}"
            svg += f'<svg class="map" viewBox="{place}" {look} aria-hidden="true">'
            svg += f'<use href="#{name}"/></svg>'
        size = f"--width: {width:g}; --map: {maps[0][2]:g}"
        return f'<figure class="plot wide maps" style="{size}">{svg}</figure>'
    kind = "broad" if width <= EDGES else "wide"
    return f'<figure class="plot {kind}" style="--width: {width:g}">{svg}</figure>'


def _maps(svg: str) -> list[tuple[float, float, float, float]]:
    """Left, top, width and height of each of the heat maps, which share the drawing evenly."""
    size = re.search(r' viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    # A map is an image; one that is a single pixel wide is the scale beside it.
    images = re.findall(r'<image [^>]*?\bwidth="(?!1")[^>]*? transform="matrix\(([^)]*)\)', svg)
    corners = [tuple(map(float, one.split()[4:])) for one in images]
    lefts, tops = ({corner[axis] for corner in corners} for axis in (0, 1))
    if size is None or len(lefts) < 2:
        return []
    wide, high = float(size[1]) / len(lefts), float(size[2]) / len(tops)
    return [(left // wide * wide, top // high * high, wide, high) for left, top in corners]
