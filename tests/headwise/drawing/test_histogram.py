"""Histograms: the spread in words."""

from headwise.drawing import plot


def test_alt_text_of_a_histogram_gives_the_spread() -> None:
    figure = plot.histogram({"a": [1.0, 3.0, 5.0]}, x_label="scores")
    assert figure.alt == (
        "Histogram of scores. a: 3 values from 1 to 5, mean 3, standard deviation 1.63."
    )
