"""What comes from matplotlib: in the page's ink, fit to stand in it, whatever the settings."""

import re
import runpy
import sys
import threading
import time
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import matplotlib
import pytest
from matplotlib.figure import Figure as Canvas
from sample_figures import PLOTS, drawn
from svg_parts import elements, texts

from headwise.drawing import from_matplotlib, plot
from headwise.drawing.figure import HUES, Figure
from headwise.drawing.from_matplotlib import style

every_plot = pytest.mark.parametrize("make", PLOTS.values(), ids=PLOTS)


@every_plot
def test_svg_takes_its_ink_from_the_page(make: Callable[[], Figure]) -> None:
    figure = drawn(make)
    assert ET.fromstring(figure.svg).get("fill") == "currentColor"
    colours = set(re.findall(r"(?:fill|stroke): (#\w+)", figure.svg))
    assert colours <= set(HUES.values())
    assert "font-family: " not in figure.svg and 'font-family="sans-serif"' in figure.svg
    ground = [one for one in elements(figure) if "fill: #ffffff" in one.get("style", "")]
    assert not ground


@every_plot
def test_svg_is_fit_to_stand_in_a_page(make: Callable[[], Figure]) -> None:
    figure = drawn(make)
    assert "<style" not in figure.svg and "<?xml" not in figure.svg and "metadata" not in figure.svg
    assert "xlink" not in figure.svg and "max-width: 100%" in figure.svg
    ids = re.findall(r'\bid="([^"]*)"', figure.svg)
    used = re.findall(r'(?:url\(|href=")#([^)"]*)', figure.svg)
    assert len(ids) == len(set(ids)) and set(ids) == set(used)


def test_ids_differ_from_figure_to_figure() -> None:
    ids = [id for make in PLOTS.values() for id in re.findall(r'\bid="([^"]*)"', drawn(make).svg)]
    assert len(ids) > 10
    assert len(ids) == len(set(ids))


@every_plot
def test_same_data_gives_the_same_bytes_whatever_the_settings(make: Callable[[], Figure]) -> None:
    first = drawn(make)
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


def test_thread_that_begins_before_another_ends_leaves_the_settings_as_they_were() -> None:
    before, inside = dict(matplotlib.rcParams), threading.Event()

    def draw(seconds: float) -> Figure:
        inside.wait(0 if seconds < 0.2 else None)
        with style():
            inside.set()
            time.sleep(seconds)
            return PLOTS["heat maps"]()

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(draw, (0.1, 0.3))
    assert {name for name in before if matplotlib.rcParams[name] != before[name]} == set()
    assert one == other == drawn(PLOTS["heat maps"])


def test_own_figure_with_text_that_cannot_be_drawn_is_refused() -> None:
    canvas = Canvas()
    canvas.text(0.5, 0.5, "two\nlines")
    assert plot.from_matplotlib(canvas, title="a\nb", alt="a\x00b").alt == "a\\x00b"
    canvas.text(0.5, 0.5, "\x07")
    with pytest.raises(ValueError, match=r"canvas: got the text .*x07.*, expected signs that"):
        plot.from_matplotlib(canvas, title="a", alt="b")


def test_what_is_no_figure_or_no_text_is_refused() -> None:
    with pytest.raises(TypeError, match="canvas: got None, expected a matplotlib figure"):
        plot.from_matplotlib(None, title="a", alt="b")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="title: got None, expected a string"):
        plot.from_matplotlib(Canvas(), title=None, alt="b")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="alt: got int, expected a string"):
        plot.from_matplotlib(Canvas(), title="a", alt=3)  # type: ignore[arg-type]


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'matplotlib: pip install "headwise\[drawing\]"$'):
        runpy.run_path(from_matplotlib.__file__)
