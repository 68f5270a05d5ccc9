"""The map of the Transformer: every box of encoder and decoder, and what each attention is fed."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from headwise._check import show
from headwise.drawing.checks import check_kind, check_tensor
from headwise.drawing.figure import Figure, with_twin
from headwise.drawing.sheet import SMALL, Sheet
from headwise.drawing.words import choose, paragraph
from headwise.feed_forward import FeedForward
from headwise.layers import Residual
from headwise.multi_head import MultiHeadAttention
from headwise.transformer import Encoder, Transformer

FRAME: dict[str, Any] = {"stroke_dasharray": "4 3", "stroke_opacity": 0.6}
HUE_OF = {"forward": "orange", "add & norm": "purple", "add": "purple", "norm": "purple"}

WORDS = {
    "en": {
        "attentions": "Encoder-decoder with its three attentions",
        "encoder": "encoder",
        "decoder": "decoder",
        "source": "source",
        "target": "target",
        "memory": "memory",
        "embedding": "embedding",
        "positions": "+ positions",
        "self": "self-attention",
        "causal": "causal self-attention",
        "cross": "cross-attention",
        "forward": "feed-forward",
        "add & norm": "Add & Norm",
        "add": "Add",
        "norm": "Norm",
        "softmax": "softmax",
        "attends": "{} in the {}, {} times: queries from the {}, keys and values from the {}, "
        "weights {} by {}",
        "layer": "a layer of the {}: {}",
        "runs": "The source {} becomes the memory {}; the target {} becomes scores {}, and "
        "softmax makes probabilities of them",
    },
    "zh": {
        "attentions": "编码器-解码器与它的三处注意力",
        "encoder": "编码器",
        "decoder": "解码器",
        "source": "源句",
        "target": "目标",
        "memory": "编码器的输出",
        "embedding": "嵌入",
        "positions": "+ 位置编码",
        "self": "自注意力",
        "causal": "因果自注意力",
        "cross": "交叉注意力",
        "forward": "前馈网络",
        "add & norm": "残差 + 归一化",
        "add": "残差相加",
        "norm": "归一化",
        "softmax": "softmax",
        "attends": "{}，在{}里，共 {} 层：查询来自{}，键和值来自{}，权重 {} 行 {} 列",
        "layer": "{}的一层：{}",
        "runs": "源句 {} 变成编码器的输出 {}（memory）；目标 {} 变成分数 {}，再由 softmax 变成概率",
    },
}


class _Attention(NamedTuple):
    """What is seen of an attention at work; alike in all layers of a stack."""

    stack: str
    kind: str
    keys: str
    weights: tuple[int, ...]


class _Run(NamedTuple):
    """What was seen: the attentions and how often, the steps of a layer, and two results."""

    attentions: dict[_Attention, int]
    steps: dict[str, list[str]]
    memory: Tensor
    logits: Tensor


class _Column:
    """One of the two stacks, drawn box by box from the top down."""

    def __init__(self, sheet: Sheet, left: float, width: float, lane: float) -> None:
        self.sheet, self.left, self.width, self.lane = sheet, left, width, lane
        self.y = 0.0
        self.branch = 0.0  # where the line around a sublayer leaves

    @property
    def middle(self) -> float:
        return self.left + self.width / 2

    def box(self, lines: Iterable[str], hue: str | None = None, gap: float = 16.0) -> float:
        """The next box, with the arrow that leads to it from the one above; its middle."""
        shown = [line for line in lines if line]
        height = 10.0 + 15.0 * len(shown)
        if self.y:
            self.sheet.arrow((self.middle, self.y), (self.middle, self.y + gap - 1))
        top = self.y + gap if self.y else 1.0
        self.sheet.box(self.left, top, self.width, height, hue)
        for i, line in enumerate(shown):
            self.sheet.text(self.middle, top + 12.5 + 15 * i, line)
        self.y = top + height
        return top + height / 2

    def leave(self, below: float) -> None:
        """So far below the last box a line begins that runs around what comes next."""
        self.branch = self.y + below

    def come_back(self, y: float) -> None:
        """It ends at the side of the box whose middle is here."""
        side = self.left if self.lane < self.left else self.left + self.width
        points = (self.middle, self.branch), (self.lane, self.branch), (self.lane, y), (side, y)
        self.sheet.arrow(*points)


@with_twin
def attentions(model: Transformer, src: Tensor, tgt: Tensor, *, lang: str = "en") -> Figure:
    """The encoder and the decoder side by side, box by box, and what each attention is fed.

    src (batch, src_len) and tgt (batch, tgt_len) are run through the model; its parts are watched
    while they work, so norms and residuals are drawn in the order in which they come.
    """
    words = choose(WORDS, lang)
    check_kind("model", model, Transformer, "a Transformer")
    check_tensor("src", src)
    check_tensor("tgt", tgt)
    run = _watch(model, src, tgt)
    layers = {"encoder": len(model.encoder.layers), "decoder": len(model.decoder.layers)}
    shapes = [show(x.shape) for x in (src, run.memory, tgt, run.logits)]

    sheet = Sheet()
    sentences = [words["attentions"], words["runs"].format(*shapes)]
    columns = {
        "encoder": _Column(sheet, 17.0, 120.0, 8.0),
        "decoder": _Column(sheet, 182.0, 139.0, 330.0),
    }
    for stack, side in (("encoder", "source"), ("decoder", "target")):
        column = columns[stack]
        column.box([words[side], shapes[2 * (stack == "decoder")]])
        column.box([words["embedding"]])
        column.box([words["positions"]])
        top = column.y + 8
        crossing, gap = 0.0, 52.0  # room for the name of the stack
        for step in run.steps[stack]:
            seen = next((one for one in run.attentions if one[:2] == (stack, step)), None)
            if step in ("add & norm", "add"):
                column.come_back(column.box([words[step]], HUE_OF[step], 12.0))
                gap = 22.0
                continue
            if gap > 16:
                column.leave(28.0 if gap > 50 else 5.0)
            middle = column.box(
                [words[step], f"weights {show(seen.weights)}" if seen else ""],
                "blue" if seen else HUE_OF[step],
                max(gap, 26.0) if seen else gap,
            )
            gap = 16.0
            if seen:
                label = "Q, K, V" if seen.keys == side else "Q"
                sheet.text(column.middle + 7, middle - 28, label, text_anchor="start")
                crossing = crossing if seen.keys == side else middle
                sentences.append(_told(seen, run.attentions[seen], side, words))
        bottom = column.y + 8
        left, right = (1.0, 143.0) if stack == "encoder" else (176.0, 339.0)
        sheet.box(left, top, right - left, bottom - top, **FRAME)
        label = f"{words[stack]} ×{layers[stack]}"
        sheet.text(left + 5, top + 10, label, SMALL, text_anchor="start")
        order = words["item"].join(words[step] for step in run.steps[stack])
        sentences.append(words["layer"].format(words[stack], order))
        column.box([words["norm"]], HUE_OF["norm"], 24.0)
    memory = columns["encoder"].box(["memory", shapes[1]], "green")
    # The memory goes to the cross-attention of every layer.
    gap_x = 159.5
    sheet.arrow((137.0, memory), (gap_x, memory), (gap_x, crossing), (181.0, crossing))
    sheet.text(gap_x - 2, crossing - 9, "K, V")
    columns["decoder"].box(["W_vocab", shapes[3]], "green")
    columns["decoder"].box([words["softmax"], shapes[3]], "green")
    return sheet.figure(words["attentions"], paragraph(sentences, words), lang)


def _told(seen: _Attention, times: int, side: str, words: dict[str, str]) -> str:
    """What an attention is fed, in a sentence."""
    named = (words[name] for name in (seen.kind, seen.stack))
    return words["attends"].format(*named, times, words[side], words[seen.keys], *seen.weights[-2:])


def _watch(model: Transformer, src: Tensor, tgt: Tensor) -> _Run:
    """Run the model, and note which part works when, and what it is fed."""
    names = {module: name.split(".") for name, module in model.named_modules()}
    memory: list[Tensor] = []
    found: dict[_Attention, int] = {}
    steps: dict[str, list[str]] = {"encoder": [], "decoder": []}

    def step(module: nn.Module, kind: str) -> None:
        """A layer is drawn once: the first of its stack."""
        stack, _, number, *_ = names[module]
        if number == "0":
            steps[stack].append(kind)

    def note(module: Any, args: Any, options: Any, result: Any) -> None:
        if isinstance(module, Encoder):
            memory.append(result[0])
            return
        stack, query, key = names[module][0], args[0], args[-1]
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
        step(module, kind)

    hooks = []
    for module in model.modules():
        if isinstance(module, Encoder | MultiHeadAttention):
            hooks.append(module.register_forward_hook(note, with_kwargs=True))
        elif isinstance(module, FeedForward):
            hooks.append(module.register_forward_hook(lambda one, *_: step(one, "forward")))
        elif isinstance(module, Residual):
            # A change is dropped out, if at all, right before it is added.
            hooks.append(module.dropout.register_forward_hook(lambda one, *_: step(one, "add")))
            hooks.append(module.norm.register_forward_hook(lambda one, *_: step(one, "norm")))
    try:
        with torch.no_grad():
            logits, _ = model(src, tgt, need_weights=True)
    finally:
        for hook in hooks:
            hook.remove()
    return _Run(found, {stack: _joined(one) for stack, one in steps.items()}, memory[0], logits)


def _joined(steps: list[str]) -> list[str]:
    """The steps of a layer, in which a norm right after a sum is one box with it, if all are."""
    if steps[0] == "norm":
        return steps
    return [step.replace("add", "add & norm") for step in steps if step != "norm"]
