"""The code that a sentence may quote: the page's blocks and listings, the project's packages."""

from __future__ import annotations

import ast
import copy
import functools
import re
from dataclasses import dataclass, field
from pathlib import Path

from proseproof.listings import definitions
from proseproof.settings import source_files


@dataclass
class Code:
    """What stands in the code of a page's blocks and listings, for spans that quote it."""

    text: str = ""
    names: set[str] = field(default_factory=set)
    keywords: set[str] = field(default_factory=set)
    literals: set[str] = field(default_factory=set)
    imports: set[str] = field(default_factory=set)  # the packages, by their first name
    sources: list[str] = field(default_factory=list)

    @property
    def calls(self) -> set[str]:
        """Every call that is written there, whole and without the object it is made on."""
        return {call for source in self.sources for call in _calls_in(source)}

    def add(self, source: str) -> None:
        """Take in one piece of code."""
        new = _code_of(source)
        self.text += new.text
        self.names |= new.names
        self.sources.append(source)
        self.keywords |= new.keywords
        self.literals |= new.literals
        self.imports |= new.imports

    def quotes(self, text: str) -> bool:
        """True when the words of `text` stand in the code in this order."""
        wanted = _spaceless(text)
        if not wanted:
            return False
        left = r"(?<!\w)" if wanted[0].isalnum() or wanted[0] == "_" else ""
        right = r"(?!\w)" if wanted[-1].isalnum() or wanted[-1] == "_" else ""
        return re.search(left + re.escape(wanted) + right, self.text) is not None


@functools.lru_cache(maxsize=1024)
def _code_of(source: str) -> Code:
    """One piece of code, read once: most of them stand on a page of each language."""
    code = Code("\n" + _spaceless(source))
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return code
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            dotted = _dotted(node)
            if dotted:
                code.names |= {dotted, dotted.rpartition(".")[2]}
        elif isinstance(node, ast.arg):
            code.names.add(node.arg)
            code.keywords.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            code.names.add(node.name)
        elif isinstance(node, ast.Constant):
            code.literals.add(repr(node.value))
        code.imports |= _imported(node)
        if isinstance(node, ast.Call):
            code.keywords |= {word.arg for word in node.keywords if word.arg}
    return code


def _imported(node: ast.AST) -> set[str]:
    """The packages that a statement imports, by their first name."""
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return {node.module.partition(".")[0]}
    return set()


@functools.lru_cache(maxsize=1024)
def _calls_in(source: str) -> set[str]:
    try:
        calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    except SyntaxError:
        return set()
    return {text for node in calls for text in (tail(node), ast.unparse(node))}


def _dotted(node: ast.expr) -> str:
    """`a.b.c` for such a chain of names, and nothing for any other expression."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _spaceless(text: str) -> str:
    """Code without comments and without any space that means nothing."""
    lines = [re.sub(r"\s#\s.*$", "", line) for line in text.splitlines()]
    joined = re.sub(r"\s+", " ", "\n".join(lines)).strip()
    return re.sub(r" ?([^\w\s]) ?", r"\1", joined)


def tail(node: ast.Call) -> str:
    """A call without the object it is made on: `transpose(1, 2)` of `x.transpose(1, 2)`."""
    short = copy.copy(node)
    if isinstance(node.func, ast.Attribute):
        short.func = ast.Name(node.func.attr, ast.Load())
    return ast.unparse(short)


@functools.cache
def own_code(root: Path, packages: tuple[str, ...]) -> Code:
    """What the project's own packages define, read from their sources without importing them."""
    found = Code()
    for name in packages:
        for file in source_files(root, name):
            source = file.read_text(encoding="utf-8")
            known = definitions(source)
            tree = ast.parse(source)
            found.names |= {file.stem, *known, *(one.rpartition(".")[2] for one in known)}
            for node in ast.walk(tree):
                found.imports |= _imported(node)
                if isinstance(node, ast.arg):
                    found.keywords.add(node.arg)
    return found
