"""Sliding windows, sinks (kept and learned), ALiBi and QK-norm."""

import copy
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from headwise import MultiHeadAttention, causal_mask, padding_mask
from headwise.alibi import alibi_bias, slopes
from headwise.attention import attention, fused_attention
from headwise.windows import distances, near, window_mask

EXACT = {"rtol": 1e-10, "atol": 1e-10}
both_paths = pytest.mark.parametrize("need_weights", [False, True], ids=["fused", "written-out"])


def make(**options: object) -> MultiHeadAttention:
    torch.manual_seed(0)
    module = MultiHeadAttention(12, 3, **options).double()  # type: ignore[arg-type]
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5)
    return module


def randn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def output(returned: Tensor | tuple[Tensor, Tensor]) -> Tensor:
    return returned[0] if isinstance(returned, tuple) else returned


# Windows


@given(
    *(st.integers(1, 6), st.integers(0, 4), st.integers(1, 5), st.integers(0, 3)),
)
def test_window_mask_shows_so_many_keys_and_the_first(
    seq_len: int, earlier: int, window: int, sinks: int
) -> None:
    mask = window_mask(seq_len, earlier + seq_len, window=window, sinks=sinks)
    for i in range(seq_len):
        at = earlier + i
        for j in range(earlier + seq_len):
            assert mask[i, j] == (j <= at and (at - j < window or j < sinks))


def test_wide_window_is_a_causal_mask() -> None:
    assert torch.equal(window_mask(5, window=5), causal_mask(5))


def test_window_goes_by_positions_of_each_sentence() -> None:
    queries, keys = torch.tensor([[3, 4], [10, 11]]), torch.tensor([[0, 2, 4], [8, 9, 11]])
    mask = near(queries, keys, 2)
    assert mask.shape == (2, 1, 2, 3)
    assert mask.int().tolist() == [[[[0, 1, 1], [0, 0, 1]]], [[[0, 1, 1], [0, 0, 1]]]]
    assert near(queries, keys, 2, sinks=1)[0, 0, :, 0].tolist() == [True, True]
    assert distances(queries[0], keys[0]).tolist() == [[3, 1, -1], [4, 2, 0]]


@both_paths
@pytest.mark.parametrize(("window", "sinks"), [(1, 0), (3, 0), (3, 2), (9, 1)])
def test_window_of_a_layer_is_the_mask_of_its_definition(
    window: int, sinks: int, need_weights: bool
) -> None:
    module, x = make(window=window, sinks=sinks), randn(2, 7, 12)
    plain = make()
    mask = padding_mask(torch.tensor([7, 4]))
    expected = plain(x, mask=window_mask(7, window=window, sinks=sinks) & mask)
    out = module(x, mask=mask, is_causal=True, need_weights=need_weights)
    torch.testing.assert_close(output(out), expected, **EXACT)


@both_paths
def test_window_hides_what_is_farther_than_its_width(need_weights: bool) -> None:
    module, x = make(window=3, sinks=1), randn(1, 8, 12).requires_grad_()
    out = output(module(x, is_causal=True, need_weights=need_weights))
    (dx,) = torch.autograd.grad(out[:, 6].sum(), x)
    assert (dx != 0).any(dim=-1)[0].tolist() == [True, *[False] * 3, *[True] * 3, False]


@both_paths
def test_later_tokens_do_not_change_the_output(need_weights: bool) -> None:
    module = make(window=4, sinks=1, alibi=True, learned_sink=True, qk_norm=True)
    x, y = randn(2, 8, 12), randn(2, 8, 12)
    y[:, 5:] = randn(2, 3, 12, seed=9)
    ours, theirs = (output(module(z, is_causal=True, need_weights=need_weights)) for z in (x, y))
    torch.testing.assert_close(ours[:, :5], theirs[:, :5], **EXACT)
    assert not torch.allclose(ours[:, 5:], theirs[:, 5:])


def test_window_without_causal_is_refused() -> None:
    with pytest.raises(ValueError, match="is_causal: got False, expected True, as window = 3"):
        make(window=3)(randn(2, 5, 12))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 0}, "window: got 0, expected a whole number of at least 1"),
        ({"sinks": 2}, "sinks: got 2 without a window, expected 0"),
        ({"window": 2, "sinks": -1}, "sinks: got -1, expected a whole number of at least 0"),
    ],
)
def test_window_that_cannot_be_is_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(**options)


def test_positions_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"queries, keys: got shapes \(2, 3\) and \(3,\), expected"
    ):
        near(torch.ones(2, 3, dtype=torch.long), torch.arange(3), 2)


# ALiBi


def naive_slopes(num_heads: int) -> list[float]:
    """The rule of the paper and of its code, a second time: for other numbers by recursion."""
    if math.log2(num_heads).is_integer():
        start = 2.0 ** (-8.0 / num_heads)
        return [start * start**i for i in range(num_heads)]
    lower = 2 ** math.floor(math.log2(num_heads))
    return naive_slopes(lower) + naive_slopes(2 * lower)[0::2][: num_heads - lower]


