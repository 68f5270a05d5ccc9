r"""The notation of a project: what each symbol of its formulas stands for, in a file of its own.

    world = '''
    import math
    radius, height = 2.0, 5.0
    '''

    [symbols]           # LaTeX to an expression, evaluated with the names of the world
    r = "radius"
    "a_i" = "areas[i]"  # i is an index: it takes the value that stands below the a

    [names]             # LaTeX to its name in code, which a block may give another value
    r = "radius"

    [indices]           # the values that an index takes where nothing binds it
    i = "range(3)"

    [functions]
    "\\operatorname{area}" = "lambda radius: math.pi * radius**2"

    [terms]             # what a formula without a relation is as a rule: `bind` writes that
    '\\pi r^2' = "area"

    [random]            # functions of what is random: over these outcomes, with this made of them
    "\\operatorname{Var}" = { over = "outcomes", of = "variance" }

    [pages."cones.md"]  # what is other on one page: a world on top, and the same tables
    symbols = { h = "slant" }

The world is built once, when a formula first needs it.
"""

from __future__ import annotations

import ast
import contextlib
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import CodeType
from typing import Any

from proseproof import interpreter_state
from proseproof.formula_arithmetic import FormulaError
from proseproof.formula_values import Scope, UnknownSymbol
from proseproof.latex import expression
from proseproof.latex_nodes import Node, spelt
from proseproof.latex_signs import LatexError, Vocabulary
from proseproof.settings import Settings, SettingsError

TABLES = ("symbols", "names", "indices", "functions", "random", "terms")
SEED = 0


@dataclass
class Notation:
    """The file, read once, and the meaning that it gives to each page."""

    file: str
    data: dict[str, Any]
    _meanings: dict[str, Meaning] = field(default_factory=dict)

    @classmethod
    def load(cls, settings: Settings) -> Notation | None:
        """The project's notation; None when the settings name none."""
        if not settings.notation:
            return None
        path = settings.root / settings.notation
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise SettingsError(f"{settings.notation}: there is no such file") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SettingsError(f"{settings.notation}: {error}") from None
        known = {"world", "table", "pages", *TABLES}
        for place in (data, *data.get("pages", {}).values()):
            if unknown := sorted(set(place) - known):
                names = ", ".join(sorted(known))
                raise SettingsError(f"{settings.notation} has no {unknown[0]!r}; known: {names}")
        return cls(settings.notation, data)

    @property
    def table(self) -> str:
        """The page that lists the symbols."""
        return str(self.data.get("table", ""))

    def all(self) -> list[Meaning]:
        """What the symbols mean as a rule, and on the pages that say something else."""
        return [self.of(""), *map(self.of, self.data.get("pages", {}))]

    def of(self, inner: str) -> Meaning:
        """What the symbols mean on a page, which is named without the folder of its language."""
        name = inner if inner in self.data.get("pages", {}) else ""
        if name not in self._meanings:
            base = self.of("") if name else None
            whole = {key: one for key, one in self.data.items() if key != "pages"}
            own = self.data["pages"][name] if name else whole
            self._meanings[name] = Meaning(self.file, own, base)
        return self._meanings[name]


