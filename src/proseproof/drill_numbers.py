"""Changes of the drill to numbers in plain prose: another digit, another number word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from proseproof import number_pairs
from proseproof.drill_changes import Author, Change
from proseproof.drill_edits import other_digit
from proseproof.number_words import CHINESE, ONES, Read
from proseproof.numbers import NAMED, PageNumbers, Unit
from proseproof.page import Page

ENGLISH = {value: word for word, value in ONES.items()} | {0.5: "a quarter"}
HAN = {value: sign for sign, value in CHINESE.items() if sign not in "〇两"} | {0.5: "四分之一"}


@dataclass(frozen=True)
class Place:
    """A number and the piece of prose in which it stands."""

    unit: Unit
    read: Read

    @property
    def line(self) -> int:
        """The line of the page."""
        return self.unit.line + self.unit.bare.count("\n", 0, self.read.start)

    @property
    def is_alt(self) -> bool:
        """True in the alt text of a figure."""
        before = self.unit.text[: self.read.start]
        return before.rfind("![") > before.rfind("](")


def kinds(author: Author) -> dict[str, Callable[[], Iterator[Change]]]:
    """Every kind of change to a number in prose, and where its candidates come from."""
    chosen: dict[str, Callable[[Place], bool]] = {
        "digit in plain prose": lambda one: _is_plain(one) and not one.read.word,
        "number word": lambda one: _is_plain(one) and one.read.word,
        "number in a table": lambda one: one.unit.kind == "row",
        "number in a heading": lambda one: one.unit.kind == "heading",
        "number in an alt text": lambda one: one.is_alt,
        "number in a description": lambda one: one.unit.kind == "description",
    }
    found: dict[str, Callable[[], Iterator[Change]]] = {
        kind: partial(_both, author, kind, wanted) for kind, wanted in chosen.items()
    }
    found["name with a number"] = partial(_names, author)
    found["number in one language"] = partial(_alone, author)
    return found


def _is_plain(place: Place) -> bool:
    return place.unit.kind in ("text", "item", "title") and not place.is_alt


def _claims(numbers: PageNumbers) -> Iterator[Place]:
    for claim in numbers.claims:
        for read in claim.reads:
            yield Place(claim.unit, read)


def _leading(author: Author) -> Iterator[Page]:
    """The pages whose words the ledger has."""
    ledger = author.project.ledger
    for page in author.pages:
        if ledger.covers(page.path) and ledger.leads(page.path):
            yield page


def _both(author: Author, kind: str, wanted: Callable[[Place], bool]) -> Iterator[Change]:
    for page in _leading(author):
        numbers = author.project.numbers(page.path)
        for place in _claims(numbers):
            if wanted(place):
                yield from _changed(author, kind, page, place)


def _names(author: Author) -> Iterator[Change]:
    for page in _leading(author):
        for rule, _, read, unit in author.project.numbers(page.path).passed:
            if rule in NAMED and not read.word:
                yield from _changed(author, "name with a number", page, Place(unit, read))


def _changed(author: Author, kind: str, page: Page, place: Place) -> Iterator[Change]:
    """The number changed, and its twin where the other language has one."""
    new = _other(author, place.read)
    text = _with(page, place, new) if new else None
    if new is None or text is None:
        return
    texts = {page.path: text}
    other = author.project.other(page.path)
    twin = _twin(author, page, other, place) if other else None
    if other is not None and twin is not None:
        follows = _following(twin.read, place.read, new)
        changed = _with(other, twin, follows) if follows else None
        if changed is not None:
            texts[other.path] = changed
    yield Change(kind, page.path, place.line, _what(place, new), texts)


def _alone(author: Author) -> Iterator[Change]:
    """A number of one language, while the other stays."""
    for page in author.pages:
        covered = author.project.ledger.covers(page.path)
        if covered and author.project.other(page.path) is not None:
            for place in _claims(author.project.numbers(page.path)):
                new = _other(author, place.read)
                text = _with(page, place, new) if new else None
                if new and text is not None:
                    kind, what = "number in one language", _what(place, new)
                    yield Change(kind, page.path, place.line, what, {page.path: text}, True)


def _what(place: Place, new: str) -> str:
    bare, read = place.unit.text, place.read
    around = " ".join(bare[max(0, read.start - 20) : read.end + 20].split())
    return f"{read.text} → {new} in {around}"


def _twin(author: Author, page: Page, other: Page, place: Place) -> Place | None:
    """The same number in the same paragraph of the other language."""
    here, there = author.project.numbers(page.path), author.project.numbers(other.path)
    for ours, theirs in number_pairs.units(here, there):
        if any(unit is place.unit for unit in ours):
            same = [
                one
                for one in _claims(there)
                if one.read.value == place.read.value and any(unit is one.unit for unit in theirs)
            ]
            return same[0] if same else None
    return None


def _other(author: Author, read: Read) -> str | None:
    """Another number, written as this one is."""
    if not read.word:
        return other_digit(read.text, author.chance)
    if read.text.isascii():
        new = ENGLISH.get(read.value if read.value == 0.5 else read.value + 1)
        if read.text.lower() == "twice":
            new = "three times"
        return new.capitalize() if new and read.text[0].isupper() else new
    return HAN.get(read.value if read.value == 0.5 else read.value + 1)


def _following(twin: Read, old: Read, new: str) -> str | None:
    """What the other language says when the first says something new."""
    if not twin.word:
        return new if not old.word else str(int(old.value) + 1)
    if not old.word:
        return None
    if twin.text.isascii():
        return ENGLISH.get(old.value if old.value == 0.5 else old.value + 1)
    return HAN.get(old.value if old.value == 0.5 else old.value + 1)


def _with(page: Page, place: Place, new: str) -> str | None:
    """The page with another number in that place; None when it is not written in one piece."""
    unit, read = place.unit, place.read
    row = unit.bare.count("\n", 0, read.start)
    inside = read.start - (unit.bare.rfind("\n", 0, read.start) + 1)
    said = unit.text.split("\n")[row]
    lines = page.text.split("\n")
    whole = lines[unit.line + row - 1]
    if said not in whole or not re.match(re.escape(read.text), said[inside:]):
        return None
    at = whole.index(said) + inside
    lines[unit.line + row - 1] = whole[:at] + new + whole[at + len(read.text) :]
    return "\n".join(lines)
