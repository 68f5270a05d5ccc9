"""Guessing a number by two values: their ratio, their difference, how many are other in them."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from typing import Any

from proseproof import number_words
from proseproof.number_guess_values import code_in, index_of, tensors
from proseproof.number_guess_words import LIKELY, WEAK, Guess, counts
from proseproof.numbers import Claim, sentence_at
from proseproof.values import numbers_in


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
    bare, value = claim.unit.bare, claim.reads[0].value
    factor = re.match(
        r"\s?(?:times(?! \d)|as (?:many|much|large|wide|long|tall))\b", bare[claim.end :]
    )
    words = re.match(
        r"(?:twice|thrice|half|.*(?:third|quarter|fifth|tenth)s?$)", claim.text.lower()
    )
    if len(claim.reads) > 1 or not (factor or words) or value in (0, 1):
        return
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


def reckoned(claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
    """21 is 2 times 8 plus 5: what another number of the sentence is, divided by a size in it."""
    begin, end = sentence_at(claim.unit.bare, claim.start)
    others = [one.value for one in number_words.find(claim.unit.bare[begin:end])]
    spoken = set(re.findall(r"[A-Za-z_]\w*", code_in(claim.sentence)))
    bare = claim.unit.bare
    after = re.match(r"\s(?:times|plus|minus|·|×)", bare[claim.end :])
    if not after and not re.search(r"(?:times|plus|minus|·|×)\s$", bare[: claim.start]):
        return
    for name in spoken:
        size = values.get(name)
        if type(size) is not int or size < 2:
            continue
        for other in dict.fromkeys(others):
            if other > size and other == int(other) and other != claim.reads[0].value:
                yield Guess(f"{int(other)} // {name}", WEAK, f"{int(other)} by {name}")
                yield Guess(f"{int(other)} % {name}", WEAK, f"{int(other)} by {name}")
