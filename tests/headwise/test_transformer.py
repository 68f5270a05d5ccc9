"""The whole model: against nn.Transformer, cached against uncached, and what may see what."""

import copy
import itertools
import re
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from headwise import causal_mask
from headwise.layers import DecoderLayer, EncoderLayer
from headwise.positional import sinusoidal
from headwise.transformer import Decoder, Encoder, Transformer

PAD, BOS, EOS = 0, 1, 2
SRC = torch.tensor([[5, 6, 7, 8, 3, 4], [9, 4, PAD, PAD, PAD, PAD], [3, 3, 4, 5, PAD, PAD]])
TGT = torch.tensor([[BOS, 6, 7, 8, 5], [BOS, 4, EOS, PAD, PAD], [BOS, 3, 4, EOS, PAD]])


both_norms = pytest.mark.parametrize("norm_first", [False, True], ids=["post-LN", "pre-LN"])


def assert_same(ours: Any, theirs: Any) -> None:
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10)


def model(**options: Any) -> Transformer:
    torch.manual_seed(0)
    sizes = {"d_model": 8, "num_heads": 2, "num_layers": 2, "d_ff": 12, "dropout": 0.0}
    return Transformer(10, 9, **{**sizes, **options}).double()


def shaken(module: nn.Module) -> nn.Module:
    """The module with no weight left as it was initialised, norms and biases included."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter) / 4)
    return module


def renamed(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Tensors of nn.Transformer, weights or their gradients, under the names that ours have."""
    found = {}
    for name, tensor in tensors.items():
        stack = name.partition(".")[0]
        own = "attention" if stack == "encoder" else "self_attention"
        for theirs, ours in (
            (".self_attn.", f".{own}."),
            (".multihead_attn.", ".cross_attention."),
            (".out_proj.", ".W_o."),
            (".linear", ".feed_forward.W_"),
        ):
            name = name.replace(theirs, ours)
        name = re.sub(r"\.norm(\d)\.", r".residual_\1.norm.", name)
        if "in_proj_" in name:
            for letter, part in zip("qkv", tensor.chunk(3), strict=True):
                found[name.replace("in_proj_", f"W_{letter}.")] = part
        else:
            found[name] = tensor
    return found


def gradients(module: nn.Module) -> dict[str, Tensor]:
    return {name: parameter.grad for name, parameter in module.named_parameters()}


@both_norms
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # a remark on PyTorch's own speed
def test_equals_nn_transformer(norm_first: bool, activation: str) -> None:
    ours = model(norm_first=norm_first, activation=activation)
    theirs = nn.Transformer(
        8, 2, 2, 2, 12, 0.0, activation, batch_first=True, norm_first=norm_first
    ).double()
    weights = renamed(shaken(theirs).state_dict())
    around = {name for name in ours.state_dict() if not name.startswith(("encoder", "decoder"))}
    assert set(weights) == set(ours.state_dict()) - around
    ours.load_state_dict(weights, strict=False)

    def their_logits(src: Tensor, tgt: Tensor) -> Tensor:
        hidden = theirs(
            src,
            tgt,
            tgt_mask=~causal_mask(5),
            src_key_padding_mask=SRC == PAD,
            tgt_key_padding_mask=TGT == PAD,
            memory_key_padding_mask=SRC == PAD,
        )
        return hidden @ ours.W_vocab.weight.T

    logits = ours(SRC, TGT)
    expected = their_logits(ours.embed_src(SRC), ours.embed_tgt(TGT))
    assert_same(logits, expected)

    upstream = torch.randn_like(logits)
    logits.backward(upstream)
    found = {name: gradient.clone() for name, gradient in gradients(ours).items()}
    ours.zero_grad()
    expected.backward(upstream)
    wanted = renamed(gradients(theirs))
    wanted |= {name: gradients(ours)[name] for name in around}
    assert_same(found, wanted)


def test_embedding_is_scaled_and_positioned() -> None:
    transformer = model()
    code = sinusoidal(6, 8, dtype=torch.float64)
    assert_same(transformer.embed_src(SRC), transformer.src_embedding(SRC) * 8**0.5 + code)
    late = transformer.tgt_embedding(TGT[:, 3:]) * 8**0.5 + code[3:5]
    assert_same(transformer.embed_tgt(TGT[:, 3:], 3), late)


