"""The ledger: what the numbers and formulas of the prose are, in a file beside each page.

`docs/bindings/chapters/heads.toml` belongs to chapters/heads.md in every language. Its tables are
the sections of the page by their anchors (`""` before the first heading, `description` for the
front matter), and each entry leads from words of the page to an expression:

    [idea]
    "4 heads" = "num_heads"

`names` lists, in order, the numbers of a section that are names and no claims: `["head 1"]`;
`symbols` its formulas that are lone symbols: `["W_q", "d_k"]`.

An expression sees the variables of the block that its line speaks of, `facts.NAME` for what no code
can know (`facts.toml`, each with its source), whatever the project's packages and Python's own can
import, and a few counters of what stands near the number (see `number_counters`). One that begins
with `#anchor`, or `#anchor.2`, is evaluated beside the first, or the second, block of that section.
"""

from __future__ import annotations

import ast
import builtins
import functools
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import CodeType, SimpleNamespace
from typing import Any

from proseproof.messages import Finding
from proseproof.names import importable
from proseproof.settings import Settings, SettingsError

FACTS, WORDS = "facts.toml", "words.toml"
DESCRIPTION = "description"
NAMES, SYMBOLS = "names", "symbols"
OPEN = "?"  # an entry that waits for its author
PLACE = re.compile(r"#(?P<anchor>[\w-]*)(?:\.(?P<number>\d+))?\s+(?P<rest>.+)", re.DOTALL)
TABLE = re.compile(r"^\[(?P<name>[^\[\]]*)\]\s*(?:#.*)?$")
ENTRY = re.compile(r"""^(?P<key>"(?:[^"\\]|\\.)*"|'[^']*'|[\w-]+)\s*=""")


class Unbound(Exception):
    """An expression of the ledger that has no value here, and why."""


@dataclass(frozen=True)
class Entry:
    """One line of a ledger."""

    section: str
    key: str
    expression: str
    file: str
    line: int

    @property
    def place(self) -> tuple[str, int] | None:
        """The section and the number of the block beside which it is evaluated, if it says so."""
        match = PLACE.match(self.expression)
        return (match["anchor"], int(match["number"] or 1)) if match else None

    @property
    def code(self) -> str:
        """The expression without the place."""
        match = PLACE.match(self.expression)
        return match["rest"] if match else self.expression


@dataclass
class Bindings:
    """The entries of one page, by section and key."""

    file: str
    entries: dict[tuple[str, str], Entry] = field(default_factory=dict)
    names: dict[str, list[str]] = field(default_factory=dict)  # numbers that are names
    symbols: dict[str, list[str]] = field(default_factory=dict)  # formulas that are lone symbols
    lines: dict[tuple[str, str], int] = field(default_factory=dict)

    def get(self, section: str, key: str) -> Entry | None:
        """The entry for these words of a section."""
        return self.entries.get((section, key))


