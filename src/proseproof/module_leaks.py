"""The modules that a block uses: it imports them itself, and leaves them as they were.

All blocks run in one process, where modules are shared: what one block patches, the next one would
see, and what one imports, another could use without importing it.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

REFLECTING = ("setattr", "delattr", "vars", "__dict__")
MISSING = object()


@dataclass
class Use:
    """What code imports, and the dotted names that begin with what it imported."""

    bound: dict[str, str] = field(default_factory=dict)  # what a name stands for: F, the functional
    imported: set[str] = field(default_factory=set)
    statements: list[str] = field(default_factory=list)
    dotted: dict[str, int] = field(default_factory=dict)  # written out, with the first line
    stored: dict[str, int] = field(default_factory=dict)  # those that are assigned to or deleted
    words: set[str] = field(default_factory=set)  # what may be the name of a patched attribute


@functools.lru_cache(maxsize=1024)
def used(code: str, above: str = "") -> Use:
    """The use that `code` makes of modules; it also knows what the code `above` it imports."""
    use = Use()
    try:
        before, nodes = (list(ast.walk(ast.parse(one))) for one in (above, code))
    except (SyntaxError, ValueError):  # reported where it is run
        return use
    for node in [*before, *nodes]:
        if isinstance(node, ast.Import | ast.ImportFrom):
            _take(use, node)
    reflects = any(word in code for word in REFLECTING)
    for node in nodes:
        if isinstance(node, ast.Attribute):
            name = _dotted(node, use.bound)
            if name:
                use.dotted.setdefault(name, node.lineno)
            if name and not isinstance(node.ctx, ast.Load):
                use.stored.setdefault(name, node.lineno)
                use.words.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and reflects:
            use.words.add(node.value)
        elif isinstance(node, ast.keyword) and node.arg and reflects:
            use.words.add(node.arg)
        elif isinstance(node, ast.Name) and node.id in use.bound:
            use.dotted.setdefault(use.bound[node.id], node.lineno)
    return use


def _dotted(node: ast.expr, bound: dict[str, str]) -> str:
    """The full name of what a chain of names stands for, if it begins with one in `bound`."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in bound:
        return ""
    return ".".join([bound[node.id], *reversed(parts)])


def _take(use: Use, node: ast.Import | ast.ImportFrom) -> None:
    use.statements.append(ast.unparse(node))
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            name = f"{node.module}.{alias.name}"
            use.bound[alias.asname or alias.name] = name
        else:
            name = alias.name
            first = name.partition(".")[0]
            use.bound[alias.asname or first] = name if alias.asname else first
        parts = name.split(".")
        use.imported |= {".".join(parts[:depth]) for depth in range(1, len(parts) + 1)}


# What is patched.


def _owners(use: Use) -> Iterator[tuple[str, Any]]:
    """The modules and classes that the code names, and those that it names something of."""
    names = {*use.dotted, *(name.rpartition(".")[0] for name in use.dotted)}
    for name in sorted(names - {"", "sys"}):  # what is in sys is put back in any case
        owner = _resolved(name)
        if inspect.ismodule(owner) or inspect.isclass(owner):
            yield name, owner


def _resolved(dotted: str) -> Any:
    """What is there under a dotted name, as far as it is loaded."""
    parts = dotted.split(".")
    depth = max((n for n in range(len(parts) + 1) if ".".join(parts[:n]) in sys.modules), default=0)
    if not depth:
        return None
    owner: Any = sys.modules[".".join(parts[:depth])]
    for part in parts[depth:]:
        owner = inspect.getattr_static(owner, part, None)
    return owner


@contextlib.contextmanager
def unpatched(code: str) -> Iterator[list[tuple[int, str]]]:
    """Undo what the code inside changes in modules that it imports; the lines and names of it."""
    use = used(code)
    found: list[tuple[int, str]] = []
    owners = _owners(use) if use.words else ()
    before = [(name, owner, dict(vars(owner))) for name, owner in owners]
    yield found
    known = {name for name, _, _ in before}
    for name, owner, old in before:
        for word in sorted(use.words):
            was, now = old.get(word, MISSING), vars(owner).get(word, MISSING)
            if was is now or (was is MISSING and inspect.ismodule(now)):
                continue
            patched = f"{name}.{word}"
            found.append((use.stored.get(patched) or use.dotted.get(name, 1), patched))
            if was is MISSING:
                delattr(owner, word)
            else:
                setattr(owner, word, was)
    for name, line in use.stored.items():
        place = name.rpartition(".")[0]
        # A module that this code was the first to import: nobody knows how it was.
        if place not in known and place != "sys" and inspect.ismodule(_resolved(place)):
            found.append((line, name))


# What is not imported.


def not_imported(code: str, above: str = "") -> list[tuple[int, str]]:
    """The lines and names of submodules that are loaded here, but not by what the code imports."""
    use = used(code, above)
    doubtful: dict[str, int] = {}
    for dotted, line in use.dotted.items():
        parts = dotted.split(".")
        for depth in range(2, len(parts) + 1):
            name = ".".join(parts[:depth])
            if name in sys.modules and name not in use.imported and not _brings(name):
                doubtful.setdefault(name, line)
    missing = _missing(tuple(use.statements), tuple(doubtful)) if doubtful else ()
    return [(doubtful[name], name) for name in missing]


@functools.cache
def _brings(name: str) -> bool:
    """True when the package around a module imports it, as its source shows at first sight."""
    package = name.rpartition(".")[0]
    file = getattr(sys.modules.get(package), "__file__", None) or ""
    if not file.endswith("__init__.py"):
        return not hasattr(sys.modules.get(package), "__path__")  # os.path, say
    with open(file, encoding="utf-8") as source:
        todo: list[ast.AST] = list(ast.parse(source.read()).body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import):
            names = {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            base = f"{package}.{base}".rstrip(".") if node.level == 1 else base
            names = {base, *(f"{base}.{alias.name}" for alias in node.names)}
        else:
            names = set()
            if isinstance(node, ast.Try | ast.With):
                todo += node.body
        if any(one == name or one.startswith(f"{name}.") for one in names):
            return True
    return False


ASK = """
import json, sys
statements, names = json.loads(sys.argv[1])
here = {}
for one in statements:
    try:
        exec(one, here)
    except Exception:
        pass
missing = []
for name in names:
    first, *rest = name.split(".")
    value = sys.modules.get(first)
    try:
        for part in rest:
            value = getattr(value, part)
    except AttributeError:
        missing.append(name)
print("\\n" + json.dumps(missing))
"""


@functools.cache
def _missing(statements: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the modules that a fresh interpreter does not find after these imports."""
    done = subprocess.run(
        [sys.executable, "-c", ASK, json.dumps([statements, names])],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )
    return tuple(json.loads(done.stdout.splitlines()[-1]))
