"""Labs: notebooks in percent format, executed once and turned into pages like all the others.

mkdocs-jupyter finds them and executes them. Its HTML is left aside: a lab becomes Markdown, so that
headings, code, formulas, search and colours are the site's own.
"""

from __future__ import annotations

import ast
import html
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urljoin

import jupytext
import nbformat
from mkdocs_jupyter.convert import get_nbconvert_app
from nbclient.exceptions import CellExecutionError
from nbconvert.exporters import NotebookExporter

from proseproof.lab_runner import outputs_file

Notebook = Any  # nbformat's nodes carry no types
PHONE = 400.0  # the width of a drawing that a phone may shrink to its own, and its words still read
_KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


class LabError(Exception):
    """A cell that raised, or showed what a page cannot; `line` is its line in the lab's file."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


@dataclass
class Lab:
    """A lab as Markdown, the figures that its placeholders stand for, and the notebook itself."""

    markdown: str
    figures: list[str]
    notebook: str


def read(path: Path) -> Notebook:
    """The lab as a notebook without outputs, its cells numbered so that two reads are the same."""
    notebook = jupytext.read(path)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
    return notebook


def execute(notebook: Notebook, text: str) -> list[list[Any]]:
    """The outputs of each code cell, from a fresh kernel."""
    app = get_nbconvert_app(execute=True, kernel_name="python3", allow_errors=False)
    app.config.KernelManager.transport = "ipc"  # a file, not a port that others could reach
    with TemporaryDirectory() as folder:
        app.config.KernelManager.ip = f"{folder}/kernel"
        try:
            body, _ = NotebookExporter(config=app.config).from_notebook_node(notebook)
        except CellExecutionError as error:
            raise LabError(*_place(notebook, text, error)) from None
    cells = nbformat.reads(body, as_version=4).cells
    return [_joined(cell.outputs) for cell in cells if cell.cell_type == "code"]


def _joined(outputs: list[Any]) -> list[Any]:
    """The outputs of a cell, with what it printed in one piece, however slowly it came."""
    joined: list[Any] = []
    for output in outputs:
        last = joined[-1] if joined else {}
        if output.output_type == "stream" and last.get("name") == output.name:
            last["text"] += output.text
        else:
            joined.append(output)
    return joined


def _place(notebook: Notebook, text: str, error: CellExecutionError) -> tuple[int, str]:
    """The line of the lab at which a cell raised, and what it said."""
    traceback = re.sub(r"\x1b\[[\d;]*m", "", error.traceback)
    reason = f"{error.ename}: {error.evalue}"
    match = re.search(r"Cell In\[(\d+)\], line (\d+)", traceback)
    if match is None:
        return 1, reason
    cell = [c for c in notebook.cells if c.cell_type == "code"][int(match[1]) - 1]
    return line_of(text, cell.source) + int(match[2]) - 1, reason


def line_of(text: str, part: str) -> int:
    """The line of `text` on which `part` begins, or 1 if it is not there."""
    return text.count("\n", 0, max(text.find(part), 0)) + 1


def load(path: Path, root: Path, say: Callable[[str], None], language: str) -> Lab:
    """The lab, executed unless a build or the proofs kept what its code and imports give.

    What is kept knows no language: both sides of a lab have the same code, and a figure comes with
    its twin in the other language.
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
    stored = outputs_file(root, [cell.source for cell in code_cells])
    if not stored.exists():
        say(f"Running the lab {path.name} …")
        outputs = execute(notebook, text)
        stored.parent.mkdir(parents=True, exist_ok=True)
        stored.write_text(json.dumps(outputs), encoding="utf-8")
    for cell, shown in zip(code_cells, json.loads(stored.read_text(encoding="utf-8")), strict=True):
        cell.outputs = [nbformat.from_dict(_spoken(output, language)) for output in shown]
        cell.metadata = {}
    return _page(notebook, text)


_BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n"
    r"(?:\s*<!--pytest-codeblocks:expected-output[\w-]*-->\n```text\n.*?^```\n)?",
    re.M | re.S,
)


def from_page(markdown: str) -> str:
    """A page as a notebook: its blocks as cells, without their outputs, for the reader to run."""
    cells = []
    for number, part in enumerate(_BLOCK.split(markdown)):
        new = nbformat.v4.new_code_cell if number % 2 else nbformat.v4.new_markdown_cell
        if part.strip():
            cells.append(new(part.strip(), id=f"cell-{number}"))
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": dict(_KERNEL)})
    return f"{nbformat.writes(notebook)}\n"


def for_readers(notebook: str, page: str, repository: str) -> str:
    """The notebook as it is downloaded: it runs anywhere, and its links lead back to the site.

    `page` is the address of the page that it was made from.
    """
    book = nbformat.reads(notebook, as_version=4)
    for cell in book.cells:
        if cell.cell_type == "markdown":
            cell.source = _plain(cell.source, page)
    install = (
        f"try:\n    import headwise\nexcept ImportError:\n    %pip install -q git+{repository}"
    )
    book.cells.insert(1, nbformat.v4.new_code_cell(install, id="install"))  # under the title
    return f"{nbformat.writes(book)}\n"


def _plain(text: str, page: str) -> str:
    """Markdown as notebooks know it: no anchors, no marks, no comments."""
    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.S)
    text = re.sub(r" ?\{[#.][^}\n]*\}", "", text)

    def absolute(match: re.Match[str]) -> str:
        target = re.sub(r"\.(md|py)(?=#|$)", ".html", match[1])
        return f"]({urljoin(page, target)})"

    return re.sub(r"\]\(([^)\s]+)\)", absolute, text).strip()


def _spoken(output: dict[str, Any], language: str) -> dict[str, Any]:
    """The output, with a figure's twin in its place if that speaks the page's language."""
    data = output.get("data", {})
    twin = data.pop("application/vnd.headwise.twin+json", None)
    if twin and twin["lang"] == language:
        data |= {"image/svg+xml": twin["svg"], "text/plain": twin["alt"]}
    return output


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
    notebook.metadata = {"kernelspec": dict(_KERNEL)}
    notebook.cells = [cell for cell in notebook.cells if cell.cell_type != "raw"]
    return Lab("\n\n".join(parts), figures, nbformat.writes(notebook) + "\n")


def _shown(output: Any, line: int) -> str:
    """An output as the text of a fence, or as a `<figure>`."""
    if output.output_type == "stream":
        return str(output.text).rstrip()
    data = output.data
    if "image/svg+xml" in data:
        svg = data["image/svg+xml"]
        if 'role="img"' not in svg:
            raise LabError(line, "a figure without a text alternative: use headwise.plot")
        said = re.search(r' width="([\d.]+)', svg)
        width = float(said[1]) if said else PHONE
        kind = "plot wide" if width > PHONE else "plot"
        return f'<figure class="{kind}" style="--width: {width:g}">{svg}</figure>'
    if any(kind.startswith("image/") for kind in data):
        raise LabError(line, "a picture made of pixels: draw it with headwise.plot, as SVG")
    return html.unescape(str(data.get("text/plain", ""))).rstrip()
