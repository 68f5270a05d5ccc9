"""Memory: the strip shows what lies where, and arrows and indices what strides make of it."""

import re
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from svg_parts import cells, elements, texts

from headwise.drawing import diagrams
from headwise.drawing.figure import HUES, Figure

X = torch.arange(24).view(3, 8)
CUT = X.view(3, 2, 4)
HEADS = CUT.transpose(0, 1)
COPY = HEADS.contiguous()


def test_memory_stays_until_it_is_copied() -> None:
    figure = diagrams.memory({"x": X, "cut": CUT, "heads": HEADS, "copy": COPY})
    hues = list(HUES.values())
    drawn = [(int(number), hue) for number, hue in cells(figure) if number.isdecimal()]
    still = [(number, hues[number // 8]) for number in range(24)]
    copied = [(number, hues[number // 8]) for number in HEADS.flatten().tolist()]
    assert drawn == [*still, *still, *still, *copied]
    said = [text for text in texts(figure) if "memory" in text]
    assert said == ["memory", "the same memory", "the same memory", "new memory"]
    assert "Tensor heads: shape (2, 3, 4), strides (4, 8, 1), the same memory: 0 1 2" in figure.alt
    assert "Tensor copy: shape (2, 3, 4), strides (12, 4, 1), new memory: 0 1 2 3 8 9" in figure.alt


def test_arrows_step_as_far_as_the_strides() -> None:
    shown = texts(diagrams.memory({"heads": HEADS}))
    assert {"dim 1: +8", "dim 0: +4", "+1"} <= set(shown)
    assert not any("+" in text for text in texts(diagrams.memory({"one": torch.zeros(1, 1)})))


@settings(max_examples=25, deadline=None)
@given(st.tuples(st.integers(1, 3), st.integers(1, 2), st.integers(1, 4)))
def test_indices_stand_below_their_entries(size: tuple[int, int, int]) -> None:
    x = torch.arange(size[0] * size[1] * size[2]).view(size).transpose(0, 1)
    figure = diagrams.memory({"x": x})
    at = {
        text.text or "": float(text.get("x", 0))
        for text in elements(figure, "text")
        if text.get("text-anchor") == "middle"
    }
    for name, middle in at.items():
        if re.fullmatch(r"\[\d, \d\]", name):
            i, j = int(name[1]), int(name[4])
            above = [at[str(number)] for number in x[i, j].tolist()]
            assert middle == pytest.approx(sum(above) / len(above), abs=0.01)
    assert sum(name.startswith("[") for name in at) == size[0] * size[1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: diagrams.memory({}), "tensors: got none"),
        (lambda: diagrams.memory({"x": X.to_sparse()}), "tensors: got torch.sparse_coo in 'x'"),
        (lambda: diagrams.memory({"x": torch.arange(3)}), r"tensors: got shape \(3,\) in 'x'"),
        (lambda: diagrams.memory({"x": X[:2]}), "tensors: got 16 numbers in a memory of 24 in 'x'"),
        (lambda: diagrams.memory({"x": torch.arange(27).view(3, 9)}), "at most 26: no more fit"),
        (lambda: diagrams.memory({"x": X.T}), r"tensors: got strides \(1, 8\) in 'x'"),
        (lambda: diagrams.memory({"x": X + 90}), "tensors: got numbers from 90 to 113 in 'x'"),
        (lambda: diagrams.memory({"x": X / 2}), "tensors: got numbers from 0 to 11.5 in 'x'"),
        (lambda: diagrams.memory({"x": X % 8}), "expected each once in the first tensor"),
        (lambda: diagrams.memory({"x": X, "y": X + 1}), "from 1 to 24 in 'y', .* no others after"),
        (lambda: diagrams.memory({"x": X.to("meta")}), "tensors: got a tensor on the meta device"),
    ],
)
def test_what_does_not_fit_is_refused(call: Callable[[], Figure], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_strides_that_leave_a_cell_out_are_refused() -> None:
    twice = torch.arange(4).as_strided((2, 2), (0, 1))
    with pytest.raises(ValueError, match=r"tensors: got strides \(0, 1\)"):
        diagrams.memory({"twice": twice})
