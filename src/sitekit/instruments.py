"""What is wrong with instruments, as far as a build can see it without torch."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path("assets", "instruments")  # below docs
MARK = re.compile(r'data-instrument="([^"]*)"')


def operators(file: Path) -> frozenset[str]:
    """The operators that the runtime knows, by its source."""
    return frozenset(re.findall(r'^  "([\w.]+)": ', file.read_text(encoding="utf-8"), re.M))


def scripts(docs: Path, name: str) -> list[Path]:
    """What a browser runs for an instrument: its module, the frame, and all that they import."""
    found, waiting = dict[str, Path](), ["frame.js", f"{name}.js"]
    while waiting:
        if (file := waiting.pop()) not in found:
            found[file] = docs / FOLDER / file
            text = found[file].read_text(encoding="utf-8")
            waiting += re.findall(r'^import .* from "\./(.+)"$', text, re.M)
    return [*found.values()]


def problems(docs: Path) -> Iterator[tuple[str, int, str]]:
    """Pages that name no instrument, graphs that the runtime cannot run: file, line, message."""
    modules = {file.stem for file in (docs / FOLDER).glob("*.js")}
    for file in sorted(one for one in docs.glob("*/**/*") if one.suffix in (".md", ".py")):
        for line, text in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            for name in MARK.findall(text):
                if name not in modules:
                    message = f"no instrument {name!r}: there is no docs/{FOLDER / name}.js"
                    yield _place(docs, file), line, message
    known = docs / FOLDER / "operators.js"
    for file in sorted((docs / FOLDER / "graphs").glob("*.json")):
        for line, message in _graph_problems(file.read_text(encoding="utf-8"), operators(known)):
            yield _place(docs, file), line, message


def _graph_problems(text: str, known: frozenset[str]) -> Iterator[tuple[int, str]]:
    """A graph has a node a line, as src/sitekit/graphs.py writes it."""
    try:
        nodes = json.loads(text)["nodes"]
    except (ValueError, KeyError, TypeError) as error:
        yield getattr(error, "lineno", 1), f"this is no graph: {error!r}"
        return
    for operator in {node[0]: None for node in nodes if node[0] not in known}:
        line = text.count("\n", 0, text.index(f'["{operator}"')) + 1
        yield line, f"the runtime does not know the operator {operator}"


def _place(docs: Path, file: Path) -> str:
    return f"docs/{file.relative_to(docs).as_posix()}"
