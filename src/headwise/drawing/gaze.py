"""What is written beside what was read, and lines for how much each word looks at each token."""

from collections.abc import Sequence

from torch import Tensor

from headwise._check import show
from headwise.drawing.checks import real_numbers, strings
from headwise.drawing.figure import HUES, Figure, with_twin
from headwise.drawing.rounding import highest, two_decimals
from headwise.drawing.sheet import SMALL, Sheet
from headwise.drawing.words import choose, drawable, listed, paragraph

WORDS = {
    "en": {
        "gaze": "Where the model looks while it writes",
        "read": "reads",
        "written": "writes",
        "looks": "writing {}, it looks most at {} ({})",
        "nowhere": "writing {}, it looks nowhere",
    },
    "zh": {
        "gaze": "模型写每个词时看着哪里",
        "read": "读到",
        "written": "写出",
        "looks": "写 {} 时最关注 {}（{}）",
        "nowhere": "写 {} 时什么也不看",
    },
}


@with_twin
def gaze(
    weights: Tensor, written: Sequence[str], read: Sequence[str], *, lang: str = "en"
) -> Figure:
    """A line from each word that is written to each token that was read, as wide as its weight.

    weights: (query, key), a row for each word and a column for each token, none negative.
    """
    words = choose(WORDS, lang)
    numbers = real_numbers("weights", weights)
    if numbers.dim() != 2 or float(numbers.min()) < 0:
        raise ValueError(
            f"weights: got shape {show(numbers.shape)} from {float(numbers.min()):g}, "
            "expected (query, key), none negative"
        )
    rows = strings("written", written, numbers.size(0))
    columns = strings("read", read, numbers.size(1))
    pitch = 36.0
    height = pitch * max(len(rows), len(columns))

    def places(count: int) -> list[float]:
        """The middles of so many boxes, evenly from top to bottom."""
        return [24 + height * (i + 0.5) / count for i in range(count)]

    sheet = Sheet()
    sheet.text(62.0, 8.0, words["read"], SMALL)
    sheet.text(265.0, 8.0, words["written"], SMALL)
    largest = float(numbers.max()) or 1.0
    sentences = [words["gaze"]]
    for i, (y, row) in enumerate(zip(places(len(rows)), numbers.tolist(), strict=True)):
        top = highest(row)
        for j, (there, weight) in enumerate(zip(places(len(columns)), row, strict=True)):
            share = round(round(weight / largest, 6), 2)  # a half falls to one side everywhere
            if share >= 0.03:
                sheet.add(
                    "path",
                    d=f"M92 {there:g} C150 {there:g} 150 {y:g} 208 {y:g}",
                    fill="none",
                    stroke=HUES["blue" if j in top else "orange"],
                    stroke_width=round(0.5 + 7 * share, 2),
                    stroke_opacity=round(0.25 + 0.55 * share, 2),
                )
        told = listed([columns[j] for j in top], words)
        how = "looks" if any(row) else "nowhere"
        sentences.append(words[how].format(rows[i], told, two_decimals(max(row))))
    for x, width, names in ((32.0, 60.0, columns), (208.0, 115.0, rows)):
        for y, name in zip(places(len(names)), names, strict=True):
            sheet.box(x, y - 14, width, 28.0)
            sheet.text(x + width / 2, y, drawable(name), 14.0)
    sheet.height = max(sheet.height, 24 + height)
    return sheet.figure(words["gaze"], paragraph(sentences, words), lang)
