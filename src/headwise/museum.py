"""Wrong code that runs: each piece beside its correction and a test that tells them apart.

Every wrong function returns, without an error, something of the right shape. Its detector is a
test for one's own code: it takes a function, returns nothing when all is well, and otherwise
raises an AssertionError that says what is wrong with the numbers.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from headwise.positional import sinusoidal


class Exhibit(NamedTuple):
    """One bug: the code that has it, the same code without, and the test that notices."""

    id: str
    wrong: Callable[..., Any]
    right: Callable[..., Any]
    detector: Callable[[Callable[..., Any]], None]


# X1: reshape without transpose


def split_by_reshape(x: Tensor, num_heads: int) -> Tensor:
    """Meant to give each head its part of every token."""
    batch, seq_len, d_model = x.shape
    d_k = d_model // num_heads
    return x.reshape(batch, num_heads, seq_len, d_k)  # (batch, num_heads, seq_len, d_k)


def split_by_transpose(x: Tensor, num_heads: int) -> Tensor:
    """Right: cuts each token's vector first, then brings the heads forward."""
    batch, seq_len, d_model = x.shape
    d_k = d_model // num_heads
    x = x.reshape(batch, seq_len, num_heads, d_k)  # (batch, seq_len, num_heads, d_k)
    return x.transpose(1, 2)  # (batch, num_heads, seq_len, d_k)


def every_head_sees_every_token(split: Callable[[Tensor, int], Tensor]) -> None:
    """Write each token's number all over its vector: every head must then read 0, 1, 2, …"""
    tokens = torch.arange(6.0)[None, :, None].expand(2, 6, 8)
    heads = split(tokens, 4)
    for h in range(4):
        found = heads[0, h, :, 0].tolist()
        assert found == [0, 1, 2, 3, 4, 5], f"head {h} reads tokens {found}"


# X2: √d_model for √d_k


def scores_by_model_width(Q: Tensor, K: Tensor) -> Tensor:
    """Meant to keep the spread of the scores at 1."""
    _, num_heads, _, d_k = Q.shape
    return Q @ K.transpose(-2, -1) / math.sqrt(num_heads * d_k)


def scores_by_head_width(Q: Tensor, K: Tensor) -> Tensor:
    """Right: divides by the width over which the dot product sums."""
    return Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))


