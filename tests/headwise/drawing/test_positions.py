"""Positions: the alt text counts sign changes."""

import pytest
import torch

from headwise.drawing import plot


def test_alt_text_of_positions_counts_sign_changes() -> None:
    encoding = torch.tensor([[1.0, 0.5], [-1.0, 0.5], [1.0, -0.25]])
    assert plot.positions(encoding).alt == (
        "Positional encoding: 3 positions by 2 columns, values from -1.00 to 1.00; "
        "going down a column the sign changes 2 times in the first and 1 times in the last."
    )


@pytest.mark.parametrize("noise", [-1e-9, 0.0, 1e-9])
def test_rounding_around_zero_is_no_sign_change(noise: float) -> None:
    column = torch.tensor([1.0, noise, -1.0, noise, -noise, 1.0], dtype=torch.float64)
    figure = plot.positions(torch.stack((column, column.abs()), dim=1))
    assert "the sign changes 2 times in the first and 0 times in the last" in figure.alt
