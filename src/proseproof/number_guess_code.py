"""Guessing a number by the block: it stands in the code, or in what the code prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from proseproof import number_words
from proseproof.number_counters import Counters, printed_numbers, printed_text
from proseproof.number_guess_words import LIKELY, WEAK, Guess, nouns, singular
from proseproof.number_proof import holds
from proseproof.numbers import Claim

if TYPE_CHECKING:
    from proseproof.execution import Run

FACTOR = re.compile(r"(?:twice|thrice|half|\w+\stimes) (?:as|the)\b", re.IGNORECASE)


def labelled(claim: Claim, run: Run | None) -> Iterator[Guess]:
    """A number with the noun beside it, in the code (num_heads=4) or in what the block prints."""
    for noun in nouns(claim)[:1]:
        one = re.escape(singular(noun))
        code = run.block.code if run is not None else ""
        for match in re.finditer(rf"\b(?:\w*_)?{one}s?(?: = |=| in range\()(?=\d)", code):
            yield Guess(f"coded({match[0] + '_'!r})", LIKELY, "the code")
        for match in re.finditer(rf"\b(?:\w*_)?{one}s? (?:in|=) [(\[](?=\d)", code):
            yield Guess(f"len(coded({match[0] + '_'!r}))", LIKELY, "the code")
        text = printed_text(run)
        shown = [read for read in number_words.find(text) if not read.word]
        for place, read in enumerate(shown, 1):
            before, after = text[max(0, read.start - 40) : read.start], text[read.end :]
            label = rf"\b{one}s?\b"
            if re.match(rf"[ -]{label}", after) or re.search(rf"{label}[:=]? *$", before):
                yield Guess(f"printed({place})", LIKELY, f"printed beside {noun}")


def striking(claim: Claim, values: dict[str, Any], counters: Counters) -> Iterator[Guess]:
    """A number that is hardly there by chance: a variable has it, the code, or the output."""
    read = claim.reads[0]
    if claim.how in ("<", ">", "<=", ">="):
        return
    if FACTOR.match(claim.unit.bare, claim.start):
        yield from ratios(read.value, printed_numbers(counters.run))
    striking = len(claim.reads) > 1 or abs(read.value) >= 13 or bool(read.value % 1 and read.unit)
    if len(claim.reads) == 1 and striking:
        for name, value in values.items():
            if type(value) in (int, float) and not name.startswith("_"):
                yield Guess(name, WEAK, "a variable of this value")
    times = re.match(r"\stimes\b", claim.unit.bare[claim.end :]) is not None
    if striking or (not read.word and abs(read.value) >= 3):
        for pattern in coded(claim, counters.run):
            if times and "*" not in pattern:
                continue  # sixteen times as much is no sixteen of the code
            yield Guess(f"coded({pattern!r})", LIKELY if striking else WEAK, "the code")
    printed = printed_numbers(counters.run)
    where = [place for place, true in enumerate(printed, 1) if holds(read, true, claim.how)]
    alone = len(where) == 1 and not read.word and abs(read.value) >= 3
    if len(claim.reads) == 1 and where and (striking or alone) and not times:
        sure = striking and len(where) == 1
        yield Guess(f"printed({where[0]})", LIKELY if sure else WEAK, "the output")


def ratios(value: float, printed: list[float]) -> Iterator[Guess]:
    """The only two numbers of the output of which one is that many times the other."""
    large = [(place, one) for place, one in enumerate(printed, 1) if abs(one) >= 13]
    found = [(p, q) for p, one in large for q, two in large if p != q and one == value * two]
    if len(found) == 1:
        yield Guess("printed({}) / printed({})".format(*found[0]), LIKELY, "the output")


def coded(claim: Claim, run: Run | None) -> Iterator[str]:
    """Where the number stands in the block's code: a few signs around it that tell it apart."""
    code = run.block.code if run is not None else ""
    one = r"-?\d[\d_]*(?:\.\d+)?(?:e-?\d+)?"
    row = rf"(?<![\w.]){one}(?:, {one}){{{len(claim.reads) - 1}}}(?![\w.])"
    for match in re.finditer(row, code):
        numbers = [float(one.replace("_", "")) for one in match[0].split(", ")]
        if numbers != [read.value for read in claim.reads]:
            continue
        begin = code.rfind("\n", 0, match.start()) + 1
        line = code[begin:].partition("\n")[0]
        at = match.start() - begin
        before = re.search(r"(?:[\w.]+\W{0,3})?$", line[:at])
        after = re.match(r"(?:\W{0,3}[\w.]+)?", line[at + len(match[0]) :])
        yield f"{before[0] if before else ''}_{after[0] if after else ''}".strip()