@pytest.mark.parametrize("num_heads", [1, 2, 3, 4, 6, 8, 12, 16, 20])
def test_slopes_are_those_of_the_paper(num_heads: int) -> None:
    expected = torch.tensor(naive_slopes(num_heads), dtype=torch.float64)
    torch.testing.assert_close(slopes(num_heads), expected, **EXACT)


def test_slopes_of_eight_heads_are_halves_of_each_other() -> None:
    assert slopes(8).tolist() == [2.0**-i for i in range(1, 9)]


@both_paths
@pytest.mark.parametrize("is_causal", [False, True])
def test_alibi_lowers_each_score_by_slope_times_distance(
    is_causal: bool, need_weights: bool
) -> None:
    """The formula a second time, number by number."""
    module, x = make(alibi=True), randn(2, 5, 12)
    Q, K, V = (X.detach() for X in (module.project_queries(x), *module.project_keys(x, x)))
    heads = torch.zeros(2, 3, 5, 4, dtype=torch.float64)
    for b in range(2):
        for h, slope in enumerate(naive_slopes(3)):
            for i in range(5):
                seen = range(i + 1) if is_causal else range(5)
                scores = [float(Q[b, h, i] @ K[b, h, j]) / 2 - slope * abs(i - j) for j in seen]
                total = sum(math.exp(score) for score in scores)
                for j, score in zip(seen, scores, strict=True):
                    heads[b, h, i] += math.exp(score) / total * V[b, h, j]
    expected = module.W_o(heads.transpose(1, 2).reshape(2, 5, 12))
    out = output(module(x, is_causal=is_causal, need_weights=need_weights))
    torch.testing.assert_close(out, expected, **EXACT)


def test_alibi_knows_the_distance_of_given_positions() -> None:
    queries, keys = torch.tensor([5, 9]), torch.tensor([0, 5, 7])
    bias = alibi_bias(8, queries, keys)
    assert bias.shape == (1, 8, 2, 3)
    assert bias[0, 0].tolist() == [[-2.5, 0, -1], [-4.5, -2, -1]]
    assert alibi_bias(8, queries.expand(4, -1), keys.expand(4, -1)).shape == (4, 8, 2, 3)


@both_paths
def test_alibi_output_does_not_change_when_all_positions_move(need_weights: bool) -> None:
    module, x = make(alibi=True), randn(2, 5, 12)
    out = output(module(x, need_weights=need_weights))
    positions = torch.stack((torch.arange(5) + 7, torch.arange(5) - 3))
    moved = module(x, need_weights=need_weights, positions=positions)
    torch.testing.assert_close(output(moved), out, **EXACT)


def test_alibi_to_another_tensor_counts_its_keys_from_zero() -> None:
    module, x, y = make(alibi=True), randn(2, 3, 12), randn(2, 5, 12, seed=2)
    positions = torch.tensor([[2, 3, 4], [0, 7, 1]])
    out, weights = module(x, y, positions=positions, need_weights=True)
    Q, (K, _) = module.project_queries(x), module.project_keys(y, y)
    distance = (positions[:, None, :, None] - torch.arange(5)).abs()
    slope = torch.tensor(naive_slopes(3), dtype=torch.float64)[:, None, None]
    expected = (Q @ K.transpose(-2, -1) / 2 - slope * distance).softmax(-1)
    torch.testing.assert_close(weights, expected, **EXACT)
    torch.testing.assert_close(module(x, y, positions=positions), out, **EXACT)


# The learned sink


@both_paths
def test_high_sink_takes_everything_and_a_low_one_nothing(need_weights: bool) -> None:
    module, x = make(learned_sink=True, bias=False), randn(2, 5, 12)
    assert module.sink is not None
    module.sink.data.fill_(1000.0)
    assert (output(module(x, need_weights=need_weights)) == 0).all()
    module.sink.data.fill_(-1000.0)
    torch.testing.assert_close(
        output(module(x, need_weights=need_weights)), without_sink(module)(x), **EXACT
    )


def without_sink(module: MultiHeadAttention) -> MultiHeadAttention:
    other = copy.deepcopy(module)
    other.sink = None
    return other


