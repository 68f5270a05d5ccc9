"""How many bytes training keeps for each parameter, part by part."""

from collections.abc import Mapping, Sequence

from headwise._check import check_whole
from headwise.drawing.checks import check_kind, check_text
from headwise.drawing.figure import Figure, with_twin
from headwise.drawing.sheet import BOLD, SMALL, WIDTH, Sheet, hue_of
from headwise.drawing.words import choose, paragraph, renamed

WORDS = {
    "en": {
        "bytes": "Bytes for each parameter in training",
        "weight": "parameter",
        "gradient": "gradient",
        "mean": "Adam's mean",
        "square": "Adam's mean square",
        "total": "{} bytes",
        "told": "{}: {}, together {}",
    },
    "zh": {
        "bytes": "训练时每个参数占多少字节",
        "weight": "参数",
        "gradient": "梯度",
        "mean": "Adam 的均值",
        "square": "Adam 的平方均值",
        "total": "{} 字节",
        "told": "{}：{}，共 {}",
    },
}
PARTS = ("weight", "gradient", "mean", "square")


@with_twin
def parameter_bytes(
    sizes: Mapping[str, Sequence[int]],
    *,
    zh: Mapping[str, str] | None = None,
    lang: str = "en",
) -> Figure:
    """A bar for each way to train: bytes of parameter, gradient and Adam's two averages.

    sizes: name to four numbers of bytes; zh: the names in Chinese.
    """
    words = choose(WORDS, lang)
    check_kind("sizes", sizes, Mapping, "a mapping of names to bytes")
    for name, parts in sizes.items():
        check_text("sizes", name)
        check_kind("sizes", parts, Sequence, "a sequence of bytes for each name")
        if len(parts) != len(PARTS):
            raise ValueError(f"sizes: got {len(parts)} for {name!r}, expected {len(PARTS)}")
        for part in parts:
            check_whole("sizes", part, 1, 8, "bytes")
    if not sizes:
        raise ValueError("sizes: got none, expected at least one")
    scale = (WIDTH - 62) / max(map(sum, sizes.values()))
    sheet, sentences, y = Sheet(), [words["bytes"]], 0.0
    for name, parts in renamed("sizes", dict(sizes), zh, lang).items():
        sheet.text(0.0, y + 8, name, **BOLD)
        x, told = 0.5, []
        for i, part in enumerate(parts):
            sheet.box(x, y + 20, part * scale, 24.0, hue_of(i), rx=0)
            sheet.text(x + part * scale / 2, y + 32, str(part), SMALL)
            told.append(f"{words[PARTS[i]]} {part}")
            x += part * scale
        together = words["total"].format(sum(parts))
        sheet.text(WIDTH, y + 32, together, SMALL, text_anchor="end")
        sentences.append(words["told"].format(name, words["item"].join(told), together))
        y += 58
    for i, key in enumerate(PARTS):
        left, top = 0.5 + 150 * (i % 2), y + 20 * (i // 2)
        sheet.box(left, top, 12.0, 12.0, hue_of(i), rx=0)
        sheet.text(left + 17, top + 6, words[key], SMALL, text_anchor="start")
    return sheet.figure(words["bytes"], paragraph(sentences, words), lang)
