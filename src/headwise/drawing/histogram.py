"""Histograms of named series, with the spread of each in words."""

import math
from collections.abc import Mapping, Sequence

from torch import Tensor

from headwise._check import check_sizes
from headwise.drawing.chart import DASHES, chart, finish, numbers_of
from headwise.drawing.figure import HUES, Figure, with_twin
from headwise.drawing.from_matplotlib import style
from headwise.drawing.words import choose

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
    check_sizes(bins=bins)
    values = numbers_of(series)
    everything = [number for numbers in values.values() for number in numbers]

    def tell(name: str, numbers: list[float]) -> str:
        mean = math.fsum(numbers) / len(numbers)
        deviation = math.sqrt(math.fsum((n - mean) ** 2 for n in numbers) / len(numbers))
        told = (f"{n:.3g}" for n in (min(numbers), max(numbers), mean, deviation))
        return words["spread"].format(name, len(numbers), *told)

    title = title or words["histogram"].format(x_label)
    with style():
        canvas, axes = chart(len(values), x_label, words["count"])
        bounds = (min(everything), max(everything))
        for (name, numbers), colour, dash in zip(
            values.items(), HUES.values(), DASHES, strict=False
        ):
            axes.hist(
                numbers,
                bins=bins,
                range=bounds,
                histtype="step",
                color=colour,
                linestyle=dash,
                linewidth=2,
                label=name,
            )
        return finish(canvas, title, values, tell, lang)