def test_learned_positions_of_source_and_target_are_their_own() -> None:
    transformer = model(max_len=7)
    assert transformer.src_positions.weight is not transformer.tgt_positions.weight
    assert transformer.src_positions.weight.shape == (7, 8)


def ending_after(transformer: Transformer, *lengths: int) -> Transformer:
    """The model, made to write EOS as the last of so many tokens in each row, and never PAD."""

    def rank(_: nn.Module, inputs: tuple[Tensor], logits: Tensor) -> Tensor:
        step = next(steps)
        logits = logits.clone()
        logits[:, -1, PAD] = -100
        logits[:, -1, EOS] = torch.tensor([100.0 if step == n else -100.0 for n in lengths])
        return logits

    steps = itertools.count(1)
    transformer.W_vocab.register_forward_hook(rank)
    return transformer


def test_finished_rows_are_padded_while_others_go_on() -> None:
    tokens = ending_after(shaken(model()), 4, 1, 2).generate(SRC, 9, BOS, EOS)
    assert (tokens == EOS).nonzero().tolist() == [[0, 3], [1, 0], [2, 1]]
    assert (tokens == PAD).sum(1).tolist() == [0, 3, 2]
    assert tokens.shape == (3, 4)


@both_norms
@pytest.mark.parametrize("max_len", [None, 20])
def test_cached_generation_equals_uncached(norm_first: bool, max_len: int | None) -> None:
    transformer = shaken(model(norm_first=norm_first, max_len=max_len, num_layers=3)).eval()
    tokens, logits = ending_after(copy.deepcopy(transformer), 12, 5, 2).generate(
        SRC, 15, BOS, EOS, need_logits=True
    )
    slow_tokens, slow_logits = ending_after(transformer, 12, 5, 2).generate(
        SRC, 15, BOS, EOS, use_cache=False, need_logits=True
    )
    assert torch.equal(tokens, slow_tokens)
    assert_same(logits, slow_logits)
    assert logits.shape == (3, 12, 9)


def test_generated_tokens_are_what_forward_ranks_first() -> None:
    transformer = shaken(model()).eval()
    tokens = transformer.generate(SRC, 6, BOS, EOS)
    start = torch.full((3, 1), BOS)
    logits = transformer(SRC, torch.cat((start, tokens[:, :-1]), dim=1))
    chosen = logits.argmax(-1)
    assert torch.equal(chosen[tokens != PAD], tokens[tokens != PAD])


def biased(token: int, **options: Any) -> Transformer:
    """A model that ranks one token first, whatever it reads."""
    transformer = model(**options)
    with torch.no_grad():
        transformer.decoder.norm.weight.zero_()
        transformer.decoder.norm.bias.fill_(1.0)
        transformer.W_vocab.weight.zero_()
        transformer.W_vocab.weight[token] = 1.0
    return transformer


@pytest.mark.parametrize("last", [EOS, PAD])
def test_generation_stops_once_every_row_has_ended(last: int) -> None:
    assert biased(last).generate(SRC, 9, BOS, EOS).tolist() == [[last]] * 3


def test_generation_stops_at_max_len() -> None:
    assert biased(5).generate(SRC, 4, BOS, EOS).tolist() == [[5, 5, 5, 5]] * 3
    assert biased(5).generate(SRC, 0, BOS, EOS).shape == (3, 0)


def test_generation_does_not_depend_on_who_else_is_in_the_batch() -> None:
    transformer = shaken(model()).eval()
    together = transformer.generate(SRC, 6, BOS, EOS)
    for row, length in enumerate((6, 2, 4)):
        alone = transformer.generate(SRC[row : row + 1, :length], 6, BOS, EOS)[0]
        assert together[row, : len(alone)].tolist() == alone.tolist()


def test_generation_has_dropout_off_and_leaves_the_mode_as_it_was() -> None:
    transformer = shaken(model(dropout=0.9))
    transformer.encoder.eval()
    first = transformer.generate(SRC, 6, BOS, EOS, need_logits=True)[1]
    second = transformer.generate(SRC, 6, BOS, EOS, need_logits=True)[1]
    assert_same(first, second)
    assert transformer.training and transformer.decoder.training
    assert not transformer.encoder.training


def test_mode_is_restored_when_generation_fails() -> None:
    transformer = biased(5, max_len=6)
    with pytest.raises(ValueError, match="as max_len = 6"):
        transformer.generate(SRC, 9, BOS, EOS)
    assert transformer.training


