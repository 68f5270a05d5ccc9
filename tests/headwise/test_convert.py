"""Weights from every form to every other."""

import copy
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses import FakeTensorMode

from headwise import LinearHead, MultiHeadAttention, ParameterHead
from headwise.convert import convert, projections
from headwise.rotary import Rotary
from headwise.variants import FoldedHeads, MethodSteps, OneHides, ParameterOnly, SeparateInputs

D_MODEL = 8
Run = Callable[[nn.Module, Tensor], Tensor]


def run(module: nn.Module, x: Tensor) -> Tensor:
    """Self-attention without a mask, whatever the signature."""
    if isinstance(module, FoldedHeads):
        out = module(x, x, x, None)
    elif isinstance(module, SeparateInputs | MethodSteps | nn.MultiheadAttention):
        out = module(x, x, x)
    else:
        out = module(x)
    return out[0] if isinstance(out, tuple) else out


def forms(num_heads: int) -> list[Callable[[], nn.Module]]:
    several: list[Callable[[], nn.Module]] = [
        lambda: MultiHeadAttention(D_MODEL, num_heads),
        lambda: nn.MultiheadAttention(D_MODEL, num_heads, batch_first=True),
        lambda: SeparateInputs(D_MODEL, num_heads, dropout=0.0),
        lambda: MethodSteps(D_MODEL, num_heads),
        lambda: FoldedHeads(D_MODEL, D_MODEL, D_MODEL, D_MODEL, num_heads, 0.0, bias=True),
        lambda: OneHides(D_MODEL, num_heads),
        lambda: ParameterOnly(D_MODEL, num_heads),
    ]
    single: list[Callable[[], nn.Module]] = [
        lambda: ParameterHead(D_MODEL),
        lambda: LinearHead(D_MODEL),
    ]
    return several + (single if num_heads == 1 else [])


