"""The translator: its tokens, and the model that comes with the library."""

import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headwise.models import translator
from headwise.models import translator_training as training
from headwise.models.numerals import LARGEST, to_chinese, to_english
from headwise.transformer import Transformer


@st.composite
def numbers(draw: st.DrawFn) -> int:
    """Numbers of every length, with many zeros."""
    digits = draw(st.lists(st.sampled_from("000123456789"), min_size=1, max_size=9))
    return int("".join(digits))


# Tokens


@given(st.lists(numbers(), min_size=1, max_size=5))
def test_words_survive_tokens(some: list[int]) -> None:
    words = [to_english(n) for n in some]
    assert translator.decode_words(translator.encode_words(words)) == words


def test_words_without_an_end_are_decoded_as_far_as_they_go() -> None:
    assert translator.decode_words(translator.encode_words(["ten"])[:, :-1]) == ["ten"]


def test_unknown_tokens_are_refused() -> None:
    with pytest.raises(ValueError, match="texts: got '两' in them, expected <pad> 零 一"):
        translator.encode(["三", "两百"])
    with pytest.raises(ValueError, match="texts: got 'and' in them"):
        translator.encode_words(["one hundred and one"])


def test_no_text_is_an_empty_batch() -> None:
    assert translator.encode([]).shape == (0, 0)
    assert translator.encode_words([]).dtype == torch.long


def test_longest_number_fits_the_words_allowed() -> None:
    longest = max((777_777_777, 373_373_373, LARGEST), key=lambda n: len(to_english(n).split()))
    assert len(to_english(longest).split()) + 1 == translator.MAX_WORDS


# The shipped model

RECIPE = json.loads(translator.CHECKPOINT.with_suffix(".json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def shipped() -> Transformer:
    return translator.load()


def test_shipped_model_translates_numbers_it_has_never_seen(shipped: Transformer) -> None:
    right = training.exact(shipped, training.held_out_numbers(2_000, seed=20_261))
    assert right.double().mean().item() >= 0.999


def test_cache_changes_no_word_of_a_translation(shipped: Transformer) -> None:
    texts = [to_chinese(n) for n in training.held_out_numbers(2_000, seed=20_261).tolist()]
    for start in range(0, len(texts), 500):
        part = texts[start : start + 500]
        assert translator.say(shipped, part) == translator.say(shipped, part, use_cache=False)


def test_checkpoint_is_small_and_is_the_one_of_the_recipe(shipped: Transformer) -> None:
    assert translator.CHECKPOINT.stat().st_size < 1_000_000
    assert training.fingerprint(shipped) == RECIPE["sha256"]


def test_recipe_is_that_of_the_code() -> None:
    assert RECIPE["seed"] == 0
    assert RECIPE["steps"] == training.STEPS
    assert RECIPE["batch"] == training.BATCH
    assert RECIPE["learning_rate"] == training.LEARNING_RATE
    assert RECIPE["model"] == translator.MODEL


def test_recorded_accuracy_meets_the_bar() -> None:
    right, count = map(int, RECIPE["exact"]["held out"].split(" of "))
    assert count == 10_000
    assert right / count >= 0.999
    ranges = [f"{held.start} to {held.stop - 1}" for held in training.RANGES]
    assert list(RECIPE["exact"]) == ["held out", *ranges]


def test_translate_takes_every_spelling_that_can_be_read() -> None:
    assert translator.translate(["两百零五", "一十五", "〇"]) == [
        "two hundred five",
        "fifteen",
        "zero",
    ]
    assert translator.translate([]) == []


def test_wrong_model_is_refused_even_if_there_is_nothing_to_say() -> None:
    with pytest.raises(TypeError, match="model: got 5, expected Transformer"):
        translator.translate([], 5)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["abc", ""])
def test_text_that_is_no_numeral_goes_by_the_callers_name(text: str) -> None:
    with pytest.raises(ValueError, match=f"texts: got {text!r}.*, expected"):
        translator.translate(["三", text])
    with pytest.raises(ValueError, match=r"texts: got .* in them, expected"):
        translator.encode(["三", text])
