"""The detectors of choosing, tried on code as other people write it, right and wrong."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from judged import Table, assert_caught, assert_five_of_either_kind, cases
from torch import Tensor

from headwise.museum.choosing import CHOOSING

# X22: probabilities(logits (batch, vocab), temperature)


def numpy_softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def powers(logits: Tensor, temperature: float) -> Tensor:
    """Probabilities to the power of 1 / temperature come to the same."""
    p = logits.softmax(-1) ** (1 / temperature)
    return p / p.sum(-1, keepdim=True)


RIGHT_TEMPERATURES: Table = {
    "divided": lambda x, t: F.softmax(x / t, dim=-1),
    "in place": lambda x, t: x.div_(t).softmax(-1),
    "powers": powers,
    "numpy": lambda x, t: numpy_softmax(x.numpy() / t),
    "logs": lambda x, t: ((x / t) - (x / t).logsumexp(-1, keepdim=True)).exp(),
    "gathered from log-probabilities": lambda x, t: (x.log_softmax(-1) / t).softmax(-1),
    "a distribution": lambda x, t: torch.distributions.Categorical(logits=x / t).probs,
    "bfloat16": lambda x, t: (x / t).softmax(-1).bfloat16(),
}
WRONG_TEMPERATURES: Table = {
    "after softmax": lambda x, t: x.softmax(-1) / t,
    "after softmax, made whole again": lambda x, t: F.normalize(x.softmax(-1) / t, p=1, dim=-1),
    "multiplied": lambda x, t: (x * t).softmax(-1),
    "ignored": lambda x, t: x.softmax(-1),
    "softmax twice": lambda x, t: (x.softmax(-1) / t).softmax(-1),
    "added": lambda x, t: (x + t).softmax(-1),
    "squared": lambda x, t: (x / t**2).softmax(-1),
    "over the batch": lambda x, t: (x / t).softmax(0),
    "powers the wrong way": lambda x, t: powers(x, 1 / t),
    "numpy, after softmax": lambda x, t: numpy_softmax(x.numpy()) / t,
}

# X23: cut(logits (batch, vocab), top_p)


def like_hugging_face(logits: Tensor, top_p: float) -> Tensor:
    sorted_logits, sorted_indices = torch.sort(logits, descending=False)
    cumulative = sorted_logits.softmax(dim=-1).cumsum(dim=-1)
    remove = cumulative <= (1 - top_p)
    remove[..., -1:] = False
    remove = remove.scatter(1, sorted_indices, remove)
    return logits.masked_fill(remove, -torch.inf).softmax(-1)


def shifted_right(logits: Tensor, top_p: float) -> Tensor:
    sorted_logits, indices = logits.sort(descending=True)
    remove = sorted_logits.softmax(-1).cumsum(-1) > top_p
    remove[..., 1:] = remove[..., :-1].clone()
    remove[..., 0] = False
    out = logits.clone()
    for row, where, gone in zip(out, indices, remove, strict=True):
        row[where[gone]] = -torch.inf
    return out.softmax(-1)


def one_by_one(logits: Tensor, top_p: float) -> list[list[float]]:
    rows = []
    for p in logits.softmax(-1).tolist():
        left, kept = top_p, {}
        for token in sorted(range(len(p)), key=p.__getitem__, reverse=True):
            if left <= 0:
                break
            kept[token] = p[token]
            left -= p[token]
        total = sum(kept.values())
        rows.append([kept.get(token, 0.0) / total for token in range(len(p))])
    return rows


def numpy_cut(logits: Tensor, top_p: float) -> Any:
    p = numpy_softmax(logits.numpy())
    out = np.zeros_like(p)
    for row, result in zip(p, out, strict=True):
        order = np.argsort(-row)
        count = np.searchsorted(np.cumsum(row[order]), top_p) + 1
        result[order[:count]] = row[order[:count]]
    return out / out.sum(-1, keepdims=True)


def by_threshold(logits: Tensor, top_p: float) -> Tensor:
    p = logits.softmax(-1)
    better = (p[:, None] * (p[:, None] > p[..., None])).sum(-1)
    kept = p * (better < top_p)
    return kept / kept.sum(-1, keepdim=True)


def broken(
    *, back: bool = True, whole: bool = True, descending: bool = True
) -> Callable[[Tensor, float], Tensor]:
    """Right, but for one thing."""

    def cut(logits: Tensor, top_p: float) -> Tensor:
        p, order = logits.softmax(-1).sort(-1, descending=descending)
        p = p * (p.cumsum(-1) - p < top_p)
        p = p / p.sum(-1, keepdim=True) if whole else p
        return torch.zeros_like(p).scatter(-1, order, p) if back else p

    return cut


def below(logits: Tensor, top_p: float) -> Tensor:
    p, order = logits.softmax(-1).sort(-1, descending=True)
    p = p * ((p.cumsum(-1) < top_p) | (torch.arange(p.size(-1)) == 0))
    return torch.zeros_like(p).scatter(-1, order, p / p.sum(-1, keepdim=True))


def cut_smaller_than(logits: Tensor, top_p: float) -> Tensor:
    """That is min-p."""
    p = logits.softmax(-1)
    p = p * (p >= top_p * p.amax(-1, keepdim=True))
    return p / p.sum(-1, keepdim=True)


RIGHT_CUTS: Table = {
    "from the unlikely end": like_hugging_face,
    "shifted by one": shifted_right,
    "one by one": one_by_one,
    "numpy": numpy_cut,
    "what is better than each": by_threshold,
    "sums before": broken(),
    "bfloat16": lambda x, p: broken()(x, p).bfloat16(),
}
WRONG_CUTS: Table = {
    "below the line": below,
    "not put back": broken(back=False),
    "not made whole": broken(whole=False),
    "from the unlikely end on": broken(descending=False),
    "everything": lambda x, p: x.softmax(-1),
    "the likeliest alone": lambda x, p: F.one_hot(x.argmax(-1), 4).float(),
    "min-p": cut_smaller_than,
    "two, whatever p": lambda x, p: x.masked_fill(x < x.topk(2).values[:, -1:], -torch.inf).softmax(
        -1
    ),
    "one more": lambda x, p: like_hugging_face(x, min(p + 0.25, 1.0)),
    "first row for all": lambda x, p: broken()(x[:1], p).expand(2, -1),
}

TABLES: dict[str, tuple[Table, Table]] = {
    "X22": (RIGHT_TEMPERATURES, WRONG_TEMPERATURES),
    "X23": (RIGHT_CUTS, WRONG_CUTS),
}


@pytest.mark.parametrize(("detector", "function"), cases(CHOOSING, TABLES, 0))
def test_right_code_of_others_passes(
    detector: Callable[..., None], function: Callable[..., Any]
) -> None:
    detector(function)


@pytest.mark.parametrize(("detector", "function"), cases(CHOOSING, TABLES, 1))
def test_wrong_code_of_others_is_caught(
    detector: Callable[..., None], function: Callable[..., Any]
) -> None:
    assert_caught(detector, function)


def test_each_detector_is_tried_on_five_of_either_kind() -> None:
    assert_five_of_either_kind(CHOOSING, TABLES)
