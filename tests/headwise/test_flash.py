"""FlashAttention in plain PyTorch: the formula's numbers, in memory that grows with the length."""

import gc
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiled_cases import Case, assert_close, drawn, reference
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from headwise.attention import attention
from headwise.flash import flash_attention, running_softmax

CASES = drawn(24, seed=0, queries=[1, 5, 9], keys=[1, 4, 9], num_heads=4)


@settings(max_examples=25)
@given(st.lists(st.floats(-50, 50) | st.just(-math.inf), min_size=1, max_size=8))
def test_running_softmax_ends_at_softmax_and_its_steps_at_softmax_so_far(
    numbers: list[float],
) -> None:
    scores = torch.tensor(numbers, dtype=torch.float64)
    V = torch.randn(len(numbers), 2, dtype=torch.float64)
    steps = running_softmax(scores, V)
    assert len(steps) == len(numbers) + 1
    for seen, step in enumerate(steps):
        far = scores[:seen].softmax(0).nan_to_num(0.0) @ V[:seen]
        torch.testing.assert_close(step.out, far[None], rtol=1e-12, atol=1e-12)
        log = scores[:seen].logsumexp(0) if scores[:seen].isfinite().any() else torch.inf
        assert step.logsumexp.item() == pytest.approx(float(log))


def test_running_softmax_of_large_scores_does_not_overflow() -> None:
    V = torch.tensor([[1.0], [2.0], [4.0]])
    assert running_softmax(torch.tensor([1e30, 2e30, 2e30]), V)[-1].out.item() == 3.0


@pytest.mark.parametrize("case", CASES, ids=str)
def test_equals_the_formula_in_output_and_gradients(case: Case) -> None:
    arguments, options = case.inputs(torch.float64)
    found = flash_attention(*arguments, **options, tile=case.tile)
    assert_close(found, reference(*arguments, **options), arguments[:3], 1e-10)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_every_dtype_is_computed_in_single_precision_at_least(dtype: torch.dtype) -> None:
    Q, K, V = (torch.randn(2, 2, 9, 4) * 3 for _ in range(3))
    found = flash_attention(Q.to(dtype), K.to(dtype), V.to(dtype), is_causal=True, tile=4)
    whole = attention(Q.to(dtype), K.to(dtype), V.to(dtype), torch.ones(9, 9).tril().bool())[0]
    assert found.dtype == dtype
    torch.testing.assert_close(found, whole, rtol=2 * torch.finfo(dtype).eps, atol=1e-6)


def test_tile_changes_nothing() -> None:
    Q, K, V = (torch.randn(1, 2, 11, 4, dtype=torch.float64) for _ in range(3))
    whole = flash_attention(Q, K, V, is_causal=True, tile=11)
    for tile in (1, 2, 3, 7, 64):
        torch.testing.assert_close(flash_attention(Q, K, V, is_causal=True, tile=tile), whole)


@pytest.mark.parametrize("tile", [2, 16])
def test_hidden_row_gives_zeros_and_no_gradient(tile: int) -> None:
    Q, K, V = (torch.randn(2, 2, 5, 4, requires_grad=True) for _ in range(3))
    mask = torch.ones(2, 1, 5, 5, dtype=torch.bool)
    mask[0, :, 3] = mask[1, :, :] = False
    out = flash_attention(Q, K, V, mask, tile=tile)
    gradients = torch.autograd.grad(out.sum(), (Q, K, V))
    assert out[0, :, 3].count_nonzero() == out[1].count_nonzero() == 0
    assert out[0, :, 2].abs().min() > 0
    for gradient in gradients:
        assert gradient.isfinite().all() and gradient[1].count_nonzero() == 0
    assert gradients[0][0, :, 3].count_nonzero() == 0


def test_queries_before_the_first_key_see_nothing() -> None:
    Q, K = torch.randn(1, 1, 5, 4), torch.randn(1, 1, 2, 4)
    out = flash_attention(Q, K, K, is_causal=True, tile=2)
    assert out[0, 0, :3].count_nonzero() == 0
    torch.testing.assert_close(out[0, 0, 3], K[0, 0, 0])


