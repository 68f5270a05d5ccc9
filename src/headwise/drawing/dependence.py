"""Tables of what depends on what, or sees what: a row for each one, filled where it does."""

from collections.abc import Mapping
from itertools import pairwise

import torch
from torch import Tensor

from headwise._check_tensors import check_shape
from headwise.drawing.checks import check_kind, check_tensor, check_text
from headwise.drawing.figure import Figure, with_twin
from headwise.drawing.sheet import BOLD, SMALL, WIDTH, Sheet, hue_of
from headwise.drawing.words import choose, in_chinese, paragraph, renamed

LEFT, GAP = 26.0, 22.0  # the room for the numbers of the rows, and between two tables

WORDS = {
    "en": {
        "title": "Filled cells: {} with {}",
        "axes": "{} down, {} across",
        "row": "{} {}: {}",
        "run": "{} to {}",
        "none": "none",
    },
    "zh": {
        "title": "填色的格子：{}与{}",
        "axes": "竖着是{}，横着是{}",
        "row": "{} {}：{}",
        "run": "{} 到 {}",
        "none": "无",
    },
}


@with_twin
def dependence(
    tables: Mapping[str, Tensor],
    rows: str,
    columns: str,
    *,
    zh: Mapping[str, str] | None = None,
    lang: str = "en",
) -> Figure:
    """The named boolean tables (row, column), all of one shape, filled where they are True.

    rows, columns: what a row and a column is. Both are counted from 0. The tables are side by side
    where they fit, and otherwise below one another.
    zh: what the names, the rows and the columns are in Chinese, where that is something else.
    """
    words = choose(WORDS, lang)
    check_kind("tables", tables, Mapping, "a mapping of names to tables")
    if not tables:
        raise ValueError("tables: got none, expected at least one")
    shape = None
    for table in tables.values():
        check_tensor("tables", table)
        check_shape("tables", table, shape or ("row", "column"))
        shape = tuple(table.shape)
        if table.dtype != torch.bool or table.numel() == 0:
            raise ValueError(f"tables: got {table.dtype}, {shape}, expected True and False")
    for name, text in (("rows", rows), ("columns", columns)):
        check_text(name, text)
    width = next(iter(tables.values())).size(1)
    down, across = (in_chinese(zh, lang).get(word, word) for word in (rows, columns))

    beside = (WIDTH - GAP * (len(tables) - 1)) / len(tables) - LEFT
    stacked = beside < 12 * width
    cell = min(22.0, ((WIDTH - LEFT - 6) if stacked else beside) / width)
    high = max(cell, 14.0)
    if cell < 6:
        raise ValueError(f"tables: got {width} columns, expected fewer: they do not fit")
    sheet = Sheet()
    axes = words["axes"].format(down, across)
    sentences = [words["title"].format(down, across)]
    left = top = 0.0
    for i, (name, table) in enumerate(renamed("tables", tables, zh, lang).items()):
        sheet.text(left, top + 8, name, **BOLD)
        y, x = top + 40, left + LEFT
        told = []
        for column in range(width):
            if cell >= 12 or column in (0, width - 1):
                sheet.text(x + (column + 0.5) * cell, y - 9, str(column), SMALL)
        for row, line in enumerate(table.tolist()):
            sheet.text(x - 8, y + (row + 0.5) * high, str(row), SMALL, text_anchor="end")
            for column, filled in enumerate(line):
                look = {"fill_opacity": 0.5 * filled, "stroke_opacity": 0.3 + 0.5 * filled}
                place = (x + column * cell, y + row * high, cell - 1, high - 1)
                sheet.box(*place, hue_of(i), **look, rx=1)
            told.append(words["row"].format(down, row, _runs(line, words)))
        sentences.append(name + words["colon"] + words["semicolon"].join(told))
        if stacked:
            top = sheet.height + 14
        else:
            left += LEFT + width * cell + GAP
    sheet.text(0, sheet.height + 12, axes, SMALL, text_anchor="start")
    return sheet.figure(sentences[0], paragraph(sentences, words), lang)


def _runs(line: list[bool], words: dict[str, str]) -> str:
    """Where the line is True, neighbours together: 0, 4 to 7."""
    edges = [i for i, (a, b) in enumerate(pairwise([False, *line, False])) if a != b]
    runs = [(start, end - 1) for start, end in zip(edges[::2], edges[1::2], strict=True)]
    told = [words["run"].format(a, b) if a < b else str(a) for a, b in runs]
    return words["item"].join(told) or words["none"]
