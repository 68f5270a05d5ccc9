"""Charts: narrow enough for a phone."""

import xml.etree.ElementTree as ET

from headwise.drawing import plot


def test_chart_is_drawn_for_a_phone() -> None:
    figure = plot.lines({"a": [1.0, 2.0]}, x_label="x", y_label="y")
    width = float(ET.fromstring(figure.svg).get("width", 0))
    assert 343 / width * 12 > 10  # on 375 pixels, less the margins, words of 12 are still read
