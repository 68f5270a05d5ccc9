"""The museum: each bug runs, is caught by its detector, and its correction is not."""

import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from headwise import causal_mask, merge_heads, museum, split_heads
from headwise.attention import attention, fused_attention
from headwise.flash import flash_attention, running_softmax
from headwise.museum import EXHIBITS, TODAY, Exhibit
from headwise.positional import SinusoidalPositions
from headwise.rotary import Rotary

ALL = EXHIBITS + TODAY
every_exhibit = pytest.mark.parametrize("exhibit", ALL, ids=[one.id for one in ALL])


def shapes_made(exhibit: Exhibit, function: Callable[..., Any]) -> list[torch.Size]:
    """The shapes that the function returns while its detector looks at it."""
    shapes = []

    def watched(*args: Any) -> Any:
        made = function(*args)
        shapes.extend(one.shape for one in (made if isinstance(made, tuple) else (made,)))
        return made

    try:
        exhibit.detector(watched)
    except AssertionError:
        assert function is exhibit.wrong
    return shapes


def test_exhibits_are_x1_to_x15_and_those_of_today_x16_to_x30() -> None:
    assert [one.id for one in EXHIBITS] == [f"X{n}" for n in range(1, 16)]
    assert [one.id for one in TODAY] == [f"X{n}" for n in range(16, 31)]


@every_exhibit
def test_detector_passes_the_right_code(exhibit: Exhibit) -> None:
    exhibit.detector(exhibit.right)


@every_exhibit
def test_detector_names_a_symptom_of_the_wrong_code(exhibit: Exhibit) -> None:
    with pytest.raises(AssertionError, match=r"\w+ \w+"):
        exhibit.detector(exhibit.wrong)


@every_exhibit
def test_wrong_code_gives_the_right_shape(exhibit: Exhibit) -> None:
    shapes = shapes_made(exhibit, exhibit.wrong)
    assert shapes
    assert shapes == shapes_made(exhibit, exhibit.right)[: len(shapes)]


@every_exhibit
def test_every_piece_can_be_quoted_by_its_name(exhibit: Exhibit) -> None:
    for piece in (exhibit.wrong, exhibit.right, exhibit.detector):
        assert getattr(sys.modules[piece.__module__], piece.__name__) is piece
        assert piece.__doc__
    assert getattr(museum, exhibit.detector.__name__) is exhibit.detector
    assert exhibit.wrong.__doc__.startswith("Meant to ")
    assert exhibit.right.__doc__.startswith("Right: ")


FIVE = torch.arange(5)


def library_weights(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Weights out of the library's attention, for given scores: they become Q, and K is 1."""
    keys = scores.size(-1)
    K = torch.eye(keys).expand(*scores.shape[:-2], keys, keys) * keys**0.5
    return attention(scores, K, K, mask)[1]


def library_window(seq_len: int, window: int) -> Tensor:
    """Where flash_attention looks: keys of zeros get equal weights, and the values are 1."""
    Q, V = torch.zeros(1, 1, seq_len, 2), torch.eye(seq_len)[None, None]
    return flash_attention(Q, Q, V, is_causal=True, window=window)[0, 0] > 0


@pytest.mark.parametrize(
    ("detector", "function"),
    [
        (museum.every_head_sees_every_token, split_heads),
        (museum.every_token_stays_itself, merge_heads),
        (museum.token_i_sees_i_plus_one, causal_mask),
        (museum.order_makes_a_difference, SinusoidalPositions()),
        (museum.rows_sum_to_one, library_weights),
        (museum.hidden_keys_get_nothing, library_weights),
        (museum.hidden_row_gives_zeros, library_weights),
        (museum.hidden_scores_change_nothing, library_weights),
        (museum.every_item_keeps_to_its_own_mask, lambda s, m: library_weights(s, m[:, None])),
        (museum.nobody_looks_at_padding, lambda s, m: library_weights(s, m[:, None, None])),
        (museum.weights_meet_their_own_layout, lambda x: Rotary(8, layout="pairs")(x, FIVE)),
        (museum.last_query_sees_every_key, lambda *qkv: fused_attention(*qkv, is_causal=True)),
        (museum.last_query_sees_every_key, lambda *qkv: flash_attention(*qkv, is_causal=True)),
        (museum.window_shows_so_many_keys, library_window),
        (
            museum.order_of_keys_changes_nothing,
            lambda scores, V: torch.cat([running_softmax(row, V)[-1].out for row in scores]),
        ),
    ],
)
def test_library_passes_the_detectors(
    detector: Callable[..., None], function: Callable[..., Any]
) -> None:
    detector(function)
