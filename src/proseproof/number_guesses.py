"""Guessing what a number is: for `bind`, which writes the guess into the ledger for its author.

A guess has to be more than a coincidence of small numbers. It is *sure* when the noun behind the
number leads to the expression, or what it counts follows; *likely* when code in the same sentence
gives it, or the block prints it and hardly anything else could be meant; *weak* otherwise. Without
a guess, the entry stays open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from proseproof.bindings import Entry
from proseproof.number_counters import Counters, printed_numbers
from proseproof.number_guess_code import (
    coded,
    functions,
    labelled,
    line_counts,
    listed_names,
    literals,
    made,
    rounds,
    signs,
    spelled_factor,
    striking,
)
from proseproof.number_guess_ratios import (
    changed,
    differences,
    parts_of_pi,
    printed_ratios,
    quotients,
)
from proseproof.number_guess_sentence import (
    cases,
    farther_below,
    from_sentence,
    is_listed,
    paragraph,
    pieces_of_code,
    stated,
    what_follows,
    with_printed,
)
from proseproof.number_guess_values import (
    axes,
    elements,
    from_ends,
    from_rows,
    how_many_are_on,
    modules,
    properties,
    sizes,
    strides,
    tensors,
    where_masked,
)
from proseproof.number_guess_words import (
    ANY,
    LIKELY,
    SURE,
    WEAK,
    Guess,
    from_names,
    from_words,
    nouns,
    phrase_before,
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
COUNTED = frozenset(re.findall(r"\w+", "line function class block case time space digit step"))
POINTED = re.compile(r"\b(?:all|the|these|those|as) $", re.IGNORECASE)
DENIED = re.compile(
    r"(?:\b(?:not|never|no longer|nor)\b|n[’']t\b)(?:(?!\b(?:and|but)\b)[^,;:.]){0,12}$"
)
HERE = "#guess"


def alike(one: Claim, other: Claim, written: bool = False) -> bool:
    """True for the same number of the same things in a section, the same words, or a rare one.

    That two of something are the same elsewhere, only an author's own entry (`written`) can say.
    """
    if [read.value for read in one.reads] != [read.value for read in other.reads]:
        return False
    things, others = nouns(one), nouns(other)
    same = bool(things and others) and singular(things[0]) == singular(others[0])
    here = same and one.section == other.section
    keys = [re.sub(r" #\d+$", "", claim.key.lower()) for claim in (one, other)]
    again = keys[0] == keys[1] and (written or one.reads[0].value >= 3)
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
    candidates = _candidates(project, claim, values, counters, elsewhere)
    if DENIED.search(claim.unit.bare[: claim.start]):
        candidates = denied(project, claim, values)
    for one in candidates:
        entry = Entry(claim.section, claim.key, one.expression, HERE, 0)
        if not judged(project, claim, entry, values, counters):
            found.append(one)
            if one.how == SURE:
                break
    if (
        all(one.late for one in found)
        and before
        and not nouns(claim)[:1]
        and POINTED.search(claim.unit.bare[: claim.start])
    ):
        for expression, other in reversed(before.items()):
            same = [one.value for one in other.reads] == [one.value for one in claim.reads]
            if same and other.reads[0].word and nouns(other):
                return Guess(expression, LIKELY, f"as {other.key}")
    return min(found, key=lambda one: one.rank) if found else None


def known_facts(project: Project, claim: Claim) -> Iterator[Guess]:
    """A rare number that is a fact of the ledger."""
    for name in vars(project.ledger.facts) if is_rare(claim) else ():
        yield Guess(f"facts.{name}", WEAK, "a fact of the ledger", late=True)


def denied(project: Project, claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
    """Rows don't sum to 1: what a phrase says of a tensor that the sentence names is not so."""
    for expression in project.ledger.words.get(phrase_before(claim), []):
        for name, _, named in tensors(claim, values) if expression.startswith("any.") else ():
            if named:
                true = f"({ANY.sub(name, expression)} - _).abs().max() > 0.001"
                yield Guess(true, WEAK, f"not so of {name}")


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
    yield from made(claim, counters, project.ledger.words)
    if elsewhere:
        yield from rounds(claim, counters)
        yield from functions(claim, values, counters.run)
        yield from modules(claim, values)
        for pattern in coded(claim, counters.run) if is_rare(claim) else ():
            yield Guess(f"coded({pattern!r})", WEAK, "the code")
        yield from known_facts(project, claim)
        return
    if claim.reads[0].word and is_listed(claim, counters.list_behind()):
        yield Guess("listed()", LIKELY, "what the sentence lists")
    yield from from_sentence(claim, values)
    yield from from_rows(claim, values)
    yield from printed_ratios(claim, counters.run)
    yield from striking(claim, values, counters)
    for one in _more(project, claim, values, counters):
        yield replace(one, late=one.how == WEAK)


def _more(
    project: Project, claim: Claim, values: dict[str, Any], counters: Counters
) -> Iterator[Guess]:
    """What is mostly weak, what has the better reason first."""
    run, taken = counters.run, set(project.ledger.words)
    yield from stated(claim)
    yield from with_printed(claim, printed_numbers(run))
    yield from from_ends(claim, values)
    yield from axes(project, claim, values)
    yield from where_masked(claim, values)
    yield from signs(claim, run)
    yield from line_counts(claim, run)
    yield from rounds(claim, counters)
    yield from functions(claim, values, run)
    yield from modules(claim, values)
    yield from cases(claim, counters)
    yield from pieces_of_code(claim, counters)
    yield from quotients(claim, values)
    yield from properties(claim, values)
    yield from strides(claim, values)
    yield from differences(claim, values)
    yield from spelled_factor(claim, counters)
    yield from parts_of_pi(claim, values)
    yield from how_many_are_on(claim, values)
    yield from changed(claim, values)
    yield from sizes(claim, values)
    yield from literals(claim, counters, taken)
    yield from paragraph(claim, values)
    yield from elements(claim, values)
    yield from farther_below(claim, counters, taken)
    yield from listed_names(claim, values, run, COUNTED | COMPOUNDS)
    yield from known_facts(project, claim)
