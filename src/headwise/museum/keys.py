"""Four bugs in which a query reads the wrong keys, or the right ones with the wrong weights."""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from headwise.museum.detecting import Convention, answer, check_convention, places, seen
from headwise.museum.exhibit import Exhibit

# X18: GQA with repeat for repeat_interleave


def share_by_repeat(K: Tensor, num_heads: int) -> Tensor:
    """Meant to give each query head its key head, when several share one."""
    group = num_heads // K.size(1)
    return K.repeat(1, group, 1, 1)  # (batch, num_heads, key, d_k)


def share_by_repeat_interleave(K: Tensor, num_heads: int) -> Tensor:
    """Right: a, a, b, b: neighbouring heads share a key head."""
    group = num_heads // K.size(1)
    return K.repeat_interleave(group, dim=1)  # (batch, num_heads, key, d_k)


def every_group_reads_its_own_keys(share: Callable[[Tensor, int], Any]) -> None:
    """Of six query heads and two key heads, the first three must read 0, and the others 1."""
    K = torch.arange(48.0).view(2, 2, 3, 4)
    shared = answer("share", share, K.clone(), 6, shape=(2, 6, 3, 4))
    for b in range(2):
        read = [
            [n for n in range(2) if shared[b, h].equal(K[b, n].double())] for h in range(6)
        ]  # the key heads that a query head reads
        expected = [[0], [0], [0], [1], [1], [1]]
        assert read == expected, f"the heads of item {b} read key heads {read}, not {expected}"


# X20: is_causal=True with a cache and one query


def causal_from_the_first_key(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    """Meant to let each query see everything before it, cached or new."""
    return F.scaled_dot_product_attention(Q, K, V, is_causal=True)


def causal_to_the_last_key(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    """Right: lines up the last query with the last key, however many keys are cached."""
    seq_len, key_len = Q.size(-2), K.size(-2)
    visible = torch.ones(seq_len, key_len, dtype=torch.bool).tril(key_len - seq_len)
    return F.scaled_dot_product_attention(Q, K, V, visible)


def last_query_sees_every_key(attend: Callable[[Tensor, Tensor, Tensor], Any]) -> None:
    """One new query must see all five keys; of five queries, query i must see i + 1."""
    K = torch.zeros(1, 2, 5, 5)
    V = torch.eye(5).repeat(1, 2, 1, 1)  # so that the output is the weights
    for seq_len in (1, 5):
        weights = answer(
            "attend",
            attend,
            K[:, :, :seq_len].clone(),
            K.clone(),
            V.clone(),
            shape=(1, 2, seq_len, 5),
        )
        for h in range(2):
            for i in range(seq_len):
                keys, expected = places(weights[0, h, i] > 1e-3), list(range(6 - seq_len + i))
                assert keys == expected, (
                    f"query {i} of {seq_len} sees keys {keys} of 5, not {expected}"
                )


# X24: sliding window off by one


def window_and_one_more(seq_len: int, window: int) -> Tensor:
    """Meant to show each query as many keys as the window, its own included."""
    places = torch.arange(seq_len)
    distance = places[:, None] - places
    return (distance >= 0) & (distance <= window)  # (seq_len, seq_len)


def window_with_itself(seq_len: int, window: int) -> Tensor:
    """Right: the query's own key is one of them."""
    places = torch.arange(seq_len)
    distance = places[:, None] - places
    return (distance >= 0) & (distance < window)  # (seq_len, seq_len)


def window_shows_so_many_keys(
    mask: Callable[[int, int], Any], *, convention: Convention = "True shows"
) -> None:
    """With a window of 3, a query must see itself and the two keys before it, where there are."""
    check_convention(convention)  # before the function is asked
    for window in (3, 1):
        found = seen(answer("mask", mask, 6, window, shape=(6, 6)), convention)
        for i in range(6):
            keys, expected = places(found[i]), list(range(max(0, i - window + 1), i + 1))
            assert keys == expected, (
                f"with a window of {window}, query {i} sees keys {keys}, not {expected}, "
                f"where {convention}"
            )


# X26: running softmax without rescaling what was summed before


def run_without_rescaling(scores: Tensor, V: Tensor) -> Tensor:
    """Meant to compute softmax(scores) @ V from a few keys at a time."""
    highest = torch.full((scores.size(0), 1), -math.inf)
    total, gathered = torch.zeros(scores.size(0), 1), torch.zeros(scores.size(0), V.size(1))
    for tile, values in zip(torch.split(scores, 4, dim=1), torch.split(V, 4), strict=True):
        highest = torch.maximum(highest, tile.amax(dim=1, keepdim=True))
        shares = (tile - highest).exp()
        total = total + shares.sum(dim=1, keepdim=True)
        gathered = gathered + shares @ values
    return gathered / total  # (query, d_v)


def run_with_rescaling(scores: Tensor, V: Tensor) -> Tensor:
    """Right: when the maximum rises, it scales down what was summed under the old one."""
    highest = torch.full((scores.size(0), 1), -math.inf)
    total, gathered = torch.zeros(scores.size(0), 1), torch.zeros(scores.size(0), V.size(1))
    for tile, values in zip(torch.split(scores, 4, dim=1), torch.split(V, 4), strict=True):
        before = highest
        highest = torch.maximum(highest, tile.amax(dim=1, keepdim=True))
        shares, shrink = (tile - highest).exp(), (before - highest).exp()
        total = total * shrink + shares.sum(dim=1, keepdim=True)
        gathered = gathered * shrink + shares @ values
    return gathered / total  # (query, d_v)


def order_of_keys_changes_nothing(run: Callable[[Tensor, Tensor], Any]) -> None:
    """Scores that rise, fall and do both must give softmax(scores) @ V.

    run takes scores (query, key) and V (key, d_v), of 256 keys, so that tiles have to be put
    together.
    """
    rising = torch.linspace(-9, 9, 256)
    scores = torch.stack((rising, rising.flip(0), 5 * torch.sin(rising)))  # (3, 256)
    V = torch.arange(512.0).view(256, 2).cos() + torch.linspace(-1, 1, 256)[:, None]
    found = answer("run", run, scores.clone(), V.clone(), shape=(3, 2))
    expected = scores.double().softmax(-1) @ V.double()
    for i, order in enumerate(("rise", "fall", "do both")):
        off = (found[i] - expected[i]).abs().max().item()
        assert off < 0.02, f"where scores {order}, the output is off by {off:.2f}"


KEYS = (
    Exhibit("X18", share_by_repeat, share_by_repeat_interleave, every_group_reads_its_own_keys),
    Exhibit("X20", causal_from_the_first_key, causal_to_the_last_key, last_query_sees_every_key),
    Exhibit("X24", window_and_one_more, window_with_itself, window_shows_so_many_keys),
    Exhibit("X26", run_without_rescaling, run_with_rescaling, order_of_keys_changes_nothing),
)
