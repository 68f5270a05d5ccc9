"""Dependence: filled is what is True, in the picture and in its words."""

import pytest
import torch
from svg_parts import elements, texts

from headwise.drawing import diagrams


def table(*rows: str) -> torch.Tensor:
    return torch.tensor([[sign == "1" for sign in row] for row in rows])


def test_filled_is_what_is_true() -> None:
    tables = {"a": table("110", "011"), "b": table("000", "101")}
    figure = diagrams.dependence(tables, "output", "input")
    filled = [float(box.get("fill-opacity") or 0) > 0 for box in elements(figure, "rect")]
    assert filled == torch.cat([one.flatten() for one in tables.values()]).tolist()
    assert "A: output 0: 0 to 1; output 1: 1 to 2." in figure.alt
    assert "B: output 0: none; output 1: 0, 2." in figure.alt


def test_wide_tables_are_below_one_another() -> None:
    wide = table("1" * 40)
    figure = diagrams.dependence({"a": wide, "b": wide}, "head", "feature", zh={"head": "头"})
    lefts = [box.get("x") for box in elements(figure, "rect")]
    assert lefts[:40] == lefts[40:]
    assert {"0", "39"} <= set(texts(figure)) and "1" not in texts(figure)
    assert figure.twin and "竖着是头，横着是feature" in texts(figure.twin)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({}, "tables: got none"),
        ({"a": table("1"), "b": table("11")}, r"tables: got shape \(1, 2\)"),
        ({"a": torch.ones(2, 2)}, "tables: got torch.float32, .* expected True and False"),
        ({"a": torch.ones(0, 2).bool()}, "tables: got torch.bool"),
        ({"a": table("1" * 99)}, "tables: got 99 columns, expected fewer"),
    ],
)
def test_what_is_no_table_is_refused(tables: dict[str, torch.Tensor], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        diagrams.dependence(tables, "row", "column")
