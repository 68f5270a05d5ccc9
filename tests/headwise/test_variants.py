"""What each of the notebooks' forms has of its own; that they compute the same is in
test_equivalence.
"""

import copy
import inspect
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from headwise import MultiHeadAttention, causal_mask, padding_mask
from headwise.convert import convert
from headwise.masks import from_valid_lens
from headwise.variants import FoldedHeads, MethodSteps, OneHides, ParameterOnly, SeparateInputs

EXACT = {"rtol": 1e-10, "atol": 1e-10}


def folded() -> FoldedHeads:
    return FoldedHeads(12, 12, 12, 12, 4, 0.0)


Make = Callable[[], nn.Module]
Call = Callable[[nn.Module, Tensor, Tensor | None], Tensor]
FORMS: dict[str, tuple[Make, Call]] = {
    "SeparateInputs": (
        lambda: SeparateInputs(12, 4, dropout=0.0),
        lambda m, x, mask: m(x, x, x, None if mask is None else mask.expand(len(x), -1, -1)),
    ),
    "MethodSteps": (lambda: MethodSteps(12, 4), lambda m, x, mask: m(x, x, x, mask)),
    "FoldedHeads": (
        folded,
        lambda m, x, mask: m(x, x, x, None if mask is None else mask.sum(-1).expand(len(x), -1)),
    ),
    "OneHides": (
        lambda: OneHides(12, 4),
        lambda m, x, mask: m(x, None if mask is None else (~mask).long()),
    ),
    "ParameterOnly": (lambda: ParameterOnly(12, 4), lambda m, x, mask: m(x, mask)[0]),
}
every_form = pytest.mark.parametrize("name", FORMS)


def randn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(
    ("cls", "init", "forward"),
    [
        (SeparateInputs, "d_model num_heads dropout", "query key value mask"),
        (MethodSteps, "d_model num_heads", "Q K V mask"),
        (
            FoldedHeads,
            "key_size query_size value_size num_hiddens num_heads dropout bias",
            "queries keys values valid_lens",
        ),
        (OneHides, "hidden_size num_heads", "hidden_state attention_mask"),
        (ParameterOnly, "d_model num_heads", "x mask"),
    ],
)
def test_signature_is_that_of_the_notebook(
    cls: Callable[..., nn.Module], init: str, forward: str
) -> None:
    assert list(inspect.signature(cls).parameters) == init.split()
    called = inspect.signature(cls.forward).parameters  # type: ignore[attr-defined]
    assert list(called) == ["self", *forward.split()]


@pytest.mark.parametrize("batch", [1, 2, 4])
def test_mask_of_batch_query_key_masks_the_batch_item_that_it_names(batch: int) -> None:
    """Four heads: at batch 4 the wrong axis would fit as well."""
    form, x = SeparateInputs(12, 4, dropout=0.0).double(), randn(batch, 5, 12)
    mask = torch.rand(batch, 5, 5, generator=torch.Generator().manual_seed(0)) > 0.5
    out = form(x, x, x, mask)
    for b in range(batch):
        item = x[b : b + 1]
        alone = form(item, item, item, mask[b : b + 1])
        torch.testing.assert_close(out[b : b + 1], alone, **EXACT)


@pytest.mark.parametrize("dtype", [torch.bool, torch.long, torch.float64])
def test_masks_may_be_numbers_zero_and_one(dtype: torch.dtype) -> None:
    x, mask = randn(2, 5, 12), causal_mask(5)
    for name in ("MethodSteps", "ParameterOnly", "SeparateInputs"):
        make, call = FORMS[name]
        form = make().double()
        assert torch.equal(call(form, x, mask.to(dtype)), call(form, x, mask))
    one_hides = OneHides(12, 4).double()
    assert torch.equal(one_hides(x, (~mask).to(dtype)), one_hides(x, ~mask))


def test_one_hides_where_the_others_show() -> None:
    x, ones = randn(2, 5, 12), torch.ones(5, 5)
    form = OneHides(12, 4).double()
    assert torch.equal(form(x, ones), form.W_o.bias.expand(2, 5, 12))
    assert torch.equal(form(x, 0 * ones), form(x))


def test_valid_lens_reach_every_head_of_their_batch_item() -> None:
    torch.manual_seed(0)
    form, x = folded().double(), randn(3, 5, 12)
    ours = convert(form, MultiHeadAttention(12, 4).double())
    for valid_lens in (torch.tensor([1, 5, 3]), torch.randint(0, 6, (3, 5))):
        expected = ours(x, mask=from_valid_lens(valid_lens, 5))
        torch.testing.assert_close(form(x, x, x, valid_lens), expected, **EXACT)