def test_window_of_w_shows_w_keys_and_the_sinks() -> None:
    Q, V = torch.zeros(1, 1, 9, 1), torch.eye(9)[None, None]
    out = flash_attention(Q, Q, V, is_causal=True, window=3, sinks=2, tile=2)
    seen = [(row > 0).nonzero().flatten().tolist() for row in out[0, 0]]
    assert seen[:4] == [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3]]
    assert seen[8] == [0, 1, 6, 7, 8]
    alone = flash_attention(Q, Q, V, is_causal=True, window=1, tile=2)
    torch.testing.assert_close(alone, V)


def test_tiles_that_nobody_sees_are_not_read() -> None:
    Q, K = torch.randn(1, 1, 8, 2), torch.randn(1, 1, 8, 2)
    K[:, :, 2:4] = math.nan  # neither in the window of the last queries nor a sink
    out = flash_attention(Q[:, :, 6:], K, K, is_causal=True, window=2, sinks=2, tile=2)
    assert out.isfinite().all()
    K = torch.cat((Q, torch.full((1, 1, 2, 2), math.nan)), dim=2)
    assert flash_attention(Q, K[:, :, :8], K[:, :, :8], is_causal=True, tile=2).isfinite().all()
    assert (
        flash_attention(torch.cat((Q, Q[:, :, :2]), 2), K, K, is_causal=True, tile=2)[:, :, :8]
        .isfinite()
        .all()
    )


def test_alibi_needs_one_row_of_biases_for_each_head() -> None:
    Q, K, V = (torch.randn(2, 4, 7, 4, dtype=torch.float64) for _ in range(3))
    slopes = torch.tensor([0.5, 0.25, 0.125, 0.0625], dtype=torch.float64)[:, None, None]
    places = torch.arange(7, dtype=torch.float64)
    whole = -slopes * (places[:, None] - places)
    found = flash_attention(Q, K, V, bias=(slopes * places)[None], is_causal=True, tile=3)
    wanted = reference(Q, K, V, bias=whole[None], is_causal=True)
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("empty", [(0, 3, 3, 2), (2, 0, 3, 2), (2, 3, 0, 2), (2, 3, 3, 0)])
def test_nothing_to_do_is_done(empty: tuple[int, int, int, int]) -> None:
    batch, query, key, d_v = empty
    Q = torch.randn(batch, 4, query, 3, requires_grad=True)
    K = torch.randn(batch, 2, key, 3, requires_grad=True)
    V = torch.randn(batch, 2, key, d_v, requires_grad=True)
    out = flash_attention(Q, K, V, is_causal=True)
    assert out.shape == (batch, 4, query, d_v) and out.count_nonzero() in (0, out.numel())
    out.sum().backward()
    assert K.grad is not None and K.grad.shape == K.shape


def peak_bytes(run: Callable[[], Any]) -> int:
    """The most that PyTorch's allocator had given out at one time while this ran."""
    gc.collect()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        run()
    assert profiler.profiler is not None
    events = [e for e in profiler.profiler.kineto_results.events() if e.name() == "[memory]"]
    live = peak = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        live += event.nbytes()
        peak = max(peak, live)
    return peak


@pytest.mark.parametrize(("path", "least", "most"), [("tiled", 1.5, 4.2), ("whole", 10.0, 17.0)])
def test_four_times_the_length_takes_at_most_four_times_the_memory(
    path: str, least: float, most: float
) -> None:
    def run(n: int) -> None:
        Q, K, V = (torch.randn(1, 1, n, 8, requires_grad=True) for _ in range(3))
        out = flash_attention(Q, K, V, tile=64) if path == "tiled" else attention(Q, K, V)[0]
        out.sum().backward()

    run(8)  # what is allocated once and for all
    ratio = peak_bytes(lambda: run(512)) / peak_bytes(lambda: run(128))
    assert least < ratio < most


def test_gradients_of_many_outputs_at_once() -> None:
    Q, K, V = (torch.randn(2, 2, 5, 4, requires_grad=True) for _ in range(3))
    out = flash_attention(Q, K, V, torch.ones(5, 5, dtype=torch.bool).tril(), tile=2)
    several = torch.randn(3, *out.shape)
    options: dict[str, Any] = {"retain_graph": True}
    together = torch.autograd.grad(out, (Q, K, V), several, is_grads_batched=True, **options)
    for i, one in enumerate(several):
        apart = torch.autograd.grad(out, (Q, K, V), one, **options)
        torch.testing.assert_close([x[i] for x in together], list(apart))


