"""Two tables beside each other, a wrong one and the right one, with the difference marked."""

import math
import unicodedata
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from headwise._check import check_flags, show
from headwise.drawing.checks import check_tensor, real_numbers, strings
from headwise.drawing.figure import Figure, with_twin
from headwise.drawing.rounding import two_decimals
from headwise.drawing.sheet import BOLD, NORMAL, WIDTH, Sheet
from headwise.drawing.words import choose, in_chinese, paragraph

HEIGHT = 24.0  # of a row
GAP = 16.0  # between the tables
TITLE = 20.0  # the room that a table's title takes
FULL, FLAT = 0.5, 0.2  # how much of the hue the largest weight has, and a whole number
SUM = "Σ"

WORDS = {
    "en": {
        "judged": "Wrong beside right",
        "claimed": "What is said beside what is measured",
        "wrong": "✗ wrong",
        "right": "✓ right",
        "said": "✗ said",
        "measured": "✓ measured",
        "holds": "{}: {}",
        "row": "{}: {}",
        "marked": "orange marks {} of the {} cells",
    },
    "zh": {
        "judged": "错误与正确的对照",
        "claimed": "说法与实测的对照",
        "wrong": "✗ 错误",
        "right": "✓ 正确",
        "said": "✗ 说法",
        "measured": "✓ 实测",
        "holds": "{}，{}",
        "row": "{}：{}",
        "marked": "标成橙色的有 {} 格，共 {} 格",
    },
}


@with_twin
def beside(
    wrong: Tensor,
    right: Tensor,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    *,
    marked: Tensor | None = None,
    sums: bool = False,
    claim: bool = False,
    zh: Mapping[str, str] | None = None,
    lang: str = "en",
) -> Figure:
    """Two tables (rows, columns) beside each other, with cells of the wrong one marked in orange.

    Numbers show two decimals, the larger the more colour; whole numbers and booleans show as they
    are. NaN may be in the wrong one. If the tables are too wide, one stands above the other.
    rows, columns: their names, by default counted from 0.
    marked: which cells are marked, True or False each; by default those that differ.
    sums: show the sum of each row behind it.
    claim: the wrong one is what is said, the right one what is measured.
    zh: what the names are in Chinese, where that is something else.
    """
    words = choose(WORDS, lang)
    check_flags(sums=sums, claim=claim)
    found, expected = _numbers(wrong, right)
    if marked is None:
        marked = (found - expected).abs().nan_to_num(nan=1.0) > 1e-6
    check_tensor("marked", marked)
    if marked.dtype != torch.bool or marked.shape != found.shape:
        raise ValueError(
            f"marked: got {marked.dtype} of shape {show(marked.shape)}, "
            f"expected True or False for each of {show(found.shape)}"
        )
    marked = real_numbers("marked", marked) > 0
    whole = not (wrong.is_floating_point() or right.is_floating_point())
    chinese, down, across = in_chinese(zh, "zh"), *found.shape
    labels = [str(i) for i in range(down)] if rows is None else strings("rows", rows, down)
    heads = [str(j) for j in range(across)]
    heads = heads if columns is None else strings("columns", columns, across)
    heads = [*heads, *[SUM] * sums]
    tables = [_texts(table, sums, whole) for table in (found, expected)]
    # Room for the names of either language, so that both get the same drawing.
    texts = [text for table in tables for row in table for text in row]
    need = max(16.0, *(_width(text) + 3 for text in texts))
    need = max(need, *(_width(name) + 7 for name in _both(heads, chinese)))
    left = max(map(_width, _both(labels, chinese))) + 8
    if left + len(heads) * need > WIDTH - 1:
        raise ValueError(
            f"wrong: got shape {show(wrong.shape)}, expected fewer or narrower columns: "
            "they do not fit"
        )
    if lang == "zh":
        labels, heads = ([chinese.get(name, name) for name in names] for names in (labels, heads))
    is_level = left + 2 * len(heads) * need + GAP <= WIDTH - 1
    room = (WIDTH - 1 - left - GAP) / 2 if is_level else WIDTH - 1 - left
    cell = min(max(40.0, need), room / len(heads))

    names = ("said", "measured") if claim else ("wrong", "right")
    most = max(expected.abs().max().item(), found.nan_to_num().abs().max().item()) or 1.0
    sheet, sentences, x, y = Sheet(), [], left, 0.0
    for name, numbers, table, orange in zip(
        names, (found, expected), tables, (marked, marked & False), strict=True
    ):
        sheet.text(x, y + 8, words[name], **BOLD)
        for j, head in enumerate(heads):
            sheet.text(x + (j + 0.5) * cell, y + TITLE + 8, head, fill_opacity=0.75)
        top = y + 2 * TITLE
        if name == names[0] or not is_level:
            for i, label in enumerate(labels):
                middle = top + (i + 0.5) * HEIGHT
                sheet.text(left - 6, middle, label, text_anchor="end", fill_opacity=0.75)
        fill = torch.full_like(numbers, FLAT) if whole else FULL * numbers.nan_to_num().abs() / most
        _cells(sheet, x, top, cell, fill, orange, table)
        told = words["semicolon"].join(
            words["row"].format(label, " ".join(row))
            for label, row in zip(labels, table, strict=True)
        )
        sentences.append(words["holds"].format(words[name][2:], told))
        x, y = (x + room + GAP, y) if is_level else (x, top + down * HEIGHT + GAP)
    title = words["claimed" if claim else "judged"]
    marks = words["marked"].format(int(marked.sum()), marked.numel())
    return sheet.figure(title, paragraph([title, *sentences, marks], words), lang)


