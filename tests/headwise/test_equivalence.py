"""Every form of multi-head attention computes what nn.MultiheadAttention computes.

One matrix: form x mask x dtype, outputs and gradients of inputs and weights. The reference is
nn.MultiheadAttention(need_weights=False), which goes through SDPA and, unlike its other path,
gives zeros and not NaN where a query may see nothing.

And every path of attention with the options of today computes the formulas, written a second time.
"""

import copy
import functools
import itertools
import math
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

from headwise import (
    KeyValueCache,
    LinearHead,
    MultiHeadAttention,
    ParameterHead,
    merge_heads,
    multi_head,
    variants,
)
from headwise.alibi import alibi_bias
from headwise.convert import convert
from headwise.flash import flash_attention
from headwise.flex import flex_attention
from headwise.kernels import triton_attention
from headwise.masks import (
    causal_mask,
    padding_mask,
    to_attn_mask,
    to_one_hides,
    to_valid_lens,
)
from headwise.rotary import Rotary
from headwise.variants import FoldedHeads, MethodSteps, OneHides, ParameterOnly, SeparateInputs

BATCH, SEQ_LEN, D_MODEL = 3, 5, 12


class Form(NamedTuple):
    make: Callable[[], nn.Module]
    call: Callable[[nn.Module, list[Tensor], Tensor | None], Tensor]
    num_inputs: int
    num_heads: int
    bias: bool
    cannot_express: frozenset[str] = frozenset()


def lens(mask: Tensor | None) -> Tensor | None:
    return None if mask is None else to_valid_lens(mask)


def hides(mask: Tensor | None) -> Tensor | None:
    return None if mask is None else to_one_hides(mask)


def rows(mask: Tensor | None) -> Tensor | None:
    """(batch, 1, query or 1, key) as (batch, query, key)."""
    return None if mask is None else mask.expand(-1, 1, SEQ_LEN, -1).squeeze(1)


FORMS = {
    "MultiHeadAttention, fused": Form(
        lambda: MultiHeadAttention(D_MODEL, 4), lambda m, x, mask: m(*x, mask), 3, 4, True
    ),
    "MultiHeadAttention, written out": Form(
        lambda: MultiHeadAttention(D_MODEL, 4),
        lambda m, x, mask: m(*x, mask, need_weights=True)[0],
        3,
        4,
        True,
    ),
    "SeparateInputs": Form(
        lambda: SeparateInputs(D_MODEL, 4, dropout=0.0),
        lambda m, x, mask: m(*x, rows(mask)),
        3,
        4,
        False,
    ),
    "MethodSteps": Form(
        lambda: MethodSteps(D_MODEL, 4), lambda m, x, mask: m(*x, mask), 3, 4, True
    ),
    "FoldedHeads": Form(
        lambda: FoldedHeads(D_MODEL, D_MODEL, D_MODEL, D_MODEL, 4, 0.0, bias=True),
        lambda m, x, mask: m(*x, lens(mask)),
        3,
        4,
        True,
        frozenset({"arbitrary"}),
    ),
    "OneHides": Form(
        lambda: OneHides(D_MODEL, 4), lambda m, x, mask: m(*x, hides(mask)), 1, 4, True
    ),
    "ParameterOnly": Form(
        lambda: ParameterOnly(D_MODEL, 4), lambda m, x, mask: m(*x, mask)[0], 1, 4, True
    ),
    "ParameterHead": Form(
        lambda: ParameterHead(D_MODEL), lambda m, x, mask: m(*x, rows(mask))[0], 1, 1, True
    ),
    "LinearHead": Form(
        lambda: LinearHead(D_MODEL), lambda m, x, mask: m(*x, rows(mask))[0], 1, 1, True
    ),
}


