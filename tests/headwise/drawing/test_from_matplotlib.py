"""What comes from matplotlib: in the page's ink, fit to stand in it, whatever the settings."""

import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable

import matplotlib
import pytest
from matplotlib.figure import Figure as Canvas
from sample_figures import PLOTS
from svg_parts import elements, texts

from headwise.drawing import plot
from headwise.drawing.figure import HUES, Figure

every_plot = pytest.mark.parametrize("make", PLOTS.values(), ids=PLOTS)


@every_plot
def test_svg_takes_its_ink_from_the_page(make: Callable[[], Figure]) -> None:
    figure = make()
    assert ET.fromstring(figure.svg).get("fill") == "currentColor"
    colours = set(re.findall(r"(?:fill|stroke): (#\w+)", figure.svg))
    assert colours <= set(HUES.values())
    assert "font-family: " not in figure.svg and 'font-family="sans-serif"' in figure.svg
    ground = [one for one in elements(figure) if "fill: #ffffff" in one.get("style", "")]
    assert not ground


@every_plot
def test_svg_is_fit_to_stand_in_a_page(make: Callable[[], Figure]) -> None:
    figure = make()
    assert "<style" not in figure.svg and "<?xml" not in figure.svg and "metadata" not in figure.svg
    assert "xlink" not in figure.svg and "max-width: 100%" in figure.svg
    ids = re.findall(r'\bid="([^"]*)"', figure.svg)
    used = re.findall(r'(?:url\(|href=")#([^)"]*)', figure.svg)
    assert len(ids) == len(set(ids)) and set(ids) == set(used)


def test_ids_differ_from_figure_to_figure() -> None:
    ids = [id for make in PLOTS.values() for id in re.findall(r'\bid="([^"]*)"', make().svg)]
    assert len(ids) > 10
    assert len(ids) == len(set(ids))


@every_plot
def test_same_data_gives_the_same_bytes_whatever_the_settings(make: Callable[[], Figure]) -> None:
    first = make()
    with matplotlib.rc_context({"font.size": 30, "svg.hashsalt": None, "text.color": "red"}):
        assert make() == first


@every_plot
def test_nothing_warns(make: Callable[[], Figure]) -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        make()
    assert not warned


def test_own_matplotlib_figure_is_made_fit_as_well() -> None:
    canvas = Canvas()
    axes = canvas.add_subplot()
    axes.plot([0, 1], "ko-")
    axes.set_title("猫")
    figure = plot.from_matplotlib(canvas, title="Mine", alt="A line that rises.")
    assert figure.alt == "A line that rises."
    assert "猫" in texts(figure)
    assert "#000000" not in figure.svg
