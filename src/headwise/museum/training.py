"""Four bugs that look like a model that learns badly, or too well."""

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from headwise._check import FARTHEST, check_flags, check_whole
from headwise.museum.detecting import answer, answers, evaluating
from headwise.museum.exhibit import Exhibit
from headwise.positional import sinusoidal

# X2: √d_model for √d_k


def scores_by_model_width(Q: Tensor, K: Tensor) -> Tensor:
    """Meant to keep the spread of the scores at 1."""
    _, num_heads, _, d_k = Q.shape
    return Q @ K.transpose(-2, -1) / math.sqrt(num_heads * d_k)


def scores_by_head_width(Q: Tensor, K: Tensor) -> Tensor:
    """Right: divides by the root of the width that the dot product sums over."""
    return Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))


def scores_have_variance_one(scores: Callable[[Tensor, Tensor], Any]) -> None:
    """Queries and keys of variance 1 must give scores of variance 1, whatever their width."""
    generator = torch.Generator().manual_seed(0)
    for d_k in (16, 36):
        Q = torch.randn(3, 5, 64, d_k, generator=generator)
        K = torch.randn(3, 5, 48, d_k, generator=generator)
        variance = answer("scores", scores, Q, K, shape=(3, 5, 64, 48)).var().item()
        assert 0.9 < variance < 1.1, f"with d_k = {d_k}, the scores have variance {variance:.2f}"


# X9: positional encoding computed and not added


def positions_not_added(x: Tensor) -> Tensor:
    """Meant to tell the tokens where they are."""
    code = sinusoidal(x.size(1), x.size(2))
    x.add(code)
    return x


def positions_added(x: Tensor) -> Tensor:
    """Right: returns the sum."""
    code = sinusoidal(x.size(1), x.size(2))
    return x.add(code)


def order_makes_a_difference(embed: Callable[[Tensor], Any]) -> None:
    """Exchanging two tokens must do more than exchange two rows of the output."""
    x = torch.arange(48.0).view(1, 8, 6).cos()
    with evaluating(embed):  # dropout would make a difference too
        plain, again = (answer("embed", embed, x.clone(), shape=(1, 8, -1)) for _ in range(2))
        same = torch.allclose(plain, again, equal_nan=True)
        assert same, "the same tokens give two results: switch dropout off first"
        for i, j in combinations(range(8), 2):
            order = torch.arange(8)
            order[i], order[j] = j, i
            back = answer("embed", embed, x[:, order], shape=plain.shape)[:, order]
            assert not torch.allclose(back, plain, atol=1e-4, equal_nan=True), (
                f"tokens {i} and {j} of x (batch, seq_len, d_model) change places unnoticed"
            )


# X12: dropout left on


def dropout_always(weights: Tensor, training: bool) -> Tensor:
    """Meant to drop some weights while training."""
    return F.dropout(weights, 0.5)


def dropout_while_training(weights: Tensor, training: bool) -> Tensor:
    """Right: passes on whether the module is training."""
    return F.dropout(weights, 0.5, training=training)


def evaluation_repeats_itself(drop: Callable[[Tensor, bool], Any]) -> None:
    """Outside training, the same input must give the same output, and no weight may be 0."""
    weights = torch.full((64, 64), 1 / 64)
    first, second = (answer("drop", drop, weights.clone(), False, shape=(64, 64)) for _ in range(2))
    assert first.equal(second), "the same weights, evaluated twice, give two results"
    assert first.min() > 0, "evaluation drops weights, and the same ones each time"


# X15: residual that leaks the label by an off-by-one shift


def label_in_the_input(tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Meant to learn the next token."""
    return tokens[:, 1:], tokens[:, 1:]


def label_after_the_input(tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Right: position t reads token t and predicts token t + 1."""
    return tokens[:, :-1], tokens[:, 1:]


def residual_alone_predicts_nothing(
    pair: Callable[[Tensor], Any], *, vocabulary: int = 1000, loss_shifts: bool = False
) -> None:
    """Count the tokens: where the input is token n, the label must be token n + 1.

    A label that is the input itself needs no layer: the residual carries it to the output.
    loss_shifts says that the loss moves the labels on by one, as Hugging Face's models do. Other
    ids, such as one for the beginning of a sentence, are not judged.
    """
    check_whole("vocabulary", vocabulary, 3, FARTHEST)
    check_flags(loss_shifts=loss_shifts)
    tokens = range(vocabulary // 2, vocabulary)[-32:]
    inputs, labels = answers("pair", pair, torch.tensor([tokens]))
    if loss_shifts:
        inputs, labels = inputs[:-1], labels[1:]
    pairs = zip(inputs.tolist(), labels.tolist(), strict=True)
    judged = [(read, label) for read, label in pairs if read in tokens and label in tokens]
    assert judged, "none of the tokens comes with a label"
    for read, label in judged:
        assert label == read + 1, (
            f"where the input is token {read:.0f}, the label is token {label:.0f} ({loss_shifts=})"
        )


TRAINING = (
    Exhibit("X2", scores_by_model_width, scores_by_head_width, scores_have_variance_one),
    Exhibit("X9", positions_not_added, positions_added, order_makes_a_difference),
    Exhibit("X12", dropout_always, dropout_while_training, evaluation_repeats_itself),
    Exhibit("X15", label_in_the_input, label_after_the_input, residual_alone_predicts_nothing),
)
