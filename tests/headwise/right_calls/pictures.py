"""Right calls of what draws, and of the museum's detectors."""

import torch
from matplotlib.figure import Figure as Canvas
from torch import nn

from headwise import layers, museum, single_head, trace
from headwise.drawing import diagrams, plot
from headwise.multi_head import MultiHeadAttention
from headwise.museum import EXHIBITS, TODAY
from right_calls.call import ANY_DTYPE, SEEN, TOKENS, WHOLE, Call, Table, X
from right_calls.stacks import model

WEIGHTS = torch.rand(2, 3, 3)
TITLED = {"title": "t", "lang": "en"}
WORDS = {"title": {"str"}, "x_label": {"str"}, "y_label": {"str"}, "alt": {"str"}, "svg": {"str"}}
NUMBERS = ANY_DTYPE - {"complex"} | {"sparse"}
SERIES = {"series": {"a": [1.0, 2.0]}, "x_label": "x", **TITLED}
FIGURE = plot.Figure("<svg/>", "a")


def maps(weights: str, *free: str) -> dict[str, set[str]]:
    """What does not bind a picture of numbers: any real dtype, and one map for many."""
    return WORDS | {weights: NUMBERS | set(free)}


def detecting(exhibit: museum.Exhibit) -> Call:
    """A detector at work on the right code of its exhibit."""
    code = exhibit.detector.__code__
    options = {"convention": "True shows", "vocabulary": 9, "loss_shifts": False}
    options |= {"layout": "pairs", "ignored": -100}
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    own = {name: options[name] for name in names if name in options}
    free = {names[0]: {"class"}, "ignored": {"negative"}}
    return Call(exhibit.detector, {names[0]: exhibit.right, **own}, free)


