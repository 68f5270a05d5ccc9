"""Gaze: each line is as wide as its weight, and the words say where most of it goes."""

import pytest
import torch
from svg_parts import elements, texts

from headwise.drawing import diagrams
from headwise.drawing.figure import HUES

WEIGHTS = torch.tensor([[0.9, 0.1, 0.0], [0.5, 0.0, 0.5]])


def test_lines_are_as_wide_as_their_weights() -> None:
    figure = diagrams.gaze(WEIGHTS, ["two", "words"], ["a", "b", "c"])
    lines = elements(figure, "path")
    assert len(lines) == 4  # none for a weight of 0
    widths = [float(line.get("stroke-width") or 0) for line in lines]
    assert widths[0] > widths[2] == widths[3] > widths[1]
    strongest = [line.get("stroke") == HUES["blue"] for line in lines]
    assert strongest == [True, False, True, True]
    assert texts(figure) == ["reads", "writes", "a", "b", "c", "two", "words"]


def test_words_say_where_each_looks_most() -> None:
    figure = diagrams.gaze(WEIGHTS, ["two", "words"], ["a", "b", "c"])
    assert "Writing two, it looks most at a (0.90)." in figure.alt
    assert "Writing words, it looks most at a and c (0.50)." in figure.alt


def test_a_word_that_sees_nothing_has_no_line() -> None:
    figure = diagrams.gaze(torch.zeros(1, 2), ["a"], ["b", "c"])
    assert elements(figure, "path") == [] and figure.alt.endswith("Writing a, it looks nowhere.")


@pytest.mark.parametrize("weights", [torch.ones(1, 2, 3), torch.tensor([[0.5, -0.5]])])
def test_what_is_no_table_of_weights_is_refused(weights: torch.Tensor) -> None:
    with pytest.raises(ValueError, match="weights: got shape"):
        diagrams.gaze(weights, ["a"], ["b", "c"])
