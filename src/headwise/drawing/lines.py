"""Lines of named series, with their ends and extremes in words."""

from collections.abc import Mapping, Sequence

from torch import Tensor

from headwise._check import check_flags
from headwise.drawing.chart import DASHES, chart, finish, series_of
from headwise.drawing.checks import check_text, real_list
from headwise.drawing.figure import HUES, Figure, with_twin
from headwise.drawing.from_matplotlib import style
from headwise.drawing.rounding import NOTHING, drawn_at, highest, lowest, three_digits
from headwise.drawing.words import choose, in_chinese, listed, titled

WORDS = {
    "en": {
        "chart": "{1} against {0}",
        "line": "{}: {} at {}, {} at {}; lowest {} at {}, highest {} at {}",
        "point": "{}: {} at {}",
        "flat": "{0}: {1} all the way from {2} to {3}",
    },
    "zh": {
        "chart": "{1}随{0}的变化",
        "line": "{}：起点 {}（在 {}），终点 {}（在 {}）；最低 {}（在 {}），最高 {}（在 {}）",
        "point": "{}：{}（在 {}）",
        "flat": "{0}：从 {2} 到 {3} 一直是 {1}",
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
    check_text("x_label", x_label)
    check_text("y_label", y_label)
    chinese = in_chinese(zh, lang)
    x_label, y_label = chinese.get(x_label, x_label), chinese.get(y_label, y_label)
    check_flags(log_y=log_y)
    values = series_of(series, zh, lang, in_a_row=True)
    count = max(map(len, values.values()))
    at = real_list("x", range(count) if x is None else x, in_a_row=True)
    for name, line in values.items():
        if len(line) != len(at):
            raise ValueError(f"series: got {len(line)} values for {name!r}, expected {len(at)}")
        if log_y and min(line) <= 0:
            raise ValueError(f"series: got {min(line)} in {name!r}, expected numbers above 0")

    def tell(name: str, line: list[float]) -> str:
        return _told(name, line, at, words, log_y)

    title = titled(title, words["chart"].format(x_label, y_label))
    with style():
        canvas, axes = chart(len(values), x_label, y_label)
        for line, colour, dash in zip(values.values(), HUES.values(), DASHES, strict=False):
            y = drawn_at(line, log=log_y)
            axes.plot(drawn_at(at), y, color=colour, linestyle=dash, linewidth=2)
        if log_y:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter("")
        return finish(canvas, title, values, tell, lang)


def _told(name: str, line: list[float], at: list[float], words: dict[str, str], log_y: bool) -> str:
    """Where a line begins and ends, and where it is lowest and highest."""
    # On a logarithmic scale, no number is too small to be seen.
    largest = 0.0 if log_y else max(map(abs, line))
    places = [three_digits(number, max(map(abs, at))) for number in at]
    numbers = [three_digits(number, largest) for number in line]
    bottom, top = (find(line, NOTHING * largest) for find in (lowest, highest))
    if len(line) == 1:
        return words["point"].format(name, numbers[0], places[0])
    if len(bottom) == len(line):
        return words["flat"].format(name, numbers[0], places[0], places[-1])
    extremes = []
    for extreme, ties in ((min(line), bottom), (max(line), top)):
        extremes += [three_digits(extreme, largest), listed([places[i] for i in ties], words)]
    ends = (numbers[0], places[0], numbers[-1], places[-1])
    return words["line"].format(name, *ends, *extremes)
