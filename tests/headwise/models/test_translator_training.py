"""Training the translator: which numbers are learned from, and the steps."""

import copy
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from headwise.models import translator
from headwise.models import translator_training as training
from headwise.models.numerals import LARGEST, to_chinese, to_english
from headwise.transformer import Transformer

# The split


def test_no_number_to_learn_from_is_held_out_or_in_a_range() -> None:
    learned = training.training_numbers(20_000, seed=0)
    assert not training.held_out(learned).any()
    assert not [n for n in learned.tolist() if any(n in held for held in training.RANGES)]


@pytest.mark.parametrize("held", training.RANGES)
def test_a_range_is_held_out_from_its_first_number_to_its_last(held: range) -> None:
    border = torch.tensor([held.start - 1, held.start, held.stop - 1, held.stop])
    assert training.in_ranges(border).tolist() == [False, True, True, False]


def test_one_number_in_ten_is_held_out_whatever_its_length() -> None:
    for length in range(3, 10):
        everything = torch.arange(10 ** (length - 1), 10**length, max(1, 10**length // 99_991))
        everything = everything[~training.in_ranges(everything)]
        share = training.held_out(everything).double().mean().item()
        assert abs(share - 0.1) < 0.02, length


def test_numbers_below_100_are_all_learned_from() -> None:
    assert not training.held_out(torch.arange(100)).any()
    assert set(range(100)) <= set(training.training_numbers(20_000, seed=0).tolist())


def test_test_numbers_are_held_out_and_all_different() -> None:
    tested = training.held_out_numbers(5_000, seed=3)
    assert training.held_out(tested).all()
    assert len(tested.unique()) == len(tested) == 5_000


def test_range_numbers_lie_in_their_ranges() -> None:
    for held, row in zip(training.RANGES, training.range_numbers(50, seed=0), strict=True):
        assert all(n in held for n in row.tolist())


def test_numbers_of_every_length_are_drawn() -> None:
    drawn = training.draw(9_000, torch.Generator().manual_seed(0))
    assert drawn.min() >= 0 and drawn.max() <= LARGEST
    lengths = torch.tensor([len(str(n)) for n in drawn.tolist()]).bincount(minlength=10)[1:]
    assert (lengths > 500).all()


# Training


def test_loading_and_creating_leave_the_callers_random_numbers_alone() -> None:
    state = torch.get_rng_state()
    translator.new_model(seed=3)
    translator.load()
    assert torch.equal(torch.get_rng_state(), state)


def trained(model: Transformer | None, seed: int) -> str:
    run = training.Training(model, seed=seed, steps=3)
    run.advance(3)
    return training.fingerprint(run.model)


def test_seed_decides_the_weights() -> None:
    assert trained(None, 0) == trained(None, 0) != trained(None, 1)


def test_seed_decides_the_numbers_to_learn_from() -> None:
    assert trained(translator.new_model(0), 0) != trained(translator.new_model(0), 1)


def test_loss_is_the_mean_over_next_words_and_no_padding() -> None:
    run = training.Training(seed=0, steps=1)
    run.advance(1)
    model, losses = translator.new_model(seed=0), []
    for n in training.training_numbers(training.BATCH, seed=0).tolist():
        words = translator.encode_words([to_english(n)])  # alone, so there is nothing to fill up
        logits = model(translator.encode([to_chinese(n)]), words[:, :-1])
        losses.append(F.cross_entropy(logits[0], words[0, 1:], reduction="none"))
    torch.testing.assert_close(run.losses[0], torch.cat(losses).mean().item(), rtol=1e-5, atol=0)


def test_training_stops_at_its_last_step() -> None:
    run = training.Training(steps=2)
    run.advance(5)
    assert len(run.losses) == 2
    assert run.seconds > 0


def test_training_lowers_the_loss() -> None:
    run = training.Training(steps=20)
    run.advance(20)
    assert sum(run.losses[-5:]) < 0.7 * sum(run.losses[:5])


def test_training_restores_the_number_of_threads() -> None:
    torch.set_num_threads(2)
    training.Training(steps=1).advance(1)
    assert torch.get_num_threads() == 2


def test_learning_rate_rises_and_falls() -> None:
    rates = [training.learning_rate(step, 100) for step in range(100)]
    top = rates.index(max(rates))
    assert max(rates) == training.LEARNING_RATE
    assert rates == sorted(rates[: top + 1]) + sorted(rates[top + 1 :], reverse=True)
    assert 9 <= top <= 10
    assert rates[-1] < 0.01 * training.LEARNING_RATE


def test_steps_below_one_are_refused() -> None:
    with pytest.raises(ValueError, match="steps: got 0"):
        training.Training(steps=0)


def test_refused_state_leaves_the_training_as_it_was() -> None:
    run = training.Training(steps=3)
    run.advance(1)
    before = training.fingerprint(run.model), list(run.losses), run.seconds
    other = training.Training(seed=0, steps=3)
    other.advance(2)
    state = other.state_dict()
    for broken in ({**state, "optimizer": None}, {**state, "losses": ["a"]}, {}):
        with pytest.raises(ValueError, match="state: got a broken one"):
            run.load_state_dict(broken)
        assert (training.fingerprint(run.model), run.losses, run.seconds) == before
    run.load_state_dict(state)
    assert training.fingerprint(run.model) == training.fingerprint(other.model)


@pytest.mark.parametrize(
    "numbers", [torch.tensor([0.5]), torch.tensor([-1]), torch.tensor([10**9])]
)
def test_numbers_are_those_that_can_be_written(numbers: torch.Tensor) -> None:
    for question in (training.held_out, training.in_ranges):
        with pytest.raises(ValueError, match="numbers: got"):
            question(numbers)


def test_more_numbers_than_there_are_is_refused_rather_than_looked_for() -> None:
    with pytest.raises(ValueError, match="count: got 1000000000, expected"):
        training.held_out_numbers(10**9, seed=0)


def test_model_of_other_vocabularies_is_refused() -> None:
    other = Transformer(5, 5, d_model=8, num_heads=2, num_layers=1)
    for call in (lambda: training.Training(other), lambda: translator.say(other, ["三"])):
        with pytest.raises(ValueError, match="model: got vocabularies of 5 and 5 tokens"):
            call()


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32])
def test_numbers_may_be_narrow(dtype: torch.dtype) -> None:
    numbers = torch.tensor([5, 96, 100, 110, 120])  # 60,000 is 96 in eight bits
    for judge in (training.in_ranges, training.held_out):
        assert judge(numbers.to(dtype)).equal(judge(numbers))


