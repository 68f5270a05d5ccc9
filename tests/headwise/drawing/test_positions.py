"""Positions: the alt text counts sign changes."""

import torch

from headwise.drawing import plot


def test_alt_text_of_positions_counts_sign_changes() -> None:
    encoding = torch.tensor([[1.0, 0.5], [-1.0, 0.5], [1.0, -0.25]])
    assert plot.positions(encoding).alt == (
        "Positional encoding: 3 positions by 2 columns, values from -1.00 to 1.00; "
        "going down a column the sign changes 2 times in the first and 1 times in the last."
    )
