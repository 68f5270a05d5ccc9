"""An encoder layer with the norm after and before, in the order in which it works."""

import torch
from torch import Tensor

from headwise._eval_mode import without_dropout
from headwise.drawing.checks import check_kind, check_tensor
from headwise.drawing.figure import Figure, with_twin
from headwise.drawing.sheet import Sheet
from headwise.drawing.words import choose, paragraph
from headwise.layers import EncoderLayer

WORDS = {
    "en": {
        "norms": "An encoder layer with the norm after and before",
        "attention": "attention",
        "feed_forward": "feed-forward",
        "norm": "norm",
        "around": "one line runs around {}, another around {}",
        "free": "no norm stands between the two lines",
        "between": "a norm stands behind each line",
    },
    "zh": {
        "norms": "归一化放在后面与放在前面的编码器层",
        "attention": "注意力",
        "feed_forward": "前馈网络",
        "norm": "归一化",
        "around": "一条线绕过{}，另一条绕过{}",
        "free": "两条线之间没有归一化",
        "between": "每条线后面都有一次归一化",
    },
}


@with_twin
def norms(post: EncoderLayer, pre: EncoderLayer, x: Tensor, *, lang: str = "en") -> Figure:
    """In which order two encoder layers do what they do, and what their residuals run around.

    x (batch, seq_len, d_model) goes through both, which are watched while they work; "+" is where
    a residual connection comes back.
    """
    words = choose(WORDS, lang)
    check_kind("post", post, EncoderLayer, "an EncoderLayer")
    check_kind("pre", pre, EncoderLayer, "an EncoderLayer")
    check_tensor("x", x)
    sheet, sentences = Sheet(), []
    for left, layer in ((0.0, post), (176.0, pre)):
        groups = _sublayers(layer, x)
        name = "pre-LN" if layer.residual_1.norm_first else "post-LN"
        sheet.text(left + 56, 8.0, name, font_weight=600)
        sheet.text(left + 56, 32.0, "x")
        y, around = 42.0, []
        for group in groups:
            start = y + 6
            for step in group:
                sheet.arrow((left + 56, y), (left + 56, y + 22))
                y += 22
                if step == "+":
                    sheet.add("circle", cx=left + 56, cy=y + 9, r=9.0, fill="none",
                              stroke="currentColor")  # fmt: skip
                    sheet.text(left + 56, y + 9, "+")
                    side = (left + 140, start), (left + 140, y + 9), (left + 66, y + 9)
                    sheet.arrow((left + 56, start), *side)
                    y += 18
                else:
                    hue = {"attention": "blue", "feed_forward": "green"}.get(step)
                    sheet.box(left + 1, y, 110.0, 28.0, hue)
                    sheet.text(left + 56, y + 14, words[step])
                    y += 28
            inside = group[: group.index("+")]
            around.append(words["item"].join(words[step] for step in inside))
        sheet.arrow((left + 56, y), (left + 56, y + 22))
        sheet.height = max(sheet.height, y + 24)
        order = words["item"].join(words.get(step, step) for group in groups for step in group)
        on_the_way = "between" if groups[0][-1] == "norm" else "free"
        told = words["semicolon"].join((words["around"].format(*around), words[on_the_way]))
        sentences.append(f"{name}{words['colon']}{order}{words['semicolon']}{told}")
    title = words["norms"]
    return sheet.figure(title, paragraph([title, *sentences], words), lang)


def _sublayers(layer: EncoderLayer, x: Tensor) -> list[list[str]]:
    """What happens in each of the two sublayers, in order: its part, its norm, and "+"."""
    groups: list[list[str]] = [[], []]
    watched = (
        (layer.attention, 0, "attention"),
        (layer.feed_forward, 1, "feed_forward"),
        *((one.norm, i, "norm") for i, one in enumerate((layer.residual_1, layer.residual_2))),
        # A change is dropped out, if at all, right before it is added.
        *((one.dropout, i, "+") for i, one in enumerate((layer.residual_1, layer.residual_2))),
    )
    hooks = [
        module.register_forward_hook(lambda *_, group=groups[i], name=name: group.append(name))
        for module, i, name in watched
    ]
    try:
        with torch.no_grad():
            without_dropout(layer)(x)
    finally:
        for hook in hooks:
            hook.remove()
    return groups