def make_mask(case: str) -> Tensor | None:
    """The mask of a case, (batch, 1, query or 1, key)."""
    causal = causal_mask(SEQ_LEN).expand(BATCH, 1, SEQ_LEN, SEQ_LEN)
    padding = padding_mask(torch.tensor([5, 2, 3]))
    generator = torch.Generator().manual_seed(1)
    arbitrary = torch.rand(BATCH, 1, SEQ_LEN, SEQ_LEN, generator=generator) > 0.5
    arbitrary |= torch.eye(SEQ_LEN, dtype=torch.bool)
    blind = (causal & padding).clone()
    blind[1, :, 3] = False
    return {
        "no mask": None,
        "causal": causal,
        "padding": padding,
        "causal and padding": causal & padding,
        "arbitrary": arbitrary,
        "a row that sees nothing": blind,
    }[case]


CASES = ["no mask", "causal", "padding", "causal and padding", "arbitrary"]
CASES += ["a row that sees nothing"]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
@pytest.mark.parametrize(
    ("name", "case"),
    [
        pytest.param(
            name, case, id=f"{name}-{case}{'-inexpressible' * (case in form.cannot_express)}"
        )
        for name, form in FORMS.items()
        for case in CASES
    ],
)
def test_form_equals_torch_in_outputs_and_gradients(
    name: str, case: str, dtype: torch.dtype
) -> None:
    form, mask = FORMS[name], make_mask(case)
    torch.manual_seed(0)
    ours = form.make().to(dtype)
    theirs = nn.MultiheadAttention(
        D_MODEL, form.num_heads, bias=form.bias, batch_first=True, dtype=dtype
    )
    for p in ours.parameters():
        nn.init.normal_(p, std=0.5)  # biases too, which would start at zero
    convert(ours, theirs)
    x = [
        torch.randn(BATCH, SEQ_LEN, D_MODEL, dtype=dtype, requires_grad=True)
        for _ in range(form.num_inputs)
    ]
    if case in form.cannot_express:
        with pytest.raises(ValueError, match="cannot express"):
            form.call(ours, x, mask)
        return

    out = form.call(ours, x, mask)
    shape = (BATCH, form.num_heads, SEQ_LEN, SEQ_LEN)
    query, key, value = x if form.num_inputs == 3 else x * 3
    expected, _ = theirs(
        query,
        key,
        value,
        attn_mask=None if mask is None else to_attn_mask(mask, shape),
        need_weights=False,
    )
    tolerance = 1e-10 if dtype == torch.float64 else 2e-5
    torch.testing.assert_close(out, expected, rtol=tolerance, atol=tolerance)

    upstream = torch.randn_like(out)
    dx = torch.autograd.grad(expected, [*x, *theirs.parameters()], upstream)
    out.backward(upstream)
    for got, want in zip((t.grad for t in x), dx, strict=False):
        torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance)
    # A module that holds gradients in place of weights, put into torch's layout like weights.
    as_torch = convert(with_gradients_for_weights(ours), copy.deepcopy(theirs))
    for got, want in zip(as_torch.parameters(), dx[len(x) :], strict=True):
        torch.testing.assert_close(got.detach(), want, rtol=tolerance, atol=tolerance)


def with_gradients_for_weights(module: nn.Module) -> nn.Module:
    copied = copy.deepcopy(module)
    for new, old in zip(copied.parameters(), module.parameters(), strict=True):
        assert old.grad is not None
        new.data = old.grad
    return copied


def test_matrix_holds_every_form_of_the_library() -> None:
    classes = {MultiHeadAttention, ParameterHead, LinearHead}
    classes |= {getattr(variants, name) for name in variants.__all__}
    assert {type(form.make()) for form in FORMS.values()} == classes


# Attention of today


class Setting(NamedTuple):
    """One point of the product of all options."""

    num_kv_heads: int
    layout: str | None  # of rotary positions
    window: int | None
    sinks: int
    alibi: bool
    qk_norm: bool
    case: str  # of the mask
    is_causal: bool
    cache: str | None
    dtype: torch.dtype

    def __str__(self) -> str:
        words = (f"{name}={value}" for name, value in self._asdict().items() if value)
        return " ".join(words).replace("torch.", "")


