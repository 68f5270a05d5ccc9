"""The proof of numbers in prose: each is bound by the ledger, and is what its expression gives."""

from __future__ import annotations

import functools
import operator
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from proseproof import language_pairs, number_pairs
from proseproof.bindings import OPEN, Bindings, Entry, Unbound, compiled, evaluate
from proseproof.messages import Finding
from proseproof.number_counters import Counters
from proseproof.number_words import Read
from proseproof.numbers import Claim, PageNumbers
from proseproof.settings import SettingsError
from proseproof.values import fingerprint, numbers_in, truth

if TYPE_CHECKING:
    from proseproof.execution import Run
    from proseproof.page import Page
    from proseproof.project import Project

Home = Callable[[Claim, Entry], int]
BIND = "python -m proseproof bind"
NOISE = 1e-6  # what float32 makes of a whole number
OPERATORS = {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge}
SAID = {
    "<": "less than ",
    ">": "more than ",
    "<=": "at most ",
    ">=": "at least ",
    "about": "about ",
}


def holds(read: Read, true: float, how: str = "is") -> bool:
    """True when a number is what is said, to the digits shown and in the sense of the words."""
    said = read.value
    if how in OPERATORS:
        return bool(OPERATORS[how](true, said))
    slack = read.unit / 2 * (1 + 1e-9) if read.unit else NOISE * max(1.0, abs(said))
    if how == "about":
        slack = max(slack, 0.1 * abs(said) or 0.05)
    return abs(true - said) <= slack


def flat(value: Any) -> list[float]:
    """The numbers of a value, of nested lists and tuples too."""
    if isinstance(value, bool):
        return []
    if isinstance(value, list | tuple):
        return [number for one in value for number in flat(one)]
    return numbers_in(value)


def untrue(claim: Claim, code: str, value: Any) -> str:
    """Why a claim is not what the value of its expression says; nothing when it is."""
    found = flat(value)
    if not found:
        return f"{code} is {_short(value)}, and no number"
    # Each row sums to 1: one number may be said of many.
    wanted = claim.reads * len(found) if len(claim.reads) == 1 else claim.reads
    if len(wanted) == len(found) and all(
        holds(read, true, claim.how) for read, true in zip(wanted, found, strict=True)
    ):
        return ""
    return f"says {SAID.get(claim.how, '')}{claim.text}; {code} is {_short(value)}"


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) < 60 else text[:57] + "..."


def judged(
    project: Project,
    claim: Claim,
    entry: Entry,
    values: Mapping[str, Any],
    counters: Counters,
) -> str:
    """Why a claim does not hold under its entry; nothing when it does."""
    code = entry.code
    try:
        _, names = compiled(code)
        if not names:
            return f"{code} names nothing of the code: it would hold whatever the code does"
        scope = values
        if "_" in names:
            said = [read.value for read in claim.reads]
            scope = {**values, "_": said[0] if len(said) == 1 else tuple(said)}
        value = evaluate(project.ledger, code, scope, counters.functions())
    except Unbound as error:
        return str(error)
    if "_" not in names:
        return untrue(claim, code, value)
    return "" if truth(value) else f"{code} is {_short(value)} for {claim.text}"


