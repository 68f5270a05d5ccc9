r"""The proof of formulas: what they say has to hold.

A formula with a relation is evaluated, with the numbers of its block where that knows all of its
symbols, or else in the world of the notation (see `notation`). One without a relation, such as
`\sqrt{d_k}`, says nothing by itself: the ledger (see `bindings`) says what it is, under
`"$\\sqrt{d_k}$"`, and so does it for what holds under a condition, such as `n < d`. An entry is

- a value: that of the formula;
- a function of the sizes, `lambda n, d: …`: the formula is compared with it at several sizes, and
  `O(…)` with how it grows (see `growth`);
- `grows(lambda n: …)`: the formula is how the function grows;
- `term()`: it stands in a formula that is proved on the page.

It sees what every entry sees, and the world: `world.radius`. A lone symbol has to be
in the notation, and in the list that the ledger has of its section.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from proseproof import growth, language_pairs
from proseproof.bindings import OPEN, Entry, Unbound, evaluate
from proseproof.formula_arithmetic import FormulaError, equal, short
from proseproof.formula_values import FreeIndex, Scope
from proseproof.formulas import Formulas, Said, shown_of
from proseproof.latex_nodes import HOLE, Node, spelt
from proseproof.messages import Finding
from proseproof.notation import Elsewhere, InBlock, Meaning, World, plain_name
from proseproof.report import ClaimEntry
from proseproof.settings import SettingsError

if TYPE_CHECKING:
    from proseproof.execution import Run

TRIED = ((8, 12, 20, 28), (16, 8, 12, 20), (12, 24, 8, 16))  # sizes for functions of several
SMALL = range(1, 6)  # sizes at which a condition is true for some and false for others


class Judge(Formulas):
    """Judges the formulas of one page."""

    def judged(self, index: int, run: Run | None) -> list[Finding]:
        """The formulas that speak of a block, with the values that it has made."""
        values: dict[str, Any] = {**run.watch.bindings, **run.namespace} if run else {}
        here = [one for one in self.said if one.trees and self.home(one) == index]
        if not here:
            return []
        found = []
        evaluated = any(one.is_relation or self.entry(one) for one in here)
        with self.meaning.stage() if evaluated else contextlib.nullcontext():
            for one in here:
                rule, wrong = self._judged_once(one, index, values)
                verdict = "fails" if wrong else "holds"
                entry = ClaimEntry(one.formula.line, shown_of(one), rule, verdict)
                self.proof.entry.claims.append(entry)
                found += wrong
        return found

    def _judged_once(
        self, one: Said, index: int, values: Mapping[str, Any]
    ) -> tuple[str, list[Finding]]:
        """As `_judged`; what held beside the same program in the other language holds here too."""
        page, entry = self.proof.page, self.entry(one)
        place = self.proof.settings.language(page.path)
        if place is None or page.is_lab:
            return self._judged(one, values)
        program = language_pairs.tree_of(page.blocks[index].code) if page.blocks else ""
        bound = entry.expression if entry else ""
        asked = ("formula", place[1], program, one.trees, bound)
        if asked in self.proof.project.done:
            return rule_of(one, entry), []
        rule, wrong = self._judged(one, values)
        if not wrong and bound != "term()":  # that depends on the rest of the page
            self.proof.project.done.add(asked)
        return rule, wrong

    def _judged(self, one: Said, values: Mapping[str, Any]) -> tuple[str, list[Finding]]:
        entry = self.entry(one)
        remedy, rule = "write what is true", rule_of(one, entry)
        try:
            if entry is not None and entry.expression != OPEN:
                remedy = f"write what is true, or correct the entry at {entry.file}:{entry.line}"
                wrong = self._bound(one, entry, values)
            elif one.is_relation:
                relations = [tree for tree in one.trees if tree.kind == "relation"]
                wrong = next(filter(None, (self._false(tree, values) for tree in relations)), "")
            else:
                return rule, []
        except (FormulaError, Unbound) as error:
            wrong = str(error)
        except FreeIndex as free:
            wrong = f"nothing says what {free.name} is"
        except SettingsError as error:
            return rule, [self.broken(error)]
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
            "term": lambda: self.is_term(one),
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

    def is_term(self, one: Said) -> bool:
        """True when the formula stands in one with a relation, on the same page."""
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


def rule_of(one: Said, entry: Entry | None) -> str:
    """How a formula is judged, in a word or two."""
    if entry is not None and entry.expression != OPEN:
        return "bound formula"
    return "formula" if one.is_relation else "symbol"


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