def scores_have_variance_one(scores: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Queries and keys of variance 1 must give scores of variance 1."""
    generator = torch.Generator().manual_seed(0)
    Q, K = torch.randn(2, 4, 8, 64, 16, generator=generator)
    variance = scores(Q, K).var().item()
    assert 0.9 < variance < 1.1, f"the scores have variance {variance:.2f}"


# X3: softmax over the wrong axis


def weights_over_queries(scores: Tensor) -> Tensor:
    """Meant to share out 1 for each query."""
    return torch.softmax(scores, dim=-2)


def weights_over_keys(scores: Tensor) -> Tensor:
    """Right: shares 1 among the keys, for each query."""
    return torch.softmax(scores, dim=-1)


def rows_sum_to_one(weights: Callable[[Tensor], Tensor]) -> None:
    """What a query gives to all keys together must be 1."""
    scores = torch.linspace(-2, 2, 2 * 3 * 4 * 5).view(2, 3, 4, 5).sin()
    sums = weights(scores).sum(-1)
    assert torch.allclose(sums, torch.ones(2, 3, 4)), f"a row sums to {sums[0, 0, 0]:.2f}"


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


# X9: positional encoding computed and not added


def positions_not_added(x: Tensor) -> Tensor:
    """Meant to tell the tokens where they stand."""
    code = sinusoidal(x.size(1), x.size(2))
    x.add(code)
    return x


def positions_added(x: Tensor) -> Tensor:
    """Right: the sum is what goes on."""
    code = sinusoidal(x.size(1), x.size(2))
    return x.add(code)


def order_makes_a_difference(embed: Callable[[Tensor], Tensor]) -> None:
    """Turning the tokens round must do more than turn the output round."""
    x = torch.arange(24.0).view(1, 4, 6).cos()
    there_and_back = embed(x.flip(1)).flip(1)
    assert not torch.allclose(there_and_back, embed(x)), "the order of the tokens is not seen"


# X10: heads merged without the transpose


def merge_without_transpose(x: Tensor) -> Tensor:
    """Meant to put the heads of each token together again."""
    batch, num_heads, seq_len, d_k = x.shape
    return x.reshape(batch, seq_len, num_heads * d_k)  # (batch, seq_len, num_heads * d_k)


def merge_with_transpose(x: Tensor) -> Tensor:
    """Right: brings a token's heads together before joining them."""
    batch, num_heads, seq_len, d_k = x.shape
    x = x.transpose(1, 2)  # (batch, seq_len, num_heads, d_k)
    return x.reshape(batch, seq_len, num_heads * d_k)  # (batch, seq_len, num_heads * d_k)


def every_token_stays_itself(merge: Callable[[Tensor], Tensor]) -> None:
    """Write each token's number into all its heads: row t of the output must be t and only t."""
    heads = torch.arange(3.0)[None, None, :, None].expand(1, 2, 3, 4)
    merged = merge(heads)
    for t in range(3):
        found = sorted(set(merged[0, t].tolist()))
        assert found == [t], f"row {t} holds tokens {found}"


# X11: view on the wrong axes giving the right shape


def transpose_by_view(Q: Tensor, K: Tensor) -> Tensor:
    """Meant to compare each query with each key."""
    batch, num_heads, key, d_k = K.shape
    K_t = K.view(batch, num_heads, d_k, key)  # (batch, num_heads, d_k, key)
    return Q @ K_t  # (batch, num_heads, query, key)


def transpose_by_transpose(Q: Tensor, K: Tensor) -> Tensor:
    """Right: rows become columns."""
    K_t = K.transpose(-2, -1)  # (batch, num_heads, d_k, key)
    return Q @ K_t  # (batch, num_heads, query, key)


def scores_are_dot_products(scores: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Score (i, j) must be the dot product of query i and key j, up to one factor for all."""
    generator = torch.Generator().manual_seed(0)
    Q, K = torch.randn(2, 1, 1, 3, 4, generator=generator)
    found = scores(Q, K)[0, 0]
    expected = torch.einsum("id,jd->ij", Q[0, 0], K[0, 0])
    likeness = F.cosine_similarity(found.flatten(), expected.flatten(), dim=0).item()
    assert likeness > 0.999, f"the scores resemble the dot products by {likeness:.2f}, not 1"


# X12: dropout left on


def dropout_always(weights: Tensor, training: bool) -> Tensor:
    """Meant to drop weights, while training."""
    return F.dropout(weights, 0.5)


def dropout_while_training(weights: Tensor, training: bool) -> Tensor:
    """Right: what the module knows as self.training is passed on."""
    return F.dropout(weights, 0.5, training=training)


def evaluation_repeats_itself(drop: Callable[[Tensor, bool], Tensor]) -> None:
    """Outside training, the same input must give the same output, time and again."""
    weights = torch.full((4, 16), 1 / 16)
    first, second = drop(weights, False), drop(weights, False)
    changed = int((first != second).sum())
    assert changed == 0, f"{changed} of 64 weights differ between two evaluations"


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


# X15: residual that leaks the label by an off-by-one shift


def label_in_the_input(tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Meant to learn the next token."""
    return tokens[:, 1:], tokens[:, 1:]


def label_after_the_input(tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Right: position t reads token t and predicts token t + 1."""
    return tokens[:, :-1], tokens[:, 1:]


def residual_alone_predicts_nothing(pair: Callable[[Tensor], tuple[Tensor, Tensor]]) -> None:
    """On random tokens, a model that is nothing but its residual must not find the labels.

    It embeds, adds nothing, and scores against the same embeddings: it repeats what it reads.
    """
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(1000, (8, 33), generator=generator)
    inputs, labels = pair(tokens)
    embedding = F.normalize(torch.randn(1000, 64, generator=generator), dim=-1)
    x = embedding[inputs]
    guesses = (x @ embedding.T).argmax(-1)
    share = (guesses == labels).float().mean().item()
    assert share < 0.05, f"without any layer, {share:.0%} of random labels are predicted"


EXHIBITS = (
    Exhibit("X1", split_by_reshape, split_by_transpose, every_head_sees_every_token),
    Exhibit("X2", scores_by_model_width, scores_by_head_width, scores_have_variance_one),
    Exhibit("X3", weights_over_queries, weights_over_keys, rows_sum_to_one),
    Exhibit("X4", masks_by_repeat, masks_by_repeat_interleave, every_head_gets_its_own_mask),
    Exhibit("X5", hide_where_true, hide_where_false, hidden_keys_get_nothing),
    Exhibit("X6", mask_meets_heads, mask_meets_batch, every_item_keeps_to_its_own_mask),
    Exhibit("X7", mask_after_softmax, mask_before_softmax, hidden_scores_change_nothing),
    Exhibit("X8", causal_without_itself, causal_with_itself, token_i_sees_i_plus_one),
    Exhibit("X9", positions_not_added, positions_added, order_makes_a_difference),
    Exhibit("X10", merge_without_transpose, merge_with_transpose, every_token_stays_itself),
    Exhibit("X11", transpose_by_view, transpose_by_transpose, scores_are_dot_products),
    Exhibit("X12", dropout_always, dropout_while_training, evaluation_repeats_itself),
    Exhibit("X13", padding_on_rows, padding_on_columns, nobody_looks_at_padding),
    Exhibit("X14", hidden_row_becomes_uniform, hidden_row_becomes_zero, hidden_row_gives_zeros),
    Exhibit("X15", label_in_the_input, label_after_the_input, residual_alone_predicts_nothing),
)
