"""Guessing a number by its sentence: the code in it, what it lists, and what follows it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from proseproof.number_counters import Counters
from proseproof.number_guess_words import LIKELY, SURE, WEAK, Guess
from proseproof.numbers import CODE, Claim, sentence_at
from proseproof.sentence_subjects import SPAN


def what_follows(claim: Claim, counters: Counters) -> Iterator[Guess]:
    """A list or a table right behind the paragraph."""
    try:
        following = counters._following()
    except StopIteration:
        return
    if following and claim.unit.kind in ("text", "heading", "description"):
        if following[0].kind == "item":
            yield Guess("items()", SURE, "the list that follows")
        elif following[0].kind == "row":
            yield Guess("rows()", LIKELY, "the table that follows")
            yield Guess("columns()", WEAK, "the table that follows")
    headings = counters.project.page(counters.path).headings
    below = [one.anchor for one in headings if one.level == 2]
    at_start = claim.unit.kind == "description" or claim.section not in below
    if at_start and claim.reads[0].value >= 2:
        # The questions q1-…, q2-… of a page that says how many it has.
        for begin in dict.fromkeys(m[1] for one in below if (m := re.match(r"([a-z]+)\d", one))):
            how = LIKELY if claim.start else SURE  # the description begins with it
            yield Guess(f"sections('{begin}[0-9]')", how, "the sections of the page")
        yield Guess("sections()", LIKELY, "the sections of the page")
        yield Guess(f"sections('(?!{''.join(below[-1:])})')", LIKELY, "the sections but the last")


def is_listed(claim: Claim, listed: list[str]) -> bool:
    """True when the sentence lists things, and no clauses: three steps: split, attend, merge."""
    bare = claim.unit.bare
    if re.search("[:：]", bare[claim.end :].partition(listed[0] if listed else "\n")[0]):
        of = re.match(r"\s(?:of|in|on|at|with)\b", bare[claim.end :])
        counts = claim.text.lower() not in ("twice", "half") and of is None
        return counts and not re.search(r"\bthe $", bare[: claim.start], re.IGNORECASE)
    return len(listed) >= 3 and all(CODE in one for one in listed)


def spans(claim: Claim) -> list[str]:
    """The code in the sentence, the nearest first."""
    begin, end = sentence_at(claim.unit.bare, claim.start)
    text = claim.unit.text
    found = [(abs(m.start() - claim.start), m["text"]) for m in SPAN.finditer(text, begin, end)]
    return [code for _, code in sorted(found)]


def from_sentence(claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
    """The value of code in the sentence, of either side of an equality, or a size of its shape."""
    for code in spans(claim):
        sides = [code]
        if match := re.fullmatch(r"([A-Za-z_]\w*) ?= ?(.+)", code):
            sides = [match[1]]
        else:
            try:
                node = ast.parse(code, mode="eval").body
            except (SyntaxError, ValueError):
                continue
            if isinstance(node, ast.Compare):
                sides = [ast.unparse(one) for one in (node.left, *node.comparators)]
            elif isinstance(node, ast.Tuple):
                sides = [ast.unparse(one) for one in node.elts]
        for side in sides:
            if re.fullmatch(r"[\d.,() -]*", side):
                continue
            try:
                value = eval(side, dict(values))
            except Exception:
                continue
            if isinstance(value, bool):
                continue
            yield Guess(side, LIKELY, f"`{code}`")
            shape = getattr(value, "shape", None)
            if isinstance(shape, tuple) and not isinstance(value, type):
                for place, size in enumerate(shape):
                    if size == claim.reads[0].value and size > 1:
                        yield Guess(f"{side}.shape[{place}]", WEAK, f"the shape of `{code}`")
