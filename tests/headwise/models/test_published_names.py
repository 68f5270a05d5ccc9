"""Published names: what goes by them in the reference libraries' models gives the same in ours.

GPT-2's and Llama's are proved in test_as_transformers.py, where every comparison goes through
them; here are BERT's and those of GGUF.
"""

from pathlib import Path
from typing import Any

import pytest
import torch
from gguf_files import gguf_bytes, metadata, vocabulary
from small_encoder import PIECES
from torch import Tensor, nn

from headwise.models import published_names
from headwise.models.minilm import MiniLM
from headwise.models.published_names import NAMES, Name, renamed, table
from headwise.models.smollm2 import read
from headwise.models.wordpiece import WordPiece
from headwise.rotary import Rotary


def shaken(module: nn.Module) -> Any:
    """The module with random weights everywhere, norms included."""
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter) / 4)
    return module.eval()


def test_bert_under_our_names_gives_what_it_gave() -> None:
    import transformers

    config = transformers.BertConfig(
        vocab_size=len(PIECES),
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=12,
        max_position_embeddings=16,
    )
    theirs = shaken(transformers.BertModel(config, add_pooling_layer=False).double())
    sizes = {"d_model": 8, "num_heads": 2, "num_layers": 2, "d_ff": 12, "max_len": 16}
    ours = MiniLM(WordPiece(PIECES), **sizes).double().eval()
    ours.load_state_dict(renamed(theirs.state_dict(), published_names.BERT))
    tokens = torch.tensor([[2, 5, 6, 7, 3]])
    torch.testing.assert_close(ours(tokens), theirs(tokens).last_hidden_state, rtol=0, atol=1e-10)


def permuted(weight: Tensor, heads: int) -> Tensor:
    """The rows of W_q or W_k as those who make GGUF files from Llama's put them in order."""
    rows, columns = weight.shape
    return weight.view(heads, 2, rows // heads // 2, columns).transpose(1, 2).reshape(rows, columns)


@pytest.mark.parametrize("tied", [True, False])
def test_gguf_under_our_names_gives_what_llama_gave(tied: bool, tmp_path: Path) -> None:
    import transformers

    vocab = len(vocabulary())
    config = transformers.LlamaConfig(
        vocab_size=vocab,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        rms_norm_eps=2.0**-17,
        rope_parameters={"rope_type": "default", "rope_theta": 500.0},
        tie_word_embeddings=tied,
    )
    theirs = shaken(transformers.LlamaForCausalLM(config))
    state = theirs.state_dict()
    tensors = {}
    for here, there in zip(published_names.GGUF, published_names.LLAMA, strict=True):
        assert here.ours == there.ours
        for i in "01" if "{i}" in here.theirs else " ":
            weight = state[there.theirs.replace("{i}", i)]
            if here.theirs.endswith(("attn_q.weight", "attn_k.weight")):
                weight = permuted(weight, 4 if "_q" in here.theirs else 2)
            tensors[here.theirs.replace("{i}", i)] = ("F32", weight)
    if tied:
        del tensors["output.weight"]
    path = tmp_path / "llama.gguf"
    path.write_bytes(gguf_bytes(metadata(), tensors))
    ours = read(path).model
    tokens = torch.randint(0, vocab, (2, 9), generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(ours(tokens), theirs(tokens).logits, rtol=1e-4, atol=1e-4)
    for block in ours.blocks:  # and in the other layout it does not
        other = Rotary(8, theta=500.0, layout=published_names.LAYOUTS["Llama"])
        block.attention.rotary = other
    assert (ours(tokens) - theirs(tokens).logits).abs().max() > 0.01


def test_the_originals_stay_as_they_are() -> None:
    packed = torch.arange(24.0).view(2, 12)
    tensors = {"transformer.h.11.attn.c_attn.weight": packed, "lm_head.weight": torch.ones(1, 1)}
    found = renamed(tensors, NAMES["GPT-2"])
    assert list(tensors) == ["transformer.h.11.attn.c_attn.weight", "lm_head.weight"]
    assert packed.shape == (2, 12)
    for place, letter in enumerate("qkv"):
        part = found[f"blocks.11.attention.W_{letter}.weight"]
        assert torch.equal(part, packed[:, 4 * place : 4 * place + 4].T)


@pytest.mark.parametrize("model", NAMES)
def test_a_table_has_a_line_for_each_weight(model: str) -> None:
    lines = table(model).splitlines()
    weights = [name for name in NAMES[model] if name.theirs.endswith(".weight")]
    assert len(lines) == len(weights)
    for line, name in zip(lines, weights, strict=True):
        theirs, ours, *others = line.split()
        assert f"{theirs}.weight" == name.theirs and f"{ours}.weight" == name.ours[0]
        assert ("transposed" in line) == name.transposed
        assert ("packed" in others) == (len(name.ours) > 1)
        turned = model in published_names.LAYOUTS and ours[-3:] in ("W_q", "W_k")
        assert ("rows for" in line) == turned


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"model.layers.0.rope": torch.ones(1)}, "got model.layers.0.rope, expected names such as"),
        ({"lm_head.weight": torch.ones(())}, "got lm_head.weight of 0 axes, expected a matrix"),
    ],
)
def test_wrong_tensors_are_named(tensors: dict[str, Tensor], message: str) -> None:
    with pytest.raises(ValueError) as error:
        renamed(tensors, NAMES["Llama"])
    assert message in str(error.value)


def test_what_is_packed_has_as_many_parts() -> None:
    names = [Name("packed", ("a", "b", "c"))]
    with pytest.raises(ValueError, match="got packed of shape"):
        renamed({"packed": torch.ones(4, 2)}, names)


def test_names_of_no_model_are_refused() -> None:
    with pytest.raises(ValueError, match="model: got 'T5', expected one of"):
        table("T5")
