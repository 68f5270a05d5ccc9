"""Choosing the next token: greedy, or by chance with temperature, top-k, top-p and min-p.

A model gives logits (batch, vocab), one row for each text. The functions here change logits or
set some to -inf, so that softmax gives those tokens the probability 0; `sample` draws one of the
others. `Choice` holds a setting for each and applies them in the usual order.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from headwise._check import ROWS, check_kind, check_real, check_whole
from headwise._check_tensors import (
    check_device,
    check_floats,
    check_integers,
    check_range,
    check_shape,
    check_values,
)

HOTTEST = 1e6  # a temperature at which all tokens are equally likely, for all one can tell


def with_temperature(logits: Tensor, temperature: float) -> Tensor:
    """The logits (batch, vocab) divided by the temperature: below 1, the likely become likelier.

    At 0, which one cannot divide by, the likeliest token alone is left. The best logit of a row
    is made 0 first, which changes no probability, so that a low temperature cannot overflow.
    """
    _check_logits(logits)
    check_real("temperature", temperature, 0, HOTTEST)
    if temperature < torch.finfo(logits.dtype).tiny:
        return _without(logits, _columns(logits) != logits.argmax(-1, keepdim=True))
    return (logits - logits.amax(-1, keepdim=True)) / temperature


def top_k(logits: Tensor, k: int) -> Tensor:
    """The logits (batch, vocab) of the k likeliest tokens, and of those just as likely."""
    _check_logits(logits)
    check_whole("k", k, 1, ROWS)
    least = logits.topk(min(k, logits.size(-1))).values[:, -1:]  # (batch, 1)
    return _without(logits, logits < least)


def top_p(logits: Tensor, p: float) -> Tensor:
    """The logits (batch, vocab) of the fewest tokens that together have the probability p.

    The token with which the sum reaches p is one of them.
    """
    _check_logits(logits)
    check_real("p", p, 0, 1, above=True)
    if p == 1:
        return logits  # the last tokens would be lost in rounding
    ordered, order = logits.sort(descending=True, stable=True)  # (batch, vocab)
    likely = _probabilities(ordered)  # (batch, vocab)
    before = likely.cumsum(-1) - likely  # (batch, vocab)
    hidden = torch.zeros_like(before, dtype=torch.bool).scatter(-1, order, before >= p)
    return _without(logits, hidden)


def min_p(logits: Tensor, p: float) -> Tensor:
    """The logits (batch, vocab) of tokens that are at least p times as likely as the likeliest."""
    _check_logits(logits)
    check_real("p", p, 0, 1)
    probabilities = _probabilities(logits)
    return _without(logits, probabilities < p * probabilities.amax(-1, keepdim=True))


def with_repetition_penalty(logits: Tensor, tokens: Tensor, penalty: float) -> Tensor:
    """The logits (batch, vocab), lower for the tokens (batch, seq_len) that are there already.

    Above 0 they are divided by the penalty and below 0 multiplied, as in the CTRL model. A token
    of -1 stands for none, where rows are of unequal length.
    """
    _check_logits(logits)
    _check_so_far(tokens, logits)
    check_range("tokens", tokens, -1, logits.size(-1) - 1)
    check_real("penalty", penalty, 0, HOTTEST, above=True)
    vocab = logits.size(-1)
    seen = torch.zeros_like(F.pad(logits, (0, 1)), dtype=torch.bool)  # one more column, for none
    seen = seen.scatter(-1, tokens.long().where(tokens >= 0, vocab), True)[:, :vocab]
    penalised = torch.where(logits < 0, logits * penalty, logits / penalty)
    return torch.where(seen, penalised, logits)


def sample(logits: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """A token for each row of the logits (batch, vocab), drawn by its probability: (batch,)."""
    _check_logits(logits)
    _check_generator(generator, logits)
    return torch.multinomial(_probabilities(logits), 1, generator=generator)[:, 0]  # (batch,)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """How to choose the next token; by default, by its probability.

    Args:
        temperature: below 1 the likely become likelier; 0 is greedy, always the likeliest.
        top_k: only so many of the likeliest tokens.
        top_p: only the likeliest tokens that together have this probability.
        min_p: only tokens at least this many times as likely as the likeliest.
        repetition_penalty: above 1, tokens that were there before become less likely.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0

    def __post_init__(self) -> None:
        check_real("temperature", self.temperature, 0, HOTTEST)
        check_whole("top_k", 1 if self.top_k is None else self.top_k, 1, ROWS)
        check_real("top_p", self.top_p, 0, 1, above=True)
        check_real("min_p", self.min_p, 0, 1)
        check_real("repetition_penalty", self.repetition_penalty, 0, HOTTEST, above=True)

    def adjust(self, logits: Tensor, tokens: Tensor) -> Tensor:
        """The logits (batch, vocab) that are drawn from, after the tokens (batch, seq_len)."""
        logits = self._penalised(logits, tokens)
        if self.temperature != 1:
            logits = with_temperature(logits, self.temperature)
        if self.top_k is not None:
            logits = top_k(logits, self.top_k)
        if self.top_p != 1:
            logits = top_p(logits, self.top_p)
        if self.min_p != 0:
            logits = min_p(logits, self.min_p)
        return logits

    def _penalised(self, logits: Tensor, tokens: Tensor) -> Tensor:
        if self.repetition_penalty != 1:
            return with_repetition_penalty(logits, tokens, self.repetition_penalty)
        _check_logits(logits)
        _check_so_far(tokens, logits)
        return logits

    def probabilities(self, logits: Tensor, tokens: Tensor) -> Tensor:
        """How likely this choice takes each token, (batch, vocab)."""
        return _probabilities(self.adjust(logits, tokens))

    def __call__(
        self, logits: Tensor, tokens: Tensor, generator: torch.Generator | None = None
    ) -> Tensor:
        """The next token of each row, (batch,), after the tokens (batch, seq_len) so far."""
        if self.temperature == 0:  # the likeliest stays so, whatever else is left out
            logits = self._penalised(logits, tokens)
            _check_generator(generator, logits)
            return logits.argmax(-1)
        return sample(self.adjust(logits, tokens), generator)


GREEDY = Choice(temperature=0.0)


def _probabilities(logits: Tensor) -> Tensor:
    """Softmax, in single precision at least: in half, small probabilities would be lost."""
    return logits.softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))


def _without(logits: Tensor, hidden: Tensor) -> Tensor:
    return logits.masked_fill(hidden, -torch.inf)


def _columns(logits: Tensor) -> Tensor:
    return torch.arange(logits.size(-1), device=logits.device)


def _check_logits(logits: Tensor) -> None:
    """Logits (batch, vocab), of which every row leaves a token to choose."""
    check_shape("logits", logits, ("batch", "vocab"))
    check_floats("logits", logits)
    best = logits.amax(-1)  # (batch,)
    check_values("logits", best, best.isfinite(), "numbers, some of them finite in every row")


def _check_so_far(tokens: Tensor, logits: Tensor) -> None:
    check_shape("tokens", tokens, (logits.size(0), "seq_len"))
    check_integers("tokens", tokens)
    check_device("tokens", tokens, "the logits", logits)


def _check_generator(generator: torch.Generator | None, logits: Tensor) -> None:
    if generator is None:
        return
    check_kind("generator", generator, torch.Generator)
    if generator.device.type != logits.device.type:
        raise ValueError(
            f"generator: got device {generator.device}, expected {logits.device}, as the logits"
        )
