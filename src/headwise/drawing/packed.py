"""Which rows and columns of nn.MultiheadAttention's packed weights belong to which head."""

import copy

import torch
from torch import Tensor, nn

from headwise._check import show
from headwise.convert import projections
from headwise.drawing.checks import check_kind
from headwise.drawing.figure import HUES, Figure, with_twin
from headwise.drawing.sheet import BOLD, SMALL, WIDTH, Sheet, hue_of
from headwise.drawing.words import choose, paragraph
from headwise.heads import split_heads

WORDS = {
    "en": {
        "packed": "Which rows and columns of nn.MultiheadAttention belong to which head",
        "head": "head {}",
        "rows": "rows of in_proj_weight for {}: {}",
        "columns": "columns of out_proj.weight for {}: {}",
    },
    "zh": {
        "packed": "哪些行、哪些列属于哪个头：nn.MultiheadAttention",
        "head": "第 {} 头",
        "rows": "属于 {} 的行，在 in_proj_weight 里：{}",
        "columns": "属于 {} 的列，在 out_proj.weight 里：{}",
    },
}


@with_twin
def packed(mha: nn.MultiheadAttention, *, lang: str = "en") -> Figure:
    """Which rows of in_proj_weight and which columns of out_proj.weight belong to which head.

    Counted from 0. Found by numbering the rows and columns of a copy, and looking where the
    numbers turn up in its four projections.
    """
    words = choose(WORDS, lang)
    check_kind("mha", mha, nn.MultiheadAttention, "nn.MultiheadAttention")
    if mha.in_proj_weight is None:
        raise ValueError("mha: got three projections kept apart, expected a packed in_proj_weight")
    num_heads = mha.num_heads
    if num_heads > len(HUES):
        raise ValueError(f"mha: got {num_heads} heads, expected at most {len(HUES)}")
    if mha.in_proj_weight.is_meta:
        raise ValueError("mha: got one on the meta device, expected weights with values")
    if mha.bias_k is not None or mha.add_zero_attn:
        raise ValueError("mha: got add_bias_kv or add_zero_attn, expected neither")
    numbered = copy.deepcopy(mha).cpu().double()  # half precision could not count the rows
    with torch.no_grad():
        into, out_of = numbered.in_proj_weight, numbered.out_proj.weight
        into.copy_(torch.arange(len(into))[:, None].expand_as(into))
        out_of.copy_(torch.arange(len(out_of)).expand_as(out_of))
    W_q, W_k, W_v, W_o = (projection.weight for projection in projections(numbered).values())

    def owned(numbers: Tensor) -> list[str]:
        """What each head has of one number for each of its features: from the first to the last."""
        parts = split_heads(numbers[None, None], num_heads)[0, :, 0]  # (num_heads, d_k)
        return [f"{part[0]:g}–{part[-1]:g}" for part in parts]

    heads = [words["head"].format(h + 1) for h in range(num_heads)]
    sheet, sentences = Sheet(), [words["packed"]]
    sheet.text(0.0, 8.0, f"in_proj_weight {show(into.shape)}", SMALL, **BOLD)
    y = 24.0
    for name, W in (("W_q", W_q), ("W_k", W_k), ("W_v", W_v)):
        rows = owned(W[:, 0])
        sheet.text(0.0, y + 12 * num_heads, name, text_anchor="start")
        for h, row in enumerate(rows):
            sheet.box(32.0, y, 100.0, 24.0, hue_of(h), rx=0)
            sheet.text(38.0, y + 12, heads[h], SMALL, text_anchor="start")
            sheet.text(126.0, y + 12, row, SMALL, text_anchor="end")
            y += 24
        y += 4
        told = words["item"].join(f"{head} {row}" for head, row in zip(heads, rows, strict=True))
        sentences.append(words["rows"].format(name, told))
    columns = owned(W_o[0])
    left, width = 158.0, (WIDTH - 159) / num_heads
    sheet.text(left, 8.0, f"out_proj.weight {show(out_of.shape)}", SMALL, **BOLD)
    for h, column in enumerate(columns):
        x = left + h * width
        sheet.box(x, 24.0, width, 120.0, hue_of(h), rx=0)
        sheet.text(x + width / 2, 72.0, heads[h], SMALL)
        sheet.text(x + width / 2, 92.0, column, SMALL)
    sheet.text(left + num_heads * width / 2, 156.0, "W_o")
    told = words["item"].join(f"{head} {row}" for head, row in zip(heads, columns, strict=True))
    sentences.append(words["columns"].format("W_o", told))
    return sheet.figure(words["packed"], paragraph(sentences, words), lang)
