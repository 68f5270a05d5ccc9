"""MultiHeadAttention: what it computes, how it behaves, and where it runs."""

import copy
import io
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from headwise import (
    KeyValueCache,
    MultiHeadAttention,
    causal_mask,
    merge_heads,
    padding_mask,
    split_heads,
)
from headwise.attention import attention
from headwise.convert import convert

EXACT = {"rtol": 1e-10, "atol": 1e-10}
both_paths = pytest.mark.parametrize("need_weights", [False, True], ids=["fused", "written-out"])


def make(d_model: int = 12, num_heads: int = 4, **options: object) -> MultiHeadAttention:
    torch.manual_seed(0)
    return MultiHeadAttention(d_model, num_heads, **options).double()  # type: ignore[arg-type]


def randn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def output(returned: Tensor | tuple[Tensor, Tensor]) -> Tensor:
    return returned[0] if isinstance(returned, tuple) else returned


# What it computes


@pytest.mark.parametrize("mask_shape", [(5, 5), (3, 1, 1, 5), (3, 4, 5, 5), (1, 4, 1, 5)])
@pytest.mark.parametrize("is_causal", [False, True])
def test_both_paths_give_the_same_numbers(mask_shape: tuple[int, ...], is_causal: bool) -> None:
    module, x = make(), randn(3, 5, 12)
    mask = torch.rand(mask_shape, generator=torch.Generator().manual_seed(0)) > 0.4
    fused = module(x, mask=mask, is_causal=is_causal)
    out, weights = module(x, mask=mask, is_causal=is_causal, need_weights=True)
    torch.testing.assert_close(fused, out, **EXACT)
    assert weights.shape == (3, 4, 5, 5)


def test_weights_are_those_of_torch() -> None:
    module, x = make(), randn(3, 5, 12)
    theirs = nn.MultiheadAttention(12, 4, batch_first=True, dtype=torch.float64)
    _, expected = convert(module, theirs)(x, x, x, average_attn_weights=False)
    _, weights = module(x, need_weights=True)
    torch.testing.assert_close(weights, expected, **EXACT)


def test_causal_flag_means_the_causal_mask() -> None:
    module, x = make(), randn(3, 5, 12)
    expected = module(x, mask=causal_mask(5))
    torch.testing.assert_close(module(x, is_causal=True), expected, **EXACT)
    torch.testing.assert_close(module(x, is_causal=True, need_weights=True)[0], expected, **EXACT)


def test_key_defaults_to_query_and_value_to_key() -> None:
    module = make()
    x, y = randn(2, 5, 12), randn(2, 3, 12, seed=2)
    assert torch.equal(module(x), module(x, x, x))
    assert torch.equal(module(x, y), module(x, y, y))


@both_paths
def test_head_and_input_widths_may_be_chosen(need_weights: bool) -> None:
    module = make(8, 3, d_k=5, d_v=2, key_dim=7, value_dim=6)
    query, key, value = randn(2, 4, 8), randn(2, 5, 7), randn(2, 5, 6)
    Q, K, V = module.W_q(query), module.W_k(key), module.W_v(value)
    heads = F.scaled_dot_product_attention(*(split_heads(x, 3) for x in (Q, K, V)))
    expected = module.W_o(merge_heads(heads))
    out = output(module(query, key, value, need_weights=need_weights))
    torch.testing.assert_close(out, expected, **EXACT)


def test_width_of_a_head_and_of_a_value_have_the_documented_defaults() -> None:
    module = MultiHeadAttention(8, 3, d_k=5, key_dim=7)
    assert (module.d_v, module.value_dim) == (5, 7)
    assert MultiHeadAttention(12, 4).d_k == 3
    assert "num_heads=3, d_k=5, d_v=5, dropout=0.0" in repr(module)


# How it behaves


@both_paths
def test_causal_output_has_no_gradient_from_later_inputs(need_weights: bool) -> None:
    module, x = make(), randn(2, 6, 12).requires_grad_()
    out = output(module(x, is_causal=True, need_weights=need_weights))
    for t in range(6):
        (dx,) = torch.autograd.grad(out[:, t].sum(), x, retain_graph=True)
        assert (dx[:, t + 1 :] == 0).all()
        assert (dx[:, : t + 1] != 0).any(dim=-1).all()


