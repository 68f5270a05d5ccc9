"""Diagrams: one name leads to all of them, and both languages get the same drawing."""

import re
from collections.abc import Callable

import pytest
from sample_figures import DIAGRAMS, drawn, labels
from svg_parts import elements

from headwise.drawing import diagrams
from headwise.drawing.figure import Figure

every_diagram = pytest.mark.parametrize("make", DIAGRAMS.values(), ids=DIAGRAMS)


@every_diagram
def test_twin_is_the_same_drawing_in_chinese(make: Callable[[], Figure]) -> None:
    figure = drawn(make)
    twin = figure.twin
    assert twin and twin.lang == "zh" and re.search("[一-鿿]", twin.alt)
    assert not re.search("[一-鿿]", figure.svg)
    for tag in ("rect", "path"):
        assert [e.attrib for e in elements(figure, tag)] == [e.attrib for e in elements(twin, tag)]
    assert re.findall(r"\d+", figure.alt) == re.findall(r"\d+", twin.alt) or make in (
        DIAGRAMS["many heads"],  # the order of words differs
    )


def test_unknown_language_is_refused() -> None:
    with pytest.raises(ValueError, match="lang: got 'fr'"):
        diagrams.split(labels(3, 4), 2, lang="fr")
