"""The pattern of a positional encoding, with its sign changes in words."""

import itertools

from torch import Tensor

from headwise._check import show
from headwise.drawing.cells import cell_size, paint, panels_of, scale, without_rounding
from headwise.drawing.figure import Figure, with_twin
from headwise.drawing.from_matplotlib import axes_at, canvas_of, from_matplotlib, style
from headwise.drawing.rounding import two_decimals
from headwise.drawing.words import choose, titled

WORDS = {
    "en": {
        "encoding": "Positional encoding",
        "position": "position",
        "column": "column",
        "pattern": "{} positions by {} columns, values from {} to {}; going down a "
        "column the sign changes {} times in the first and {} times in the last",
    },
    "zh": {
        "encoding": "位置编码",
        "position": "位置",
        "column": "列",
        "pattern": "{} 个位置，{} 列，取值从 {} 到 {}；"
        "沿列向下，第一列变号 {} 次，最后一列变号 {} 次",
    },
}


@with_twin
def positions(encoding: Tensor, *, title: str | None = None, lang: str = "en") -> Figure:
    """The pattern of a positional encoding (seq_len, d_model): blue above zero, orange below."""
    words = choose(WORDS, lang)
    panel = panels_of("encoding", encoding)[0]
    if encoding.dim() != 2:
        raise ValueError(f"encoding: got shape {show(encoding.shape)}, expected (seq_len, d_model)")
    seq_len, d_model = panel.shape
    low, high = float(panel.min()), float(panel.max())
    flips = [_flips(column) for column in without_rounding(panel)[:, [0, -1]].T]
    told = (two_decimals(low), two_decimals(high), *flips)
    pattern = words["pattern"].format(seq_len, d_model, *told)

    title = titled(title, words["encoding"])
    with style():
        width, height = 218.0, seq_len * cell_size(seq_len)  # a whole that fits a phone
        canvas = canvas_of(width + 122, height + 60)
        axes = axes_at(canvas, 55, 12, width, height)
        paint(axes, panel, float(panel.abs().max()))
        axes.set_xlabel(words["column"])
        axes.set_ylabel(words["position"])
        scale(canvas, 55 + width + 15, 12, height, low, high)
        alt = title + words["colon"] + pattern + words["stop"].strip()
        return from_matplotlib(canvas, title=title, alt=alt, lang=lang)


def _flips(column: Tensor) -> int:
    """How often the sign changes on the way down; a zero has none."""
    signs = [number > 0 for number in column.tolist() if number]
    return sum(above != below for above, below in itertools.pairwise(signs))
