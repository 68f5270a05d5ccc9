"""What a formula comes to: its tree, evaluated with numbers and with tensors of torch.

Factors that stand side by side multiply as their shapes say: numbers with anything, matrices as
matrices. An index that nothing binds, such as the i of `head_i`, runs over its range: what is said
has to hold for all of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Protocol

from proseproof.formula_arithmetic import (
    FormulaError,
    added,
    compared,
    dims,
    divided,
    extreme,
    is_number,
    multiplied,
    said_of,
    shape_of,
    short,
)
from proseproof.latex_nodes import HOLE, Node, spelt

MANY = 4096  # combinations of indices, beyond which nobody would wait
ELEMENTWISE = {"ln": "log"}
CONSTANTS = {"e": math.e, r"\pi": math.pi}


class UnknownSymbol(FormulaError):
    """A name that the notation does not have."""


class FreeIndex(Exception):
    """An index that nothing binds yet."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Symbols(Protocol):
    """Where names get their values."""

    def symbol(self, node: Node, scope: Scope) -> Any:
        """The value of a name, with its sub- and superscripts; UnknownSymbol when it has none."""

    def function(self, node: Node) -> Callable[..., Any] | None:
        """The function of that name, if there is one."""

    def random(self, node: Node) -> tuple[list[Mapping[str, Any]], Callable[..., Any]] | None:
        """The outcomes over which a function such as Var goes, and what it makes of them."""

    def range_of(self, name: str) -> list[int] | None:
        """The values that an index takes; None for what is no index."""