class Meaning:
    """What the symbols mean on one page, or on all that say nothing else."""

    def __init__(self, file: str, own: dict[str, Any], base: Meaning | None) -> None:
        self.file, self.own, self.base = file, own, base
        self.tables: dict[str, dict[str, Any]] = {
            name: {**(base.tables[name] if base else {}), **own.get(name, {})} for name in TABLES
        }
        for one, other in (("symbols", "indices"), ("indices", "symbols")):
            for key in own.get(one, {}):  # what the page makes of it is what counts
                self.tables[other].pop(key, None)
        keys = [*self.tables["symbols"], *self.tables["functions"], *self.tables["random"]]
        words = frozenset(word[0] for key in keys if (word := re.match(r"[A-Za-z]{2,}", key)))
        functions = [*self.tables["functions"], *self.tables["random"], "O"]
        letters = frozenset(key.rstrip("'") for key in functions)
        self.vocabulary = Vocabulary(words, letters)
        self._code: dict[str, tuple[CodeType, frozenset[str]]] = {}

    @property
    def everything(self) -> list[Any]:
        """All that the meaning of a symbol depends on."""
        return [one.own for one in self._lineage()]

    def _parsed(self, table: str) -> dict[Node, Any]:
        """A table with its keys read."""
        found = {}
        for key, value in self.tables[table].items():
            try:
                found[expression(key, self.vocabulary)] = value
            except LatexError as error:
                raise SettingsError(f"{self.file}: {key}: {error}") from None
        return found

    @cached_property
    def symbols(self) -> dict[Node, str]:
        """The symbols, and the expression for each."""
        return self._parsed("symbols")

    @cached_property
    def names(self) -> dict[Node, str]:
        """The symbols that have a name in code."""
        return self._parsed("names")

    @cached_property
    def functions(self) -> dict[Node, str]:
        """The functions, and the expression that gives each."""
        return self._parsed("functions")

    @cached_property
    def terms(self) -> dict[Node, str]:
        """What formulas without a relation stand for as a rule."""
        return self._parsed("terms")

    @cached_property
    def _random(self) -> dict[Node, dict[str, str]]:
        return self._parsed("random")

    @cached_property
    def _patterns(self) -> list[tuple[Node, str, frozenset[str]]]:
        """The symbols with an index in them, and which names those are."""
        found = []
        for node, text in self.symbols.items():
            inside = {one.text for one in node.walk()[1:] if one.kind == "name"}
            free = inside & set(self.tables["indices"]) & self._compiled(text)[1]
            if free:
                found.append((node, text, frozenset(free)))
        return found

    def has_index(self, node: Node) -> bool:
        """True for a symbol that takes an index."""
        return any(one == node for one, _, _ in self._patterns)

    def is_known(self, node: Node) -> bool:
        """True for a symbol, an index, a function or a sign, as it stands."""
        if node in self.symbols or node in self.functions or node in self._random:
            return True
        if node.kind == "sign" or (node.kind == "name" and node.text in self.tables["indices"]):
            return True
        return any(_match(one, node, free, {}) for one, _, free in self._patterns)

    # The world.

    @cached_property
    def in_world(self) -> World:
        """Symbols with the values that they have here."""
        return World(self)

    @cached_property
    def world(self) -> dict[str, Any]:
        """The names that expressions are evaluated with."""
        if self.base is not None and "world" not in self.own:
            return self.base.world
        values: dict[str, Any] = dict(self.base.world) if self.base else {"__name__": "world"}
        with self.stage(), interpreter_state.restored():
            interpreter_state.seed(SEED)
            try:
                exec(compile(self.own.get("world", ""), self.file, "exec"), values)
            except Exception as error:
                text = f"{type(error).__name__}: {error}"
                raise SettingsError(f"{self.file}: the world cannot be built: {text}") from None
        return values

    @contextlib.contextmanager
    def stage(self) -> Iterator[None]:
        """Everything inside is computed in float64, where there is torch."""
        if not any(re.search(r"\btorch\b", program) for program in self.programs):
            yield
            return
        import torch

        before, drawn = torch.get_default_dtype(), torch.get_rng_state()
        torch.set_default_dtype(torch.float64)
        try:
            yield
        finally:
            torch.set_default_dtype(before)
            torch.set_rng_state(drawn)

    @property
    def programs(self) -> list[str]:
        """The code that builds the world."""
        return [one.own.get("world", "") for one in self._lineage()]

    def _lineage(self) -> Iterator[Meaning]:
        yield self
        if self.base is not None:
            yield from self.base._lineage()

    def _compiled(self, text: str) -> tuple[CodeType, frozenset[str]]:
        if text not in self._code:
            try:
                tree = ast.parse(text, mode="eval")
            except SyntaxError as error:
                raise SettingsError(f"{self.file}: {text} is no Python: {error.msg}") from None
            names = frozenset(one.id for one in ast.walk(tree) if isinstance(one, ast.Name))
            self._code[text] = compile(tree, self.file, "eval"), names
        return self._code[text]

    def evaluate(self, text: str, bound: Mapping[str, Any]) -> Any:
        """The value of an expression of the notation."""
        code, names = self._compiled(text)
        values = {**self.world, **{name: bound[name] for name in names if name in bound}}
        try:
            return eval(code, values)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise FormulaError(f"{self.file}: {text}: {reason}") from None


