"""What lines and histograms share: named series, empty axes, a legend, and the alt text."""

import math
from collections.abc import Callable, Mapping, Sequence

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from torch import Tensor

from headwise.drawing.figure import HUES, Figure
from headwise.drawing.from_matplotlib import axes_at, canvas_of, from_matplotlib
from headwise.drawing.words import PUNCTUATION, choose

DASHES = ("solid", "dashed", "dotted", "dashdot")


def numbers(name: str, values: Sequence[float] | Tensor) -> list[float]:
    numbers = torch.as_tensor(values, dtype=torch.float64).detach().flatten().tolist()
    if not numbers or not all(map(math.isfinite, numbers)):
        raise ValueError(f"{name}: got {len(numbers)} numbers, expected at least one, all finite")
    return [float(number) for number in numbers]


def numbers_of(series: Mapping[str, Sequence[float] | Tensor]) -> dict[str, list[float]]:
    if not 1 <= len(series) <= len(HUES):
        raise ValueError(f"series: got {len(series)}, expected 1 to {len(HUES)}")
    return {name: numbers("series", values) for name, values in series.items()}


def chart(count: int, x_label: str, y_label: str) -> tuple[Canvas, Axes]:
    """Empty axes for lines, with room above for one line of legend each."""
    legend = 18 * count + 8
    canvas = canvas_of(390, 250 + legend)  # a phone shrinks it by a tenth
    axes = axes_at(canvas, 64, legend, 310, 200)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    return canvas, axes


def finish(
    canvas: Canvas,
    title: str,
    values: dict[str, list[float]],
    tell: Callable[[str, list[float]], str],
    lang: str,
) -> Figure:
    """The chart with its legend and its alt text."""
    words = choose(PUNCTUATION, lang)
    axes = canvas.axes[0]
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, borderaxespad=0)
    told = (tell(name, numbers) + words["stop"] for name, numbers in values.items())
    alt = (title + words["stop"] + "".join(told)).strip()
    return from_matplotlib(canvas, title=title, alt=alt, lang=lang)
