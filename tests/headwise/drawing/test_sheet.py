"""The sheet: its ink is the page's, and everything on it fits a phone."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable

import pytest
import torch
from sample_figures import DIAGRAMS, drawn
from svg_parts import elements, texts

from headwise.drawing import diagrams
from headwise.drawing.figure import HUES, Figure
from headwise.drawing.sheet import WIDTH

every_diagram = pytest.mark.parametrize("make", DIAGRAMS.values(), ids=DIAGRAMS)


@every_diagram
def test_ink_is_the_pages_own(make: Callable[[], Figure]) -> None:
    svg = drawn(make).svg
    colours = set(re.findall(r'(?:fill|stroke)="([^"]*)"', svg))
    assert colours <= {"none", "currentColor", *HUES.values()}
    assert "<style" not in svg and ' id="' not in svg and "href" not in svg


@every_diagram
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_everything_fits_on_a_phone(make: Callable[[], Figure], lang: str) -> None:
    figure = drawn(make)
    figure = figure if lang == "en" else figure.twin or figure
    root = ET.fromstring(figure.svg)
    height = float(root.get("height", 0))
    assert float(root.get("width", 0)) == WIDTH <= 343
    for box in elements(figure, "rect"):
        x, y, wide, high = (float(box.get(key, 0)) for key in ("x", "y", "width", "height"))
        assert x >= 0 and x + wide <= WIDTH and y >= 0 and y + high <= height
    for text in elements(figure, "text"):
        size, x = float(text.get("font-size", 0)), float(text.get("x", 0))
        words = text.text or ""
        wide = sum(size if ord(sign) > 0x2E80 else 0.55 * size for sign in words)
        start = x - wide * {"start": 0, "middle": 0.5, "end": 1}[text.get("text-anchor", "")]
        assert size >= 11 and start >= 0 and start + wide <= WIDTH, words
        assert size / 2 < float(text.get("y", 0)) < height


@pytest.mark.parametrize("sign", ["\0", "\x1b", "\ufffe", "\ud800", "\n"])
def test_sign_that_no_file_can_hold_is_written_out(sign: str) -> None:
    mask = torch.ones(2, 2, dtype=torch.bool)
    figure = diagrams.masks({f"a{sign}": mask}, ["b", f"c{sign}"])
    written = ascii(sign)[1:-1]
    assert {f"a{written}", f"c{written}"} <= set(texts(figure))
    assert f"a{written}" in figure.alt and sign not in figure.svg
