"""Notebooks for readers: every page with blocks, and every lab, to download or open in Colab."""

from __future__ import annotations

import re
from textwrap import dedent
from typing import Any
from urllib.parse import urljoin

import nbformat

Notebook = Any  # nbformat's nodes carry no types
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}

_BLOCK = re.compile(
    r"^(?P<ticks>`{3,})python\n(?P<code>.*?)^(?P=ticks)\n"
    r"(?:\s*<!--pytest-codeblocks:expected-output[\w-]*-->\n+```text\n.*?^```\n)?",
    re.M | re.S,
)
_FOLD = re.compile(
    r'^(?:\?\?\?\+?|!!!|===) *(?P<kind>[\w-]*)[\w -]*(?:"(?P<title>[^"]*)")?[ \t]*\n'
    r"(?P<body>(?:\n|(?: {4}|\t).*\n)+)",
    re.M,
)
# Readers guess what is in these before they unfold them; an output in one is the cell's own.
_GUESSED = ("question", "success")
_INSTRUMENT = re.compile(
    r'<div class="instrument"(?P<said>[^>]*)>\s*(?P<figure>!\[.*?)\s*</div>', re.S
)
_OUTPUT = re.compile(
    r"\A\s*<!--pytest-codeblocks:expected-output[\w-]*-->\n+```text\n.*?^```\n", re.M | re.S
)


def from_page(markdown: str) -> Notebook | None:
    """A page as a notebook, its blocks as cells without outputs; None when it has no block."""
    unfolded = _unfolded(f"{markdown}\n")
    if not _BLOCK.search(unfolded):
        return None
    cells = []
    for number, part in enumerate(_BLOCK.split(unfolded)):  # text, ticks, code, text, ticks, …
        if number % 3 == 1:
            continue
        new = nbformat.v4.new_code_cell if number % 3 else nbformat.v4.new_markdown_cell
        if part.strip():
            cells.append(new(part.strip(), id=f"cell-{number}"))
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": dict(KERNEL)})


def _unfolded(markdown: str) -> str:
    """The page without folds and boxes, which a notebook does not know: their blocks run too.

    What readers guess first stays folded as HTML, but for its blocks.
    """

    def opened(match: re.Match[str]) -> str:
        body = dedent(match["body"]).lstrip("\n")
        if match["kind"] not in _GUESSED or not match["title"]:
            return (f"**{match['title']}**\n\n" if match["title"] else "") + body
        body, parts, end = _OUTPUT.sub("", body), [], 0
        for block in _BLOCK.finditer(body):
            parts += [_hidden(match["title"], body[end : block.start()]), block[0]]
            end = block.end()
        return "\n".join([*parts, _hidden(match["title"], body[end:])])

    while _FOLD.search(markdown):
        markdown = _FOLD.sub(opened, markdown)
    return markdown


def _hidden(title: str, text: str) -> str:
    """The text folded under its title, as notebooks know it; nothing if it says nothing."""
    if not re.sub(r"<!--.*?-->", "", text, flags=re.S).strip():
        return text
    return f"<details><summary>{title}</summary>\n\n{text.strip()}\n\n</details>\n\n"


def for_readers(notebook: Notebook, page: str, repository: str) -> str:
    """The notebook as it is downloaded: it runs anywhere, and its links lead back to the site.

    `page` is the address of the page that it was made from.
    """
    book = nbformat.from_dict(notebook)
    for cell in book.cells:
        if cell.cell_type == "markdown":
            cell.source = _plain(cell.source, page)
    install = _install([cell.source for cell in book.cells if cell.cell_type == "code"], repository)
    book.cells.insert(0, nbformat.v4.new_code_cell(install, id="install"))
    return f"{nbformat.writes(book)}\n"


def _install(code: list[str], repository: str) -> str:
    """The first cell: what the others need, unless it is there."""
    needed = {"headwise": f"headwise[drawing,models] @ git+{repository}"}
    if any("proseproof" in one for one in code):
        needed["proseproof"] = f"proseproof @ git+{repository}#subdirectory=src/proseproof"
    lines = ["try:", f"    import {', '.join(needed)}", "except ImportError:"]
    return "\n".join([*lines, *(f'    %pip install -q "{one}"' for one in needed.values())])


def _plain(text: str, page: str) -> str:
    """Markdown as notebooks know it: no anchors, no marks, no comments."""
    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.S)
    text = re.sub(r" ?\{ ?(?:[#.]|of=)[^}\n]*\}", "", text)

    def absolute(match: re.Match[str]) -> str:
        target = re.sub(r"\.(md|py)(?=#|$)", ".html", match[1])
        return f"]({urljoin(page, target)})"

    def still(match: re.Match[str]) -> str:
        """An instrument's figure, with a link to where it can be handled in place of its button."""
        button = re.search(r'data-button="([^"]+)"', match["said"])
        figure = match["figure"]
        return f"{figure}\n\n[{button[1]}]({page})" if button else f"[{figure}]({page})"

    text = re.sub(r"\]\(([^)\s]+)\)", absolute, text).strip()
    return _INSTRUMENT.sub(still, text)
