"""Diagrams drawn from what a run has done: data flow, split and merge, masks, norms, decoding.

Shapes come from a trace, numbers from tensors, and what an attention is fed from watching it at
work, so that no diagram says what the code does not do. Each function returns a Figure, as in
`headwise.drawing.plot`, narrow enough for a phone.
"""

import copy
import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from headwise._check import check_divides, check_shape, check_sizes, show
from headwise.convert import projections
from headwise.drawing.plot import HUES, Figure, choose, finished, with_twin
from headwise.heads import split_heads
from headwise.layers import EncoderLayer
from headwise.masks import combine
from headwise.multi_head import MultiHeadAttention
from headwise.trace import Trace
from headwise.transformer import Encoder, Transformer

WIDTH = 340.0
SMALL, NORMAL = 11.0, 12.0  # sizes of text
LABELS = 58.0  # the room that the names of rows take
GAP = 14.0  # between the pieces of a token
MARKS = {"right": "✓ ", "wrong": "✗ "}
BOLD: dict[str, Any] = {"text_anchor": "start", "font_weight": 600}
COMPUTED: dict[str, Any] = {"hue": "blue", "fill_opacity": 0.4}
KEPT: dict[str, Any] = {"stroke_dasharray": "2 2"}
FRAME: dict[str, Any] = {"stroke_dasharray": "4 3", "stroke_opacity": 0.6}

WORDS = {
    "en": {
        "one": "Data flow of one head",
        "many": "Data flow of {} heads",
        "head": "head {}",
        "split": "split",
        "merge": "merge",
        "projected": " From top to bottom, {} through W_q, W_k and W_v gives Q, K and V, each {}.",
        "scored": " Q and K give scores {}; softmax makes them weights {}; weights and V give "
        "out {}.",
        "lanes": " Split, each is {}. In each of the {} heads, side by side, Q and K {} give "
        "scores {}; softmax makes them weights {}; weights and V give out {}. Merged: {}.",
        "last": " Through W_o: {}.",
        "splitting": "Splitting into {} heads, right and wrong",
        "merging": "Merging {} heads, right and wrong",
        "right": "right",
        "wrong": "wrong",
        "verdict": "{}: {}",
        "token": "token {}",
        "holds": "{} holds {}",
        "packed": "Which rows and columns of nn.MultiheadAttention belong to which head",
        "rows": "rows of in_proj_weight for {}: {}",
        "columns": "columns of out_proj.weight for {}: {}",
        "combined": "Masks combined: 1, filled, may be seen",
        "sees": "the mask {} shows the queries in turn {} of {} keys",
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
        "decoding": "Decoding step by step, without and with a cache",
        "without": "without a cache",
        "with": "with a cache",
        "step": "step {}: {}, {} computed, gives {}",
        "total": "{} computed",
        "computed": "computed now",
        "kept": "from the cache",
        "norms": "An encoder layer with the norm after and before",
        "attention": "attention",
        "feed_forward": "feed-forward",
        "norm": "norm",
        "around": "one line runs around {}, another around {}",
        "free": "no norm stands between the two lines",
        "between": "a norm stands behind each line",
        "gradients": "The gradient that arrives from a distance",
        "back": "{} back",
        "arrives": "{}: {}",
        "comma": ", ",
        "semicolon": "; ",
        "colon": ": ",
        "stop": ". ",
    },
    "zh": {
        "one": "单个头的数据流",
        "many": "{} 个头的数据流",
        "head": "第 {} 头",
        "split": "拆分",
        "merge": "合并",
        "projected": "从上到下，{} 经过 W_q、W_k、W_v 得到 Q、K、V，形状都是 {}。",
        "scored": "Q 与 K 得到 scores {}；softmax 把它变成 weights {}；weights 与 V 得到 out {}。",
        "lanes": "拆分之后都是 {}。{} 个头并排，在每个头里，Q 与 K {} 得到 scores {}；"
        "softmax 把它变成 weights {}；weights 与 V 得到 out {}。合并之后：{}。",
        "last": "再经过 W_o：{}。",
        "splitting": "拆成 {} 个头：正确与错误",
        "merging": "合并 {} 个头：正确与错误",
        "right": "正确",
        "wrong": "错误",
        "verdict": "{}的做法，{}",
        "token": "词元 {}",
        "holds": "{}：{}",
        "packed": "哪些行、哪些列属于哪个头：nn.MultiheadAttention",
        "rows": "属于 {} 的行，在 in_proj_weight 里：{}",
        "columns": "属于 {} 的列，在 out_proj.weight 里：{}",
        "combined": "掩码的组合：填色的 1 表示可见",
        "sees": "掩码 {} 让各个查询依次看到 {} 个键，共 {} 个",
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
        "decoding": "逐步解码：不用缓存与使用缓存",
        "without": "不用缓存",
        "with": "使用缓存",
        "step": "第 {} 步：{}，算 {} 个位置，得到 {}",
        "total": "共算 {} 个",
        "computed": "这一步计算",
        "kept": "取自缓存",
        "norms": "归一化放在后面与放在前面的编码器层",
        "attention": "注意力",
        "feed_forward": "前馈网络",
        "norm": "归一化",
        "around": "一条线绕过{}，另一条绕过{}",
        "free": "两条线之间没有归一化",
        "between": "每条线后面都有一次归一化",
        "gradients": "从远处传来的梯度",
        "back": "往回 {} 个",
        "arrives": "{}：{}",
        "comma": "、",
        "semicolon": "；",
        "colon": "：",
        "stop": "。",
    },
}


