"""Source text of a named function, class, method or constant, for pages that quote it."""

from __future__ import annotations

import ast
import difflib
import functools
import re
import textwrap
from pathlib import Path

INCLUDE = re.compile(r'^--8<--\s+"(?P<spec>[^"]+)"\s*$')


class ListingError(ValueError):
    """A listing names a file or a definition that is not there."""

    detail = remedy = ""


def _targets(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []


@functools.lru_cache(maxsize=256)
def definitions(source: str) -> dict[str, tuple[int, int]]:
    """First and last line of everything a listing may quote, by qualified name."""
    found: dict[str, tuple[int, int]] = {}
    for node in ast.parse(source).body:
        members: list[tuple[str, ast.stmt]] = [("", node)]
        if isinstance(node, ast.ClassDef):
            members += [(f"{node.name}.", member) for member in node.body]
        for prefix, member in members:
            decorators = getattr(member, "decorator_list", [])
            first = min([member.lineno, *(decorator.lineno for decorator in decorators)])
            for name in _targets(member):
                found[prefix + name] = (first, member.end_lineno or first)
    return found


def resolve(root: Path, spec: str) -> str:
    """The quoted source text, dedented and without a final newline, of `path:name`."""
    path, _, name = spec.partition(":")
    file = root / path
    if not name:
        raise ListingError(f"{spec!r} names no definition; write path:name")
    if not file.is_file():
        raise ListingError(f"{spec!r}: there is no file {path}")
    source = file.read_text(encoding="utf-8")
    try:
        known = definitions(source)
    except SyntaxError as error:
        raise ListingError(f"{spec!r}: {path} does not parse: {error}") from error
    if name not in known:
        near = difflib.get_close_matches(name, known, n=5, cutoff=0.4) or sorted(known)[:8]
        raise ListingError(f"{spec!r}: {path} has no {name}; near: {', '.join(near) or 'nothing'}")
    first, last = known[name]
    return textwrap.dedent("\n".join(source.splitlines()[first - 1 : last]))
