"""Two bugs that make a model choose otherwise than it was told to."""

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from headwise.museum.detecting import answer, places
from headwise.museum.exhibit import Exhibit

# X22: temperature applied after softmax


def cool_after_softmax(logits: Tensor, temperature: float) -> Tensor:
    """Meant to make likely tokens likelier when the temperature is below 1."""
    probabilities = logits.softmax(-1) / temperature
    return probabilities / probabilities.sum(-1, keepdim=True)  # (batch, vocab)


def cool_before_softmax(logits: Tensor, temperature: float) -> Tensor:
    """Right: divides the logits, and softmax turns the result into probabilities."""
    return (logits / temperature).softmax(-1)  # (batch, vocab)


def temperature_changes_the_odds(probabilities: Callable[[Tensor, float], Any]) -> None:
    """A difference of d between two logits must become odds of exp(d / temperature)."""
    logits = torch.tensor([[2.0, 1.0, 0.0, 0.5], [0.0, 0.0, -1.0, 1.5]])  # (2, 4)
    for temperature in (0.5, 1.0, 2.0):
        found = answer("probabilities", probabilities, logits.clone(), temperature, shape=(2, 4))
        total = found.sum(-1)[0].item()
        assert abs(total - 1) < 0.02, f"at temperature {temperature}, a row sums to {total:.2f}"
        for b, (i, j) in ((b, pair) for b in range(2) for pair in combinations(range(4), 2)):
            odds = (found[b, i] / found[b, j]).item()
            expected = math.exp((logits[b, i] - logits[b, j]).item() / temperature)
            assert math.isclose(odds, expected, rel_tol=0.05), (
                f"at temperature {temperature}, logits {logits[b, i]:.1f} and {logits[b, j]:.1f} "
                f"get odds of {odds:.2f}, not {expected:.2f}"
            )


# X23: top-p that drops the token which crosses the line


def keep_below_top_p(logits: Tensor, top_p: float) -> Tensor:
    """Meant to keep the likeliest tokens, until together they have top_p of the probability."""
    probabilities, order = logits.softmax(-1).sort(dim=-1, descending=True)
    kept = probabilities.cumsum(-1) <= top_p
    kept[:, 0] = True  # at least one
    probabilities = probabilities * kept
    probabilities = probabilities / probabilities.sum(-1, keepdim=True)
    return torch.zeros_like(logits).scatter(-1, order, probabilities)  # (batch, vocab)


def keep_up_to_top_p(logits: Tensor, top_p: float) -> Tensor:
    """Right: a token stays as long as those before it have not reached the line."""
    probabilities, order = logits.softmax(-1).sort(dim=-1, descending=True)
    kept = probabilities.cumsum(-1) - probabilities < top_p
    probabilities = probabilities * kept
    probabilities = probabilities / probabilities.sum(-1, keepdim=True)
    return torch.zeros_like(logits).scatter(-1, order, probabilities)  # (batch, vocab)


def kept_tokens_reach_top_p(cut: Callable[[Tensor, float], Any]) -> None:
    """The likeliest tokens must be kept that together have top_p, and not one more.

    cut takes logits and top_p and returns probabilities, 0 where a token is cut off.
    """
    shares = torch.tensor([[0.15, 0.5, 0.05, 0.3], [0.1, 0.2, 0.3, 0.4]])
    for top_p in (0.35, 0.6, 0.75, 0.97):
        found = answer("cut", cut, shares.log(), top_p, shape=(2, 4))
        for b in range(2):
            order = sorted(range(4), key=lambda token: -shares[b, token].item())
            enough = next(n for n in range(1, 5) if shares[b, order[:n]].sum() >= top_p)
            kept, expected = places(found[b] > 1e-6), sorted(order[:enough])
            given = [round(share, 2) for share in shares[b].tolist()]
            assert kept == expected, (
                f"of {given}, top_p = {top_p} keeps tokens {kept}, not {expected}"
            )
            total = found[b].sum().item()
            assert abs(total - 1) < 0.02, f"with top_p = {top_p}, what is kept sums to {total:.2f}"


CHOOSING = (
    Exhibit("X22", cool_after_softmax, cool_before_softmax, temperature_changes_the_odds),
    Exhibit("X23", keep_below_top_p, keep_up_to_top_p, kept_tokens_reach_top_p),
)
