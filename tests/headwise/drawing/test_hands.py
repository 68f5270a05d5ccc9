"""Hands: each points to its sine and cosine, on a dial of its own."""

import math
from collections.abc import Callable

import pytest
import torch
from svg_parts import elements, texts

from headwise.drawing import diagrams
from headwise.drawing.figure import Figure
from headwise.positional import sinusoidal


def test_hands_point_to_sine_and_cosine() -> None:
    at = [0, 2, 50]
    code = sinusoidal(51, 8)[at]
    figure = diagrams.hands(code, at)
    found = []
    for line in elements(figure, "line"):
        x1, y1, x2, y2 = (float(line.get(name, 0)) for name in ("x1", "y1", "x2", "y2"))
        found.append(math.atan2(x2 - x1, y1 - y2))
    wanted = torch.atan2(code[:, 0::2], code[:, 1::2]).flatten().tolist()
    assert found == pytest.approx(wanted, abs=0.01)
    assert len(elements(figure, "circle")) == 12
    assert {"position 0", "position 2", "position 50", "pair 0", "pair 3"} <= set(texts(figure))
    assert "Position 2: the hands point to (0.91, -0.42), (0.20, 0.98)" in figure.alt


def test_hands_count_from_0_and_stand_still_at_nothing() -> None:
    figure = diagrams.hands(torch.zeros(2, 2))
    assert {"position 0", "position 1"} <= set(texts(figure))
    for line in elements(figure, "line"):
        assert (line.get("x1"), line.get("y1")) == (line.get("x2"), line.get("y2"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: diagrams.hands(torch.zeros(3)), r"encoding: got shape \(3,\)"),
        (lambda: diagrams.hands(torch.zeros(2, 3)), r"encoding: got shape \(2, 3\)"),
        (lambda: diagrams.hands(torch.zeros(2, 30)), "got 2 positions of 15 pairs"),
        (lambda: diagrams.hands(torch.zeros(13, 4)), "got 13 positions of 2 pairs"),
        (lambda: diagrams.hands(torch.zeros(2, 4), [1]), "positions: got 1, expected 2"),
        (lambda: diagrams.hands(torch.zeros(1, 4), [-1]), "positions: got -1"),
        (lambda: diagrams.hands(torch.zeros(0, 4)), "encoding: got 0 numbers"),
    ],
)
def test_what_has_no_hands_is_refused(call: Callable[[], Figure], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
