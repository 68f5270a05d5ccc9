"""Sine codes, their shift, and learned positions."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headwise.positional import (
    LearnedPositions,
    SinusoidalPositions,
    _widest,
    frequencies,
    shift_matrix,
    sinusoidal,
)


@given(st.integers(1, 40), st.integers(1, 33), st.integers(0, 500))
def test_code_is_the_formula_of_the_paper(seq_len: int, d_model: int, start: int) -> None:
    code = sinusoidal(seq_len, d_model, start=start, dtype=torch.float64)
    assert code.shape == (seq_len, d_model)
    for row, column in {(0, 0), (seq_len - 1, d_model - 1), (seq_len // 2, d_model // 2)}:
        pair = column - column % 2
        angle = (start + row) / 10_000 ** (pair / d_model)
        expected = math.sin(angle) if column == pair else math.cos(angle)
        assert code[row, column].item() == pytest.approx(expected, abs=1e-9)


@given(st.integers(-50, 50), st.integers(1, 16), st.integers(50, 500))
def test_shift_by_k_is_one_matrix_whatever_the_position(k: int, half: int, position: int) -> None:
    d_model = 2 * half
    here = sinusoidal(1, d_model, start=position, dtype=torch.float64)
    there = sinusoidal(1, d_model, start=position + k, dtype=torch.float64)
    torch.testing.assert_close(here @ shift_matrix(k, d_model), there, rtol=0, atol=1e-10)


@given(st.integers(-50, 50), st.integers(1, 16))
def test_shift_matrix_is_a_rotation(k: int, half: int) -> None:
    matrix = shift_matrix(k, 2 * half)
    identity = torch.eye(2 * half, dtype=torch.float64)
    torch.testing.assert_close(matrix @ matrix.T, identity)
    assert torch.linalg.det(matrix).item() == pytest.approx(1)


def test_dot_product_of_codes_depends_on_distance_alone() -> None:
    code = sinusoidal(30, 16, dtype=torch.float64)
    products = code @ code.T
    for distance in range(5):
        diagonal = products.diagonal(distance)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal))


def test_odd_width_has_no_shift_matrix() -> None:
    with pytest.raises(ValueError, match=r"d_model: got 7, expected an even number"):
        shift_matrix(1, 7)


def test_odd_width_drops_only_the_last_cosine() -> None:
    code = sinusoidal(4, 5, dtype=torch.float64)
    torch.testing.assert_close(code[:, 4], (torch.arange(4) * frequencies(5)[2]).sin().double())
    assert code.shape == (4, 5)


def test_half_precision_code_is_the_rounded_exact_one() -> None:
    exact = sinusoidal(4, 8, start=4001, dtype=torch.float32)
    assert torch.equal(sinusoidal(4, 8, start=4001, dtype=torch.float16), exact.half())


def test_module_adds_the_code_to_every_batch_item() -> None:
    x = torch.randn(3, 5, 6, dtype=torch.float64)
    expected = x + sinusoidal(9, 6, dtype=torch.float64)[4:]
    torch.testing.assert_close(SinusoidalPositions()(x, 4), expected)


def test_learned_positions_are_added_from_start_on() -> None:
    module = LearnedPositions(7, 6)
    x = torch.randn(3, 5, 6)
    torch.testing.assert_close(module(x, 2), x + module.weight[2:])
    assert repr(module) == "LearnedPositions(max_len=7, d_model=6)"


def test_learned_positions_refuse_what_they_never_learned() -> None:
    with pytest.raises(
        ValueError, match=r"x: got positions 3 to 7, expected 0 to 6, as max_len = 7"
    ):
        LearnedPositions(7, 6)(torch.randn(1, 5, 6), 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sinusoidal(-1, 4), "seq_len: got -1"),
        (lambda: sinusoidal(3, -4), "d_model: got -4"),
        (lambda: sinusoidal(3, 4, start=-1), "start: got -1"),
        (lambda: shift_matrix(1, 0), "d_model: got 0"),
        (lambda: LearnedPositions(0, 4), "max_len: got 0"),
        (lambda: LearnedPositions(4, 6)(torch.randn(2, 3, 6), -1), "start: got -1"),
        (lambda: LearnedPositions(4, 6)(torch.randn(2, 3, 4)), r"x: got shape \(2, 3, 4\)"),
        (lambda: SinusoidalPositions()(torch.randn(3, 4)), r"x: got shape \(3, 4\)"),
    ],
)
def test_wrong_input_is_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]


@pytest.mark.parametrize("start", [10**5, 10**7, 2**24])
def test_positions_far_out_are_as_exact_as_near_ones(start: int) -> None:
    code = sinusoidal(2, 8, start=start)
    for row in range(2):
        for column in range(0, 8, 2):
            angle = math.fmod((start + row) / 10_000 ** (column / 8), 2 * math.pi)
            assert code[row, column].item() == pytest.approx(math.sin(angle), abs=1e-6)
    assert not torch.equal(code[0], code[1])


def test_no_position_is_a_code_of_no_rows() -> None:
    assert sinusoidal(0, 4).shape == (0, 4)
    assert SinusoidalPositions()(torch.randn(2, 0, 4)).shape == (2, 0, 4)


@pytest.mark.parametrize("dtype", [torch.long, torch.bool, torch.complex64])
def test_code_is_of_floats(dtype: torch.dtype) -> None:
    for make in (lambda: sinusoidal(3, 4, dtype=dtype), lambda: shift_matrix(1, 4, dtype=dtype)):
        with pytest.raises(ValueError, match=f"dtype: got {dtype}, expected a floating"):
            make()
    with pytest.raises(ValueError, match=f"x: got shape .* of {dtype}, expected floats"):
        SinusoidalPositions()(torch.ones(1, 2, 4, dtype=dtype))


def test_apple_gpus_get_single_precision() -> None:
    assert _widest("mps:0") == _widest(torch.device("mps")) == torch.float32
    assert _widest("cpu") == _widest(None) == torch.float64


def test_code_larger_than_any_memory_is_refused() -> None:
    with pytest.raises(ValueError, match="seq_len, d_model: got 200000000 and 8"):
        sinusoidal(2 * 10**8, 8)
    with pytest.raises(ValueError, match="seq_len: got 1000000000, expected a whole number of at"):
        sinusoidal(10**9, 8)
    with pytest.raises(ValueError, match="d_model: got 65536 and 65536, expected at most"):
        shift_matrix(1, 2**16)


def test_no_position_is_beyond_what_double_precision_tells_apart() -> None:
    with pytest.raises(ValueError, match="start: got 9007199254740992, expected a position of"):
        SinusoidalPositions()(torch.zeros(1, 3, 8), start=2**53)
