"""Splitting into heads and merging them, right and wrong, number by number."""

import torch
from torch import Tensor

from headwise._check import check_divides, show
from headwise._check_tensors import check_shape
from headwise.drawing.checks import check_tensor, real_numbers
from headwise.drawing.figure import Figure, with_twin
from headwise.drawing.sheet import BOLD, WIDTH, Sheet, hue_of
from headwise.drawing.words import choose, paragraph

LABELS = 58.0  # the room that the names of rows take
GAP = 14.0  # between the pieces of a token
MARKS = {"right": "✓ ", "wrong": "✗ "}

WORDS = {
    "en": {
        "splitting": "Splitting into {} heads, right and wrong",
        "merging": "Merging {} heads, right and wrong",
        "right": "right",
        "wrong": "wrong",
        "verdict": "{}: {}",
        "head": "head {}",
        "token": "token {}",
        "holds": "{} holds {}",
    },
    "zh": {
        "splitting": "拆成 {} 个头：正确与错误",
        "merging": "合并 {} 个头：正确与错误",
        "right": "正确",
        "wrong": "错误",
        "verdict": "{}的做法，{}",
        "head": "第 {} 头",
        "token": "词元 {}",
        "holds": "{}：{}",
    },
}


@with_twin
def split(x: Tensor, num_heads: int, *, lang: str = "en") -> Figure:
    """Where each number of x (1, seq_len, d_model) goes when heads are split, right and wrong.

    A token has one colour all the way. Right is view and transpose; wrong is a reshape straight
    to the final shape.
    """
    words = choose(WORDS, lang)
    check_tensor("x", x)
    check_shape("x", x, (1, "seq_len", "d_model"))
    check_divides(num_heads, x.size(2))
    x = real_numbers("x", x)
    _, seq_len, d_model = x.shape
    d_k = d_model // num_heads
    owners = torch.arange(seq_len)[None, :, None].expand_as(x)
    cell = _cell(d_model, num_heads)
    pieces, direct = (1, seq_len, num_heads, d_k), (1, num_heads, seq_len, d_k)
    cut, cut_owners = x.reshape(pieces), owners.reshape(pieces)

    sheet = Sheet()
    bottom = _tokens(sheet, 0.0, f"x {show(x.shape)}", x[:, :, None], owners[:, :, None], words)
    middle = LABELS + d_model * cell / 2
    sheet.arrow((middle, bottom + 4), (middle, bottom + 30))
    sheet.text(middle + 7, bottom + 16, f"view{show(pieces)}", text_anchor="start")
    top = _tokens(sheet, bottom + 16, "", cut, cut_owners, words) + 4
    half, edge, beside = d_k * cell / 2, WIDTH - 4, bottom / 2 + 10
    sheet.arrow((half, top), (half, top + 34))
    from_x = (LABELS + d_model * cell + 4, beside), (edge, beside), (edge, top + 14)
    sheet.arrow(*from_x, (180 + half, top + 14), (180 + half, top + 34))

    title = words["splitting"].format(num_heads)
    sentences = [title]
    straight = f"reshape{show(direct)}"
    for left, verdict, code, numbers, owned in (
        (1.0, "right", "transpose(1, 2)", cut.transpose(1, 2), cut_owners.transpose(1, 2)),
        (180.0, "wrong", straight, x.reshape(direct), owners.reshape(direct)),
    ):
        sheet.text(left, top + 46, MARKS[verdict] + words[verdict], **BOLD)
        sheet.text(left, top + 64, code, text_anchor="start")
        _heads(sheet, left, top + 76, cell, numbers, owned, words)
        sentences.append(words["verdict"].format(words[verdict], _told(numbers[0], words, "head")))
    return sheet.figure(title, paragraph(sentences, words), lang)


