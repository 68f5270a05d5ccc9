"""Decoding step by step, without and with a cache."""

from typing import Any

from torch import Tensor

from headwise._check import check_sizes
from headwise._check_tensors import check_shape
from headwise.drawing.checks import check_kind, check_tensor
from headwise.drawing.figure import Figure, with_twin
from headwise.drawing.sheet import BOLD, SMALL, Sheet
from headwise.drawing.words import choose, paragraph
from headwise.transformer import Transformer

COMPUTED: dict[str, Any] = {"hue": "blue", "fill_opacity": 0.4}
KEPT: dict[str, Any] = {"stroke_dasharray": "2 2"}

WORDS = {
    "en": {
        "decoding": "Decoding step by step, without and with a cache",
        "without": "without a cache",
        "with": "with a cache",
        "step": "step {}: {}, {} computed, gives {}",
        "total": "{} computed",
        "computed": "computed now",
        "kept": "from the cache",
    },
    "zh": {
        "decoding": "逐步解码：不用缓存与使用缓存",
        "without": "不用缓存",
        "with": "使用缓存",
        "step": "第 {} 步：{}，算 {} 个位置，得到 {}",
        "total": "共算 {} 个",
        "computed": "这一步计算",
        "kept": "取自缓存",
    },
}


@with_twin
def decoding(
    model: Transformer, src: Tensor, max_len: int, bos: int, eos: int, *, lang: str = "en"
) -> Figure:
    """How the tokens that the model writes for src (1, src_len) grow step by step.

    A row is a step: what it reads, and what comes next. Filled is what the decoder computes in
    that step, dashed what it takes from the cache. The arguments are those of generate.
    """
    words = choose(WORDS, lang)
    check_kind("model", model, Transformer, "a Transformer")
    check_tensor("src", src)
    check_shape("src", src, (1, "src_len"))
    check_sizes(max_len=max_len)
    model.check_writing(max_len, bos, eos)
    names = {bos: "bos", eos: "eos"}
    sheet = Sheet()
    sentences = [words["decoding"]]
    for left, use_cache in ((0.0, False), (172.0, True)):
        work: list[int] = []
        hook = model.decoder.register_forward_pre_hook(
            lambda _, args, work=work: work.append(args[0].size(1))
        )
        try:
            # One step more than fits is enough to see that they do not.
            written = model.generate(src, min(max_len, 7), bos, eos, use_cache=use_cache)
        finally:
            hook.remove()
        if len(work) > 6:
            raise ValueError(f"max_len: got {max_len}, expected at most 6: no more steps fit")
        tokens = [names.get(token, str(token)) for token in [bos, *written[0].tolist()]]
        cell = 24.5 if len(work) < 6 else 20.5
        title = words["with" if use_cache else "without"]
        sheet.text(left, 8, title, **BOLD)
        told = []
        for step, computed in enumerate(work):
            y = 22.0 + 32 * step
            for i in range(step + 1):
                new = i > step - computed
                x = left + 0.5 + i * cell
                sheet.box(x, y, cell - 2, 24.0, **(COMPUTED if new else KEPT))
                sheet.text(x + cell / 2 - 1, y + 12, tokens[i], SMALL)
            end = left + (step + 1) * cell
            sheet.arrow((end + 1, y + 12), (end + 13, y + 12))
            sheet.text(end + 16, y + 12, tokens[step + 1], text_anchor="start", font_weight=600)
            read = " ".join(tokens[: step + 1])
            told.append(words["step"].format(step + 1, read, computed, tokens[step + 1]))
        y = 22.0 + 32 * len(work)
        sheet.text(left, y + 10, words["total"].format(sum(work)), text_anchor="start")
        sentences.append(title + words["colon"] + words["semicolon"].join(told))
    sheet.box(0.5, y + 32, 14.0, 14.0, **COMPUTED)
    sheet.text(20, y + 39, words["computed"], text_anchor="start")
    sheet.box(172.5, y + 32, 14.0, 14.0, **KEPT)
    sheet.text(192, y + 39, words["kept"], text_anchor="start")
    return sheet.figure(words["decoding"], paragraph(sentences, words), lang)
