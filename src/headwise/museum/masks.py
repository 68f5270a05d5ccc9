"""Seven bugs that hide too much, too little, or the wrong thing."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from headwise.museum.exhibit import Exhibit

# X4: repeat for repeat_interleave


def masks_by_repeat(mask: Tensor, num_heads: int) -> Tensor:
    """Meant to repeat the mask of each batch item for all its heads."""
    return mask.repeat(num_heads, 1, 1)


def masks_by_repeat_interleave(mask: Tensor, num_heads: int) -> Tensor:
    """Right: a, a, b, b."""
    return mask.repeat_interleave(num_heads, dim=0)


def every_head_gets_its_own_mask(fold: Callable[[Tensor, int], Tensor]) -> None:
    """Row b * num_heads + h of the folded masks must be the mask of batch item b."""
    mask = torch.arange(1, 4)[:, None, None] > torch.arange(3)
    folded = fold(mask.expand(3, 3, 3), 2)
    for row, found in enumerate(folded):
        length = int(found[0].sum())
        assert length == row // 2 + 1, (
            f"head {row % 2} of item {row // 2} sees {length} keys, its mask {row // 2 + 1}"
        )


# X5: inverted boolean mask


def hide_where_true(scores: Tensor, mask: Tensor) -> Tensor:
    """Meant to hide what may not be seen."""
    return scores.masked_fill(mask, -math.inf).softmax(-1)


def hide_where_false(scores: Tensor, mask: Tensor) -> Tensor:
    """Right: hides where the mask is False."""
    return scores.masked_fill(~mask, -math.inf).softmax(-1)


def hidden_keys_get_nothing(weights: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Whatever the scores, a key that the mask hides must get the weight 0."""
    mask = torch.tensor([[True, True, False], [True, False, False]])
    found = weights(torch.zeros(2, 3), mask)
    assert found[~mask].eq(0).all(), f"hidden keys get {found[~mask].tolist()}"


# X6: mask on the wrong axis when batch == heads


def mask_meets_heads(scores: Tensor, mask: Tensor) -> Tensor:
    """Meant to give each batch item a mask of its own."""
    return scores.masked_fill(~mask, -math.inf).softmax(-1)


def mask_meets_batch(scores: Tensor, mask: Tensor) -> Tensor:
    """Right: an axis of 1 for the heads, and each batch item has its own mask."""
    return scores.masked_fill(~mask[:, None], -math.inf).softmax(-1)


def every_item_keeps_to_its_own_mask(weights: Callable[[Tensor, Tensor], Tensor]) -> None:
    """With as many items as heads: item b must see what mask b shows, in every head."""
    mask = torch.arange(3) <= torch.arange(2)[:, None, None]
    seen = weights(torch.zeros(2, 2, 3, 3), mask.expand(2, 3, 3)) > 0
    for b in range(2):
        counts = seen[b, :, 0].sum(-1).tolist()
        assert counts == [b + 1, b + 1], f"the heads of item {b} see {counts} keys, not {b + 1}"


# X7: mask after softmax


def mask_after_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Meant to give hidden keys no weight."""
    return scores.softmax(-1) * mask


def mask_before_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Right: softmax shares out 1 among what may be seen."""
    return scores.masked_fill(~mask, -math.inf).softmax(-1)


def hidden_scores_change_nothing(weights: Callable[[Tensor, Tensor], Tensor]) -> None:
    """The weights must not depend on the score of a hidden key, however large."""
    mask = torch.tensor([[True, True, False]])
    small, large = torch.tensor([[1.0, 2.0, 0.0]]), torch.tensor([[1.0, 2.0, 5.0]])
    before, after = weights(small, mask), weights(large, mask)
    assert torch.allclose(before, after), (
        f"a hidden score moves the seen weights' sum from {before.sum():.2f} to {after.sum():.2f}"
    )


# X8: causal diagonal hidden


def causal_without_itself(seq_len: int) -> Tensor:
    """Meant to hide what comes later."""
    return torch.ones(seq_len, seq_len, dtype=torch.bool).tril(-1)


def causal_with_itself(seq_len: int) -> Tensor:
    """Right: each token sees itself and what came before."""
    return torch.ones(seq_len, seq_len, dtype=torch.bool).tril()


def token_i_sees_i_plus_one(mask: Callable[[int], Tensor]) -> None:
    """Token i must see i + 1 tokens: all before it, and itself."""
    counts = mask(4).sum(-1).tolist()
    assert counts == [1, 2, 3, 4], f"the tokens see {counts} tokens"


# X13: padding masked on rows in place of columns


def padding_on_rows(scores: Tensor, real: Tensor) -> Tensor:
    """Meant to hide padding."""
    return scores.masked_fill(~real[:, None, :, None], -1e9).softmax(-1)


def padding_on_columns(scores: Tensor, real: Tensor) -> Tensor:
    """Right: padding may look, and its row is not used; nobody looks at it."""
    return scores.masked_fill(~real[:, None, None, :], -1e9).softmax(-1)


def nobody_looks_at_padding(weights: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Tokens that are real must give no weight to those that are not."""
    real = torch.tensor([[True, True, False]])
    wasted = weights(torch.zeros(1, 2, 3, 3), real)[0, 0, 0, 2].item()
    assert wasted == 0, f"a real token gives {wasted:.2f} to padding"


# X14: −1e9 that turns a hidden row into a uniform one


def hidden_row_becomes_uniform(scores: Tensor, mask: Tensor) -> Tensor:
    """Meant to hide what may not be seen, all of a row if need be."""
    return scores.masked_fill(~mask, -1e9).softmax(-1)


def hidden_row_becomes_zero(scores: Tensor, mask: Tensor) -> Tensor:
    """Right: what is hidden gets 0 after softmax as well, so a hidden row is all zeros."""
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1)
    return weights.masked_fill(~mask, 0.0)


def hidden_row_gives_zeros(weights: Callable[[Tensor, Tensor], Tensor]) -> None:
    """A query that may see nothing must get zeros: no averages, no NaN."""
    mask = torch.tensor([[True, True, True, False], [False, False, False, False]])
    row = weights(torch.zeros(2, 4), mask)[1].tolist()
    assert row == [0, 0, 0, 0], f"the query that may see nothing has weights {row}"


MASKS = (
    Exhibit("X4", masks_by_repeat, masks_by_repeat_interleave, every_head_gets_its_own_mask),
    Exhibit("X5", hide_where_true, hide_where_false, hidden_keys_get_nothing),
    Exhibit("X6", mask_meets_heads, mask_meets_batch, every_item_keeps_to_its_own_mask),
    Exhibit("X7", mask_after_softmax, mask_before_softmax, hidden_scores_change_nothing),
    Exhibit("X8", causal_without_itself, causal_with_itself, token_i_sees_i_plus_one),
    Exhibit("X13", padding_on_rows, padding_on_columns, nobody_looks_at_padding),
    Exhibit("X14", hidden_row_becomes_uniform, hidden_row_becomes_zero, hidden_row_gives_zeros),
)
