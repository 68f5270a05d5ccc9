"""Masks side by side: filled is what may be seen."""

from collections.abc import Callable

import pytest
import torch
from svg_parts import cells, elements, texts

from headwise.drawing import diagrams
from headwise.drawing.figure import Figure
from headwise.masks import causal_mask, combine, padding_mask


def test_masks_fill_what_may_be_seen() -> None:
    parts = {"causal": causal_mask(4, 5), "padding": padding_mask(torch.tensor([3]), 5)}
    figure = diagrams.masks(parts, list("abc··"))
    both = combine(*parts.values())
    assert both is not None
    filled = [float(e.get("fill-opacity", 0)) > 0 for e in elements(figure, "rect")]
    tables = [mask.expand(1, 1, 4, 5).flatten() for mask in (*parts.values(), both)]
    assert filled == torch.cat(tables).tolist()
    assert [number for number, _ in cells(figure)] == [str(int(seen)) for seen in filled]
    assert "The mask causal & padding shows the queries in turn 2, 3, 3, 3 of 5 keys" in figure.alt


def test_masks_name_queries_by_the_last_keys() -> None:
    figure = diagrams.masks({"causal": causal_mask(2, 5)})
    left = [e.text for e in elements(figure, "text") if e.get("x") == "10"]
    assert left == ["3", "4"]


def test_masks_have_chinese_names_in_chinese() -> None:
    figure = diagrams.masks({"causal": causal_mask(2)}, zh={"causal": "因果"})
    assert figure.twin and "causal" in texts(figure) and "因果" in texts(figure.twin)
    assert "掩码 因果 让" in figure.twin.alt


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: diagrams.masks({}), "parts: got no mask"),
        (lambda: diagrams.masks({"a": torch.ones(2, 2)}), "parts: got dtype torch.float32"),
        (lambda: diagrams.masks({"a": causal_mask(2).to("meta")}), "parts: got a mask on the meta"),
        (
            lambda: diagrams.masks({"a": causal_mask(2), "b": causal_mask(3)}),
            r"parts: got shapes \(2, 2\) and \(3, 3\), expected two that broadcast",
        ),
        (lambda: diagrams.masks({"two": padding_mask(torch.tensor([5, 3]))}), "parts: got masks"),
        (lambda: diagrams.masks({"tall": torch.ones(3, 2, dtype=torch.bool)}), "parts: got masks"),
        (lambda: diagrams.masks({"causal": causal_mask(3)}, ["a"]), "tokens: got 1, expected 3"),
    ],
)
def test_masks_that_are_not_of_one_sentence_are_refused(
    call: Callable[[], Figure], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"none": torch.ones(0, 0, dtype=torch.bool)}, "expected one sentence"),
        ({"none": torch.ones(0, 3, dtype=torch.bool)}, "at least one query"),
        ({str(i): causal_mask(3) for i in range(14)}, "expected fewer: they do not fit"),
        ({"flat": torch.ones(3, dtype=torch.bool)}, "got shape"),
    ],
)
def test_masks_that_leave_nothing_to_draw_are_refused(
    parts: dict[str, torch.Tensor], reason: str
) -> None:
    with pytest.raises(ValueError, match=f"parts: .*{reason}"):
        diagrams.masks(parts)