@both_paths
@given(permutation=st.permutations(range(6)))
def test_permuting_the_inputs_permutes_the_outputs(
    need_weights: bool, permutation: list[int]
) -> None:
    module, x = make(), randn(2, 6, 12)
    out = output(module(x, need_weights=need_weights))
    permuted = output(module(x[:, permutation], need_weights=need_weights))
    torch.testing.assert_close(permuted, out[:, permutation], **EXACT)


@pytest.mark.parametrize("num_heads", [1, 2, 4, 12])
def test_output_is_the_sum_over_heads_of_each_times_its_block_of_W_o(num_heads: int) -> None:
    module, x = make(num_heads=num_heads), randn(2, 5, 12)
    d_k = 12 // num_heads
    total = module.W_o.bias
    for h in range(num_heads):
        block = slice(h * d_k, (h + 1) * d_k)
        Q, K, V = (
            F.linear(x, W.weight[block], W.bias[block])
            for W in (module.W_q, module.W_k, module.W_v)
        )
        head, _ = attention(Q, K, V)
        total = total + head @ module.W_o.weight[:, block].T
    torch.testing.assert_close(module(x), total, **EXACT)


@given(st.sampled_from([1, 2, 3, 4, 6, 12, 24]), st.booleans())
def test_parameter_count_does_not_depend_on_the_number_of_heads(num_heads: int, bias: bool) -> None:
    module = MultiHeadAttention(24, num_heads, bias=bias)
    assert sum(p.numel() for p in module.parameters()) == 4 * 24 * 24 + bias * 4 * 24


@both_paths
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_hidden_row_gives_the_bias_of_W_o_and_finite_gradients(
    need_weights: bool, dtype: torch.dtype
) -> None:
    module = make().to(dtype)
    x = randn(2, 5, 12).to(dtype).requires_grad_()
    mask = padding_mask(torch.tensor([3, 0]), 5)
    out = output(module(x, mask=mask, need_weights=need_weights))
    out.sum().backward()
    assert torch.equal(out[1], module.W_o.bias.expand(5, 12))
    for tensor in (x, *module.parameters()):
        assert tensor.grad is not None
        assert tensor.grad.isfinite().all()
    assert x.grad is not None
    assert (x.grad[1] == 0).all()


def test_dropout_acts_while_training_alone() -> None:
    module, x = make(dropout=0.5), randn(2, 5, 12)
    assert not torch.equal(module(x), module(x))
    _, weights = module(x, need_weights=True)
    assert (weights == 0).any()
    module.eval()
    assert torch.equal(module(x), module(x))
    _, weights = module(x, need_weights=True)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4, 5, dtype=torch.float64))


# Where it runs


@pytest.mark.no_cover  # a compiler reads our lines and runs none
def test_compiles_in_one_graph_with_inductor() -> None:
    module, x = make().float(), randn(2, 5, 12).float().requires_grad_()
    # To ask a compiler for each vector unit takes longer than to compile what is asked here.
    compiled = torch.compile(module, fullgraph=True, options={"cpp.vec_isa_ok": False})
    out = compiled(x, is_causal=True)
    torch.testing.assert_close(out, module(x, is_causal=True), rtol=1e-5, atol=1e-5)
    out.sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()


@pytest.mark.no_cover  # a compiler reads our lines and runs none
@both_paths
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_compiles_in_one_graph(need_weights: bool, is_causal: bool, masked: bool) -> None:
    module, x = make(), randn(2, 5, 12)
    options = {"is_causal": is_causal, "need_weights": need_weights}
    mask = padding_mask(torch.tensor([5, 2])) if masked else None
    torch.compiler.reset()
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(
        output(compiled(x, mask=mask, **options)), output(module(x, mask=mask, **options)), **EXACT
    )


@pytest.mark.no_cover  # a compiler reads our lines and runs none
def test_compiles_once_for_all_lengths() -> None:
    torch.compiler.reset()
    module = make()
    compiled = torch.compile(module, fullgraph=True, backend="eager", dynamic=True)
    compiled(randn(2, 5, 12), is_causal=True)
    with torch.compiler.set_stance("fail_on_recompile"):
        x = randn(3, 9, 12)
        torch.testing.assert_close(compiled(x, is_causal=True), module(x, is_causal=True), **EXACT)