@dataclass(frozen=True)
class Scope:
    """Where a formula is evaluated: the names, and what sums and indices have bound."""

    symbols: Symbols
    bound: Mapping[str, Any] = field(default_factory=dict)

    def with_bound(self, values: Mapping[str, Any]) -> Scope:
        """The scope with more names bound."""
        return replace(self, bound={**self.bound, **values})

    def value(self, node: Node) -> Any:
        """The value of a tree."""
        known = self._symbol(node)
        if known is not None:
            return known
        return getattr(self, f"_{node.kind}")(node)

    def _symbol(self, node: Node) -> Any:
        """The value of what is a symbol as it stands; None for anything else."""
        if node.kind == "name" and node.text in self.bound:
            return self.bound[node.text]
        if node.kind in ("name", "text", "sub", "power", "prime", "product"):
            try:
                return self.symbols.symbol(node, self)
            except UnknownSymbol:
                return None
        return None

    # One method for each kind of node.

    def _number(self, node: Node) -> Any:
        return float(node.text) if "." in node.text else int(node.text)

    def _name(self, node: Node) -> Any:
        if node.text in CONSTANTS:
            return CONSTANTS[node.text]
        if self.symbols.range_of(node.text) is not None:
            raise FreeIndex(node.text)
        raise UnknownSymbol(f"{spelt(node)} is not in the notation")

    def _unknown(self, node: Node) -> Any:
        raise UnknownSymbol(f"{spelt(node)} is not in the notation")

    _text = _sub = _prime = _unknown

    def _sign(self, node: Node) -> Any:
        if node.text == r"\infty":
            return math.inf
        raise FormulaError(f"{node.text} stands where a value is expected")

    def _dots(self, node: Node) -> Any:
        raise FormulaError("… stands between two things of a list, which say where it goes")

    def _hole(self, node: Node) -> Any:
        if HOLE.kind in self.bound:
            return self.bound[HOLE.kind]
        raise FormulaError("a dot stands for an argument that is not there")

    def _negative(self, node: Node) -> Any:
        return -self.value(node.parts[0])

    def _plusminus(self, node: Node) -> Any:
        value = self.value(node.parts[0])
        return [-value, value]

    def _sum(self, node: Node) -> Any:
        total = None
        for sign, part in zip(node.text, node.parts, strict=True):
            value = self.value(part)
            value = -value if sign == "-" else value
            total = value if total is None else added(total, value)
        return total

    def _product(self, node: Node) -> Any:
        value = self.value(node.parts[0])
        for join, part in zip(node.text, node.parts[1:], strict=True):
            other = self.value(part)
            value = divided(value, other) if join == "/" else multiplied(value, other, join)
        return value

    def _root(self, node: Node) -> Any:
        inner, *degree = map(self.value, node.parts)
        if is_number(inner) and inner < 0:
            raise FormulaError(f"the root of {short(inner)}, which is negative")
        return (
            math.sqrt(inner)
            if is_number(inner) and not degree
            else inner ** (1 / (degree[0] if degree else 2))
        )

    def _power(self, node: Node) -> Any:
        base, exponent = node.parts
        if exponent == Node("sign", r"\top") or (
            exponent == Node("name", "T") and self._symbol(exponent) is None
        ):
            value = self.value(base)
            return value if dims(value) < 2 else value.mT
        value, above = self.value(base), self.value(exponent)
        if dims(value) or dims(above):
            raise FormulaError(f"{spelt(node)}: only numbers have powers here")
        if value == 0 and above < 0:
            raise FormulaError(f"{spelt(node)} divides by zero")
        return value**above

    def _norm(self, node: Node) -> Any:
        value = self.value(node.parts[0])
        return abs(value) if is_number(value) else value.norm()

    def _size(self, node: Node) -> Any:
        return abs(self.value(node.parts[0]))

    def _list(self, node: Node) -> Any:
        return self.listed(node.parts)

    def _call(self, node: Node) -> Any:
        function, *arguments = node.parts
        if (over := self.symbols.random(function)) is not None:
            outcomes, combine = over
            return combine([self.with_bound(one).value(arguments[0]) for one in outcomes])
        count = int(node.text)
        given = arguments[count:]
        values = self.listed(arguments[:count])
        called = self.symbols.function(function)
        if called is not None:
            try:
                return called(values, self.listed(given)) if given else called(*values)
            except (FormulaError, FreeIndex):
                raise
            except Exception as error:
                raise FormulaError(f"{spelt(node)}: {type(error).__name__}: {error}") from None
        return self._built_in(function, values)

    def _built_in(self, function: Node, values: list[Any]) -> Any:
        base = None
        if function.kind == "sub":
            function, low = function.parts
            base = self.value(low)
        if function.kind != "name" or len(function.text) < 2:
            raise UnknownSymbol(f"the function {spelt(function)} is not in the notation")
        name = ELEMENTWISE.get(function.text, function.text)
        if name in ("max", "min"):
            return extreme(name, values)
        (value,) = values
        if name == "log" and is_number(value) and value <= 0:
            raise FormulaError(f"the logarithm of {short(value)}")
        found = getattr(math, name)(value) if is_number(value) else getattr(value, name)()
        return found if base is None else found / math.log(base)

    def _big(self, node: Node) -> Any:
        variable, start, end, body = node.parts
        if variable.kind != "name":
            raise FormulaError(f"\\{node.text} needs the name of what it counts: \\{node.text}_i")
        if start is HOLE or end is HOLE:
            values = self.symbols.range_of(variable.text)
            if values is None:
                raise FormulaError(f"\\{node.text} goes from where to where?")
        else:
            values = list(range(int(self.value(start)), int(self.value(end)) + 1))
        terms = [self.with_bound({variable.text: one}).value(body) for one in values]
        if node.text == "sum":
            return reduce(added, terms) if terms else 0
        return reduce(lambda a, b: multiplied(a, b, "·"), terms) if terms else 1

    def _matrix(self, node: Node) -> Any:
        import torch

        columns = int(node.text)
        cells = [torch.as_tensor(self.value(part)).double() for part in node.parts]
        cells = [cell.reshape(1, 1) if cell.dim() == 0 else cell for cell in cells]
        try:
            rows = [torch.cat(cells[n : n + columns], -1) for n in range(0, len(cells), columns)]
            return torch.cat(rows, -2)
        except RuntimeError:
            shapes = ", ".join(str(tuple(cell.shape)) for cell in cells)
            raise FormulaError(f"blocks {shapes} do not make a matrix") from None

    def _cases(self, node: Node) -> Any:
        rows = zip(node.parts[::2], node.parts[1::2], strict=True)
        for value, condition in rows:
            if condition.kind == "text" or self.holds(condition):
                return self.value(value)
        raise FormulaError("no case applies")

    def _relation(self, node: Node) -> Any:
        return self.holds(node)

    # What is said.

    def listed(self, parts: tuple[Node, ...] | list[Node]) -> list[Any]:
        """The values of a list, in which … goes from its left neighbour to its right one."""
        parts, values = list(parts), []
        while parts:
            if len(parts) > 2 and parts[1].kind == "dots":
                values += [self.value(one) for one in self._from_to(parts[0], parts[2])]
                parts = parts[3:]
            else:
                values.append(self.value(parts.pop(0)))
        return values

    def _from_to(self, first: Node, last: Node) -> Iterator[Node]:
        if first.kind == last.kind and first.kind in ("sub", "power"):
            (base, low), (other, high) = first.parts, last.parts
            if base != other:
                raise FormulaError(f"… leads from {spelt(first)} to {spelt(last)}")
            for number in range(int(self.value(low)), int(self.value(high)) + 1):
                yield Node(first.kind, "", (base, Node("number", str(number))))
        else:
            for number in range(int(self.value(first)), int(self.value(last)) + 1):
                yield Node("number", str(number))

    def holds(self, node: Node) -> bool:
        """Whether a relation is true, here."""
        return all(agrees for agrees, _ in self._links(node))

    def _links(self, node: Node) -> Iterator[tuple[bool, str]]:
        """Each link of a chain, and what is true of it."""
        for left, sign, right in zip(node.parts, node.text, node.parts[1:], strict=False):
            if sign == "∈" and _is_space(right):
                shape = self._shape(right)
                true = shape_of(self.value(left))
                yield true == shape, f"{spelt(left)} has the shape {true}"
                continue
            one, two = self.value(left), self.value(right)
            yield (
                compared(sign, one, two, left, right),
                f"{said_of(left, one)}; {said_of(right, two)}",
            )

    def _shape(self, node: Node) -> tuple[int, ...]:
        size = node.parts[1]
        parts = size.parts if size.kind == "product" else (size,)
        return tuple(self.value(part) for part in parts)

    def wrong(self, node: Node, tried: int = MANY) -> str:
        """What is true instead of the relation, for the first index at which it is false."""
        try:
            truths = [truth for agrees, truth in self._links(node) if not agrees]
        except FreeIndex as free:
            values = self.symbols.range_of(free.name) or []
            if not values or len(values) > tried:
                raise FormulaError(f"the index {free.name} takes {len(values)} values") from None
            left = tried // len(values)
            wrong = (self.with_bound({free.name: one}).wrong(node, left) for one in values)
            return next(filter(None, wrong), "")
        indices = [f"{name} = {one}" for name, one in self.bound.items() if type(one) is int]
        return "".join(truths[:1]) + (f" (at {', '.join(indices)})" if truths and indices else "")


def _is_space(node: Node) -> bool:
    return node.kind == "power" and node.parts[0] == Node("text", "ℝ")
