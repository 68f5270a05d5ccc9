"""Choosing the next token: what each setting keeps, worked out by hand and by definition."""

import copy
import math
import pickle
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from headwise.choosing import (
    GREEDY,
    Choice,
    min_p,
    sample,
    top_k,
    top_p,
    with_repetition_penalty,
    with_temperature,
)

# Five tokens with the probabilities 0.5, 0.25, 0.125, 0.1 and 0.025, in another order.
LIKELY = torch.tensor([[0.125, 0.5, 0.025, 0.25, 0.1]], dtype=torch.float64)
LOGITS = LIKELY.log()
NONE = torch.empty(1, 0, dtype=torch.long)


def kept(logits: Tensor) -> list[int]:
    """The tokens of the one row that can still be chosen."""
    return logits[0].isfinite().nonzero()[:, 0].tolist()


def logits_of(draw_from: st.SearchStrategy[float]) -> st.SearchStrategy[Tensor]:
    row = st.lists(draw_from, min_size=1, max_size=8)
    return row.map(lambda values: torch.tensor([values], dtype=torch.float64))


any_logits = logits_of(st.floats(-20, 20) | st.sampled_from([-math.inf, 0.0, 1.0])).filter(
    lambda logits: bool(logits.isfinite().any())
)


def test_temperature_sharpens_below_one_and_flattens_above() -> None:
    def likeliest(temperature: float) -> float:
        return with_temperature(LOGITS, temperature).softmax(-1)[0, 1].item()

    assert likeliest(1) == pytest.approx(0.5)
    # Squared and divided by their sum; and with square roots.
    assert likeliest(0.5) == pytest.approx(0.25 / LIKELY.square().sum().item())
    assert likeliest(2) == pytest.approx(math.sqrt(0.5) / LIKELY.sqrt().sum().item())


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16])
@pytest.mark.parametrize("temperature", [0, 1e-320, 1e-45, 1e-30, 1e-5])
def test_low_temperature_leaves_the_likeliest(dtype: torch.dtype, temperature: float) -> None:
    probabilities = with_temperature(LOGITS.to(dtype), temperature).softmax(-1)
    assert probabilities.tolist() == [[0, 1, 0, 0, 0]]


def test_temperature_of_zero_takes_the_first_of_equals() -> None:
    assert kept(with_temperature(torch.tensor([[1.0, 3.0, 3.0]]), 0)) == [1]


@pytest.mark.parametrize(
    ("k", "tokens"), [(1, [1]), (2, [1, 3]), (4, [0, 1, 3, 4]), (9, [*range(5)])]
)
def test_top_k_keeps_the_k_likeliest(k: int, tokens: list[int]) -> None:
    assert kept(top_k(LOGITS, k)) == tokens


def test_top_k_keeps_all_of_equals() -> None:
    assert kept(top_k(torch.tensor([[1.0, 2.0, 1.0, 0.0]]), 2)) == [0, 1, 2]


@pytest.mark.parametrize(
    ("p", "tokens"),
    [
        (1e-9, [1]),
        (0.49, [1]),
        (0.51, [1, 3]),
        (0.8, [0, 1, 3]),
        (0.98, [*range(5)]),
        (1, [*range(5)]),
    ],
)
def test_top_p_keeps_the_token_that_crosses_the_line(p: float, tokens: list[int]) -> None:
    assert kept(top_p(LOGITS, p)) == tokens


@given(any_logits, st.floats(0.01, 0.99))
def test_top_p_keeps_the_fewest_that_reach_p(logits: Tensor, p: float) -> None:
    likely = logits.softmax(-1)[0]
    chosen = kept(top_p(logits, p))
    total, least = likely[chosen].sum().item(), likely[chosen].min().item()
    assert total >= p - 1e-12
    assert total - least < p
    dropped = [token for token in range(len(likely)) if token not in chosen]
    assert all(likely[token] <= least for token in dropped)


def test_top_p_of_one_keeps_what_rounding_would_lose() -> None:
    logits = torch.tensor([[0.0, -40.0, -50.0]])
    assert kept(top_p(logits, 1.0)) == [0, 1, 2]


@pytest.mark.parametrize(
    ("p", "tokens"), [(0, [*range(5)]), (0.15, [0, 1, 3, 4]), (0.4, [1, 3]), (1, [1])]
)
def test_min_p_measures_by_the_likeliest(p: float, tokens: list[int]) -> None:
    assert kept(min_p(LOGITS, p)) == tokens


def test_repetition_penalty_lowers_what_was_there() -> None:
    logits = torch.tensor([[2.0, -2.0, 1.0, 0.5], [2.0, -2.0, 1.0, 0.5]])
    tokens = torch.tensor([[0, 1, 0], [3, -1, -1]])
    expected = [[1.0, -4.0, 1.0, 0.5], [2.0, -2.0, 1.0, 0.25]]
    assert with_repetition_penalty(logits, tokens, 2.0).tolist() == expected
    assert with_repetition_penalty(logits, tokens.int(), 1.0).tolist() == logits.tolist()


def test_rows_do_not_mix() -> None:
    logits, tokens = torch.randn(6, 9, dtype=torch.float64), torch.randint(-1, 9, (6, 4))
    choice = Choice(temperature=0.7, top_k=7, top_p=0.9, min_p=0.02, repetition_penalty=1.3)
    together = choice.probabilities(logits, tokens)
    for i in range(6):
        alone = choice.probabilities(logits[i : i + 1], tokens[i : i + 1])
        torch.testing.assert_close(together[i : i + 1], alone)