class _Sheet:
    """A drawing that grows downwards; every place is given in pixels."""

    def __init__(self) -> None:
        self.root = ET.Element("svg")
        self.height = 0.0

    def add(self, kind: str, **attributes: object) -> ET.Element:
        named = {
            name.replace("_", "-"): f"{value:g}" if isinstance(value, float) else str(value)
            for name, value in attributes.items()
        }
        return ET.SubElement(self.root, kind, named)

    def text(
        self, x: float, y: float, words: str, size: float = NORMAL, **attributes: object
    ) -> None:
        """Words around the point (x, y); `text_anchor` says whether they begin or end there."""
        if words:
            attributes = {"text_anchor": "middle", "font_size": size} | attributes
            self.add("text", x=x, y=y + size * 0.35, **attributes).text = words
            self.height = max(self.height, y + size)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        hue: str | None = None,
        **more: object,
    ) -> None:
        """A frame, filled with some of its hue; without one, in the page's ink."""
        colour, fill = (HUES[hue], 0.16) if hue else ("currentColor", 0.0)
        look = {"fill": colour, "fill_opacity": fill, "stroke": colour, "rx": 4} | more
        self.add("rect", x=x, y=y, width=width, height=height, **look)
        self.height = max(self.height, y + height + 1)

    def tensor(
        self, x: float, y: float, width: float, name: str, shape: str, hue: str | None = None
    ) -> None:
        """A box of two lines: what it is, and its shape."""
        self.box(x, y, width, 40.0, hue)
        self.text(x + width / 2, y + 13, name, font_weight=600)
        self.text(x + width / 2, y + 29, shape)

    def arrow(self, *points: tuple[float, float]) -> None:
        """A line through the points, with a head at the last one."""
        (x0, y0), (x1, y1) = points[-2:]
        length = math.hypot(x1 - x0, y1 - y0)
        across, down = (x1 - x0) / length, (y1 - y0) / length
        barbs = [
            (x1 - 6 * across - side * 3.5 * down, y1 - 6 * down + side * 3.5 * across)
            for side in (1, -1)
        ]
        path = [points, (barbs[0], (x1, y1), barbs[1])]
        d = " ".join("M" + " L".join(f"{x:g} {y:g}" for x, y in line) for line in path)
        self.add("path", d=d, fill="none", stroke="currentColor", stroke_opacity=0.7)

    def figure(self, title: str, alt: str, lang: str) -> Figure:
        return finished(
            self.root, f"{WIDTH:g}", f"{math.ceil(self.height)}", title=title, alt=alt, lang=lang
        )


