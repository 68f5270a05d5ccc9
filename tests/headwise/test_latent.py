"""Latent attention: two forms of one formula, written here a third time, number by number."""

import copy
import math
import pickle
from typing import Any

import pytest
import torch
from torch import Tensor

from headwise.latent import LatentAttention, LatentCache
from headwise.rotary import Rotary

both_forms = pytest.mark.parametrize("absorbed", [False, True], ids=["plain", "absorbed"])


def layer(layout: Any = "halves", **options: Any) -> LatentAttention:
    torch.manual_seed(0)
    rotary = Rotary(4, layout=layout)
    return LatentAttention(10, 2, 7, rotary, **{"d_k": 3, "d_v": 5, **options}).double()


def tokens(seq_len: int = 6) -> Tensor:
    return torch.randn(2, seq_len, 10, dtype=torch.float64)


def turned(vector: list[float], position: int) -> list[float]:
    """Four numbers as two complex ones, each turned by its own angle; layout "pairs"."""
    result = []
    for i in range(2):
        angle = position * 10_000.0 ** (-2 * i / 4)
        z = complex(vector[2 * i], vector[2 * i + 1]) * complex(math.cos(angle), math.sin(angle))
        result += [z.real, z.imag]
    return result


def dot(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def times(weight: Tensor, vector: list[float]) -> list[float]:
    return [dot(row, vector) for row in weight.tolist()]


def by_the_formula(mla: LatentAttention, x: Tensor) -> Tensor:
    """Causal latent attention as DeepSeek-V2's paper has it (2405.04434), without any tensor."""
    result = []
    for sentence in x.tolist():
        latent = [times(mla.W_dkv.weight, token) for token in sentence]
        shared = [turned(times(mla.W_kr.weight, token), t) for t, token in enumerate(sentence)]
        rows = []
        for t, token in enumerate(sentence):
            joined: list[float] = []
            for h in range(2):
                W_uk, W_uv = mla.W_uk.weight[3 * h : 3 * h + 3], mla.W_uv.weight[5 * h : 5 * h + 5]
                q = times(mla.W_q.weight[3 * h : 3 * h + 3], token)
                q_r = turned(times(mla.W_qr.weight[4 * h : 4 * h + 4], token), t)
                scores = [
                    (dot(q, times(W_uk, latent[s])) + dot(q_r, shared[s])) / math.sqrt(3 + 4)
                    for s in range(t + 1)
                ]
                shares = [math.exp(score) for score in scores]
                values = [times(W_uv, c) for c in latent[: t + 1]]
                joined += [
                    sum(share * value[i] for share, value in zip(shares, values, strict=True))
                    / sum(shares)
                    for i in range(5)
                ]
            rows.append(times(mla.W_o.weight, joined))
        result.append(rows)
    return torch.tensor(result, dtype=torch.float64)


@both_forms
def test_equals_the_formula_written_number_by_number(absorbed: bool) -> None:
    mla, x = layer("pairs"), tokens(4)
    found = mla(x, is_causal=True, absorbed=absorbed)
    torch.testing.assert_close(found, by_the_formula(mla, x), rtol=1e-10, atol=1e-10)


def random_mask() -> Tensor:
    mask = torch.rand(2, 2, 6, 6) > 0.4
    mask[0, :, 2] = False
    return mask


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("layout", ["halves", "pairs"])
def test_both_forms_are_equal_in_output_and_gradients(
    layout: str, masked: bool, is_causal: bool
) -> None:
    mla, x = layer(layout), tokens().requires_grad_()
    mask = random_mask() if masked else None
    outs = [mla(x, mask, is_causal=is_causal, absorbed=absorbed) for absorbed in (False, True)]
    torch.testing.assert_close(*outs, rtol=1e-10, atol=1e-10)
    inputs = [x, *mla.parameters()]
    upstream = torch.randn_like(outs[0])
    grads = [torch.autograd.grad(out, inputs, upstream) for out in outs]
    torch.testing.assert_close(*grads, rtol=1e-10, atol=1e-10)


@both_forms
def test_hidden_row_gives_zeros(absorbed: bool) -> None:
    out = layer()(tokens(), random_mask(), absorbed=absorbed)
    assert out[0, 2].count_nonzero() == 0 and out[1, 2].abs().min() > 0


@both_forms
@pytest.mark.parametrize("chunks", [[1, 1, 1, 1, 1, 1], [4, 2], [1, 5]])
def test_cached_equals_uncached(chunks: list[int], absorbed: bool) -> None:
    mla, x, cache = layer(), tokens(), LatentCache()
    whole = mla(x, is_causal=True)
    parts = [
        mla(part, is_causal=True, absorbed=absorbed, cache=cache) for part in x.split(chunks, dim=1)
    ]
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, rtol=1e-10, atol=1e-10)
    assert cache.length == 6