def test_forward_and_backward_compile_into_one_graph_each() -> None:
    Q = torch.randn(1, 2, 5, 4, requires_grad=True)
    torch.compiler.reset()
    compiled = torch.compile(flash_attention, fullgraph=True, backend="aot_eager")
    ours = torch.autograd.grad(compiled(Q, Q, Q, is_causal=True, tile=2).square().sum(), Q)
    theirs = torch.autograd.grad(flash_attention(Q, Q, Q, is_causal=True).square().sum(), Q)
    torch.testing.assert_close(ours, theirs)


def test_second_derivative_is_refused() -> None:
    Q = torch.randn(1, 1, 3, 2, requires_grad=True)
    (first,) = torch.autograd.grad(flash_attention(Q, Q, Q).sum(), Q, create_graph=True)
    with pytest.raises(RuntimeError, match="no autograd formula"):
        first.sum().backward()


def test_autocast_casts_what_goes_in() -> None:
    Q = torch.randn(1, 1, 3, 2)
    with torch.autocast("cpu", torch.bfloat16):
        assert flash_attention(Q, Q, Q).dtype == torch.bfloat16


Q, K = torch.randn(2, 4, 3, 8), torch.randn(2, 2, 5, 8)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Q": Q[0]}, r"Q: got shape \(4, 3, 8\), expected \(batch, num_heads, query, d_k\)"),
        ({"Q": Q.long()}, r"Q: got .* of torch.int64, expected .* of floats"),
        ({"K": K[:, :1]}, r"V: got shape \(2, 2, 5, 8\), expected \(2, 1, 5, d_v\)"),
        ({"Q": Q[:, :3]}, r"K: got 2 heads, expected a divisor of the num_heads = 3 of Q"),
        ({"K": K[:, :0], "V": K[:, :0]}, r"K: got 0 heads, expected a divisor"),
        ({"mask": torch.ones(2, 3, 5, dtype=torch.bool)}, r"mask: got shape \(2, 3, 5\)"),
        ({"bias": torch.ones(2, 3, 5)}, r"bias: got shape \(2, 3, 5\), expected \(query, key\) or"),
        ({"bias": torch.ones(3, 4)}, r"bias: got shape \(3, 4\), expected one that broadcasts"),
        ({"bias": torch.ones(3, 5, dtype=torch.bool)}, r"bias: got dtype torch.bool, expected fl"),
        ({"bias": torch.ones(3, 5, requires_grad=True)}, r"bias: got one that asks for a gradient"),
        ({"window": 0, "is_causal": True}, r"window: got 0, expected a whole number of at least 1"),
        ({"window": 2}, r"window: got 2 without is_causal, expected both or neither"),
        ({"sinks": 2, "is_causal": True}, r"sinks: got 2 without a window, expected 0"),
        ({"tile": 0}, r"tile: got 0, expected a whole number of at least 1"),
    ],
)
def test_bad_argument_is_refused_by_name(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        flash_attention(**{"Q": Q, "K": K, "V": K, **changes})


def test_bias_that_asks_for_a_gradient_will_do_where_none_is_computed() -> None:
    bias = torch.randn(3, 5, requires_grad=True)
    with torch.no_grad():
        assert flash_attention(Q, K, K, bias=bias).isfinite().all()


@pytest.mark.parametrize(
    ("scores", "V", "message"),
    [
        (torch.zeros(2, 2), torch.zeros(2, 2), r"scores: got shape \(2, 2\), expected \(key,\)"),
        (torch.zeros(2), torch.zeros(3, 2), r"V: got shape \(3, 2\), expected \(2, d_v\)"),
        (torch.zeros(2).long(), torch.zeros(2, 2), "scores: got dtype torch.int64, expected fl"),
        (torch.zeros(2), torch.zeros(2, 2).double(), "V: got dtype torch.float64, expected torch"),
    ],
)
def test_running_softmax_of_something_else_is_refused(
    scores: Tensor, V: Tensor, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        running_softmax(scores, V)


def test_cases_reach_every_option() -> None:
    assert len({str(case) for case in CASES}) == len(CASES) == 24
    for option in set(Case._fields) - {"num_heads"}:
        assert len({getattr(case, option) for case in CASES}) > 1, option
