"""Every form of multi-head attention computes what nn.MultiheadAttention computes.

One matrix: form x mask x dtype, outputs and gradients of inputs and weights. The reference is
nn.MultiheadAttention(need_weights=False), which goes through SDPA and, unlike its other path,
gives zeros and not NaN where a query may see nothing.
"""

import copy
from collections.abc import Callable
from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn

from headwise import LinearHead, MultiHeadAttention, ParameterHead, variants
from headwise.convert import convert
from headwise.masks import (
    causal_mask,
    padding_mask,
    to_attn_mask,
    to_one_hides,
    to_valid_lens,
)
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
