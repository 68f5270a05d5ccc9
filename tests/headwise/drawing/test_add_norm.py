"""Add & Norm: the numbers are those that LayerNorm gives, and nothing else is drawn."""

import pytest
import torch
from svg_parts import cells, texts
from torch import nn

from headwise.drawing import diagrams

X, CHANGE = torch.tensor([4.0, 1.0, 3.0, 0.0]), torch.tensor([4.0, -1.0, -1.0, 2.0])


def test_numbers_are_those_of_the_norm() -> None:
    figure = diagrams.add_norm(X, CHANGE)
    normed = nn.LayerNorm(4)(X + CHANGE).tolist()
    shown = [float(text.replace("−", "-")) for text, _ in cells(figure)[:16]]
    wanted = [*X.tolist(), *CHANGE.tolist(), *(X + CHANGE).tolist()]
    assert shown[:12] == wanted
    assert shown[12:] == pytest.approx(normed, abs=0.005)
    assert "mean 3, standard deviation 3" in texts(figure)
    assert "mean 0, standard deviation 1" in texts(figure)


def test_negative_numbers_have_another_colour() -> None:
    colours = {
        text.startswith("−"): colour for text, colour in cells(diagrams.add_norm(X, CHANGE))[:12]
    }
    assert len(set(colours.values())) == 2


def test_nothing_added_to_nothing_is_drawn_too() -> None:
    figure = diagrams.add_norm(torch.zeros(2), torch.zeros(2))
    assert "mean 0, standard deviation 0" in texts(figure)


@pytest.mark.parametrize(
    ("x", "change", "message"),
    [
        (torch.zeros(1), torch.zeros(1), r"x: got shape \(1,\), expected two to five numbers"),
        (torch.zeros(6), torch.zeros(6), r"x: got shape \(6,\), expected two to five numbers"),
        (torch.zeros(2, 3), torch.zeros(3), r"x: got shape \(2, 3\)"),
        (torch.zeros(3), torch.zeros(2), r"change: got shape \(2,\)"),
        (torch.full((2,), torch.inf), torch.zeros(2), "x: got numbers that are not finite"),
    ],
)
def test_add_norm_refuses_what_it_cannot_draw(
    x: torch.Tensor, change: torch.Tensor, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        diagrams.add_norm(x, change)
