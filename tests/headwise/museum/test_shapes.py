"""The detectors of shapes, tried on code as other people write it, right and wrong."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from headwise.museum.shapes import SHAPES

# X1: split(x (batch, seq_len, d_model), num_heads)


def split_by_chunks(x: Tensor, num_heads: int) -> Tensor:
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)


def split_by_slices(x: Tensor, num_heads: int) -> Tensor:
    d_k = x.shape[-1] // num_heads
    heads = torch.empty(x.shape[0], num_heads, x.shape[1], d_k)
    for h in range(num_heads):
        heads[:, h] = x[..., h * d_k : (h + 1) * d_k]
    return heads


def split_by_view(x: Tensor, num_heads: int) -> Tensor:
    B, T, C = x.size()
    return x.view(B, T, num_heads, C // num_heads).transpose(1, 2)


def split_by_permute(x: Tensor, num_heads: int) -> Tensor:
    shape = (*x.size()[:-1], num_heads, x.size(-1) // num_heads)
    return x.view(shape).permute(0, 2, 1, 3)


def split_folded(X: Tensor, num_heads: int) -> Tensor:
    X = X.reshape(X.shape[0], X.shape[1], num_heads, -1).permute(0, 2, 1, 3)
    return X.reshape(-1, X.shape[2], X.shape[3])


def split_numpy(x: Tensor, num_heads: int) -> Any:
    return np.stack(np.split(x.numpy(), num_heads, axis=-1), axis=1)


def split_by_matrices(x: Tensor, num_heads: int) -> Tensor:
    d_k = x.shape[-1] // num_heads
    pick = torch.eye(x.shape[-1]).view(x.shape[-1], num_heads, d_k)
    return torch.einsum("bsm,mhd->bhsd", x, pick)


RIGHT_SPLITS = {
    "chunk and stack": split_by_chunks,
    "slices": split_by_slices,
    "view, transpose": split_by_view,
    "view, permute": split_by_permute,
    "heads folded into the batch": split_folded,
    "numpy": split_numpy,
    "einsum with a selection": split_by_matrices,
    "unflatten, in bfloat16": lambda x, n: x.bfloat16().unflatten(-1, (n, -1)).movedim(2, 1),
}
WRONG_SPLITS = {
    "view alone": lambda x, n: x.view(x.size(0), n, x.size(1), -1),
    "forgotten transpose": lambda x, n: x.view(*x.shape[:2], n, -1),
    "transpose after reshape": lambda x, n: x.transpose(1, 2).reshape(len(x), n, x.size(1), -1),
    "heads interleaved": lambda x, n: x.unflatten(-1, (-1, n)).permute(0, 3, 1, 2),
    "every head the same part": lambda x, n: x[:, None, :, :2].expand(-1, n, -1, -1),
    "items mixed up": lambda x, n: x.view(2, 6, n, 2).permute(0, 2, 1, 3).flip(0),
    "folded the other way": lambda x, n: torch.cat(x.chunk(n, dim=-1), dim=0),
    "tokens backwards": lambda x, n: split_by_chunks(x.flip(1), n),
    "numpy reshape": lambda x, n: np.reshape(x.numpy(), (2, n, 6, 2)),
    "last column lost": lambda x, n: split_by_view(F.pad(x[..., :-1], (0, 1)), n),
}

# X3: weights(scores (batch, num_heads, query, key))


def softmax_numpy(scores: Tensor) -> Any:
    x = scores.numpy()
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def softmax_as_sdpa(scores: Tensor) -> Tensor:
    keys = torch.eye(scores.size(-1)).expand(*scores.shape[:-2], -1, -1)
    return F.scaled_dot_product_attention(scores, keys, keys, scale=1.0)


def softmax_folded(scores: Tensor) -> Tensor:
    b, h, q, k = scores.shape
    return F.softmax(scores.reshape(b * h, q, k), dim=2)


RIGHT_WEIGHTS = {
    "F.softmax": partial(F.softmax, dim=-1),
    "a module": torch.nn.Softmax(dim=3),
    "float64": lambda s: F.softmax(s, dim=-1, dtype=torch.float64),
    "bfloat16": lambda s: s.bfloat16().softmax(-1),
    "float16": lambda s: s.half().softmax(-1),
    "numpy": softmax_numpy,
    "exponentials": lambda s: s.exp() / s.exp().sum(-1, keepdim=True),
    "log-sum-exp": lambda s: (s - s.logsumexp(-1, keepdim=True)).exp(),
    "PyTorch's kernel": softmax_as_sdpa,
    "folded": softmax_folded,
}
WRONG_WEIGHTS = {
    "over queries": lambda s: s.softmax(dim=2),
    "over heads": lambda s: s.softmax(dim=1),
    "over the batch": lambda s: s.softmax(dim=0),
    "over everything": lambda s: s.flatten(2).softmax(-1).view_as(s),
    "sigmoid": torch.sigmoid,
    "log-softmax": lambda s: s.log_softmax(-1),
    "no exponential": lambda s: s / s.sum(-1, keepdim=True),
    "numpy over queries": lambda s: np.exp(s.numpy()) / np.exp(s.numpy()).sum(-2, keepdims=True),
    "sum of all rows": lambda s: s.exp() / s.exp().sum((-2, -1), keepdim=True),
    "dropout in the way": lambda s: F.dropout(s.softmax(-1), 0.5),
    "queries and keys exchanged": lambda s: s.transpose(-2, -1).softmax(-1),
    "one bad row": lambda s: s.softmax(-1).index_fill(2, torch.tensor(3), 0.3),
}

# X10: merge(x (batch, num_heads, seq_len, d_k))


def merge_folded(x: Tensor) -> Tensor:
    X = x.flatten(0, 1).reshape(-1, x.size(1), x.size(2), x.size(3)).permute(0, 2, 1, 3)
    return X.reshape(X.shape[0], X.shape[1], -1)


RIGHT_MERGES = {
    "contiguous view": lambda x: x.transpose(1, 2).contiguous().view(x.size(0), x.size(2), -1),
    "permute, flatten": lambda x: x.permute(0, 2, 1, 3).flatten(-2),
    "cat of heads": lambda x: torch.cat(x.unbind(1), dim=-1),
    "from folded heads": merge_folded,
    "numpy": lambda x: np.concatenate(list(x.numpy().swapaxes(0, 1)), axis=-1),
    "einsum": lambda x: torch.einsum("bhsd->bshd", x).reshape(*x[:, 0].shape[:2], -1),
    "float16": lambda x: x.half().movedim(1, 2).flatten(2),
}
WRONG_MERGES = {
    "view alone": lambda x: x.view(x.size(0), x.size(2), -1),
    "heads interleaved": lambda x: x.permute(0, 2, 3, 1).reshape(x.size(0), x.size(2), -1),
    "transposed twice": lambda x: x.transpose(1, 2).transpose(1, 2).reshape(2, 3, 8),
    "wrong axes": lambda x: x.transpose(2, 3).reshape(x.size(0), x.size(2), -1),
    "sum of heads": lambda x: x.sum(1).repeat(1, 1, x.size(1)),
    "heads backwards": lambda x: torch.cat(x.unbind(1)[::-1], dim=-1),
    "heads along the tokens": lambda x: torch.cat(x.unbind(1), dim=1),
    "items mixed up": lambda x: x.flip(0).transpose(1, 2).flatten(-2),
    "numpy reshape": lambda x: x.numpy().reshape(2, 3, 8),
}

# X11: scores(Q (batch, num_heads, query, d_k), K (batch, num_heads, key, d_k))


def scores_one_by_one(Q: Tensor, K: Tensor) -> Tensor:
    rows = [(Q[:, :, i : i + 1] * K).sum(-1) for i in range(Q.size(2))]
    return torch.stack(rows, dim=2)


def scores_folded(Q: Tensor, K: Tensor) -> Tensor:
    return torch.bmm(Q.flatten(0, 1), K.flatten(0, 1).transpose(1, 2))


def scores_by_baddbmm(Q: Tensor, K: Tensor) -> Tensor:
    q, k = Q.flatten(0, 1), K.flatten(0, 1).mT
    return torch.baddbmm(torch.empty(6, 4, 5), q, k, beta=0, alpha=6**-0.5).view(2, 3, 4, 5)


RIGHT_SCORES = {
    "matmul": lambda Q, K: Q @ K.mT,
    "einsum": lambda Q, K: torch.einsum("bhqd,bhkd->bhqk", Q, K),
    "scaled first": lambda Q, K: (Q * Q.size(-1) ** -0.5) @ K.transpose(-1, -2),
    "bmm, folded": scores_folded,
    "baddbmm": scores_by_baddbmm,
    "one by one": scores_one_by_one,
    "numpy": lambda Q, K: np.einsum("...id,...jd->...ij", Q.numpy(), K.numpy()),
    "bfloat16": lambda Q, K: Q.bfloat16() @ K.bfloat16().mT,
    "float64": lambda Q, K: Q.double() @ K.double().mT,
}
WRONG_SCORES = {
    "view": lambda Q, K: Q @ K.view(2, 3, 6, 5),
    "reshape": lambda Q, K: torch.matmul(Q, K.reshape(2, 3, 6, -1)),
    "heads mixed up": lambda Q, K: Q @ K.roll(1, dims=1).mT,
    "items mixed up": lambda Q, K: Q @ K.flip(0).mT,
    "keys meet queries": lambda Q, K: K @ Q.mT,
    "summed over heads": lambda Q, K: torch.einsum("bhqd,bgkd->bhqk", Q, K),
    "numpy resize": lambda Q, K: Q.numpy() @ np.resize(K.numpy(), (2, 3, 6, 5)),
    "distances": torch.cdist,
    "minus sign": lambda Q, K: -Q @ K.mT,
    "normalised keys": lambda Q, K: Q @ F.normalize(K, dim=-2).mT,
    "zeros": lambda Q, K: torch.zeros(2, 3, 4, 5),
}

TABLES: dict[str, tuple[dict[str, Callable[..., Any]], dict[str, Callable[..., Any]]]] = {
    "X1": (RIGHT_SPLITS, WRONG_SPLITS),
    "X3": (RIGHT_WEIGHTS, WRONG_WEIGHTS),
    "X10": (RIGHT_MERGES, WRONG_MERGES),
    "X11": (RIGHT_SCORES, WRONG_SCORES),
}
RIGHT, WRONG = (
    [
        pytest.param(exhibit.detector, function, id=f"{exhibit.id}, {name}")
        for exhibit in SHAPES
        for name, function in TABLES[exhibit.id][side].items()
    ]
    for side in (0, 1)
)


@pytest.mark.parametrize(("detector", "function"), RIGHT)
def test_right_code_of_others_passes(
    detector: Callable[..., None], function: Callable[..., Any]
) -> None:
    detector(function)


@pytest.mark.parametrize(("detector", "function"), WRONG)
def test_wrong_code_of_others_is_caught(
    detector: Callable[..., None], function: Callable[..., Any]
) -> None:
    with pytest.raises(AssertionError, match=r"\w+ \w+") as caught:
        detector(function)
    assert "stopped with" not in str(caught.value)


def test_each_detector_is_tried_on_five_of_either_kind() -> None:
    assert all(len(table) >= 5 for tables in TABLES.values() for table in tables)
