"""Histograms of named series, with the spread of each in words."""

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from headwise._check import check_sizes
from headwise.drawing.chart import DASHES, chart, finish, series_of
from headwise.drawing.checks import check_text
from headwise.drawing.figure import HUES, Figure, with_twin
from headwise.drawing.from_matplotlib import style
from headwise.drawing.rounding import drawn_at, three_digits
from headwise.drawing.words import choose, drawable, titled

WORDS = {
    "en": {
        "histogram": "Histogram of {}",
        "count": "count",
        "spread": "{}: {} values from {} to {}, mean {}, standard deviation {}",
    },
    "zh": {
        "histogram": "{}的直方图",
        "count": "个数",
        "spread": "{}：{} 个值，从 {} 到 {}，均值 {}，标准差 {}",
    },
}


@with_twin
def histogram(
    series: Mapping[str, Sequence[float] | Tensor],
    *,
    x_label: str,
    bins: int = 40,
    title: str | None = None,
    lang: str = "en",
) -> Figure:
    """How the numbers of each named series spread, over bins that all series share.

    series: name to values, of any shape.
    """
    words = choose(WORDS, lang)
    check_sizes(bins=bins, most=10_000)
    check_text("x_label", x_label)
    values = series_of(series, None, lang)
    edges = _edges([number for numbers in values.values() for number in numbers], bins)

    def tell(name: str, numbers: list[float]) -> str:
        mean = math.fsum(numbers) / len(numbers)
        deviation = math.sqrt(math.fsum((n - mean) ** 2 for n in numbers) / len(numbers))
        largest = max(map(abs, numbers))
        told = (three_digits(n, largest) for n in (min(numbers), max(numbers), mean, deviation))
        return words["spread"].format(name, len(numbers), *told)

    title = titled(title, words["histogram"].format(drawable(x_label)))
    with style():
        canvas, axes = chart(len(values), x_label, words["count"])
        for numbers, colour, dash in zip(values.values(), HUES.values(), DASHES, strict=False):
            axes.hist(
                ((edges[1:] + edges[:-1]) / 2).tolist(),
                weights=_counts(numbers, edges).tolist(),
                bins=edges.tolist(),
                histtype="step",
                color=colour,
                linestyle=dash,
                linewidth=2,
            )
        return finish(canvas, title, values, tell, lang)


def _edges(numbers: list[float], bins: int) -> Tensor:
    """Where the bins begin and end, (bins + 1,), from the lowest number to the highest."""
    low, high = drawn_at([min(numbers), max(numbers)])
    if low == high:
        around = max(0.5, abs(low) / 1000)
        low, high = low - around, high + around
    return torch.linspace(low, high, bins + 1, dtype=torch.float64)


def _counts(numbers: list[float], edges: Tensor) -> Tensor:
    """How many numbers each bin holds, (bins,); on an edge rounding does not matter."""
    bins = len(edges) - 1
    shares = (torch.tensor(numbers, dtype=torch.float64) - edges[0]) / (edges[-1] - edges[0])
    places = (shares * bins).round(decimals=6).floor().long().clamp(0, bins - 1)
    return places.bincount(minlength=bins)
