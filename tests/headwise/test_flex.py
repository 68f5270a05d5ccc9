"""FlexAttention: our masks and biases as its functions, and back."""

import pytest
import torch
from torch import Tensor
from torch.nn.attention.flex_attention import and_masks, create_mask

from headwise import causal_mask, fused_attention, padding_mask
from headwise.alibi import alibi_bias
from headwise.flex import (
    alibi,
    causal,
    flex_attention,
    from_mask_mod,
    from_score_mod,
    sliding,
    to_mask_mod,
    to_score_mod,
)
from headwise.windows import window_mask

EXACT = {"rtol": 1e-10, "atol": 1e-10}
SCORES = (2, 3, 4, 6)
pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")


def some(*shape: int) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("shape", [(4, 6), (2, 1, 1, 6), (2, 3, 4, 6), (1, 3, 4, 1), (1, 1)])
def test_mask_comes_back_from_its_function(shape: tuple[int, ...]) -> None:
    mask = some(*shape) > 0.5
    expected = mask.expand(SCORES)
    assert torch.equal(from_mask_mod(to_mask_mod(mask), SCORES), expected)
    assert torch.equal(create_mask(to_mask_mod(mask), *SCORES, device="cpu"), expected)


@pytest.mark.parametrize("shape", [(4, 6), (1, 3, 4, 6), (2, 3, 1, 6)])
def test_bias_comes_back_from_its_function(shape: tuple[int, ...]) -> None:
    bias = some(*shape).double()
    back = from_score_mod(to_score_mod(bias), SCORES, dtype=torch.float64)
    assert torch.equal(back, bias.expand(SCORES))


def test_causal_function_is_the_causal_mask() -> None:
    assert torch.equal(from_mask_mod(causal(earlier=2), SCORES)[1, 2], causal_mask(4, 6))
    assert torch.equal(from_mask_mod(causal(), (1, 1, 5, 5))[0, 0], causal_mask(5))


@pytest.mark.parametrize(("window", "sinks"), [(1, 0), (3, 0), (2, 1)])
def test_sliding_function_is_the_window_mask(window: int, sinks: int) -> None:
    expected = window_mask(4, 6, window=window, sinks=sinks)
    assert torch.equal(from_mask_mod(sliding(window, sinks, earlier=2), SCORES)[1, 2], expected)


def test_alibi_function_is_the_bias() -> None:
    expected = alibi_bias(3, torch.arange(2, 6), torch.arange(6)).expand(SCORES)
    back = from_score_mod(alibi(3, earlier=2), SCORES, dtype=torch.float64)
    torch.testing.assert_close(back, expected, **EXACT)


def test_functions_combine_as_masks_do() -> None:
    padding = padding_mask(torch.tensor([6, 3]))
    both = from_mask_mod(and_masks(causal(earlier=2), to_mask_mod(padding)), SCORES)
    assert torch.equal(both, (padding & causal_mask(4, 6)).expand(SCORES))


def test_path_takes_a_bias_and_gives_zeros_to_a_row_that_sees_nothing() -> None:
    generator = torch.Generator().manual_seed(1)
    Q, K, V = (torch.randn(2, h, 5, 4, generator=generator).double() for h in (4, 2, 2))
    mask = torch.ones(2, 1, 5, 5, dtype=torch.bool)
    mask[1, :, 3] = False
    bias = some(4, 5, 5)[None].double()
    out = flex_attention(Q, K, V, mask, bias=bias, is_causal=True)
    torch.testing.assert_close(
        out, fused_attention(Q, K, V, mask, bias=bias, is_causal=True), **EXACT
    )
    assert (out[1, :, 3] == 0).all()


@pytest.mark.parametrize("shape", [(3,), (2, 3, 4)])
def test_axes_that_are_neither_two_nor_four_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"mask: got shape .*, expected \("):
        to_mask_mod(some(*shape) > 0.5)
    with pytest.raises(ValueError, match=r"bias: got shape .*, expected \(query, key\) or"):
        to_score_mod(some(*shape))


def test_sizes_that_are_not_those_of_scores_are_refused() -> None:
    with pytest.raises(ValueError, match=r"scores: got \(2, 3\), expected the sizes \(batch"):
        from_mask_mod(causal(), (2, 3))


def test_path_without_a_mask_sees_everything() -> None:
    Q, K, V = torch.randn(3, 2, 2, 5, 8)
    torch.testing.assert_close(flex_attention(Q, K, V), fused_attention(Q, K, V))
