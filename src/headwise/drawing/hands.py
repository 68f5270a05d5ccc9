"""A positional encoding as the hands of clocks: one dial for each pair of columns."""

import math
from collections.abc import Sequence

from torch import Tensor

from headwise._check import FARTHEST, check_whole, show
from headwise.drawing.checks import check_kind, check_tensor, real_numbers
from headwise.drawing.figure import HUES, Figure, with_twin
from headwise.drawing.rounding import two_decimals
from headwise.drawing.sheet import SMALL, WIDTH, Sheet
from headwise.drawing.words import choose, paragraph

LABELS = 70.0  # the room that the names of rows take
TALL = 56.0  # a row of dials
WIDEST = 23.0  # the radius of a dial, at most

WORDS = {
    "en": {
        "hands": "Each pair of columns as the hand of a clock, starting at the top",
        "position": "position {}",
        "pair": "pair {}",
        "told": "position {}: the hands point to {}",
        "at": "({}, {})",
    },
    "zh": {
        "hands": "每一对列是一根表针，从正上方开始走",
        "position": "位置 {}",
        "pair": "{} 号对",
        "told": "位置 {}：各根针指向 {}",
        "at": "({}, {})",
    },
}


@with_twin
def hands(encoding: Tensor, positions: Sequence[int] | None = None, *, lang: str = "en") -> Figure:
    """Each row of a positional encoding (seq_len, d_model) as a row of dials, one for each pair.

    positions: where the rows stand in the sequence, by default 0, 1, 2, …

    A hand points to its pair: the first number goes to the right and the second one up, so a
    sine and its cosine start at the top and turn as the hands of a clock do.
    """
    words = choose(WORDS, lang)
    check_tensor("encoding", encoding)
    if encoding.dim() != 2 or encoding.size(1) % 2:
        raise ValueError(
            f"encoding: got shape {show(encoding.shape)}, expected (seq_len, d_model), d_model even"
        )
    pairs = real_numbers("encoding", encoding).reshape(len(encoding), -1, 2)
    pitch = (WIDTH - LABELS) / pairs.size(1)
    radius = min(WIDEST, pitch / 2 - 3)
    if radius < 8 or len(pairs) > 12:
        raise ValueError(
            f"encoding: got {len(pairs)} positions of {pairs.size(1)} pairs, expected fewer: "
            "they do not fit"
        )
    if positions is None:
        positions = range(len(pairs))
    check_kind("positions", positions, Sequence, "a sequence of whole numbers")
    if len(positions) != len(pairs):
        raise ValueError(f"positions: got {len(positions)}, expected {len(pairs)}")
    sheet, sentences = Sheet(), [words["hands"]]
    for pair in range(pairs.size(1)):
        sheet.text(LABELS + (pair + 0.5) * pitch, 8.0, words["pair"].format(pair), SMALL)
    for i, (position, row) in enumerate(zip(positions, pairs.tolist(), strict=True)):
        check_whole("positions", position, 0, FARTHEST)
        y = 24.0 + TALL * i + WIDEST
        sheet.text(0.0, y, words["position"].format(position), SMALL, text_anchor="start")
        for pair, (right, up) in enumerate(row):
            x = LABELS + (pair + 0.5) * pitch
            sheet.add("circle", cx=x, cy=y, r=radius, fill="none", stroke="currentColor")
            long = max(math.hypot(right, up), 1e-9) / (radius - 2)
            # In two steps, so that the last bits of a number change nothing (see rounding.py).
            tip = {"x2": round(round(x + right / long, 4), 1)}
            tip["y2"] = round(round(y - up / long, 4), 1)
            sheet.add("line", x1=x, y1=y, **tip, stroke=HUES["blue"], stroke_width=3.0)
        sheet.height = y + radius + 6
        told = [words["at"].format(two_decimals(a), two_decimals(b)) for a, b in row]
        sentences.append(words["told"].format(position, words["item"].join(told)))
    return sheet.figure(words["hands"], paragraph(sentences, words), lang)
