"""Every module and converter can be exported, traced, compiled, vmapped and faked.

Where values cannot be read, the checks that need them are left out. What cannot be done says so
in its docstring: padding_mask without a length, convert and Transformer.generate read values to do
their work.
"""

import inspect
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from right_calls import MODULES, public, published
from torch import Tensor, nn
from torch._subclasses import FakeTensorMode

from headwise import LinearHead, MultiHeadAttention, ParameterHead, masks
from headwise.alibi import alibi_bias
from headwise.attention import attention, fused_attention
from headwise.block import Block
from headwise.decoder_only import DecoderOnly
from headwise.feed_forward import FeedForward, SwiGLU
from headwise.flash import flash_attention
from headwise.heads import fold_heads, merge_heads, share_heads, split_heads, unfold_heads
from headwise.kernels import triton_attention
from headwise.latent import LatentAttention
from headwise.layers import DecoderLayer, EncoderLayer, Residual
from headwise.models.minilm import MiniLM
from headwise.positional import LearnedPositions, SinusoidalPositions
from headwise.rms_norm import RMSNorm
from headwise.rotary import Rotary, halves_to_pairs, pairs_to_halves
from headwise.transformer import Decoder, Encoder, Transformer
from headwise.variants import FoldedHeads, MethodSteps, OneHides, ParameterOnly, SeparateInputs
from headwise.windows import near, window_mask


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


def decoder(num_layers: int = 1, **options: Any) -> DecoderOnly:
    return DecoderOnly(9, 8, 2, num_layers, max_len=20, **options)


def left_padded(model: DecoderOnly) -> nn.Module:
    return Wrapped(
        lambda tokens, mask, where: model(tokens, mask[:, None, None], positions=where), model
    )


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
    "Transformer, max_len and lengths": Case(
        lambda: lengths_of(transformer(max_len=20)), tokens_and_lengths, ((1,), (1,), ())
    ),
    "Transformer, decode": Case(
        lambda: (lambda t: Wrapped(lambda tgt, memory: t.decode(tgt, memory, None), t))(
            transformer()
        ),
        lambda n: (tokens(n)[0], *x(n)),
        TWO,
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
    "RMSNorm": Case(lambda: RMSNorm(8), x, ONE),
    "SwiGLU": Case(lambda: SwiGLU(8), x, ONE),
    "Block": Case(lambda: Block(MultiHeadAttention(8, 2)), x, ONE),
    "MiniLM": Case(
        lambda: MiniLM(published.WORDS, **published.SIZES | {"max_len": 20}),
        lambda n: tokens(n)[:1],
        ONE,
    ),
    "DecoderOnly": Case(lambda: decoder(2, num_kv_heads=1), lambda n: tokens(n)[:1], ONE),
    "DecoderOnly, learned": Case(
        lambda: decoder(positions="learned", norm="layer", activation="gelu", tied=False),
        lambda n: tokens(n)[:1],
        ONE,
    ),
    "DecoderOnly, left-padded": Case(
        lambda: left_padded(decoder()),
        lambda n: (*tokens(n)[:1], torch.arange(n).expand(2, n) > 0, torch.arange(n)),
        ((1,), (1,), (0,)),
    ),
    "flash_attention": Case(
        function(lambda *qkvm: flash_attention(*qkvm, is_causal=True, window=3, sinks=1, tile=2)),
        qkv_mask,
        ((2,), (2,), (2,), (0, 1)),
    ),
    "triton_attention": Case(
        function(lambda *qkv: triton_attention(*qkv, is_causal=True, tile=16)),
        qkv,
        ((2,), (2,), (2,)),
    ),
    **{
        f"LatentAttention, {absorbed=}": Case(
            lambda absorbed=absorbed: (
                lambda mla: Wrapped(lambda x: mla(x, is_causal=True, absorbed=absorbed), mla)
            )(LatentAttention(8, 2, 6, Rotary(4))),
            x,
            ONE,
        )
        for absorbed in (False, True)
    },
}


def of_today(**options: Any) -> Callable[[], nn.Module]:
    """Every option at once, as a causal layer."""

    def make() -> nn.Module:
        rotary = Rotary(4, layout="pairs")
        extra = {"num_kv_heads": 1, "rotary": rotary, "alibi": True, "window": 3, "sinks": 1}
        layer = MultiHeadAttention(8, 2, **extra, learned_sink=True, qk_norm=True)
        return Wrapped(lambda x: layer(x, is_causal=True, **options), layer)

    return make


def whole(n: int) -> tuple[Tensor, ...]:
    return (torch.arange(n),)


CASES |= {
    "MultiHeadAttention, of today": Case(of_today(), x, ONE),
    "MultiHeadAttention, of today, weights": Case(of_today(need_weights=True), x, ONE),
    "MultiHeadAttention, causal with padding": Case(
        lambda: (lambda mha: Wrapped(lambda x, m: mha(x, mask=m, is_causal=True), mha))(
            MultiHeadAttention(8, 2)
        ),
        lambda n: (*x(n), *padding(n)),
        ((1,), (3,)),
    ),
    "Rotary": Case(
        lambda: Wrapped(Rotary(4, rotary_dim=2)),
        lambda n: (qkv(n)[0], torch.arange(n)),
        ((2,), (0,)),
    ),
    "share_heads": Case(function(lambda x: share_heads(x, 4)), lambda n: qkv(n)[:1], ((2,),)),
    "halves_to_pairs": Case(
        function(lambda w: pairs_to_halves(halves_to_pairs(w, 2), 1)),
        lambda n: (torch.randn(8, n),),
        ONE,
    ),
    "alibi_bias": Case(function(lambda at: alibi_bias(3, at, at)), whole, ((0,),)),
    "near": Case(function(lambda at: near(at, at, 2, 1)), whole, ((0,),)),
    "window_mask": Case(function(lambda x: window_mask(x.size(1), window=2)), x, ONE),
}
every = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
# Nearly all that runs below is PyTorch's own, and takes half as long again if coverage watches. The
# compiler reads our lines and runs none; the exporter runs them, and is watched at functions.
unwatched = pytest.mark.no_cover
functions_watched = pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=name, marks=() if name.islower() else unwatched)
        for name, case in CASES.items()
    ],
)


def test_every_module_and_every_function_of_tensors_has_a_case() -> None:
    found = {name: thing for module in MODULES for name, thing in public(module).items()}
    modules = {
        name
        for name, thing in found.items()
        if inspect.isclass(thing) and issubclass(thing, nn.Module)
    }
    functions = {name for name in found if name.startswith(("attention.", "heads.", "masks."))}
    missing = {name.split(".")[1] for name in modules | functions} - {
        name.partition(",")[0] for name in CASES
    }
    assert missing == {"Writer"}  # the part of DecoderOnly that writes: it computes nothing alone


def ready(case: Case) -> nn.Module:
    torch.manual_seed(0)
    return case.module().eval()


def assert_same(ours: Any, theirs: Any) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


@functions_watched
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
    traced = torch.jit.trace(module, case.inputs(5), check_trace=False)  # as that is done here
    for n in (5, 7):
        inputs = case.inputs(n)
        assert_same(traced(*inputs), module(*inputs))


@every
@unwatched
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
