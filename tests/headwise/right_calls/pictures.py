"""Right calls of what draws, and of the museum's detectors."""

import torch
from matplotlib.figure import Figure as Canvas
from torch import nn

from headwise import layers, museum, single_head, trace
from headwise.drawing import diagrams, plot
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
    "diagrams.parameter_bytes": lambda: Call(
        diagrams.parameter_bytes,
        {"sizes": {"a": [4, 4, 4, 4]}, "zh": {"a": "甲"}, "lang": "en"},
    ),
    "diagrams.ranks": lambda: Call(
        diagrams.ranks, {"gradients": [0.5, 1.5], "rows": 4, "lang": "en"}
    ),
    "diagrams.tiles": lambda: Call(
        diagrams.tiles, {"scores": torch.rand(4, 4), "block": 2, "lang": "en"}, maps("scores")
    ),
    "diagrams.timeline": lambda: Call(
        diagrams.timeline,
        {"kernels": {"a": [1.0, 2.0]}, "launch": 1.0, "zh": {"a": "甲"}, "lang": "en"},
    ),
    "diagrams.attentions": lambda: Call(
        diagrams.attentions,
        {"model": model(), "src": TOKENS, "tgt": TOKENS, "lang": "en"},
        {"src": {"longer"}, "tgt": {"longer"}},
    ),
    "diagrams.decoding": lambda: Call(
        diagrams.decoding,
        {"model": model(), "src": TOKENS[:1], "max_len": 3, "bos": 1, "eos": 2, "lang": "en"},
        {"src": {"longer"}},
    ),
    "diagrams.devices": lambda: Call(diagrams.devices, {"tensors": {"x": X}, "lang": "en"}),
    "diagrams.flow": lambda: Call(
        diagrams.flow, {"steps": trace.trace(single_head.ParameterHead(8), X), "lang": "en"}
    ),
    "diagrams.gradients": lambda: Call(
        diagrams.gradients,
        {"arrived": {"a": torch.ones(3)}, "distances": [1], "zh": {"a": "甲"}, "lang": "en"},
    ),
    "diagrams.masks": lambda: Call(
        diagrams.masks, {"parts": {"a": SEEN}, "tokens": ["a", "b", "c"], "lang": "en"}
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
    "diagrams.split": lambda: Call(
        diagrams.split, {"x": torch.rand(1, 3, 8), "num_heads": 2, "lang": "en"}, maps("x")
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