def _hue(i: int) -> str:
    return list(HUES)[i % len(HUES)]


def _joined(sentences: list[str], words: dict[str, str]) -> str:
    """The sentences one after the other, each with a capital where the language has them."""
    stop = words["stop"]
    return "".join(sentence[0].upper() + sentence[1:] + stop for sentence in sentences).strip()


@with_twin
def flow(steps: Trace, *, lang: str = "en") -> Figure:
    """What flows where in an attention module, one head or several, with the shape of each tensor.

    steps: the trace of a module that names x, Q, K, V, scores, weights and out, such as
    ParameterHead or ParameterOnly. The several heads of the latter stand side by side.
    """
    words = choose(WORDS, lang)
    own = [step for step in steps if step.depth == 0]
    inside = steps.within("attention")
    shapes = {
        name: [s.shape for s in own if s.name == name] for name in ("x", "Q", "K", "V", "out")
    }
    shapes |= {name: [s.shape for s in inside if s.name == name] for name in ("scores", "weights")}
    gathered = [step.shape for step in inside if step.name == "out"]
    for name, found in shapes.items():
        if not found:
            raise ValueError(f"steps: got no {name}, expected a trace of x, Q, K, V, … and out")
    x, Q, out = shapes["x"][0], shapes["Q"], shapes["out"]
    scores, weights = shapes["scores"][0], shapes["weights"][0]
    # Several heads show first the projection and then the split; out is merged and projected.
    if len(Q) != len(scores) - 2 or len(out) != 2:
        raise ValueError(
            f"steps: got {len(Q)} times Q and {len(out)} times out, "
            f"expected {len(scores) - 2} and 2"
        )
    if not Q == shapes["K"] == shapes["V"]:
        raise ValueError("steps: got Q, K and V of different shapes, expected the same")

    sheet = _Sheet()
    sheet.tensor(118.0, 1.0, 104.0, "x", show(x))
    for i, name in enumerate(("Q", "K", "V")):
        middle = 53.5 + i * 116.5
        sheet.arrow((170.0, 41.0), (170.0, 56.0), (middle, 56.0), (middle, 84.0))
        sheet.text(middle + 7, 69, f"W_{name.lower()}", text_anchor="start")
        sheet.tensor(middle - 52, 85.0, 104.0, name, show(Q[0]))
    alt = words["projected"].format(f"x {show(x)}", show(Q[0]))

    if len(scores) == 3:
        title = words["one"]
        for middle in (53.5, 170.0):
            sheet.arrow((middle, 125.0), (middle, 158.0))
        sheet.text(111.75, 141, f"Q @ Kᵀ ÷ √{Q[0][-1]}")
        sheet.tensor(1.5, 159.0, 220.5, "scores", show(scores), "blue")
        sheet.arrow((111.75, 199.0), (111.75, 232.0))
        sheet.text(119, 214, "softmax", text_anchor="start")
        sheet.tensor(1.5, 233.0, 220.5, "weights", show(weights), "blue")
        sheet.arrow((111.75, 273.0), (111.75, 306.0))
        sheet.arrow((286.5, 125.0), (286.5, 306.0))
        sheet.text(199, 289, "weights @ V")
        y = 307.0
        alt += words["scored"].format(show(scores), show(weights), show(gathered[0]))
    else:
        num_heads = scores[1]
        if num_heads > len(HUES):
            raise ValueError(f"steps: got {num_heads} heads, expected at most {len(HUES)}")
        title = words["many"].format(num_heads)
        lane = (337 - 8 * (num_heads - 1)) / num_heads
        for i in range(3):
            for h in range(num_heads):
                left = 1.5 + i * 116.5 + h * 104 / num_heads
                sheet.box(left, 125.0, 104 / num_heads, 8.0, _hue(h), rx=0)
        sheet.text(111.75, 144, words["split"])
        sheet.text(228.25, 144, show(Q[1]))
        parts = (("Q, K, V", Q[1]), ("scores", scores), ("weights", weights), ("out", gathered[0]))
        for h in range(num_heads):
            left = 1.5 + h * (lane + 8)
            middle = left + lane / 2
            # Every head gets a piece of each of the three.
            for source in (53.5, 170.0, 286.5):
                sheet.arrow((source, 134.0), (source, 156.0), (middle, 156.0), (middle, 178.0))
            sheet.box(left, 179.0, lane, 245.0, _hue(h), fill_opacity=0.0)
            sheet.text(middle, 192, words["head"].format(h + 1), font_weight=600)
            for i, (name, shape) in enumerate(parts):
                y = 204.0 + i * 56
                sheet.box(left + 5, y, lane - 10, 36.0, _hue(h))
                sheet.text(middle, y + 12, name)
                sheet.text(middle, y + 26, f"{shape[2]} × {shape[3]}")
                if i < 3:
                    sheet.arrow((middle, y + 36), (middle, y + 55))
            sheet.arrow((middle, 424.0), (middle, 454.0))
            sheet.box(
                left - 4 * (h > 0),
                455.0,
                lane + 4 * ((h > 0) + (h < num_heads - 1)),
                8.0,
                _hue(h),
                rx=0,
            )
        sheet.text(170, 439, words["merge"])
        y = 463.0
        alone = [show(shape[2:]) for _, shape in parts]
        alt += words["lanes"].format(show(Q[1]), num_heads, *alone, show(out[-2]))
    sheet.tensor(1.5, y, 337.0, "out", show(out[-2]))
    sheet.arrow((170.0, y + 40), (170.0, y + 68))
    sheet.text(177, y + 52, "W_o", text_anchor="start")
    sheet.tensor(118.0, y + 69, 104.0, "out", show(out[-1]))
    alt += words["last"].format(show(out[-1]))
    return sheet.figure(title, title + words["stop"].strip() + alt, lang)


