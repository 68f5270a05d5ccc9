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

    @property
    def keyword_values(self) -> list[tuple[str, str, str]]:
        """Every keyword that is given there: to what, its name, and its value."""
        return [one for source in self.sources for one in keywords_in(source)]

    def raises(self, name: str) -> bool:
        """True when the code raises an error of that name."""
        return any(
            isinstance(node, ast.Raise) and name in ast.unparse(node)
            for source in self.sources
            for node in ast.walk(parsed(source))
        )

    def has(self, text: str) -> bool:
        """True when `text` is a whole statement or a whole expression of the code."""
        try:
            wanted = ast.unparse(ast.parse(text.strip()))
        except (SyntaxError, ValueError):
            return False
        return any(wanted in _parts_of(source) for source in self.sources)

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
    calls = [node for node in ast.walk(parsed(source)) if isinstance(node, ast.Call)]
    return {text for node in calls for text in (tail(node), ast.unparse(node))}


@functools.lru_cache(maxsize=1024)
def _parts_of(source: str) -> set[str]:
    """Every statement and expression of a piece of code."""
    kinds = (ast.stmt, ast.expr)
    return {ast.unparse(node) for node in ast.walk(parsed(source)) if isinstance(node, kinds)}


@functools.lru_cache(maxsize=1024)
def keywords_in(source: str) -> list[tuple[str, str, str]]:
    """Every keyword that a piece of code gives: to what, its name, and its value.

    The default of a parameter counts as given by the function that has it.
    """
    found = []
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            found += [
                (name, word.arg, ast.unparse(word.value)) for word in node.keywords if word.arg
            ]
        elif isinstance(node, ast.FunctionDef):
            named = [*node.args.posonlyargs, *node.args.args]
            last = node.args.defaults
            pairs = [*zip(named[len(named) - len(last) :], last, strict=True)]
            pairs += [
                (argument, value)
                for argument, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
                if value is not None
            ]
            found += [(node.name, argument.arg, ast.unparse(value)) for argument, value in pairs]
    return found


def parsed(source: str) -> ast.Module:
    """The syntax tree of a piece of code; an empty one when it has none."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        return ast.Module([], [])


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
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.literals.add(repr(node.value))
    return found
