"""Norms: they stand where the layers have them."""

import pytest
import torch
from svg_parts import hooks, texts

from headwise.drawing import diagrams
from headwise.layers import EncoderLayer


def test_norms_stand_where_the_layers_have_them() -> None:
    post, pre = EncoderLayer(8, 2), EncoderLayer(8, 2, norm_first=True)
    figure = diagrams.norms(post, pre, torch.randn(1, 3, 8))
    order = texts(figure)
    half = order.index("pre-LN")
    assert order[2:half] == ["attention", "+", "norm", "feed-forward", "+", "norm"]
    assert order[half + 2 :] == ["norm", "attention", "+", "norm", "feed-forward", "+"]
    assert "around attention, another around feed-forward; a norm stands behind" in figure.alt
    assert "around norm, attention, another around norm, feed-forward; no norm" in figure.alt
    assert hooks(post) == hooks(pre) == 0


X = torch.zeros(1, 3, 8)


def test_norms_draw_what_runs_and_not_what_is_called_so() -> None:
    swapped = diagrams.norms(EncoderLayer(8, 2, norm_first=True), EncoderLayer(8, 2), X)
    assert texts(swapped)[0] == "pre-LN" and texts(swapped)[2] == "norm"


def test_layer_that_fails_is_not_watched_any_longer() -> None:
    layer = EncoderLayer(8, 2)
    with pytest.raises(ValueError, match="x: got shape"):
        diagrams.norms(layer, layer, torch.zeros(1, 3, 7))
    assert hooks(layer) == 0


def test_norms_draw_no_random_numbers() -> None:
    layers = EncoderLayer(8, 2), EncoderLayer(8, 2, norm_first=True)
    before = torch.get_rng_state()
    diagrams.norms(*layers, torch.ones(1, 2, 8))
    assert torch.get_rng_state().equal(before) and layers[0].training
