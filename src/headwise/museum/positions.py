"""Five bugs in which tokens stand where they do not."""

import math
from collections.abc import Callable
from itertools import combinations, pairwise, product
from typing import Any, Literal

import torch
from torch import Tensor

from headwise.attention import fused_attention
from headwise.heads import merge_heads, split_heads
from headwise.museum.detecting import Convention, answer, check_convention, evaluating, given
from headwise.museum.exhibit import Exhibit
from headwise.rotary import Rotary

# X16: RoPE halves with weights made for pairs


def turn_halves(x: Tensor) -> Tensor:
    """Meant to turn queries and keys for weights that were trained with pairs."""
    rotary = Rotary(x.size(-1), layout="halves")
    return rotary(x, torch.arange(x.size(-2)))  # type: ignore[no-any-return]


def turn_pairs(x: Tensor) -> Tensor:
    """Right: column 2i turns together with column 2i + 1, as it did in training."""
    rotary = Rotary(x.size(-1), layout="pairs")
    return rotary(x, torch.arange(x.size(-2)))  # type: ignore[no-any-return]


def weights_meet_their_own_layout(
    turn: Callable[[Tensor], Any], *, layout: Literal["pairs", "halves"] = "pairs"
) -> None:
    """Turned queries and keys must give the scores of the layout that their weights were made for.

    Columns may come out in any order, as long as it is the same for both.
    """
    if layout not in ("pairs", "halves"):
        raise ValueError(f"layout: got {layout!r}, expected 'pairs' or 'halves'")
    generator = torch.Generator().manual_seed(0)
    Q, K = torch.randn(2, 1, 2, 5, 8, generator=generator)  # (1, 2, 5, 8)
    turned = [answer("turn", turn, x.clone(), shape=(1, 2, 5, 8)) for x in (Q, K)]
    found = turned[0] @ turned[1].mT
    expected = _turned(Q, layout) @ _turned(K, layout).mT
    for h, i, j in product(range(2), range(5), range(5)):
        score, wanted = found[0, h, i, j].item(), expected[0, h, i, j].item()
        assert abs(score - wanted) < 0.1, (
            f"query {i} and key {j} of head {h} score {score:.2f}, not {wanted:.2f}, where "
            f"{layout} turn together"
        )


def _turned(x: Tensor, layout: str) -> Tensor:
    """RoPE as the paper writes it: every pair of columns is a complex number, times e ** (i a)."""
    width = x.size(-1) // 2
    pairs = (width, 2) if layout == "pairs" else (2, width)
    parts = x.double().reshape(*x.shape[:-1], *pairs)
    parts = parts if layout == "pairs" else parts.mT
    rates = 10_000.0 ** (-torch.arange(width, dtype=torch.float64) / width)
    angles = torch.arange(x.size(-2))[:, None] * rates
    turned = torch.view_as_complex(parts.contiguous()) * torch.polar(
        torch.ones_like(angles), angles
    )
    return torch.view_as_real(turned).flatten(-2)


# X17: RoPE applied to V, or before the split into heads