@given(any_logits)
def test_no_setting_ever_drops_the_likeliest(logits: Tensor) -> None:
    best = logits.argmax(-1).item()
    for change in (
        with_temperature(logits, 0),
        with_temperature(logits, 0.1),
        with_temperature(logits, 1e6),
        top_k(logits, 1),
        top_p(logits, 1e-6),
        min_p(logits, 1.0),
    ):
        assert best in kept(change)
        assert change.softmax(-1).isfinite().all()


def test_choice_applies_its_settings_one_after_the_other() -> None:
    tokens = torch.tensor([[1]])
    expected = with_repetition_penalty(LOGITS, tokens, 1.5)
    expected = min_p(top_p(top_k(with_temperature(expected, 0.8), 4), 0.9), 0.1)
    choice = Choice(temperature=0.8, top_k=4, top_p=0.9, min_p=0.1, repetition_penalty=1.5)
    assert torch.equal(choice.adjust(LOGITS, tokens), expected)
    assert torch.equal(choice.probabilities(LOGITS, tokens), expected.softmax(-1))


def test_choice_without_settings_leaves_the_probabilities() -> None:
    torch.testing.assert_close(Choice().probabilities(LOGITS, NONE), LIKELY)


def test_sample_draws_by_probability_and_one_seed_gives_one_result() -> None:
    many = LOGITS.expand(100_000, -1)

    def drawn(seed: int) -> Tensor:
        return sample(many, torch.Generator().manual_seed(seed))

    counts = drawn(0).bincount(minlength=5)
    torch.testing.assert_close(counts / 100_000, LIKELY[0].float(), rtol=0, atol=0.01)
    assert torch.equal(drawn(0), drawn(0))
    assert not torch.equal(drawn(0), drawn(1))


def test_sample_never_takes_what_is_hidden() -> None:
    hidden = top_k(LOGITS, 2).expand(10_000, -1)
    assert set(sample(hidden, torch.Generator().manual_seed(0)).tolist()) == {1, 3}


def test_greedy_needs_no_chance() -> None:
    before = torch.get_rng_state()
    logits = torch.randn(4, 9, generator=torch.Generator().manual_seed(0))
    assert torch.equal(GREEDY(logits, torch.empty(4, 0).long()), logits.argmax(-1))
    assert torch.equal(torch.get_rng_state(), before)


def test_greedy_takes_what_is_left_after_all_settings() -> None:
    generator = torch.Generator().manual_seed(0)
    logits, tokens = torch.randn(50, 9, generator=generator), torch.arange(50)[:, None] % 9
    choice = Choice(temperature=0.0, top_k=3, top_p=0.5, min_p=0.5, repetition_penalty=3.0)
    assert torch.equal(choice(logits, tokens), choice.adjust(logits, tokens).argmax(-1))
    assert not torch.equal(choice(logits, tokens), logits.argmax(-1))


def test_half_precision_keeps_small_probabilities() -> None:
    logits = torch.zeros(1, 5000, dtype=torch.bfloat16)
    assert len(kept(top_p(logits, 0.5))) == pytest.approx(2500, abs=2)


def test_choices_compare_copy_and_pickle() -> None:
    choice = Choice(top_k=3)
    assert choice == copy.deepcopy(choice) == pickle.loads(pickle.dumps(choice)) != GREEDY


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": -1}, "temperature: got -1, expected a number of at least 0"),
        ({"temperature": math.inf}, "temperature: got inf"),
        ({"top_k": 0}, "top_k: got 0, expected a whole number of at least 1"),
        ({"top_p": 0}, "top_p: got 0, expected a number of more than 0 and at most 1"),
        ({"top_p": 1.5}, "top_p: got 1.5"),
        ({"min_p": -0.1}, "min_p: got -0.1"),
        ({"repetition_penalty": 0.0}, "repetition_penalty: got 0.0"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Choice(**settings)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: with_temperature(LOGITS, -1.0), "temperature: got -1.0"),
        (lambda: top_k(LOGITS, 0), "k: got 0"),
        (lambda: top_p(LOGITS, 0.0), "p: got 0.0"),
        (lambda: min_p(LOGITS, 2.0), "p: got 2.0"),
        (lambda: sample(LOGITS[0]), r"logits: got shape \(5,\), expected \(batch, vocab\)"),
        (lambda: sample(LOGITS * math.nan), "logits: got nan in it, expected numbers"),
        (lambda: sample(LOGITS - math.inf), "logits: got -inf in it"),
        (lambda: sample(torch.ones(2, 3).long()), "logits: got shape"),
        (
            lambda: Choice(repetition_penalty=2.0)(LOGITS, torch.tensor([[5]])),
            "tokens: got 5 in it, expected -1 to 4",
        ),
        (lambda: GREEDY(LOGITS, NONE.float()), "tokens: got dtype torch.float32"),
        (lambda: GREEDY(LOGITS, NONE.to("meta")), "tokens: got device meta"),
        (lambda: GREEDY(LOGITS.to("meta"), NONE.to("meta"), torch.Generator()), "generator: got"),
    ],
)
def test_wrong_input_is_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
