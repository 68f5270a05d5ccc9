"""Numbers as they are told and drawn, such that their last bits change nothing.

Another number of threads or another vector unit changes the last bits of what is computed. So a
number is rounded in two steps, first to more digits than are shown: what stands half-way between
two roundings, as 0.125 does, then falls to the same side everywhere. And what is equal but for
rounding is told as a tie.
"""

import math
from collections.abc import Sequence

CLOSE = 1e-4  # the relative difference up to which two numbers are told as equal
NOTHING = 1e-6  # the share of the largest number below which a number is told as zero


def two_decimals(number: float) -> str:
    """The number with two decimals, such as 0.30."""
    text = f"{round(number, 6):.2f}"
    return "0.00" if text == "-0.00" else text


def three_digits(number: float, largest: float = 0.0) -> str:
    """The number with three digits, such as 0.305; 0 where `largest` dwarfs it."""
    if abs(number) <= NOTHING * largest:
        return "0"
    return f"{float(f'{number:.6g}'):.3g}"


def power_of_ten(number: float) -> str:
    """The number with one digit and its power of ten, such as 3e-01."""
    return f"{float(f'{number:.4e}'):.0e}"


def highest(numbers: Sequence[float], least: float = 0.0) -> list[int]:
    """Where the highest number stands, and every other one that is as high but for rounding.

    least: how far apart two numbers have to be at least to differ, whatever their size.
    """
    top = max(numbers)
    return [
        i
        for i, number in enumerate(numbers)
        if math.isclose(number, top, rel_tol=CLOSE, abs_tol=least)
    ]


def lowest(numbers: Sequence[float], least: float = 0.0) -> list[int]:
    """Where the lowest number stands, as `highest` does it."""
    return highest([-number for number in numbers], least)


def drawn_at(numbers: Sequence[float], log: bool = False) -> list[float]:
    """Where the numbers are drawn: on a grid too fine to be seen.

    On a scale from the lowest to the highest, a step is a two-thousandth or less; on a
    logarithmic one, the fourth digit of each number.
    """
    if log:
        return [float(f"{float(f'{number:.6e}'):.3e}") for number in numbers]
    span = max(max(numbers) - min(numbers), NOTHING * max(map(abs, numbers)))
    digits = -math.floor(math.log10(span / 2000)) if span > 1e-300 else 0
    return [round(round(number, digits + 3), digits) + 0.0 for number in numbers]
