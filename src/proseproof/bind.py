"""`bind`: write into the ledger what the numbers of a page are, as far as it can be guessed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from proseproof import bindings, interpreter_state, language_pairs, number_words
from proseproof.bindings import OPEN, Entry
from proseproof.execution import SEED, Run, empty_scratch, execute, load_what_has_global_state
from proseproof.number_counters import Counters
from proseproof.number_guess_words import LIKELY, SURE, WEAK, Guess, thing
from proseproof.number_guesses import alike, guess, is_rare
from proseproof.number_proof import NumberProof, judged
from proseproof.numbers import Claim
from proseproof.page import Page
from proseproof.project import Project
from proseproof.prover import PageProof
from proseproof.report import write_whole

HEAD = "# What the numbers and formulas of the prose are: expressions, evaluated beside the code.\n"
# What says something else beside another number.
OTHERS = re.compile(r"\bothers? $", re.IGNORECASE)
NEARBY = re.compile(r"\b(?:items|rows|columns|listed|parts|spans|lines)\(")


@dataclass
class Bound:
    """What became of the numbers of a page."""

    path: str
    guesses: list[tuple[Claim, Guess | None]] = field(default_factory=list)
    moved: list[tuple[Entry, Claim]] = field(default_factory=list)
    refused: list[tuple[Entry, Claim, str]] = field(default_factory=list)
    named: list[str] = field(default_factory=list)  # sections whose names changed


def bind(project: Project, path: str) -> Bound:
    """Add entries for the numbers of a page that have none, and write its file of the ledger."""
    binder = Binder(project, path)
    for index, run in _runs(binder.page):
        binder.settle(index, run)
        binder.guess_here(index, run)
        binder.guess_farther(index, run)
    return binder.finish()


class Binder:
    """Goes through the blocks of a page once, and finds out what its numbers are."""

    def __init__(self, project: Project, path: str) -> None:
        self.project, self.path = project, path
        self.proof = PageProof(project, path)
        self.page = self.proof.page
        self.numbers = self.proof.numbers = NumberProof(project, self.page, on=True)
        self.sections = language_pairs.sections_of_blocks(self.page)
        entries, claims = self.numbers.bindings, self.numbers.claims
        known = {(one.section, one.key): entries.get(one.section, one.key) for one in claims}
        self.new = [one for one in claims if known[one.section, one.key] is None]
        still_open = [one for one, entry in self.numbers.bound if entry.expression == OPEN]
        self.waiting = [one for one in claims if one in self.new or one in still_open]
        present = {(one.section, one.key) for one in claims}
        self.orphans = [
            entry
            for place, entry in entries.entries.items()
            if place not in present and not entry.key.startswith("$")
        ]
        self.here: dict[int, Guess] = {}
        self.farther: dict[int, list[Guess]] = {}
        self.done = Bound(path)

    def settle(self, index: int, run: Run | None) -> None:
        """Give entries that lost their number to numbers whose words or value changed."""
        values: dict[str, Any] = {**run.watch.bindings, **run.namespace} if run else {}
        for entry in list(self.orphans):
            for claim in [one for one in self.new if one.section == entry.section]:
                same_words = _words_of(entry.key) == _words_of(claim.key)
                same_value = _value_of(entry.key) == [one.value for one in claim.reads]
                if entry.expression == OPEN or not (same_words or same_value):
                    continue
                if self.proof.home_of(claim, entry) != index:
                    continue
                counters = Counters(self.project, self.path, self.numbers.numbers, claim, run)
                reason = judged(self.project, claim, entry, values, counters)
                if reason and not same_words:
                    continue
                if reason:
                    self.done.refused.append((entry, claim, reason))
                else:
                    self.done.moved.append((entry, claim))
                self.orphans.remove(entry)
                self.new.remove(claim)
                self.waiting.remove(claim)
                break

    def guess_here(self, index: int, run: Run | None) -> None:
        """Guess the numbers that speak of this block."""
        for claim in self.waiting:
            if self.proof.home(claim.line) == index:
                before = {
                    self.here[id(other)].expression: other
                    for other in self.waiting
                    if other.section == claim.section and other.line <= claim.line
                    if other is not claim and id(other) in self.here
                }
                found = guess(self.project, self.path, claim, run, before=before)
                if found is not None:
                    self.here[id(claim)] = found

    def guess_farther(self, index: int, run: Run | None) -> None:
        """Guess numbers that stand above this block, or in a section that has none."""
        if run is None:
            return
        place = self._place(index)
        for claim in self.waiting:
            home, own = self.proof.home(claim.line), self.sections[index] == claim.section
            foreign = not own and claim.section in self.sections
            if home == index or (foreign and not is_rare(claim)):
                continue
            near = index == home + 1 and own
            found = guess(self.project, self.path, claim, run, elsewhere=not near)
            far = found is not None and found.how == SURE and not self._begins_anew(claim, home)
            later = found is not None and found.how == LIKELY and own and index > home + 1
            if found is not None and later and not far:
                found = replace(found, how=WEAK, late=True)
            if found is not None and (near or not own or far or later):
                there = replace(found, expression=f"{place} {found.expression}")
                found_before = self.farther.setdefault(id(claim), [])
                found_before.insert(0 if near and self._begins_anew(claim, home) else 99, there)

    def _begins_anew(self, claim: Claim, home: int) -> bool:
        """True when an exercise, or the title of a box, stands between the block and the number."""
        start = self.page.blocks[home].line
        units = [one for one in self.numbers.numbers.units if start < one.line <= claim.line]
        return any(one.kind == "title" or re.match(r"\s*\*\*\d+\.", one.text) for one in units)

    def finish(self) -> Bound:
        """Choose the best guesses, and write them."""
        for claim in self.waiting:
            here = [self.here[id(claim)]] if id(claim) in self.here else []
            farther = self.farther.get(id(claim), [])
            anew = self._begins_anew(claim, self.proof.home(claim.line)) if farther else False
            both = [*farther, *here] if anew else [*here, *farther]
            best = min(both, key=lambda one: one.rank) if both else None
            self.done.guesses.append((claim, best))
        said = self._said()
        for place, (claim, best) in enumerate(self.done.guesses):
            if best is None or best.late:
                self.done.guesses[place] = (claim, self._as_before(claim, said) or best)
        _write(self.project, self.numbers, self.done)
        return self.done

    def _said(self) -> list[tuple[Claim, int, str]]:
        """What the page's other numbers are, each with its block: as written, or surely guessed."""
        pairs = [(one, entry) for one, entry in self.numbers.bound if entry.expression != OPEN]
        for one, found in self.done.guesses:
            if found is not None and found.how != WEAK:
                pairs.append((one, Entry(one.section, one.key, found.expression, "", 0)))
        return [
            (one, self.proof.home_of(one, entry), entry.code)
            for one, entry in pairs
            if not NEARBY.search(entry.code)
        ]

    def _as_before(self, claim: Claim, said: list[tuple[Claim, int, str]]) -> Guess | None:
        """What the same number of the same things is elsewhere on the page, best in its section."""
        for other, home, code in sorted(said, key=lambda one: one[0].section != claim.section):
            if alike(claim, other, self.numbers.bindings.get(other.section, other.key) is not None):
                return self._as(claim, other, home, code)
        value = claim.reads[0].value
        others = OTHERS.search(claim.unit.bare[: claim.start]) is not None
        near = [
            one
            for one in said
            if (one[0].unit is claim.unit and one[0].start < claim.start)
            or (others and one[0].section == claim.section and one[0].line < claim.line)
        ]
        if re.match(r"\stimes\b", claim.unit.bare[claim.end :]):
            return None
        for other, home, code in reversed(near):
            if not (claim.reads[0].word and len(other.reads) == 1 and thing(other)):
                continue
            if others and other.reads[0].value == value + 1:
                return self._as(claim, other, home, f"{code} - 1")
            same = claim.sentence == other.sentence and value >= 3
            if (
                other.unit is claim.unit
                and other.reads[0].value == value
                and (same or not thing(claim))
            ):
                return self._as(claim, other, home, code)
        return None

    def _as(self, claim: Claim, other: Claim, home: int, code: str) -> Guess:
        if self.sections and home != self.proof.home(claim.line):
            code = f"{self._place(home)} {code}"
        return Guess(code, WEAK, f"as {other.key}")

    def _place(self, index: int) -> str:
        """How an entry names a block."""
        number = self.sections[: index + 1].count(self.sections[index])
        return f"#{self.sections[index]}" + (f".{number}" if number > 1 else "")