@with_twin
def split(x: Tensor, num_heads: int, *, lang: str = "en") -> Figure:
    """Where each number of x (1, seq_len, d_model) goes when heads are split, right and wrong.

    A token has one colour all the way. Right is view and transpose; wrong is a reshape straight
    to the final shape.
    """
    words = choose(WORDS, lang)
    check_shape("x", x, (1, "seq_len", "d_model"))
    check_divides(num_heads, x.size(2))
    _, seq_len, d_model = x.shape
    d_k = d_model // num_heads
    owners = torch.arange(seq_len)[None, :, None].expand_as(x)
    cell = _cell(d_model, num_heads)
    pieces, direct = (1, seq_len, num_heads, d_k), (1, num_heads, seq_len, d_k)
    cut, cut_owners = x.reshape(pieces), owners.reshape(pieces)

    sheet = _Sheet()
    bottom = _tokens(sheet, 0.0, f"x {show(x.shape)}", x[:, :, None], owners[:, :, None], words)
    middle = LABELS + d_model * cell / 2
    sheet.arrow((middle, bottom + 4), (middle, bottom + 30))
    sheet.text(middle + 7, bottom + 16, f"view{show(pieces)}", text_anchor="start")
    top = _tokens(sheet, bottom + 16, "", cut, cut_owners, words) + 4
    half, edge, beside = d_k * cell / 2, WIDTH - 4, bottom / 2 + 10
    sheet.arrow((half, top), (half, top + 34))
    from_x = (LABELS + d_model * cell + 4, beside), (edge, beside), (edge, top + 14)
    sheet.arrow(*from_x, (180 + half, top + 14), (180 + half, top + 34))

    title = words["splitting"].format(num_heads)
    sentences = [title]
    straight = f"reshape{show(direct)}"
    for left, verdict, code, numbers, owned in (
        (1.0, "right", "transpose(1, 2)", cut.transpose(1, 2), cut_owners.transpose(1, 2)),
        (180.0, "wrong", straight, x.reshape(direct), owners.reshape(direct)),
    ):
        sheet.text(left, top + 46, MARKS[verdict] + words[verdict], **BOLD)
        sheet.text(left, top + 64, code, text_anchor="start")
        _heads(sheet, left, top + 76, cell, numbers, owned, words)
        sentences.append(words["verdict"].format(words[verdict], _told(numbers[0], words, "head")))
    return sheet.figure(title, _joined(sentences, words), lang)