def test_cache_holds_one_latent_vector_and_one_rotary_key_a_token() -> None:
    mla, cache = layer(), LatentCache()
    mla(tokens(), cache=cache)
    assert cache.latent is not None and cache.K_r is not None
    assert cache.latent.shape == (2, 1, 6, 7) and cache.K_r.shape == (2, 1, 6, 4)


def test_later_tokens_change_nothing_before_them() -> None:
    mla, x = layer(), tokens()
    other = x.clone()
    other[:, 4:] += 1
    before, after = mla(x, is_causal=True), mla(other, is_causal=True)
    torch.testing.assert_close(before[:, :4], after[:, :4])
    assert not torch.allclose(before[:, 4:], after[:, 4:])


@both_forms
def test_positions_count_by_their_distances_alone(absorbed: bool) -> None:
    mla, x = layer(), tokens()
    places = torch.arange(6)
    here = mla(x, absorbed=absorbed)
    torch.testing.assert_close(mla(x, absorbed=absorbed, positions=places + 1000), here)
    torch.testing.assert_close(
        mla(x, absorbed=absorbed, positions=torch.stack((places, places + 5))), here
    )
    assert not torch.allclose(mla(x, absorbed=absorbed, positions=places * 2), here)


def test_copy_goes_its_own_way_and_pickle_brings_the_numbers_back() -> None:
    mla, x, cache = layer(), tokens(), LatentCache()
    mla(x[:, :5], is_causal=True, cache=cache)
    others = copy.deepcopy(cache), pickle.loads(pickle.dumps(cache))
    last = mla(x[:, 5:], is_causal=True, cache=cache)
    for other in others:
        assert other.length == 5 and not other.latent.requires_grad
        torch.testing.assert_close(mla(x[:, 5:], is_causal=True, cache=other), last)
    twin = copy.deepcopy(mla)
    twin.load_state_dict(mla.state_dict())
    torch.testing.assert_close(twin(x), mla(x))


def test_settings_are_shown() -> None:
    assert "num_heads=2, d_k=3, d_v=5" in repr(layer())


def test_width_of_a_head_is_that_of_the_model_over_the_heads() -> None:
    mla = LatentAttention(12, 3, 5, Rotary(2))
    assert (mla.d_k, mla.d_v, mla.d_rotary) == (4, 4, 2)
    with pytest.raises(ValueError, match="num_heads: got 5, expected a divisor of d_model = 12"):
        LatentAttention(12, 5, 5, Rotary(2))


def filled(mla: LatentAttention, x: Tensor) -> LatentCache:
    cache = LatentCache()
    mla(x, cache=cache)
    return cache


def test_cache_that_does_not_fit_is_refused_and_stays_as_it_was() -> None:
    mla, x = layer(), tokens()
    cache = filled(mla, x)
    kept = cache.latent
    with pytest.raises(ValueError, match="cache: got one that another layer filled"):
        layer()(x, cache=cache)
    with pytest.raises(ValueError, match=r"cache: got shape \(2, 1, 6, 7\), expected \(1, 1, key_"):
        mla(x[:1], cache=cache)
    with pytest.raises(ValueError, match=r"cache: got shape .* expected \(2, 1, key_len, 7\)"):
        mla(x, cache=copy.deepcopy(filled(LatentAttention(10, 2, 8, Rotary(4)).double(), x)))
    with pytest.raises(ValueError, match=r"cache: got shape .* expected \(2, 1, 6, 4\)"):
        mla(x, cache=copy.deepcopy(filled(LatentAttention(10, 2, 7, Rotary(6)).double(), x)))
    with pytest.raises(ValueError, match=r"cache: got dtype torch.float32, expected torch.float64"):
        small = LatentAttention(10, 2, 7, Rotary(4))
        mla(x, cache=copy.deepcopy(filled(small, x.float())))
    with pytest.raises(ValueError, match=r"mask: got shape \(6, 6\), expected one that broadcasts"):
        mla(x, torch.ones(6, 6, dtype=torch.bool), cache=cache)
    with pytest.raises(ValueError, match="positions: got shape"):
        mla(x, cache=cache, positions=torch.arange(5))
    assert cache.latent is kept and cache.length == 6