def _runs(page: Page) -> Iterator[tuple[int, Run | None]]:
    """Each block with its run; without blocks, one place where nothing is known."""
    if not page.blocks:
        yield 0, None
    if not page.is_lab:
        for index, block in enumerate(page.blocks):
            runs = block.language == "python" and block.skip is None
            yield index, execute(page, block) if runs else None
        return
    shared: dict[str, Any] = {}
    load_what_has_global_state(page)
    with interpreter_state.restored(windows=True):
        os.chdir(empty_scratch())
        interpreter_state.seed(SEED)
        for index, block in enumerate(page.blocks):
            yield index, execute(page, block, shared=shared)


def _words_of(key: str) -> str:
    """What stands beside the number in a key."""
    key = re.sub(r" #\d+$", "", key)
    for one in reversed(number_words.find(key)):
        key = key[: one.start] + key[one.end :]
    return " ".join(key.split())


def _value_of(key: str) -> list[float]:
    return [one.value for one in number_words.find(re.sub(r" #\d+$", "", key))]


def quoted(text: str) -> str:
    """A string of TOML."""
    if not re.search(r'["\\\x00-\x1f]', text):
        return f'"{text}"'
    if "'" not in text and not re.search(r"[\x00-\x1f]", text):
        return f"'{text}'"
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _table(section: str) -> str:
    return f"[{section}]" if re.fullmatch(r"[\w-]+", section, re.ASCII) else f"[{quoted(section)}]"