def _cells(
    sheet: Sheet,
    left: float,
    top: float,
    cell: float,
    fill: Tensor,
    marked: Tensor,
    texts: list[list[str]],
) -> None:
    """A frame for each of (rows, columns), and the texts, of which a row may have one more."""
    places = [(i, j) for i in range(fill.size(0)) for j in range(fill.size(1))]
    # What is marked comes last, so that no other frame hides its own.
    for i, j in sorted(places, key=lambda place: bool(marked[place])):
        hue, stroke = ("orange", 2.0) if marked[i, j] else ("blue", 1.0)
        look = {"rx": 0, "fill_opacity": round(fill[i, j].item(), 3), "stroke_width": stroke}
        sheet.box(left + j * cell, top + i * HEIGHT, cell, HEIGHT, hue, **look)
    for i, row in enumerate(texts):
        for j, text in enumerate(row):
            sheet.text(left + (j + 0.5) * cell, top + (i + 0.5) * HEIGHT, text)


def _numbers(wrong: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """Both tables as numbers of one shape; NaN stays, in the wrong one."""
    for name, table in (("wrong", wrong), ("right", right)):
        check_tensor(name, table)
        if table.dim() != 2:
            raise ValueError(f"{name}: got shape {show(table.shape)}, expected (rows, columns)")
    if wrong.shape != right.shape:
        raise ValueError(
            f"right: got shape {show(right.shape)}, expected that of wrong, {show(wrong.shape)}"
        )
    missing = wrong.isnan() if wrong.is_floating_point() else torch.zeros_like(wrong).bool()
    found = real_numbers("wrong", wrong.masked_fill(missing, 0))
    return found.masked_fill(missing.cpu(), torch.nan), real_numbers("right", right)


def _both(names: list[str], chinese: Mapping[str, str]) -> list[str]:
    """The names, and what they are in Chinese."""
    return [*names, *(chinese[name] for name in names if name in chinese)]


def _texts(table: Tensor, sums: bool, whole: bool) -> list[list[str]]:
    """What stands in each cell, and the sum of its row if that is asked for."""
    if sums:
        table = torch.cat([table, table.sum(dim=-1, keepdim=True)], dim=-1)
    return [[_text(number, whole) for number in row] for row in table.tolist()]


def _text(number: float, whole: bool) -> str:
    if math.isnan(number):
        return "NaN"
    return f"{number:.0f}" if whole or number == 0 else two_decimals(number)


def _width(text: str) -> float:
    """About how wide the text is: a Chinese character is as wide as it is high."""
    wide = sum(unicodedata.east_asian_width(sign) in "WF" for sign in text)
    return NORMAL * (wide + 0.64 * (len(text) - wide) - 0.32 * text.count("."))