@with_twin
def merge(x: Tensor, *, lang: str = "en") -> Figure:
    """Where each number of x (1, num_heads, seq_len, d_k) goes when heads are merged.

    A token has one colour all the way. Right is transpose and reshape; wrong leaves the transpose
    out.
    """
    words = choose(WORDS, lang)
    check_shape("x", x, (1, "num_heads", "seq_len", "d_k"))
    _, num_heads, seq_len, d_k = x.shape
    owners = torch.arange(seq_len)[None, None, :, None].expand_as(x)
    joined = (1, seq_len, num_heads * d_k)
    cell = _cell(num_heads * d_k, num_heads)

    sheet = _Sheet()
    sheet.text(0, 8, f"x {show(x.shape)}", **BOLD)
    bottom = _heads(sheet, LABELS, 20.0, cell, x, owners, words)
    middle, edge, beside = LABELS + d_k * cell / 2, WIDTH - 4, bottom / 2 + 10
    sheet.arrow((middle, bottom + 4), (middle, bottom + 30))
    sheet.text(middle + 7, bottom + 16, "transpose(1, 2)", text_anchor="start")
    turned, turned_owners = x.transpose(1, 2), owners.transpose(1, 2)
    bottom = _tokens(sheet, bottom + 16, "", turned, turned_owners, words)

    title = words["merging"].format(num_heads)
    sentences = [title]
    for verdict, numbers, owned in (
        ("right", turned.reshape(joined), turned_owners.reshape(joined)),
        ("wrong", x.reshape(joined), owners.reshape(joined)),
    ):
        code = f"{'x.' * (verdict == 'wrong')}reshape{show(joined)}"
        sheet.text(0, bottom + 18, MARKS[verdict] + words[verdict], **BOLD)
        sheet.text(middle + 7, bottom + 18, code, text_anchor="start")
        if verdict == "right":
            sheet.arrow((middle, bottom + 4), (middle, bottom + 34))
        end = _tokens(sheet, bottom + 16, "", numbers[:, :, None], owned[:, :, None], words)
        if verdict == "wrong":
            down = (bottom + end + 36) / 2
            from_x = (LABELS + d_k * cell + 4, beside), (edge, beside), (edge, down)
            sheet.arrow(*from_x, (LABELS + num_heads * d_k * cell + 4, down))
        bottom = end + 12
        sentences.append(
            words["verdict"].format(words[verdict], _told(numbers[0, :, None], words, "token"))
        )
    return sheet.figure(title, _joined(sentences, words), lang)


def _cell(d_model: int, pieces: int) -> float:
    """How wide the cell of a number may be, so that a row of d_model numbers in pieces fits."""
    width = (WIDTH - LABELS - 20 - GAP * (pieces - 1)) / d_model
    if width < 18:
        raise ValueError(f"x: got {d_model} numbers for a token, expected fewer: they do not fit")
    return min(width, 28.0)


