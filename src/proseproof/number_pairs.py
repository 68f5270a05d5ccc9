"""Two languages state the same numbers, paragraph by paragraph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from proseproof.numbers import Claim, PageNumbers, Unit, soft_values


@dataclass(frozen=True)
class Side:
    """What one language says in one paragraph, or in a section if they are cut differently."""

    line: int
    claims: tuple[Claim, ...]
    soft: frozenset[float]  # what its words may stand for

    @property
    def values(self) -> Counter[float]:
        """The numbers, each as often as it is said."""
        return _values(self.claims)


def _values(claims: Iterable[Claim]) -> Counter[float]:
    return Counter(_rounded(one.value) for claim in claims for one in claim.reads)


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def units(here: PageNumbers, there: PageNumbers) -> Iterator[tuple[list[Unit], list[Unit]]]:
    """The two sides of each paragraph; of a whole section where its paragraphs do not match."""
    ours, theirs = _by_section(here), _by_section(there)
    for section in {**ours, **theirs}:
        left, right = ours.get(section, []), theirs.get(section, [])
        if [unit.kind for unit in left] == [unit.kind for unit in right]:
            yield from (([one], [two]) for one, two in zip(left, right, strict=True))
        else:
            yield left, right


def pairs(here: PageNumbers, there: PageNumbers) -> Iterator[tuple[Side, Side]]:
    """What the two languages say in each paragraph in which they do not say the same."""
    claims = here.by_unit(), there.by_unit()
    for one, two in units(here, there):
        left = [claim for unit in one for claim in claims[0].get(id(unit), [])]
        right = [claim for unit in two for claim in claims[1].get(id(unit), [])]
        if _values(left) != _values(right):
            yield _side(here, one, left), _side(there, two, right)


def only_here(side: Side, other: Side) -> list[Claim]:
    """The claims of one side whose numbers the other does not state."""
    missing = side.values - other.values
    found = []
    for claim in side.claims:
        values = [_rounded(one.value) for one in claim.reads]
        if any(missing[value] > 0 and value not in other.soft for value in values):
            found.append(claim)
    return found


def _by_section(numbers: PageNumbers) -> dict[str, list[Unit]]:
    found: dict[str, list[Unit]] = {}
    for unit in numbers.units:
        found.setdefault(unit.section, []).append(unit)
    return found


def _side(numbers: PageNumbers, units: list[Unit], claims: list[Claim]) -> Side:
    wanted = {id(unit) for unit in units}
    passed = {one.value for _, _, one, unit in numbers.passed if id(unit) in wanted}
    soft = passed.union(*(soft_values(unit) for unit in units))
    return Side(units[0].line if units else 1, tuple(claims), frozenset(soft))
