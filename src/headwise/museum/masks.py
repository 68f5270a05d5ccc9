"""Seven bugs that hide too much, too little, or the wrong thing."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from headwise.museum.detecting import (
    Convention,
    answer,
    check_convention,
    check_seen,
    given,
    places,
    seen,
)
from headwise.museum.exhibit import Exhibit

# X4: repeat for repeat_interleave


def masks_by_repeat(mask: Tensor, num_heads: int) -> Tensor:
    """Meant to repeat the mask of each batch item for all its heads."""
    return mask.repeat(num_heads, 1, 1)


def masks_by_repeat_interleave(mask: Tensor, num_heads: int) -> Tensor:
    """Right: a, a, b, b."""
    return mask.repeat_interleave(num_heads, dim=0)


def every_head_gets_its_own_mask(
    fold: Callable[[Tensor, int], Any], *, convention: Convention = "True shows"
) -> None:
    """Row b * num_heads + h of the folded masks must be the mask of batch item b."""
    lengths = torch.tensor([1, 3, 2])[:, None, None]
    mask = (torch.arange(5) < lengths).repeat(1, 4, 1)  # (3, 4, 5)
    folded = answer("fold", fold, given(mask, convention), 2, shape=(3, 2, 4, 5))
    check_seen(seen(folded, convention), mask, convention)


# X5: inverted boolean mask


def hide_where_true(scores: Tensor, mask: Tensor) -> Tensor:
    """Meant to hide what may not be seen."""
    return scores.masked_fill(mask, -math.inf).softmax(-1)


def hide_where_false(scores: Tensor, mask: Tensor) -> Tensor:
    """Right: hides where the mask is False."""
    return scores.masked_fill(~mask, -math.inf).softmax(-1)


def hidden_keys_get_nothing(
    weights: Callable[[Tensor, Tensor], Any], *, convention: Convention = "True shows"
) -> None:
    """Keys that the mask hides must get the weight 0, and the others more."""
    mask = torch.tensor([[[[True, True, False], [True, False, False]]]])  # (1, 1, 2, 3)
    scores = torch.zeros(1, 1, 2, 3)
    found = answer("weights", weights, scores, given(mask, convention), shape=(1, 1, 2, 3))
    hidden, visible = found[~mask], found[mask]
    assert hidden.abs().max() < 1e-6, f"hidden keys get {hidden.tolist()}, where {convention}"
    assert visible.min() > 0, f"visible keys get {visible.tolist()}, where {convention}"


# X6: mask on the wrong axis when batch == heads


def mask_meets_heads(scores: Tensor, mask: Tensor) -> Tensor:
    """Meant to give each batch item a mask of its own."""
    return scores.masked_fill(~mask, -math.inf).softmax(-1)


def mask_meets_batch(scores: Tensor, mask: Tensor) -> Tensor:
    """Right: an axis of 1 for the heads, and each batch item has its own mask."""
    return scores.masked_fill(~mask[:, None], -math.inf).softmax(-1)


def every_item_keeps_to_its_own_mask(
    weights: Callable[[Tensor, Tensor], Any], *, convention: Convention = "True shows"
) -> None:
    """With as many items as heads: item b must see what mask b shows, in every head."""
    lengths = torch.tensor([[1, 2, 3], [2, 2, 1], [3, 1, 2]])[..., None]
    mask = torch.arange(3) < lengths  # (3, 3, 3)
    scores = torch.zeros(3, 3, 3, 3)
    found = answer("weights", weights, scores, given(mask, convention), shape=(3, 3, 3, 3))
    check_seen(found > 1e-6, mask, convention)


# X7: mask after softmax


def mask_after_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Meant to give hidden keys no weight."""
    return scores.softmax(-1) * mask


