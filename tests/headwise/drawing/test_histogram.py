"""Histograms: the spread in words."""

import numpy as np
import pytest
import torch

from headwise.drawing import histogram, plot


def test_alt_text_of_a_histogram_gives_the_spread() -> None:
    figure = plot.histogram({"a": [1.0, 3.0, 5.0]}, x_label="scores")
    assert figure.alt == (
        "Histogram of scores. a: 3 values from 1 to 5, mean 3, standard deviation 1.63."
    )


@pytest.mark.parametrize("numbers", [[1.0, 1.0000000000000002], [1e100] * 3, [0.0], [5e-324, 0.0]])
def test_numbers_that_hardly_differ_are_drawn_in_one_bin(numbers: list[float]) -> None:
    figure = plot.histogram({"a": numbers}, x_label="x")
    assert f"{len(numbers)} values" in figure.alt and "standard deviation 0." in figure.alt


@pytest.mark.parametrize("numbers", [[1e308, -1e308], [1e300] * 3])
def test_numbers_too_large_to_subtract_are_refused_by_name(numbers: list[float]) -> None:
    with pytest.raises(
        ValueError, match=r"series: got 1e\+30\d in 'a', expected numbers of at most"
    ):
        plot.histogram({"a": numbers}, x_label="x")


def test_bins_hold_what_numpy_counts() -> None:
    numbers = torch.randn(1000, generator=torch.Generator().manual_seed(0)).double()
    edges = histogram._edges(numbers.tolist(), 40)
    counts, _ = np.histogram(numbers.clamp(edges[0], edges[-1]).numpy(), edges.numpy())
    assert histogram._counts(numbers.tolist(), edges).tolist() == counts.tolist()


@pytest.mark.parametrize("noise", [-1e-12, 0.0, 1e-12])
def test_number_on_an_edge_falls_to_the_same_side(noise: float) -> None:
    numbers = torch.arange(9, dtype=torch.float64)  # four bins: 2, 4 and 6 are edges
    inner = numbers + noise * torch.tensor([0, *[1] * 7, 0])
    assert plot.histogram({"a": inner}, x_label="x", bins=4) == plot.histogram(
        {"a": numbers}, x_label="x", bins=4
    )


def test_histogram_of_more_bins_than_anybody_sees_is_refused() -> None:
    with pytest.raises(ValueError, match="bins: got 100000000, expected a whole number of at most"):
        plot.histogram({"a": [1.0, 2.0]}, x_label="x", bins=10**8)