@both_paths
@pytest.mark.parametrize("came", [torch.float32, torch.bfloat16])
def test_autocast_computes_in_bfloat16(need_weights: bool, came: torch.dtype) -> None:
    module, x = make().float(), randn(2, 5, 12)
    expected = module.double()(x)
    module.float()
    with torch.autocast("cpu", torch.bfloat16):
        out = output(module(x.to(came), is_causal=False, need_weights=need_weights))
    assert out.dtype == torch.bfloat16
    torch.testing.assert_close(out.double(), expected, rtol=0.05, atol=0.05)


def test_state_dict_round_trip() -> None:
    module, x = make(), randn(2, 5, 12)
    buffer = io.BytesIO()
    torch.save(module.state_dict(), buffer)
    buffer.seek(0)
    other = MultiHeadAttention(12, 4).double()
    other.load_state_dict(torch.load(buffer, weights_only=True))
    assert torch.equal(other(x), module(x))
    assert set(module.state_dict()) == {
        f"W_{p}.{kind}" for p in "qkvo" for kind in ("weight", "bias")
    }


def test_deep_copy_computes_the_same_and_is_separate() -> None:
    module, x = make(), randn(2, 5, 12)
    out = module(x)
    other = copy.deepcopy(module)
    nn.init.zeros_(module.W_o.weight)
    assert torch.equal(other(x), out)


@both_paths
def test_non_contiguous_input_gives_the_same_numbers(need_weights: bool) -> None:
    module, x = make(), randn(12, 5, 2).permute(2, 1, 0)
    assert not x.is_contiguous()
    out = output(module(x, need_weights=need_weights))
    torch.testing.assert_close(
        out, output(module(x.contiguous(), need_weights=need_weights)), **EXACT
    )


@both_paths
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize(("query_len", "key_len"), [(0, 0), (0, 3), (3, 0), (1, 1), (1, 3)])
def test_lengths_of_zero_and_one(
    query_len: int, key_len: int, need_weights: bool, is_causal: bool
) -> None:
    module = make()
    query, key = randn(2, query_len, 12).requires_grad_(), randn(2, key_len, 12)
    out = output(module(query, key, is_causal=is_causal, need_weights=need_weights))
    assert out.shape == (2, query_len, 12)
    out.sum().backward()
    assert query.grad is not None
    assert query.grad.isfinite().all()
    if key_len == 0:
        assert torch.equal(out, module.W_o.bias.expand_as(out))


def test_default_path_never_holds_the_scores() -> None:
    """No tensor of the size of the scores is made, forward or backward."""

    class Largest(TorchDispatchMode):
        numel = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            out = func(*args, **(kwargs or {}))
            for x in out if isinstance(out, tuple | list) else (out,):
                if isinstance(x, Tensor):
                    self.numel = max(self.numel, x.numel())
            return out

    module, x = make().float(), randn(1, 256, 12).float()
    for need_weights, holds in ((False, False), (True, True)):
        with Largest() as largest:
            output(module(x, is_causal=True, need_weights=need_weights)).sum().backward()
        assert (largest.numel >= 4 * 256 * 256) is holds


# The cache


@both_paths
@given(
    steps=st.lists(st.integers(1, 3), min_size=1, max_size=4),
    padded=st.booleans(),
)
def test_decoding_with_a_cache_equals_one_causal_pass(
    need_weights: bool, steps: list[int], padded: bool
) -> None:
    module, total = make(), sum(steps)
    x = randn(2, total, 12)
    lengths = torch.tensor([total, 1])
    mask = padding_mask(lengths, total) if padded else None
    expected = module(x, mask=mask, is_causal=True)
    cache, outs = KeyValueCache(), []
    for chunk in x.split(steps, dim=1):
        seen = cache.length + chunk.size(1)
        outs.append(
            output(
                module(
                    chunk,
                    mask=None if mask is None else mask[..., :seen],
                    is_causal=True,
                    need_weights=need_weights,
                    cache=cache,
                )
            )
        )
        assert cache.length == seen
    torch.testing.assert_close(torch.cat(outs, dim=1), expected, **EXACT)


