"""Writing on from a prompt: in batches of unequal prompts, with a cache, or by beam search."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from headwise._check import (
    ROWS,
    check_each,
    check_flags,
    check_kind,
    check_prompt,
    check_whole,
)
from headwise._eval_mode import without_dropout
from headwise.beam_search import Beam, beam_search
from headwise.cache import KeyValueCache
from headwise.choosing import GREEDY, Choice


class Writer(nn.Module):
    """What any decoder-only model can do, once it has the parts that are named here."""

    vocab: int
    max_len: int | None  # how many positions there are, if they have an end
    embedding: nn.Embedding
    W_vocab: nn.Linear
    hidden: Callable[..., Tensor]
    new_cache: Callable[..., list[KeyValueCache]]

    @torch.no_grad()
    def generate(
        self,
        prompts: Sequence[Sequence[int]],
        max_new: int,
        *,
        choice: Choice = GREEDY,
        eos: int = -1,
        use_cache: bool = True,
        generator: torch.Generator | None = None,
    ) -> list[list[int]]:
        """What the model writes after each prompt: the new tokens, eos included.

        Prompts may be of unequal length, and are not filled up: every text begins at column 0, so
        that a column is a position for all of them, whatever kind of positions the model has, and
        windows and sinks are where they should be. All texts are read as far as the shortest
        prompt goes, and from there on column by column: a text that still has prompt left gets
        its own next token, and any other the one that is chosen. Dropout is off, and the mode of
        the model stays as it is.

        Args:
            prompts: a list of tokens for each text.
            max_new: the most tokens to write for each.
            choice: how to choose; by default, greedily.
            eos: the token that ends a text, or -1: none does.
            use_cache: keep keys and values, or compute everything anew for each token; the
                tokens are the same.
            generator: where chance comes from.
        """
        self._check_writing(prompts, max_new, choice, eos, use_cache)
        if not max_new or not prompts:
            return [[] for _ in prompts]
        model, device = without_dropout(self), self.embedding.weight.device
        lengths = torch.tensor([len(prompt) for prompt in prompts], device=device)  # (batch,)
        start, end = int(lengths.min()), int(lengths.max()) + max_new
        tokens = torch.full((len(prompts), end), -1, device=device)  # (batch, end)
        for row, prompt in zip(tokens, prompts, strict=True):
            row[: len(prompt)] = torch.tensor(prompt)
        cache = model.new_cache(end) if use_cache else None
        open_rows = torch.ones_like(lengths, dtype=torch.bool)  # (batch,)
        for t in range(start, end):
            new = tokens[:, cache[0].length if cache else 0 : t]
            x = model.hidden(new.clamp(min=0), cache=cache)[:, -1]  # (batch, d_model)
            chosen = choice(model.W_vocab(x), tokens[:, :t], generator)  # (batch,)
            written = open_rows & (t >= lengths)  # (batch,)
            tokens[:, t] = chosen.where(written, tokens[:, t])
            open_rows = open_rows & ~(written & (chosen == eos)) & (t + 1 < lengths + max_new)
            if not open_rows.any():
                break
        return [
            [token for token in row[len(prompt) : len(prompt) + max_new] if token >= 0]
            for row, prompt in zip(tokens.tolist(), prompts, strict=True)
        ]

    @torch.no_grad()
    def beam_search(
        self,
        prompt: Sequence[int],
        *,
        width: int,
        max_new: int,
        eos: int = -1,
        length_penalty: float = 1.0,
        use_cache: bool = True,
    ) -> list[Beam]:
        """The best texts found after the prompt, the best first, at most `width` of them.

        The arguments are those of headwise.beam_search.beam_search, and use_cache of `generate`.
        """
        check_flags(use_cache=use_cache)
        check_whole("max_new", max_new, 0, ROWS)
        check_whole("eos", eos, -1, self.vocab - 1, "a token")
        self._check_prompt("prompt", prompt, max_new)
        model = without_dropout(self)
        cache = model.new_cache() if use_cache else None

        def step(tokens: Tensor, rows: Tensor) -> Tensor:
            for part in cache or []:
                if part.K is not None and part.V is not None:
                    part.K, part.V = part.K[rows], part.V[rows]
            x = model.hidden(tokens[:, cache[0].length if cache else 0 :], cache=cache)
            logits: Tensor = model.W_vocab(x[:, -1])  # (beams, vocab)
            return logits

        return beam_search(
            step,
            prompt,
            width=width,
            max_new=max_new,
            eos=eos,
            length_penalty=length_penalty,
            device=self.embedding.weight.device,
        )

    def _check_writing(
        self,
        prompts: Sequence[Sequence[int]],
        max_new: int,
        choice: Choice,
        eos: int,
        use_cache: bool,
    ) -> None:
        """`generate` can be asked for this."""
        check_whole("max_new", max_new, 0, ROWS)
        check_kind("choice", choice, Choice)
        check_whole("eos", eos, -1, self.vocab - 1, "a token")
        check_flags(use_cache=use_cache)
        check_each("prompts", prompts, Sequence, expected="a list of lists of tokens")
        for prompt in prompts:
            self._check_prompt("prompts", prompt, max_new)

    def _check_prompt(self, name: str, prompt: Sequence[int], max_new: int) -> None:
        """The prompt and what is written after it fit; the last token is written, never read."""
        check_prompt(name, prompt, self.vocab)
        if self.max_len is not None and len(prompt) + max_new - 1 > self.max_len:
            raise ValueError(
                f"{name}: got {len(prompt)} tokens, expected at most "
                f"{self.max_len - max_new + 1}, as max_len = {self.max_len} and max_new = {max_new}"
            )
