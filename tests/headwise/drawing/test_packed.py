"""Packed weights: the bands shown are those that a head depends on."""

from typing import Any

import pytest
import torch
from svg_parts import texts
from torch import nn

from headwise.drawing import diagrams


def test_packed_shows_the_rows_and_columns_that_a_head_depends_on() -> None:
    """What PyTorch's own gradient says, one head at a time."""
    d_model, num_heads, d_k = 12, 3, 4
    mha = nn.MultiheadAttention(d_model, num_heads, bias=False, batch_first=True)
    figure = diagrams.packed(mha)
    shown = [text for text in texts(figure) if "–" in text]
    rows = [shown[i : i + num_heads] for i in range(0, 3 * num_heads, num_heads)]
    columns = shown[3 * num_heads :]
    x = torch.randn(1, 5, d_model)
    for head in range(num_heads):
        # Only this head sees anything but the first token, whose value is zero.
        seen = torch.zeros(num_heads, 5, 5, dtype=torch.bool)
        seen[:, :, 0] = True
        seen[head] = True
        value = x * (torch.arange(5) > 0)[:, None]
        mha.zero_grad()
        out, _ = mha(x, x, value, attn_mask=~seen)
        (out**2).sum().backward()
        assert mha.in_proj_weight.grad is not None and mha.out_proj.weight.grad is not None
        used = mha.in_proj_weight.grad.abs().sum(dim=1).nonzero().flatten().tolist()
        assert [f"{used[i]}–{used[i + d_k - 1]}" for i in range(0, 3 * d_k, d_k)] == [
            part[head] for part in rows
        ]
        used = mha.out_proj.weight.grad.abs().sum(dim=0).nonzero().flatten().tolist()
        assert f"{used[0]}–{used[-1]}" == columns[head] and len(used) == d_k
        assert f"head {head + 1} {columns[head]}" in figure.alt


def test_packed_leaves_the_module_as_it_was() -> None:
    mha = nn.MultiheadAttention(8, 2)
    before = mha.in_proj_weight.clone()
    diagrams.packed(mha)
    assert torch.equal(mha.in_proj_weight, before)


def test_packed_refuses_what_it_cannot_draw() -> None:
    with pytest.raises(ValueError, match="mha: got three projections kept apart"):
        diagrams.packed(nn.MultiheadAttention(8, 2, kdim=6))
    with pytest.raises(ValueError, match="mha: got 8 heads, expected at most 4"):
        diagrams.packed(nn.MultiheadAttention(16, 8))


def test_packed_counts_rows_that_half_precision_could_not() -> None:
    figure = diagrams.packed(nn.MultiheadAttention(128, 2).bfloat16())
    assert "320–383" in figure.alt


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"device": "meta"}, "got one on the meta device"),
        ({"add_bias_kv": True}, "got add_bias_kv or add_zero_attn"),
    ],
)
def test_packed_refuses_by_the_callers_name(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=f"mha: {reason}"):
        diagrams.packed(nn.MultiheadAttention(8, 2, **options))
