"""Rounding: last bits change nothing, and what is equal but for rounding is a tie."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwise.drawing.rounding import (
    drawn_at,
    highest,
    lowest,
    power_of_ten,
    three_digits,
    two_decimals,
)

HALF_WAY = [0.125, 0.375, -0.625, 0.3, 1.005, 12.345, 0.0, 2.5e-7]
last_bits = pytest.mark.parametrize("share", [1 - 1e-10, 1.0, 1 + 1e-10])


@last_bits
@pytest.mark.parametrize("number", HALF_WAY)
def test_number_is_told_the_same_whatever_its_last_bits(number: float, share: float) -> None:
    for told in (two_decimals, three_digits, power_of_ten):
        assert told(number * share) == told(number)
    assert drawn_at([number * share, 0.0, 1.0]) == drawn_at([number, 0.0, 1.0])
    assert drawn_at([number * share], log=True) == drawn_at([number], log=True)


@pytest.mark.parametrize(
    ("number", "two", "three", "power"),
    [
        (0.30000001, "0.30", "0.3", "3e-01"),
        (-0.001, "0.00", "-0.001", "-1e-03"),
        (1234.5678, "1234.57", "1.23e+03", "1e+03"),
        (-0.0, "0.00", "0", "-0e+00"),
    ],
)
def test_digits_are_as_many_as_are_said(number: float, two: str, three: str, power: str) -> None:
    assert (two_decimals(number), three_digits(number)) == (two, three)
    assert power_of_ten(number) == power


def test_what_is_next_to_nothing_beside_the_largest_is_zero() -> None:
    assert three_digits(-3e-17, largest=1.0) == "0"
    assert three_digits(3e-5, largest=1.0) == "3e-05"


def test_ties_are_found_in_order() -> None:
    numbers = [0.3 + 1e-9, 0.1, 0.3, 0.2, 0.1 - 1e-9, 0.3 - 1e-9]
    assert highest(numbers) == [0, 2, 5]
    assert lowest(numbers) == [1, 4]
    assert highest([-1.0, -2.0]) == [0] and highest([0.0, -1e-9]) == [0]
    assert highest([0.0, -1e-9], least=1e-6) == [0, 1]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_numbers_are_drawn_where_they_are_but_for_what_nobody_sees(numbers: list[float]) -> None:
    size = max(max(numbers) - min(numbers), 1e-6 * max(map(abs, numbers)))
    for number, drawn in zip(numbers, drawn_at(numbers), strict=True):
        assert abs(number - drawn) <= size / 4000 + 1e-300


@given(st.lists(st.floats(1e-300, 1e100), min_size=1, max_size=20))
def test_numbers_on_a_logarithmic_scale_keep_four_digits(numbers: list[float]) -> None:
    assert drawn_at(numbers, log=True) == pytest.approx(numbers, rel=6e-4)