class Ledger:
    """All files of the ledger, each read once."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._pages: dict[str, Bindings | None] = {}

    def leads(self, path: str) -> bool:
        """True for a page whose words the ledger has: in English if there is that language."""
        place, languages = self.settings.language(path), self.settings.languages
        return place is None or place[0] == ("en" if "en" in languages else next(iter(languages)))

    def file(self, path: str) -> str:
        """Where the entries of a page stand, for all its languages."""
        place = self.settings.language(path)
        inner = PurePosixPath(place[1] if place else path).with_suffix(".toml")
        return f"{self.settings.bindings}/{inner}"

    def files(self, path: str) -> set[str]:
        """The files of the ledger that a page depends on."""
        folder = self.settings.bindings
        return {self.file(path), f"{folder}/{FACTS}", f"{folder}/{WORDS}"} if folder else set()

    def check(self, paths: list[str]) -> list[Finding]:
        """Files that belong to no page, and facts that no entry uses."""
        folder, root = self.settings.bindings, self.settings.root
        if not folder:
            return []
        wanted = {self.file(path) for path in paths} | {f"{folder}/{FACTS}", f"{folder}/{WORDS}"}
        files = sorted(one.relative_to(root).as_posix() for one in (root / folder).rglob("*.toml"))
        found = [
            Finding(
                name, 1, "this file belongs to no page", remedy="remove it, or name it after one"
            )
            for name in files
            if name not in wanted
        ]
        text = "\n".join((root / name).read_text(encoding="utf-8") for name in files)
        used = set(re.findall(r"\bfacts\.(\w+)", text))
        for number, line in enumerate(_read_lines(root / folder / FACTS), 1):
            fact = re.match(r"([\w-]+)\s*=", line)
            if fact and fact[1] not in used:
                message = f"no entry uses the fact {fact[1]}"
                found.append(Finding(f"{folder}/{FACTS}", number, message, remedy="remove it"))
        return found

    def covers(self, path: str) -> bool:
        """True for a page whose numbers have to be bound; formulas are on every page."""
        settings = self.settings
        if not settings.bindings:
            return False
        to_do = any(path == one or path.startswith(f"{one}/") for one in settings.unbound)
        try:
            return not to_do or any(key[:1] != "$" for _, key in self.of(path).entries)
        except SettingsError:  # which is said when the page is proved
            return True

    def of(self, path: str) -> Bindings:
        """The entries of a page; none when it has no file. SettingsError when it is no TOML."""
        name = self.file(path)
        if name not in self._pages:
            self._pages[name] = read(self.settings.root, name)
        found = self._pages[name]
        return found if found is not None else Bindings(name)

    def forget(self, path: str) -> None:
        """Read the entries of a page anew: they were written."""
        self._pages.pop(self.file(path), None)

    @functools.cached_property
    def facts(self) -> SimpleNamespace:
        """What no code can know."""
        name = f"{self.settings.bindings}/{FACTS}"
        values = {}
        for fact, given in _toml(self.settings.root, name).items():
            if not isinstance(given, dict) or set(given) != {"value", "source"}:
                raise SettingsError(f'{name}: {fact} is written {{ value = 8, source = "…" }}')
            values[fact] = given["value"]
        return SimpleNamespace(**values)

    @functools.cached_property
    def _words(self) -> dict[str, Any]:
        name = f"{self.settings.bindings}/{WORDS}"
        found = _toml(self.settings.root, name)
        if unknown := sorted(set(found) - {"names", "words"}):
            raise SettingsError(f"{name}: has names and [words], and no {unknown[0]}")
        return found

    @property
    def names(self) -> list[str]:
        """Nouns in front of a number that names one of them: head 1."""
        return list(self._words.get("names", []))

    @property
    def words(self) -> dict[str, list[str]]:
        """Which expressions a noun leads to, for guesses: heads = ["num_heads"]."""
        found = self._words.get("words", {})
        return {word: [one] if isinstance(one, str) else list(one) for word, one in found.items()}


def _read_lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines() if file.is_file() else []


def _toml(root: Path, name: str) -> dict[str, Any]:
    file = root / name
    try:
        return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{name}: {error}") from None


def read(root: Path, name: str) -> Bindings | None:
    """The entries of one file of the ledger; None when there is no such file."""
    if not (root / name).is_file():
        return None
    found = Bindings(name)
    found.lines = lines = _lines((root / name).read_text(encoding="utf-8"))
    for section, table in _toml(root, name).items():
        if not isinstance(table, dict):
            raise SettingsError(f"{name}: {section} stands outside a section such as [idea]")
        for key, expression in table.items():
            if key in (NAMES, SYMBOLS) and isinstance(expression, list):
                lists = found.names if key == NAMES else found.symbols
                lists[section] = [str(one) for one in expression]
                continue
            if not isinstance(expression, str):
                raise SettingsError(f"{name}: {key} is bound to an expression in quotes")
            line = lines.get((section, key), 1)
            found.entries[section, key] = Entry(section, key, expression, name, line)
    return found


def _lines(text: str) -> dict[tuple[str, str], int]:
    """The line of each entry."""
    found, section = {}, ""
    for number, line in enumerate(text.splitlines(), 1):
        if match := TABLE.match(line):
            section = unquoted(match["name"].strip())
        elif match := ENTRY.match(line):
            found[section, unquoted(match["key"])] = number
    return found


def unquoted(key: str) -> str:
    """What a key of TOML says."""
    if key[:1] in "\"'" and key:
        return next(iter(tomllib.loads(f"{key} = 0")))
    return key


@functools.lru_cache(maxsize=4096)
def compiled(expression: str) -> tuple[CodeType, frozenset[str]]:
    """The code of an expression, and the names that it has to be given."""
    try:
        tree = ast.parse(expression, mode="eval")
    except (SyntaxError, ValueError) as error:
        raise Unbound(f"{expression} is no Python expression ({error})") from None
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    names = {one.id for one in nodes} - {one.id for one in nodes if isinstance(one.ctx, ast.Store)}
    return compile(tree, "<ledger>", "eval", dont_inherit=True), frozenset(names)


def evaluate(
    ledger: Ledger,
    expression: str,
    values: Mapping[str, Any],
    counters: Mapping[str, Callable[..., Any]] | None = None,
) -> Any:
    """The value of an expression; Unbound when it has none."""
    code, names = compiled(expression)
    scope: dict[str, Any] = {}
    for name in names:
        if counters and name in counters and re.search(rf"\b{name}\(", expression):
            scope[name] = counters[name]
        elif name in values:
            scope[name] = values[name]
        elif name == "facts":
            try:
                scope[name] = ledger.facts
            except SettingsError as error:
                raise Unbound(str(error)) from None
        elif not hasattr(builtins, name) and (found := importable(name)) is not None:
            scope[name] = found
    try:
        return eval(code, scope)
    except Unbound as error:
        raise Unbound(f"{expression}: {error}") from None
    except NameError as error:
        missing = getattr(error, "name", None) or str(error)
        raise Unbound(f"{expression}: there is no {missing} here") from None
    except AttributeError as error:
        if isinstance(error.obj, SimpleNamespace) and error.obj is ledger.facts:
            file = f"{ledger.settings.bindings}/{FACTS}"
            raise Unbound(f"{expression}: {file} has no {error.name}") from None
        raise Unbound(f"{expression}: {type(error).__name__}: {error}") from None
    except Exception as error:
        raise Unbound(f"{expression}: {type(error).__name__}: {error}") from None
