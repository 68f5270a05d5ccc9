"""Charts: narrow enough for a phone, and every name in the legend."""

import xml.etree.ElementTree as ET

import pytest
import torch
from svg_parts import texts

from headwise.drawing import plot


def test_chart_is_drawn_for_a_phone() -> None:
    figure = plot.lines({"a": [1.0, 2.0]}, x_label="x", y_label="y")
    width = float(ET.fromstring(figure.svg).get("width", 0))
    assert 343 / width * 12 > 10  # on 375 pixels, less the margins, words of 12 are still read


def test_name_that_begins_with_an_underscore_stands_in_the_legend() -> None:
    lines = plot.lines({"_loss": [1.0, 2.0], "b": [2.0, 1.0]}, x_label="x", y_label="y")
    bars = plot.histogram({"_loss": [1.0, 2.0], "b": [2.0, 1.0]}, x_label="x")
    for figure in (lines, bars):
        assert {"_loss", "b"} <= set(texts(figure))


BAD = {"x\x07": "x\\x07", "x\ufffe": "x\\ufffe", "x\ud800": "x\\ud800", "x\n": "x\\n"}


@pytest.mark.parametrize(("bad", "shown"), BAD.items())
def test_what_cannot_be_drawn_is_written_out_wherever_it_stands(bad: str, shown: str) -> None:
    lines = plot.lines({bad: [1.0, 2.0]}, x_label=bad, y_label=bad, title=bad)
    bars = plot.histogram({bad: [1.0, 2.0]}, x_label=bad)
    maps = plot.heatmap(torch.eye(1), names=[bad], axes=(bad, bad), title=bad)
    masks = plot.mask_picture(torch.eye(1).bool(), [bad], title=bad)
    encoding = plot.positions(torch.eye(1), title=bad)
    for figure, times in ((lines, 3), (bars, 2), (maps, 3), (masks, 2), (encoding, 0)):
        assert texts(figure).count(shown) == times
        assert shown in figure.alt and bad not in figure.alt


def test_wrong_series_is_named() -> None:
    with pytest.raises(ValueError, match=r"series: got 1e\+308 in 'b', expected numbers of"):
        plot.lines({"a": [1.0], "b": [1e308]}, x_label="x", y_label="y")
    with pytest.raises(TypeError, match="series: got list, expected a mapping of names to numbers"):
        plot.lines([[1.0]], x_label="x", y_label="y")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="series: got int, expected a string"):
        plot.lines({1: [1.0]}, x_label="x", y_label="y")  # type: ignore[dict-item]
