"""Scaled dot-product attention, written out and fused."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from headwise import causal_mask
from headwise.attention import attention, fused_attention

DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]
dtypes = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def written_out(
    Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None, *, is_causal: bool = False
) -> Tensor:
    if is_causal:
        causal = causal_mask(Q.size(-2), K.size(-2))
        mask = causal if mask is None else mask & causal
    return attention(Q, K, V, mask)[0]


both_paths = pytest.mark.parametrize("path", [written_out, fused_attention])


def qkv(
    *leading: int, query: int, key: int, dtype: torch.dtype = torch.float64, seed: int = 0
) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = [(query, 4), (key, 4), (key, 3)]
    return [
        torch.randn(*leading, *shape, dtype=torch.float64, generator=generator)
        .to(dtype)
        .requires_grad_()
        for shape in shapes
    ]


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[Tensor], Tensor | None]:
    """Q, K, V with up to three leading axes, and a mask of some broadcastable shape, or none."""
    leading = draw(st.lists(st.integers(1, 3), max_size=3))
    query, key = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    seed = draw(st.integers(0, 1000))
    full = [*leading, query, key]
    axes = draw(st.sampled_from([None, 2, len(full)]))
    if axes is None:
        mask = None
    else:
        sizes = [draw(st.sampled_from([1, n])) for n in full[len(full) - axes :]]
        mask = torch.rand(sizes, generator=torch.Generator().manual_seed(seed)) > 0.4
    return qkv(*leading, query=query, key=key, seed=seed), mask


@given(problems())
def test_written_out_and_fused_equal_sdpa(problem: tuple[list[Tensor], Tensor | None]) -> None:
    (Q, K, V), mask = problem
    attn_mask = None if mask is None else mask.expand(*Q.shape[:-1], K.size(-2))
    expected = F.scaled_dot_product_attention(Q, K, V, attn_mask)
    upstream = torch.randn_like(expected)
    wanted = torch.autograd.grad(expected, (Q, K, V), upstream)
    for path in (written_out, fused_attention):
        out = path(Q, K, V, mask)
        torch.testing.assert_close(out, expected, rtol=1e-10, atol=1e-10)
        gradients = torch.autograd.grad(out, (Q, K, V), upstream)
        torch.testing.assert_close(gradients, wanted, rtol=1e-10, atol=1e-10)


@given(problems())
def test_rows_of_weights_sum_to_one_where_something_is_seen_and_to_zero_elsewhere(
    problem: tuple[list[Tensor], Tensor | None],
) -> None:
    (Q, K, V), mask = problem
    _, weights = attention(Q, K, V, mask)
    seen = torch.ones_like(weights, dtype=torch.bool)
    seen = seen if mask is None else seen & mask
    torch.testing.assert_close(weights.sum(-1), seen.any(-1).double(), rtol=1e-12, atol=1e-12)
    assert (weights[~seen] == 0).all()


def test_weights_follow_the_formula() -> None:
    Q, K, V = qkv(2, query=3, key=5)
    out, weights = attention(Q, K, V)
    for b, i in ((0, 0), (1, 2)):
        exponentials = [math.exp((Q[b, i] @ K[b, j]).item() / math.sqrt(4)) for j in range(5)]
        shares = [e / sum(exponentials) for e in exponentials]
        assert weights[b, i].tolist() == pytest.approx(shares, abs=1e-12)
        gathered = sum(share * V[b, j] for j, share in enumerate(shares))
        torch.testing.assert_close(out[b, i], gathered)


@both_paths
@dtypes
def test_hidden_row_gives_zeros_and_finite_gradients(path: object, dtype: torch.dtype) -> None:
    assert callable(path)
    Q, K, V = qkv(2, 3, query=5, key=6, dtype=dtype)
    mask = torch.rand(2, 1, 5, 6, generator=torch.Generator().manual_seed(0)) > 0.3
    mask[0, :, 2] = False
    # Anomaly mode raises on a NaN that only appears on the way.
    with torch.autograd.set_detect_anomaly(True):
        out = path(Q, K, V, mask)
        out.sum().backward()
    assert (out[0, :, 2] == 0).all()
    assert (out[0, :, 1] != 0).all()
    for x in (Q, K, V):
        assert x.grad is not None
        assert x.grad.isfinite().all()
        assert x.grad.any()


@both_paths
@dtypes
def test_batch_item_that_may_see_nothing_gives_zeros(path: object, dtype: torch.dtype) -> None:
    assert callable(path)
    Q, K, V = qkv(2, 3, query=5, key=6, dtype=dtype)
    mask = torch.tensor([True, False]).reshape(2, 1, 1, 1)
    out = path(Q, K, V, mask)
    out.sum().backward()
    assert (out[1] == 0).all()
    for x in (Q, K, V):
        assert x.grad is not None
        assert x.grad.isfinite().all()
        assert (x.grad[1] == 0).all()


@dtypes
def test_paths_agree_in_every_dtype(dtype: torch.dtype) -> None:
    Q, K, V = qkv(2, 3, query=5, key=5, dtype=dtype)
    exact = written_out(Q.double(), K.double(), V.double(), is_causal=True)
    tolerance = 8 * torch.finfo(dtype).eps
    for path in (written_out, fused_attention):
        out = path(Q, K, V, is_causal=True)
        assert out.dtype == dtype
        torch.testing.assert_close(out.double(), exact, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("masked", [False, True])
@given(query=st.integers(0, 4), key=st.integers(0, 5))
def test_fused_causal_puts_the_last_query_at_the_last_key(
    masked: bool, query: int, key: int
) -> None:
    Q, K, V = qkv(2, 3, query=query, key=key)
    mask = torch.rand(2, 1, 1, key) > 0.3 if masked else None
    out = fused_attention(Q, K, V, mask, is_causal=True)
    torch.testing.assert_close(
        out, written_out(Q, K, V, mask, is_causal=True), rtol=1e-10, atol=1e-10
    )


@both_paths
def test_causal_output_does_not_depend_on_later_keys(path: object) -> None:
    assert callable(path)
    Q, K, V = qkv(1, 2, query=5, key=5)
    out = path(Q, K, V, is_causal=True)
    for t in range(5):
        dK, dV = torch.autograd.grad(out[..., t, :].sum(), (K, V), retain_graph=True)
        assert (dK[..., t + 1 :, :] == 0).all()
        assert (dV[..., t + 1 :, :] == 0).all()
        assert (dV[..., : t + 1, :] != 0).all()


def test_dropout_drops_weights_and_scales_the_rest() -> None:
    Q, K, V = qkv(query=50, key=40)
    _, kept = attention(Q, K, V)
    torch.manual_seed(0)
    out, weights = attention(Q, K, V, dropout=0.25)
    dropped = weights == 0
    assert 0.2 < dropped.double().mean() < 0.3
    torch.testing.assert_close(weights[~dropped], kept[~dropped] / 0.75)
    torch.testing.assert_close(out, weights @ V)


def test_fused_dropout_is_applied() -> None:
    Q, K, V = qkv(query=5, key=5)
    torch.manual_seed(0)
    assert not torch.equal(fused_attention(Q, K, V, dropout=0.5), fused_attention(Q, K, V))
    assert (fused_attention(Q, K, V, dropout=1.0) == 0).all()


@both_paths
def test_scores_of_any_size_give_no_nan(path: object) -> None:
    assert callable(path)
    Q, K, V = (x.detach() for x in qkv(2, query=4, key=4, dtype=torch.float32))
    mask = causal_mask(4)
    for size in (1e-30, 1e8, 1e17):
        assert path(Q * size, K * size, V, mask).isfinite().all()


SIZES = [(32, 32, 64), (24, 24, 128), (200, 200, 64), (100, -100, 64), (6e4, 1, 4), (1, 6e4, 4)]
SIZES += [(1e-7, 1e-7, 64), (6e4, 6e4, 64), (6e4, -6e4, 64)]


@both_paths
@dtypes
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("q", "k", "d_k"), SIZES)
def test_paths_give_the_numbers_of_sdpa_at_every_size_of_score(
    path: object, dtype: torch.dtype, masked: bool, q: float, k: float, d_k: int
) -> None:
    """Products of half-precision numbers pass 65504, where float16 ends."""
    assert callable(path)
    Q = torch.full((1, 1, 2, d_k), q, dtype=dtype)
    K = torch.full((1, 1, 3, d_k), k, dtype=dtype) * torch.tensor([[1], [0.5], [0.25]], dtype=dtype)
    V = torch.tensor([[1.0], [2.0], [4.0]], dtype=dtype)[None, None]  # (1, 1, 3, 1)
    mask = torch.tensor([[True, True, False], [False, True, True]]) if masked else None
    expected = F.scaled_dot_product_attention(Q, K, V, mask)
    out = path(Q, K, V, mask)
    assert out.isfinite().all()
    torch.testing.assert_close(out, expected)


def test_weights_sum_to_one_however_low_the_visible_scores() -> None:
    Q = torch.full((1, 64), 100.0, dtype=torch.float16)
    K = torch.tensor([[-100.0], [-50.0], [0.0]], dtype=torch.float16).expand(3, 64)
    V = torch.randn(3, 64).half()
    _, weights = attention(Q, K, V, torch.tensor([[True, True, False]]))
    assert weights.tolist() == [[0.0, 1.0, 0.0]]


@pytest.mark.parametrize("low", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("came", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_autocast_treats_the_written_out_path_as_it_treats_sdpa(
    came: torch.dtype, low: torch.dtype
) -> None:
    Q, K, V = (torch.full((2, 3, 64), 40.0, dtype=came) for _ in range(3))
    with torch.autocast("cpu", low):
        expected = F.scaled_dot_product_attention(Q, K, V)
        out, weights = attention(Q, K, V)
        assert torch.is_autocast_enabled("cpu")
    assert out.dtype == weights.dtype == expected.dtype
    torch.testing.assert_close(out, expected)


def spoilt(which: str, value: float, dtype: torch.dtype) -> list[Tensor]:
    """Q, K and V, of which one has the value in its last row."""
    tensors = dict(zip("QKV", qkv(1, 2, query=3, key=3, dtype=dtype), strict=True))
    with torch.no_grad():
        tensors[which][..., 2, :] = value
    return list(tensors.values())


@dtypes
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("which", ["K", "V"])
@pytest.mark.parametrize("mask", [[[1, 1, 0]] * 3, [[1, 0, 0], [1, 1, 0], [1, 1, 1]]])
def test_hidden_nan_spreads_alike_in_both_paths_and_in_sdpa(
    mask: list[list[int]], which: str, value: float, dtype: torch.dtype
) -> None:
    def spread(path: object) -> list[Tensor]:
        assert callable(path)
        Q, K, V = spoilt(which, value, dtype)
        out = path(Q, K, V, torch.tensor(mask, dtype=torch.bool))
        gradients = torch.autograd.grad(out[..., :2, :].sum(), (Q, K, V))
        return [torch.stack((x.isnan(), x.isinf())) for x in (out, *gradients)]

    expected = spread(F.scaled_dot_product_attention)
    assert expected[0].any() and expected[1].any()
    for path in (written_out, fused_attention):
        torch.testing.assert_close(spread(path), expected)
