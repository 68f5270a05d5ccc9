"""Which files of the project a program depends on: what it imports, and what it opens."""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

# What runs code that cannot be seen from here: other processes, imports by a computed name.
UNSEEN = re.compile(r"\b(subprocess|multiprocessing|runpy|importlib|__import__|spawn|os\.system)\b")

_opened: list[set[str]] = []
_hooked = False


def sources(programs: Iterable[str], root: Path) -> set[Path]:
    """The project's files that these programs import, all that those import, and their data."""
    found: set[Path] = set()
    todo: set[Path] = set()
    for code in programs:
        with contextlib.suppress(SyntaxError):  # reported where it is run
            todo.update(_imported(code, root, ()))
    while todo:
        path = todo.pop()
        if path not in found:
            # translator.py comes with translator.pt.
            found |= {path, *(one for one in path.parent.glob(f"{path.stem}.*") if one.is_file())}
            todo |= _imports_of(path, root, path.stat().st_mtime_ns)
    return found


@functools.lru_cache(maxsize=1024)
def _imports_of(path: Path, root: Path, _changed: int) -> frozenset[Path]:
    base = root / "src" if path.is_relative_to(root / "src") else root
    package = path.relative_to(base).parts[:-1]
    try:
        return frozenset(_imported(path.read_text(encoding="utf-8"), root, package))
    except SyntaxError:  # whoever imports it will say so
        return frozenset()


def _imported(code: str, root: Path, package: tuple[str, ...]) -> Iterator[Path]:
    """The files of the project's modules that the code names, and of the packages around them."""
    for name in _names_in(code, package):
        for stem in (root.joinpath("src", *name), root.joinpath(*name)):
            yield from filter(Path.is_file, (stem.with_suffix(".py"), stem / "__init__.py"))


@functools.lru_cache(maxsize=1024)
def _names_in(code: str, package: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
    """What the code imports, part by part, with the packages around it."""
    names: list[str] = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    parts = [tuple(name.split(".")) for name in names]
    return frozenset(part[:depth] for part in parts for depth in range(1, len(part) + 1))


@contextlib.contextmanager
def opened() -> Iterator[set[str]]:
    """The files that the code inside opens for reading."""
    global _hooked
    if not _hooked:  # a hook stays for good, so there is one
        sys.addaudithook(_note)
        _hooked = True
    files: set[str] = set()
    _opened.append(files)
    try:
        yield files
    finally:
        _opened.pop()


def _note(event: str, details: tuple[Any, ...]) -> None:
    if _opened and event == "open" and isinstance(details[0], str):
        path, mode, flags = details
        if not (set(mode or "") & set("wax+") or flags & (os.O_WRONLY | os.O_RDWR)):
            _opened[-1].add(path)


def of_project(files: set[str], root: Path) -> set[Path]:
    """Those of the files that belong to the project, and are not caches or installed packages."""
    found = set()
    for name in files:
        path = Path(os.path.abspath(name))
        if path.is_relative_to(root) and path.is_file():
            parts = path.relative_to(root).parts
            if not any(part.startswith(".") or part == "__pycache__" for part in parts):
                found.add(path)
    return found


def digest(path: Path) -> str:
    """A hash of a file's contents; of nothing when there is no such file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else ""