def _cells(
    sheet: _Sheet, left: float, top: float, cell: float, numbers: Tensor, owners: Tensor
) -> None:
    """The table (seq_len, width), each number on the colour of the token that owns it."""
    for row, (line, owned) in enumerate(zip(numbers.tolist(), owners.tolist(), strict=True)):
        for column, (number, owner) in enumerate(zip(line, owned, strict=True)):
            x, y = left + column * cell, top + row * 24
            sheet.box(x, y, cell, 24.0, _hue(owner), rx=0, fill_opacity=0.3)
            sheet.text(x + cell / 2, y + 12, f"{number:g}")


def _tokens(
    sheet: _Sheet, top: float, name: str, x: Tensor, owners: Tensor, words: dict[str, str]
) -> float:
    """x (1, seq_len, pieces, width) with a row for each token; where it ends."""
    pieces, width = x.shape[2:]
    cell = _cell(pieces * width, pieces)
    sheet.text(0, top + 8, name, **BOLD)
    for token in range(x.size(1)):
        sheet.text(0, top + 32 + 24 * token, words["token"].format(token + 1), text_anchor="start")
    for piece in range(pieces):
        left = LABELS + piece * (width * cell + GAP)
        _cells(sheet, left, top + 20, cell, x[0, :, piece], owners[0, :, piece])
    return top + 20 + 24 * x.size(1)


def _heads(
    sheet: _Sheet,
    left: float,
    top: float,
    cell: float,
    x: Tensor,
    owners: Tensor,
    words: dict[str, str],
) -> float:
    """x (1, num_heads, seq_len, d_k) with a table for each head; where it ends."""
    for head in range(x.size(1)):
        sheet.text(left, top + 8, words["head"].format(head + 1), text_anchor="start")
        _cells(sheet, left, top + 18, cell, x[0, head], owners[0, head])
        top += 18 + 24 * x.size(2) + 10
    return top - 10


def _told(tables: Tensor, words: dict[str, str], kind: str) -> str:
    """What each table of (table, row, column) holds, row by row."""
    parts = []
    for i, rows in enumerate(tables.tolist()):
        told = words["comma"].join(" ".join(f"{number:g}" for number in row) for row in rows)
        parts.append(words["holds"].format(words[kind].format(i + 1), told))
    return words["semicolon"].join(parts)


@with_twin
def packed(mha: nn.MultiheadAttention, *, lang: str = "en") -> Figure:
    """Which rows of in_proj_weight and which columns of out_proj.weight belong to which head.

    Counted from 0. Found by numbering the rows and columns of a copy, and looking where the
    numbers turn up in its four projections.
    """
    words = choose(WORDS, lang)
    if mha.in_proj_weight is None:
        raise ValueError("mha: got three projections kept apart, expected a packed in_proj_weight")
    num_heads = mha.num_heads
    if num_heads > len(HUES):
        raise ValueError(f"mha: got {num_heads} heads, expected at most {len(HUES)}")
    numbered = copy.deepcopy(mha)
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
    sheet, sentences = _Sheet(), [words["packed"]]
    sheet.text(0.0, 8.0, f"in_proj_weight {show(into.shape)}", SMALL, **BOLD)
    y = 24.0
    for name, W in (("W_q", W_q), ("W_k", W_k), ("W_v", W_v)):
        rows = owned(W[:, 0])
        sheet.text(0.0, y + 12 * num_heads, name, text_anchor="start")
        for h, row in enumerate(rows):
            sheet.box(32.0, y, 100.0, 24.0, _hue(h), rx=0)
            sheet.text(38.0, y + 12, heads[h], SMALL, text_anchor="start")
            sheet.text(126.0, y + 12, row, SMALL, text_anchor="end")
            y += 24
        y += 4
        told = words["comma"].join(f"{head} {row}" for head, row in zip(heads, rows, strict=True))
        sentences.append(words["rows"].format(name, told))
    columns = owned(W_o[0])
    left, width = 158.0, (WIDTH - 159) / num_heads
    sheet.text(left, 8.0, f"out_proj.weight {show(out_of.shape)}", SMALL, **BOLD)
    for h, column in enumerate(columns):
        x = left + h * width
        sheet.box(x, 24.0, width, 120.0, _hue(h), rx=0)
        sheet.text(x + width / 2, 72.0, heads[h], SMALL)
        sheet.text(x + width / 2, 92.0, column, SMALL)
    sheet.text(left + num_heads * width / 2, 156.0, "W_o")
    told = words["comma"].join(f"{head} {row}" for head, row in zip(heads, columns, strict=True))
    sentences.append(words["columns"].format("W_o", told))
    return sheet.figure(words["packed"], _joined(sentences, words), lang)


