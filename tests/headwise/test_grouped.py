"""Grouped heads, rotary positions and QK-norm in MultiHeadAttention."""

import copy

import pytest
import torch
from torch import Tensor

from headwise import KeyValueCache, MultiHeadAttention, padding_mask
from headwise.heads import share_heads
from headwise.rotary import Rotary, halves_to_pairs

EXACT = {"rtol": 1e-10, "atol": 1e-10}
both_paths = pytest.mark.parametrize("need_weights", [False, True], ids=["fused", "written-out"])


def make(num_kv_heads: int | None = 2, **options: object) -> MultiHeadAttention:
    torch.manual_seed(0)
    return MultiHeadAttention(24, 6, num_kv_heads=num_kv_heads, **options).double()  # type: ignore[arg-type]


def randn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def output(returned: Tensor | tuple[Tensor, Tensor]) -> Tensor:
    return returned[0] if isinstance(returned, tuple) else returned


def with_all_heads(module: MultiHeadAttention) -> MultiHeadAttention:
    """The same computation with as many key heads as query heads: rows of W_k, W_v repeated."""
    full = make(None, rotary=module.rotary)
    group = module.num_heads // module.num_kv_heads
    for letter in "qkvo":
        ours, theirs = getattr(full, f"W_{letter}"), getattr(module, f"W_{letter}")
        for name in ("weight", "bias"):
            old = getattr(theirs, name).detach()
            if letter in "kv":
                heads = old.reshape(module.num_kv_heads, 4, *old.shape[1:])
                old = torch.stack([heads[i // group] for i in range(6)]).flatten(0, 1)
            getattr(ours, name).data = old
    return full


@both_paths
@pytest.mark.parametrize("num_kv_heads", [1, 2, 3, 6])
@pytest.mark.parametrize("is_causal", [False, True])
def test_query_head_i_uses_the_key_head_of_its_group(
    num_kv_heads: int, is_causal: bool, need_weights: bool
) -> None:
    module, x = make(num_kv_heads), randn(2, 5, 24)
    mask = padding_mask(torch.tensor([5, 3]))
    expected = with_all_heads(module)(x, mask=mask, is_causal=is_causal)
    out = output(module(x, mask=mask, is_causal=is_causal, need_weights=need_weights))
    torch.testing.assert_close(out, expected, **EXACT)


def test_shared_heads_stand_next_to_each_other() -> None:
    x = torch.arange(2.0).view(1, 2, 1, 1)
    assert share_heads(x, 6).flatten().tolist() == [0, 0, 0, 1, 1, 1]
    assert share_heads(x, 2) is x


def test_grouped_cache_holds_the_key_heads_alone() -> None:
    module, cache = make(2), KeyValueCache()
    module(randn(2, 5, 24), cache=cache)
    assert cache.K is not None and cache.K.shape == (2, 2, 5, 4)


def test_settings_are_shown() -> None:
    assert "num_heads=6, num_kv_heads=2, d_k=4" in repr(make())
    assert "num_kv_heads" not in repr(make(6))


# Rotary positions


@both_paths
@pytest.mark.parametrize("layout", ["halves", "pairs"])
def test_rotary_output_does_not_change_when_all_positions_move(
    layout: str, need_weights: bool
) -> None:
    module, x = make(rotary=Rotary(4, layout=layout)), randn(2, 5, 24)  # type: ignore[arg-type]
    out = output(module(x, is_causal=True, need_weights=need_weights))
    positions = torch.stack((torch.arange(5) + 7, torch.arange(5) + 1000))
    for where in (positions, positions[1]):
        moved = module(x, is_causal=True, need_weights=need_weights, positions=where)
        torch.testing.assert_close(output(moved), out, **EXACT)
    other = module(x, is_causal=True, positions=positions * 2)
    assert not torch.allclose(other, out)


@both_paths
def test_rotary_layouts_agree_once_the_weights_are_converted(need_weights: bool) -> None:
    halves, x = make(rotary=Rotary(4)), randn(2, 5, 24)
    pairs = copy.deepcopy(halves)
    pairs.rotary = Rotary(4, layout="pairs")
    for W, num_heads in ((pairs.W_q, 6), (pairs.W_k, 2)):
        W.weight.data = halves_to_pairs(W.weight.data, num_heads)
        W.bias.data = halves_to_pairs(W.bias.data, num_heads)
    ours = output(pairs(x, need_weights=need_weights))
    torch.testing.assert_close(ours, halves(x), **EXACT)


@both_paths
def test_rotary_positions_go_on_where_the_cache_ends(need_weights: bool) -> None:
    module, x, cache = make(rotary=Rotary(4)), randn(2, 7, 24), KeyValueCache()
    options = {"is_causal": True, "need_weights": need_weights}
    parts = [output(module(part, cache=cache, **options)) for part in x.split([3, 1, 2, 1], dim=1)]
    torch.testing.assert_close(torch.cat(parts, dim=1), module(x, is_causal=True), **EXACT)


def test_last_query_stands_at_the_last_key_of_another_tensor() -> None:
    module, x = make(rotary=Rotary(4)), randn(2, 7, 24)
    out = module(x[:, 4:], x, is_causal=True)
    torch.testing.assert_close(out, module(x, is_causal=True)[:, 4:], **EXACT)


def test_fixed_cache_keeps_keys_that_were_turned_once() -> None:
    module, x, y = make(rotary=Rotary(4)), randn(2, 3, 24), randn(2, 5, 24, seed=2)
    cache, positions = KeyValueCache(fixed=True), torch.tensor([4, 5, 6])
    expected = module(x, y, positions=positions)
    for _ in range(2):
        torch.testing.assert_close(
            module(x, y, positions=positions, cache=cache), expected, **EXACT
        )


def test_positions_mean_nothing_to_a_layer_without_any() -> None:
    module, x = make(), randn(2, 5, 24)
    assert torch.equal(module(x, positions=torch.arange(5) + 9), module(x))


# What is refused


@pytest.mark.parametrize("num_kv_heads", [4, 5, 12])
def test_key_heads_that_do_not_divide_are_refused(num_kv_heads: int) -> None:
    expected = f"num_kv_heads: got {num_kv_heads}, expected a divisor of num_heads = 6"
    with pytest.raises(ValueError, match=expected):
        MultiHeadAttention(24, 6, num_kv_heads=num_kv_heads)


def test_rotary_of_another_width_is_refused() -> None:
    with pytest.raises(ValueError, match="rotary: got d_k = 8, expected 4, as here"):
        make(rotary=Rotary(8))


def test_positions_of_another_length_are_refused_and_leave_the_cache() -> None:
    module, x, cache = make(rotary=Rotary(4)), randn(2, 5, 24), KeyValueCache()
    with pytest.raises(ValueError, match=r"positions: got shape \(4,\), expected \(5,\) or"):
        module(x, positions=torch.arange(4), cache=cache)
    assert cache.length == 0


def test_cache_of_other_key_heads_is_refused() -> None:
    x, cache = randn(2, 5, 24), KeyValueCache()
    make(2)(x, cache=cache)
    with pytest.raises(ValueError, match=r"cache: got shape \(2, 2, 5, 4\), expected"):
        make(3)(x, cache=copy.deepcopy(cache))
