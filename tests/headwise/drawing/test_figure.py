"""A figure: its words, its twin, the file and the notebook; and hues that read anywhere."""

import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from matplotlib.colors import to_rgb
from sample_figures import DIAGRAMS, EN, PLOTS, WEIGHTS, ZH, drawn

from headwise.drawing import plot
from headwise.drawing.cells import FULL
from headwise.drawing.figure import HUES, Figure

FIGURES = DIAGRAMS | PLOTS
every_figure = pytest.mark.parametrize("make", FIGURES.values(), ids=FIGURES)


@every_figure
def test_svg_says_what_it_is(make: Callable[[], Figure]) -> None:
    figure = drawn(make)
    root = ET.fromstring(figure.svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.get("role") == "img"
    assert root.get("aria-label") == figure.alt
    assert root.get("lang") in ("en", "zh")
    assert root[0].tag.endswith("}title") and root[0].text and figure.alt.startswith(root[0].text)


@every_figure
def test_same_run_gives_the_same_bytes(make: Callable[[], Figure]) -> None:
    assert make().svg == drawn(make).svg


def test_figure_brings_its_twin_in_the_other_language() -> None:
    weights = torch.eye(3)
    chinese = plot.heatmap(weights, lang="zh")
    english = plot.heatmap(weights)
    assert (chinese.lang, english.lang) == ("zh", "en")
    assert chinese.twin == replace(english, twin=None)
    assert english.twin == replace(chinese, twin=None)
    bundle = english._repr_mimebundle_()
    assert bundle["application/vnd.headwise.twin+json"]["svg"] == chinese.svg
    assert set(chinese.twin._repr_mimebundle_()) == {"image/svg+xml", "text/plain"}


def test_notebook_shows_the_svg_and_has_the_alt_text() -> None:
    figure = plot.heatmap(WEIGHTS, EN)
    bundle = figure._repr_mimebundle_(include=None, exclude=None)
    assert bundle["image/svg+xml"] == figure.svg and bundle["text/plain"] == figure.alt


def test_saved_file_is_the_svg(tmp_path: Path) -> None:
    figure = plot.heatmap(WEIGHTS, ZH, lang="zh")
    figure.save(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text(encoding="utf-8") == figure.svg + "\n"


def luminance(colour: tuple[float, ...]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """The ratio that WCAG defines: 3 is enough for lines, 4.5 for text."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def mixed(colour: tuple[float, ...], ground: tuple[float, ...], share: float) -> tuple[float, ...]:
    return tuple(share * c + (1 - share) * g for c, g in zip(colour, ground, strict=True))


GROUNDS = {"light": ("#ffffff", "#000000", 0.87), "dark": ("#1e2129", "#e2e4e9", 0.82)}


@pytest.mark.parametrize("hue", HUES.values(), ids=HUES)
@pytest.mark.parametrize(("ground", "ink", "share"), GROUNDS.values(), ids=GROUNDS)
def test_hues_read_on_light_and_dark(hue: str, ground: str, ink: str, share: float) -> None:
    under = to_rgb(ground)
    assert contrast(to_rgb(hue), under) >= 3
    cell = mixed(to_rgb(hue), under, FULL)
    assert contrast(mixed(to_rgb(ink), cell, share), cell) >= 4.5


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"svg": None}, TypeError),
        ({"alt": 5}, TypeError),
        ({"lang": "fr"}, ValueError),
        ({"twin": "x"}, TypeError),
    ],
)
def test_figure_is_made_of_words(change: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=f"{next(iter(change))}: got .*, expected"):
        Figure(**{"svg": "<svg/>", "alt": "a", **change})


def test_figure_is_saved_to_a_path_that_can_be_written(tmp_path: Path) -> None:
    figure = Figure("<svg/>", "a")
    for path in (None, 5, b"x.svg"):
        with pytest.raises(TypeError, match=r"path: got \w+, expected a path"):
            figure.save(path)  # type: ignore[arg-type]
    for path in (tmp_path, tmp_path / "no" / "x.svg", "a\0b.svg", "a" * 5000):
        with pytest.raises(ValueError, match=r"path: got .*, expected a file in a directory"):
            figure.save(path)


def test_figure_that_no_file_can_hold_is_refused() -> None:
    with pytest.raises(ValueError, match=r"svg: got .*surrogates"):
        Figure("<svg>\ud800</svg>", "a")