VALUES: dict[str, list[Any]] = {
    "num_kv_heads": [1, 2, 4],
    "layout": [None, "halves", "pairs"],
    "window": [None, 1, 3],
    "sinks": [0, 2],
    "alibi": [False, True],
    "qk_norm": [False, True],
    "case": CASES,
    "is_causal": [False, True],
    "cache": [None, "growing", "ahead", "ring"],
    "dtype": [torch.float64, torch.float32],
}
CACHES: dict[str, Callable[[Setting], KeyValueCache]] = {
    "growing": lambda _: KeyValueCache(),
    "ahead": lambda _: KeyValueCache(max_len=SEQ_LEN),
    "ring": lambda s: KeyValueCache(window=s.window, sinks=s.sinks),
}
PATHS: dict[str, Callable[..., Tensor] | None] = {
    "written out": None,
    "fused": None,
    "tiled": functools.partial(flash_attention, tile=2),
    "FlexAttention": flex_attention,
    "Triton": functools.partial(triton_attention, tile=16),
}


def possible(s: Setting) -> bool:
    """A window and a cache are for causal layers, and sinks and a ring for those with a window."""
    causal = s.is_causal or (s.window is None and s.cache is None)
    return causal and (s.window is not None or (s.sinks == 0 and s.cache != "ring"))


EVERY = itertools.starmap(Setting, itertools.product(*VALUES.values()))
PRODUCT = [s for s in EVERY if possible(s)]
# Triton's interpreter takes a hundred times as long as the others.
SIZES = {"written out": 24, "fused": 24, "tiled": 24, "FlexAttention": 12, "Triton": 12}
SAMPLES = {
    path: random.Random(16 + i).sample(PRODUCT, n) for i, (path, n) in enumerate(SIZES.items())
}


def naive(module: MultiHeadAttention, s: Setting, x: Tensor, mask: Tensor) -> Tensor:
    """The formulas a second time, one head after the other."""
    d_k, slopes = module.d_k, [2.0 ** (-8 * (h + 1) / 4) for h in range(4)]

    def heads(W: nn.Module, num_heads: int) -> Tensor:
        return W(x).view(BATCH, SEQ_LEN, num_heads, d_k).transpose(1, 2)

    def ready(X: Tensor, norm: nn.RMSNorm | None) -> Tensor:
        if norm is not None:
            X = X / (X.square().mean(-1, keepdim=True) + 1e-6).sqrt() * norm.weight
        if s.layout is None:
            return X
        a, b = X.chunk(2, -1) if s.layout == "halves" else (X[..., 0::2], X[..., 1::2])
        where = torch.arange(SEQ_LEN, dtype=torch.float64)[:, None]
        speed = 10_000.0 ** -(torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)
        turned = torch.complex(a, b) * torch.exp(1j * where * speed)
        return torch.cat((turned.real, turned.imag), -1)  # a score does not mind the order

    Q = ready(heads(module.W_q, 4), module.norm_q)
    K, V = (
        ready(heads(module.W_k, s.num_kv_heads), module.norm_k),
        heads(module.W_v, s.num_kv_heads),
    )
    heads_out = []
    for b, h in itertools.product(range(BATCH), range(4)):
        seen = [
            [
                bool(mask[b, 0, i, j])
                and (j <= i or not s.is_causal)
                and (s.window is None or i - j < s.window or j < s.sinks)
                for j in range(SEQ_LEN)
            ]
            for i in range(SEQ_LEN)
        ]
        own = h * s.num_kv_heads // 4
        scores = Q[b, h] @ K[b, own].T / math.sqrt(d_k)
        if s.alibi:
            far = [[abs(i - j) for j in range(SEQ_LEN)] for i in range(SEQ_LEN)]
            scores = scores - slopes[h] * torch.tensor(far)
        shares = scores.exp() * torch.tensor(seen)
        total = shares.sum(-1, keepdim=True)
        heads_out.append(shares / total.where(total > 0, 1.0) @ V[b, own])
    out = torch.stack(heads_out).view(BATCH, 4, SEQ_LEN, d_k).transpose(1, 2)
    result: Tensor = module.W_o(out.flatten(2))
    return result


