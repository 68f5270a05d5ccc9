"""Masks of which nobody could make use: too large, with too few axes, or of odd dtypes."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from headwise import causal_mask, combine, padding_mask
from headwise.masks import (
    from_additive,
    from_attention_mask,
    from_one_hides,
    from_sdpa,
    from_valid_lens,
    from_zero_hides,
    to_additive,
    to_attn_mask,
    to_one_hides,
    to_sdpa,
    to_zero_hides,
)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: causal_mask(10**6), "seq_len, key_len: got 1000000 and 1000000"),
        (lambda: causal_mask(3, 10**10), "key_len: got 10000000000"),
        (lambda: padding_mask(torch.tensor([1]), 10**10), "seq_len: got 10000000000"),
        (lambda: padding_mask(torch.ones(50, dtype=torch.long), 2**28), "lengths, seq_len: got 50"),
        (lambda: to_attn_mask(causal_mask(3), (10**5, 10**5, 3, 3)), "scores: got 100000 and"),
    ],
)
def test_mask_larger_than_any_memory_is_refused(call: Callable[[], object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        call()


@pytest.mark.parametrize("mask", [torch.tensor(True), torch.tensor([True, False])])
def test_mask_needs_an_axis_for_queries_and_one_for_keys(mask: Tensor) -> None:
    """Attention would refuse it: no converter lets it through before."""
    boolean = (to_sdpa, from_sdpa, to_additive, to_zero_hides, to_one_hides, combine)
    of_numbers = (from_additive, from_zero_hides, from_one_hides)
    calls: list[Callable[[], object]] = [lambda f=f: f(mask) for f in boolean]  # type: ignore[misc]
    calls += [lambda f=f: f(torch.zeros(mask.shape)) for f in of_numbers]  # type: ignore[misc]
    for call in calls:
        with pytest.raises(ValueError, match=r"\w+: got shape .*, expected \(..., query, key\)"):
            call()


@pytest.mark.parametrize("dtype", [torch.bits8, torch.float8_e5m2])
def test_numbers_that_cannot_be_computed_with_are_refused(dtype: torch.dtype) -> None:
    numbers = torch.ones(2, 3, dtype=torch.uint8).view(dtype)
    calls = {
        "lengths": lambda: padding_mask(numbers[0], 3),
        "valid_lens": lambda: from_valid_lens(numbers, 3),
        "additive": lambda: from_additive(numbers),
        "zero_hides": lambda: from_zero_hides(numbers),
        "attention_mask": lambda: from_attention_mask(numbers),
    }
    for name, call in calls.items():
        with pytest.raises(ValueError, match=f"{name}: got"):
            call()


@pytest.mark.parametrize("dtype", [torch.uint4, torch.int4, torch.bits8, torch.float8_e5m2])
def test_mask_is_made_of_numbers_that_can_be_computed_with(dtype: torch.dtype) -> None:
    for convert in (to_zero_hides, to_one_hides):
        with pytest.raises(ValueError, match=f"dtype: got {dtype}, expected"):
            convert(causal_mask(3), dtype)
