"""SmolLM2's code on small made-up files: read, written on from, looked into, refused."""

import runpy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from gguf_files import gguf_bytes, metadata, small_model, vocabulary, weights

from headwise.choosing import Choice
from headwise.models import smollm2
from headwise.models.gguf import GGUF
from headwise.models.smollm2 import SmolLM2, look, main, read, write

PROMPT = "the cat 12 注"


@pytest.fixture
def small(tmp_path: Path) -> SmolLM2:
    return read(small_model(tmp_path))


def test_every_weight_of_the_file_is_in_the_model(small: SmolLM2, tmp_path: Path) -> None:
    file = GGUF(tmp_path / "small.gguf")
    state = small.model.state_dict()
    assert len(state) == len(file.places) + 1  # W_vocab is the embedding
    numbers = sum(file.tensor(name).double().sum() for name in file.places)
    own = sum(x.double().sum() for name, x in state.items() if name != "W_vocab.weight")
    torch.testing.assert_close(own, numbers)
    assert small.model.W_vocab.weight is small.model.embedding.weight
    assert (small.eos, small.context) == (0, 64)
    assert not small.model.training
    assert not any(weight.requires_grad for weight in small.model.parameters())


def test_an_output_matrix_of_its_own_is_read(tmp_path: Path) -> None:
    path = small_model(tmp_path, tied=False)
    model = read(path).model
    assert torch.equal(model.W_vocab.weight, GGUF(path).tensor("output.weight"))
    assert not torch.equal(model.W_vocab.weight, model.embedding.weight)


def test_chance_stays_as_it_was(tmp_path: Path) -> None:
    path = small_model(tmp_path)
    state = torch.get_rng_state()
    read(path)
    assert torch.equal(torch.get_rng_state(), state)


def test_what_is_written_is_what_generate_gives(small: SmolLM2) -> None:
    tokens = small.tokens.encode(PROMPT)
    for choice in (Choice(temperature=0.0), Choice(temperature=1.5, top_k=50)):
        options: dict[str, Any] = {"choice": choice}
        (expected,) = small.model.generate(
            [tokens], 20, eos=0, **options, generator=torch.Generator().manual_seed(3)
        )
        expected = [token for token in expected if token != small.eos]
        pieces = list(
            write(small, PROMPT, 20, **options, generator=torch.Generator().manual_seed(3))
        )
        assert "".join(pieces) == small.tokens.decode(expected).decode("utf-8", "replace")


