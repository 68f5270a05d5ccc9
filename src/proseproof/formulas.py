"""Formulas in the prose: which there are, what the ledger says of them, what is amiss with that.

What can be told without running anything is told here; `formula_proof` evaluates the rest.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from proseproof import latex
from proseproof.bindings import OPEN, Bindings, Entry
from proseproof.latex_nodes import Node
from proseproof.latex_signs import LatexError
from proseproof.messages import Finding
from proseproof.notation import Meaning
from proseproof.page import Formula, Page
from proseproof.settings import SettingsError

if TYPE_CHECKING:
    from proseproof.project import Project
    from proseproof.prover import PageProof

BIND = "python -m proseproof bind"


@dataclass(frozen=True)
class Said:
    """A formula of a page: its section, its name in the ledger, and its trees or what is wrong."""

    formula: Formula
    section: str
    key: str
    trees: tuple[Node, ...] = ()
    unreadable: str = ""

    @property
    def is_relation(self) -> bool:
        """True when it says something by itself."""
        return any(tree.kind == "relation" for tree in self.trees)


def section_of(page: Page, line: int) -> str:
    """The anchor of the section in which a line stands."""
    anchors = [heading.anchor for heading in page.headings if heading.line <= line]
    return anchors[-1] if anchors else ""


def meaning_of(project: Project, path: str) -> Meaning | None:
    """What symbols mean on a page; None when the project has no notation."""
    if project.notation is None:
        return None
    place = project.settings.language(path)
    return project.notation.of(place[1] if place else path)


def said(project: Project, page: Page) -> list[Said]:
    """The formulas of a page, read once."""
    meaning = meaning_of(project, page.path)
    if meaning is None:
        return []
    found: list[Said] = []
    times: Counter[tuple[str, str]] = Counter()
    for formula in page.formulas:
        section = section_of(page, formula.line)
        times[section, formula.text] += 1
        number = times[section, formula.text]
        key = f"${formula.text}$" + (f" #{number}" if number > 1 else "")
        try:
            trees = tuple(latex.statements(formula.text, meaning.vocabulary))
            found.append(Said(formula, section, key, trees))
        except LatexError as error:
            found.append(Said(formula, section, key, unreadable=str(error)))
    return found


@dataclass
class Formulas:
    """The formulas of one page, and what the ledger says of them."""

    proof: PageProof
    said: list[Said] = field(default_factory=list)

    def __post_init__(self) -> None:
        project, page = self.proof.project, self.proof.page
        self.ledger = project.ledger
        meaning = meaning_of(project, page.path)
        if meaning is not None:
            self.meaning = meaning
            self.world = meaning.in_world
            self.said = said(project, page)
        self.covered = bool(project.settings.bindings)
        self.entries: Bindings | None = None
        with contextlib.suppress(SettingsError):  # numbers say that the file cannot be read
            self.entries = self.ledger.of(page.path) if self.covered else None
        self.covered = self.entries is not None

    def entry(self, one: Said) -> Entry | None:
        """What the ledger says of a formula."""
        return self.entries.get(one.section, one.key) if self.entries else None

    def home(self, one: Said) -> int:
        """The block beside which a formula is judged."""
        entry = self.entry(one)
        if entry is not None and entry.place is not None:
            anchor, number = entry.place
            page = self.proof.page
            there = [n for n, b in enumerate(page.blocks) if section_of(page, b.line) == anchor]
            if number <= len(there):
                return there[number - 1]
        return self.proof.home(one.formula.line)

    def key(self) -> list[Any]:
        """What a kept proof of the formulas depends on."""
        if not self.said:
            return []
        entries = [(one, self.entry(one)) for one in self.said]
        return [
            self.meaning.everything,
            *(
                (self.home(one), one.section, one.key, entry.expression if entry else "")
                for one, entry in entries
            ),
        ]

    # What can be told without running anything.

    def written(self) -> list[Finding]:
        """Formulas that cannot be read or are not bound, and entries that nothing uses."""
        if not hasattr(self, "meaning"):
            return []
        try:
            return self._amiss()
        except SettingsError as error:
            return [self.broken(error)]

    def broken(self, error: SettingsError) -> Finding:
        """A notation that cannot be read, or whose world cannot be built."""
        message = str(error).removeprefix(f"{self.meaning.file}: ")
        return Finding(self.meaning.file, 1, message, remedy="correct it there")

    def _amiss(self) -> list[Finding]:
        found = [one for item in self.said for one in self._written(item)]
        for entry in self.lost():
            message = f"{entry.key} no longer stands in #{entry.section} of {self._path}"
            remedy = f"put it back there, or take the entry out and run {BIND} {self._path}"
            found.append(Finding(entry.file, entry.line, message, remedy=remedy))
        return found + self._unexplained() + self._other_symbols()

    def lost(self) -> list[Entry]:
        """The entries whose formula is no longer on the page."""
        keys = {(one.section, one.key) for one in self.said}
        entries = self.entries.entries.values() if self.entries else ()
        return [
            entry
            for entry in entries
            if entry.key.startswith("$") and (entry.section, entry.key) not in keys
        ]

    def lone(self) -> dict[str, list[str]]:
        """The formulas of each section that are lone symbols."""
        found: dict[str, list[str]] = {}
        for one in self.said:
            more = one.is_relation or self.needs_entry(one) or self.entry(one) is not None
            if one.trees and not more:
                found.setdefault(one.section, []).append(one.formula.text)
        return found

    def needs_entry(self, one: Said) -> bool:
        """True for a formula that says nothing by itself, and is more than a symbol."""
        return not one.is_relation and not all(
            self._is_known(tree) or tree.kind in ("name", "text", "sub", "prime")
            for tree in one.trees
        )

    def _is_known(self, tree: Node) -> bool:
        """True for a symbol of this page, and on the page that lists them for all."""
        place = self.proof.settings.language(self._path)
        notation = self.proof.project.notation
        known = [self.meaning]
        if notation is not None and (place[1] if place else self._path) == notation.table:
            known = notation.all()
        return any(one.is_known(tree) or is_mention(one, tree) for one in known)

    def _other_symbols(self) -> list[Finding]:
        """Sections whose lone symbols are not those that the ledger lists."""
        if self.entries is None or not self.ledger.leads(self._path):
            return []
        found = []
        here, known = self.lone(), self.entries.symbols
        for section in {**here, **known}:
            now, was = here.get(section, []), known.get(section, [])
            if now == was:
                continue
            pairs = enumerate(zip(now, was, strict=False))
            at = next((n for n, (one, two) in pairs if one != two), min(len(now), len(was)))
            said, listed = (f"${side[at]}$" if at < len(side) else "none" for side in (now, was))
            file = self.entries.file
            message = f"lone symbols in #{section}: here is {said}, and {file} lists {listed}"
            lines = [one.formula.line for one in self.said if one.section == section]
            remedy = f"write what is true, or {BIND} {self._path}"
            line = lines[0] if lines else 1
            found.append(Finding(self._path, line, message, ", ".join(was), remedy))
        return found

    @property
    def _path(self) -> str:
        return self.proof.page.path

    def _written(self, one: Said) -> Iterator[Finding]:
        line, shown = one.formula.line, shown_of(one)
        if not one.formula.text:
            message = "a formula that is not closed: there is one $ too few, or too many"
            yield Finding(self._path, line, message, remedy=r"close it, or write \$ for a dollar")
        elif one.unreadable:
            message = f"{shown} cannot be read: {one.unreadable}"
            remedy = f"write it with what the reader of formulas knows: {latex.KNOWN}"
            yield Finding(self._path, line, message, remedy=remedy)
        elif (entry := self.entry(one)) is not None:
            if entry.expression == OPEN:
                message = f"nobody has said what {shown} is"
                remedy = f"write an expression in {entry.file}:{entry.line}"
                yield Finding(self._path, line, message, remedy=remedy)
        elif not one.is_relation:
            for tree in one.trees:
                yield from self._alone(one, tree)

    def _alone(self, one: Said, tree: Node) -> Iterator[Finding]:
        """A symbol has to be known; anything else without a relation has to be bound."""
        line, shown = one.formula.line, shown_of(one)
        if self._is_known(tree):
            return
        if tree.kind in ("name", "text", "sub", "prime"):
            message = f"{shown} is not in the notation"
            remedy = f"add it to {self.meaning.file} and to the table of notation, or use another"
            yield Finding(self._path, line, message, remedy=remedy)
        elif self.covered:
            assert self.entries is not None
            message = f"{shown} says nothing by itself, and the ledger does not say what it is"
            remedy = f"{BIND}, or write in {self.entries.file}, [{one.section}]: "
            remedy += f"""'{one.key}' = "an expression with the same value\""""
            yield Finding(self._path, line, message, remedy=remedy)

    def _unexplained(self) -> list[Finding]:
        """Symbols that mean something else on this page, which does not say so in words."""
        if not self.said or self.meaning.base is None:
            return []
        found = []
        own = {
            latex.expression(key, self.meaning.vocabulary): key
            for table in ("symbols", "indices")
            for key in self.meaning.own.get(table, {})
        }
        base = self.meaning.base
        for node, key in own.items():
            if not base.is_known(node) or is_in_words(node):
                continue
            using = [one for one in self.said if any(node in tree for tree in one.trees)]
            alone = {one.section for one in using if any(node == tree for tree in one.trees)}
            if using and not alone:
                message = f"${key}$ means something else on this page than elsewhere"
                remedy = f"say in words what it is, near by: ${key}$ is …"
                found.append(Finding(self._path, using[0].formula.line, message, remedy=remedy))
        return found


def shown_of(one: Said) -> str:
    """The formula as the page has it, in one line."""
    return f"${' '.join(one.formula.text.split())}$"


def is_in_words(node: Node) -> bool:
    r"""True for a name in words, such as `\text{out}`, which says itself what it is."""
    while node.kind in ("sub", "power", "prime"):
        node = node.parts[0]
    return node.kind == "text"


def is_mention(meaning: Meaning, tree: Node) -> bool:
    """True for a call of something known with names alone: `p(a | b)`."""
    if tree.kind != "call" or tree.parts[0] == Node("name", "O"):
        return False
    return all(meaning.is_known(part) for part in tree.parts)
