"""The decoder-only model and its parts give what the library `transformers` gives.

Both hold the same random weights, no two alike, which get their names here from
headwise.models.published_names: so this proves each name of GPT-2 and Llama as well. The library
is imported by the one fixture here, because that takes seconds; the tests that need it are all in
this file.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from headwise.choosing import (
    Choice,
    min_p,
    top_k,
    top_p,
    with_repetition_penalty,
    with_temperature,
)
from headwise.decoder_only import DecoderOnly
from headwise.feed_forward import SwiGLU
from headwise.models import published_names
from headwise.models.published_names import renamed
from headwise.rms_norm import RMSNorm

VOCAB, WIDTH, HEADS, LAYERS = 23, 16, 4, 2
PROMPTS = [[3, 5, 7, 2, 9], [11], [4, 4, 18, 20, 1, 0, 6, 22]]


@pytest.fixture(scope="module")
def library() -> ModuleType:
    import transformers

    transformers.logging.set_verbosity_error()
    return transformers


def shaken(module: nn.Module) -> nn.Module:
    """The module with no weight left as it was initialised, norms and biases included."""
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter) / 4)
    return module.eval()


def gpt2(library: ModuleType) -> tuple[DecoderOnly, nn.Module]:
    """Ours and theirs, with the same weights."""
    config = library.GPT2Config(
        vocab_size=VOCAB,
        n_positions=32,
        n_embd=WIDTH,
        n_layer=LAYERS,
        n_head=HEADS,
        bos_token_id=None,
        eos_token_id=None,
    )
    theirs = shaken(library.GPT2LMHeadModel(config).double())
    ours = DecoderOnly.gpt2_like(VOCAB, WIDTH, HEADS, LAYERS, max_len=32).double().eval()
    ours.load_state_dict(renamed(theirs.state_dict(), published_names.GPT2))
    return ours, theirs


def llama(library: ModuleType) -> tuple[DecoderOnly, nn.Module]:
    """Ours and theirs, with the same weights."""
    config = library.LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=WIDTH,
        intermediate_size=40,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=2,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 500.0},
        bos_token_id=None,
        eos_token_id=None,
    )
    theirs = shaken(library.LlamaForCausalLM(config))
    ours = DecoderOnly.llama_like(
        VOCAB, WIDTH, HEADS, LAYERS, num_kv_heads=2, d_ff=40, theta=500.0
    ).eval()
    ours.load_state_dict(renamed(theirs.state_dict(), published_names.LLAMA))
    return ours, theirs


# Their Llama turns and normalises in single precision, whatever the weights are in.
both = pytest.mark.parametrize(("pair", "atol"), [(gpt2, 1e-10), (llama, 2e-5)])
Pair = Callable[[ModuleType], tuple[DecoderOnly, nn.Module]]


def assert_same(ours: Tensor, theirs: Tensor, atol: float) -> None:
    torch.testing.assert_close(ours, theirs, rtol=0, atol=atol)


def test_rms_norm(library: ModuleType) -> None:
    from transformers.models.llama.modeling_llama import LlamaRMSNorm

    for dtype, atol in ((torch.float32, 1e-6), (torch.bfloat16, 0.0), (torch.float16, 0.0)):
        theirs = shaken(LlamaRMSNorm(WIDTH, 1e-5)).to(dtype)
        ours = RMSNorm(WIDTH, 1e-5).to(dtype)
        ours.load_state_dict(theirs.state_dict())
        x = torch.randn(2, 3, WIDTH).to(dtype)
        assert_same(ours(x), theirs(x), atol)


def test_swiglu(library: ModuleType) -> None:
    from transformers.models.llama.modeling_llama import LlamaMLP

    config = library.LlamaConfig(hidden_size=WIDTH, intermediate_size=40, num_attention_heads=HEADS)
    theirs = shaken(LlamaMLP(config).double())
    ours = SwiGLU(WIDTH, 40).double()
    for name, there in (("W_gate", "gate_proj"), ("W_1", "up_proj"), ("W_2", "down_proj")):
        ours.get_submodule(name).load_state_dict(theirs.get_submodule(there).state_dict())
    x = torch.randn(2, 3, WIDTH, dtype=torch.float64)
    assert_same(ours(x), theirs(x), 1e-12)


@both
def test_prefill_and_cached_steps(library: ModuleType, pair: Pair, atol: float) -> None:
    ours, theirs = pair(library)
    tokens = torch.randint(0, VOCAB, (3, 12), generator=torch.Generator().manual_seed(1))
    whole = theirs(tokens).logits
    assert_same(ours(tokens), whole, atol)
    cache, past = ours.new_cache(), None
    for start, end in ((0, 5), (5, 6), (6, 7), (7, 12)):
        new = tokens[:, start:end]
        there = theirs(new, past_key_values=past, use_cache=True)
        past = there.past_key_values
        here = ours(new, cache=cache)
        assert_same(here, there.logits, atol)
        assert_same(here, whole[:, start:end], atol)


@both
def test_gradients_of_the_loss(library: ModuleType, pair: Pair, atol: float) -> None:
    ours, theirs = pair(library)
    tokens = torch.randint(0, VOCAB, (2, 9), generator=torch.Generator().manual_seed(1))
    losses = []
    for logits in (ours(tokens), theirs(tokens).logits):
        loss = nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        losses.append(loss)
    assert_same(*losses, atol)
    grown = theirs.get_input_embeddings().weight.grad
    assert ours.embedding.weight.grad is not None
    assert_same(ours.embedding.weight.grad, grown, atol)


@both
def test_greedy_text_of_unequal_prompts(library: ModuleType, pair: Pair, atol: float) -> None:
    ours, theirs = pair(library)
    longest = max(map(len, PROMPTS))
    filled = torch.tensor([[0] * (longest - len(prompt)) + prompt for prompt in PROMPTS])
    mask = torch.tensor([[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in PROMPTS])
    options: dict[str, Any] = {"do_sample": False, "max_new_tokens": 15, "pad_token_id": 0}
    texts = theirs.generate(filled, attention_mask=mask, **options)
    expected = texts[:, longest:].tolist()
    assert ours.generate(PROMPTS, 15) == expected
    assert len({token for text in expected for token in text}) > 5  # it does not say one thing only


@both
def test_beam_search(library: ModuleType, pair: Pair, atol: float) -> None:
    ours, theirs = pair(library)
    for prompt in PROMPTS:
        there = theirs.generate(
            torch.tensor([prompt]),
            attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
            num_beams=4,
            num_return_sequences=4,
            do_sample=False,
            max_new_tokens=8,
            pad_token_id=0,
            length_penalty=0.7,
            return_dict_in_generate=True,
            output_scores=True,
        )
        here = ours.beam_search(prompt, width=4, max_new=8, length_penalty=0.7)
        assert [beam.tokens for beam in here] == there.sequences[:, len(prompt) :].tolist()
        scores = torch.tensor([beam.score for beam in here], dtype=torch.float64)
        assert_same(scores, there.sequences_scores.double(), 1e-5)


def test_left_padding_needs_positions_and_a_mask(library: ModuleType) -> None:
    ours, theirs = gpt2(library)
    tokens, pad = torch.tensor([[0, 0, 5, 3, 7]]), 2
    positions = torch.tensor([[0, 0, 0, 1, 2]])
    mask = torch.tensor([[False, False, True, True, True]])[:, None, None]
    here = ours(tokens, mask, positions=positions)[:, pad:]
    assert_same(here, ours(tokens[:, pad:]), 1e-10)
    there = theirs(tokens, attention_mask=mask[:, 0, 0].long(), position_ids=positions).logits
    assert_same(here, there[:, pad:], 1e-10)


def test_settings_of_choosing(library: ModuleType) -> None:
    torch.manual_seed(0)
    logits, tokens = torch.randn(50, VOCAB, dtype=torch.float64), torch.randint(0, VOCAB, (50, 6))
    pairs = (
        (
            with_repetition_penalty(logits, tokens, 1.4),
            library.RepetitionPenaltyLogitsProcessor(1.4),
        ),
        (with_temperature(logits, 0.6), library.TemperatureLogitsWarper(0.6)),
        (top_k(logits, 5), library.TopKLogitsWarper(5)),
        (top_p(logits, 0.8), library.TopPLogitsWarper(0.8)),
        (min_p(logits, 0.2), library.MinPLogitsWarper(0.2)),
    )
    for ours, theirs in pairs:
        assert_same(ours.softmax(-1), theirs(tokens, logits).softmax(-1), 1e-12)
    choice = Choice(temperature=0.6, top_k=9, top_p=0.8, min_p=0.05, repetition_penalty=1.4)
    expected = logits
    for theirs in (
        library.RepetitionPenaltyLogitsProcessor(1.4),
        library.TemperatureLogitsWarper(0.6),
        library.TopKLogitsWarper(9),
        library.TopPLogitsWarper(0.8),
        library.MinPLogitsWarper(0.05),
    ):
        expected = theirs(tokens, expected)
    assert_same(choice.probabilities(logits, tokens), expected.softmax(-1), 1e-12)
