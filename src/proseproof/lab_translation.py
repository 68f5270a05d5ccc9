"""A lab in its other language, on the same run: only cells that say something run once more.

Both languages of a lab are one program, apart from its words. So each cell runs once, in the first
language. If its words differ, or if it uses a name whose value they made differ, it runs a second
time for the other language, from the same random state and in a namespace of its own, in which all
other values are those of the first run. Such a cell may not change what was there before it: it
would change twice.
"""

from __future__ import annotations

import ast
import functools
import sys
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from proseproof import interpreter_state
from proseproof.execution import Run, execute
from proseproof.language_pairs import FIGURE, same_program, tree_of
from proseproof.messages import Finding

if TYPE_CHECKING:
    from proseproof.prover import PageProof

SPLIT = "compute in one cell, and print or draw in the next"
SIMPLE = (type(None), bool, int, float, complex, str, bytes)
STILL = (type, ModuleType, FunctionType, BuiltinFunctionType)  # not looked into
MOST = 100_000  # of the parts of a value that are looked at


class _Undocumented(ast.NodeTransformer):
    """Takes docstrings out of a program: they do nothing."""

    def _visit(self, node: Any) -> Any:
        self.generic_visit(node)
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Module = _visit


@functools.lru_cache(maxsize=256)
def _bare(code: str) -> ast.Module:
    """A program without its comments and docstrings."""
    bare: ast.Module = _Undocumented().visit(ast.parse(code))
    return bare


def same_lab(codes: list[str], others: list[str]) -> bool:
    """Whether two labs are one program in two languages."""
    return len(codes) == len(others) and all(
        tree_of(one) == tree_of(two) or same_program(one, two)
        for one, two in zip(codes, others, strict=True)
    )


def _used(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _definitions(code: str) -> dict[str, ast.stmt]:
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {one.name: one for one in _bare(code).body if isinstance(one, kinds)}


class Translation:
    """The other language's lab, cell by cell behind the first one's."""

    def __init__(self, page: PageProof) -> None:
        self.page = page
        self.values: dict[str, Any] = {}
        self.own: set[str] = set()  # the names whose values differ between the languages
        self._before: dict[str, Any] = {}
        self._drawn: dict[str, Any] = {}

    def prepare(self, shared: dict[str, Any]) -> None:
        """Take note of how things are before a cell runs in the first language."""
        self._before = dict(shared)
        self._drawn = interpreter_state.generators()

    def follow(
        self, index: int, done: Run, shared: dict[str, Any]
    ) -> tuple[Run | None, list[Finding]]:
        """The cell's own run in this language, if it needs one, and what is wrong with it."""
        page = self.page.page
        cell, first = page.blocks[index], done.block
        alike = ast.dump(_bare(first.code)) == ast.dump(_bare(cell.code))
        if alike and not _used(_bare(cell.code)) & self.own:
            self._share(shared)
            return None, []
        after = interpreter_state.generators()
        held = {name: _state(value) for name, value in shared.items()}
        mine = dict(self.values)
        interpreter_state.put_back(self._drawn)
        run = execute(page, cell, shared=self.values)
        interpreter_state.put_back(after)
        twice = "the cell runs once for each language, and each time it"
        found = self.page.errors(run)
        changed = [name for name, state in held.items() if _state(shared[name]) != state]
        if changed and not found:
            message = f"{twice} changes {changed[0]}"
            found.append(Finding(page.path, cell.line, message, remedy=SPLIT))
        elif _figures(done) != _figures(run) and not found:
            message = f"{twice} prints other numbers"
            found.append(Finding(page.path, cell.line, message, remedy=SPLIT))
        self._adopt(mine, first.code, cell.code, shared)
        return run, found

    def _share(self, shared: dict[str, Any]) -> None:
        """Take over what a cell without words of its own has made."""
        made = {name for name in shared if shared[name] is not self._before.get(name, self)}
        self.own -= made
        for name in self._before.keys() - shared.keys():
            self.values.pop(name, None)
        self.values |= {name: value for name, value in shared.items() if name not in self.own}

    def _adopt(self, mine: dict[str, Any], first: str, code: str, shared: dict[str, Any]) -> None:
        """Which of the names that the cell has bound differ; the others become the first run's."""
        theirs, ours = _definitions(first), _definitions(code)
        for name in [one for one in shared if not one.startswith("__")]:
            value = self.values.get(name, self)
            if value is mine.get(name, self) and shared[name] is self._before.get(name, self):
                continue
            if name in ours.keys() & theirs.keys():
                same = ast.dump(ours[name]) == ast.dump(theirs[name])
                same = same and not _used(ours[name]) & self.own
            else:
                same = _alike(value, shared[name])
            if same:
                self.own.discard(name)
                self.values[name] = shared[name]
            else:
                self.own.add(name)


def _figures(run: Run) -> list[str]:
    """The numbers that a cell prints."""
    texts = [str(one["text"]) for one in run.outputs if "text" in one]
    return sorted(FIGURE.findall("\n".join(texts)))


def _alike(one: Any, two: Any) -> bool:
    """Whether two values that were made in the same way came out the same."""
    if one is two:
        return True
    if type(one) is not type(two):
        return False
    if isinstance(one, dict):
        return [*one] == [*two] and all(_alike(one[key], two[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(map(_alike, one, two))
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(one, torch.Tensor):
        return bool(one.dtype == two.dtype and torch.equal(one, two))
    return isinstance(one, SIMPLE) and bool(one == two)


def _state(value: Any, seen: set[int] | None = None) -> Any:
    """Something that is the same afterwards if nobody has changed the value in between."""
    seen = set() if seen is None else seen
    torch = sys.modules.get("torch")
    if isinstance(value, SIMPLE):
        return repr(value)
    if torch is not None and isinstance(value, torch.Tensor):
        return id(value), value._version
    if isinstance(value, STILL) or id(value) in seen or len(seen) > MOST:
        return id(value)
    seen.add(id(value))
    if isinstance(value, dict):
        return id(value), [(_state(k, seen), _state(v, seen)) for k, v in value.items()]
    if isinstance(value, list | tuple | set | frozenset):
        return id(value), [_state(one, seen) for one in value]
    return id(value), _state(getattr(value, "__dict__", None), seen)
