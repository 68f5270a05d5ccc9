"""Lines of named series, with their ends and extremes in words."""

from collections.abc import Mapping, Sequence

from matplotlib.ticker import FormatStrFormatter, NullFormatter
from torch import Tensor

from headwise.drawing.chart import DASHES, chart, finish, numbers, numbers_of
from headwise.drawing.figure import HUES, Figure, with_twin
from headwise.drawing.from_matplotlib import style
from headwise.drawing.words import choose

WORDS = {
    "en": {
        "chart": "{1} against {0}",
        "line": "{}: {} at {}, {} at {}; lowest {} at {}, highest {} at {}",
    },
    "zh": {
        "chart": "{1}随{0}的变化",
        "line": "{}：起点 {}（在 {}），终点 {}（在 {}）；最低 {}（在 {}），最高 {}（在 {}）",
    },
}


@with_twin
def lines(
    series: Mapping[str, Sequence[float] | Tensor],
    x: Sequence[float] | Tensor | None = None,
    *,
    x_label: str,
    y_label: str,
    title: str | None = None,
    log_y: bool = False,
    zh: Mapping[str, str] | None = None,
    lang: str = "en",
) -> Figure:
    """One line for each named series, told apart by colour and by dashes.

    series: name to values (n,); x: where they stand, (n,), by default 0, 1, 2, …
    zh: what the names and the labels are in Chinese, where that is something else.
    """
    words = choose(WORDS, lang)
    if lang == "zh" and zh:
        series = {zh.get(name, name): line for name, line in series.items()}
        x_label, y_label = zh.get(x_label, x_label), zh.get(y_label, y_label)
    values = numbers_of(series)
    at = numbers("x", range(max(map(len, values.values()))) if x is None else x)
    for name, line in values.items():
        if len(line) != len(at):
            raise ValueError(f"series: got {len(line)} values for {name!r}, expected {len(at)}")
        if log_y and min(line) <= 0:
            raise ValueError(f"series: got {min(line)} in {name!r}, expected numbers above 0")

    def tell(name: str, line: list[float]) -> str:
        points = list(zip(line, at, strict=True))
        ends = (points[0], points[-1], min(points), max(points))
        return words["line"].format(name, *(f"{number:.3g}" for point in ends for number in point))

    title = title or words["chart"].format(x_label, y_label)
    with style():
        canvas, axes = chart(len(values), x_label, y_label)
        for (name, line), colour, dash in zip(values.items(), HUES.values(), DASHES, strict=False):
            axes.plot(at, line, color=colour, linestyle=dash, linewidth=2, label=name)
        if log_y:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
            axes.yaxis.set_minor_formatter(NullFormatter())
        return finish(canvas, title, values, tell, lang)
