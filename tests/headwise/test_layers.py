"""Encoder and decoder layers, held against PyTorch's own with the same weights."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from headwise import causal_mask, padding_mask
from headwise.convert import convert
from headwise.feed_forward import FeedForward
from headwise.layers import DecoderLayer, EncoderLayer, LayerCache, Residual
from headwise.multi_head import MultiHeadAttention

both_norms = pytest.mark.parametrize("norm_first", [False, True], ids=["post-LN", "pre-LN"])
both_layers = pytest.mark.parametrize("kind", [EncoderLayer, DecoderLayer])
LENGTHS = torch.tensor([5, 2, 4])
SRC_LENGTHS = torch.tensor([1, 6, 3])


def matched(ours: nn.Module, theirs: nn.Module) -> Iterator[tuple[nn.Module, nn.Module]]:
    """The parts of our layer and of PyTorch's that hold the same weights."""
    attentions = {"attention": "self_attn", "self_attention": "self_attn"}
    attentions["cross_attention"] = "multihead_attn"
    for name, part in ours.named_children():
        if isinstance(part, MultiHeadAttention):
            yield part, getattr(theirs, attentions[name])
        elif isinstance(part, Residual):
            yield part.norm, getattr(theirs, name.replace("residual_", "norm"))
        else:
            yield part.W_1, theirs.linear1
            yield part.W_2, theirs.linear2


def copy_weights(theirs: nn.Module, ours: nn.Module) -> None:
    """Give our layer the weights of PyTorch's."""
    for mine, other in matched(ours, theirs):
        if isinstance(mine, MultiHeadAttention):
            convert(other, mine)
        else:
            mine.load_state_dict(other.state_dict())


def gradients(module: nn.Module) -> list[Tensor]:
    """The gradients of one part, with the projections of attention packed as PyTorch packs them."""
    if isinstance(module, MultiHeadAttention):
        projections = (module.W_q, module.W_k, module.W_v)
        packed = [torch.cat([p.weight.grad for p in projections])]
        packed += [torch.cat([p.bias.grad for p in projections])]
        return [*packed, module.W_o.weight.grad, module.W_o.bias.grad]
    return [parameter.grad for parameter in module.parameters()]


def assert_same(ours: Any, theirs: Any) -> None:
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10)


def assert_same_gradients(ours: nn.Module, theirs: nn.Module) -> None:
    for mine, other in matched(ours, theirs):
        assert_same(gradients(mine), gradients(other))


def twins(kind: type, **options: Any) -> tuple[nn.Module, nn.Module]:
    """Our layer and PyTorch's, with the same weights, none of them still as initialised."""
    theirs_kind = {
        EncoderLayer: nn.TransformerEncoderLayer,
        DecoderLayer: nn.TransformerDecoderLayer,
    }[kind]
    torch.manual_seed(1)
    theirs = theirs_kind(8, 2, 12, dropout=0.0, batch_first=True, **options).double()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(torch.randn_like(parameter) / 4)
    ours = kind(8, 2, 12, dropout=0.0, **options).double()
    copy_weights(theirs, ours)
    return ours, theirs


def inputs(*shape: int) -> tuple[Tensor, Tensor]:
    """The same numbers twice, each with a gradient of its own."""
    x = torch.randn(*shape, dtype=torch.float64)
    return x.clone().requires_grad_(), x.clone().requires_grad_()


@both_norms
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("masked", [False, True])
def test_encoder_layer_equals_pytorch(norm_first: bool, activation: str, masked: bool) -> None:
    ours, theirs = twins(EncoderLayer, norm_first=norm_first, activation=activation)
    x, y = inputs(3, 5, 8)
    out = ours(x, padding_mask(LENGTHS, 5) if masked else None, is_causal=masked)
    expected = theirs(
        y,
        src_mask=~causal_mask(5) if masked else None,
        src_key_padding_mask=~padding_mask(LENGTHS, 5)[:, 0, 0] if masked else None,
    )
    assert_same(out, expected)
    upstream = torch.randn_like(out)
    out.backward(upstream)
    expected.backward(upstream)
    assert_same(x.grad, y.grad)
    assert_same_gradients(ours, theirs)


