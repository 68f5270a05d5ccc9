"""Blocks: as many as there are heads, and as large as the weights they stand for."""

import pytest
from svg_parts import elements, texts

from headwise.drawing import diagrams
from headwise.multi_head import MultiHeadAttention


def test_area_of_the_blocks_is_the_number_of_weights() -> None:
    modules = [MultiHeadAttention(12, heads, d_k=d_k) for heads, d_k in ((1, 12), (4, 3), (2, 12))]
    figure = diagrams.blocks(modules)
    drawn = [
        float(b.get("width") or 0) * float(b.get("height") or 0) for b in elements(figure, "rect")
    ]
    whole, *parts = drawn
    assert len(parts) == 4 + 2
    assert sum(parts[:4]) == pytest.approx(whole, rel=1e-3)
    assert sum(parts[4:]) == pytest.approx(2 * whole, rel=1e-3)
    assert texts(figure) == [
        "1 head: 12 × 12 = 144 numbers",
        "4 heads of 12 × 3: 144 numbers",
        "2 heads of 12 × 12: 288 numbers",
    ]


def test_no_module_is_refused() -> None:
    with pytest.raises(ValueError, match="modules: got none"):
        diagrams.blocks([])
    with pytest.raises(TypeError, match="modules: got int, expected a MultiHeadAttention"):
        diagrams.blocks([1])  # type: ignore[list-item]