def test_decoding_in_pieces_equals_all_at_once() -> None:
    transformer = shaken(model()).eval()
    mask = transformer.visible(SRC)
    memory = transformer.encoder(transformer.embed_src(SRC), mask)
    cache = transformer.decoder.new_cache()
    pieces = [transformer.decode(TGT[:, :end], memory, mask, cache) for end in (1, 3, 5)]
    assert_same(torch.cat(pieces, dim=1), transformer(SRC, TGT))


def test_no_logit_depends_on_a_later_target_token() -> None:
    transformer = shaken(model())
    embedded: list[Tensor] = []

    def keep(_: nn.Module, __: Any, x: Tensor) -> None:
        x.retain_grad()
        embedded.append(x)

    transformer.tgt_embedding.register_forward_hook(keep)
    for position in range(5):
        transformer(SRC, TGT)[:, position].sum().backward()
        gradient = embedded[-1].grad
        assert gradient is not None
        assert torch.equal(gradient[:, position + 1 :], torch.zeros(3, 4 - position, 8))
        assert gradient[0, position].any()


def test_padding_of_the_source_is_never_seen() -> None:
    transformer = shaken(model())
    longer = torch.cat((SRC, torch.full((3, 2), PAD)), dim=1)
    assert_same(transformer(longer, TGT), transformer(SRC, TGT))


def test_lengths_hide_what_the_pad_token_would() -> None:
    transformer = shaken(model())
    src_lengths, tgt_lengths = (SRC != PAD).sum(1), (TGT != PAD).sum(1)
    other_src, other_tgt = SRC.masked_fill(SRC == PAD, 7), TGT.masked_fill(TGT == PAD, 7)
    logits = transformer(other_src, other_tgt, src_lengths=src_lengths, tgt_lengths=tgt_lengths)
    real = TGT != PAD
    assert_same(logits[real], transformer(SRC, TGT)[real])
    assert not torch.allclose(transformer(other_src, other_tgt)[real], logits[real])
    tokens = transformer.generate(other_src, 6, BOS, EOS, src_lengths=src_lengths)
    assert torch.equal(tokens, transformer.generate(SRC, 6, BOS, EOS))


def test_source_of_nothing_but_padding_gives_finite_numbers() -> None:
    transformer = shaken(model())
    src = SRC.clone()
    src[1] = PAD
    logits = transformer(src, TGT)
    logits.sum().backward()
    assert logits.isfinite().all()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in transformer.parameters())


@both_norms
def test_weights_of_every_layer_on_request(norm_first: bool) -> None:
    transformer = shaken(model(norm_first=norm_first))
    logits, weights = transformer(SRC, TGT, need_weights=True)
    assert_same(logits, transformer(SRC, TGT))
    shapes = [[tuple(one.shape) for one in part] for part in weights]
    assert shapes == [[(3, 2, 6, 6)] * 2, [(3, 2, 5, 5)] * 2, [(3, 2, 5, 6)] * 2]
    assert weights._fields == ("encoder", "decoder", "memory")
    hidden = (SRC == PAD)[:, None, None]
    for one in weights.encoder + weights.memory:
        assert torch.equal(one == 0, hidden.expand_as(one))
    for one in weights.decoder:
        seen = causal_mask(5) & (TGT != PAD)[:, None, None]
        assert torch.equal(one > 0, seen.expand_as(one))


def test_tied_weights_are_one_parameter() -> None:
    tied, free = model(tie_weights=True), model()
    assert tied.W_vocab.weight is tied.tgt_embedding.weight
    count = sum(p.numel() for p in free.parameters()) - sum(p.numel() for p in tied.parameters())
    assert count == 9 * 8
    again = copy.deepcopy(tied)
    assert again.W_vocab.weight is again.tgt_embedding.weight
    assert torch.equal(again(SRC, TGT), tied(SRC, TGT))


@pytest.mark.parametrize("max_len", [None, 20])
def test_state_dict_carries_the_whole_model(max_len: int | None) -> None:
    transformer, other = shaken(model(max_len=max_len)), model(max_len=max_len)
    other.load_state_dict(transformer.state_dict())
    assert torch.equal(other(SRC, TGT), transformer(SRC, TGT))


