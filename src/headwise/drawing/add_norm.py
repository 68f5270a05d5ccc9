"""Add & Norm in numbers: one token's vector on its way around a sublayer, and through the norm."""

import torch.nn.functional as F
from torch import Tensor

from headwise._check import show
from headwise._check_tensors import check_shape
from headwise.drawing.checks import check_tensor, real_numbers
from headwise.drawing.figure import Figure, with_twin
from headwise.drawing.rounding import three_digits
from headwise.drawing.sheet import SMALL, Sheet
from headwise.drawing.words import choose, paragraph

WORDS = {
    "en": {
        "add_norm": "Add & Norm, for one token",
        "f": "f: attention or feed-forward",
        "norm": "norm",
        "moments": "mean {}, standard deviation {}",
        "down": "from top to bottom, ",
        "around": "one line runs from x around f and is added to f(x)",
    },
    "zh": {
        "add_norm": "一个词元的相加与归一化",
        "f": "f：注意力或前馈网络",
        "norm": "归一化",
        "moments": "均值 {}，标准差 {}",
        "down": "从上到下，",
        "around": "一条线从 x 出发绕过 f，与 f(x) 相加",
    },
}
LEFT, CELL, HIGH = 76.0, 42.0, 26.0  # where the numbers begin, and how large a cell is


@with_twin
def add_norm(x: Tensor, change: Tensor, *, lang: str = "en") -> Figure:
    """One token's vector x (d_model,), what a sublayer makes of it, their sum, and the sum normed.

    change (d_model,) is what the sublayer gives for x; post-LN, with the norm as it starts out.
    """
    words = choose(WORDS, lang)
    check_tensor("x", x)
    check_shape("x", x, ("d_model",))
    if not 2 <= x.size(0) <= 5:
        raise ValueError(f"x: got shape {show(x.shape)}, expected two to five numbers")
    check_tensor("change", change)
    check_shape("change", change, (x.size(0),))
    one, other = real_numbers("x", x), real_numbers("change", change)
    rows = [row.tolist() for row in (one, other, one + other, F.layer_norm(one + other, one.shape))]

    sheet = Sheet()
    middle, right = LEFT + x.size(0) * CELL / 2, LEFT + x.size(0) * CELL
    bypass = right + 34
    told = []
    for name, y, numbers in zip(
        ("x", "f(x)", "x + f(x)", "Norm"), (1.0, 101.0, 177.0, 277.0), rows, strict=True
    ):
        sheet.text(LEFT - 10, y + HIGH / 2, name, text_anchor="end", font_weight=600)
        largest = max(map(abs, numbers))
        shown = [three_digits(round(number, 2), largest) for number in numbers]
        for i, (number, text) in enumerate(zip(numbers, shown, strict=True)):
            hue = "orange" if text.startswith("-") else "blue"
            opacity = round(0.5 * abs(number) / (largest or 1.0), 2)
            sheet.box(LEFT + i * CELL, y, CELL, HIGH, hue, rx=0, fill_opacity=opacity)
            sheet.text(LEFT + (i + 0.5) * CELL, y + HIGH / 2, text.replace("-", "−"))
        told.append(f"{name}{words['colon']}{words['item'].join(shown)}")
    moments = [_moments(numbers, words) for numbers in rows[2:]]

    sheet.arrow((middle, 27.0), (middle, 50.0))
    sheet.box(LEFT - 30, 51.0, right - LEFT + 60, 28.0, "green")
    sheet.text(middle, 65.0, words["f"])
    sheet.arrow((middle, 79.0), (middle, 100.0))
    sheet.arrow((middle, 127.0), (middle, 142.0))
    sheet.add("circle", cx=middle, cy=152.0, r=9.0, fill="none", stroke="currentColor")
    sheet.text(middle, 152.0, "+")
    sheet.arrow((middle, 38.0), (bypass, 38.0), (bypass, 152.0), (middle + 10, 152.0))
    sheet.arrow((middle, 161.0), (middle, 176.0))
    sheet.text(middle, 214.0, moments[0], SMALL)
    sheet.box(LEFT - 30, 227.0, right - LEFT + 60, 28.0)
    sheet.text(middle, 241.0, words["norm"])
    sheet.arrow((middle, 255.0), (middle, 276.0))
    sheet.text(middle, 314.0, moments[1], SMALL)

    told[2] += words["comma"] + moments[0]
    told[3] += words["comma"] + moments[1]
    title, rows_told = words["add_norm"], words["down"] + words["semicolon"].join(told)
    return sheet.figure(title, paragraph([title, rows_told, words["around"]], words), lang)


def _moments(numbers: list[float], words: dict[str, str]) -> str:
    """The mean and the standard deviation of the numbers, in words."""
    mean = sum(numbers) / len(numbers)
    spread = (sum((number - mean) ** 2 for number in numbers) / len(numbers)) ** 0.5
    largest = max(abs(mean), spread)
    return words["moments"].format(three_digits(mean, largest), three_digits(spread))
