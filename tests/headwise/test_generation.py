"""Writing on from a prompt: with and without a cache, alone and in a batch."""

from typing import Any

import pytest
import torch
from test_decoder_only import KINDS, VOCAB, every_kind, model

from headwise.choosing import GREEDY, Choice
from headwise.decoder_only import DecoderOnly
from headwise.speculative import speculative

PROMPTS = [[3, 5, 7], [1], [4, 4, 8, 0, 2, 9, 6], [10, 2, 1]]
SAMPLED = Choice(temperature=0.9, top_k=8, top_p=0.95, min_p=0.01, repetition_penalty=1.2)


def seed(number: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(number)


def slowly(module: DecoderOnly, prompt: list[int], max_new: int, eos: int = -1) -> list[int]:
    """Greedy, one prompt, no cache, written a second time."""
    text = list(prompt)
    while len(text) < len(prompt) + max_new:
        text.append(int(module(torch.tensor([text]))[0, -1].argmax()))
        if text[-1] == eos:
            break
    return text[len(prompt) :]


@every_kind
def test_unequal_prompts_give_what_each_gives_alone(options: dict[str, Any]) -> None:
    module = model(**options)
    expected = [slowly(module, prompt, 9) for prompt in PROMPTS]
    for use_cache in (True, False):
        assert module.generate(PROMPTS, 9, use_cache=use_cache) == expected
    assert len({token for text in expected for token in text}) > 3


@every_kind
def test_stream_gives_what_generate_gives(options: dict[str, Any]) -> None:
    module = model(**options)
    for prompt in PROMPTS:
        (expected,) = module.generate([prompt], 9)
        assert list(module.stream(prompt, 9)) == expected
        (ended,) = module.generate([prompt], 9, eos=expected[4])
        assert list(module.stream(prompt, 9, eos=expected[4])) == ended == expected[: len(ended)]
        assert list(module.stream(prompt, 0)) == []


def test_stream_checks_before_the_first_token() -> None:
    module = model()
    with pytest.raises(ValueError, match="prompt: got no token, expected at least one"):
        module.stream([], 3)
    with pytest.raises(
        TypeError, match=r"generator: got 'seed', expected a torch.Generator or None"
    ):
        module.stream([1], 3, generator="seed")  # type: ignore[arg-type]


@every_kind
def test_end_token_ends_its_own_text_alone(options: dict[str, Any]) -> None:
    module = model(**options)
    eos = slowly(module, PROMPTS[0], 5)[2]
    expected = [slowly(module, prompt, 8, eos) for prompt in PROMPTS]
    assert any(len(text) < 8 for text in expected)
    for use_cache in (True, False):
        assert module.generate(PROMPTS, 8, eos=eos, use_cache=use_cache) == expected


def test_stops_when_every_text_has_ended() -> None:
    module = model()
    eos = slowly(module, PROMPTS[0], 3)[2]
    calls = []
    module.norm.register_forward_hook(lambda *_: calls.append(1))
    (text,) = module.generate(PROMPTS[:1], 1000, eos=eos)
    assert len(text) == len(calls) <= 3


@every_kind
def test_one_seed_gives_one_result_with_and_without_cache(options: dict[str, Any]) -> None:
    module = model(**options)

    def drawn(number: int, use_cache: bool) -> list[list[int]]:
        return module.generate(
            PROMPTS, 8, choice=SAMPLED, use_cache=use_cache, generator=seed(number)
        )

    assert drawn(0, True) == drawn(0, True) == drawn(0, False)
    assert drawn(0, True) != drawn(1, True)


def test_repetition_penalty_counts_the_prompt_and_no_padding() -> None:
    """A penalty so high that no token comes twice, until all have been there."""
    module = model()
    shy = Choice(temperature=0.0, repetition_penalty=1e6)
    prompts = [[3, 5, 7], [1]]
    for prompt, text in zip(prompts, module.generate(prompts, 8, choice=shy), strict=True):
        assert len(set(prompt + text)) == len(prompt) + 8
    alone = [module.generate([prompt], 8, choice=shy)[0] for prompt in prompts]
    assert module.generate(prompts, 8, choice=shy) == alone


def test_mode_and_chance_stay_as_they_were() -> None:
    module = model(dropout=0.5).train()
    before = torch.get_rng_state()
    text = module.generate(PROMPTS, 5)
    assert module.training and module.blocks[0].training
    assert torch.equal(torch.get_rng_state(), before)
    assert text == module.eval().generate(PROMPTS, 5)


def test_settings_of_the_rotation_are_heard_at_the_next_text() -> None:
    """Layers share their angles while a text is written, and not beyond it."""
    module, prompt = model(**KINDS["rotary, pairs"]), [3, 1, 4]
    module.generate([prompt], 2)
    module.blocks[0].attention.rotary.theta = 2.0  # all blocks have this one
    assert module.generate([prompt], 8) == [slowly(module, prompt, 8)]


def test_nothing_to_write_gives_empty_texts() -> None:
    assert model().generate(PROMPTS, 0) == [[], [], [], []]
    assert model().generate([], 5) == []


def test_learned_positions_can_be_used_to_the_last() -> None:
    module = model(positions="learned")  # 24 of them
    (text,) = module.generate([[1, 2, 3, 4]], 21)
    assert len(text) == 21


@every_kind
def test_beam_search_of_width_one_is_greedy(options: dict[str, Any]) -> None:
    module = model(**options)
    for prompt in PROMPTS:
        (beam,) = module.beam_search(prompt, width=1, max_new=6)
        assert beam.tokens == module.generate([prompt], 6)[0]


@every_kind
def test_beams_are_the_same_with_and_without_cache(options: dict[str, Any]) -> None:
    module = model(**options)
    eos = slowly(module, PROMPTS[0], 3)[2]
    for width, penalty in ((2, 0.0), (4, 1.0)):
        with_cache, without = (
            module.beam_search(
                PROMPTS[0],
                width=width,
                max_new=6,
                eos=eos,
                length_penalty=penalty,
                use_cache=use_cache,
            )
            for use_cache in (True, False)
        )
        assert [beam.tokens for beam in with_cache] == [beam.tokens for beam in without]
        scores = [beam.score for beam in without]
        assert [beam.score for beam in with_cache] == pytest.approx(scores, abs=1e-9)


def test_beam_scores_are_those_of_the_model() -> None:
    module, prompt = model(), PROMPTS[0]
    for beam in module.beam_search(prompt, width=3, max_new=6, length_penalty=0.5):
        logits = module(torch.tensor([prompt + beam.tokens]))[0, len(prompt) - 1 : -1]
        likely = logits.log_softmax(-1)[torch.arange(6), beam.tokens]
        assert beam.score == pytest.approx(likely.sum().item() / 6**0.5)


def test_speculative_decoding_writes_the_models_own_text() -> None:
    target, draft = model(), model(positions="none")
    for prompt in PROMPTS:
        text = speculative(target, draft, prompt, max_new=12, ahead=3, choice=GREEDY)
        assert text == target.generate([prompt], 12)[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prompts": [[1], []]}, "prompts: got no token, expected at least one"),
        ({"prompts": [[VOCAB]]}, "prompts: got 11, expected a token of at most 10"),
        ({"prompts": [[1] * 21]}, "prompts: got 21 tokens, expected at most 20, as max_len = 24"),
        ({"max_new": -1}, "max_new: got -1"),
        ({"max_new": 30}, "max_new = 30"),
        ({"eos": VOCAB}, "eos: got 11"),
        ({"generator": 5}, "generator: got 5"),
        ({"choice": "greedy"}, "choice: got 'greedy', expected Choice"),
        ({"prompts": [1, 2]}, "prompts: got 1 in it, expected a list of lists of tokens"),
        ({"prompts": "ab"}, "prompts: got 'ab', expected a list of lists of tokens"),
    ],
)
def test_wrong_input_is_named(change: dict[str, Any], message: str) -> None:
    right = {"prompts": PROMPTS, "max_new": 5, "choice": SAMPLED}
    with pytest.raises((ValueError, TypeError), match=message):
        model(positions="learned").generate(**{**right, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prompt": []}, "prompt: got no token"),
        ({"prompt": [1] * 25}, "prompt: got 25 tokens, expected at most 20"),
        ({"eos": VOCAB}, "eos: got 11"),
        ({"width": 0}, "width: got 0"),
    ],
)
def test_wrong_beam_search_is_named(change: dict[str, Any], message: str) -> None:
    right = {"prompt": [1, 2], "width": 2, "max_new": 5}
    with pytest.raises(ValueError, match=message):
        model(positions="learned").beam_search(**{**right, **change})


def test_kinds_cover_every_sort_of_positions() -> None:
    from headwise.decoder_only import POSITIONS

    kinds = {options.get("positions", "rotary") for options in KINDS.values()}
    assert kinds == set(POSITIONS)
