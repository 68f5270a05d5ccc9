"""The lines of the library that a graph was made by, for a page to show with what they make.

A line is [depth, file, code, axes, values]: how many calls down it is, where it stands and what it
says, the names that its comment gives to the axes of what it makes, if there is one, and the place
in the graph of each tensor that it assigns or returns, by its name.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_FRAME = re.compile(r'File "(.+?)", line (\d+), in (\w+)')
_AXES = re.compile(r"#\s*\(([^()]*)\)")


def lines(named: Mapping[Any, list[str]], places: Mapping[Any, int]) -> list[list[Any]]:
    """Every line that made one of these nodes, which have these names, in the order of the run.

    What a function does when it is called once more is left out. A file or a function whose name
    begins with an underscore is passed over, as a detail.
    """
    found: dict[tuple[str, int], list[Any]] = {}
    for node, names in named.items():
        depth = 0
        for file, number, function in _FRAME.findall(node.meta.get("stack_trace") or ""):
            if Path(file).name.startswith("_") or function.startswith(("_", "<")):
                continue
            statement = _statement(file, int(number))
            new: list[Any] = [depth, Path(file).name, *_written(file, statement), {}]
            made = found.setdefault((file, statement.lineno), new)[4]
            for name in _made(statement, function):
                made.setdefault(name, None)  # in the order of the line
                if name in names and made[name] is None:
                    made[name] = f"${places[node]}"
            depth += 1
    return [line for line in found.values() if any(line[4].values())]


@functools.cache
def _source(file: str) -> tuple[str, ast.Module]:
    text = Path(file).read_text(encoding="utf-8")
    return text, ast.parse(text)


def _statement(file: str, number: int) -> ast.stmt:
    """The innermost statement that this line belongs to."""
    around = [
        node
        for node in ast.walk(_source(file)[1])
        if isinstance(node, ast.stmt) and node.lineno <= number <= (node.end_lineno or 0)
    ]
    return max(around, key=lambda node: node.lineno)


def _written(file: str, statement: ast.stmt) -> tuple[str, list[str] | None]:
    """The code of a statement, and the axes in the comment behind it."""
    text = _source(file)[0]
    code = ast.get_source_segment(text, statement) or ""
    comment = _AXES.search(text.splitlines()[(statement.end_lineno or 0) - 1], len(code))
    return code, comment[1].split(", ") if comment else None


def _made(statement: ast.stmt, function: str) -> list[str]:
    """What a statement gives a name to; what is returned has the name of the function."""
    if isinstance(statement, ast.Return):
        return [f"{function}()"]
    if not isinstance(statement, ast.Assign):
        return []
    return [node.id for node in ast.walk(statement.targets[0]) if isinstance(node, ast.Name)]
