"""Processes that train together: each has its rows and its gradient, and all take the mean."""

from collections.abc import Sequence

from headwise._check import check_whole
from headwise.drawing.checks import check_kind, real_list
from headwise.drawing.figure import HUES, Figure, with_twin
from headwise.drawing.sheet import NORMAL, WIDTH, Sheet, hue_of
from headwise.drawing.words import choose, paragraph

WORDS = {
    "en": {
        "ranks": "Each rank computes a gradient from its rows, and all take the mean",
        "rank": "rank {}",
        "rows": "rows {} to {}",
        "mean": "mean of the gradients: {}",
        "step": "the same step",
        "told": "rank {}, rows {} to {}: gradient {}",
    },
    "zh": {
        "ranks": "每个进程用自己的行算梯度，大家都取平均",
        "rank": "进程 {}",
        "rows": "第 {} 到 {} 行",
        "mean": "梯度的平均：{}",
        "step": "走同样的一步",
        "told": "进程 {}，第 {} 到 {} 行：梯度 {}",
    },
}


@with_twin
def ranks(gradients: Sequence[float], rows: int, *, lang: str = "en") -> Figure:
    """The ranks side by side, each with its share of `rows` and one number of its gradient.

    gradients: that number for each rank, two to four of them.
    """
    words = choose(WORDS, lang)
    check_kind("gradients", gradients, Sequence, "a sequence of numbers")
    found = real_list("gradients", gradients)
    count = len(found)
    if not 2 <= count <= len(HUES):
        raise ValueError(f"gradients: got {count}, expected two to {len(HUES)}")
    check_whole("rows", rows, 1, 1_000_000)
    if rows % count:
        raise ValueError(f"rows: got {rows}, expected as many for each of {count} ranks")
    share, gap = rows // count, 12.0
    width = (WIDTH - 1 - gap * (count - 1)) / count
    mean = f"{sum(found) / count:.4f}"
    sheet, sentences = Sheet(), [words["ranks"]]
    for rank, gradient in enumerate(found):
        left = 0.5 + rank * (width + gap)
        middle = left + width / 2
        own = (rank * share, (rank + 1) * share - 1)
        shown = f"{gradient:.4f}"
        sheet.tensor(left, 0.5, width, words["rank"].format(rank), words["rows"].format(*own))
        sheet.arrow((middle, 42.0), (middle, 64.0))
        sheet.box(left, 66.0, width, 28.0, hue_of(rank))
        sheet.text(middle, 80.0, shown, NORMAL)
        sheet.arrow((middle, 96.0), (middle, 118.0))
        sheet.arrow((middle, 150.0), (middle, 172.0))
        sheet.box(left, 174.0, width, 28.0)
        sheet.text(middle, 188.0, words["step"])
        sentences.append(words["told"].format(rank, *own, shown))
    sheet.box(0.5, 120.0, WIDTH - 1, 28.0, "purple")
    sheet.text(WIDTH / 2, 134.0, words["mean"].format(mean), font_weight=600)
    sentences.append(words["mean"].format(mean))
    return sheet.figure(words["ranks"], paragraph(sentences, words), lang)