def test_folded_form_takes_inputs_of_three_widths_and_two_lengths() -> None:
    form = FoldedHeads(3, 4, 5, 12, 2, 0.0).double()
    out = form(randn(2, 6, 4), randn(2, 7, 3), randn(2, 7, 5), torch.tensor([3, 7]))
    assert out.shape == (2, 6, 12)


def test_steps_by_method_are_inverse_to_each_other() -> None:
    form, x = MethodSteps(12, 4), randn(2, 5, 12)
    heads = form.split_heads(x)
    assert heads.shape == (2, 4, 5, 3)
    assert torch.equal(form.combine_heads(heads), x)


def test_bias_is_where_the_notebook_has_it() -> None:
    def biased(form: nn.Module) -> bool:
        return any(p.dim() == 1 for p in form.parameters())

    assert not biased(SeparateInputs(12, 4))
    assert not biased(folded())
    assert biased(FoldedHeads(12, 12, 12, 12, 4, 0.0, bias=True))
    assert biased(MethodSteps(12, 4))
    assert biased(OneHides(12, 4))
    assert biased(ParameterOnly(12, 4))


@pytest.mark.parametrize(
    "form", [SeparateInputs(12, 4, dropout=0.9), FoldedHeads(12, 12, 12, 12, 4, 0.9)]
)
def test_dropout_acts_while_training_alone(form: nn.Module) -> None:
    x = torch.randn(2, 5, 12)
    inputs = (x, x, x, None)
    form.train()
    assert not torch.equal(form(*inputs), form(*inputs))
    form.eval()
    assert torch.equal(form(*inputs), form(*inputs))


def test_dropout_of_the_form_with_separate_inputs_is_a_tenth_by_default() -> None:
    assert SeparateInputs(12, 4).dropout == 0.1


@pytest.mark.no_cover  # a compiler reads our lines and runs none
@every_form
def test_form_compiles_in_one_graph(name: str) -> None:
    make, call = FORMS[name]
    form, x, mask = make().double(), randn(2, 5, 12), causal_mask(5)
    torch.compiler.reset()
    compiled = torch.compile(
        lambda x, mask: call(form, x, mask), fullgraph=True, backend="aot_eager"
    )
    torch.testing.assert_close(compiled(x, mask), call(form, x, mask), **EXACT)


@every_form
def test_form_runs_under_autocast(name: str) -> None:
    make, call = FORMS[name]
    form, x = make(), randn(2, 5, 12).float()
    expected = call(form, x, causal_mask(5))
    with torch.autocast("cpu", torch.bfloat16):
        out = call(form, x, causal_mask(5))
    torch.testing.assert_close(out.float(), expected, rtol=0.05, atol=0.05)


@every_form
def test_form_takes_non_contiguous_input(name: str) -> None:
    make, call = FORMS[name]
    form, x = make().double(), randn(12, 5, 2).permute(2, 1, 0)
    assert not x.is_contiguous()
    torch.testing.assert_close(call(form, x, None), call(form, x.contiguous(), None), **EXACT)


@every_form
@pytest.mark.parametrize("seq_len", [0, 1])
def test_form_takes_lengths_of_zero_and_one(name: str, seq_len: int) -> None:
    make, call = FORMS[name]
    form, x = make().double(), randn(2, seq_len, 12)
    for mask in (None, causal_mask(seq_len)):
        assert call(form, x, mask).shape == (2, seq_len, 12)


@every_form
def test_form_survives_state_dict_and_deep_copy(name: str) -> None:
    make, call = FORMS[name]
    form, other, x = make().double(), make().double(), randn(2, 5, 12)
    out = call(form, x, None)
    other.load_state_dict(form.state_dict())
    assert torch.equal(call(other, x, None), out)
    assert torch.equal(call(copy.deepcopy(form), x, None), out)


def test_padding_mask_of_the_library_fits_the_forms_that_take_one() -> None:
    x, mask = randn(2, 5, 12), padding_mask(torch.tensor([5, 2]))
    for form in (MethodSteps(12, 4).double(), MultiHeadAttention(12, 4).double()):
        out = form(x, x, x, mask)
        short = x[1:, :2]
        torch.testing.assert_close(out[1:, :2], form(short, short, short), **EXACT)
