"""Comparing what a block prints with what the page shows."""

from __future__ import annotations

import re

# Not part of a word or of a version such as 2.10.0 or v1.2, in which every digit counts.
FLOAT = re.compile(
    r"(?<![A-Za-z0-9_.])(?:[-+]?(?:\d+\.\d*|\.\d+)(?:e[-+]?\d+)?|[-+]?\d+e[-+]?\d+)(?!\.?\d)",
    re.IGNORECASE,
)
# What is printed with fewer decimals was rounded on purpose, or is a version: Python 3.12.
LONG = 4


def lines_of(text: str) -> list[str]:
    """The text's lines without trailing white space and without empty lines at its end."""
    return [line.rstrip() for line in text.rstrip().splitlines()]


def same(shown: str, true: str) -> bool:
    """True when the page shows what was printed, long floats to the digits shown."""
    left, right = lines_of(shown), lines_of(true)
    return len(left) == len(right) and all(map(_same_line, left, right))


def _same_line(shown: str, true: str) -> bool:
    if shown == true:
        return True
    floats = list(zip(FLOAT.findall(shown), FLOAT.findall(true), strict=False))
    if all(len(said) == len(printed) for said, printed in floats):
        return False  # nothing is rounded, so every character counts
    skeletons = [re.sub(r"\s+", " ", FLOAT.sub("#", line)) for line in (shown, true)]
    return skeletons[0] == skeletons[1] and all(_rounds(*pair) for pair in floats)


def _rounds(said: str, printed: str) -> bool:
    if said == printed:
        return True
    # torch writes one number as 1. or as 1.0000, by what else is in the tensor.
    if said.endswith(".") or printed.endswith("."):
        return float(said) == float(printed)
    decimals = [len(text.lower().partition("e")[0].partition(".")[2]) for text in (said, printed)]
    if decimals[0] >= decimals[1] or decimals[1] < LONG or "e" in (said + printed).lower():
        return False
    return abs(float(said) - float(printed)) <= 0.5 * 10.0 ** -decimals[0] * (1 + 1e-9)
