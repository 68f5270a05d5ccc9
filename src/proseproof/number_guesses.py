"""Guessing what a number is: for `bind`, which writes the guess into the ledger for its author.

A guess has to be more than a coincidence of small numbers. It is *sure* when the noun behind the
number leads to the expression, or what it counts follows; *likely* when code in the same sentence
gives it, or the block prints it and hardly anything else could be meant; *weak* otherwise. Without
a guess, the entry stays open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from proseproof.bindings import Entry
from proseproof.number_counters import Counters
from proseproof.number_guess_code import coded, labelled, striking
from proseproof.number_guess_sentence import from_sentence, is_listed, what_follows
from proseproof.number_guess_values import from_range, from_rows
from proseproof.number_guess_words import (
    LIKELY,
    RANKS,
    SURE,
    WEAK,
    Guess,
    from_names,
    from_words,
    nouns,
    singular,
)
from proseproof.number_proof import judged
from proseproof.numbers import Claim

if TYPE_CHECKING:
    from proseproof.execution import Run
    from proseproof.project import Project

COMPOUNDS = frozenset(
    re.findall(r"\w+", "axis dimension size argument number input part value index name entry")
)
POINTED = re.compile(r"\b(?:all|the|these|those|as) $", re.IGNORECASE)
DENIED = re.compile(r"(?:\b(?:not|never|no longer|nor)\b|n[’']t\b)[^,;:.]{0,12}$")
HERE = "#guess"


def alike(one: Claim, other: Claim) -> bool:
    """True for the same number of the same things in a section, the same words, or a rare one."""
    if [read.value for read in one.reads] != [read.value for read in other.reads]:
        return False
    things, others = nouns(one), nouns(other)
    same = bool(things and others) and singular(things[0]) == singular(others[0])
    here = same and one.section == other.section
    again = one.key.lower() == other.key.lower() and one.reads[0].value >= 3
    return one.how == other.how and (here or again or is_rare(one))


def is_rare(claim: Claim) -> bool:
    """True for a number that hardly means two things on one page, such as −1e9."""
    return len(claim.reads) == 1 and abs(claim.reads[0].value) >= 1000


def guess(
    project: Project,
    path: str,
    claim: Claim,
    run: Run | None,
    *,
    elsewhere: bool = False,
    before: dict[str, Claim] | None = None,
) -> Guess | None:
    """The best guess at what a number is, beside one block of the page.

    `before` are the expressions that the section was bound to so far, with their claims: what says
    "all three" may speak of the three tokens before it.
    """
    numbers = project.numbers(path)
    counters = Counters(project, path, numbers, claim, run)
    values: dict[str, Any] = {**run.watch.bindings, **run.namespace} if run else {}
    found: list[Guess] = []
    if DENIED.search(claim.unit.bare[: claim.start]):
        return None  # what is not so is for its author to say
    for one in _candidates(project, claim, values, counters, elsewhere):
        entry = Entry(claim.section, claim.key, one.expression, HERE, 0)
        if not judged(project, claim, entry, values, counters):
            found.append(one)
            if one.how == SURE:
                break
    if (
        not found
        and before
        and not nouns(claim)[:1]
        and POINTED.search(claim.unit.bare[: claim.start])
    ):
        for expression, other in reversed(before.items()):
            same = [one.value for one in other.reads] == [one.value for one in claim.reads]
            if same and other.reads[0].word and nouns(other):
                return Guess(expression, LIKELY, f"as {other.key}")
    return min(found, key=lambda one: RANKS.index(one.how)) if found else None


def _candidates(
    project: Project, claim: Claim, values: dict[str, Any], counters: Counters, elsewhere: bool
) -> Iterator[Guess]:
    if not elsewhere:
        yield from what_follows(claim, counters)
        if claim.reads[0].value >= 2 and any(singular(noun) in COMPOUNDS for noun in nouns(claim)):
            yield Guess("parts()", LIKELY, "the parts of the code in the sentence")
    yield from from_words(project, claim, values)
    yield from from_names(claim, values)
    yield from labelled(claim, counters.run)
    if elsewhere:
        for pattern in coded(claim, counters.run) if is_rare(claim) else ():
            yield Guess(f"coded({pattern!r})", WEAK, "the code")
        return
    if claim.reads[0].word and is_listed(claim, counters.list_behind()):
        yield Guess("listed()", LIKELY, "what the sentence lists")
    yield from from_sentence(claim, values)
    yield from from_rows(claim, values)
    yield from from_range(claim, values)
    yield from striking(claim, values, counters)