def test_fingerprint_reads_every_dtype_and_nothing_without_values() -> None:
    model = translator.new_model()
    before = training.fingerprint(model)
    assert training.fingerprint(model.bfloat16()) != before
    with pytest.raises(ValueError, match="model: got a tensor on the meta device"):
        training.fingerprint(model.to("meta"))


@pytest.mark.parametrize(
    "change",
    [
        {"losses": [1.0] * 9},
        {"seconds": -1.0},
        {"seconds": float("nan")},
        {"more": 1},
        {"seed": False},
        {"losses": "12"},
        {"losses": ["1.0"]},
        {"losses": [1.0]},
        {"seconds": "5"},
        {"seconds": True},
    ],
)
def test_state_that_no_training_reaches_is_refused(change: dict[str, Any]) -> None:
    begun = training.Training(steps=2)
    with pytest.raises(ValueError, match="state: got a broken one"):
        begun.load_state_dict({**begun.state_dict(), **change})


@pytest.mark.parametrize(
    ("where", "change"),
    [
        (("model", "W_vocab.weight"), lambda x: x * math.nan),
        (("model", "W_vocab.weight"), lambda x: x.double()),
        (("optimizer", "state", 0, "exp_avg"), lambda x: x[:1]),
        (("optimizer", "state", 0, "exp_avg_sq"), lambda x: x - 1),
        (("optimizer", "state", 0, "step"), lambda x: x + 1),
        (("optimizer", "param_groups", 0, "betas"), lambda x: (9.0, 9.0)),
        (("optimizer", "param_groups", 0, "lr"), lambda x: math.nan),
    ],
)
def test_state_with_numbers_of_another_training_is_refused(
    where: tuple[Any, ...], change: Callable[[Any], object]
) -> None:
    begun = training.Training(steps=2)
    begun.advance(1)
    state = part = copy.deepcopy(begun.state_dict())
    *before, last = where
    for key in before:
        part = part[key]
    part[last] = change(part[last])
    with pytest.raises(ValueError, match="state: got a broken one"):
        begun.load_state_dict(state)


def test_model_without_values_is_refused() -> None:
    far = translator.new_model().to("meta")
    with pytest.raises(ValueError, match="model: got one on the meta device"):
        training.Training(far)
    with pytest.raises(ValueError, match="model: got one on the meta device"):
        training.exact(far, torch.tensor([5]))
