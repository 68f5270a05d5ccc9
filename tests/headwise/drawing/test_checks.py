"""What drawings refuse: a wrong type by TypeError, a wrong value by ValueError, by its name."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from sample_figures import SRC, TGT, labels, model
from torch import nn
from torch.nested import nested_tensor

from headwise.drawing import diagrams, plot
from headwise.drawing.checks import real_list, real_numbers, strings
from headwise.layers import EncoderLayer
from headwise.masks import causal_mask

LAYER = EncoderLayer(8, 2)
X = torch.zeros(1, 3, 8)
# Each drawing with one argument left open, and what the caller calls it.
TENSORS: dict[str, tuple[str, Callable[[Any], object]]] = {
    "heatmap": ("weights", plot.heatmap),
    "mask_picture": ("mask", plot.mask_picture),
    "positions": ("encoding", plot.positions),
    "split": ("x", lambda x: diagrams.split(x, 1)),
    "merge": ("x", diagrams.merge),
    "hands": ("encoding", diagrams.hands),
    "masks": ("parts", lambda x: diagrams.masks({"a": x})),
    "memory": ("tensors", lambda x: diagrams.memory({"a": x})),
    "attentions, src": ("src", lambda x: diagrams.attentions(model(1), x, TGT)),
    "attentions, tgt": ("tgt", lambda x: diagrams.attentions(model(1), SRC, x)),
    "decoding": ("src", lambda x: diagrams.decoding(model(1), x, 3, 1, 2)),
    "norms": ("x", lambda x: diagrams.norms(LAYER, LAYER, x)),
    "gradients": ("arrived", lambda x: diagrams.gradients({"a": x}, [0])),
    "gaze": ("weights", lambda x: diagrams.gaze(x, ["a"], ["b"])),
}
OTHERS: dict[str, tuple[str, Callable[[Any], object]]] = {
    "flow": ("steps", diagrams.flow),
    "packed": ("mha", diagrams.packed),
    "hands, positions": ("positions", lambda x: diagrams.hands(torch.ones(1, 2), [x])),
    "masks": ("parts", diagrams.masks),
    "memory": ("tensors", diagrams.memory),
    "attentions": ("model", lambda x: diagrams.attentions(x, SRC, TGT)),
    "decoding": ("model", lambda x: diagrams.decoding(x, SRC[:1], 3, 1, 2)),
    "norms, post": ("post", lambda x: diagrams.norms(x, LAYER, X)),
    "norms, pre": ("pre", lambda x: diagrams.norms(LAYER, x, X)),
    "gradients": ("arrived", lambda x: diagrams.gradients(x, [0])),
    "gaze, written": ("written", lambda x: diagrams.gaze(torch.eye(1), [x], ["b"])),
    "gaze, read": ("read", lambda x: diagrams.gaze(torch.eye(1), ["a"], [x])),
    "gradients, distances": ("distances", lambda x: diagrams.gradients({"a": X[0, :, 0]}, x)),
    "lines": ("series", lambda x: plot.lines({"a": x}, x_label="x", y_label="y")),
    "lines, x": ("x", lambda x: plot.lines({"a": [1]}, [x], x_label="x", y_label="y")),
    "lines, x_label": ("x_label", lambda x: plot.lines({"a": [1]}, x_label=x, y_label="y")),
    "lines, y_label": ("y_label", lambda x: plot.lines({"a": [1]}, x_label="x", y_label=x)),
    "histogram": ("series", lambda x: plot.histogram({"a": x}, x_label="x")),
    "histogram, x_label": ("x_label", lambda x: plot.histogram({"a": [1]}, x_label=x)),
    "tokens": ("queries", lambda x: plot.heatmap(torch.eye(1), [x])),
    "names": ("names", lambda x: plot.heatmap(torch.eye(1), names=[x])),
    "axes": ("axes", lambda x: plot.heatmap(torch.eye(1), axes=(x, "key"))),
    "tokens of masks": ("tokens", lambda x: diagrams.masks({"a": causal_mask(1)}, [x])),
    "names of masks": ("parts", lambda x: diagrams.masks({x: causal_mask(1)})),
    "names of memory": ("tensors", lambda x: diagrams.memory({x: labels(2, 3)[0]})),
    "lang": ("lang", lambda x: diagrams.split(labels(1, 2), 1, lang=x)),
}


@pytest.mark.parametrize(
    "value", [None, [[1.0]], np.eye(2), "ab"], ids=["None", "list", "numpy", "str"]
)
@pytest.mark.parametrize(("argument", "draw"), TENSORS.values(), ids=TENSORS)
def test_what_is_no_tensor_is_refused(
    argument: str, draw: Callable[[Any], object], value: object
) -> None:
    kind = "None" if value is None else type(value).__name__
    with pytest.raises(TypeError, match=f"{argument}: got {kind}, expected a tensor"):
        draw(value)


@pytest.mark.parametrize(("argument", "draw"), OTHERS.values(), ids=OTHERS)
def test_what_is_of_another_kind_is_refused(argument: str, draw: Callable[[Any], object]) -> None:
    for value in (None, nn.Identity()):
        with pytest.raises(TypeError, match=rf"{argument}: got \w+.*, expected .+"):
            draw(value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plot.heatmap(torch.eye(2) + 0j), "weights: got dtype torch.complex64, expected"),
        (lambda: plot.positions(torch.eye(2) + 0j), "encoding: got dtype torch.complex64"),
        (lambda: diagrams.split(labels(3, 4) * 1j, 2), "x: got dtype torch.complex"),
        (lambda: diagrams.split(labels(3, 4) / 0, 2), "x: got numbers that are not finite"),
        (lambda: diagrams.merge(X[None] / 0), "x: got numbers that are not finite"),
        (lambda: diagrams.split(X[:, :0], 2), "x: got 0 numbers, expected at least one"),
        (lambda: diagrams.merge(X[None, ..., :0]), "x: got 0 numbers, expected at least one"),
        (lambda: plot.heatmap(X[0].to("meta")), "weights: got a tensor on the meta device"),
        (lambda: plot.heatmap(nested_tensor([X[0]], layout=torch.jagged)), "weights: got a nested"),
        (lambda: plot.heatmap(X[0] + 1e30**4), "weights: got numbers that are not finite"),
        (lambda: plot.heatmap(X[0].double() + 1e120), r"weights: got 1e\+120, expected numbers of"),
    ],
)
def test_numbers_that_cannot_be_drawn_are_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_numbers_come_from_wherever_they_lie() -> None:
    x = torch.eye(2)
    for same in (x, x.to_sparse(), x.bool(), x.half(), x.clone().requires_grad_(), x.T):
        assert torch.equal(real_numbers("x", same), torch.eye(2, dtype=torch.float64))
    assert real_list("x", [x[0, 0], 0.5]) == real_list("x", np.array([1.0, 0.5])) == [1.0, 0.5]


@pytest.mark.parametrize("values", [["a"], [None], [[1.0], [1.0, 2.0]], [1j], [10**400], "12", 5])
def test_what_holds_no_numbers_is_refused(values: Any) -> None:
    with pytest.raises(TypeError, match=r"x: got (list|str|int), expected a tensor or numbers"):
        real_list("x", values)


def test_strings_are_counted() -> None:
    assert strings("tokens", ["a", "b"], 2) == strings("tokens", ("a", "b"), 2) == ["a", "b"]
    with pytest.raises(ValueError, match="tokens: got 1, expected 2"):
        strings("tokens", ["a"], 2)


@pytest.mark.parametrize("values", [3, iter("ab"), {"a", "b"}, {"a": 1, "b": 2}, "ab"])
def test_strings_come_in_an_order_and_one_by_one(values: Any) -> None:
    with pytest.raises(TypeError, match=r"tokens: got \w+, expected a sequence of strings"):
        strings("tokens", values, 2)
