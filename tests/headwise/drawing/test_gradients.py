"""Gradients: bars in powers of ten of the largest."""

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
    with pytest.raises(ValueError, match="distances: got 3, expected 0 to 2"):
        diagrams.gradients({"RNN": torch.ones(3)}, [3])


def test_gradients_name_their_models_in_both_languages() -> None:
    figure = diagrams.gradients({"attention": torch.ones(2)}, [1], zh={"attention": "注意力"})
    assert figure.twin and "attention" in texts(figure) and "注意力" in texts(figure.twin)
