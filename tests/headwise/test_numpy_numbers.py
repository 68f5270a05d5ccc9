"""Numbers of NumPy's are as good as Python's own, however narrow: none of them runs over.

NumPy computes np.uint8(3) - 5 to 254 and np.int8(100) + 100 to -56, with a warning at most.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from right_calls import RIGHT
from test_wrong_calls import CALLED
from torch import Tensor, nn

from headwise import data_parallel, heads, masks, positional, timing
from headwise.attention import attention, fused_attention
from headwise.drawing import diagrams, plot
from headwise.feed_forward import FeedForward
from headwise.layers import EncoderLayer, Residual
from headwise.models import numerals, translator_training
from headwise.multi_head import MultiHeadAttention
from headwise.transformer import Transformer

FOLDED = torch.arange(200.0 * 3 * 2).view(200, 3, 2)
LONG = torch.zeros(1, 120, 4)


def model(number: Callable[[int], Any]) -> Transformer:
    torch.manual_seed(0)
    sizes = {"d_model": number(96), "num_heads": number(4), "num_layers": number(1)}
    return Transformer(number(120), number(120), **sizes, max_len=number(120))


def learned(number: Callable[[int], Any]) -> positional.LearnedPositions:
    torch.manual_seed(0)
    return positional.LearnedPositions(240, number(4))


def trained(number: Callable[[int], Any]) -> list[float]:
    training = translator_training.Training(seed=number(2), steps=number(1))
    training.advance(number(1))
    return training.losses


def shapes(module: nn.Module) -> list[torch.Size]:
    return [parameter.shape for parameter in module.parameters()]


# Each computes with numbers whose sums, differences or products a byte does not hold.
CALLS: dict[str, Callable[[Callable[[int], Any]], Any]] = {
    "causal_mask": lambda n: masks.causal_mask(n(5), n(3)),
    "to_attn_mask": lambda n: masks.to_attn_mask(masks.causal_mask(100), (2, 2, n(100), n(100))),
    "from_attn_mask": lambda n: masks.from_attn_mask(FOLDED.bool(), n(2)),
    "split_heads": lambda n: heads.split_heads(torch.arange(512.0).view(1, 1, 512), n(4)),
    "fold_heads": lambda n: heads.fold_heads(torch.arange(800.0).view(100, 1, 8), n(4)),
    "unfold_heads": lambda n: heads.unfold_heads(FOLDED, n(2)),
    "sinusoidal": lambda n: positional.sinusoidal(n(120), n(4), start=n(120)),
    "SinusoidalPositions": lambda n: positional.SinusoidalPositions()(LONG, n(120)),
    "LearnedPositions": lambda n: learned(n)(LONG, n(120)),
    "shift_matrix": lambda n: positional.shift_matrix(n(100), n(100)),
    "MultiHeadAttention": lambda n: shapes(MultiHeadAttention(n(96), n(4), d_k=n(64), d_v=n(64))),
    "FeedForward": lambda n: shapes(FeedForward(n(96))),
    "Transformer": lambda n: [p.tolist() for p in model(n).parameters()],
    "embed_tgt": lambda n: model(n).eval().embed_tgt(torch.ones(1, 50, dtype=torch.long), n(70)),
    "generate": lambda n: model(n).generate(torch.tensor([[3, 4]]), n(120), n(1), n(2)),
    "to_chinese": lambda n: numerals.to_chinese(n(105)),
    "to_english": lambda n: numerals.to_english(n(105)),
    "training_numbers": lambda n: translator_training.training_numbers(n(120), n(1)),
    "held_out_numbers": lambda n: translator_training.held_out_numbers(n(120), n(1)),
    "range_numbers": lambda n: translator_training.range_numbers(n(120), n(1)),
    "learning_rate": lambda n: translator_training.learning_rate(n(1), n(120)),
    "Training": trained,
    "whole_batch": lambda n: data_parallel.whole_batch(n(3)),
    "measure": lambda n: list(timing.measure(torch.device("cpu"), (n(16), n(8)), torch.float32)),
    "histogram": lambda n: plot.histogram({"a": [1.0, 2.0]}, x_label="x", bins=n(127)).svg,
    "gradients": lambda n: diagrams.gradients({"a": torch.arange(1.0, 9)}, [n(1)]).svg,
}


@pytest.mark.parametrize("number", [np.int8, np.uint8])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_narrow_number_does_what_a_plain_one_does(
    call: Callable[[Callable[[int], Any]], Any], number: Callable[[int], Any]
) -> None:
    found, expected = (x.tolist() if isinstance(x, Tensor) else x for x in map(call, (number, int)))
    assert found == expected


@pytest.mark.parametrize("name", CALLED)
def test_right_call_may_have_numbers_of_numpy(name: str) -> None:
    call = RIGHT[name]()
    whole = {key: x for key, x in call.arguments.items() if type(x) is int and 0 <= x < 128}
    call(**{key: np.uint8(x) for key, x in whole.items()})


@pytest.mark.parametrize("share", [Fraction(1, 2), np.float32(0.5), np.float16(0.5)])
def test_dropout_may_be_any_real_number(share: Any) -> None:
    x = torch.randn(2, 3, 8)
    attention(x, x, x, dropout=share)
    fused_attention(x, x, x, dropout=share)
    FeedForward(8, dropout=share)(x)
    Residual(8, dropout=share).leave(x, x)
    EncoderLayer(8, 2, dropout=share)(x)
    assert Transformer(9, 9, d_model=8, num_heads=2, num_layers=1, dropout=share).dropout.p == 0.5
