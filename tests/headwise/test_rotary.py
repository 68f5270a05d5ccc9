"""Rotary positions: equal to the reference library, and knowing distances alone."""

import copy
import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from headwise.rotary import Rotary, halves_to_pairs, pairs_to_halves

EXACT = {"rtol": 1e-10, "atol": 1e-10}
both_layouts = pytest.mark.parametrize("layout", ["halves", "pairs"])


def randn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(("theta", "rows"), [(10_000.0, False), (500_000.0, True)])
def test_halves_turn_as_in_the_reference_library(theta: float, rows: bool) -> None:
    from transformers.models.llama.configuration_llama import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

    config = LlamaConfig(
        hidden_size=32,
        num_attention_heads=4,
        rope_parameters={"rope_type": "default", "rope_theta": theta},
    )
    Q, K = randn(2, 4, 7, 8).float(), randn(2, 2, 7, 8, seed=2).float()
    positions = torch.tensor([[0, 1, 2, 3, 4, 5, 6], [9, 8, 30, 31, 2, 0, 0]][: 1 + rows])
    cos, sin = LlamaRotaryEmbedding(config)(Q, positions)
    theirs = apply_rotary_pos_emb(Q, K, cos, sin)
    rotary = Rotary(8, theta=theta)
    where = positions if rows else positions[0]
    for ours, expected in zip((rotary(Q, where), rotary(K, where)), theirs, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-5, atol=1e-5)


def test_interpolation_is_the_linear_scaling_of_the_reference_library() -> None:
    from transformers.models.llama.configuration_llama import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

    scaling = {"rope_type": "linear", "rope_theta": 10_000.0, "factor": 4.0}
    config = LlamaConfig(hidden_size=32, num_attention_heads=4, rope_parameters=scaling)
    Q, positions = randn(1, 4, 30, 8).float(), torch.arange(30)
    cos, sin = LlamaRotaryEmbedding(config)(Q, positions[None])
    expected, _ = apply_rotary_pos_emb(Q, Q, cos, sin)
    torch.testing.assert_close(Rotary(8, scale=4)(Q, positions), expected, rtol=1e-5, atol=1e-5)


@both_layouts
def test_pair_is_turned_as_a_complex_number(layout: str) -> None:
    """The formula a second time: a pair (a, b) is a + bi, times e to the i angle."""
    x, positions = randn(2, 3, 5, 8), torch.tensor([0, 1, 7, 100, 100_000])
    a, b = (x[..., :4], x[..., 4:]) if layout == "halves" else (x[..., ::2], x[..., 1::2])
    frequencies = torch.tensor([10_000.0 ** (-2 * i / 8) for i in range(4)], dtype=torch.float64)
    angles = positions.double()[:, None] * frequencies
    turned = torch.complex(a, b) * torch.polar(torch.ones(5, 4).double(), angles)
    out = Rotary(8, layout=layout)(x, positions)  # type: ignore[arg-type]
    a, b = (out[..., :4], out[..., 4:]) if layout == "halves" else (out[..., ::2], out[..., 1::2])
    torch.testing.assert_close(torch.complex(a, b), turned, **EXACT)


@both_layouts
@given(m=st.integers(0, 10**6), n=st.integers(0, 10**6), shift=st.integers(-(10**6), 10**6))
def test_score_depends_on_the_distance_alone(layout: str, m: int, n: int, shift: int) -> None:
    rotary = Rotary(8, layout=layout)  # type: ignore[arg-type]
    q, k = randn(1, 1, 1, 8), randn(1, 1, 1, 8, seed=2)

    def score(at: int, to: int) -> Tensor:
        return (rotary(q, torch.tensor([at])) * rotary(k, torch.tensor([to]))).sum()

    torch.testing.assert_close(score(m, n), score(m + shift, n + shift), rtol=1e-7, atol=1e-7)


@both_layouts
def test_position_zero_turns_nothing_and_no_position_changes_a_length(layout: str) -> None:
    rotary, x = Rotary(6, layout=layout), randn(2, 2, 4, 6)  # type: ignore[arg-type]
    torch.testing.assert_close(rotary(x, torch.zeros(4, dtype=torch.long)), x, **EXACT)
    turned = rotary(x, torch.tensor([3, 1, 4, 15]))
    assert not torch.allclose(turned, x)
    torch.testing.assert_close(turned.norm(dim=-1), x.norm(dim=-1), **EXACT)


def test_interpolated_position_is_the_one_so_many_times_nearer() -> None:
    x = randn(1, 2, 3, 8)
    far, near = torch.tensor([0, 4, 8]), torch.tensor([0, 1, 2])
    torch.testing.assert_close(Rotary(8, scale=4.0)(x, far), Rotary(8)(x, near), **EXACT)


