"""The matrix of the queries cut into the blocks of its heads, all to one scale."""

from collections.abc import Sequence

from headwise.drawing.checks import check_kind
from headwise.drawing.figure import Figure, with_twin
from headwise.drawing.sheet import SMALL, WIDTH, Sheet, hue_of
from headwise.drawing.words import choose, paragraph
from headwise.multi_head import MultiHeadAttention

WORDS = {
    "en": {
        "title": "One matrix, cut into the blocks of its heads",
        "one": "1 head: {} × {} = {} numbers",
        "several": "{} heads of {} × {}: {} numbers",
    },
    "zh": {
        "title": "同一个矩阵，按头切成块",
        "one": "1 个头：{} × {} = {} 个数",
        "several": "{} 个头，每个 {} × {}：共 {} 个数",
    },
}


@with_twin
def blocks(modules: Sequence[MultiHeadAttention], *, lang: str = "en") -> Figure:
    """W_q of each module as in the formula, d_model high, with a block of d_k columns a head."""
    words = choose(WORDS, lang)
    check_kind("modules", modules, Sequence, "a sequence of modules")
    for module in modules:
        check_kind("modules", module, MultiHeadAttention, "a MultiHeadAttention")
    if not modules:
        raise ValueError("modules: got none, expected at least one")
    widest = max(max(module.W_q.weight.shape) for module in modules)
    unit = (WIDTH - 2) / widest
    unit = min(unit, 72 / max(module.d_model for module in modules))
    sheet = Sheet()
    sentences = [words["title"]]
    y = 0.0
    for module in modules:
        heads, d_k, d_model = module.num_heads, module.d_k, module.d_model
        count = module.W_q.weight.numel()
        name = words["one"].format(d_model, d_k, count)
        if heads > 1:
            name = words["several"].format(heads, d_model, d_k, count)
        sheet.text(0, y + 8, name, SMALL, text_anchor="start")
        for head in range(heads):
            x = 1 + head * d_k * unit
            sheet.box(x, y + 20, d_k * unit, d_model * unit, hue_of(head), rx=0, fill_opacity=0.35)
        y += 20 + d_model * unit + 16
        sentences.append(name)
    return sheet.figure(words["title"], paragraph(sentences, words), lang)
