"""Models of a few tokens, small enough to write out everything that they could say."""

import itertools
import math
import random
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor


class Table:
    """A model that gives every text logits of its own, drawn once and for all."""

    def __init__(self, vocab: int, seed: int, spread: float = 1.5) -> None:
        self.vocab, self.seed, self.spread, self.calls = vocab, seed, spread, 0

    def after(self, text: Sequence[int]) -> list[float]:
        """The logits of what follows this text."""
        source = random.Random(f"{self.seed} {list(text)}")
        return [source.gauss(0, self.spread) for _ in range(self.vocab)]

    def __call__(self, tokens: Tensor) -> Tensor:
        """The logits (batch, seq_len, vocab) of what follows each token."""
        self.calls += 1
        rows = tokens.tolist()
        logits = [[self.after(row[: t + 1]) for t in range(len(row))] for row in rows]
        return torch.tensor(logits, dtype=torch.float64)

    def step(self, tokens: Tensor, rows: Tensor) -> Tensor:
        """The logits (beams, vocab) of what follows each row, for beam search."""
        return self(tokens)[:, -1]

    def texts(self, prompt: list[int], max_new: int, eos: int) -> Iterator[tuple[list[int], float]]:
        """Everything that can follow the prompt, with the logarithm of its probability."""
        for length in range(1, max_new + 1):
            for text in itertools.product(range(self.vocab), repeat=length):
                if eos not in text[:-1] and (text[-1] == eos or length == max_new):
                    yield list(text), self.log_probability(prompt, list(text))

    def log_probability(self, prompt: list[int], text: list[int]) -> float:
        total = 0.0
        for i, token in enumerate(text):
            logits = self.after(prompt + text[:i])
            total += logits[token] - math.log(sum(map(math.exp, logits)))
        return total
