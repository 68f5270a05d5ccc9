r"""Orders of growth: `O(n^2 \cdot d)` against a function that counts, tried at several sizes.

O is meant tightly, as pages mean it: what is counted grows as the formula does, neither faster nor
slower. Each size is doubled by itself; where both have doubled alike, the quotient stands still.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

SIZES = (16, 32, 64)  # of the one that grows
FIXED = 16  # all others, meanwhile
SLACK = 0.15  # of an exponent: 3 n + 2 is of the order n, and no more than that


@dataclass(frozen=True)
class Growth:
    r"""Says in the ledger that a formula, such as `n^2`, is how a count grows, not the count."""

    counted: Callable[..., Any]


def wrong(
    count: Callable[..., Any], order: Callable[[Mapping[str, int]], Any], names: list[str]
) -> str:
    """How what is counted grows where it is not as the order says; nothing where it is."""
    for name in names:
        sizes = [{**dict.fromkeys(names, FIXED), name: size} for size in SIZES]
        counted = [float(count(**one)) for one in sizes]
        said = [float(order(one)) for one in sizes]
        if min(counted) <= 0 or min(said) <= 0:
            return f"at {name} = {SIZES[0]} it counts {counted[0]:g}"
        true, stated = exponent(counted), exponent(said)
        if abs(true - stated) > SLACK:
            shown = ", ".join(f"{one:g}" for one in counted)
            grows = f"at {name} = {', '.join(map(str, SIZES))} it counts {shown}"
            return f"{grows}: that grows like {name}^{true:.2g}, not {name}^{stated:.2g}"
    return ""


def exponent(values: list[float]) -> float:
    """The power of a size with which values grow, by the last time that it was doubled."""
    return math.log2(values[-1] / values[-2])
