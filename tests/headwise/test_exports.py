"""Every module and converter can be exported, traced, compiled, vmapped and faked.

Where values cannot be read, the checks that need them are left out. What cannot be done says so
in its docstring: padding_mask without a length, and convert, read values to do their work.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses import FakeTensorMode

from headwise import LinearHead, MultiHeadAttention, ParameterHead, masks
from headwise.attention import attention, fused_attention
from headwise.feed_forward import FeedForward
from headwise.heads import fold_heads, merge_heads, split_heads, unfold_heads
from headwise.layers import DecoderLayer, EncoderLayer, Residual
from headwise.positional import LearnedPositions, SinusoidalPositions
from headwise.transformer import Decoder, Encoder, Transformer
from headwise.variants import FoldedHeads, MethodSteps, OneHides, ParameterOnly, SeparateInputs


class Wrapped(nn.Module):
    """A function as a module, or one method of a module."""

    def __init__(self, function: Callable[..., Any], *parts: nn.Module) -> None:
        super().__init__()
        self.function, self.parts = function, nn.ModuleList(parts)

    def forward(self, *inputs: Tensor) -> Any:
        return self.function(*inputs)


class Case(NamedTuple):
    """What to run, and its inputs of a length; axes[i] are the axes of input i that grow."""

    module: Callable[[], nn.Module]
    inputs: Callable[[int], tuple[Tensor, ...]]
    axes: tuple[tuple[int, ...], ...]


def x(n: int) -> tuple[Tensor, ...]:
    return (torch.randn(2, n, 8),)


def three(n: int) -> tuple[Tensor, ...]:
    return (*x(n), *x(n), *x(n))


def with_mask(n: int) -> tuple[Tensor, ...]:
    return (*x(n), masks.causal_mask(n))


def qkv(n: int) -> tuple[Tensor, ...]:
    return tuple(torch.randn(2, 2, n, 4) for _ in range(3))


def qkv_mask(n: int) -> tuple[Tensor, ...]:
    return (*qkv(n), masks.causal_mask(n))


def lengths(n: int) -> tuple[Tensor, ...]:
    return (torch.tensor([n, 1]),)


def tokens(n: int) -> tuple[Tensor, ...]:
    return torch.randint(1, 9, (2, n)), torch.randint(1, 9, (2, n))


def tokens_and_lengths(n: int) -> tuple[Tensor, ...]:
    return (*tokens(n), torch.tensor([n, 1]))


def padding(n: int) -> tuple[Tensor, ...]:
    return (masks.padding_mask(torch.tensor([n, 1]), n),)


def square(n: int) -> tuple[Tensor, ...]:
    return (masks.causal_mask(n),)


def transformer(**options: Any) -> Transformer:
    return Transformer(9, 9, d_model=8, num_heads=2, num_layers=1, **options)


def function(run: Callable[..., Any]) -> Callable[[], nn.Module]:
    return lambda: Wrapped(run)


def layer(kind: type[nn.Module], **options: Any) -> Callable[[], nn.Module]:
    return lambda: kind(8, 2, **options)


def lengths_of(model: Transformer) -> nn.Module:
    return Wrapped(lambda src, tgt, n: model(src, tgt, src_lengths=n), model)


ONE, TWO, THREE = ((1,),), ((1,), (1,)), ((1,), (1,), (1,))
MASKED = ((1,), (0, 1))
CASES = {
    "attention": Case(function(attention), qkv_mask, ((2,), (2,), (2,), (0, 1))),
    "fused_attention": Case(
        function(lambda *qkv: fused_attention(*qkv, is_causal=True)), qkv, ((2,), (2,), (2,))
    ),
    "split_heads": Case(function(lambda x: split_heads(x, 2)), x, ONE),
    "merge_heads": Case(function(merge_heads), lambda n: qkv(n)[:1], ((2,),)),
    "fold_heads": Case(function(lambda x: fold_heads(x, 2)), x, ONE),
    "unfold_heads": Case(function(lambda x: unfold_heads(x, 2)), x, ONE),
    "ParameterHead": Case(lambda: ParameterHead(8), with_mask, MASKED),
    "LinearHead": Case(lambda: LinearHead(8), with_mask, MASKED),
    "MultiHeadAttention": Case(layer(MultiHeadAttention), x, ONE),
    "MultiHeadAttention, weights": Case(
        lambda: (lambda mha: Wrapped(lambda x: mha(x, need_weights=True, is_causal=True), mha))(
            MultiHeadAttention(8, 2)
        ),
        x,
        ONE,
    ),
    "FeedForward": Case(lambda: FeedForward(8), x, ONE),
    "Residual": Case(
        lambda: (lambda r: Wrapped(lambda x: r.leave(x, r.enter(x)), r))(Residual(8)), x, ONE
    ),
    "EncoderLayer": Case(layer(EncoderLayer), with_mask, MASKED),
    "EncoderLayer, pre-LN": Case(layer(EncoderLayer, norm_first=True), x, ONE),
    "DecoderLayer": Case(layer(DecoderLayer), lambda n: (*x(n), *x(n)), TWO),
    "Encoder": Case(lambda: Encoder([EncoderLayer(8, 2)]), x, ONE),
    "Decoder": Case(lambda: Decoder([DecoderLayer(8, 2)]), lambda n: (*x(n), *x(n)), TWO),
    "SinusoidalPositions": Case(SinusoidalPositions, x, ONE),
    "LearnedPositions": Case(lambda: LearnedPositions(20, 8), x, ONE),
    "Transformer": Case(transformer, tokens, TWO),
    "Transformer, max_len": Case(lambda: transformer(max_len=20), tokens, TWO),
    "Transformer, lengths": Case(
        lambda: lengths_of(transformer()), tokens_and_lengths, ((1,), (1,), ())
    ),
    "SeparateInputs": Case(layer(SeparateInputs), three, THREE),
    "MethodSteps": Case(layer(MethodSteps), three, THREE),
    "FoldedHeads": Case(
        lambda: FoldedHeads(8, 8, 8, 8, 2, 0.0), lambda n: (*three(n), *lengths(n)), (*THREE, ())
    ),
    "OneHides": Case(layer(OneHides), lambda n: (*x(n), (~masks.causal_mask(n)).long()), MASKED),
    "ParameterOnly": Case(layer(ParameterOnly), with_mask, MASKED),
    "causal_mask": Case(function(lambda x: masks.causal_mask(x.size(1))), x, ONE),
    "padding_mask": Case(function(lambda n: masks.padding_mask(n, 9)), lengths, ((),)),
    "combine": Case(function(masks.combine), lambda n: (*square(n), *padding(n)), ((0, 1), (3,))),
    "to_sdpa": Case(function(lambda m: masks.to_sdpa(m) & m), square, ((0, 1),)),
    "from_sdpa": Case(function(lambda m: masks.from_sdpa(m) & m), square, ((0, 1),)),
    "to_attn_mask": Case(
        function(lambda m: masks.to_attn_mask(m, (2, 2, m.size(3), m.size(3)))), padding, ((3,),)
    ),
    "from_attn_mask": Case(
        function(lambda m: masks.from_attn_mask(m[None].expand(4, -1, -1), 2)), square, ((0, 1),)
    ),
    "to_key_padding_mask": Case(function(masks.to_key_padding_mask), padding, ((3,),)),
    "from_key_padding_mask": Case(function(masks.from_key_padding_mask), square, ((0, 1),)),
    "to_additive": Case(function(masks.to_additive), square, ((0, 1),)),
    "from_additive": Case(
        function(lambda m: masks.from_additive(masks.to_additive(m))), square, ((0, 1),)
    ),
    "to_attention_mask": Case(function(masks.to_attention_mask), padding, ((3,),)),
    "from_attention_mask": Case(
        function(lambda m: masks.from_attention_mask(m.long())), square, ((0, 1),)
    ),
    "to_valid_lens": Case(function(masks.to_valid_lens), padding, ((3,),)),
    "from_valid_lens": Case(function(lambda n: masks.from_valid_lens(n, 9)), lengths, ((),)),
    "to_zero_hides": Case(function(masks.to_zero_hides), square, ((0, 1),)),
    "from_zero_hides": Case(function(lambda m: masks.from_zero_hides(m.long())), square, ((0, 1),)),
    "to_one_hides": Case(function(masks.to_one_hides), square, ((0, 1),)),
    "from_one_hides": Case(function(lambda m: masks.from_one_hides(m.long())), square, ((0, 1),)),
}
# Coverage would watch all that PyTorch does, and what of ours runs here, other tests run too.
pytestmark = pytest.mark.no_cover
every = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def ready(case: Case) -> nn.Module:
    torch.manual_seed(0)
    return case.module().eval()


def assert_same(ours: Any, theirs: Any) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


@every
def test_exports_for_every_length(case: Case) -> None:
    module, length = ready(case), torch.export.Dim("length", min=2, max=20)
    shapes = tuple(dict.fromkeys(axes, length) for axes in case.axes)
    signature = {"inputs": shapes} if isinstance(module, Wrapped) else shapes
    exported = torch.export.export(module, case.inputs(5), dynamic_shapes=signature).module()
    for n in (5, 7):
        inputs = case.inputs(n)
        assert_same(exported(*inputs), module(*inputs))


@every
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore::DeprecationWarning")
def test_traces_for_every_length(case: Case) -> None:
    module = ready(case)
    traced = torch.jit.trace(module, case.inputs(5))
    for n in (5, 7):
        inputs = case.inputs(n)
        assert_same(traced(*inputs), module(*inputs))


@every
def test_compiles_into_one_graph(case: Case) -> None:
    module, inputs = ready(case), case.inputs(5)
    torch.compiler.reset()
    compiled = torch.compile(module, fullgraph=True, backend="eager")
    assert_same(compiled(*inputs), module(*inputs))


@every
def test_vmaps(case: Case) -> None:
    module = ready(case)
    several = [case.inputs(5) for _ in range(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that vmap of SDPA is slow
        together = torch.vmap(module)(*(torch.stack(one) for one in zip(*several, strict=True)))
    for i, inputs in enumerate(several):
        one = module(*inputs)
        parts = [t[i] for t in together] if isinstance(together, tuple) else together[i]
        assert_same(parts, list(one) if isinstance(one, tuple) else one)


@every
def test_runs_on_fake_tensors(case: Case) -> None:
    real = ready(case)(*case.inputs(5))
    with FakeTensorMode():
        fake = ready(case)(*(torch.empty_like(x) for x in case.inputs(5)))
    first, one = (fake[0], real[0]) if isinstance(fake, tuple) else (fake, real)
    assert first.shape == one.shape and first.dtype == one.dtype
