"""Splitting into heads and joining them, in both layouts."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from headwise import fold_heads, merge_heads, split_heads, unfold_heads

sizes = st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(1, 4), st.integers(1, 4))


@given(sizes)
def test_head_h_of_a_position_is_its_block_of_columns(size: tuple[int, int, int, int]) -> None:
    batch, seq_len, num_heads, d_k = size
    x = torch.randn(batch, seq_len, num_heads * d_k)
    heads = split_heads(x, num_heads)
    assert heads.shape == (batch, num_heads, seq_len, d_k)
    for h in range(num_heads):
        assert torch.equal(heads[:, h], x[:, :, h * d_k : (h + 1) * d_k])


@given(sizes)
def test_merging_undoes_splitting(size: tuple[int, int, int, int]) -> None:
    batch, seq_len, num_heads, d_k = size
    x = torch.randn(batch, seq_len, num_heads * d_k)
    assert torch.equal(merge_heads(split_heads(x, num_heads)), x)


@given(sizes)
def test_folded_head_h_of_item_b_stands_at_b_times_num_heads_plus_h(
    size: tuple[int, int, int, int],
) -> None:
    batch, seq_len, num_heads, d_k = size
    x = torch.randn(batch, seq_len, num_heads * d_k)
    folded = fold_heads(x, num_heads)
    assert folded.shape == (batch * num_heads, seq_len, d_k)
    for b in range(batch):
        for h in range(num_heads):
            assert torch.equal(folded[b * num_heads + h], split_heads(x, num_heads)[b, h])


@given(sizes)
def test_unfolding_undoes_folding(size: tuple[int, int, int, int]) -> None:
    batch, seq_len, num_heads, d_k = size
    x = torch.randn(batch, seq_len, num_heads * d_k)
    assert torch.equal(unfold_heads(fold_heads(x, num_heads), num_heads), x)


def test_splitting_copies_nothing() -> None:
    x = torch.randn(2, 5, 12)
    assert split_heads(x, 4).data_ptr() == x.data_ptr()


def test_non_contiguous_input_splits_like_a_contiguous_one() -> None:
    x = torch.randn(12, 5, 2).permute(2, 1, 0)
    assert torch.equal(split_heads(x, 4), split_heads(x.contiguous(), 4))
    assert torch.equal(fold_heads(x, 4), fold_heads(x.contiguous(), 4))