@with_twin
def merge(x: Tensor, *, lang: str = "en") -> Figure:
    """Where each number of x (1, num_heads, seq_len, d_k) goes when heads are merged.

    A token has one colour all the way. Right is transpose and reshape; wrong leaves the transpose
    out.
    """
    words = choose(WORDS, lang)
    check_tensor("x", x)
    check_shape("x", x, (1, "num_heads", "seq_len", "d_k"))
    x = real_numbers("x", x)
    _, num_heads, seq_len, d_k = x.shape
    owners = torch.arange(seq_len)[None, None, :, None].expand_as(x)
    joined = (1, seq_len, num_heads * d_k)
    cell = _cell(num_heads * d_k, num_heads)

    sheet = Sheet()
    sheet.text(0, 8, f"x {show(x.shape)}", **BOLD)
    bottom = _heads(sheet, LABELS, 20.0, cell, x, owners, words)
    middle, edge, beside = LABELS + d_k * cell / 2, WIDTH - 4, bottom / 2 + 10
    sheet.arrow((middle, bottom + 4), (middle, bottom + 30))
    sheet.text(middle + 7, bottom + 16, "transpose(1, 2)", text_anchor="start")
    turned, turned_owners = x.transpose(1, 2), owners.transpose(1, 2)
    bottom = _tokens(sheet, bottom + 16, "", turned, turned_owners, words)

    title = words["merging"].format(num_heads)
    sentences = [title]
    for verdict, numbers, owned in (
        ("right", turned.reshape(joined), turned_owners.reshape(joined)),
        ("wrong", x.reshape(joined), owners.reshape(joined)),
    ):
        code = f"{'x.' * (verdict == 'wrong')}reshape{show(joined)}"
        sheet.text(0, bottom + 18, MARKS[verdict] + words[verdict], **BOLD)
        sheet.text(middle + 7, bottom + 18, code, text_anchor="start")
        if verdict == "right":
            sheet.arrow((middle, bottom + 4), (middle, bottom + 34))
        end = _tokens(sheet, bottom + 16, "", numbers[:, :, None], owned[:, :, None], words)
        if verdict == "wrong":
            down = (bottom + end + 36) / 2
            from_x = (LABELS + d_k * cell + 4, beside), (edge, beside), (edge, down)
            sheet.arrow(*from_x, (LABELS + num_heads * d_k * cell + 4, down))
        bottom = end + 12
        sentences.append(
            words["verdict"].format(words[verdict], _told(numbers[0, :, None], words, "token"))
        )
    return sheet.figure(title, paragraph(sentences, words), lang)


def _cell(d_model: int, pieces: int) -> float:
    """How wide the cell of a number may be, so that a row of d_model numbers in pieces fits."""
    width = (WIDTH - LABELS - 20 - GAP * (pieces - 1)) / d_model
    if width < 18:
        raise ValueError(f"x: got {d_model} numbers for a token, expected fewer: they do not fit")
    return min(width, 28.0)


def _cells(
    sheet: Sheet, left: float, top: float, cell: float, numbers: Tensor, owners: Tensor
) -> None:
    """The table (seq_len, width), each number on the colour of the token that owns it."""
    for row, (line, owned) in enumerate(zip(numbers.tolist(), owners.tolist(), strict=True)):
        for column, (number, owner) in enumerate(zip(line, owned, strict=True)):
            x, y = left + column * cell, top + row * 24
            sheet.box(x, y, cell, 24.0, hue_of(owner), rx=0, fill_opacity=0.3)
            sheet.text(x + cell / 2, y + 12, f"{number:g}")


def _tokens(
    sheet: Sheet, top: float, name: str, x: Tensor, owners: Tensor, words: dict[str, str]
) -> float:
    """x (1, seq_len, pieces, width) with a row for each token; where it ends."""
    pieces, width = x.shape[2:]
    cell = _cell(pieces * width, pieces)
    sheet.text(0, top + 8, name, **BOLD)
    for token in range(x.size(1)):
        sheet.text(0, top + 32 + 24 * token, words["token"].format(token + 1), text_anchor="start")
    for piece in range(pieces):
        left = LABELS + piece * (width * cell + GAP)
        _cells(sheet, left, top + 20, cell, x[0, :, piece], owners[0, :, piece])
    return top + 20 + 24 * x.size(1)


def _heads(
    sheet: Sheet,
    left: float,
    top: float,
    cell: float,
    x: Tensor,
    owners: Tensor,
    words: dict[str, str],
) -> float:
    """x (1, num_heads, seq_len, d_k) with a table for each head; where it ends."""
    for head in range(x.size(1)):
        sheet.text(left, top + 8, words["head"].format(head + 1), text_anchor="start")
        _cells(sheet, left, top + 18, cell, x[0, head], owners[0, head])
        top += 18 + 24 * x.size(2) + 10
    return top - 10


def _told(tables: Tensor, words: dict[str, str], kind: str) -> str:
    """What each table of (table, row, column) holds, row by row."""
    parts = []
    for i, rows in enumerate(tables.tolist()):
        told = words["item"].join(" ".join(f"{number:g}" for number in row) for row in rows)
        parts.append(words["holds"].format(words[kind].format(i + 1), told))
    return words["semicolon"].join(parts)
