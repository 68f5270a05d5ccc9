"""What the Transformer takes: empty sequences, tokens of the vocabulary, names of its own."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from headwise.layers import DecoderLayer, EncoderLayer
from headwise.transformer import Decoder, Encoder, Transformer

PAD, BOS, EOS = 0, 1, 2
SRC, TGT = torch.tensor([[3, 4, 5], [4, 0, 0]]), torch.tensor([[1, 6, 7, 3], [1, 4, 0, 0]])
LENGTHS = torch.tensor([3, 1])


def model(**options: Any) -> Transformer:
    torch.manual_seed(0)
    sizes = {"d_model": 8, "num_heads": 2, "num_layers": 2, "d_ff": 12, "dropout": 0.0}
    return Transformer(10, 9, **{**sizes, **options}).eval()


# Empty sequences


@pytest.mark.parametrize("max_len", [None, 8])
@pytest.mark.parametrize(("src_len", "tgt_len"), [(0, 4), (3, 0), (0, 0)])
def test_empty_sequences_work(max_len: int | None, src_len: int, tgt_len: int) -> None:
    transformer = model(max_len=max_len)
    logits, weights = transformer(SRC[:, :src_len], TGT[:, :tgt_len], need_weights=True)
    assert logits.shape == (2, tgt_len, 9) and logits.isfinite().all()
    assert weights.memory[0].shape == (2, 2, tgt_len, src_len)


def test_generation_from_an_empty_source_is_that_from_padding_alone() -> None:
    transformer = model()
    empty = transformer.generate(SRC[:, :0], 4, BOS, EOS)
    assert torch.equal(empty, transformer.generate(torch.zeros_like(SRC), 4, BOS, EOS))


def test_no_target_yet_gives_no_logits() -> None:
    transformer = model()
    memory = torch.randn(2, 3, 8)
    assert transformer.decode(TGT[:, :0], memory, None).shape == (2, 0, 9)


# Tokens


@pytest.mark.parametrize("token", [10, 99, -1])
def test_token_out_of_the_vocabulary_is_refused_by_name(token: int) -> None:
    wrong = SRC.clone()
    wrong[1, 2] = token
    transformer = model()
    found = re.escape(f"got {token} in it, expected 0 to ")
    for call in (lambda: transformer(wrong, TGT), lambda: transformer.generate(wrong, 3, BOS, EOS)):
        with pytest.raises(ValueError, match=f"src: {found}9"):
            call()
    with pytest.raises(ValueError, match=f"tgt: {found}8"):
        transformer(SRC, wrong)
    with pytest.raises(ValueError, match=f"tgt: {found}8"):
        transformer.decode(wrong, torch.randn(2, 3, 8), None)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.uint8, torch.complex64])
def test_tokens_are_whole_numbers(dtype: torch.dtype) -> None:
    with pytest.raises(ValueError, match=f"src: got dtype {dtype}, expected tokens"):
        model()(SRC.to(dtype), TGT)
    with pytest.raises(ValueError, match=f"tgt: got dtype {dtype}, expected tokens"):
        model()(SRC, TGT.to(dtype))


def test_tokens_may_be_narrow() -> None:
    assert torch.equal(model()(SRC.int(), TGT.int()), model()(SRC, TGT))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"bos": 99}, "bos: got 99, expected a token of at most 8"),
        ({"bos": -1}, "bos: got -1, expected a token of at least 0"),
        ({"bos": PAD}, "bos: got 0, which is pad"),
        ({"bos": 1.0}, "bos: got 1.0, expected a token"),
        ({"eos": 9}, "eos: got 9, expected a token of at most 8"),
        ({"eos": 2.5}, "eos: got 2.5, expected a token"),
        ({"max_len": 2.5}, "max_len: got 2.5, expected a whole number of at least 0"),
        ({"max_len": -1}, "max_len: got -1, expected a whole number of at least 0"),
    ],
)
def test_generation_refuses_what_is_no_token_or_length(change: dict[str, Any], error: str) -> None:
    arguments = {"max_len": 3, "bos": BOS, "eos": EOS} | change
    with pytest.raises(ValueError, match=re.escape(error)):
        model().generate(SRC, **arguments)


def test_generation_without_an_end_token_writes_to_the_last() -> None:
    assert model(pad=-1).generate(SRC, 7, BOS, -1).shape == (2, 7)


def test_rows_that_have_ended_are_filled_with_the_end_where_there_is_no_padding() -> None:
    transformer = model(pad=-1)
    ends = iter([True])  # the first row ends with its first token, the second never

    def rank(_: nn.Module, inputs: object, logits: Tensor) -> Tensor:
        row = torch.tensor([next(ends, False), False])
        logits[:, -1, EOS] = torch.where(row, 100.0, -100.0)
        return logits

    transformer.W_vocab.register_forward_hook(rank)
    tokens = transformer.generate(SRC, 4, BOS, EOS)
    assert tokens[0].tolist() == [EOS] * 4 and EOS not in tokens[1]


def test_generation_beyond_the_learned_positions_is_refused_before_it_begins() -> None:
    transformer = model(max_len=6, pad=-1)
    assert transformer.generate(SRC, 6, BOS, -1).shape == (2, 6)
    calls: list[int] = []
    transformer.encoder.register_forward_hook(lambda *_: calls.append(1))
    with pytest.raises(ValueError, match="max_len: got 7, expected at most 6, as max_len = 6"):
        transformer.generate(SRC, 7, BOS, EOS)
    assert not calls


# Names of its own


@pytest.mark.parametrize("name", ["src_lengths", "tgt_lengths"])
@pytest.mark.parametrize(
    ("lengths", "found"),
    [
        (torch.tensor([9, 1]), "got 9 in it, expected 0 to"),
        (torch.tensor([-1, 1]), "got -1 in it, expected 0 to"),
        (torch.tensor([1.5, 1.0]), "got dtype torch.float32"),
        (torch.tensor([1, 1, 1]), "got shape (3,), expected (2,)"),
        (torch.tensor([1, 1], device="meta"), "got device meta"),
    ],
)
def test_lengths_go_by_the_callers_name(name: str, lengths: torch.Tensor, found: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}: {re.escape(found)}"):
        model()(SRC, TGT, **{name: lengths})


def test_sequence_that_is_too_long_goes_by_the_callers_name() -> None:
    with pytest.raises(ValueError, match=r"^src: got positions 0 to 2, expected 0 to 1"):
        model(max_len=2)(SRC, TGT)
    with pytest.raises(ValueError, match=r"^tgt: got positions 0 to 3, expected 0 to 2"):
        model(max_len=3)(SRC, TGT)
    with pytest.raises(ValueError, match=r"^tgt: got positions 2 to 5, expected 0 to 4"):
        model(max_len=5).embed_tgt(TGT, 2)


# What it is made of


@pytest.mark.parametrize("pad", ["a", 0.5, None, 9, 99, -2, True])
def test_padding_is_a_token_of_both_vocabularies(pad: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=r"^pad: got"):
        model(pad=pad)


@pytest.mark.parametrize(("stack", "kind"), [(Encoder, EncoderLayer), (Decoder, DecoderLayer)])
def test_layers_of_a_stack_are_of_one_width_and_of_its_kind(stack: Any, kind: Any) -> None:
    with pytest.raises(ValueError, match=r"layers: got d_model = \[8, 4\], expected one width"):
        stack([kind(8, 2), kind(4, 2)])
    other = EncoderLayer if kind is DecoderLayer else DecoderLayer
    with pytest.raises(TypeError, match=f"layers: got an? {other.__name__}"):
        stack([kind(8, 2), other(8, 2)])
    with pytest.raises(TypeError, match="layers: got"):
        stack(kind(8, 2))


def test_compiled_layers_may_be_stacked() -> None:
    layer = torch.compile(EncoderLayer(8, 2), backend="eager")
    assert Encoder([layer])(torch.randn(1, 2, 8)).shape == (1, 2, 8)


@pytest.mark.no_cover  # a compiler reads our lines, and what else runs, runs above
def test_sizes_may_be_numpy_numbers() -> None:
    eight, two, one = np.int64(8), np.int32(2), np.int32(1)
    sizes = {"d_model": eight, "num_heads": two, "num_layers": one, "max_len": eight}
    transformer = Transformer(np.int64(10), np.int64(9), **sizes, pad=np.int64(0))
    compiled = torch.compile(transformer.eval(), fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(SRC, TGT), transformer(SRC, TGT))
    assert transformer.generate(SRC, np.int64(3), np.int64(1), np.int64(2)).shape[1] <= 3


@pytest.mark.parametrize(
    "sizes", [{"d_model": 10**6}, {"num_layers": 10**6}, {"max_len": 10**9}, {"d_ff": 2**70}]
)
def test_sizes_beyond_all_memory_are_refused_by_name(sizes: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=f"^{next(iter(sizes))}: got .* of at most"):
        model(**sizes)


@pytest.mark.parametrize("tokens", [[[99]], [[-1]]])
def test_nothing_else_than_a_token_is_visible(tokens: list[list[int]]) -> None:
    with pytest.raises(ValueError, match=r"tokens: got .* in it, expected 0 to"):
        model().visible(torch.tensor(tokens))
    with pytest.raises(ValueError, match=r"tokens: got dtype torch.int8"):  # it would wrap round
        model().visible(torch.tensor([[1]], dtype=torch.int8))


def test_generation_needs_tokens_with_values() -> None:
    far = Transformer(9, 9, d_model=8, num_heads=2, num_layers=1).to("meta")
    with pytest.raises(ValueError, match="src: got a tensor on the meta device"):
        far.generate(torch.ones(1, 2, dtype=torch.long, device="meta"), 3, 1, 2)
