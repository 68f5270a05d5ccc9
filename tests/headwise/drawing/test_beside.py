"""Wrong beside right: numbers, marks and words are those of the tables."""

from collections.abc import Callable

import pytest
import torch
from svg_parts import elements, texts

from headwise.drawing import diagrams
from headwise.drawing.figure import HUES, Figure

WRONG = torch.tensor([[0.0, 1.0], [torch.nan, 0.5]])
RIGHT = torch.tensor([[0.0, 1.0], [0.5, 0.25]])


def marks(figure: Figure) -> list[tuple[str | None, str | None]]:
    """Where the cells stand that are marked."""
    return [
        (box.get("x"), box.get("y"))
        for box in elements(figure, "rect")
        if box.get("stroke") == HUES["orange"]
    ]


def test_what_differs_is_marked_in_the_wrong_table_alone() -> None:
    figure = diagrams.beside(WRONG, RIGHT)
    assert len(elements(figure, "rect")) == 8
    assert len(marks(figure)) == 2 and len({y for _, y in marks(figure)}) == 1
    assert "Wrong: 0: 0 1.00; 1: NaN 0.50. Right: 0: 0 1.00; 1: 0.50 0.25." in figure.alt
    assert figure.alt.endswith("Orange marks 2 of the 4 cells.")


def test_marks_may_be_chosen() -> None:
    figure = diagrams.beside(WRONG, RIGHT, marked=torch.eye(2).bool())
    assert len({y for _, y in marks(figure)}) == 2


def test_the_larger_the_weight_the_more_colour() -> None:
    boxes = elements(diagrams.beside(RIGHT, RIGHT), "rect")
    assert [box.get("fill-opacity") for box in boxes[:4]] == ["0", "0.5", "0.25", "0.125"]


def test_zeros_can_be_drawn() -> None:
    boxes = elements(diagrams.beside(torch.zeros(1, 2), torch.zeros(1, 2)), "rect")
    assert {box.get("fill-opacity") for box in boxes} == {"0"}


def test_whole_numbers_are_shown_as_they_are() -> None:
    figure = diagrams.beside(torch.tensor([[1, 20]]), torch.tensor([[1, 30]]))
    assert texts(figure)[-1] == "30"
    assert {box.get("fill-opacity") for box in elements(figure, "rect")} == {"0.2"}


def test_sums_stand_behind_the_rows() -> None:
    figure = diagrams.beside(RIGHT, RIGHT, sums=True)
    assert texts(figure).count("Σ") == 2
    assert "0: 0 1.00 1.00; 1: 0.50 0.25 0.75" in figure.alt


def test_claim_is_what_is_said() -> None:
    figure = diagrams.beside(torch.eye(2), torch.ones(2, 2), claim=True, lang="zh")
    assert {"✗ 说法", "✓ 实测"} < set(texts(figure))


def test_wide_tables_stand_above_each_other() -> None:
    figure = diagrams.beside(torch.rand(1, 8), torch.rand(1, 8), ["row"])
    titles = [one for one in elements(figure, "text") if (one.text or "")[0] in "✗✓"]
    assert len({one.get("x") for one in titles}) == 1
    assert texts(figure).count("row") == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: diagrams.beside(torch.ones(2), RIGHT), r"wrong: got shape \(2,\)"),
        (lambda: diagrams.beside(WRONG, torch.ones(2, 3)), "right: got shape"),
        (lambda: diagrams.beside(WRONG, WRONG), "right: got numbers that are not finite"),
        (lambda: diagrams.beside(WRONG, RIGHT, ["a"]), "rows: got 1, expected 2"),
        (lambda: diagrams.beside(WRONG, RIGHT, marked=torch.ones(2, 2)), "marked: got torch.fl"),
        (lambda: diagrams.beside(torch.rand(1, 99), torch.rand(1, 99)), "they do not fit"),
    ],
)
def test_tables_that_cannot_be_drawn_are_refused(call: Callable[[], Figure], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