@pytest.mark.no_cover  # nothing runs here that does not run above
def test_learns_to_copy_unequal_rows() -> None:
    torch.manual_seed(0)
    transformer = Transformer(10, 10, d_model=16, num_heads=4, num_layers=1, dropout=0.0)
    optimiser = torch.optim.Adam(transformer.parameters(), lr=1e-2)
    for _ in range(160):
        lengths = torch.randint(1, 5, (32,))
        body = torch.randint(3, 10, (32, 5))
        body[torch.arange(5) >= lengths[:, None]] = PAD
        tgt = torch.cat((torch.full((32, 1), BOS), body), dim=1)
        tgt[torch.arange(32), lengths + 1] = EOS
        logits = transformer(body, tgt[:, :-1])
        loss = nn.functional.cross_entropy(
            logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=PAD
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    src = torch.tensor([[7, 3, 9, 4], [5, PAD, PAD, PAD]])
    expected = [[7, 3, 9, 4, EOS], [5, EOS, PAD, PAD, PAD]]
    assert transformer.generate(src, 8, BOS, EOS).tolist() == expected


def test_stack_of_causal_layers_is_a_decoder_without_a_memory() -> None:
    encoder = Encoder([EncoderLayer(8, 2, dropout=0.0) for _ in range(2)]).double()
    x = torch.randn(1, 5, 8, dtype=torch.float64, requires_grad=True)
    encoder(x, is_causal=True)[0, 2].sum().backward()
    assert x.grad is not None
    assert not x.grad[0, 3:].any()


def filled_cache(transformer: Transformer, lengths: tuple[int, ...]) -> list[Any]:
    cache = transformer.decoder.new_cache()
    mask = transformer.visible(SRC)
    memory = transformer.encoder(transformer.embed_src(SRC), mask)
    for part, layer, length in zip(cache, transformer.decoder.layers, lengths, strict=True):
        layer(transformer.embed_tgt(TGT[:, :length]), memory, None, mask, cache=part)
    return cache


def decode(tgt_len: int, lengths: tuple[int, ...], parts: slice = slice(None)) -> Tensor:
    transformer = model()
    mask = transformer.visible(SRC)
    memory = transformer.encoder(transformer.embed_src(SRC), mask)
    cache = filled_cache(transformer, lengths)[parts]
    return transformer.decode(TGT[:, :tgt_len], memory, mask, cache)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Encoder([]), "layers: got none"),
        (lambda: Decoder([]), "layers: got none"),
        (lambda: model(num_layers=0), "num_layers: got 0"),
        (lambda: model(d_model=-8), "d_model: got -8"),
        (lambda: model(num_heads=3), "num_heads: got 3"),
        (lambda: model(max_len=0), "max_len: got 0"),
        (lambda: Transformer(0, 9), "src_vocab: got 0"),
        (lambda: Transformer(9, -1), "tgt_vocab: got -1"),
        (lambda: model()(SRC[0], TGT), r"src: got shape \(6,\)"),
        (lambda: model()(SRC, TGT[0]), r"tgt: got shape \(5,\)"),
        (lambda: model()(SRC, TGT[:2]), r"tgt: got shape \(2, 5\), expected \(3, tgt_len\)"),
        (lambda: model()(SRC, TGT, src_lengths=torch.ones(2)), r"src_lengths: got shape \(2,\)"),
        (lambda: model(max_len=5)(SRC, TGT), "expected 0 to 4, as max_len = 5"),
        (
            lambda: model().generate(SRC, -1, BOS, EOS),
            "max_len: got -1, expected a whole number of at least 0",
        ),
        (lambda: model().generate(SRC[0], 3, BOS, EOS), r"src: got shape \(6,\)"),
        (lambda: model().generate(SRC, 3, PAD, EOS), "bos: got 0, which is pad"),
        (lambda: decode(2, (2, 2)), "tgt: got 2 tokens, expected more than the 2 in the cache"),
        (lambda: decode(3, (2, 1)), r"cache: got parts of lengths \[2, 1\]"),
        (lambda: decode(3, (2, 2), slice(1)), "expected 2 parts of one length"),
        (lambda: decode(3, (2, 2), slice(0)), "expected 2 parts of one length"),
        (lambda: decode(3, (2, 2), slice(None, None, -1)), "cache: got one that another layer"),
    ],
)
def test_wrong_input_is_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]


def test_decoder_takes_layers_of_any_kind_of_norm() -> None:
    layers = [DecoderLayer(8, 2, norm_first=first) for first in (True, False)]
    assert Decoder(layers)(torch.randn(1, 2, 8), torch.randn(1, 3, 8)).shape == (1, 2, 8)