@with_twin
def masks(
    parts: Mapping[str, Tensor], tokens: Sequence[str] | None = None, *, lang: str = "en"
) -> Figure:
    """The named masks of one sentence side by side, and what is left when all of them hold.

    parts: name to mask, boolean, True = may be seen, broadcastable to (1, 1, query, key).
    tokens: the keys, by default their positions, counted from 0.
    """
    words = choose(WORDS, lang)
    both = combine(*parts.values())
    if both is None:
        raise ValueError("parts: got no mask, expected at least one")
    query, key = both.shape[-2:]
    if both.numel() != query * key or query > key:
        raise ValueError(
            f"parts: got masks for {show(both.shape)}, expected one sentence, (1, 1, query, key), "
            "and no more queries than keys"
        )
    tokens = [str(i) for i in range(key)] if tokens is None else tokens
    if len(tokens) != key:
        raise ValueError(f"tokens: got {len(tokens)}, expected {key}")
    signs = [*["&"] * (len(parts) - 1), "=", ""]
    sheet = _Sheet()
    cell = min(26.0, (WIDTH - 22 - 24 * len(parts)) / ((len(parts) + 1) * key))
    left = 20.0
    sentences = [words["combined"]]
    panels = [*parts.items(), (" & ".join(parts), both)]
    for (name, mask), sign in zip(panels, signs, strict=True):
        table = mask.expand_as(both).reshape(query, key)
        width = key * cell
        shown = name if sign else ""
        sheet.text(left + width / 2, 8, shown)
        for row, line in enumerate(table.tolist()):
            for column, seen in enumerate(line):
                x, y = left + column * cell, 20 + row * cell
                sheet.box(x, y, cell, cell, "blue", rx=0, fill_opacity=0.45 * seen)
                sheet.text(x + cell / 2, y + cell / 2, str(int(seen)), SMALL)
        for column, token in enumerate(tokens):
            sheet.text(left + (column + 0.5) * cell, 30 + query * cell, token)
        sheet.text(left + width + 12, 20 + query * cell / 2, sign, 14.0)
        left += width + 24
        counts = words["comma"].join(str(int(row.sum())) for row in table)
        sentences.append(words["sees"].format(name, counts, key))
    for row, token in enumerate(tokens[-query:]):
        sheet.text(10, 20 + (row + 0.5) * cell, token)
    return sheet.figure(words["combined"], _joined(sentences, words), lang)


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
    found, memory, logits = _watch(model, src, tgt)
    layers = {"encoder": len(model.encoder.layers), "decoder": len(model.decoder.layers)}
    sides = {"encoder": "source", "decoder": "target"}
    shapes = [show(x.shape) for x in (src, memory, tgt, logits)]

    sheet = _Sheet()
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
    return sheet.figure(words["attentions"], _joined(sentences, words), lang)


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


