"""Writing on from a prompt: in batches of unequal prompts, with a cache, or by beam search."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from types import NoneType

import torch
from torch import Tensor, nn

from headwise._check import (
    ROWS,
    check_each,
    check_flags,
    check_kind,
    check_prompt,
    check_whole,
    known_to_fit,
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

        Shorter prompts are filled up at the left. So all texts end at one column, one call reads
        all prompts, and each call after it adds one column to all of them. No attention sees the
        filling, and positions count from the first token of each text, so that each gets what it
        would get alone. Dropout is off, and the mode of the model stays as it is.

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
        written = list(self._columns(prompts, max_new, choice, eos, use_cache, generator))
        rows = torch.stack(written, dim=1).tolist()  # one list for each text
        return [[token for token in row if token >= 0] for row in rows]

    def stream(
        self,
        prompt: Sequence[int],
        max_new: int,
        *,
        choice: Choice = GREEDY,
        eos: int = -1,
        use_cache: bool = True,
        generator: torch.Generator | None = None,
    ) -> Iterator[int]:
        """What `generate` writes after one prompt, each token as soon as it is chosen."""
        self._check_writing([], max_new, choice, eos, use_cache)
        self._check_prompt("prompt", prompt, max_new)
        expected = "a torch.Generator or None"
        check_kind("generator", generator, torch.Generator, NoneType, expected=expected)
        columns = self._columns([prompt], max_new, choice, eos, use_cache, generator)
        return (int(column) for column in columns)

    @torch.inference_mode()
    def _columns(
        self,
        prompts: Sequence[Sequence[int]],
        max_new: int,
        choice: Choice,
        eos: int,
        use_cache: bool,
        generator: torch.Generator | None,
    ) -> Iterator[Tensor]:
        """The next token of every text, (batch,), again and again; -1 once a text has ended."""
        model, device = without_dropout(self), self.embedding.weight.device
        longest = max(map(len, prompts))
        end = longest + max_new
        fill = torch.tensor([[longest - len(prompt)] for prompt in prompts]).to(
            device
        )  # (batch, 1)
        tokens = torch.full((len(prompts), end), -1, device=device)  # (batch, end)
        for row, prompt in zip(tokens, prompts, strict=True):
            row[longest - len(prompt) : longest] = torch.tensor(prompt)
        columns = torch.arange(end, device=device)  # (end,)
        ragged = bool(fill.any())
        mask = (columns >= fill)[:, None, None] if ragged else None  # (batch, 1, 1, end)
        positions = (columns - fill).clamp(min=0) if ragged else None  # (batch, end)
        # In a ring, the first tokens of all texts would have to lie in the same columns.
        cache = model.new_cache(end, ring=not ragged) if use_cache else None
        is_open = torch.ones(len(prompts), dtype=torch.bool, device=device)  # (batch,)
        for t in range(longest, end):
            start = cache[0].length if cache else 0
            new = tokens[:, start:t]  # (batch, t - start)
            with known_to_fit() if t > longest else nullcontext():
                x = model.hidden(
                    new.clamp(min=0) if ragged or eos >= 0 else new,  # -1 stands for nothing
                    None if mask is None else mask[..., :t],
                    positions=None if positions is None else positions[:, start:t],
                    cache=cache,
                )
            chosen = choice(model.W_vocab(x[:, -1]), tokens[:, :t], generator)  # (batch,)
            tokens[:, t] = chosen
            if eos >= 0:
                tokens[:, t].masked_fill_(~is_open, -1)
                is_open = is_open & (chosen != eos)
            yield tokens[:, t]
            if eos >= 0 and not is_open.any():
                break

    @torch.inference_mode()
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
        cache = model.new_cache(ring=False) if use_cache else None

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
