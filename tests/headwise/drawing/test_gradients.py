"""Gradients: bars in powers of ten of the largest."""

import numpy as np
import pytest
import torch
from svg_parts import elements, texts

from headwise.drawing import diagrams


def test_gradient_bars_are_in_powers_of_ten_of_the_largest() -> None:
    norms = torch.tensor([0.0, 2e-18, 2.0], dtype=torch.float64)
    figure = diagrams.gradients({"RNN": norms}, [0, 1, 2])
    widths = [float(box.get("width") or 0) for box in elements(figure, "rect")]
    assert widths == pytest.approx([211, 106, 1])
    assert "0 back 1e+00, 1 back 1e-18, 2 back 0e+00" in figure.alt


def test_gradients_refuse_a_distance_beyond_the_first() -> None:
    with pytest.raises(ValueError, match="distances: got 3, expected a whole number of at most 2"):
        diagrams.gradients({"RNN": torch.ones(3)}, [3])
    with pytest.raises(ValueError, match="distances: got True, expected a whole number"):
        diagrams.gradients({"RNN": torch.ones(3)}, [True])


def test_gradients_name_their_models_in_both_languages() -> None:
    figure = diagrams.gradients({"attention": torch.ones(2)}, [1], zh={"attention": "注意力"})
    assert figure.twin and "attention" in texts(figure) and "注意力" in texts(figure.twin)


NORMS = torch.tensor([0.5, 1.0])


@pytest.mark.parametrize(
    ("arrived", "distances", "message"),
    [
        ({}, [0], "arrived, distances: got none"),
        ({"a": NORMS}, [], "arrived, distances: got none"),
        ({"a": NORMS[None]}, [0], r"arrived: got shape \(1, 2\), expected \(seq_len,\)"),
        ({"a": NORMS / 0}, [0], "arrived: got numbers that are not finite in 'a'"),
        ({"a": 0 * NORMS}, [0], "arrived: got norms from 0 to 0 in 'a', expected none below"),
        ({"a": -NORMS}, [0], "arrived: got norms from -1 to -0.5 in 'a', expected none below"),
    ],
)
def test_gradients_that_cannot_be_compared_are_refused(
    arrived: dict[str, torch.Tensor], distances: list[int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        diagrams.gradients(arrived, distances)


def test_two_models_that_would_be_one_in_chinese_are_refused() -> None:
    with pytest.raises(ValueError, match="zh: got '同' for 'a' and for 'b'"):
        diagrams.gradients({"a": NORMS, "b": NORMS}, [0], zh={"a": "同", "b": "同"})


@pytest.mark.parametrize("noise", [1 - 1e-9, 1.0, 1 + 1e-9])
def test_share_does_not_hang_on_its_last_bits(noise: float) -> None:
    norms = torch.tensor([0.25 * noise, 1.0], dtype=torch.float64)
    assert "1 back 2e-01" in diagrams.gradients({"a": norms}, [1]).alt


def test_distance_may_be_an_integer_of_numpy() -> None:
    assert diagrams.gradients({"a": NORMS}, [np.int64(1)]) == diagrams.gradients({"a": NORMS}, [1])
