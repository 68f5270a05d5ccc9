"""Changes of the drill to formulas: another operator, another number, another symbol."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from proseproof.drill_changes import Author, Change, anchor_of
from proseproof.drill_edits import other_digit
from proseproof.page import Formula, Page

OPERATORS = {
    "+": "-", "-": "+", "=": "<", "<": ">", r"\cdot": "+", "/": r"\cdot ", r"\sqrt": "",
    r"^\top": "", r"^{\top}": "", r"\sin": r"\cos", r"\cos": r"\sin", r"\tanh": r"\exp",
    r"\sum": r"\prod", r"\prod": r"\sum", r"\max": r"\min", r"\ln": r"\exp", r"\log": r"\exp",
    r"\approx": "=", r"\times": "+", r"\pm": "-",
}  # fmt: skip
SIGN = re.compile(r"\\[A-Za-z]+|\^\\top|\^\{\\top\}|[-+=</]")
NUMBER = re.compile(r"(?<![\d.])\d+(?:\.\d+)?")
# A letter with what is below it, but not inside \text{…} or the name of a command.
SYMBOL = re.compile(
    r"\\(?:text|operatorname|begin|end)\{[^{}]*\}|\\[A-Za-z]+"
    r"|(?P<symbol>[A-Za-z](?:_(?:\w|\{\\text\{\w+\}\}))?)"
)


def kinds(author: Author) -> dict[str, Callable[[], Iterator[Change]]]:
    """Every kind of change to formulas, and where its candidates come from."""
    formulas = [one.text for page in author.leading for one in page.formulas]
    symbols = {one["symbol"] for text in formulas for one in SYMBOL.finditer(text)} - {None}
    changes: dict[str, Callable[[Author, str], str | None]] = {
        "operator in a formula": _operator,
        "number in a formula": _number,
        "symbol in a formula": partial(_symbol, sorted(symbols)),
    }
    found: dict[str, Callable[[], Iterator[Change]]] = {
        kind: partial(_formulas, author, kind, change) for kind, change in changes.items()
    }
    found["formula in one language"] = partial(_alone, author, list(changes.values()))
    return found


def _formulas(
    author: Author, kind: str, change: Callable[[Author, str], str | None]
) -> Iterator[Change]:
    for page in author.leading:
        for formula in page.formulas:
            new = change(author, formula.text)
            if new is not None and new != formula.text:
                texts = _on_both_sides(author, page, formula, new)
                if texts is not None:
                    what = f"${formula.text}$ → ${new}$"
                    yield Change(kind, page.path, formula.line, what, texts)


def _alone(author: Author, changes: list[Callable[[Author, str], str | None]]) -> Iterator[Change]:
    for page in author.pages:
        if author.project.other(page.path) is None:
            continue
        for formula in page.formulas:
            change = author.chance.choice(changes)
            new = change(author, formula.text)
            text = _replaced(page, formula, new) if new is not None else None
            if text is not None:
                what = f"${formula.text}$ → ${new}$"
                kind = "formula in one language"
                yield Change(kind, page.path, formula.line, what, {page.path: text}, True)


def _on_both_sides(author: Author, page: Page, formula: Formula, new: str) -> dict[str, str] | None:
    """The page and its translation, each with the other formula; None where one has it not."""
    sides = [(page, formula)]
    other = author.project.other(page.path)
    if other is not None:
        here, there = (_alike(side, page, formula) for side in (page, other))
        place = next(number for number, one in enumerate(here) if one is formula)
        if place >= len(there):
            return None
        sides.append((other, there[place]))
    texts = {side.path: _replaced(side, one, new) for side, one in sides}
    found = {path: text for path, text in texts.items() if text is not None}
    return found if len(found) == len(texts) else None


def _alike(side: Page, page: Page, formula: Formula) -> list[Formula]:
    """The formulas of one side that read the same, in the section of this one."""
    anchor = anchor_of(page, formula.line)
    return [
        one
        for one in side.formulas
        if one.text == formula.text and anchor_of(side, one.line) == anchor
    ]


def _replaced(page: Page, formula: Formula, new: str) -> str | None:
    lines = page.text.split("\n")
    old = formula.text if formula.display else f"${formula.text}$"
    same = [one for one in page.formulas if (one.line, one.text) == (formula.line, formula.text)]
    place = next(number for number, one in enumerate(same) if one is formula)
    parts = lines[formula.line - 1].split(old)
    if len(parts) != len(same) + 1:
        return None
    shown = new if formula.display else f"${new}$"
    before, after = old.join(parts[: place + 1]), old.join(parts[place + 1 :])
    lines[formula.line - 1] = before + shown + after
    return "\n".join(lines)


def _operator(author: Author, text: str) -> str | None:
    places = [one for one in SIGN.finditer(text) if one[0] in OPERATORS]
    if not places:
        return None
    place = author.chance.choice(places)
    return text[: place.start()] + OPERATORS[place[0]] + text[place.end() :]


def _number(author: Author, text: str) -> str | None:
    places = list(NUMBER.finditer(text))
    if not places:
        return None
    place = author.chance.choice(places)
    new = other_digit(place[0], author.chance) or ""
    return text[: place.start()] + new + text[place.end() :]


def _symbol(used: list[str], author: Author, text: str) -> str | None:
    """One symbol in place of another, out of those that the pages use."""
    places = [one for one in SYMBOL.finditer(text) if one["symbol"]]
    if not places:
        return None
    place = author.chance.choice(places)
    new = author.chance.choice([one for one in used if one != place["symbol"]])
    return text[: place.start()] + new + text[place.end() :]
