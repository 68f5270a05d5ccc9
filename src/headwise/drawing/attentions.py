"""Encoder and decoder side by side, and what each of the three attentions is fed."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from headwise._check import show
from headwise.drawing.checks import check_kind, check_tensor
from headwise.drawing.figure import Figure, with_twin
from headwise.drawing.sheet import SMALL, Sheet
from headwise.drawing.words import choose, paragraph
from headwise.multi_head import MultiHeadAttention
from headwise.transformer import Encoder, Transformer

FRAME: dict[str, Any] = {"stroke_dasharray": "4 3", "stroke_opacity": 0.6}

WORDS = {
    "en": {
        "attentions": "Encoder-decoder with its three attentions",
        "encoder": "encoder",
        "decoder": "decoder",
        "source": "source",
        "target": "target",
        "memory": "memory",
        "embed": "embed + position",
        "self": "self-attention",
        "causal": "causal self-attention",
        "cross": "cross-attention",
        "forward": "feed-forward",
        "scores": "scores",
        "attends": "{} in the {}, {} times: queries from the {}, keys and values from the {}, "
        "weights {} by {}",
        "runs": "The source {} becomes the memory {}; the target {} becomes scores {}",
    },
    "zh": {
        "attentions": "编码器-解码器与它的三处注意力",
        "encoder": "编码器",
        "decoder": "解码器",
        "source": "源句",
        "target": "目标",
        "memory": "记忆",
        "embed": "嵌入 + 位置",
        "self": "自注意力",
        "causal": "因果自注意力",
        "cross": "交叉注意力",
        "forward": "前馈网络",
        "scores": "分数",
        "attends": "{}，在{}里，共 {} 层：查询来自{}，键和值来自{}，权重 {} 行 {} 列",
        "runs": "源句 {} 变成记忆 {}；目标 {} 变成分数 {}",
    },
}


class _Attention(NamedTuple):
    """What is seen of an attention at work; alike in all layers of a stack."""

    stack: str
    kind: str
    keys: str
    weights: tuple[int, ...]


@with_twin
def attentions(model: Transformer, src: Tensor, tgt: Tensor, *, lang: str = "en") -> Figure:
    """The encoder and the decoder side by side, and what each of the three attentions is fed.

    src (batch, src_len) and tgt (batch, tgt_len) are run through the model; the attentions are
    watched while they work.
    """
    words = choose(WORDS, lang)
    check_kind("model", model, Transformer, "a Transformer")
    check_tensor("src", src)
    check_tensor("tgt", tgt)
    found, memory, logits = _watch(model, src, tgt)
    layers = {"encoder": len(model.encoder.layers), "decoder": len(model.decoder.layers)}
    sides = {"encoder": "source", "decoder": "target"}
    shapes = [show(x.shape) for x in (src, memory, tgt, logits)]

    sheet = Sheet()
    rows: dict[str, int] = {}
    lefts = {"encoder": 1.5, "decoder": 190.0}
    width, pitch = 148.5, 70.0

    def box(stack: str, name: str, shape: str, label: str = "", hue: str | None = None) -> float:
        """The next box of the column, with the arrow that leads to it; its upper edge."""
        row = rows.get(stack, 0 if stack == "encoder" else 1)
        rows[stack] = row + 1
        x, y = lefts[stack] + 7, 1 + row * pitch
        if name not in ("source", "target"):
            sheet.arrow((x + 67.25, y - 30), (x + 67.25, y - 1))
            sheet.text(x + 74, y - 14, label, text_anchor="start")
        sheet.box(x, y, 134.5, 40.0, hue)
        sheet.text(x + 67.25, y + (13 if shape else 20), words[name])
        sheet.text(x + 67.25, y + 29, shape)
        return y

    sentences = [words["attentions"], words["runs"].format(*shapes)]
    for stack, side in sides.items():
        box(stack, side, shapes[2 * (stack == "decoder")])
        box(stack, "embed", "")
        top = 1 + rows[stack] * pitch
        for seen, times in found.items():
            if seen.stack == stack:
                own = seen.keys == side
                label = "Q, K, V" if own else "Q"
                y = box(stack, seen.kind, f"weights {show(seen.weights)}", label, "blue")
                if not own:
                    sheet.arrow((143.0, y + 20), (196.5, y + 20))
                    sheet.text(170, y + 10, "K, V")
                sentences.append(
                    words["attends"].format(
                        words[seen.kind],
                        words[stack],
                        times,
                        words[side],
                        words[seen.keys],
                        *seen.weights[-2:],
                    )
                )
        bottom = box(stack, "forward", "") + 48
        sheet.box(lefts[stack], top - 24, width, bottom - top + 24, **FRAME)
        label = f"{words[stack]} ×{layers[stack]}"
        sheet.text(lefts[stack] + 5, top - 14, label, SMALL, text_anchor="start")
    box("encoder", "memory", shapes[1], hue="green")
    box("decoder", "scores", shapes[3], "W_vocab")
    return sheet.figure(words["attentions"], paragraph(sentences, words), lang)


def _watch(
    model: Transformer, src: Tensor, tgt: Tensor
) -> tuple[dict[_Attention, int], Tensor, Tensor]:
    """How often each attention was seen at work, the memory and the logits."""
    names = {module: name.partition(".")[0] for name, module in model.named_modules()}
    memory: list[Tensor] = []
    found: dict[_Attention, int] = {}

    def note(module: Any, args: Any, options: Any, result: Any) -> None:
        if isinstance(module, Encoder):
            memory.append(result[0])
            return
        stack, query, key = names[module], args[0], args[-1]
        if key is query:
            kind = "causal" if options.get("is_causal") else "self"
            keys = "source" if stack == "encoder" else "target"
        elif memory and key is memory[0]:
            kind, keys = "cross", "memory"
        else:
            raise ValueError(
                f"model: got keys for an attention of the {stack} that are neither its queries "
                "nor the memory, expected one of them"
            )
        seen = _Attention(stack, kind, keys, tuple(result[1].shape))
        found[seen] = found.get(seen, 0) + 1

    kinds = (Encoder, MultiHeadAttention)
    watched = [module for module in model.modules() if isinstance(module, kinds)]
    hooks = [module.register_forward_hook(note, with_kwargs=True) for module in watched]
    try:
        with torch.no_grad():
            logits, _ = model(src, tgt, need_weights=True)
    finally:
        for hook in hooks:
            hook.remove()
    return found, memory[0], logits