@both_paths
@pytest.mark.parametrize("is_causal", [False, True])
def test_learned_sink_takes_its_share_of_the_softmax(is_causal: bool, need_weights: bool) -> None:
    """Softmax over the scores and the sink, and the sink's column dropped."""
    module, x = make(learned_sink=True), randn(2, 5, 12)
    mask = padding_mask(torch.tensor([5, 3]))
    Q, (K, V) = module.project_queries(x), module.project_keys(x, x)
    seen = mask & causal_mask(5) if is_causal else mask
    scores = (Q @ K.transpose(-2, -1) / 2).masked_fill(~seen, -torch.inf)
    assert module.sink is not None
    sink = module.sink[:, None, None].expand(2, 3, 5, 1)
    weights = torch.cat((scores, sink), dim=-1).softmax(-1)[..., :-1]
    expected = module.W_o((weights @ V).transpose(1, 2).reshape(2, 5, 12))
    out = module(x, mask=mask, is_causal=is_causal, need_weights=need_weights)
    torch.testing.assert_close(output(out), expected, **EXACT)
    if isinstance(out, tuple):
        torch.testing.assert_close(out[1], weights, **EXACT)
    gradients = [
        torch.autograd.grad(y.square().sum(), module.parameters(), retain_graph=True)
        for y in (output(out), expected)
    ]
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, **EXACT)


def test_sink_that_starts_at_zero_is_a_score_of_zero() -> None:
    sink = MultiHeadAttention(12, 3, learned_sink=True).sink
    assert sink is not None and sink.tolist() == [0, 0, 0]


# Rows that see nothing


@both_paths
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"window": 2},
        {"alibi": True},
        {"learned_sink": True},
        {"window": 2, "alibi": True, "learned_sink": True, "qk_norm": True, "num_kv_heads": 1},
    ],
)
@pytest.mark.parametrize("of_queries", [False, True])
def test_row_that_sees_nothing_gives_zeros(
    options: dict[str, object], of_queries: bool, need_weights: bool
) -> None:
    module, x = make(**options, bias=False), randn(2, 5, 12).requires_grad_()
    if of_queries:
        mask = torch.ones(2, 1, 5, 5, dtype=torch.bool)
        mask[1, :, 3] = False
    else:
        mask = torch.tensor([[1, 1, 1, 1, 1], [0, 0, 0, 1, 1]], dtype=torch.bool)[:, None, None]
    out = output(module(x, mask=mask, is_causal=True, need_weights=need_weights))
    blind = slice(3, 4) if of_queries else slice(0, 3)
    assert (out[1, blind] == 0).all() and (out[0] != 0).all()
    (dx,) = torch.autograd.grad(out.square().sum(), x)
    assert dx.isfinite().all()


# QK-norm


@both_paths
def test_qk_norm_normalises_before_the_scores(need_weights: bool) -> None:
    module, x = make(qk_norm=True), randn(2, 5, 12)
    assert module.norm_q is not None and module.norm_k is not None

    def normalised(X: Tensor, gain: Tensor) -> Tensor:
        return X / (X.square().mean(-1, keepdim=True) + 1e-6).sqrt() * gain

    Q, K, V = (W(x).view(2, 5, 3, 4).transpose(1, 2) for W in (module.W_q, module.W_k, module.W_v))
    Q, K = normalised(Q, module.norm_q.weight), normalised(K, module.norm_k.weight)
    heads, _ = attention(Q, K, V)
    expected = module.W_o(heads.transpose(1, 2).reshape(2, 5, 12))
    torch.testing.assert_close(output(module(x, need_weights=need_weights)), expected, **EXACT)


def test_options_are_shown() -> None:
    shown = repr(make(window=3, sinks=1, alibi=True, learned_sink=True))
    assert "alibi=True, window=3, sinks=1, learned_sink=True" in shown


# A bias of one's own


def test_bias_is_added_to_the_scores_in_both_paths() -> None:
    Q, K, V = (randn(2, 3, 5, 4, seed=i) for i in range(3))
    bias, mask = randn(1, 3, 5, 5, seed=4), torch.rand(2, 1, 5, 5) > 0.3
    scores = (Q @ K.transpose(-2, -1) / 2 + bias).masked_fill(~mask, -torch.inf)
    expected = scores.softmax(-1).nan_to_num() @ V
    torch.testing.assert_close(attention(Q, K, V, mask, bias=bias)[0], expected, **EXACT)
    torch.testing.assert_close(fused_attention(Q, K, V, mask, bias=bias), expected, **EXACT)


@pytest.mark.parametrize(
    ("bias", "message"),
    [
        (torch.ones(5, 5, dtype=torch.long), r"bias: got dtype torch.int64, expected a floating"),
        (torch.ones(5, 4), r"bias: got shape \(5, 4\), expected one that broadcasts to \(2, 3, 5"),
        (torch.ones(3, 5, 5), r"bias: got shape \(3, 5, 5\), expected one that broadcasts"),
    ],
)
def test_bias_that_does_not_fit_is_refused(bias: Tensor, message: str) -> None:
    Q = randn(2, 3, 5, 4)
    for path in (attention, fused_attention):
        with pytest.raises(ValueError, match=message):
            path(Q, Q, Q, bias=bias)


def test_heads_that_cannot_be_shared_are_refused() -> None:
    Q = randn(2, 3, 5, 4)
    with pytest.raises(ValueError, match="K: got 2 heads, expected a divisor of the 3 of Q"):
        fused_attention(Q, Q[:, :2], Q[:, :2])
