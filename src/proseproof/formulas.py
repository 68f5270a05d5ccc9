r"""Formulas in the prose, judged: what they say has to hold.

A formula with a relation is evaluated, with the numbers of its block where that knows all of its
symbols, or else in the world of the notation (see `notation`). One without a relation, such as
`\sqrt{d_k}`, says nothing by itself: the ledger (see `bindings`) says what it is, under
`"$\\sqrt{d_k}$"`, and so does it for what holds under a condition, such as `n < d`. An entry is

- a value: that of the formula;
- a function of the sizes, `lambda n, d: …`: the formula is compared with it at several sizes, and
  `O(…)` with how it grows (see `growth`);
- `grows(lambda n: …)`: the formula is how the function grows;
- `term()`: it stands in a formula that is proved on the page.

It sees what every entry sees, and the world: `world.radius`. A lone symbol only has to be in the
notation.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from proseproof import growth, latex
from proseproof.bindings import Entry, Unbound, evaluate
from proseproof.formula_values import (
    FormulaError,
    FreeIndex,
    Scope,
    equal,
    short,
    spelt,
)
from proseproof.latex import HOLE, LatexError, Node
from proseproof.messages import Finding
from proseproof.notation import Elsewhere, InBlock, Meaning, World, plain_name
from proseproof.page import Formula, Page
from proseproof.report import ClaimEntry

if TYPE_CHECKING:
    from proseproof.execution import Run
    from proseproof.project import Project
    from proseproof.prover import PageProof

BIND = "python -m proseproof bind"
TRIED = ((8, 12, 20, 28), (16, 8, 12, 20), (12, 24, 8, 16))  # sizes for functions of several
SMALL = range(1, 6)  # sizes at which a condition is true for some and false for others


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
class Judge:
    """Judges the formulas of one page."""

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
        self.entries = self.ledger.of(page.path) if self.covered else None

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
        found = [one for item in self.said for one in self._written(item)]
        keys = {(one.section, one.key) for one in self.said}
        for entry in self.entries.entries.values() if self.entries else ():
            if entry.key.startswith("$") and (entry.section, entry.key) not in keys:
                message = f"{entry.key} no longer stands in #{entry.section} of {self._path}"
                remedy = f"put it back there, or take the entry out and run {BIND}"
                found.append(Finding(entry.file, entry.line, message, remedy=remedy))
        return found + self._unexplained()

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
        elif self.entry(one) is None and not one.is_relation:
            for tree in one.trees:
                yield from self._alone(one, tree)

    def _alone(self, one: Said, tree: Node) -> Iterator[Finding]:
        """A symbol has to be known; anything else without a relation has to be bound."""
        line, shown = one.formula.line, shown_of(one)
        if self.meaning.is_known(tree) or is_mention(self.meaning, tree):
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

    # What is true.

    def judged(self, index: int, run: Run | None) -> list[Finding]:
        """The formulas that speak of a block, with the values that it has made."""
        values: dict[str, Any] = {**run.watch.bindings, **run.namespace} if run else {}
        here = [one for one in self.said if not one.unreadable and self.home(one) == index]
        if not here:
            return []
        found = []
        evaluated = any(one.is_relation or self.entry(one) for one in here)
        with self.meaning.stage() if evaluated else contextlib.nullcontext():
            for one in here:
                rule, wrong = self._judged(one, values)
                verdict = "fails" if wrong else "holds"
                entry = ClaimEntry(one.formula.line, shown_of(one), rule, verdict)
                self.proof.entry.claims.append(entry)
                found += wrong
        return found

    def _judged(self, one: Said, values: Mapping[str, Any]) -> tuple[str, list[Finding]]:
        entry = self.entry(one)
        remedy = "write what is true"
        try:
            if entry is not None:
                rule = "bound formula"
                wrong = self._bound(one, entry, values)
                remedy = f"write what is true, or correct the entry at {entry.file}:{entry.line}"
            elif one.is_relation:
                rule = "formula"
                relations = [tree for tree in one.trees if tree.kind == "relation"]
                wrong = next(filter(None, (self._false(tree, values) for tree in relations)), "")
            else:
                return "symbol", []
        except (FormulaError, Unbound) as error:
            wrong = str(error)
        except FreeIndex as free:
            wrong = f"nothing says what {free.name} is"
        except Exception as error:  # whatever the code of an entry or of the notation raises
            wrong = f"{type(error).__name__}: {error}"
        if not wrong:
            return rule, []
        message = f"{shown_of(one)} ({rule}): {wrong}"
        return rule, [Finding(self._path, one.formula.line, message, remedy=remedy)]

    def _false(self, tree: Node, values: Mapping[str, Any]) -> str:
        """What is true where the relation is not, with the block's numbers or in the world."""
        try:
            return Scope(InBlock(self.meaning, block=values)).wrong(tree)
        except Elsewhere:
            return Scope(self.world).wrong(tree)

    def _bound(self, one: Said, entry: Entry, values: Mapping[str, Any]) -> str:
        names = {**values, "world": _Attributes(self.meaning)}
        counters: dict[str, Callable[..., Any]] = {
            "term": lambda: self._is_term(one),
            "grows": growth.Growth,
        }
        value = evaluate(self.ledger, entry.code, names, counters)
        if len(one.trees) != 1:
            return "an entry is for one formula; these are several"
        (tree,) = one.trees
        if isinstance(value, growth.Growth):
            return self._grown(tree, value.counted)
        if callable(value) and not hasattr(value, "shape"):
            return self._compared(tree, value)
        if isinstance(value, bool):
            return "" if value else f"{entry.code} is False"
        if tree.kind == "relation":
            return f"{entry.code} is {short(value)}: for a relation write a test, or a function"
        return self._other(tree, value, values, entry.code)

    def _other(self, tree: Node, value: Any, values: Mapping[str, Any], code: str) -> str:
        """What is true where the formula has another value than its entry."""
        truth = ""
        for symbols in (InBlock(self.meaning, block=values), self.world):
            try:
                mine = Scope(symbols).value(tree)
            except Elsewhere:
                continue
            if equal(mine, value):
                return ""
            truth = truth or f"it is {short(mine)}; {code} is {short(value)}"
        return truth

    def _is_term(self, one: Said) -> bool:
        proved = [tree for other in self.said if other.is_relation for tree in other.trees]
        return all(any(tree in whole for whole in proved) for tree in one.trees)

    def _compared(self, tree: Node, function: Callable[..., Any]) -> str:
        """Where the formula and the function differ."""
        if tree.kind == "call" and tree.parts[0] == Node("name", "O"):
            return self._grown(tree.parts[1], function)
        if HOLE in tree:
            sample = self.meaning.world.get("X", 0.5)
            mine = Scope(self.world, {HOLE.kind: sample}).value(tree)
            return "" if equal(mine, function(sample)) else "the two differ"
        names = list(inspect.signature(function).parameters)
        for sizes in self._sizes(tree, names):
            mine, true = self._at(tree, sizes), function(**sizes)
            if not equal(mine, true):
                at = ", ".join(f"{name} = {size}" for name, size in sizes.items())
                return f"at {at} it is {short(mine)}; what it is bound to is {short(true)}"
        return ""

    def _grown(self, order: Node, count: Callable[..., Any]) -> str:
        """How what is counted grows, where the order is another."""
        names = list(inspect.signature(count).parameters)
        for node in order.walk():
            if node in self.meaning.symbols and not {*self._called(node)} & {*names}:
                raise FormulaError(f"{spelt(node)} is no parameter of what it is bound to")
        return growth.wrong(count, lambda sizes: self._at(order, sizes), names)

    def _sizes(self, tree: Node, names: list[str]) -> Iterator[dict[str, int]]:
        if tree.kind == "relation":
            tried = list(itertools.product(SMALL, repeat=len(names)))
            if len({self._at(tree, dict(zip(names, one, strict=True))) for one in tried}) != 2:
                raise FormulaError("it is true, or false, whatever the sizes")
        else:
            tried = [one[: len(names)] for one in TRIED]
        for one in tried:
            yield {name: self._in_range(name, n) for name, n in zip(names, one, strict=True)}

    def _in_range(self, name: str, size: int) -> int:
        """The size, or for an index one of the values that it takes."""
        values = self.world.range_of(name)
        return size if values is None else values[size % len(values)]

    def _called(self, node: Node) -> tuple[str, str]:
        return plain_name(node), self.meaning.names.get(node, "")

    def _at(self, tree: Node, sizes: Mapping[str, int]) -> Any:
        return Scope(_Sizes(self.meaning, sizes=sizes)).value(tree)


class _Attributes:
    """The names of the world, as an entry of the ledger has them: `world.radius`."""

    def __init__(self, meaning: Meaning) -> None:
        self._meaning = meaning

    def __getattr__(self, name: str) -> Any:
        try:
            return self._meaning.world[name]
        except KeyError:
            raise AttributeError(f"the world of {self._meaning.file} has no {name}") from None


@dataclass
class _Sizes(World):
    """The world, in which some sizes are others."""

    sizes: Mapping[str, int] = field(default_factory=dict)

    def symbol(self, node: Node, scope: Scope) -> Any:
        """The size that is tried, or what the symbol is otherwise."""
        for name in (plain_name(node), self.meaning.names.get(node, "")):
            if name in self.sizes:
                return self.sizes[name]
        return super().symbol(node, scope)


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
