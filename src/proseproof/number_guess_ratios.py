"""Guessing a number by two values: their ratio, their difference, how many are other in them."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from proseproof.number_counters import printed_numbers
from proseproof.number_guess_values import code_in, index_of, tensors
from proseproof.number_guess_words import LIKELY, WEAK, Guess, counts
from proseproof.numbers import Claim
from proseproof.values import numbers_in

if TYPE_CHECKING:
    from proseproof.execution import Run


def changed(claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
    """Two tokens have changed, two strides are swapped: how many are other in two tensors."""
    words = r"\b(?:chang|swap|exchang|mov|differ|same|equal)\w*"
    if not re.search(words, claim.sentence) or not counts(claim):
        return
    near, found = tensors(claim, values), list[Guess]()
    for (one, first, _), (two, second, _) in itertools.combinations(near, 2):
        if len(first.shape) != len(second.shape) or not callable(getattr(first, "stride", None)):
            continue
        if re.search(r"\bstrides?\b", claim.sentence):
            code = f"sum(a != b for a, b in zip({one}.stride(), {two}.stride()))"
            found.append(Guess(code, WEAK, f"the strides of {one} and {two}"))
        elif tuple(first.shape) == tuple(second.shape) and len(first.shape) > 1:
            pair = f"of {one} and {two}"
            found.append(Guess(f"({one} == {two}).all(dim=-1).sum()", WEAK, f"equal rows {pair}"))
            found.append(Guess(f"({one} != {two}).any(dim=-1).sum()", WEAK, f"other rows {pair}"))
    yield from found


def _is_factor(claim: Claim) -> bool:
    """True for three times as tall, twice the cost, half of it."""
    behind, words = (
        claim.unit.bare[claim.end :],
        r"twice|thrice|.*(?:half|third|quarter|fifth|tenth)",
    )
    times = re.match(r"\s?(?:times(?! \d)|as (?:many|much|large|wide|long|tall))\b", behind)
    part = re.fullmatch(f"(?:{words})s?", claim.text.lower()) and re.match(
        r" (?:as|the|of)", behind
    )
    return len(claim.reads) == 1 and claim.reads[0].value not in (0, 1) and bool(times or part)


def printed_ratios(claim: Claim, run: Run | None) -> Iterator[Guess]:
    """Eight times as much: the only two numbers of the output of which that is true."""
    shown = list(enumerate(printed_numbers(run), 1)) if _is_factor(claim) else []
    large = [(place, one) for place, one in shown if abs(one) >= 5]
    factor, pairs = claim.reads[0].value, itertools.permutations(large, 2)
    found = [(p, q) for (p, a), (q, b) in pairs if math.isclose(a, factor * b, rel_tol=1e-9)]
    for p, q in found if len(found) == 1 else ():
        yield Guess(f"printed({p}) / printed({q})", LIKELY, "two numbers of the output")


def differences(claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
    """Three more tokens: the only two tensors that differ by that much, along one axis."""
    if not counts(claim) or not re.match(r"\smore\b", claim.unit.bare[claim.end :]):
        return
    near, found = tensors(claim, values), []
    for (one, first, _), (two, second, _) in itertools.permutations(near, 2):
        pairs = list(zip(first.shape, second.shape, strict=False))
        other = [axis for axis, (size, less) in enumerate(pairs) if size != less]
        if len(first.shape) == len(second.shape) and len(other) == 1:
            axis = other[0]
            if first.shape[axis] - second.shape[axis] == claim.reads[0].value:
                found.append(f"{one}.shape[{axis}] - {two}.shape[{axis}]")
    if len(found) == 1:
        yield Guess(found[0], WEAK, "longer by that much")


def quotients(claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
    """Three times as tall, half of it: the ratio of two sizes that the sentence or a tensor has."""
    if not _is_factor(claim):
        return
    value = claim.reads[0].value
    whole = {name: one for name, one in values.items() if type(one) is int and name[:1] != "_"}
    spoken = code_in(claim.sentence)
    for (one, size), (two, other) in itertools.permutations(whole.items(), 2):
        named = all(re.search(rf"\b{re.escape(name)}\b", spoken) for name in (one, two))
        if named and other > 1 and size == value * other:
            yield Guess(f"{one} / {two}", LIKELY, f"{one} and {two}")
    for name, tensor, named in tensors(claim, values):
        shape = tensor.shape
        pairs = itertools.permutations(range(len(shape)), 2) if named else ()
        for i, j in pairs:
            if shape[j] > 1 and shape[i] == value * shape[j]:
                yield Guess(f"{name}.shape[{i}] / {name}.shape[{j}]", WEAK, f"the sizes of {name}")


def parts_of_pi(claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
    """2π: a number of the block, divided by π."""
    if not re.match(r"\s?π", claim.unit.bare[claim.end :]) or len(claim.reads) > 1:
        return
    for name, value in values.items():
        numbers = numbers_in(value) if not name.startswith("_") else []
        for place, number in enumerate(numbers[:64]):
            if math.isclose(number, claim.reads[0].value * math.pi, rel_tol=1e-6):
                plain = isinstance(value, int | float)
                shape = getattr(value, "shape", (len(numbers),))
                index = "" if plain else f"[{index_of(shape, place)}]"
                yield Guess(f"{name}{index} / math.pi", WEAK, f"{name}{index}")