class NumberProof:
    """The numbers of one page, held to the ledger."""

    def __init__(self, project: Project, page: Page, *, on: bool | None = None) -> None:
        self.project, self.page, self.ledger = project, page, project.ledger
        self.on = self.ledger.covers(page.path) if on is None else on
        self.numbers, self.bindings = PageNumbers(), Bindings("")
        self.leads, self.broken = self.on and self.ledger.leads(page.path), list[Finding]()
        try:
            if self.on:
                self.numbers = project.numbers(page.path)
            if self.leads:
                self.bindings = self.ledger.of(page.path)
        except SettingsError as error:  # this page cannot be judged; the next one can
            file, _, said = str(error).partition(": ")
            line = re.search(r"at line (\d+)", said)
            self.broken.append(Finding(file, int(line[1]) if line else 1, said))
            self.leads = False

    @functools.cached_property
    def bound(self) -> list[tuple[Claim, Entry]]:
        """The claims of the page with their entries."""
        if not self.leads:
            return []
        pairs = ((claim, self.bindings.get(claim.section, claim.key)) for claim in self.claims)
        return [(claim, entry) for claim, entry in pairs if entry is not None]

    @functools.cached_property
    def claims(self) -> list[Claim]:
        """The numbers that need an entry.

        On a page of both languages, what the one has said need not be bound again for the other.
        """
        if self.project.settings.language(self.page.path) is not None:
            return self.numbers.claims
        latin = [claim for claim in self.numbers.claims if claim.is_latin]
        stated = {read.value for claim in latin for read in claim.reads}
        return [
            claim
            for claim in self.numbers.claims
            if claim.is_latin or not {read.value for read in claim.reads} <= stated
        ]

    def block_of(self, place: tuple[str, int]) -> int:
        """The block that an entry names by its section and its number there; −1 for none."""
        anchor, number = place
        sections = language_pairs.sections_of_blocks(self.page)
        there = [index for index, section in enumerate(sections) if section == anchor]
        return there[number - 1] if 0 < number <= len(there) else -1

    def counts(self) -> dict[str, int]:
        """How many numbers are bound, and how many are no claim, by rule."""
        if not self.on:
            return {}
        found = Counter(self.numbers.rules)
        found["bound"] = len(self.numbers.claims)
        return dict(sorted(found.items()))

    def key(self, home: Home) -> list[Any]:
        """What a kept proof of the numbers depends on."""
        return [
            (claim.section, claim.key, claim.text, claim.how, entry.expression, home(claim, entry))
            for claim, entry in self.bound
        ] + ([vars(self.ledger.facts)] if self.bound else [])

    def accounted(self) -> list[Finding]:
        """Numbers without an entry, entries without a number, digits of another width."""
        path = self.page.path
        found = list(self.broken)
        for line, digits in self.numbers.wide:
            plain = "".join(str(int(sign)) for sign in digits)
            message = f"full-width digits: {digits}"
            found.append(Finding(path, line, message, remedy=f"write {plain}"))
        if not self.leads:
            return found
        used = set()
        for claim in self.claims:
            entry = self.bindings.get(claim.section, claim.key)
            used.add((claim.section, claim.key))
            if entry is None:
                found.append(self._unbound(claim))
            elif entry.expression == OPEN:
                message = f'nobody has said what "{claim.key}" is'
                remedy = f"write an expression in {entry.file}:{entry.line}"
                found.append(Finding(path, claim.line, message, claim.sentence, remedy))
            elif entry.place is not None and self.block_of(entry.place) < 0:
                message = f'"{claim.key}": {entry.expression}: there is no such block'
                remedy = f"name a section of the page that has one in {entry.file}:{entry.line}"
                found.append(Finding(path, claim.line, message, claim.sentence, remedy))
        for place, entry in self.bindings.entries.items():
            if place not in used and not entry.key.startswith("$"):
                where = f"section [{entry.section}]" if entry.section else "what precedes headings"
                message = f'"{entry.key}" is no longer in {where} of {path}'
                remedy = f"put it back, or remove the entry and run {BIND} {path}"
                found.append(Finding(entry.file, entry.line, message, remedy=remedy))
        return found + self._names()

    def _names(self) -> list[Finding]:
        """Names with a number that are not those of the ledger."""
        found, path, file = [], self.page.path, self.bindings.file
        here = self.numbers.names()
        for section in {**here, **self.bindings.names}:
            names, listed = here.get(section, []), self.bindings.names.get(section, [])
            if [name for name, _ in names] == listed:
                continue
            both = enumerate(zip([name for name, _ in names], listed, strict=False))
            shorter = min(len(names), len(listed))
            place = next((n for n, (name, known) in both if name != known), shorter)
            said = f'"{names[place][0]}"' if place < len(names) else "no further name"
            known = f'"{listed[place]}"' if place < len(listed) else "no further name"
            line = names[min(place, len(names) - 1)][1] if names else 1
            message = f"names with numbers: here is {said}, and [{section}] of {file} has {known}"
            remedy = f"write what is true, or {BIND} {path}"
            found.append(Finding(path, line, message, ", ".join(listed), remedy))
        return found

    def _unbound(self, claim: Claim) -> Finding:
        message = f'nothing says what "{claim.key}" is'
        section = claim.section or '""'
        remedy = (
            f"{BIND} {self.page.path}, or write into [{section}] of {self.bindings.file}: "
            f'"{claim.key}" = "an expression"'
        )
        return Finding(self.page.path, claim.line, message, claim.sentence, remedy)

    def bound_beside(self, index: int, home: Home) -> list[tuple[Claim, Entry]]:
        """The claims that are judged beside block number `index`; `home` tells which those are."""
        return [
            (claim, entry)
            for claim, entry in self.bound
            if entry.expression != OPEN and home(claim, entry) == index
        ]

    def evaluated(self, index: int, home: Home, run: Run | None) -> list[Finding]:
        """What is wrong with the claims that are judged beside a block."""
        here = self.bound_beside(index, home)
        if not here:
            return []
        values: dict[str, Any] = {**run.watch.bindings, **run.namespace} if run else {}
        before = {name: fingerprint(value) for name, value in values.items()}
        found = []
        for claim, entry in here:
            counters = Counters(self.project, self.page.path, self.numbers, claim, run)
            reason = judged(self.project, claim, entry, values, counters)
            if reason:
                message = f'"{claim.key}": {reason}'
                remedy = f"write what is true, or correct {entry.file}:{entry.line}"
                found.append(Finding(self.page.path, claim.line, message, claim.sentence, remedy))
        for name, was in before.items():
            if fingerprint(values[name]) != was:
                entry = here[0][1]
                message = f"an expression of {entry.file} changes {name}"
                remedy = "let it leave the variables of the page alone"
                found.append(Finding(entry.file, entry.line, message, remedy=remedy))
        return found


def compared(project: Project, page: Page, other: Page) -> list[Finding]:
    """Numbers that one language states and the other does not."""
    if not project.ledger.covers(page.path):
        return []
    here, there = project.numbers(page.path), project.numbers(other.path)
    found = []
    for ours, theirs in number_pairs.pairs(here, there):
        left, right = number_pairs.only_here(ours, theirs), number_pairs.only_here(theirs, ours)
        if not left and not right:
            continue
        line = left[0].line if left else ours.line
        rows = [f"{page.path}:{one.line}: {one.text}: {one.sentence}" for one in left]
        rows += [f"{other.path}:{one.line}: {one.text}: {one.sentence}" for one in right]
        message = f"numbers of this paragraph differ from {other.path}:{theirs.line}"
        found.append(Finding(page.path, line, message, "\n".join(rows), "state the same numbers"))
    return found