def says(small: SmolLM2, text: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The pieces in which a text comes whose tokens are given."""
    tokens = [*small.tokens.encode(text), small.eos]
    monkeypatch.setattr(small.model, "stream", lambda *args, **options: iter(tokens))
    return list(write(small, PROMPT, 9))


def test_a_character_of_several_tokens_comes_whole(
    small: SmolLM2, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert says(small, "a注 the", monkeypatch) == ["a", "注", " the"]


def test_half_a_character_at_the_end_is_shown_as_such(
    small: SmolLM2, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = small.tokens.encode("注")[:2]
    monkeypatch.setattr(small.model, "stream", lambda *args, **options: iter(half))
    assert list(write(small, PROMPT, 9)) == ["\ufffd"]


def test_weights_of_all_heads_are_those_of_the_model(small: SmolLM2) -> None:
    found = look(small, PROMPT)
    length = len(small.tokens.encode(PROMPT))
    assert found.shape == (2, 4, length, length)
    torch.testing.assert_close(found.sum(-1), torch.ones(2, 4, length))
    assert not found.triu(1).any()
    x = small.model.embedding(torch.tensor([small.tokens.encode(PROMPT)]))
    first: Any = small.model.blocks[0]
    attention, h = first.attention, first.norm_1(x)
    Q, K = attention.project_queries(h), attention.project_keys(h, h)[0]
    scores = Q @ K.repeat_interleave(2, dim=1).mT / 8**0.5
    scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), -torch.inf)
    torch.testing.assert_close(found[:1], scores.softmax(-1))


def test_too_long_a_text_is_refused(small: SmolLM2) -> None:
    with pytest.raises(ValueError, match="prompt: got 5 tokens, expected at most 4, as max_new"):
        write(small, "the1.ax", 60)
    assert "".join(write(small, "th", 0)) == ""


def test_no_text_at_all_is_refused(small: SmolLM2) -> None:
    with pytest.raises(ValueError, match="prompt: got '', expected at least one token of text"):
        write(small, "", 5)


def other(**changes: Any) -> Callable[[Path], Path]:
    return lambda folder: small_model(folder, **changes)


def other_weights(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        tensors = weights()
        change(tensors)
        path = folder / "other.gguf"
        path.write_bytes(gguf_bytes(metadata(), tensors))
        return path

    return make


def put(name: str, *shape: int, fill: float = 1.0) -> Callable[[Path], Path]:
    tensor = ("F32", torch.full(shape, fill))
    return other_weights(lambda tensors: tensors.update({name: tensor}))


LONG = [3, 3] + [1] * (len(vocabulary()) - 1)
WRONG: dict[str, tuple[Callable[[Path], Path], str]] = {
    "architecture": (
        other(general__architecture="gpt2"),
        "holds the architecture 'gpt2', expected 'llama'",
    ),
    "no architecture": (other(general__architecture=None), "has no general.architecture"),
    "architecture in numbers": (
        other(general__architecture=3),
        "has general.architecture = 3, expected one of type str",
    ),
    "more than a Llama": (
        other(llama__rope__scaling__type="yarn"),
        "has llama.rope.scaling.type, expected nothing that a plain Llama does without",
    ),
    "layers that are missing": (
        other(llama__block_count=3),
        "has no blk.2.attn_norm.weight, expected 3 layers, as its header says",
    ),
    "many layers": (other(llama__block_count=10**6), "expected 1000000 layers"),
    "layers too many": (
        other(llama__block_count=1),
        "has blk.1.attn_norm.weight, expected the weights of 1 layers and no others",
    ),
    "no layers": (other(llama__block_count=0), "has llama.block_count = 0, expected at least 1"),
    "sizes": (
        other(llama__feed_forward_length=2**24),
        "has blk.0.ffn_gate.weight of shape (64, 32), expected (16777216, 32)",
    ),
    "size in words": (
        other(llama__feed_forward_length="64"),
        "has llama.feed_forward_length = '64', expected one of type int",
    ),
    "heads": (
        other(llama__attention__head_count=3, llama__rope__dimension_count=10),
        "has blk.0.attn_q.weight of shape (32, 32), expected (30, 32)",
    ),
    "columns that stay": (
        other(llama__rope__dimension_count=4),
        "turns 4 columns of a head, expected all 8",
    ),
    "eps": (
        other(llama__attention__layer_norm_rms_epsilon=-1.0),
        "expected those of a model: eps: got -1.0",
    ),
    "other tokens": (
        other(tokenizer__ggml__model="llama"),
        "has tokenizer.ggml.model = 'llama', expected 'gpt2'",
    ),
    "other words": (other(tokenizer__ggml__pre="qwen2"), "expected 'smollm'"),
    "kinds of tokens": (
        other(tokenizer__ggml__token_type=[*LONG, 3]),
        "has other tokens, expected byte-level ones: special: got 263",
    ),
    "merges in numbers": (
        other(tokenizer__ggml__merges=[1, 2]),
        "has other tokens, expected byte-level ones: merges: got 1 in it",
    ),
    "end": (other(tokenizer__ggml__eos_token_id=262), "ends texts with token 262"),
    "another weight": (put("blk.0.attn_q.bias", 32), "has blk.0.attn_q.bias, expected the weights"),
    "another shape": (
        put("output_norm.weight", 64),
        "has output_norm.weight of shape (64,), expected (32,)",
    ),
    "no number": (
        put("output_norm.weight", 32, fill=float("nan")),
        "has numbers in output_norm.weight that are not finite, expected finite ones",
    ),
    "one missing": (
        other_weights(lambda tensors: tensors.pop("output_norm.weight")),
        "has no output_norm.weight, expected 2 layers",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_files_are_named_with_what_was_expected(case: str, tmp_path: Path) -> None:
    make, message = WRONG[case]
    path = make(tmp_path)
    with pytest.raises(ValueError) as error:
        read(path)
    assert str(error.value).startswith(f"path: got {path}, which ")
    assert message in str(error.value)


def test_any_altered_header_is_refused_or_read(tmp_path: Path) -> None:
    path = small_model(tmp_path)
    whole = path.read_bytes()
    end = min(place.start for place in GGUF(path).places.values())
    refused = 0
    for i in range(0, end, 211):
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 0x21]) + whole[i + 1 :])
        try:
            read(path)
        except ValueError as error:
            assert str(error).startswith(f"path: got {path}")
            refused += 1
    assert refused > 5


# The command


def run(folder: Path, *words: str) -> int:
    return main([*words, "--folder", str(folder)])


def test_the_command_writes_on(
    small: SmolLM2, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, PROMPT, "--length", "7") == 0
    expected = "".join(write(small, PROMPT, 7))
    assert capsys.readouterr().out == f"{PROMPT}{expected}\n"


def test_the_command_chooses_as_it_is_told(
    small: SmolLM2, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, PROMPT, "--length", "9", "--top-p", "0.9", "--seed", "5") == 0
    generator = torch.Generator().manual_seed(5)
    expected = "".join(write(small, PROMPT, 9, choice=Choice(top_p=0.9), generator=generator))
    assert capsys.readouterr().out == f"{PROMPT}{expected}\n"
    options = ["--temperature", "0.5", "--top-k", "9", "--min-p", "0.1"]
    assert run(tmp_path, PROMPT, "--repetition-penalty", "1.5", "--length", "9", *options) == 0
    choice = Choice(temperature=0.5, top_k=9, min_p=0.1, repetition_penalty=1.5)
    generator = torch.Generator().manual_seed(0)
    expected = "".join(write(small, PROMPT, 9, choice=choice, generator=generator))
    assert capsys.readouterr().out == f"{PROMPT}{expected}\n"


def test_the_command_shows_where_heads_look(
    small: SmolLM2, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "the an", "--look") == 0
    first, *rows = capsys.readouterr().out.splitlines()
    assert first == "Where 'an' looks, by the mean of 8 heads, and which most:"
    tokens = small.tokens.encode("the an")
    assert len(rows) == len(tokens)
    found = look(small, "the an")[:, :, -1]
    for j, row in enumerate(rows):
        assert row.startswith(repr(small.tokens.decode([tokens[j]]).decode()))
        assert f" {found[:, :, j].mean():.2f}  layer " in row
        assert row.endswith(f": {found[:, :, j].max():.2f}")


def test_a_piece_is_printed_before_the_next_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = []

    def pieces(*args: Any, **options: Any) -> Iterator[str]:
        for piece in "abc":
            yield piece
            printed.append(capsys.readouterr().out)

    small_model(tmp_path)
    monkeypatch.setattr(smollm2, "write", pieces)
    assert run(tmp_path, "the") == 0
    assert printed == ["thea", "b", "c"]


def test_a_token_is_given_before_the_next_is_computed(small: SmolLM2) -> None:
    calls = []
    small.model.blocks[0].register_forward_hook(lambda *args: calls.append(1))
    tokens = small.model.stream(small.tokens.encode(PROMPT), 9)
    assert calls == []
    for count in (1, 2, 3):
        next(tokens)
        assert len(calls) == count


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([""], "prompt: got no words, expected some"),
        ([" \n"], "prompt: got no words, expected some"),
        (["the", "--length", "-1"], "max_new: got -1, expected a whole number of at least 0"),
        (["the", "--length", "64"], "prompt: got 1 tokens, expected at most 0"),
        (["the", "--temperature", "-1"], "temperature: got -1.0, expected a number"),
        (["the", "--top-p", "0"], "top_p: got 0.0, expected a number of more than 0"),
        (["the", "--seed", "-1"], "seed: got -1, expected a whole number of at least 0"),
        (["a\ud800"], "half a character"),
    ],
)
def test_wrong_words_get_one_line(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small_model(tmp_path)
    assert run(tmp_path, *words) == 2
    out, line = capsys.readouterr()
    assert out == "" and line.count("\n") == 1
    assert line.startswith("headwise.models.smollm2: ") and message in line


def test_wrong_folders_get_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder, message in (
        (tmp_path / "none", "expected a folder with *.gguf"),
        (tmp_path, "has no *.gguf, expected one for smollm2"),
    ):
        assert run(folder, "the") == 2
        assert message in capsys.readouterr().err
    small_model(tmp_path).rename(tmp_path / "a.gguf")
    small_model(tmp_path)
    assert run(tmp_path, "the") == 2
    assert f"got {tmp_path} with 2 GGUF files, expected one" in capsys.readouterr().err
    (tmp_path / "a.gguf").unlink()
    small_model(tmp_path).write_bytes(b"GGUF and\nno more")
    assert run(tmp_path, "the") == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_without_weights_one_line_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWISE_WEIGHTS", str(tmp_path / "none"))
    assert main(["the"]) == 2
    assert "python -m headwise.models fetch smollm2" in capsys.readouterr().err


def test_an_interruption_ends_quietly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(folder: Path) -> SmolLM2:
        raise KeyboardInterrupt

    monkeypatch.setattr(smollm2, "load", interrupted)
    assert run(tmp_path, "the") == 130


def test_the_module_is_a_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["smollm2", "", "--folder", str(tmp_path)])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(smollm2.__file__), run_name="__main__")
    assert end.value.code == 2
    assert "expected some" in capsys.readouterr().err
