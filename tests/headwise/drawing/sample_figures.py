"""A drawing of every kind, for the tests that all of them have to pass."""

import functools
from collections.abc import Callable

import torch
from torch import Tensor, nn

from headwise.drawing import diagrams, plot
from headwise.drawing.figure import Figure
from headwise.heads import split_heads
from headwise.layers import EncoderLayer
from headwise.masks import causal_mask
from headwise.multi_head import MultiHeadAttention
from headwise.positional import sinusoidal
from headwise.single_head import ParameterHead
from headwise.trace import trace
from headwise.transformer import Transformer
from headwise.variants import ParameterOnly

EN = ["The", "cat", "sat", "on"]
ZH = ["猫", "坐", "在", "垫子"]
WEIGHTS = torch.tensor(
    [
        [[0.7, 0.1, 0.1, 0.1], [0.2, 0.2, 0.41, 0.19], [0, 0, 0, 0], [0, 0, 0.5, 0.5]],
        [[0.1, 0.9, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.3, 0.3, 0.4, 0], [0, 0, 0, 1.0]],
    ]
)
DRAW = torch.Generator().manual_seed(0)
SRC = torch.randint(1, 11, (2, 7), generator=DRAW)
TGT = torch.randint(1, 13, (2, 5), generator=DRAW)


def model(num_layers: int = 3) -> Transformer:
    torch.manual_seed(0)
    return Transformer(11, 13, d_model=8, num_heads=2, num_layers=num_layers).eval()


def labels(seq_len: int, d_model: int) -> Tensor:
    """Numbers of which no two are the same."""
    return torch.arange(seq_len * d_model).view(1, seq_len, d_model)


DIAGRAMS: dict[str, Callable[[], Figure]] = {
    "one head": lambda: diagrams.flow(trace(ParameterHead(32), torch.randn(2, 5, 32))),
    "many heads": lambda: diagrams.flow(trace(ParameterOnly(32, 4), torch.randn(2, 5, 32))),
    "split": lambda: diagrams.split(labels(3, 8), 2),
    "merge": lambda: diagrams.merge(split_heads(labels(3, 4), 2)),
    "packed": lambda: diagrams.packed(nn.MultiheadAttention(32, 4)),
    "masks": lambda: diagrams.masks({"causal": causal_mask(5), "all": causal_mask(1, 5)}),
    "memory": lambda: diagrams.memory(
        {"x": labels(2, 6)[0], "heads": labels(2, 6).view(2, 2, 3).transpose(0, 1)}
    ),
    "hands": lambda: diagrams.hands(sinusoidal(3, 6)),
    "attentions": lambda: diagrams.attentions(model(), SRC, TGT),
    "decoding": lambda: diagrams.decoding(model(), SRC[:1], 6, 1, 2),
    "gaze": lambda: diagrams.gaze(WEIGHTS[0, :2], ["two", "words"], EN),
    "norms": lambda: diagrams.norms(
        EncoderLayer(8, 2), EncoderLayer(8, 2, norm_first=True), torch.randn(1, 3, 8)
    ),
    "beside": lambda: diagrams.beside(
        torch.tensor([[torch.nan, 0.5], [0.25, 0.0]]),
        torch.eye(2),
        ["input", "label"],
        sums=True,
        zh={"input": "输入", "label": "标签"},
    ),
    "add_norm": lambda: diagrams.add_norm(torch.tensor([4.0, 1, 3]), torch.tensor([4.0, -1, 1])),
    "given_wanted": lambda: diagrams.given_wanted(
        model(), SRC[:1], torch.tensor([[1, 3, 4, 2]]), [f"w{i}" for i in range(13)]
    ),
    "teacher forcing": lambda: diagrams.teacher_forcing(
        torch.ones(2, 2).tril(), torch.ones(2, 3), list("abc"), ["bos", "x", "eos"], 1
    ),
    "arrows": lambda: diagrams.arrows(torch.tensor([2.0, 1]), torch.tensor([[4.0, -3], [0, 5]])),
    "blocks": lambda: diagrams.blocks([MultiHeadAttention(8, n) for n in (1, 4)]),
    "dependence": lambda: diagrams.dependence(
        {"a": causal_mask(3), "b": causal_mask(3)},
        "query",
        "key",
        zh={"query": "查询", "key": "键"},
    ),
    "paths": lambda: diagrams.paths(6, 18, 3),
    "gradients": lambda: diagrams.gradients({"a": torch.tensor([1e-9, 0.5, 1.0])}, [0, 1, 2]),
    "tiles": lambda: diagrams.tiles(torch.arange(36.0).view(6, 6).sin(), 2),
    "timeline": lambda: diagrams.timeline({"a": [1.0, 1.0], "b": [4.0, 4.0]}, 2.0),
    "parameter bytes": lambda: diagrams.parameter_bytes({"a": [4] * 4, "b": [2] * 4}),
    "ranks": lambda: diagrams.ranks([0.25, -0.5], 6),
    "devices": lambda: diagrams.devices(
        {"x": torch.ones(2, 3), "y": torch.empty(4, device="meta")}
    ),
}


PLOTS: dict[str, Callable[[], Figure]] = {
    "heat maps": lambda: plot.heatmap(WEIGHTS, EN),
    "heat maps in Chinese": lambda: plot.heatmap(WEIGHTS, ZH, lang="zh"),
    "large heat map": lambda: plot.heatmap(torch.eye(30)),
    "long tokens": lambda: plot.heatmap(
        torch.eye(2, 3), ["$x_1$", "<&>"], ["two hundred", '"', "]]>"]
    ),
    "mask": lambda: plot.mask_picture(torch.ones(4, 4).tril().bool(), EN),
    "masks in Chinese": lambda: plot.mask_picture(torch.ones(2, 1, 3, 3).bool(), lang="zh"),
    "mask that hides all": lambda: plot.mask_picture(torch.zeros(2, 2).bool()),
    "positions": lambda: plot.positions(sinusoidal(20, 16)),
    "lines": lambda: plot.lines({"训练": [3, 1]}, x_label="步数", y_label="损失", lang="zh"),
    "four lines": lambda: plot.lines(
        {name: [1.0, 10.0, 1000.0] for name in "abcd"},
        [0.1, 0.2, 0.4],
        x_label="x",
        y_label="y",
        log_y=True,
    ),
    "histogram": lambda: plot.histogram(
        {"a": torch.arange(9.0).view(3, 3), "b": [1, 1]}, x_label="scores", bins=5
    ),
}


@functools.cache
def drawn(make: Callable[[], Figure]) -> Figure:
    """One of these, for the tests that only look at it."""
    return make()