@pytest.mark.parametrize(
    ("make_source", "make_target"),
    [pair for num_heads in (1, 4) for pair in product(forms(num_heads), repeat=2)],
)
def test_target_computes_what_the_source_computes(
    make_source: Callable[[], nn.Module], make_target: Callable[[], nn.Module]
) -> None:
    torch.manual_seed(0)
    source, target = make_source().double(), make_target().double()
    biased = not isinstance(target, SeparateInputs)
    for p in source.parameters():
        if p.dim() > 1 or biased:
            nn.init.normal_(p)
        else:
            nn.init.zeros_(p)
    for p in target.parameters():
        nn.init.normal_(p)
    x = torch.randn(2, 5, D_MODEL, dtype=torch.float64)
    assert convert(source, target) is target
    torch.testing.assert_close(run(target, x), run(source, x), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("bias", [True, False])
def test_key_and_value_of_other_widths_convert_both_ways(bias: bool) -> None:
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(8, 2, bias=bias, kdim=5, vdim=3, batch_first=True).double()
    for p in theirs.parameters():
        nn.init.normal_(p)
    ours = MultiHeadAttention(8, 2, key_dim=5, value_dim=3, bias=bias).double()
    query, key, value = (torch.randn(2, 4, n, dtype=torch.float64) for n in (8, 5, 3))
    out = convert(theirs, ours)(query, key, value)
    expected, _ = theirs(query, key, value)
    torch.testing.assert_close(out, expected, rtol=1e-10, atol=1e-10)
    folded = convert(ours, FoldedHeads(5, 8, 3, 8, 2, 0.0, bias=bias).double())
    torch.testing.assert_close(folded(query, key, value, None), out, rtol=1e-10, atol=1e-10)
    back = convert(
        folded, nn.MultiheadAttention(8, 2, bias=bias, kdim=5, vdim=3, batch_first=True).double()
    )
    for got, want in zip(back.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(got, want)


def test_heads_narrower_than_usual_convert_between_modules_that_have_them() -> None:
    source = MultiHeadAttention(8, 3, d_k=5, d_v=2)
    target = convert(source, MultiHeadAttention(8, 3, d_k=5, d_v=2))
    x = torch.randn(2, 4, 8)
    assert torch.equal(target(x), source(x))


def test_missing_bias_becomes_zero() -> None:
    target = MultiHeadAttention(8, 2)
    assert target.W_q.bias.any()
    convert(SeparateInputs(8, 2), target)
    for layer in (target.W_q, target.W_k, target.W_v, target.W_o):
        assert not layer.bias.any()


def test_zero_bias_fits_where_there_is_none() -> None:
    source = ParameterOnly(8, 2)
    convert(source, SeparateInputs(8, 2))
    nn.init.constant_(source.b_o, 0.1)
    with pytest.raises(ValueError, match="target: got W_o without a bias, expected one"):
        convert(source, SeparateInputs(8, 2))


def test_weights_take_on_the_dtype_of_the_target() -> None:
    target = convert(MultiHeadAttention(8, 2).double(), MethodSteps(8, 2))
    assert {p.dtype for p in target.parameters()} == {torch.float32}


def test_target_keeps_its_own_tensors_and_still_learns() -> None:
    source, target = MultiHeadAttention(8, 2), ParameterOnly(8, 2)
    parameters = list(target.parameters())
    convert(source, target)
    assert all(a is b for a, b in zip(parameters, target.parameters(), strict=True))
    target(torch.randn(1, 3, 8))[0].sum().backward()
    assert all(p.grad is not None for p in parameters)
    nn.init.zeros_(target.W_q)
    assert source.W_q.weight.all()


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (MultiHeadAttention(8, 4), "target: got num_heads = 4, expected 2, as in source"),
        (MultiHeadAttention(6, 2), r"target: got W_q of shape \(6, 6\) \(out, in\), expected"),
        (MultiHeadAttention(8, 2, value_dim=3), r"target: got W_v of shape \(8, 3\)"),
        (nn.Linear(8, 8), "target: got Linear, expected nn.MultiheadAttention or"),
        (nn.MultiheadAttention(8, 2, add_bias_kv=True), "add_bias_kv or add_zero_attn"),
        (nn.MultiheadAttention(8, 2, add_zero_attn=True), "add_bias_kv or add_zero_attn"),
    ],
)
def test_impossible_conversion_is_refused_and_changes_nothing(
    target: nn.Module, message: str
) -> None:
    before = copy.deepcopy(target.state_dict())
    with pytest.raises(ValueError, match=message):
        convert(MultiHeadAttention(8, 2), target)
    for name, value in target.state_dict().items():
        assert torch.equal(value, before[name])


def test_projections_are_views_in_the_layout_of_linear() -> None:
    module = ParameterOnly(6, 2)
    weight, bias = projections(module)["W_v"]
    assert bias is module.b_v
    assert torch.equal(weight, module.W_v.T)
    assert weight.data_ptr() == module.W_v.data_ptr()


def normed() -> nn.Module:
    target = MultiHeadAttention(8, 2)
    nn.utils.parametrizations.weight_norm(target.W_q)
    return target