RIGHT: Table = {
    "diagrams.add_norm": lambda: Call(
        diagrams.add_norm,
        {"x": torch.tensor([4.0, 1, 3]), "change": torch.tensor([4.0, -1, 1]), "lang": "en"},
        {"x": NUMBERS, "change": NUMBERS},
    ),
    "diagrams.arrows": lambda: Call(
        diagrams.arrows,
        {
            "query": torch.tensor([2.0, 1]),
            "keys": torch.tensor([[4.0, -3], [0, 5]]),
            "lang": "en",
        },
        {"query": NUMBERS, "keys": NUMBERS | {"longer"}},
    ),
    "diagrams.attentions": lambda: Call(
        diagrams.attentions,
        {"model": model(), "src": TOKENS, "tgt": TOKENS, "lang": "en"},
        {"src": {"longer"}, "tgt": {"longer"}},
    ),
    "diagrams.beside": lambda: Call(
        diagrams.beside,
        {
            "wrong": torch.rand(2, 3),
            "right": torch.rand(2, 3),
            "rows": ["a", "b"],
            "columns": ["a", "b", "c"],
            "marked": torch.ones(2, 3, dtype=torch.bool),
            "sums": True,
            "claim": False,
            "zh": {"a": "甲"},
            "lang": "en",
        },
        {"wrong": NUMBERS, "right": NUMBERS, "marked": {"sparse"}},
    ),
    "diagrams.blocks": lambda: Call(
        diagrams.blocks, {"modules": [MultiHeadAttention(8, n) for n in (1, 4)], "lang": "en"}
    ),
    "diagrams.decoding": lambda: Call(
        diagrams.decoding,
        {"model": model(), "src": TOKENS[:1], "max_len": 3, "bos": 1, "eos": 2, "lang": "en"},
        {"src": {"longer"}},
    ),
    "diagrams.dependence": lambda: Call(
        diagrams.dependence,
        {
            "tables": {"a": SEEN},
            "rows": "query",
            "columns": "key",
            "zh": {"query": "查询"},
            "lang": "en",
        },
        {"rows": {"str"}, "columns": {"str"}},
    ),
    "diagrams.devices": lambda: Call(
        diagrams.devices, {"tensors": {"a": torch.ones(2, 3)}, "lang": "en"}
    ),
    "diagrams.flow": lambda: Call(
        diagrams.flow, {"steps": trace.trace(single_head.ParameterHead(8), X), "lang": "en"}
    ),
    "diagrams.gaze": lambda: Call(
        diagrams.gaze,
        {"weights": WEIGHTS[0] / 3, "written": list("abc"), "read": list("xyz"), "lang": "en"},
        maps("weights"),
    ),
    "diagrams.given_wanted": lambda: Call(
        diagrams.given_wanted,
        {
            "model": model(),
            "src": TOKENS[:1],
            "tgt": torch.tensor([[1, 3, 2]]),
            "names": [f"w{i}" for i in range(8)],
            "lang": "en",
        },
        {"src": {"longer"}, "tgt": {"longer"}},
    ),
    "diagrams.gradients": lambda: Call(
        diagrams.gradients,
        {"arrived": {"a": torch.ones(3)}, "distances": [1], "zh": {"a": "甲"}, "lang": "en"},
    ),
    "diagrams.hands": lambda: Call(
        diagrams.hands,
        {"encoding": torch.rand(3, 4), "positions": [0, 1, 5], "lang": "en"},
        maps("encoding"),
    ),
    "diagrams.masks": lambda: Call(
        diagrams.masks,
        {"parts": {"a": SEEN}, "tokens": ["a", "b", "c"], "zh": {"a": "甲"}, "lang": "en"},
    ),
    "diagrams.memory": lambda: Call(
        diagrams.memory, {"tensors": {"a": torch.arange(6).view(2, 3)}, "lang": "en"}
    ),
    "diagrams.merge": lambda: Call(
        diagrams.merge, {"x": torch.rand(1, 2, 3, 4), "lang": "en"}, maps("x", "longer")
    ),
    "diagrams.norms": lambda: Call(
        diagrams.norms,
        {
            "post": layers.EncoderLayer(8, 2),
            "pre": layers.EncoderLayer(8, 2, norm_first=True),
            "x": X,
            "lang": "en",
        },
    ),
    "diagrams.packed": lambda: Call(
        diagrams.packed, {"mha": nn.MultiheadAttention(8, 2), "lang": "en"}
    ),
    "diagrams.parameter_bytes": lambda: Call(
        diagrams.parameter_bytes, {"sizes": {"a": [4] * 4}, "zh": {"a": "甲"}, "lang": "en"}
    ),
    "diagrams.paths": lambda: Call(
        diagrams.paths, {"seq_len": 6, "rnn": 18, "attention": 3, "lang": "en"}
    ),
    "diagrams.ranks": lambda: Call(
        diagrams.ranks, {"gradients": [0.25, -0.5], "rows": 6, "lang": "en"}
    ),
    "diagrams.split": lambda: Call(
        diagrams.split, {"x": torch.rand(1, 3, 8), "num_heads": 2, "lang": "en"}, maps("x")
    ),
    "diagrams.teacher_forcing": lambda: Call(
        diagrams.teacher_forcing,
        {
            "own": torch.ones(2, 2).tril(),
            "memory": torch.ones(2, 3),
            "source": list("abc"),
            "words": ["bos", "x", "eos"],
            "step": 1,
            "lang": "en",
        },
        {"own": NUMBERS, "memory": NUMBERS},
    ),
    "diagrams.tiles": lambda: Call(
        diagrams.tiles, {"scores": torch.rand(6, 6), "block": 2, "lang": "en"}, maps("scores")
    ),
    "diagrams.timeline": lambda: Call(
        diagrams.timeline,
        {"kernels": {"a": [1.0, 4.0]}, "launch": 2.0, "zh": {"a": "甲"}, "lang": "en"},
    ),
    "plot.Figure": lambda: Call(
        plot.Figure, {"svg": "<svg/>", "alt": "a", "lang": "en", "twin": FIGURE}, WORDS
    ),
    "plot.Figure.save": lambda: Call(FIGURE.save, {"path": "x.svg"}, {"path": {"str"}}),
    "plot.from_matplotlib": lambda: Call(
        plot.from_matplotlib, {"canvas": Canvas(), "alt": "a", **TITLED}, WORDS
    ),
    "plot.heatmap": lambda: Call(
        plot.heatmap,
        {"weights": WEIGHTS, "queries": ["a", "b", "c"], "keys": ["a", "b", "c"]}
        | {"names": ["one", "two"], "axes": ("q", "k"), **TITLED},
        maps("weights"),
    ),
    "plot.histogram": lambda: Call(plot.histogram, {**SERIES, "bins": 4}, WORDS),
    "plot.lines": lambda: Call(
        plot.lines,
        {**SERIES, "y_label": "y", "log_y": False, "zh": {"a": "甲"}},
        WORDS,
    ),
    "plot.mask_picture": lambda: Call(
        plot.mask_picture,
        {"mask": SEEN, "queries": ["a", "b", "c"], "keys": ["a", "b", "c"], **TITLED},
        WORDS | {"mask": WHOLE - {"longer", "rank-1"} | {"sparse"}},
    ),
    "plot.positions": lambda: Call(
        plot.positions, {"encoding": WEIGHTS[0], **TITLED}, maps("encoding", "longer")
    ),
    **{
        f"museum.{exhibit.detector.__name__}": lambda exhibit=exhibit: detecting(exhibit)
        for exhibit in EXHIBITS + TODAY
    },
}
