"""The block of today."""

import copy
import pickle
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from headwise import KeyValueCache, MultiHeadAttention
from headwise.block import Block, make_norm
from headwise.rotary import Rotary


def block(**options: Any) -> Block:
    torch.manual_seed(0)
    attention = MultiHeadAttention(8, 2, num_kv_heads=1, bias=False, rotary=Rotary(4))
    return Block(attention, **options).double()


def assert_same(ours: torch.Tensor, theirs: torch.Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


def test_adds_what_each_part_makes_of_the_normalised_input() -> None:
    module, x = block(), torch.randn(2, 5, 8, dtype=torch.float64)

    def rms(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight

    for norm in (module.norm_1, module.norm_2):
        nn.init.normal_(norm.weight)
    h = x + module.attention(rms(x, module.norm_1.weight), is_causal=True)
    out = h + module.feed_forward(rms(h, module.norm_2.weight))
    assert_same(module(x), out)


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "swiglu"])
@pytest.mark.parametrize("bias", [False, True])
def test_every_part_that_can_have_a_bias_follows_bias(activation: str, bias: bool) -> None:
    module = block(norm="layer", activation=activation, bias=bias, d_ff=12)
    named = {name for name, _ in module.named_parameters() if name.endswith("bias")}
    expected = {"norm_1.bias", "norm_2.bias", "feed_forward.W_1.bias", "feed_forward.W_2.bias"}
    expected |= {"feed_forward.W_gate.bias"} if activation == "swiglu" else set()
    assert named == (expected if bias else set())
    assert module.feed_forward.d_ff == 12


def test_layer_norm_is_pytorchs() -> None:
    x = torch.randn(3, 8)
    assert torch.equal(make_norm("layer", 8, eps=0.1)(x), F.layer_norm(x, (8,), eps=0.1))


def test_no_position_sees_a_later_one() -> None:
    module, x = block(), torch.randn(1, 6, 8, dtype=torch.float64)
    changed = x.clone()
    changed[:, 4:] += 1
    assert_same(module(changed)[:, :4], module(x)[:, :4])


def test_cached_steps_equal_one_call() -> None:
    module, x, cache = block(), torch.randn(2, 6, 8, dtype=torch.float64), KeyValueCache()
    parts = [module(part, cache=cache) for part in x.split((3, 1, 2), dim=1)]
    assert_same(torch.cat(parts, dim=1), module(x))


def test_mask_and_positions_reach_the_attention() -> None:
    module, x = block(), torch.randn(2, 5, 8, dtype=torch.float64)
    mask = torch.tensor([False, True, True, True, True])
    moved = torch.tensor([7, 0, 1, 2, 3])
    alone = module(x[:, 1:])
    assert_same(module(x, mask.expand(5, 5), positions=moved)[:, 1:], alone)


def test_dropout_acts_while_training_only() -> None:
    module, x = block(dropout=1.0), torch.randn(2, 5, 8, dtype=torch.float64)
    assert torch.equal(module(x), x)
    assert not torch.equal(module.eval()(x), x)


def test_copies_and_pickles() -> None:
    module, x = block(), torch.randn(2, 5, 8, dtype=torch.float64)
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert torch.equal(other(x), module(x))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"norm": "batch"}, "norm: got 'batch', expected one of"),
        ({"activation": "tanh"}, "activation: got 'tanh', expected one of"),
        ({"eps": 0.0}, "eps: got 0.0"),
        ({"d_ff": 0}, "d_ff: got 0"),
        ({"dropout": 2.0}, "dropout: got 2.0"),
    ],
)
def test_wrong_input_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        block(**options)
