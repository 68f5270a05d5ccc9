"""Beam search: the likeliest whole text, looked for along several beginnings at once."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from headwise._check import ROWS, check_model, check_place, check_prompt, check_real, check_whole
from headwise._check_tensors import check_shape

Step = Callable[[Tensor, Tensor], Tensor]
MOST_BEAMS = 2**16


class Beam(NamedTuple):
    """What was written after the prompt, the end included, and how good it is."""

    tokens: list[int]
    score: float


def check_beam_search(
    prompt: Sequence[int], width: int, max_new: int, eos: int, length_penalty: float
) -> None:
    """A beam search can be asked for this."""
    check_prompt("prompt", prompt)
    check_whole("width", width, 1, MOST_BEAMS)
    check_whole("max_new", max_new, 0, ROWS)
    check_whole("eos", eos, -1, ROWS, "a token")
    check_real("length_penalty", length_penalty, -10, 10)


def beam_search(
    step: Step,
    prompt: Sequence[int],
    *,
    width: int,
    max_new: int,
    eos: int = -1,
    length_penalty: float = 1.0,
    device: torch.device | str | None = None,
) -> list[Beam]:
    """The best texts found, the best first, at most `width` of them.

    In every round each text is continued by every token, and of all that the `width` likeliest
    stay. A text is done when it ends with eos or is max_new tokens long.

    Args:
        step: gives the logits (beams, vocab) of what follows the tokens (beams, seq_len). It is
            also told which rows of its last call these go on from, (beams,): a model with a cache
            needs that.
        prompt: the tokens to go on from.
        width: how many texts stay; 1 is greedy.
        max_new: the most tokens to write.
        eos: the token that ends a text, or -1: none does.
        length_penalty: a text of n tokens is scored by the logarithm of its probability, divided
            by n ** length_penalty; 0 prefers short texts, and the larger, the longer.
        device: where the model is.
    """
    check_model("step", step)
    check_place(device)
    check_beam_search(prompt, width, max_new, eos, length_penalty)

    def score(total: float, length: int) -> float:
        return total / math.pow(length, length_penalty)

    tokens = torch.tensor([list(prompt)], device=device)
    rows = torch.zeros_like(tokens[:, 0])
    totals = torch.zeros_like(rows, dtype=torch.float32)
    finished: list[Beam] = []
    for length in range(1, max_new + 1):
        logits = step(tokens, rows)
        check_shape("step", logits, (len(tokens), "vocab"))
        best, rows, chosen = _likeliest(logits, totals, width)
        tokens = torch.cat((tokens[rows], chosen[:, None]), dim=1)

        done = (chosen == eos) | bool(length == max_new)
        for row, total in zip(tokens[done], best[done], strict=True):
            finished.append(Beam(row[len(prompt) :].tolist(), score(total.item(), length)))
        finished = sorted(finished, key=lambda beam: -beam.score)[:width]
        tokens, rows, totals = tokens[~done], rows[~done], best[~done]
        if not len(tokens):
            break
        # A sum can only fall, so no text that is still open can get beyond this.
        hope = max(score(totals[0].item(), n) for n in (length + 1, max_new))
        if len(finished) == width and finished[-1].score >= hope:
            break
    return finished


def _likeliest(logits: Tensor, totals: Tensor, width: int) -> tuple[Tensor, Tensor, Tensor]:
    """Of all continuations the likeliest: their sums, the rows they continue and their tokens.

    totals (beams,) are the sums of the rows so far.
    """
    wide = torch.promote_types(logits.dtype, torch.float32)
    sums = totals[:, None] + logits.log_softmax(-1, dtype=wide)  # (beams, vocab)
    best, places = sums.flatten().topk(min(width, sums.numel()))
    possible = best > -torch.inf
    best, places = best[possible], places[possible]  # (candidates,)
    return best, places // sums.size(1), places % sums.size(1)
