"""One head, with nn.Parameter and with nn.Linear."""

import math

import torch
from torch import nn

from headwise import LinearHead, ParameterHead
from headwise.attention import attention
from headwise.convert import convert


def test_parameter_head_multiplies_from_the_right() -> None:
    torch.manual_seed(0)
    head, x = ParameterHead(6).double(), torch.randn(2, 4, 6, dtype=torch.float64)
    nn.init.normal_(head.b_k)
    gathered, weights = attention(
        x @ head.W_q + head.b_q, x @ head.W_k + head.b_k, x @ head.W_v + head.b_v
    )
    out, returned = head(x)
    assert torch.equal(returned, weights)
    assert torch.equal(out, gathered @ head.W_o + head.b_o)


def test_linear_keeps_the_transpose_of_what_the_parameter_head_keeps() -> None:
    parameter_head = ParameterHead(6)
    linear_head = convert(parameter_head, LinearHead(6))
    assert torch.equal(linear_head.W_k.weight, parameter_head.W_k.T)


def test_the_two_heads_compute_the_same_with_the_same_weights() -> None:
    torch.manual_seed(0)
    linear_head = LinearHead(6).double()
    parameter_head = convert(linear_head, ParameterHead(6).double())
    x = torch.randn(2, 4, 6, dtype=torch.float64)
    for ours, theirs in zip(parameter_head(x), linear_head(x), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


def test_mask_of_two_axes_counts_for_every_batch_item() -> None:
    for head in (ParameterHead(6), LinearHead(6)):
        x = torch.randn(2, 4, 6)
        mask = torch.ones(4, 4, dtype=torch.bool).tril()
        _, weights = head(x, mask)
        assert weights.shape == (2, 4, 4)
        assert (weights.triu(1) == 0).all()
        torch.testing.assert_close(weights, head(x, mask.expand(2, 4, 4))[1])


def test_weights_start_where_the_docstrings_say() -> None:
    torch.manual_seed(0)
    d_model = 64
    xavier, linear = math.sqrt(6 / (2 * d_model)), 1 / math.sqrt(d_model)
    for W in (getattr(ParameterHead(d_model), f"W_{p}") for p in "qkvo"):
        assert 0.99 * xavier < W.abs().max() <= xavier
    for layer in (getattr(LinearHead(d_model), f"W_{p}") for p in "qkvo"):
        assert 0.99 * linear < layer.weight.abs().max() <= linear
    assert not ParameterHead(d_model).b_q.any()
