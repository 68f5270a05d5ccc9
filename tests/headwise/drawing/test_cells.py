"""Cells: as opaque as their number, of another hue below zero, with a scale beside large maps."""

import warnings

import pytest
import torch
from matplotlib.colors import to_rgb
from sample_figures import EN, WEIGHTS
from svg_parts import pictures, texts

from headwise.drawing import plot
from headwise.drawing.cells import FULL
from headwise.drawing.figure import HUES


def test_cells_are_as_opaque_as_their_weight() -> None:
    first, second = pictures(plot.heatmap(WEIGHTS, EN))
    for picture, panel in ((first, WEIGHTS[0]), (second, WEIGHTS[1])):
        for row in range(4):
            for column in range(4):
                *colour, opacity = picture.getpixel((column, row))
                expected = FULL * panel[row, column].item() * 255
                assert opacity == pytest.approx(expected, abs=1)
                hue = [round(255 * part) for part in to_rgb(HUES["blue"])]
                assert opacity == 0 or colour == pytest.approx(hue, abs=2)


def test_numbers_below_zero_have_another_hue() -> None:
    picture = pictures(plot.positions(torch.tensor([[1.0, -1.0]])))[0]
    hues = [[round(255 * part) for part in to_rgb(HUES[hue])] for hue in ("blue", "orange")]
    for column, hue in enumerate(hues):
        assert list(picture.getpixel((column, 0)))[:3] == pytest.approx(hue, abs=2)


def test_large_map_has_a_scale_in_place_of_numbers() -> None:
    figure = plot.heatmap(torch.eye(30) / 2)
    assert len(pictures(figure)) == 2
    assert {"0.00", "0.25", "0.50"} <= set(texts(figure))
    labels = [text for text in texts(figure) if text.isdigit()]
    assert labels == 2 * [str(i) for i in range(0, 30, 2)], "crowded labels are thinned out"


@pytest.mark.parametrize(("number", "ticks"), [(0.0, "0.00 0.50 1.00"), (-2.0, "-2.00 -1.00 0.00")])
def test_map_of_one_number_has_a_scale_too(number: float, ticks: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = plot.positions(torch.full((3, 4), number))
    assert [text for text in texts(figure) if "." in text] == ticks.split()


def test_what_rounding_leaves_of_a_zero_has_no_hue() -> None:
    numbers = torch.tensor([[0.0, 1.0]], dtype=torch.float64)
    exact, noisy = (pictures(plot.heatmap(numbers + noise))[0] for noise in (0.0, -1e-9))
    assert exact.tobytes() == noisy.tobytes()


def test_map_of_more_cells_than_anybody_waits_for_is_refused() -> None:
    much = torch.zeros(1, 1).expand(2**11, 2**12)
    for draw, name in ((plot.heatmap, "weights"), (plot.positions, "encoding")):
        with pytest.raises(
            ValueError, match=rf"{name}: got shape \(2048, 4096\), expected at most"
        ):
            draw(much)
