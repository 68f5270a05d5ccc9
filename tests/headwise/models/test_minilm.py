"""The encoder on a made-up model of its layout, and whatever can be wrong with such a folder."""

import builtins
import json
import pickle
import runpy
from pathlib import Path
from typing import Any

import pytest
import torch
from small_encoder import PIECES, publish, published_state

from headwise.models import minilm, weights
from headwise.models.minilm import MiniLM, load, main, table

Captured = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
SENTENCES = ["the cat", "cats!", "the cat sat on the mat", "mat"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return publish(tmp_path / "model")


@pytest.fixture
def model(folder: Path) -> MiniLM:
    return load(folder).double()


# What it computes


def test_padding_changes_nothing(model: MiniLM) -> None:
    together = model(model.encode(SENTENCES), need_weights=True)
    for i, sentence in enumerate(SENTENCES):
        alone = model(model.encode([sentence]), need_weights=True)
        length = alone.states[0].size(1)
        for ours, theirs in zip(alone.states, together.states, strict=True):
            torch.testing.assert_close(ours[0], theirs[i, :length])
        for ours, theirs in zip(alone.weights, together.weights, strict=True):
            torch.testing.assert_close(ours[0], theirs[i, :, :length, :length])
            assert not theirs[i, :, :, length:].any()


def test_the_last_state_is_the_output_without_weights(model: MiniLM) -> None:
    tokens = model.encode(SENTENCES)
    torch.testing.assert_close(model(tokens), model(tokens, need_weights=True).states[-1])


def test_a_mask_hides_keys_beside_the_padding(model: MiniLM) -> None:
    tokens = model.encode(SENTENCES)
    mask = torch.ones(1, 1, 1, tokens.size(1), dtype=torch.bool)
    mask[..., 0] = False
    for seen in model(tokens, mask, need_weights=True).weights:
        assert not seen[..., 0].any()
        torch.testing.assert_close(seen.sum(dim=-1), torch.ones_like(seen[..., 0]))


def test_embeddings_are_means_of_length_one_in_the_order_asked_for(model: MiniLM) -> None:
    vectors = model.embed(SENTENCES, batch_size=2)
    for sentence, vector in zip(SENTENCES, vectors, strict=True):
        mean = model(model.encode([sentence]))[0].mean(dim=0)
        torch.testing.assert_close(vector, mean / mean.norm())
    torch.testing.assert_close(model.embed(SENTENCES), vectors)


def test_a_long_sentence_is_cut_off(model: MiniLM) -> None:
    assert model.encode(["cat " * 40]).shape == (1, 16)


def test_half_precision_and_a_prefix_are_read_as_well(tmp_path: Path, folder: Path) -> None:
    state = {f"bert.{name}": x.half().contiguous() for name, x in published_state().items()}
    other = load(publish(tmp_path / "half", state))
    assert {x.dtype for x in other.parameters()} == {torch.float32}
    torch.testing.assert_close(
        other.embed(SENTENCES), load(folder).embed(SENTENCES), atol=5e-3, rtol=0
    )


def test_wrong_calls_are_refused_by_name(model: MiniLM) -> None:
    for wrong in (["cat", ""], ["cat", " \t"]):
        with pytest.raises(ValueError, match=r"sentences: got '.*' in them, expected words"):
            model.embed(wrong)
    with pytest.raises(ValueError, match="sentences: got none, expected at least one"):
        model.encode([])
    with pytest.raises(TypeError, match="sentences: got 'cat', expected a list of sentences"):
        model.encode("cat")
    with pytest.raises(ValueError, match="batch_size: got 0, expected"):
        model.embed(SENTENCES, batch_size=0)
    with pytest.raises(ValueError, match="tokens: got 99 in it, expected 0 to 11"):
        model(torch.tensor([[99]]))
    with pytest.raises(ValueError, match="x: got positions 0 to 16, expected 0 to 15"):
        model(torch.ones(1, 17, dtype=torch.long))


# A folder in which something is wrong


def refused(folder: Path, words: str) -> None:
    """One sentence that names the file and what was expected."""
    with pytest.raises((ValueError, OSError), match=rf"\A[^\n]*{words}[^\n]*\Z"):
        load(folder)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    refused(tmp_path / "nowhere", "folder: got '.*nowhere', expected a folder with model.safete")
    refused(Path("a\0b"), "folder: got .*, expected a folder")


@pytest.mark.parametrize("name", ["config.json", "vocab.txt", "model.safetensors"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    refused(folder, f"model: has no {name}, expected one for minilm")


def test_without_any_weights_one_sentence_says_what_to_run(
    tmp_path: Path, monkeypatch: Patch, capsys: Captured
) -> None:
    monkeypatch.setenv("HEADWISE_WEIGHTS", str(tmp_path))
    assert main(["the cat"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "python -m headwise.models fetch minilm brings" in error


class Trap:
    """Something that would be run if the pickle were loaded."""

    def __reduce__(self) -> tuple[Any, ...]:
        return builtins.exit, ("the pickle was loaded",)


def test_a_pickle_is_never_loaded(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(pickle.dumps(Trap()))
    refused(folder, "model.safetensors: .*, expected whole weights as safetensors writes them")
    torch.save({"weight": torch.ones(2)}, path)
    refused(folder, "model.safetensors: .*, expected whole weights as safetensors writes them")
    path.rename(folder / "pytorch_model.bin")
    refused(folder, "pytorch_model.bin: is a pickle, .*, expected model.safetensors")


def test_truncated_weights_are_refused(folder: Path) -> None:
    path = folder / "model.safetensors"
    whole = path.read_bytes()
    for length in (0, 5, 100, len(whole) - 1):
        path.write_bytes(whole[:length])
        refused(folder, "model.safetensors: .*, expected whole weights as safetensors writes them")


def test_altered_weights_in_the_cache_are_refused(
    folder: Path, tmp_path: Path, monkeypatch: Patch
) -> None:
    """What was fetched is known to the last bit."""
    monkeypatch.setenv("HEADWISE_WEIGHTS", str(tmp_path))
    folder.rename(tmp_path / "minilm")
    with pytest.raises(
        ValueError, match=r"minilm/model.safetensors: got sha256 \w+, expected 53aa"
    ):
        load()


def test_weights_of_another_model_are_refused(tmp_path: Path) -> None:
    right = published_state()
    less = {name: x for name, x in right.items() if "layer.2.output.dense" not in name}
    more = right | {"lm_head.weight": torch.ones(2)}
    deeper = right | {"encoder.layer.3.output.dense.weight": torch.ones(8, 12)}
    wider = right | {"embeddings.LayerNorm.bias": torch.ones(9)}
    folder = tmp_path / "other"
    refused(publish(folder, less), r"has no weight 'layers.2.feed_forward.W_2.bias', expected")
    refused(publish(folder, more), r"model.safetensors: tensors: got lm_head.weight, expected")
    refused(publish(folder, deeper), r"has a weight 'layers.3.feed_forward.W_2.weight', expected")
    broken = right | {"embeddings.LayerNorm.bias": torch.tensor([0.0] * 7 + [torch.nan])}
    refused(publish(folder, broken), r"tensors: got numbers in norm.bias that are not finite")
    refused(publish(folder, wider), r"tensors: got \(9,\) for norm.bias, expected \(8,\)")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"model_type": "llama"}, "got model_type = 'llama', expected 'bert'"),
        ({"hidden_act": "relu"}, "got hidden_act = 'relu', expected 'gelu'"),
        ({"position_embedding_type": "relative_key"}, "= 'relative_key', expected 'absolute'"),
        ({"hidden_size": None}, "has no hidden_size, expected one, as BERT's have"),
        ({"num_attention_heads": 3}, "num_heads: got 3, expected a divisor of d_model = 8"),
        ({"hidden_size": "wide"}, "got 'wide', expected a whole number"),
        ({"num_hidden_layers": 10**9}, "num_layers: got 1000000000, expected"),
        ({"layer_norm_eps": 0.0}, "eps: got 0.0, expected a finite number above 0"),
    ],
)
def test_another_architecture_is_refused(
    tmp_path: Path, settings: dict[str, Any], words: str
) -> None:
    refused(publish(tmp_path / "other", **settings), f"config.json: .*{words}")


@pytest.mark.parametrize("text", ["{", "[]", "null"])
def test_settings_that_are_none_are_refused(folder: Path, text: str) -> None:
    (folder / "config.json").write_text(text)
    refused(folder, "config.json: .*, expected the settings of a model")


def test_another_vocabulary_is_refused(tmp_path: Path) -> None:
    folder = publish(tmp_path / "other", pieces=PIECES[:-1])
    refused(folder, "vocab.txt: got 11 pieces, expected 12, as in config.json")
    folder = publish(tmp_path / "other", pieces=["a", *PIECES[1:]])
    refused(folder, r"vocab.txt: vocabulary: got no \[PAD\]")
    (folder / "vocab.txt").write_bytes(b"\xff\xfe")
    refused(folder, "vocab.txt: .*codec can't decode")


def test_without_safetensors_the_error_says_what_to_install(
    folder: Path, monkeypatch: Patch, capsys: Captured
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "safetensors.torch", None)
    assert main(["the cat", "--folder", str(folder)]) == 2
    assert "pip install safetensors brings it" in capsys.readouterr().err


# The command line


def test_the_command_shows_who_looks_at_whom(folder: Path, capsys: Captured) -> None:
    assert main(["the cats sat", "--folder", str(folder)]) == 0
    said = capsys.readouterr().out
    model = load(folder)
    seen = model(model.encode(["the cats sat"]), need_weights=True).weights
    pieces = ["[CLS]", "the", "cat", "##s", "sat", "[SEP]"]
    assert table(pieces, torch.stack(seen).mean(dim=(0, 2))[0]) in said
    assert said.startswith("a row looks at a column; the mean of all 6 heads\n")
    query, key = 1, 2
    layer, head = divmod(int(torch.cat(seen)[..., query, key].argmax()), 2)
    shown = seen[layer][0, head, query, key]
    others = torch.cat(seen)[:, :, query, 3:5].max()
    assert (f"the → cat {shown:.2f} (L{layer + 1} H{head + 1})" in said) == bool(shown > others)
    assert all(f"\n{piece} → " in said for piece in pieces[1:-1])


def test_a_sentence_of_one_word_has_nobody_to_look_at(folder: Path, capsys: Captured) -> None:
    assert main(["similar", "--folder", str(folder)]) == 0
    assert "→" not in capsys.readouterr().out


def test_the_command_compares_sentences(folder: Path, capsys: Captured) -> None:
    assert main(["similar", "the cat", "cats!", "mat", "--folder", str(folder)]) == 0
    vectors = load(folder).embed(["the cat", "cats!", "mat"])
    alike = vectors @ vectors.T
    assert capsys.readouterr().out == (
        f"{alike[0, 1]:5.2f}  the cat | cats!\n"
        f"{alike[0, 2]:5.2f}  the cat | mat\n"
        f"{alike[1, 2]:5.2f}  cats! | mat\n"
    )


def test_the_module_is_a_command(folder: Path, monkeypatch: Patch, capsys: Captured) -> None:
    monkeypatch.setattr("sys.argv", ["minilm", "", "--folder", str(folder)])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(minilm.__file__), run_name="__main__")
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert error == "headwise.models.minilm: sentences: got '' in them, expected words\n"


# The published one


def test_the_published_model_embeds_as_it_is_known_to() -> None:
    model = load()
    config = json.loads((weights.find("minilm") / "config.json").read_text())
    assert len(model.layers) == config["num_hidden_layers"] == 6
    vector = model.embed(["the cat sat on the mat"])[0, :5]
    expected = torch.tensor([0.1304, -0.0119, -0.0281, 0.0512, -0.0560])
    torch.testing.assert_close(vector, expected, atol=5e-5, rtol=0)
