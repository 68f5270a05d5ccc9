"""SmolLM2 as it is published: its numbers, tokens, logits and texts are the reference libraries'.

The weights are those that `python -m headwise.models fetch smollm2` brings.
"""

import random
from typing import Any

import pytest
import torch
from gguf import GGUFReader
from gguf.quants import dequantize
from gguf_files import reference
from torch import nn

from headwise.models import published_names, weights
from headwise.models.gguf import GGUF
from headwise.models.smollm2 import SmolLM2, load, look, write
from headwise.rotary import pairs_to_halves

pytestmark = pytest.mark.no_cover  # a small model has the same lines run, in test_smollm2.py

PROMPTS = ["The capital of France is", "Water boils at", "def add(a, b):\n", "从前有一只猫，"]
POOLS = [
    ["the", "attention", "weights", "She'll", "we've", "'S", "naïve", "café", "3.14", "12,345"],
    list("注意力机制让模型看到每个词，权重加起来等于一。多头一起看！？《》（）"),
    list("👩‍🚀🚀🇨🇳😀👍🏽e\u0301한국어日本語ひらがなأهلا½x²٣٤Ⅷ…—“”"),
    [" ", "  ", "   ", "\t", "\n", "\n\n", "\r\n", "\u00a0", "\u3000", " \n ", "\x85", "\x1c"],
    list("!?.,;:'\"()[]{}<>|/\\@#$%^&*-_=+~`"),
    ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<repo_name>", "<|im", "_end|>"],
    ["\x04", "\x13", chr(0x40000)],  # bytes that have no token
]


@pytest.fixture(scope="module")
def file() -> GGUF:
    (path,) = weights.find("smollm2").glob("*.gguf")
    return GGUF(path)


@pytest.fixture(scope="module")
def ours() -> SmolLM2:
    return load()


@pytest.fixture(scope="module")
def theirs(ours: SmolLM2) -> Any:
    """LlamaForCausalLM with the same weights, its rows in the order of its own layout."""
    import transformers
    from transformers.initialization import no_init_weights

    transformers.logging.set_verbosity_error()
    config = transformers.LlamaConfig(
        vocab_size=49_152,
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 100_000.0},
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=None,
    )
    state = {}
    for name in published_names.LLAMA:
        for i in range(30 if "{i}" in name.theirs else 1):
            weight = ours.model.state_dict()[name.ours[0].replace("{i}", str(i))]
            for letter, heads in (("q", 9), ("k", 3)):
                if f"{letter}_proj" in name.theirs:
                    weight = pairs_to_halves(weight, heads)
            state[name.theirs.replace("{i}", str(i))] = weight
    with no_init_weights():
        model = transformers.LlamaForCausalLM(config).eval()
    model.load_state_dict(state, assign=True)
    return model.requires_grad_(False)


def test_every_tensor_is_the_reference_librarys_bit_for_bit(file: GGUF) -> None:
    theirs = GGUFReader(file.path).tensors
    assert {one.name for one in theirs} == set(file.places)
    for one in theirs:
        expected = torch.from_numpy(dequantize(one.data, one.tensor_type).copy())
        ours = file.tensor(one.name)
        assert torch.equal(ours.view(torch.int32), expected.view(torch.int32)), one.name


def test_two_thousand_lines_have_the_published_tokens(file: GGUF, ours: SmolLM2) -> None:
    words: Any = file.metadata["tokenizer.ggml.tokens"]
    theirs = reference(
        words,
        file.metadata["tokenizer.ggml.merges"],
        [words.index(one) for one in ours.tokens.special],
    )
    source = random.Random(0)
    lines = []
    for _ in range(1990):
        pieces = (source.choice(source.choice(POOLS)) for _ in range(source.choice((3, 9, 40))))
        lines.append("".join(piece + " " * (source.random() < 0.4) for piece in pieces))
    lines += [pool[i % len(pool)] * 300 for i, pool in enumerate(2 * POOLS[:5])]
    expected = [one.ids for one in theirs.encode_batch(lines, add_special_tokens=False)]
    assert max(map(len, expected)) > 512 and len(expected) == 2000
    for line, tokens in zip(lines, expected, strict=True):
        assert ours.tokens.encode(line) == tokens, line
        text = ours.tokens.decode(tokens).decode("utf-8", "replace")
        assert text == theirs.decode(tokens, skip_special_tokens=False)


def test_logits_are_the_reference_librarys(ours: SmolLM2, theirs: Any) -> None:
    with torch.inference_mode():
        for prompt in PROMPTS:
            tokens = torch.tensor([ours.tokens.encode(prompt)])
            here, there = ours.model(tokens), theirs(tokens).logits
            assert (here - there).abs().max() < 1e-4 * there.abs().max()


def test_the_cache_changes_nothing(ours: SmolLM2) -> None:
    tokens = torch.tensor([ours.tokens.encode("The capital of France is Paris.")])
    with torch.inference_mode():
        cache = ours.model.new_cache()
        steps = [ours.model(tokens[:, i : i + 1], cache=cache) for i in range(tokens.size(1))]
        torch.testing.assert_close(
            torch.cat(steps, dim=1), ours.model(tokens), rtol=1e-4, atol=1e-3
        )


def test_greedy_texts_are_the_reference_librarys(ours: SmolLM2, theirs: Any) -> None:
    for prompt in PROMPTS:
        tokens = ours.tokens.encode(prompt)
        options: dict[str, Any] = {"do_sample": False, "max_new_tokens": 12, "pad_token_id": 2}
        there = theirs.generate(torch.tensor([tokens]), eos_token_id=2, **options)
        expected = [token for token in there[0, len(tokens) :].tolist() if token != 2]
        text = "".join(write(ours, prompt, 12))
        assert text == ours.tokens.decode(expected).decode("utf-8", "replace")


def test_the_capital_of_france_is_paris(ours: SmolLM2) -> None:
    assert next(write(ours, PROMPTS[0], 1)) == " Paris"


def test_two_thirds_of_all_weight_fall_on_the_first_token(ours: SmolLM2) -> None:
    found = look(ours, PROMPTS[0])
    assert found.shape == (30, 9, 5, 5)
    assert 0.6 < found[:, :, -1, 0].mean() < 0.7


def test_the_embedding_is_also_the_output(ours: SmolLM2) -> None:
    assert ours.model.W_vocab.weight is ours.model.embedding.weight
    assert isinstance(ours.model.W_vocab, nn.Linear)
    assert sum(weight.numel() for weight in ours.model.parameters()) == 134_515_008