def turn_values_too(q: Tensor, k: Tensor, v: Tensor, num_heads: int) -> Tensor:
    """Meant to tell attention where the tokens are."""
    places = torch.arange(q.size(1))
    rotary = Rotary(q.size(2) // num_heads)
    Q, K, V = (rotary(split_heads(x, num_heads), places) for x in (q, k, v))
    return merge_heads(fused_attention(Q, K, V))  # (batch, seq_len, d_model)


def turn_queries_and_keys(q: Tensor, k: Tensor, v: Tensor, num_heads: int) -> Tensor:
    """Right: turns queries and keys alone, after the split, and every head alike."""
    places = torch.arange(q.size(1))
    rotary = Rotary(q.size(2) // num_heads)
    Q, K = (rotary(split_heads(x, num_heads), places) for x in (q, k))
    V = split_heads(v, num_heads)
    return merge_heads(fused_attention(Q, K, V))  # (batch, seq_len, d_model)


def only_queries_and_keys_turn(attend: Callable[[Tensor, Tensor, Tensor, int], Any]) -> None:
    """Equal values must come out as they are, heads of equal content equal, and order must count.

    attend takes q, k and v (batch, seq_len, d_model), not yet split, and the number of heads.
    """
    generator = torch.Generator().manual_seed(0)
    q, k = (torch.randn(1, 6, 8, generator=generator).repeat(1, 1, 2) for _ in range(2))
    v = torch.randn(1, 1, 8, generator=generator).repeat(1, 6, 2)  # the same at every place
    with evaluating(attend):
        out = answer("attend", attend, q.clone(), k.clone(), v.clone(), 2, shape=(1, 6, 16))
        worst = (out - v).abs().max().item()
        assert worst < 0.05, f"values that are all alike come out changed by {worst:.2f}"
        v = torch.randn(1, 6, 8, generator=generator).repeat(1, 1, 2)
        out = answer("attend", attend, q.clone(), k.clone(), v.clone(), 2, shape=(1, 6, 16))
        worst = (out[..., :8] - out[..., 8:]).abs().max().item()
        assert worst < 0.05, f"two heads of the same content differ by {worst:.2f}"
        back = torch.tensor([5, 4, 3, 2, 1, 0])
        other = answer("attend", attend, q[:, back], k[:, back], v[:, back], 2, shape=(1, 6, 16))
        moved = (other[:, back] - out).abs().max().item()
        assert moved > 0.01, f"the tokens in reverse change the outputs by {moved:.2f}"


# X19: cached decoding whose positions start at 0 at every step


def count_from_zero(x: Tensor, cached: int) -> Tensor:
    """Meant to turn new keys, which come after those in the cache."""
    places = torch.arange(x.size(-2))
    return Rotary(x.size(-1))(x, places)  # type: ignore[no-any-return]


def count_from_the_cache(x: Tensor, cached: int) -> Tensor:
    """Right: starts counting where the cache ends."""
    places = torch.arange(cached, cached + x.size(-2))
    return Rotary(x.size(-1))(x, places)  # type: ignore[no-any-return]


def steps_count_on(encode: Callable[[Tensor, int], Any]) -> None:
    """Tokens encoded step by step must be those that are encoded at once, and places must count.

    encode takes x (batch, num_heads, seq_len, d_k) and how many tokens came before it.
    """
    x = torch.arange(16.0).view(1, 2, 1, 8).cos().repeat(1, 1, 6, 1)  # one token, six times
    with evaluating(encode):
        whole = answer("encode", encode, x.clone(), 0, shape=(1, 2, 6, 8))
        for start, stop in pairwise((0, 3, 4, 6)):
            part = answer(
                "encode", encode, x[:, :, start:stop].clone(), start, shape=(1, 2, stop - start, 8)
            )
            for i in range(start, stop):
                off = (part[:, :, i - start] - whole[:, :, i]).abs().max().item()
                assert off < 0.01, f"token {i}, with {start} in the cache, is off by {off:.2f}"
    for i, j in combinations(range(6), 2):
        off = (whole[:, :, i] - whole[:, :, j]).abs().max().item()
        assert off > 0.001, f"the same token is the same at places {i} and {j}"


# X21: left padding with positions counted from the pad


def places_from_the_pad(real: Tensor) -> Tensor:
    """Meant to number the tokens of sentences that are padded on the left."""
    return torch.arange(real.size(1)).expand(real.shape)  # (batch, seq_len)


def places_from_the_first_token(real: Tensor) -> Tensor:
    """Right: counts real tokens, so the first word is at 0; padding may be anywhere."""
    return (real.long().cumsum(dim=1) - 1).clamp(min=0)  # (batch, seq_len)


def padding_moves_no_word(
    places: Callable[[Tensor], Any], *, convention: Convention = "True shows"
) -> None:
    """Words must stand where they stand without padding, one behind the other."""
    check_convention(convention)  # before the function is asked
    real = torch.arange(6) >= torch.tensor([[0], [2], [5]])  # (3, 6)
    found = answer("places", places, given(real, convention), shape=(3, 6))
    expected = found[0].tolist()  # of a sentence without padding
    steps = found[0].diff().tolist()
    assert steps == [1] * 5, f"the places of six words are {expected}, where {convention}"
    for b in (1, 2):
        words = found[b, real[b]].tolist()
        assert words == expected[: len(words)], (
            f"{len(words)} words behind padding stand at {words}, not at "
            f"{expected[: len(words)]}, where {convention}"
        )


# X25: ALiBi with the sign turned round


def alibi_for_the_far(num_heads: int, seq_len: int) -> Tensor:
    """Meant to let near keys count for more."""
    places = torch.arange(seq_len)
    distance = places[:, None] - places  # (seq_len, seq_len)
    slopes = 2.0 ** (-8 * torch.arange(1, num_heads + 1) / num_heads)  # (num_heads,)
    return slopes[:, None, None] * distance  # (num_heads, seq_len, seq_len)


def alibi_for_the_near(num_heads: int, seq_len: int) -> Tensor:
    """Right: the farther back a key is, the more is taken off its score."""
    places = torch.arange(seq_len)
    distance = places[:, None] - places  # (seq_len, seq_len)
    slopes = 2.0 ** (-8 * torch.arange(1, num_heads + 1) / num_heads)  # (num_heads,)
    return -slopes[:, None, None] * distance  # (num_heads, seq_len, seq_len)


def farther_keys_get_less(bias: Callable[[int, int], Any]) -> None:
    """From one key to the one before it, head h of 8 must lose 1/2, 1/4, … 1/256 of a score.

    bias takes the number of heads and seq_len. What is the same for a whole row makes no
    difference, and keys behind the query are not judged.
    """
    found = answer("bias", bias, 8, 6, shape=(8, 6, 6))
    for h, i in product(range(8), range(1, 6)):
        lost = found[h, i, : i + 1].diff().tolist()
        expected = 0.5 ** (h + 1)
        assert all(math.isclose(one, expected, rel_tol=0.05) for one in lost), (
            f"query {i} of head {h}: from each key to the next the bias grows by "
            f"{[round(one, 3) for one in lost]}, not by {expected:.3f}"
        )


POSITIONS = (
    Exhibit("X16", turn_halves, turn_pairs, weights_meet_their_own_layout),
    Exhibit("X17", turn_values_too, turn_queries_and_keys, only_queries_and_keys_turn),
    Exhibit("X19", count_from_zero, count_from_the_cache, steps_count_on),
    Exhibit("X21", places_from_the_pad, places_from_the_first_token, padding_moves_no_word),
    Exhibit("X25", alibi_for_the_far, alibi_for_the_near, farther_keys_get_less),
)
