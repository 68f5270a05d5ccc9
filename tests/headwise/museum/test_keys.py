"""The detectors of keys, tried on code as other people write it, right and wrong."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from judged import Table, assert_caught, assert_five_of_either_kind, cases
from torch import Tensor

from headwise.museum.keys import KEYS, window_shows_so_many_keys

# X18: share(K (batch, num_kv_heads, key, d_k), num_heads)


def repeat_kv(x: Tensor, num_heads: int) -> Tensor:
    batch, kv, seq_len, d = x.shape
    n_rep = num_heads // kv
    x = x[:, :, None, :, :].expand(batch, kv, n_rep, seq_len, d)
    return x.reshape(batch, kv * n_rep, seq_len, d)


def shared_by_index(K: Tensor, num_heads: int) -> Tensor:
    return K[:, [h * K.size(1) // num_heads for h in range(num_heads)]]


def shared_by_matrix(K: Tensor, num_heads: int) -> Tensor:
    pick = torch.eye(K.size(1)).repeat_interleave(num_heads // K.size(1), dim=0)
    return torch.einsum("hg,bgkd->bhkd", pick, K)


RIGHT_SHARES: Table = {
    "expanded and reshaped": repeat_kv,
    "indexed": shared_by_index,
    "a matrix": shared_by_matrix,
    "numpy": lambda K, h: np.repeat(K.numpy(), h // K.shape[1], axis=1),
    "stacked": lambda K, h: torch.stack([K] * (h // K.size(1)), dim=2).flatten(1, 2),
    "with an axis for the group": lambda K, h: K[:, :, None].expand(-1, -1, h // K.size(1), -1, -1),
    "folded": lambda K, h: K.flatten(0, 1).repeat_interleave(h // K.size(1), 0),
    "float16": lambda K, h: repeat_kv(K.half(), h),
}
WRONG_SHARES: Table = {
    "repeat": lambda K, h: K.repeat(1, h // K.size(1), 1, 1),
    "tile": lambda K, h: torch.tile(K, (1, h // K.size(1), 1, 1)),
    "cat": lambda K, h: torch.cat([K] * (h // K.size(1)), dim=1),
    "numpy tile": lambda K, h: np.tile(K.numpy(), (1, h // K.shape[1], 1, 1)),
    "group first": lambda K, h: torch.stack([K] * (h // K.size(1)), dim=1).flatten(1, 2),
    "modulo": lambda K, h: K[:, [i % K.size(1) for i in range(h)]],
    "first head for all": lambda K, h: K[:, :1].expand(-1, h, -1, -1),
    "backwards": lambda K, h: repeat_kv(K.flip(1), h),
    "along the keys": lambda K, h: K.repeat_interleave(3, 2).reshape(2, 6, 3, 4),
    "items exchanged": lambda K, h: repeat_kv(K.flip(0), h),
}

# X20: attend(Q (batch, num_heads, query, d_k), K, V (batch, num_heads, key, ...))


def written_out(Q: Tensor, K: Tensor, V: Tensor, hidden: Tensor) -> Tensor:
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    return scores.masked_fill(hidden, -math.inf).softmax(-1) @ V


def from_the_cache(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    past = K.size(-2) - Q.size(-2)
    row = torch.arange(past, past + Q.size(-2))[:, None]
    return written_out(Q, K, V, torch.arange(K.size(-2)) > row)


def from_a_buffer(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    bias = torch.tril(torch.ones(16, 16, dtype=torch.bool))[None, None]
    ns, nd = K.size(-2), Q.size(-2)
    return written_out(Q, K, V, ~bias[:, :, ns - nd : ns, :ns])


def only_while_reading(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(Q, K, V, is_causal=Q.size(-2) > 1)


def query_by_query(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    past = K.size(-2) - Q.size(-2)
    outs = [
        F.scaled_dot_product_attention(
            Q[:, :, i : i + 1], K[:, :, : past + i + 1], V[:, :, : past + i + 1]
        )
        for i in range(Q.size(-2))
    ]
    return torch.cat(outs, dim=2)


def numpy_attend(Q: Tensor, K: Tensor, V: Tensor) -> Any:
    q, k, v = Q.numpy(), K.numpy(), V.numpy()
    e = np.exp(q @ k.swapaxes(-1, -2)) * np.tri(q.shape[2], k.shape[2], k.shape[2] - q.shape[2])
    return (e / e.sum(-1, keepdims=True)) @ v


def shifted(by: int) -> Callable[..., Tensor]:
    def attend(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
        hidden = torch.ones(Q.size(-2), K.size(-2)).triu(K.size(-2) - Q.size(-2) + by).bool()
        return written_out(Q, K, V, hidden)

    return attend


RIGHT_CACHED: Table = {
    "rows from the cache": from_the_cache,
    "a slice of a buffer": from_a_buffer,
    "causal only while reading": only_while_reading,
    "query by query": query_by_query,
    "numpy": numpy_attend,
    "triu from the end": shifted(1),
    "bfloat16": lambda Q, K, V: from_the_cache(Q, K, V).bfloat16(),
}
WRONG_CACHED: Table = {
    "is_causal": lambda Q, K, V: F.scaled_dot_product_attention(Q, K, V, is_causal=True),
    "tril from the first": lambda Q, K, V: written_out(
        Q, K, V, ~torch.ones(Q.size(-2), K.size(-2)).tril().bool()
    ),
    "never causal": F.scaled_dot_product_attention,
    "the new key alone": lambda Q, K, V: V[:, :, -Q.size(-2) :],
    "without itself": lambda Q, K, V: shifted(0)(Q, K, V).nan_to_num(0.0),
    "one too many": shifted(2),
    "the first keys of a buffer": lambda Q, K, V: written_out(
        Q, K, V, ~torch.ones(16, 16).tril().bool()[: Q.size(-2), : K.size(-2)]
    ),
    "numpy, from the first": lambda Q, K, V: (
        np.tri(Q.size(2), 5) / np.tri(Q.size(2), 5).sum(-1, keepdims=True)
    )[None, None].repeat(2, 1),
}

# X24: mask(seq_len, window)


def band(n: int, before: int) -> Tensor:
    return torch.ones(n, n).tril().triu(-before)


def by_loops(n: int, w: int) -> list[list[bool]]:
    return [[i - w < j <= i for j in range(n)] for i in range(n)]


def added(n: int, w: int) -> Tensor:
    return torch.zeros(n, n).masked_fill(band(n, w - 1) == 0, -math.inf)


RIGHT_WINDOWS: Table = {
    "a band": lambda n, w: band(n, w - 1),
    "loops": by_loops,
    "added": added,
    "numpy": lambda n, w: np.tri(n) - np.tri(n, k=-w),
    "product of two": lambda n, w: (
        torch.ones(n, n).tril().bool() & ~torch.ones(n, n).tril(-w).bool()
    ),
    "distances": lambda n, w: np.isin(np.subtract.outer(np.arange(n), np.arange(n)), range(w)),
    "True hides": (lambda n, w: band(n, w - 1) == 0, {"convention": "True hides"}),
    "1 hides, four axes": (lambda n, w: 1 - band(n, w - 1)[None, None], {"convention": "1 hides"}),
}
WRONG_WINDOWS: Table = {
    "one more": lambda n, w: band(n, w),
    "one fewer": lambda n, w: band(n, max(w - 2, 0)),
    "both sides": lambda n, w: (torch.arange(n)[:, None] - torch.arange(n)).abs() < w,
    "not causal": lambda n, w: torch.ones(n, n).triu(1 - w),
    "no window": lambda n, w: torch.ones(n, n).tril(),
    "blocks": lambda n, w: (
        (torch.arange(n)[:, None] // w == torch.arange(n) // w) & band(n, n).bool()
    ),
    "without itself": lambda n, w: torch.ones(n, n).tril(-1).triu(-w),
    "ahead": lambda n, w: band(n, w - 1).T,
    "numpy, one more": lambda n, w: np.tri(n) - np.tri(n, k=-w - 1),
    "added, one more": lambda n, w: added(n, w + 1),
    "True hides, not named": lambda n, w: band(n, w - 1) == 0,
}

# X26: run(scores (query, key), V (key, d_v))


def online(scores: Tensor, V: Tensor, block: int, **broken: bool) -> Tensor:
    m = torch.full((scores.size(0), 1), float("-inf"))
    total, o = torch.zeros(scores.size(0), 1), torch.zeros(scores.size(0), V.size(1))
    for j in range(0, scores.size(1), block):
        s, v = scores[:, j : j + block], V[j : j + block]
        m_new = torch.maximum(m, s.max(dim=1, keepdim=True).values)
        p, alpha = torch.exp(s - m_new), torch.exp(m - m_new)
        total = total * (1.0 if broken.get("total") else alpha) + p.sum(1, keepdim=True)
        o = o * (1.0 if broken.get("gathered") else alpha) + p @ v
        m = m if broken.get("maximum") and j else m_new
    return o / total


def one_score_at_a_time(scores: Tensor, V: Tensor) -> list[list[float]]:
    rows = []
    for row in scores.tolist():
        m, total, acc = -math.inf, 0.0, [0.0, 0.0]
        for s, v in zip(row, V.tolist(), strict=True):
            new = max(m, s)
            shrink = math.exp(m - new)
            share = math.exp(s - new)
            m, total = new, total * shrink + share
            acc = [a * shrink + share * x for a, x in zip(acc, v, strict=True)]
        rows.append([a / total for a in acc])
    return rows


def split_in_two(scores: Tensor, V: Tensor) -> Tensor:
    """Two parts, put together by the logs of their sums."""
    parts = [(s, v) for s, v in zip(scores.chunk(2, 1), V.chunk(2), strict=True)]
    logs = torch.stack([s.logsumexp(1) for s, _ in parts])
    outs = torch.stack([s.softmax(1) @ v for s, v in parts])
    return (outs * logs.softmax(0)[..., None]).sum(0)


def normalised_at_every_step(scores: Tensor, V: Tensor) -> Tensor:
    log, out = torch.full((scores.size(0), 1), -math.inf), torch.zeros(scores.size(0), 2)
    for s, v in zip(scores.split(16, 1), V.split(16), strict=True):
        new = torch.logaddexp(log, s.logsumexp(1, keepdim=True))
        out = out * (log - new).exp() + (s - new).exp() @ v
        log = new
    return out


def averaged(scores: Tensor, V: Tensor) -> Tensor:
    parts = [s.softmax(1) @ v for s, v in zip(scores.split(32, 1), V.split(32), strict=True)]
    return torch.stack(parts).mean(0)


RIGHT_RUNS: Table = {
    "tiles of 8": lambda s, V: online(s, V, 8),
    "tiles of 100, the last shorter": lambda s, V: online(s, V, 100),
    "one score at a time": one_score_at_a_time,
    "logs of sums": split_in_two,
    "normalised at every step": normalised_at_every_step,
    "all at once": lambda s, V: s.softmax(-1) @ V,
    "numpy": lambda s, V: np.exp(s.numpy()) @ V.numpy() / np.exp(s.numpy()).sum(1, keepdims=True),
    "bfloat16 at the end": lambda s, V: online(s, V, 64).bfloat16(),
}
WRONG_RUNS: Table = {
    "nothing rescaled": lambda s, V: online(s, V, 8, total=True, gathered=True),
    "total not rescaled": lambda s, V: online(s, V, 8, total=True),
    "gathered not rescaled": lambda s, V: online(s, V, 8, gathered=True),
    "maximum not kept": lambda s, V: online(s, V, 8, maximum=True),
    "tiles averaged": averaged,
    "last tile alone": lambda s, V: s[:, -32:].softmax(1) @ V[-32:],
    "first tile alone": lambda s, V: s[:, :32].softmax(1) @ V[:32],
    "not divided": lambda s, V: (s - s.amax(1, keepdim=True)).exp() @ V,
    "hardest key alone": lambda s, V: V[s.argmax(1)],
    "NaN": lambda s, V: online(s, V, 8) * math.nan,
}

TABLES: dict[str, tuple[Table, Table]] = {
    "X18": (RIGHT_SHARES, WRONG_SHARES),
    "X20": (RIGHT_CACHED, WRONG_CACHED),
    "X24": (RIGHT_WINDOWS, WRONG_WINDOWS),
    "X26": (RIGHT_RUNS, WRONG_RUNS),
}


@pytest.mark.parametrize(("detector", "function"), cases(KEYS, TABLES, 0))
def test_right_code_of_others_passes(
    detector: Callable[..., None], function: Callable[..., Any]
) -> None:
    detector(function)


@pytest.mark.parametrize(("detector", "function"), cases(KEYS, TABLES, 1))
def test_wrong_code_of_others_is_caught(
    detector: Callable[..., None], function: Callable[..., Any]
) -> None:
    assert_caught(detector, function)


def test_each_detector_is_tried_on_five_of_either_kind() -> None:
    assert_five_of_either_kind(KEYS, TABLES)


def test_message_says_which_window_and_which_keys() -> None:
    with pytest.raises(AssertionError, match=r"window of 3, query 3 sees keys \[0, 1, 2, 3\], not"):
        window_shows_so_many_keys(lambda n, w: band(n, w))
