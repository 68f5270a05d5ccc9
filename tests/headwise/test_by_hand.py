"""Attention by hand: every step under its name, and the same weights as everywhere else."""

import pytest
import torch

from headwise.attention import attention
from headwise.by_hand import by_hand


def test_every_step_follows_from_those_before_it() -> None:
    torch.manual_seed(0)
    X, W_q, W_k, W_v = (torch.randn(n, m).double() for n, m in ((3, 4), (4, 5), (4, 5), (4, 2)))
    steps = by_hand(X, W_q, W_k, W_v)
    Q, K, V = X @ W_q, X @ W_k, X @ W_v
    scores = Q @ K.T / 5**0.5
    torch.testing.assert_close(steps[:5], (Q, K, V, Q @ K.T, scores))
    torch.testing.assert_close(steps.powers, scores.exp())
    torch.testing.assert_close(steps.total, scores.exp().sum(dim=-1, keepdim=True))
    torch.testing.assert_close(steps.weights, steps.powers / steps.total)
    torch.testing.assert_close((steps.out, steps.weights), attention(Q, K, V))


def test_what_has_no_scores_is_refused() -> None:
    with pytest.raises(ValueError, match=r"X: got shape .* expected floats"):
        by_hand(*4 * [torch.ones(2, 2).long()])
    with pytest.raises(ValueError, match="W_q: got 0 columns"):
        by_hand(torch.ones(3, 2), *3 * [torch.ones(2, 0)])


def test_weights_survive_where_powers_overflow() -> None:
    steps = by_hand(torch.tensor([[20.0], [10.0]]), *3 * [torch.ones(1, 1)])
    assert steps.powers.isinf().any()
    torch.testing.assert_close(steps.weights, torch.softmax(steps.scores, dim=-1))
