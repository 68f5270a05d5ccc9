"""The feed-forward network, plain and gated."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from headwise.feed_forward import FeedForward, SwiGLU


@pytest.mark.parametrize(
    ("activation", "bend"),
    [("relu", nn.ReLU()), ("gelu", nn.GELU()), ("gelu_tanh", nn.GELU(approximate="tanh"))],
)
def test_equals_two_linears_with_a_bend_between(activation: str, bend: nn.Module) -> None:
    module = FeedForward(6, 10, activation=activation).double()
    x = torch.randn(2, 3, 6, dtype=torch.float64)
    expected = nn.Sequential(module.W_1, bend, module.W_2)(x)
    torch.testing.assert_close(module(x), expected)
    assert f"activation='{activation}'" in repr(module)


def test_gate_multiplies_what_it_stands_beside() -> None:
    module = SwiGLU(6, 10, bias=True).double()
    x = torch.randn(2, 3, 6, dtype=torch.float64)
    gate = x @ module.W_gate.weight.T + module.W_gate.bias
    hidden = gate * torch.sigmoid(gate) * F.linear(x, module.W_1.weight, module.W_1.bias)
    torch.testing.assert_close(module(x), F.linear(hidden, module.W_2.weight, module.W_2.bias))


def test_gated_network_has_about_as_many_weights() -> None:
    def weights(module: nn.Module) -> int:
        return sum(parameter.numel() for parameter in module.parameters() if parameter.dim() == 2)

    assert SwiGLU(96).d_ff == 256
    assert weights(SwiGLU(96)) == weights(FeedForward(96))
    assert SwiGLU(16).d_ff == 43


@pytest.mark.parametrize("kind", [FeedForward, SwiGLU])
def test_without_bias_nothing_comes_of_nothing(kind: type[nn.Module]) -> None:
    zeros = torch.zeros(2, 3, 6)
    assert not kind(6, bias=False)(zeros).any()
    assert kind(6, bias=True)(zeros).all()


@pytest.mark.parametrize("kind", [FeedForward, SwiGLU])
def test_no_position_sees_another(kind: type[nn.Module]) -> None:
    x = torch.randn(1, 4, 6, requires_grad=True)
    kind(6)(x)[0, 2].sum().backward()
    assert x.grad is not None
    assert x.grad[0, 2].any()
    assert not x.grad[0, [0, 1, 3]].any()


def test_middle_is_four_times_as_wide_by_default() -> None:
    assert FeedForward(6).W_1.out_features == 24


@pytest.mark.parametrize("kind", [FeedForward, SwiGLU])
def test_dropout_acts_on_the_middle_while_training_only(kind: type[nn.Module]) -> None:
    module = kind(6, 10, dropout=1.0, bias=True)
    x = torch.randn(2, 3, 6)
    torch.testing.assert_close(module(x), module.W_2.bias.expand(2, 3, 6))
    assert not torch.equal(module.eval()(x), module.W_2.bias.expand(2, 3, 6))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: FeedForward(-6), "d_model: got -6"),
        (lambda: FeedForward(6, 0), "d_ff: got 0"),
        (lambda: FeedForward(6, dropout=1.5), "dropout: got 1.5"),
        (lambda: FeedForward(6, activation="tanh"), "activation: got 'tanh', expected one of"),
        (lambda: FeedForward(6)(torch.randn(3, 6)), r"x: got shape \(3, 6\)"),
        (lambda: SwiGLU(6, 0), "d_ff: got 0"),
        (lambda: SwiGLU(6)(torch.randn(3, 6)), r"x: got shape \(3, 6\)"),
    ],
)
def test_wrong_input_is_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