def _write(project: Project, numbers: NumberProof, done: Bound) -> None:
    """Put new entries where they belong in the order of the page; all else stays as it is."""
    claims = numbers.claims
    name = project.ledger.file(done.path)
    file = project.settings.root / name
    text = file.read_text(encoding="utf-8") if file.is_file() else HEAD
    lines = text.rstrip("\n").split("\n")
    for entry, claim in done.moved:
        place = entry.line - 1
        rest = lines[place].partition("=")[2]
        if entry.key in lines[place]:
            rest = lines[place][lines[place].index(entry.key) + len(entry.key) + 1 :]
            rest = rest.partition("=")[2]
        lines[place] = f"{quoted(claim.key)} ={rest}"
    wanted = list(dict.fromkeys(unit.section for unit in numbers.numbers.units))
    new = {(c.section, c.key): g.expression if g else OPEN for c, g in done.guesses}
    order = [(claim.section, claim.key) for claim in claims]
    for position, (section, key) in enumerate(order):
        if (section, key) not in new:
            continue
        line = f"{quoted(key)} = {quoted(new[section, key])}"
        if numbers.bindings.get(section, key) is not None:  # it was open
            was = f'{quoted(key)} = "{OPEN}"'
            if was in lines and new[section, key] != OPEN:
                lines[lines.index(was, _begun(lines, wanted, section)[0])] = line
            continue
        lines.insert(place_of(lines, order, wanted, position), line)
    here = numbers.numbers.names()
    for section in dict.fromkeys([*numbers.bindings.names, *here]):
        names = [name for name, _ in here.get(section, [])]
        if names != numbers.bindings.names.get(section, []):
            put_names(lines, wanted, section, names)
            done.named.append(section)
    if done.guesses or done.moved or done.named or not file.is_file():
        write_whole(file, "\n".join(lines) + "\n")
        project.ledger.forget(done.path)


def put_names(
    lines: list[str],
    wanted: list[str],
    section: str,
    names: list[str],
    key: str = bindings.NAMES,
) -> None:
    """Write the names of a section into its first line, or take that line away."""
    begin, end = _begun(lines, wanted, section)
    line = f"{key} = [{', '.join(map(quoted, names))}]"
    for number in range(begin + 1, end):
        if lines[number].startswith(f"{key} = "):
            lines[number : number + 1] = [line] if names else []
            return
    if names:
        lines.insert(begin + 1, line)


def _begun(lines: list[str], wanted: list[str], section: str) -> tuple[int, int]:
    """Where a section begins and ends; it is begun, in the order of the page, if need be."""
    spans = _sections(lines)
    if section not in spans:
        earlier = [spans[one][1] for one in wanted[: wanted.index(section)] if one in spans]
        later = [spans[one][0] for one in wanted[wanted.index(section) :] if one in spans]
        if earlier or not later:
            at = max(earlier, default=len(lines))
            lines[at:at] = ["", _table(section)]
        else:
            at = min(later)
            lines[at:at] = [_table(section), ""]
        spans = _sections(lines)
    return spans[section]


def place_of(
    lines: list[str], order: list[tuple[str, str]], wanted: list[str], position: int
) -> int:
    """Before which line an entry goes."""
    section, _ = order[position]
    begin, end = _begun(lines, wanted, section)
    known = {
        bindings.unquoted(match["key"]): number
        for number in range(begin + 1, end)
        if (match := bindings.ENTRY.match(lines[number]))
    }
    for _, key in reversed([one for one in order[:position] if one[0] == section]):
        if key in known:
            return known[key] + 1
    return begin + 1 + len(known.keys() & {bindings.NAMES, bindings.SYMBOLS})


def _sections(lines: list[str]) -> dict[str, tuple[int, int]]:
    """The line of each section's name, and the line behind its last entry."""
    found: dict[str, tuple[int, int]] = {}
    name, begin, last = None, 0, 0
    for number, line in enumerate(lines):
        if match := bindings.TABLE.match(line):
            if name is not None:
                found[name] = (begin, last + 1)
            name, begin, last = bindings.unquoted(match["name"].strip()), number, number
        elif line.strip() and not line.startswith("#"):
            last = number
    if name is not None:
        found[name] = (begin, last + 1)
    return found
