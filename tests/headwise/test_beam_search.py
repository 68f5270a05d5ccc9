"""Beam search: against everything that a small model could say."""

import math
from typing import Any

import pytest
import torch
from small_models import Table

from headwise.beam_search import Beam, beam_search

PROMPT, EOS = [1, 0], 2


def best_of_all(model: Table, max_new: int, eos: int, length_penalty: float) -> list[Beam]:
    """Every text, scored, the best first."""
    scored = [
        Beam(text, total / len(text) ** length_penalty)
        for text, total in model.texts(PROMPT, max_new, eos)
    ]
    return sorted(scored, key=lambda beam: -beam.score)


def assert_same(found: list[Beam], expected: list[Beam]) -> None:
    assert [beam.tokens for beam in found] == [beam.tokens for beam in expected]
    assert [beam.score for beam in found] == pytest.approx([beam.score for beam in expected])


@pytest.mark.parametrize("eos", [EOS, -1])
@pytest.mark.parametrize("length_penalty", [-1.0, 0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_wide_enough_finds_the_best_of_all(seed: int, length_penalty: float, eos: int) -> None:
    model = Table(3, seed)
    everything = best_of_all(model, 4, eos, length_penalty)
    found = beam_search(
        model.step, PROMPT, width=81, max_new=4, eos=eos, length_penalty=length_penalty
    )
    assert_same(found, everything[:81])


@pytest.mark.parametrize("seed", range(5))
def test_width_of_one_is_greedy(seed: int) -> None:
    model, text = Table(4, seed), list(PROMPT)
    while len(text) < len(PROMPT) + 6 and text[-1] != EOS:
        logits = model.after(text)
        text.append(logits.index(max(logits)))
    (found,) = beam_search(model.step, PROMPT, width=1, max_new=6, eos=EOS)
    assert found.tokens == text[len(PROMPT) :]


def test_wider_finds_what_greedy_misses() -> None:
    def step(tokens: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        # 0 is the likelier beginning, but what follows 1 is certain.
        after = {(): [0.6, 0.4], (0,): [0.5, 0.5], (1,): [0.0, 1.0]}
        return torch.tensor([after[tuple(row[1:])] for row in tokens.tolist()]).log()

    narrow = beam_search(step, [0], width=1, max_new=2)
    wide = beam_search(step, [0], width=2, max_new=2)
    assert narrow[0].tokens[0] == 0
    assert wide[0].tokens == [1, 1]
    assert wide[0].score == pytest.approx(math.log(0.4) / 2)


def test_impossible_texts_are_no_beams() -> None:
    def step(tokens: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        return torch.tensor([[0.0, -math.inf, -math.inf]]).expand(len(tokens), 3)

    assert beam_search(step, [0], width=5, max_new=3) == [Beam([0, 0, 0], 0.0)]


@pytest.mark.parametrize("length_penalty", [-1.0, 0.0, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(5))
def test_stops_early_only_where_nothing_better_can_come(seed: int, length_penalty: float) -> None:
    """The same texts as when every round is made, which a second copy of the rule tells."""
    model, width, max_new = Table(4, seed, spread=3.0), 3, 8
    open_texts: list[tuple[list[int], float]] = [([], 0.0)]
    done: list[Beam] = []
    for length in range(1, max_new + 1):
        longer = [
            ([*text, token], model.log_probability(PROMPT, [*text, token]))
            for text, _ in open_texts
            for token in range(4)
        ]
        longer = sorted(longer, key=lambda pair: -pair[1])[:width]
        ended = [pair for pair in longer if pair[0][-1] == EOS or length == max_new]
        done += [Beam(text, total / length**length_penalty) for text, total in ended]
        open_texts = [pair for pair in longer if pair not in ended]
    expected = sorted(done, key=lambda beam: -beam.score)[:width]
    found = beam_search(
        model.step, PROMPT, width=width, max_new=max_new, eos=EOS, length_penalty=length_penalty
    )
    assert_same(found, expected)


def test_a_sure_end_saves_rounds() -> None:
    calls = []

    def step(tokens: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        calls.append(rows.tolist())
        return torch.tensor([[-9.0, -9.0, 9.0]]).expand(len(tokens), 3)

    beam_search(step, [0], width=1, max_new=50, eos=EOS)
    assert len(calls) == 1
    beam_search(step, [0], width=2, max_new=50, eos=EOS, length_penalty=0.0)
    assert len(calls) == 3


def test_step_is_told_where_each_beam_comes_from() -> None:
    model, before = Table(4, 0), torch.tensor([PROMPT])

    def step(tokens: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        nonlocal before
        if tokens.size(1) > len(PROMPT):
            assert torch.equal(tokens[:, :-1], before[rows])
        before = tokens
        return model.step(tokens, rows)

    assert len(beam_search(step, PROMPT, width=3, max_new=5)) == 3


def test_nothing_to_write_finds_nothing() -> None:
    assert beam_search(Table(3, 0).step, PROMPT, width=2, max_new=0) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prompt": []}, "prompt: got no token, expected at least one"),
        ({"prompt": [-1]}, "prompt: got -1"),
        ({"width": 0}, "width: got 0"),
        ({"max_new": -1}, "max_new: got -1"),
        ({"length_penalty": math.nan}, "length_penalty: got nan"),
        ({"step": lambda tokens, rows: torch.ones(1, 2, 3)}, r"step: got shape \(1, 2, 3\)"),
    ],
)
def test_wrong_input_is_named(change: dict[str, Any], message: str) -> None:
    right = {"step": Table(3, 0).step, "prompt": PROMPT, "width": 2, "max_new": 3}
    with pytest.raises(ValueError, match=message):
        beam_search(**{**right, **change})
