"""Split and merge: each number goes where the code puts it, in its token's colour."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_figures import labels
from svg_parts import cells
from torch import Tensor

from headwise.drawing import diagrams
from headwise.drawing.figure import HUES, Figure
from headwise.heads import merge_heads, split_heads

sizes = st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(1, 3))


def listed(tables: Tensor, name: str) -> str:
    rows = [[" ".join(map(str, row)) for row in table] for table in tables.tolist()]
    return "; ".join(f"{name} {i} holds {', '.join(row)}" for i, row in enumerate(rows, 1))


@settings(max_examples=25, deadline=None)
@given(sizes)
def test_split_tells_what_each_head_gets(size: tuple[int, int, int]) -> None:
    seq_len, num_heads, d_k = size
    x = labels(seq_len, num_heads * d_k)
    alt = diagrams.split(x, num_heads).alt
    right = listed(split_heads(x, num_heads)[0], "head")
    wrong = listed(x.reshape(num_heads, seq_len, d_k), "head")
    assert f"Right: {right}. Wrong: {wrong}." in alt


@settings(max_examples=25, deadline=None)
@given(sizes)
def test_merge_tells_what_each_token_gets(size: tuple[int, int, int]) -> None:
    seq_len, num_heads, d_k = size
    x = split_heads(labels(seq_len, num_heads * d_k), num_heads)
    alt = diagrams.merge(x).alt
    right = listed(merge_heads(x)[0][:, None], "token")
    wrong = listed(x.reshape(seq_len, 1, num_heads * d_k), "token")
    assert f"Right: {right}. Wrong: {wrong}." in alt


@settings(max_examples=25, deadline=None)
@given(sizes)
def test_number_keeps_its_tokens_colour_on_every_way(size: tuple[int, int, int]) -> None:
    seq_len, num_heads, d_k = size
    x = labels(seq_len, num_heads * d_k)
    for figure in (diagrams.split(x, num_heads), diagrams.merge(split_heads(x, num_heads))):
        drawn = cells(figure)
        hues = list(HUES.values())
        assert len(drawn) == 4 * x.numel()
        assert set(drawn) == {
            (str(number), hues[token]) for token, row in enumerate(x[0].tolist()) for number in row
        }


def test_cells_of_the_heads_stand_in_the_order_of_the_data() -> None:
    x = labels(3, 4)
    numbers = [int(number) for number, _ in cells(diagrams.split(x, 2))]
    pieces = x.view(3, 2, 2).transpose(0, 1)
    assert numbers[:12] == x.flatten().tolist()
    assert numbers[12:24] == pieces.flatten().tolist()  # the cut rows, piece after piece
    assert numbers[24:36] == split_heads(x, 2).flatten().tolist()
    assert numbers[36:] == x.flatten().tolist()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: diagrams.split(labels(3, 4).expand(2, 3, 4), 2), r"x: got shape \(2, 3, 4\)"),
        (lambda: diagrams.split(labels(3, 4), 3), "num_heads: got 3"),
        (lambda: diagrams.split(labels(3, 16), 2), "x: got 16 numbers for a token"),
        (lambda: diagrams.merge(labels(3, 4)), r"x: got shape \(1, 3, 4\)"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call: Callable[[], Figure], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