def normed_as_of_old() -> nn.Module:
    target = MultiHeadAttention(8, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        nn.utils.weight_norm(target.W_q)
    return target


def tied(what: str) -> nn.Module:
    target = MultiHeadAttention(8, 2)
    setattr(target.W_k, what, getattr(target.W_q, what))
    return target


def wrapped() -> nn.Module:
    target = MultiHeadAttention(8, 2)
    target.W_v = nn.Sequential(target.W_v)
    return target


def faked() -> nn.Module:
    with FakeTensorMode():
        return MultiHeadAttention(8, 2)


UNFIT = [
    (normed, "got W_q that is computed from others, expected a parameter"),
    (normed_as_of_old, "got W_q that is computed from others, expected a parameter"),
    (lambda: tied("weight"), "got W_k and W_q that share a parameter"),
    (lambda: tied("bias"), "got W_k and W_q that share a parameter"),
    (wrapped, "got Sequential for W_v, expected nn.Linear"),
    (lambda: MultiHeadAttention(8, 2).to("meta"), "got W_q without values"),
    (lambda: nn.MultiheadAttention(8, 2, device="meta"), "got W_q without values"),
    (faked, "got W_q without values"),
]


@pytest.mark.parametrize(("make", "reason"), UNFIT)
def test_target_that_would_not_compute_the_same_is_refused(
    make: Callable[[], nn.Module], reason: str
) -> None:
    target = make()
    before = [id(p) for p in target.parameters()], [p._version for p in target.parameters()]
    with pytest.raises(ValueError, match=f"target: {reason}"):
        convert(MultiHeadAttention(8, 2), target)
    after = [id(p) for p in target.parameters()], [p._version for p in target.parameters()]
    assert before == after


@pytest.mark.parametrize(("make", "reason"), UNFIT[-4:])
def test_source_without_values_or_linear_layers_is_refused_by_its_name(
    make: Callable[[], nn.Module], reason: str
) -> None:
    with pytest.raises(ValueError, match=f"source: {reason}"):
        convert(make(), MultiHeadAttention(8, 2))


@pytest.mark.parametrize("make", [normed, normed_as_of_old, lambda: tied("weight")])
def test_source_may_be_computed_or_tied(make: Callable[[], nn.Module]) -> None:
    source, x = make(), torch.randn(2, 3, 8)
    torch.testing.assert_close(convert(source, MultiHeadAttention(8, 2))(x), source(x))


def test_target_that_shares_another_parameter_with_its_source_is_refused() -> None:
    source, target = MultiHeadAttention(8, 2), MultiHeadAttention(8, 2)
    target.W_k.weight = source.W_q.weight
    with pytest.raises(ValueError, match="target: got W_k and W_q that share a parameter"):
        convert(source, target)
    assert convert(source, source) is source


def test_module_made_for_inference_is_a_target_too() -> None:
    source = MultiHeadAttention(8, 2)
    with torch.inference_mode():
        target = convert(source, ParameterOnly(8, 2))
    assert torch.equal(target.W_q, source.W_q.weight.T)


def test_complex_weights_are_refused() -> None:
    source = MultiHeadAttention(8, 2)
    source.W_q.weight = nn.Parameter(source.W_q.weight.to(torch.complex64))
    with pytest.raises(ValueError, match=r"source: got W_q of torch.complex64, expected"):
        convert(source, MultiHeadAttention(8, 2))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"num_kv_heads": 1}, "num_kv_heads"),
        ({"rotary": Rotary(4), "alibi": True}, "rotary, alibi"),
        ({"window": 3, "learned_sink": True, "qk_norm": True}, "window, learned_sink, qk_norm"),
    ],
)
def test_option_that_no_other_form_has_is_refused(options: dict[str, Any], named: str) -> None:
    """Converted without it, the two would compute different things."""
    special, plain = MultiHeadAttention(8, 2, **options), MultiHeadAttention(8, 2)
    for source, target, name in ((special, plain, "source"), (plain, special, "target")):
        with pytest.raises(ValueError, match=f"{name}: got MultiHeadAttention with {named}, exp"):
            convert(source, target)


@pytest.mark.parametrize("part", ["weight", "bias"])
def test_target_that_cannot_hold_the_numbers_is_refused(part: str) -> None:
    source, target = MultiHeadAttention(8, 2), MultiHeadAttention(8, 2).half()
    nn.init.constant_(getattr(source.W_v, part), 1e6)
    before = [p.clone() for p in target.parameters()]
    with pytest.raises(ValueError, match=r"target: got W_v of torch.float16, expected .* 1e\+06"):
        convert(source, target)
    assert all(map(torch.equal, before, target.parameters()))
    getattr(source.W_v, part).data.fill_(torch.inf)  # which every dtype holds
    assert getattr(convert(source, target).W_v, part).isinf().all()