@dataclass
class World:
    """Symbols that have their values from the notation alone."""

    meaning: Meaning
    _values: dict[Node, Any] = field(default_factory=dict)

    def symbol(self, node: Node, scope: Scope) -> Any:
        """The value of a name, with its sub- and superscripts."""
        meaning = self.meaning
        for pattern, text, free in meaning._patterns:
            found: dict[str, Node] = {}
            if _match(pattern, node, free, found):
                indices = {name: scope.value(one) for name, one in found.items()}
                return meaning.evaluate(text, {**scope.bound, **indices})
        text = meaning.symbols.get(node, "")
        if not text:
            raise UnknownSymbol(f"{spelt(node)} is not in the notation")
        if any(name in scope.bound for name in meaning._compiled(text)[1]):
            return meaning.evaluate(text, scope.bound)
        if node not in self._values:
            self._values[node] = meaning.evaluate(text, {})
        return self._values[node]

    def function(self, node: Node) -> Callable[..., Any] | None:
        """The function of that name, if there is one."""
        text = self.meaning.functions.get(node)
        return self.meaning.evaluate(text, {}) if text is not None else None

    def random(self, node: Node) -> tuple[list[Mapping[str, Any]], Callable[..., Any]] | None:
        """The outcomes over which a function goes, and what it makes of them."""
        given = self.meaning._random.get(node)
        if given is None:
            return None
        evaluate = self.meaning.evaluate
        return evaluate(given["over"], {}), evaluate(given["of"], {})

    def range_of(self, name: str) -> list[int] | None:
        """The values that an index takes."""
        text = self.meaning.tables["indices"].get(name)
        return list(self.meaning.evaluate(text, {})) if text is not None else None


class Elsewhere(Exception):
    """A name that a block does not know as a number."""


@dataclass
class InBlock(World):
    """Symbols that have their values from a block, where all of them are numbers."""

    block: Mapping[str, Any] = field(default_factory=dict)

    def symbol(self, node: Node, scope: Scope) -> Any:
        """The number that the block has under the symbol's name; Elsewhere when it has none."""
        if node not in self.meaning.symbols:
            if any(_match(one, node, free, {}) for one, _, free in self.meaning._patterns):
                raise Elsewhere
            raise UnknownSymbol(f"{spelt(node)} is not in the notation")
        for name in (plain_name(node), self.meaning.names.get(node, "")):
            value = self.block.get(name)
            if type(value) in (int, float):
                return value
        raise Elsewhere

    def function(self, node: Node) -> Callable[..., Any] | None:
        """Functions work on tensors of the world: none are here."""
        if node in self.meaning.functions:
            raise Elsewhere
        return None

    def random(self, node: Node) -> None:
        """Nor is what is random."""
        if node in self.meaning._random:
            raise Elsewhere

    def range_of(self, name: str) -> list[int] | None:
        """Nor are indices."""
        if name in self.meaning.tables["indices"]:
            raise Elsewhere
        return None


def plain_name(node: Node) -> str:
    r"""How one would call a symbol in code: `d_k`, `d_model` for `d_{\text{model}}`."""
    text = spelt(node).replace("\\", "").replace("{", "").replace("}", "")
    return text if text.isidentifier() else ""


def _match(pattern: Node, node: Node, free: frozenset[str], found: dict[str, Node]) -> bool:
    """Whether the node is the pattern with something in place of its indices."""
    if pattern.kind == "name" and pattern.text in free:
        if node.kind in ("text", "sign", "list"):
            return False
        return found.setdefault(pattern.text, node) == node
    if pattern.kind != node.kind or pattern.text != node.text:
        return False
    if len(pattern.parts) != len(node.parts):
        return False
    pairs = zip(pattern.parts, node.parts, strict=True)
    return all(_match(one, two, free, found) for one, two in pairs)
