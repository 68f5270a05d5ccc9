"""Arrows: every key carries its dot product, and its shadow ends where that says."""

import pytest
import torch
from svg_parts import elements, texts

from headwise.drawing import diagrams

QUERY = torch.tensor([2.0, 0.0])
KEYS = torch.tensor([[4.0, 3.0], [0.0, 5.0], [-4.0, -3.0], [6.0, 8.0]])


def test_keys_carry_their_dot_products_and_shadows() -> None:
    figure = diagrams.arrows(QUERY, KEYS)
    dots = (KEYS @ QUERY).tolist()
    for i, dot in enumerate(dots):
        assert f"k{i}: dot {dot:g}" in texts(figure)
        assert f"{dot / 2:g}" in texts(figure)
    assert "Key 0 has length 5, lies 37° off the query, and their dot product is 8." in figure.alt


def test_shadows_fall_at_right_angles_on_the_query() -> None:
    query = torch.tensor([3.0, 1.0])
    figure = diagrams.arrows(query, KEYS)
    feet = [(float(e.get("cx") or 0), float(e.get("cy") or 0)) for e in elements(figure, "circle")]
    drops = [e.get("d") or "" for e in elements(figure, "path") if e.get("stroke-dasharray")]
    assert len(feet) == len(drops) == 4
    for (x, y), drop in zip(feet, drops, strict=True):
        tip_x, tip_y = map(float, drop.split(" L")[0][1:].split())
        assert (x - tip_x) * 3 - (y - tip_y) * 1 == pytest.approx(0, abs=0.02)  # y goes down


@pytest.mark.parametrize(
    ("query", "keys", "message"),
    [
        (torch.ones(3), KEYS, r"query: got shape \(3,\)"),
        (QUERY, KEYS.T, r"keys: got shape \(2, 4\)"),
        (0 * QUERY, KEYS, "keys: got 4 and a shortest arrow of 0"),
        (QUERY, torch.ones(5, 2), "keys: got 5 and a shortest arrow of 1.41421, expected at most"),
    ],
)
def test_what_is_no_arrow_is_refused(query: torch.Tensor, keys: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        diagrams.arrows(query, keys)
