"""Whole numbers of NumPy's are as good as Python's own where they do not run over.

Narrow and unsigned ones do, with a warning at most: np.uint8(3) - np.uint8(5) is 254, which
causal_mask would take for the place of the diagonal.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from right_calls import RIGHT, Call
from test_wrong_calls import CALLED

from headwise import attention, causal_mask, feed_forward, timing
from headwise.masks import to_attn_mask

NARROW = (np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.uint64)


def whole(call: Call) -> dict[str, int]:
    return {name: x for name, x in call.arguments.items() if type(x) is int and x >= 0}


with_a_whole_number = pytest.mark.parametrize(
    "name", [name for name in CALLED if whole(RIGHT[name]())]
)


@with_a_whole_number
def test_whole_number_of_numpy_is_as_good_as_pythons_own(name: str) -> None:
    for number in (np.int32, np.int64):
        call = RIGHT[name]()
        call(**{name: number(x) for name, x in whole(call).items()})


@with_a_whole_number
def test_number_that_may_run_over_is_refused(name: str) -> None:
    call = RIGHT[name]()
    for parameter, x in whole(call).items():
        for number in NARROW:
            if x <= np.iinfo(number).max:
                with pytest.raises(TypeError, match=rf"{parameter}: got np\.{number.__name__}"):
                    call(**{parameter: number(x)})


def test_sizes_of_numpy_whose_product_runs_over_are_refused() -> None:
    long = np.int64(2**28)
    with pytest.raises(ValueError, match="scores: got 268435456 and 268435456"):
        to_attn_mask(causal_mask(3), (long, long, long, long))
    with pytest.raises(ValueError, match="shape: got"):
        timing.measure(torch.device("cpu"), (long, long, long), torch.float32)


@pytest.mark.parametrize("share", [Fraction(1, 2), np.array(0.5), True])
def test_dropout_that_torch_does_not_take_is_refused(share: Any) -> None:
    x = torch.randn(2, 3, 8)
    for call in (
        lambda: attention.attention(x, x, x, dropout=share),
        lambda: attention.fused_attention(x, x, x, dropout=share),
        lambda: feed_forward.FeedForward(8, dropout=share),
    ):
        with pytest.raises(TypeError, match="dropout: got"):
            call()