@both_norms
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("padded", [False, True])
def test_decoder_layer_equals_pytorch(norm_first: bool, activation: str, padded: bool) -> None:
    ours, theirs = twins(DecoderLayer, norm_first=norm_first, activation=activation)
    x, y = inputs(3, 5, 8)
    memory, other_memory = inputs(3, 6, 8)
    own, cross = padding_mask(LENGTHS, 5), padding_mask(SRC_LENGTHS, 6)
    out = ours(x, memory, own if padded else None, cross if padded else None)
    expected = theirs(
        y,
        other_memory,
        tgt_mask=~causal_mask(5),
        tgt_key_padding_mask=~own[:, 0, 0] if padded else None,
        memory_key_padding_mask=~cross[:, 0, 0] if padded else None,
    )
    assert_same(out, expected)
    upstream = torch.randn_like(out)
    out.backward(upstream)
    expected.backward(upstream)
    assert_same([x.grad, memory.grad], [y.grad, other_memory.grad])
    assert_same_gradients(ours, theirs)


@both_norms
def test_encoder_layer_gives_its_weights_on_request(norm_first: bool) -> None:
    layer = EncoderLayer(8, 2, norm_first=norm_first).double().eval()
    x = torch.randn(3, 5, 8, dtype=torch.float64)
    out, weights = layer(x, padding_mask(LENGTHS, 5), need_weights=True)
    assert_same(out, layer(x, padding_mask(LENGTHS, 5)))
    assert weights.shape == (3, 2, 5, 5)
    assert not weights[1, :, :, 2:].any()
    assert_same(weights.sum(-1), torch.ones(3, 2, 5, dtype=torch.float64))


@both_norms
def test_decoder_layer_gives_both_weights_on_request(norm_first: bool) -> None:
    layer = DecoderLayer(8, 2, norm_first=norm_first).double().eval()
    x, memory = torch.randn(3, 5, 8).double(), torch.randn(3, 6, 8).double()
    mask = padding_mask(SRC_LENGTHS, 6)
    out, weights, memory_weights = layer(x, memory, None, mask, need_weights=True)
    assert_same(out, layer(x, memory, None, mask))
    assert weights.shape == (3, 2, 5, 5)
    assert not weights.triu(1).any()
    assert memory_weights.shape == (3, 2, 5, 6)
    assert not memory_weights[0, :, :, 1:].any()


@both_norms
def test_decoder_layer_with_a_cache_equals_all_at_once(norm_first: bool) -> None:
    layer = DecoderLayer(8, 2, norm_first=norm_first).double().eval()
    x, memory = torch.randn(3, 5, 8).double(), torch.randn(3, 6, 8).double()
    mask, cross = padding_mask(LENGTHS, 5), padding_mask(SRC_LENGTHS, 6)
    cache = LayerCache()
    pieces = [
        layer(x[:, a:b], memory, mask[..., :b], cross, cache=cache)
        for a, b in ((0, 2), (2, 3), (3, 5))
    ]
    assert_same(torch.cat(pieces, dim=1), layer(x, memory, mask, cross))
    assert (cache.own.length, cache.memory.length) == (5, 6)


def test_residual_is_the_two_formulas() -> None:
    x, change = torch.randn(2, 3, 8), torch.randn(2, 3, 8)
    post = Residual(8, dropout=0.0)
    assert torch.equal(post.enter(x), x)
    torch.testing.assert_close(post.leave(x, change), post.norm(x + change))
    pre = Residual(8, dropout=0.0, norm_first=True)
    assert torch.equal(pre.enter(x), pre.norm(x))
    torch.testing.assert_close(pre.leave(x, change), x + change)


def test_dropout_acts_on_what_the_sublayer_adds_while_training_only() -> None:
    x, change = torch.randn(2, 3, 8), torch.randn(2, 3, 8)
    residual = Residual(8, dropout=1.0, norm_first=True)
    assert torch.equal(residual.leave(x, change), x)
    assert torch.equal(residual.eval().leave(x, change), x + change)


@both_layers
def test_dropout_reaches_every_part(kind: type) -> None:
    layer = kind(8, 2, dropout=0.3)
    shares = [m.p for m in layer.modules() if isinstance(m, nn.Dropout)]
    shares += [m.dropout for m in layer.modules() if isinstance(m, MultiHeadAttention)]
    assert shares == [0.3] * (4 if kind is EncoderLayer else 6)


