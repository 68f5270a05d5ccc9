"""Speculative decoding: a small model guesses ahead, a large one checks, and nothing changes.

The large model reads all guesses in one call, where it would have needed one call for each. A
guess is kept with just the chance that leaves every probability as the large model has it.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from headwise._check import ROWS, check_kind, check_model, check_place, check_prompt, check_whole
from headwise._check_tensors import check_shape
from headwise.choosing import Choice

Model = Callable[[Tensor], Tensor]
Draw = Callable[[Tensor], int]
Device = torch.device | str | None


def speculative(
    target: Model,
    draft: Model,
    prompt: Sequence[int],
    *,
    max_new: int,
    ahead: int = 4,
    eos: int = -1,
    choice: Choice | None = None,
    generator: torch.Generator | None = None,
    device: Device = None,
) -> list[int]:
    """What the target model writes after the prompt, in fewer calls of it: the new tokens.

    Args:
        target: the model that counts. Like the draft, it takes tokens (1, seq_len) and gives
            logits (1, seq_len, vocab), of which row t scores what follows token t.
        draft: a cheaper model with the same tokens.
        prompt: the tokens to go on from.
        max_new: the most tokens to write.
        ahead: how many tokens the draft guesses in a round.
        eos: the token that ends the text, or -1: none does.
        choice: how the target chooses; by default, by its probabilities. With GREEDY the text is
            the target's own, token for token.
        generator: where chance comes from.
        device: where the models are.
    """
    choice = Choice() if choice is None else choice
    _check(target, draft, "prompt", prompt, ahead, choice, device)
    check_whole("max_new", max_new, 0, ROWS)
    check_whole("eos", eos, -1, ROWS, "a token")
    if generator is not None:
        check_kind("generator", generator, torch.Generator)

    def draw(weights: Tensor) -> int:
        return int(torch.multinomial(weights, 1, generator=generator))

    tokens = [int(token) for token in prompt]
    end = len(tokens) + max_new
    while len(tokens) < end:
        guesses = min(ahead, end - len(tokens) - 1)  # each round adds one more than it guesses
        added = one_round(
            target, draft, tokens, ahead=guesses, choice=choice, draw=draw, device=device
        )
        if eos in added:
            return tokens[len(prompt) :] + added[: added.index(eos) + 1]
        tokens += added
    return tokens[len(prompt) :]


def one_round(
    target: Model,
    draft: Model,
    tokens: Sequence[int],
    *,
    ahead: int,
    choice: Choice,
    draw: Draw,
    device: Device = None,
) -> list[int]:
    """What one round adds to the tokens: the guesses that were kept, and one token more.

    The arguments are those of `speculative`. All chance comes from draw, which gets weights and
    returns the number of one, taken with a probability in proportion to it.
    """
    _check(target, draft, "tokens", tokens, ahead, choice, device)
    check_model("draw", draw)
    ahead = int(ahead)

    def probabilities(logits: Tensor, so_far: list[int]) -> Tensor:
        return choice.probabilities(logits[None], torch.tensor([so_far]).to(logits.device))[0]

    text = [int(token) for token in tokens]
    q = []  # of each guess, how likely the draft was to make it and every other
    for _ in range(ahead):
        q.append(probabilities(_logits("draft", draft, text, device)[-1], text))
        text.append(draw(q[-1]))

    logits = _logits("target", target, text, device)[len(tokens) - 1 :]  # (ahead + 1, vocab)
    for i in range(ahead):
        so_far, guess = text[: len(tokens) + i], text[len(tokens) + i]
        p = probabilities(logits[i], so_far)  # (vocab,)
        check_shape("draft", q[i], p.shape)
        keep = (p[guess] / q[i][guess]).clamp(max=1)
        if draw(torch.stack((1 - keep, keep))) == 0:
            missing = (p - q[i]).clamp(min=0)  # (vocab,)
            # What the draft offers too seldom is drawn from, unless all of it is lost in rounding.
            return [*so_far[len(tokens) :], draw(missing if missing.any() else p)]
    return [*text[len(tokens) :], draw(probabilities(logits[ahead], text))]


def _logits(name: str, model: Model, text: list[int], device: Device) -> Tensor:
    """The logits (seq_len, vocab) of what follows each token of the text."""
    logits = model(torch.tensor([text], device=device))
    check_shape(name, logits, (1, len(text), "vocab"))
    return logits[0]


def _check(
    target: Model,
    draft: Model,
    name: str,
    tokens: Sequence[int],
    ahead: int,
    choice: Choice,
    device: Device,
) -> None:
    check_model("target", target)
    check_model("draft", draft)
    check_prompt(name, tokens)
    check_whole("ahead", ahead, 0, ROWS)
    check_kind("choice", choice, Choice)
    check_place(device)