def test_fixed_cache_projects_the_key_once() -> None:
    module, memory = make(), randn(2, 4, 12)
    queries = randn(2, 3, 12, seed=2)
    expected = module(queries, memory)
    calls: list[int] = []
    module.W_k.register_forward_hook(lambda *_: calls.append(1))
    cache = KeyValueCache(fixed=True)
    outs = [module(query, memory, cache=cache) for query in queries.split(1, dim=1)]
    torch.testing.assert_close(torch.cat(outs, dim=1), expected, **EXACT)
    assert len(calls) == 1
    assert cache.length == 4


def test_gradients_flow_through_the_cache() -> None:
    module, x = make(), randn(1, 3, 12).requires_grad_()
    cache = KeyValueCache()
    out = [module(t, is_causal=True, cache=cache) for t in x.split(1, dim=1)][-1]
    (through_cache,) = torch.autograd.grad(out.sum(), x)
    (expected,) = torch.autograd.grad(module(x, is_causal=True)[:, -1].sum(), x)
    torch.testing.assert_close(through_cache, expected, **EXACT)


@pytest.mark.no_cover  # a compiler reads our lines and runs none
def test_decoding_with_a_cache_compiles_in_one_graph() -> None:
    module, x, memory = make(), randn(2, 4, 12), randn(2, 3, 12, seed=2)

    def step(token: Tensor, growing: KeyValueCache, fixed: KeyValueCache) -> Tensor:
        token = module(token, is_causal=True, cache=growing)
        return output(module(token, memory, cache=fixed))

    torch.compiler.reset()
    compiled = torch.compile(step, fullgraph=True, backend="eager")
    caches = KeyValueCache(), KeyValueCache(fixed=True)
    outs = [compiled(token, *caches) for token in x.split(1, dim=1)]
    expected = module(module(x, is_causal=True), memory)
    torch.testing.assert_close(torch.cat(outs, dim=1), expected, **EXACT)


def test_copied_cache_goes_its_own_way() -> None:
    """As a beam does that forks: the copy still belongs to the layer."""
    module, x = make(), randn(1, 3, 12)
    cache = KeyValueCache()
    with torch.no_grad():
        module(x[:, :2], is_causal=True, cache=cache)
        forked = copy.deepcopy(cache)
        module(x[:, 2:], is_causal=True, cache=forked)
    assert (cache.length, forked.length) == (2, 3)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_scale_is_that_of_the_width_of_a_head(dtype: torch.dtype) -> None:
    module, x = make().to(dtype), randn(2, 5, 12).to(dtype)
    _, weights = module(x, need_weights=True)
    Q, K = split_heads(module.W_q(x), 4), split_heads(module.W_k(x), 4)
    ratios = (Q @ K.mT)[..., 1:] - (Q @ K.mT)[..., :1]
    torch.testing.assert_close(
        weights.log()[..., 1:] - weights.log()[..., :1], ratios / math.sqrt(3), rtol=1e-4, atol=1e-5
    )


# Half precision


@both_paths
def test_half_precision_is_as_finite_as_in_torch(need_weights: bool) -> None:
    """Queries and keys of 40 make products of 102 400, and float16 ends at 65 504."""
    module = MultiHeadAttention(64, 1, bias=False).half()
    theirs = nn.MultiheadAttention(64, 1, bias=False, batch_first=True).half()
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(torch.eye(64))
    convert(module, theirs)
    x = torch.full((1, 3, 64), 40.0, dtype=torch.float16)
    expected, _ = theirs(x, x, x)
    out = output(module(x, need_weights=need_weights))
    assert out.isfinite().all()
    torch.testing.assert_close(out, expected)
    with torch.autocast("cpu", torch.float16):
        out = output(module.float()(x.float(), need_weights=need_weights))
    torch.testing.assert_close(out, expected)


def test_sizes_may_be_numpy_numbers() -> None:
    module = MultiHeadAttention(np.int64(12), np.int32(4), d_k=np.int32(3))
    assert type(module.d_model) is type(module.num_heads) is type(module.d_k) is int
