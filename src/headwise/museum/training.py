"""Four bugs that look like a model that learns badly, or too well."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from headwise.museum.exhibit import Exhibit
from headwise.positional import sinusoidal

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


TRAINING = (
    Exhibit("X2", scores_by_model_width, scores_by_head_width, scores_have_variance_one),
    Exhibit("X9", positions_not_added, positions_added, order_makes_a_difference),
    Exhibit("X12", dropout_always, dropout_while_training, evaluation_repeats_itself),
    Exhibit("X15", label_in_the_input, label_after_the_input, residual_alone_predicts_nothing),
)