@both_layouts
def test_columns_beyond_the_rotary_ones_stay(layout: str) -> None:
    x, positions = randn(2, 2, 5, 10), torch.arange(5)
    turned = Rotary(10, layout=layout, rotary_dim=4)(x, positions)  # type: ignore[arg-type]
    assert torch.equal(turned[..., 4:], x[..., 4:])
    alone = Rotary(4, layout=layout)(x[..., :4], positions)  # type: ignore[arg-type]
    torch.testing.assert_close(turned[..., :4], alone, **EXACT)


# From one layout to the other


@pytest.mark.parametrize("rotary_dim", [None, 4])
@pytest.mark.parametrize("shape", [(16, 5), (16,)])
def test_conversion_of_weights_gives_the_same_scores(
    shape: tuple[int, ...], rotary_dim: int | None
) -> None:
    halves, pairs = (
        Rotary(8, rotary_dim=rotary_dim),
        Rotary(8, layout="pairs", rotary_dim=rotary_dim),
    )
    W_q, W_k = randn(*shape), randn(*shape, seed=2)
    x, positions = randn(3, *shape[1:], seed=3), torch.tensor([2, 0, 9])

    def scores(rotary: Rotary, W_q: Tensor, W_k: Tensor) -> Tensor:
        Q, K = (
            (x @ W.T if W.dim() == 2 else W.expand(3, 16)).view(1, 3, 2, 8).transpose(1, 2)
            for W in (W_q, W_k)
        )
        return rotary(Q, positions) @ rotary(K, positions).transpose(-2, -1)

    moved = [halves_to_pairs(W, 2, rotary_dim=rotary_dim) for W in (W_q, W_k)]
    torch.testing.assert_close(scores(pairs, *moved), scores(halves, W_q, W_k), **EXACT)
    assert not torch.allclose(scores(pairs, W_q, W_k), scores(halves, W_q, W_k))
    for there, W in zip(moved, (W_q, W_k), strict=True):
        assert torch.equal(pairs_to_halves(there, 2, rotary_dim=rotary_dim), W)


def test_rows_move_within_their_head() -> None:
    rows = torch.arange(8)
    assert halves_to_pairs(rows, 2).tolist() == [0, 2, 1, 3, 4, 6, 5, 7]
    assert pairs_to_halves(rows, 1).tolist() == [0, 2, 4, 6, 1, 3, 5, 7]


# Where it runs


def test_half_precision_rounds_once() -> None:
    x, positions = randn(2, 2, 5, 8).bfloat16(), torch.arange(5) + 1000
    exact = Rotary(8)(x.double(), positions)
    torch.testing.assert_close(Rotary(8)(x, positions), exact.bfloat16())


def test_copies_turn_alike() -> None:
    rotary, x, positions = Rotary(8, theta=5.0, layout="pairs"), randn(1, 1, 3, 8), torch.arange(3)
    for other in (copy.deepcopy(rotary), pickle.loads(pickle.dumps(rotary)), rotary.half()):
        assert torch.equal(other(x, positions), rotary(x, positions))
    assert rotary.state_dict() == {}
    assert repr(rotary) == "Rotary(8, theta=5, layout='pairs', scale=1, rotary_dim=8)"


# What it refuses


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"d_k": 5}, "d_k: got 5, expected an even number, as pairs turn"),
        (
            {"d_k": 8, "rotary_dim": 3},
            "rotary_dim: got 3, expected an even number of at most d_k = 8",
        ),
        ({"d_k": 8, "rotary_dim": 10}, "rotary_dim: got 10, expected an even number of at most"),
        ({"d_k": 8, "theta": 0}, "theta: got 0, expected a finite number above 0"),
        ({"d_k": 8, "scale": float("inf")}, "scale: got inf, expected a finite number above 0"),
        ({"d_k": 8, "layout": "thirds"}, 'layout: got \'thirds\', expected "halves" or "pairs"'),
    ],
)
def test_wrong_setting_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Rotary(**options)  # type: ignore[arg-type]


def test_positions_of_another_shape_or_kind_are_refused() -> None:
    x = randn(2, 2, 5, 8)
    with pytest.raises(
        ValueError, match=r"positions: got shape \(4,\), expected \(5,\) or \(2, 5\)"
    ):
        Rotary(8)(x, torch.arange(4))
    with pytest.raises(
        ValueError, match=r"positions: got dtype torch.float32, expected one of whole"
    ):
        Rotary(8)(x, torch.arange(5).float())
    with pytest.raises(ValueError, match=r"weight: got shape \(2, 2, 2\)"):
        halves_to_pairs(torch.ones(2, 2, 2), 2)


@pytest.mark.parametrize(("name", "value"), [("theta", 7.0), ("scale", 3.0), ("layout", "pairs")])
def test_setting_changed_later_counts_at_once(name: str, value: object) -> None:
    x, positions = torch.randn(1, 2, 3, 8), torch.arange(3)
    rotary = Rotary(8)
    rotary(x, positions)
    setattr(rotary, name, value)
    assert torch.equal(rotary(x, positions), Rotary(8, **{name: value})(x, positions))
