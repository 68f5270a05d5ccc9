"""The table of scores as a flash kernel goes through it, tile by tile."""

from typing import Any

from torch import Tensor

from headwise._check import check_sizes
from headwise._check_tensors import check_shape
from headwise.drawing.checks import check_tensor, real_numbers
from headwise.drawing.figure import Figure, with_twin
from headwise.drawing.rounding import two_decimals
from headwise.drawing.sheet import BOLD, SMALL, WIDTH, Sheet
from headwise.drawing.words import choose, paragraph

NOW: dict[str, Any] = {"hue": "blue", "fill_opacity": 0.4, "rx": 0}
GONE: dict[str, Any] = {"stroke_dasharray": "2 2", "stroke_opacity": 0.7, "rx": 0}
LATER: dict[str, Any] = {"stroke_opacity": 0.25, "rx": 0}

WORDS = {
    "en": {
        "tiles": "The table of scores, tile by tile",
        "step": "step {}",
        "keys": "keys →",
        "kept": "kept for query 1",
        "highest": "highest {}",
        "sum": "sum {}",
        "told": "step {}: keys {} to {} are in fast memory; query 1 keeps highest score {}, sum {}",
        "now": "in fast memory",
        "gone": "thrown away",
        "later": "not yet computed",
    },
    "zh": {
        "tiles": "分数的表，一块一块地算",
        "step": "第 {} 步",
        "keys": "键 →",
        "kept": "为查询 1 留下",
        "highest": "最高分 {}",
        "sum": "指数和 {}",
        "told": "第 {} 步：快速存储里是第 {} 到第 {} 个键；查询 1 留下最高分 {}、指数和 {}",
        "now": "在快速存储里",
        "gone": "用完就丢",
        "later": "还没有算",
    },
}


@with_twin
def tiles(scores: Tensor, block: int, *, lang: str = "en") -> Figure:
    """The first rows of tiles of a table of scores (num_queries, num_keys), a panel a step.

    Below each panel is what the first query keeps at that step: its highest score so far, and the
    sum of the exponentials relative to it.
    """
    words = choose(WORDS, lang)
    check_tensor("scores", scores)
    check_shape("scores", scores, ("num_queries", "num_keys"))
    num_queries, num_keys = scores.shape
    check_sizes(num_queries=num_queries, num_keys=num_keys, block=block, most=12)
    if num_keys % block or num_queries % block or not 2 <= num_keys // block <= 3:
        raise ValueError(
            f"block: got {block}, expected one that cuts {num_keys} keys into two or three parts, "
            f"and {num_queries} queries evenly"
        )
    first = real_numbers("scores", scores)[0]
    steps = num_keys // block
    cell = (WIDTH - 20.0 - 16 * (steps - 1)) / (steps * num_keys)
    sheet, sentences = Sheet(), [words["tiles"]]
    for step in range(steps):
        left = 18 + step * (num_keys * cell + 16)
        sheet.text(left, 8.0, words["step"].format(step + 1), **BOLD)
        for row in range(num_queries):
            for column in range(num_keys):
                tile = column // block
                known = row < block
                look = NOW if known and tile == step else GONE if known and tile < step else LATER
                sheet.box(left + column * cell, 32 + row * cell, cell, cell, **look)
        sheet.text(left, 24.0, words["keys"], SMALL, text_anchor="start")
        seen = first[: (step + 1) * block]
        highest, total = seen.max(), (seen - seen.max()).exp().sum()
        kept = [two_decimals(float(number)) for number in (highest, total)]
        y = 42 + num_queries * cell
        sheet.text(left, y, words["kept"], SMALL, text_anchor="start")
        sheet.text(left, y + 16, words["highest"].format(kept[0]), SMALL, text_anchor="start")
        sheet.text(left, y + 32, words["sum"].format(kept[1]), SMALL, text_anchor="start")
        keys = (step * block + 1, (step + 1) * block)
        sentences.append(words["told"].format(step + 1, *keys, *kept))
    sheet.text(8.0, 32 + cell / 2, "Q", SMALL)
    sheet.arrow((8.0, 44 + cell / 2), (8.0, 28 + num_queries * cell))
    y = 42 + num_queries * cell + 52
    for i, (name, look) in enumerate((("now", NOW), ("gone", GONE), ("later", LATER))):
        sheet.box(0.5 + 112 * i, y, 12.0, 12.0, **look)
        sheet.text(17.0 + 112 * i, y + 6, words[name], SMALL, text_anchor="start")
    return sheet.figure(words["tiles"], paragraph(sentences, words), lang)