@with_twin
def decoding(
    model: Transformer, src: Tensor, max_len: int, bos: int, eos: int, *, lang: str = "en"
) -> Figure:
    """How the tokens that the model writes for src (1, src_len) grow step by step.

    A row is a step: what it reads, and what comes next. Filled is what the decoder computes in
    that step, dashed what it takes from the cache. The arguments are those of generate.
    """
    words = choose(WORDS, lang)
    check_shape("src", src, (1, "src_len"))
    check_sizes(max_len=max_len)
    names = {bos: "bos", eos: "eos"}
    sheet = _Sheet()
    sentences = [words["decoding"]]
    for left, use_cache in ((0.0, False), (172.0, True)):
        work: list[int] = []
        hook = model.decoder.register_forward_pre_hook(
            lambda _, args, work=work: work.append(args[0].size(1))
        )
        try:
            written = model.generate(src, max_len, bos, eos, use_cache=use_cache)
        finally:
            hook.remove()
        if len(work) > 6:
            raise ValueError(f"max_len: got {len(work)} steps, expected at most 6: no more fit")
        tokens = [names.get(token, str(token)) for token in [bos, *written[0].tolist()]]
        cell = 23.0 if len(work) < 6 else 20.5
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
    return sheet.figure(words["decoding"], _joined(sentences, words), lang)


@with_twin
def norms(post: EncoderLayer, pre: EncoderLayer, x: Tensor, *, lang: str = "en") -> Figure:
    """In which order two encoder layers do what they do, and what their residuals run around.

    x (batch, seq_len, d_model) goes through both, which are watched while they work; "+" is where
    a residual connection comes back.
    """
    words = choose(WORDS, lang)
    sheet, sentences = _Sheet(), []
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
            around.append(words["comma"].join(words[step] for step in inside))
        sheet.arrow((left + 56, y), (left + 56, y + 22))
        sheet.height = max(sheet.height, y + 24)
        order = words["comma"].join(words.get(step, step) for group in groups for step in group)
        on_the_way = "between" if groups[0][-1] == "norm" else "free"
        told = words["semicolon"].join((words["around"].format(*around), words[on_the_way]))
        sentences.append(f"{name}{words['colon']}{order}{words['semicolon']}{told}")
    title = words["norms"]
    return sheet.figure(title, _joined([title, *sentences], words), lang)


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
            layer(x)
    finally:
        for hook in hooks:
            hook.remove()
    return groups


@with_twin
def gradients(
    arrived: Mapping[str, Tensor],
    distances: Sequence[int],
    *,
    zh: Mapping[str, str] | None = None,
    lang: str = "en",
) -> Figure:
    """How large a gradient is that comes from so many positions back, a bar each, in powers of 10.

    arrived: name to norms (seq_len,), the last position last; each is compared with its largest.
    zh: what the names are in Chinese, where that is something else.
    """
    words = choose(WORDS, lang)
    if lang == "zh" and zh:
        arrived = {zh.get(name, name): found for name, found in arrived.items()}
    sheet, sentences, y = _Sheet(), [], 0.0
    lowest = 36.0  # powers of ten below the largest that still have a place
    for i, (name, norms_) in enumerate(arrived.items()):
        for distance in distances:
            if not 0 <= distance < len(norms_):
                raise ValueError(f"distances: got {distance}, expected 0 to {len(norms_) - 1}")
        sheet.text(0.0, y + 10, name, **BOLD)
        y += 22
        found = []
        for distance in distances:
            share = (norms_[-1 - distance] / norms_.max()).item()
            power = math.log10(share) if share else -lowest
            sheet.text(62.0, y + 8, words["back"].format(distance), SMALL, text_anchor="end")
            sheet.box(70.0, y + 1, 210 * max(0.0, 1 + power / lowest) + 1, 14.0, _hue(i), rx=0)
            sheet.text(WIDTH, y + 8, f"{share:.0e}", SMALL, text_anchor="end")
            found.append(f"{words['back'].format(distance)} {share:.0e}")
            y += 19
        y += 8
        sentences.append(words["arrives"].format(name, words["comma"].join(found)))
    title = words["gradients"]
    return sheet.figure(title, _joined([title, *sentences], words), lang)