def through(
    path: str, module: MultiHeadAttention, s: Setting, x: Tensor, mask: Tensor | None
) -> Tensor:
    """The output by one path, in one call or, with a cache, in several."""
    kernel, parts = PATHS[path], [SEQ_LEN] if s.cache is None else [2, 1, 1, 1]
    if path in ("FlexAttention", "Triton") and s.cache is not None:
        parts = [4, 1]
    if kernel is not None and s.cache is None:  # which masks windows by itself
        Q, (K, V) = module.project_queries(x), module.project_keys(x, x)
        at = torch.arange(SEQ_LEN)
        bias = alibi_bias(4, at, at).to(x.dtype) if s.alibi else None
        out = kernel(
            Q, K, V, mask, bias=bias, is_causal=s.is_causal, window=s.window, sinks=s.sinks
        )
        return module.W_o(merge_heads(out))  # type: ignore[no-any-return]

    def fused(*inputs: Tensor, dropout: float, **options: Any) -> Tensor:
        assert kernel is not None and dropout == 0
        return kernel(*inputs, **options)

    cache = None if s.cache is None else CACHES[s.cache](s)
    outs, end = [], 0
    with pytest.MonkeyPatch.context() as patch:
        if kernel is not None:
            patch.setattr(multi_head, "fused_attention", fused)
        for n in parts:
            start, end = end, end + n
            rows = slice(start, end) if mask is not None and mask.size(2) > 1 else slice(None)
            out = module(
                x[:, start:end],
                mask=None if mask is None else mask[:, :, rows, :end],
                is_causal=s.is_causal,
                need_weights=path == "written out",
                cache=cache,
            )
            outs.append(out[0] if path == "written out" else out)
    return torch.cat(outs, dim=1)


@pytest.mark.no_cover  # each path has tests of its own
@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize(
    ("path", "s"),
    [pytest.param(path, s, id=f"{path} {s}") for path in PATHS for s in SAMPLES[path]],
)
def test_path_computes_the_formula_in_outputs_and_gradients(path: str, s: Setting) -> None:
    mask = make_mask(s.case)
    torch.manual_seed(0)
    rotary = None if s.layout is None else Rotary(4, layout=s.layout)  # type: ignore[arg-type]
    module = MultiHeadAttention(
        *(16, 4),
        num_kv_heads=s.num_kv_heads,
        rotary=rotary,
        alibi=s.alibi,
        window=s.window,
        sinks=s.sinks,
        qk_norm=s.qk_norm,
    )
    for p in module.parameters():
        nn.init.normal_(p, std=0.5)
    module.to(s.dtype)
    x = torch.randn(BATCH, SEQ_LEN, 16, dtype=s.dtype, requires_grad=True)
    upstream = torch.randn(BATCH, SEQ_LEN, 16, dtype=torch.float64)
    full = torch.ones(BATCH, 1, SEQ_LEN, SEQ_LEN, dtype=torch.bool)
    exact, x64 = copy.deepcopy(module).double(), x.detach().double().requires_grad_()
    expected = naive(exact, s, x64, full if mask is None else full & mask)
    wanted = torch.autograd.grad(expected, [x64, *exact.parameters()], upstream)
    tolerance = 1e-10 if s.dtype == torch.float64 else 1e-4

    with torch.no_grad():  # where caches write in place
        out = through(path, module, s, x, mask)
    torch.testing.assert_close(out.double(), expected, rtol=tolerance, atol=tolerance)
    if path == "FlexAttention" or (path == "Triton" and s.cache is not None):
        return  # the first has no gradients on the CPU, and the second takes too long for them
    out = through(path, module, s, x, mask)
    got = torch.autograd.grad(out, [x, *module.parameters()], upstream.to(s.dtype))
    for ours, theirs in zip(got, wanted, strict=True):
        torch.testing.assert_close(ours.double(), theirs, rtol=tolerance, atol=tolerance)