@pytest.mark.no_cover  # a compiler reads our lines and runs none
@both_layers
@both_norms
def test_compiles_into_one_graph(kind: type, norm_first: bool) -> None:
    layer = kind(8, 2, norm_first=norm_first).double().eval()
    x = [torch.randn(3, 5, 8).double() for _ in range(1 if kind is EncoderLayer else 2)]
    # The eager backend: what is at stake is the graph, not the machine's C++ compiler.
    compiled = torch.compile(layer, fullgraph=True, backend="eager")
    assert_same(compiled(*x, padding_mask(LENGTHS, 5)), layer(*x, padding_mask(LENGTHS, 5)))


@both_layers
def test_copies_and_state_dicts_compute_the_same(kind: type) -> None:
    layer = kind(8, 2).eval()
    x = [torch.randn(3, 5, 8) for _ in range(1 if kind is EncoderLayer else 2)]
    other = kind(8, 2).eval()
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other(*x), layer(*x))
    assert torch.equal(copy.deepcopy(layer)(*x), layer(*x))


@both_layers
def test_one_position_is_enough(kind: type) -> None:
    ours, theirs = twins(kind)
    x = [torch.randn(2, 1, 8).double() for _ in range(1 if kind is EncoderLayer else 2)]
    assert_same(ours(*x), theirs(*x))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Residual(0), "d_model: got 0"),
        (lambda: Residual(8, dropout=-0.1), "dropout: got -0.1"),
        (lambda: EncoderLayer(-8, 2), "d_model: got -8"),
        (lambda: EncoderLayer(8, 3), "num_heads: got 3"),
        (lambda: DecoderLayer(8, 2, -1), "d_ff: got -1"),
        (lambda: DecoderLayer(8, 2, activation="swish"), "activation: got 'swish'"),
        (lambda: EncoderLayer(8, 2)(torch.randn(5, 8)), r"x: got shape \(5, 8\)"),
        (
            lambda: DecoderLayer(8, 2)(torch.randn(3, 5, 8), torch.randn(2, 6, 8)),
            r"memory: got shape \(2, 6, 8\), expected \(3, src_len, 8\)",
        ),
    ],
)
def test_wrong_input_is_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]


@both_layers
@both_norms
@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda x: x[..., :4], r"got shape \(3, 5, 4\), expected \(batch, seq_len, 8\)"),
        (lambda x: x.double(), "got dtype torch.float64, expected torch.float32, as the weights"),
        (lambda x: x.long(), "got dtype torch.int64"),
        (lambda x: x.to("meta"), "got device meta, expected cpu, as the weights"),
    ],
)
def test_wrong_input_is_named_wherever_the_norm_is(
    kind: type, norm_first: bool, change: Callable[[Tensor], Tensor], found: str
) -> None:
    x = torch.randn(3, 5, 8)
    inputs = [change(x), x] if kind is DecoderLayer else [change(x)]
    with pytest.raises(ValueError, match=f"^x: {found}"):
        kind(8, 2, norm_first=norm_first)(*inputs)
    for call in (Residual(8, norm_first=norm_first).enter, FeedForward(8)):
        with pytest.raises(ValueError, match=f"^x: {found}"):
            call(change(x))


def test_change_goes_by_its_own_name() -> None:
    x = torch.randn(3, 5, 8)
    with pytest.raises(ValueError, match=r"^change: got shape \(3, 4, 8\), expected \(3, 5, 8\)"):
        Residual(8).leave(x, x[:, 1:])


def test_memory_and_its_mask_go_by_their_own_names() -> None:
    layer, x, memory = DecoderLayer(8, 2), torch.randn(3, 5, 8), torch.randn(3, 6, 8)
    with pytest.raises(ValueError, match=r"^memory: got shape \(3, 6, 4\)"):
        layer(x, memory[..., :4])
    with pytest.raises(ValueError, match=r"^memory_mask: got shape \(5, 5\)"):
        layer(x, memory, None, causal_mask(5))
    with pytest.raises(ValueError, match=r"^mask: got shape \(6, 6\)"):
        layer(x, memory, causal_mask(6))


def test_refused_layer_draws_no_random_numbers() -> None:
    state = torch.get_rng_state()
    for options in ({"d_ff": 0}, {"dropout": 2.0}, {"activation": "swish"}, {"norm_first": 1}):
        with pytest.raises((ValueError, TypeError), match=next(iter(options))):
            EncoderLayer(8, 2, **options)
    assert torch.equal(torch.get_rng_state(), state)