def mask_before_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Right: softmax sees only what may be seen, and those weights sum to 1."""
    return scores.masked_fill(~mask, -math.inf).softmax(-1)


def hidden_scores_change_nothing(
    weights: Callable[[Tensor, Tensor], Any], *, convention: Convention = "True shows"
) -> None:
    """The visible weights must sum to 1, and not depend on the score of a hidden key."""
    mask = torch.tensor([[[[True, True, False], [True, False, True]]]])  # (1, 1, 2, 3)
    small = torch.tensor([[[[1.0, 2.0, 0.0], [1.0, 0.0, 2.0]]]])
    large = small.masked_fill(~mask, 5.0)
    before, after = (
        answer("weights", weights, scores, given(mask, convention), shape=(1, 1, 2, 3)) * mask
        for scores in (small, large)
    )
    place = (before - after).abs().argmax()
    was, becomes = before.flatten()[place].item(), after.flatten()[place].item()
    assert abs(was - becomes) < 0.01, (
        f"a hidden score moves a visible weight from {was:.2f} to {becomes:.2f}, where {convention}"
    )
    least = before.sum(-1).min().item()
    assert abs(least - 1) < 0.01, f"visible weights sum to {least:.2f}, where {convention}"


# X8: causal diagonal hidden


def causal_without_itself(seq_len: int) -> Tensor:
    """Meant to hide what comes later."""
    return torch.ones(seq_len, seq_len, dtype=torch.bool).tril(-1)


def causal_with_itself(seq_len: int) -> Tensor:
    """Right: each token sees itself and what came before."""
    return torch.ones(seq_len, seq_len, dtype=torch.bool).tril()


def token_i_sees_i_plus_one(
    mask: Callable[[int], Any], *, convention: Convention = "True shows"
) -> None:
    """Token i must see i + 1 tokens: all before it, and itself."""
    check_convention(convention)  # before the function is asked
    found = seen(answer("mask", mask, 5, shape=(5, 5)), convention)
    for i in range(5):
        tokens, expected = places(found[i]), list(range(i + 1))
        assert tokens == expected, (
            f"token {i} sees tokens {tokens}, not {expected}, where {convention}"
        )


# X13: padding masked on rows in place of columns


def padding_on_rows(scores: Tensor, real: Tensor) -> Tensor:
    """Meant to hide padding."""
    return scores.masked_fill(~real[:, None, :, None], -1e9).softmax(-1)


def padding_on_columns(scores: Tensor, real: Tensor) -> Tensor:
    """Right: nobody looks at padding; it may look itself, as its row is not used."""
    return scores.masked_fill(~real[:, None, None, :], -1e9).softmax(-1)


def nobody_looks_at_padding(
    weights: Callable[[Tensor, Tensor], Any], *, convention: Convention = "True shows"
) -> None:
    """Tokens that are real must give no weight to those that are not, and 1 to the others."""
    real = torch.tensor([[True, True, True, False], [True, True, False, False]])  # (2, 4)
    scores = torch.zeros(2, 3, 4, 4)
    found = answer("weights", weights, scores, given(real, convention), shape=(2, 3, 4, 4))
    for b in range(2):
        rows = found[b, :, real[b]]  # what padding looks at is nobody's business
        wasted = rows[..., ~real[b]].sum(-1).max().item()
        assert abs(wasted) < 1e-6, f"a real token gives {wasted:.2f} to padding, where {convention}"
        kept = rows[..., real[b]].sum(-1).min().item()
        assert abs(kept - 1) < 0.01, (
            f"a real token gives {kept:.2f} to real ones, not 1, where {convention}"
        )


# X14: −1e9 that turns a hidden row into a uniform one


def hidden_row_becomes_uniform(scores: Tensor, mask: Tensor) -> Tensor:
    """Meant to hide what may not be seen, all of a row if need be."""
    return scores.masked_fill(~mask, -1e9).softmax(-1)


def hidden_row_becomes_zero(scores: Tensor, mask: Tensor) -> Tensor:
    """Right: hidden keys get 0 after softmax as well, so a hidden row is all zeros."""
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1)
    return weights.masked_fill(~mask, 0.0)


def hidden_row_gives_zeros(
    weights: Callable[[Tensor, Tensor], Any], *, convention: Convention = "True shows"
) -> None:
    """A query that may see nothing must get zeros: no averages, no NaN. Others still share 1."""
    mask = torch.tensor([[[[True, True, True, False], [False] * 4]]])  # (1, 1, 2, 4)
    scores = torch.zeros(1, 1, 2, 4)
    found = answer("weights", weights, scores, given(mask, convention), shape=(1, 1, 2, 4))
    row, other = found[0, 0, 1].tolist(), found[0, 0, 0].sum().item()
    assert all(abs(w) < 1e-6 for w in row), (
        f"the query that may see nothing has weights {row}, where {convention}"
    )
    assert abs(other - 1) < 0.01, (
        f"the query that sees three keys has {other:.2f} in all, where {convention}"
    )


MASKS = (
    Exhibit("X4", masks_by_repeat, masks_by_repeat_interleave, every_head_gets_its_own_mask),
    Exhibit("X5", hide_where_true, hide_where_false, hidden_keys_get_nothing),
    Exhibit("X6", mask_meets_heads, mask_meets_batch, every_item_keeps_to_its_own_mask),
    Exhibit("X7", mask_after_softmax, mask_before_softmax, hidden_scores_change_nothing),
    Exhibit("X8", causal_without_itself, causal_with_itself, token_i_sees_i_plus_one),
    Exhibit("X13", padding_on_rows, padding_on_columns, nobody_looks_at_padding),
    Exhibit("X14", hidden_row_becomes_uniform, hidden_row_becomes_zero, hidden_row_gives_zeros),
)
