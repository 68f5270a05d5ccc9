"""Guessing a number by the values of the block: rows and ranges that its variables hold."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from typing import Any

from proseproof.number_guess_words import LIKELY, WEAK, Guess
from proseproof.numbers import Claim


def from_rows(claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
    """A tensor, or a row of one, that holds the numbers of a row: 1 0 1 0."""
    if len(claim.reads) < 2:
        return
    for name, value in values.items():
        shape = getattr(value, "shape", None)
        if name.startswith("_") or isinstance(value, type):
            continue
        if isinstance(value, list | tuple) and len(value) == len(claim.reads):
            yield Guess(name, LIKELY, name)
        if isinstance(shape, tuple):
            yield Guess(f"tuple({name}.shape)", WEAK, f"the shape of {name}")
            if callable(getattr(value, "stride", None)):
                yield Guess(f"{name}.stride()", WEAK, f"the strides of {name}")
        if not isinstance(shape, tuple):
            continue
        for axes in range(len(shape)):
            places = [list(range(size)) for size in shape[:axes]]
            if math.prod(shape[axes:]) != len(claim.reads) or math.prod(shape[:axes]) > 16:
                continue
            for place in itertools.product(*places):
                index = f"[{', '.join(map(str, place))}]" if place else ""
                yield Guess(f"{name}{index}", LIKELY, name)


def from_range(claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
    """The ends of 0 to 511, where something has the size 512."""
    bare = claim.unit.bare
    last = re.match(r"0 (?:to|through) (\d+)\b", bare[claim.start :])
    begun = re.search(r"\b0 (?:to|through) $", bare[: claim.start])
    end = int(last[1]) if last else int(claim.reads[0].value) if begun else 0
    for name, value in values.items():
        if end > 2 and type(value) is int and value == end + 1 and not name.startswith("_"):
            yield Guess(f"range({name})[{0 if last else -1}]", LIKELY, f"up to {name}")
