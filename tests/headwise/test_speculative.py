"""Speculative decoding changes no probability: every path of chance is written out."""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest
import torch
from small_models import Table
from torch import Tensor

from headwise.choosing import GREEDY, Choice
from headwise.speculative import one_round, speculative

PROMPT = [1, 0]
CHOICES = {
    "plain": Choice(),
    "temperature": Choice(temperature=0.6),
    "top-k": Choice(top_k=2),
    "top-p": Choice(top_p=0.7),
    "min-p": Choice(min_p=0.3),
    "repetition": Choice(repetition_penalty=1.7),
    "greedy": GREEDY,
}
every_choice = pytest.mark.parametrize("choice", CHOICES.values(), ids=CHOICES)
Distribution = dict[tuple[int, ...], float]


class Path:
    """One way that chance can go: the draws so far are made again, and new ones take the first."""

    def __init__(self, draws: list[int]) -> None:
        self.draws = draws
        self.others: list[list[int]] = []  # the ways that were not gone
        self.step, self.probability = 0, 1.0

    def draw(self, weights: Tensor) -> int:
        shares = (weights / weights.sum()).tolist()
        if self.step == len(self.draws):
            first, *others = [i for i, share in enumerate(shares) if share > 0]
            self.others += [[*self.draws, other] for other in others]
            self.draws.append(first)
        drawn = self.draws[self.step]
        self.step += 1
        self.probability *= shares[drawn]
        return drawn


def outcomes(run: Callable[[Callable[[Tensor], int]], list[int]]) -> Distribution:
    """How likely each result of run is, over everything that its draws can come to."""
    found: Distribution = defaultdict(float)
    ways: list[list[int]] = [[]]
    while ways:
        path = Path(ways.pop())
        found[tuple(run(path.draw))] += path.probability
        ways += path.others
    return found


def written(target: Table, draft: Table, ahead: int, choice: Choice, new: int) -> Distribution:
    """What rounds of speculation write, as `speculative` makes them."""

    def rounds(draw: Callable[[Tensor], int]) -> list[int]:
        text = list(PROMPT)
        while len(text) < len(PROMPT) + new:
            guesses = min(ahead, len(PROMPT) + new - len(text) - 1)
            text += one_round(target, draft, text, ahead=guesses, choice=choice, draw=draw)
        return text[len(PROMPT) :]

    return outcomes(rounds)


def alone(target: Table, choice: Choice, new: int) -> Distribution:
    """What the target writes by itself."""
    found: Distribution = {}
    for text in itertools.product(range(target.vocab), repeat=new):
        probability, so_far = 1.0, list(PROMPT)
        for token in text:
            logits = torch.tensor([target.after(so_far)], dtype=torch.float64)
            probability *= choice.probabilities(logits, torch.tensor([so_far]))[0, token].item()
            so_far.append(token)
        found[text] = probability
    return found


def assert_same(ours: Distribution, theirs: Distribution) -> None:
    for text in {*ours, *theirs}:
        assert ours.get(text, 0) == pytest.approx(theirs.get(text, 0), abs=1e-12)


@every_choice
@pytest.mark.parametrize("ahead", [0, 1, 2])
def test_no_probability_changes(choice: Choice, ahead: int) -> None:
    target, draft = Table(3, seed=1), Table(3, seed=2)
    ours = written(target, draft, ahead, choice, new=3)
    assert sum(ours.values()) == pytest.approx(1, abs=1e-12)
    assert_same(ours, alone(target, choice, new=3))


def test_a_rule_that_keeps_every_guess_would_be_found_out() -> None:
    target, draft = Table(3, seed=1), Table(3, seed=2)
    with pytest.raises(AssertionError):
        assert_same(alone(draft, Choice(), new=3), alone(target, Choice(), new=3))


def test_a_draft_that_rules_tokens_out_changes_nothing() -> None:
    class Narrow(Table):
        def after(self, text: Any) -> list[float]:
            first, *others = super().after(text)
            return [first, *(-math.inf for _ in others)]

    target = Table(3, seed=1)
    ours = written(target, Narrow(3, seed=2), 2, Choice(), new=3)
    assert_same(ours, alone(target, Choice(), new=3))


def test_a_perfect_draft_is_always_kept() -> None:
    target = Table(3, seed=1)
    for text in outcomes(
        lambda draw: one_round(target, target, PROMPT, ahead=2, choice=Choice(), draw=draw)
    ):
        assert len(text) == 3


@pytest.mark.parametrize("ahead", [1, 3, 8])
@pytest.mark.parametrize("seed", range(4))
def test_greedy_writes_what_the_target_writes(seed: int, ahead: int) -> None:
    target, draft = Table(5, seed), Table(5, seed + 100)
    text = list(PROMPT)
    for _ in range(12):
        logits = target.after(text)
        text.append(logits.index(max(logits)))
    found = speculative(target, draft, PROMPT, max_new=12, ahead=ahead, choice=GREEDY)
    assert found == text[len(PROMPT) :]
    ended = speculative(target, draft, PROMPT, max_new=12, ahead=ahead, choice=GREEDY, eos=found[4])
    assert ended == found[: found.index(found[4]) + 1]


def test_good_guesses_save_calls_of_the_target() -> None:
    target, twin = Table(5, 0), Table(5, 0)
    speculative(target, twin, PROMPT, max_new=20, ahead=4, choice=GREEDY)
    assert target.calls == 4
    assert twin.calls == 16


def test_one_seed_gives_one_result() -> None:
    def drawn(seed: int) -> list[int]:
        generator = torch.Generator().manual_seed(seed)
        return speculative(Table(5, 1), Table(5, 2), PROMPT, max_new=20, generator=generator)

    assert drawn(0) == drawn(0) != drawn(1)


def test_draws_are_those_of_the_rounds() -> None:
    """`speculative` is rounds, and nothing else, until there are enough tokens."""
    target, draft = Table(5, 1), Table(5, 2)
    generator = torch.Generator().manual_seed(3)
    text = list(PROMPT)
    while len(text) < 12:
        text += one_round(
            target,
            draft,
            text,
            ahead=min(3, 11 - len(text)),
            choice=Choice(),
            draw=lambda weights: int(torch.multinomial(weights, 1, generator=generator)),
        )
    again = torch.Generator().manual_seed(3)
    assert speculative(target, draft, PROMPT, max_new=10, ahead=3, generator=again) == text[2:]


def test_rejected_by_rounding_alone_still_writes_a_token() -> None:
    """Where draft and target agree, nothing is missing to draw from; then the target is."""
    target = Table(3, seed=1)
    answers = iter([0, 0])  # the guess; then its rejection, of probability 0

    def draw(weights: Tensor) -> int:
        return next(answers, int(weights.argmax()))

    logits = target.after(PROMPT)
    added = one_round(target, target, PROMPT, ahead=1, choice=Choice(), draw=draw)
    assert added == [logits.index(max(logits))]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prompt": []}, "prompt: got no token, expected at least one"),
        ({"ahead": -1}, "ahead: got -1"),
        ({"max_new": -1}, "max_new: got -1"),
        ({"eos": -2}, "eos: got -2"),
        ({"draft": Table(4, 0)}, r"draft: got shape \(4,\), expected \(3,\)"),
        ({"target": lambda tokens: torch.ones(1, 3)}, r"target: got shape \(1, 3\)"),
    ],
)
def test_wrong_input_is_named(change: dict[str, Any], message: str) -> None:
    right = {"target": Table(3, 0), "draft": Table(3, 0), "prompt": PROMPT, "max_new": 3}
    with pytest.raises(ValueError, match=message):
        speculative(**{**right, **change})
