"""What lines and histograms share: named series, empty axes, a legend, and the alt text."""

from collections.abc import Callable, Mapping, Sequence

from torch import Tensor

from headwise.drawing.checks import check_kind, real_list
from headwise.drawing.figure import HUES, Figure
from headwise.drawing.from_matplotlib import Axes, Canvas, axes_at, canvas_of, from_matplotlib
from headwise.drawing.words import PUNCTUATION, choose, drawable, renamed

DASHES = ("solid", "dashed", "dotted", "dashdot")


def series_of(
    series: Mapping[str, Sequence[float] | Tensor],
    zh: Mapping[str, str] | None,
    lang: str,
    *,
    in_a_row: bool = False,
) -> dict[str, list[float]]:
    """The numbers of each series, under its name in the language; in_a_row as in `real_list`."""
    check_kind("series", series, Mapping, "a mapping of names to numbers")
    if not 1 <= len(series) <= len(HUES):
        raise ValueError(f"series: got {len(series)}, expected 1 to {len(HUES)}")
    found = {
        name: real_list("series", x, f" in {name!r}", in_a_row=in_a_row)
        for name, x in series.items()
    }
    return renamed("series", found, zh, lang)


def chart(count: int, x_label: str, y_label: str) -> tuple[Canvas, Axes]:
    """Empty axes for lines, with room above for one line of legend each."""
    legend = 18 * count + 8
    canvas = canvas_of(390, 250 + legend)  # a phone shrinks it by a tenth
    axes = axes_at(canvas, 64, legend, 310, 200)
    axes.set_xlabel(drawable(x_label))
    axes.set_ylabel(drawable(y_label))
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
    drawn = [*axes.lines, *axes.patches]
    # Given in so many words: matplotlib by itself leaves out a name that begins with "_".
    axes.legend(
        drawn, values, loc="lower left", bbox_to_anchor=(0, 1), frameon=False, borderaxespad=0
    )
    told = (tell(name, numbers) + words["stop"] for name, numbers in values.items())
    alt = (title + words["stop"] + "".join(told)).strip()
    return from_matplotlib(canvas, title=title, alt=alt, lang=lang)
