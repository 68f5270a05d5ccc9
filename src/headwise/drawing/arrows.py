"""A query and keys as arrows in the plane, with the shadow that each key throws on the query."""

import math
from typing import NamedTuple

from torch import Tensor

from headwise._check_tensors import check_shape
from headwise.drawing.checks import check_tensor, real_numbers
from headwise.drawing.figure import HUES, Figure, with_twin
from headwise.drawing.sheet import SMALL, WIDTH, Sheet, hue_of
from headwise.drawing.words import choose, paragraph

MARGIN, TALL = 34.0, 260.0  # room for names around the arrows, and the most that they take

WORDS = {
    "en": {
        "title": "A query and keys as arrows",
        "query": "query, length {}",
        "key": "k{}: dot {}",
        "told": "key {} has length {}, lies {}° off the query, and their dot product is {}",
    },
    "zh": {
        "title": "画成箭头的查询和键",
        "query": "查询，长 {}",
        "key": "k{}：点积 {}",
        "told": "{} 号键长 {}，与查询的夹角是 {}°，点积是 {}",
    },
}


class Compared(NamedTuple):
    """A query (2,) and keys (n, 2), measured; the feet are where the keys throw their shadows."""

    length: Tensor  # of the query
    lengths: Tensor
    dots: Tensor
    cosines: Tensor
    feet: Tensor


def compare(query: Tensor, keys: Tensor) -> Compared:
    """How long all of them are, how well each key points along the query, and what that makes."""
    length = query.norm(dim=-1)
    lengths = keys.norm(dim=-1)  # (key,)
    dots = (keys * query).sum(dim=-1)  # (key,)
    cosines = dots / (length * lengths)  # (key,)
    feet = (dots / length / length).unsqueeze(-1) * query  # (key, 2)
    return Compared(length, lengths, dots, cosines, feet)


@with_twin
def arrows(query: Tensor, keys: Tensor, *, lang: str = "en") -> Figure:
    """The query (2,) and the keys (n, 2) as arrows, each key with its dot product.

    A dashed line goes from the tip of a key straight down to the line of the query: how far out
    it ends, which is written there, times the length of the query, is the dot product.
    """
    words = choose(WORDS, lang)
    check_tensor("query", query)
    check_shape("query", query, (2,))
    check_tensor("keys", keys)
    check_shape("keys", keys, ("key", 2))
    measured = compare(real_numbers("query", query), real_numbers("keys", keys))
    q, ends, length = query.tolist(), keys.tolist(), measured.length.item()
    lengths = measured.lengths.tolist()
    if (shortest := min(length, *lengths)) == 0 or len(ends) > len(HUES):
        raise ValueError(
            f"keys: got {len(ends)} and a shortest arrow of {shortest:g}, "
            f"expected at most {len(HUES)}, and none of length 0"
        )
    reach = [(0.0, 0.0), (q[0], q[1]), *((end[0], end[1]) for end in ends)]
    low, high = min(x for x, _ in reach), max(x for x, _ in reach)
    deep, tall = min(y for _, y in reach), max(y for _, y in reach)
    unit = min((WIDTH - 2 * MARGIN) / (high - low), TALL / max(tall - deep, 1e-9))

    def at(x: float, y: float) -> tuple[float, float]:
        return MARGIN + (x - low) * unit, 20 + (tall - y) * unit

    sheet = Sheet()
    faint = {"stroke": "currentColor", "stroke_opacity": 0.25}
    dots, feet = measured.dots.tolist(), measured.feet.tolist()
    (x0, y0), (x1, y1) = at(*min(feet)), at(*max(feet))
    sheet.add("path", d=f"M{x0:g} {y0:g} L{x1:g} {y1:g}", **faint)
    sentences = [words["title"]]
    for i, (end, dot, foot) in enumerate(zip(ends, dots, feet, strict=True)):
        hue, (tip_x, tip_y), (foot_x, foot_y) = HUES[hue_of(i)], at(*end), at(*foot)
        drop = f"M{tip_x:g} {tip_y:g} L{foot_x:g} {foot_y:g}"
        sheet.add("path", d=drop, stroke=hue, stroke_dasharray="3 3", fill="none")
        sheet.add("circle", cx=foot_x, cy=foot_y, r=2.5, fill=hue)
        sheet.text(foot_x, foot_y + 12, f"{dot / length:g}", SMALL)
        sheet.arrow(at(0, 0), (tip_x, tip_y), stroke=hue, stroke_opacity=1, stroke_width=2)
        side = min(max(tip_x, 40.0), WIDTH - 40)
        above = tip_y - 10 if end[1] >= 0 else tip_y + 12
        sheet.text(side, above, words["key"].format(i, f"{dot:g}"), SMALL)
        cosine = measured.cosines[i].item()
        angle = round(math.degrees(math.acos(max(-1.0, min(1.0, cosine)))))
        sentences.append(words["told"].format(i, f"{lengths[i]:g}", angle, f"{dot:g}"))
    sheet.arrow(at(0, 0), at(*q), stroke_opacity=1, stroke_width=3)
    x, y = at(*q)
    side = min(max(x, 50.0), WIDTH - 50)
    sheet.text(side, y + 27, words["query"].format(f"{length:g}"), SMALL, font_weight=600)
    return sheet.figure(words["title"], paragraph(sentences, words), lang)
