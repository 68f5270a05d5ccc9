"""Teacher forcing: what a decoder is given, what each place of it sees, and what is wanted."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from headwise._check import show
from headwise._check_tensors import check_shape, check_tokens
from headwise._eval_mode import without_dropout
from headwise.drawing.checks import check_kind, check_tensor, real_numbers, strings
from headwise.drawing.figure import Figure, with_twin
from headwise.drawing.sheet import BOLD, SMALL, WIDTH, Sheet
from headwise.drawing.words import choose, paragraph
from headwise.transformer import Transformer

WORDS = {
    "en": {
        "given_wanted": "One training step: given and wanted",
        "given": "given",
        "wanted": "wanted",
        "place": "place {}: sees {}, wanted is {}",
        "seen": "seen",
        "hidden": "hidden by the mask",
    },
    "zh": {
        "given_wanted": "一步训练：给什么，要什么",
        "given": "给",
        "wanted": "要",
        "place": "{} 号位置：看得见 {}，要答 {}",
        "seen": "看得见",
        "hidden": "掩码遮住",
    },
}

SEEN: dict[str, Any] = {"hue": "blue", "fill_opacity": 0.4}
HIDDEN: dict[str, Any] = {"stroke_dasharray": "2 2", "stroke_opacity": 0.5}


@with_twin
def given_wanted(
    model: Transformer, src: Tensor, tgt: Tensor, names: Sequence[str], *, lang: str = "en"
) -> Figure:
    """What each place of a target sentence sees while the model is trained on it, and must answer.

    A row is a place. Filled is a given token that its self-attention gives weight to, in any layer
    and head; dashed one that it doesn't see. src is (1, src_len), tgt (1, tgt_len + 1) with the
    token at either end; names: the words of the target vocabulary.
    """
    words = choose(WORDS, lang)
    check_kind("model", model, Transformer, "a Transformer")
    check_tensor("src", src)
    check_shape("src", src, (1, "src_len"))
    check_tensor("tgt", tgt)
    real_numbers("tgt", tgt)
    check_tokens("tgt", tgt, (1, "tgt_len + 1"), model.tgt_vocab)
    if not 2 <= tgt.size(1) <= 8:
        raise ValueError(f"tgt: got shape {show(tgt.shape)}, expected two to eight tokens")
    names = strings("names", names, model.tgt_vocab)
    given, wanted = ([names[token] for token in row] for row in (tgt[0, :-1], tgt[0, 1:]))
    with torch.no_grad():
        _, weights = without_dropout(model)(src, tgt[:, :-1], need_weights=True)
    seen = (torch.cat(weights.decoder) > 0).any(dim=0).any(dim=0)  # (tgt_len, tgt_len)

    widths = [_wide(word) + 14 for word in given]
    if sum(widths) > WIDTH - 24 - max(map(_wide, wanted)):
        raise ValueError(f"tgt: got {len(given)} words, expected fewer or shorter: they don't fit")
    sheet, sentences = Sheet(), [words["given_wanted"]]
    end = sum(widths)
    sheet.text(0.0, 8.0, words["given"], **BOLD)
    sheet.text(end + 24, 8.0, words["wanted"], **BOLD)
    for row, answer in enumerate(wanted):
        x, y = 0.5, 22.0 + 32 * row
        for i, (word, width) in enumerate(zip(given, widths, strict=True)):
            look = SEEN if seen[row, i] else HIDDEN
            sheet.box(x, y, width - 3, 24.0, **look)
            faint = 1.0 if seen[row, i] else 0.55
            sheet.text(x + width / 2 - 1.5, y + 12, word, SMALL, fill_opacity=faint)
            x += width
        sheet.arrow((end + 2, y + 12), (end + 19, y + 12))
        sheet.text(end + 24, y + 12, answer, text_anchor="start", font_weight=600)
        sees = [word for word, one in zip(given, seen[row], strict=True) if one]
        sentences.append(words["place"].format(row, " ".join(sees), answer))
    y = 22.0 + 32 * len(wanted)
    sheet.box(0.5, y + 8, 14.0, 14.0, **SEEN)
    sheet.text(20.0, y + 15, words["seen"], text_anchor="start")
    sheet.box(120.5, y + 8, 14.0, 14.0, **HIDDEN)
    sheet.text(140.0, y + 15, words["hidden"], text_anchor="start")
    return sheet.figure(words["given_wanted"], paragraph(sentences, words), lang)


def _wide(word: str) -> float:
    """How many pixels the word takes, or a little more."""
    return sum(12.0 if ord(sign) > 0x2E80 else 7.0 for sign in word)
