"""The `[tool.proseproof]` section of a project's pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any


class SettingsError(ValueError):
    """The section holds something that cannot be read."""


def expand(ranges: list[str]) -> list[str]:
    """Ids one by one: `["T1-T3", "Q7"]` gives `["T1", "T2", "T3", "Q7"]`."""
    ids: list[str] = []
    for item in ranges:
        match = re.fullmatch(r"([A-Z]+)(\d+)(?:-\1(\d+))?", item)
        if match is None:
            raise SettingsError(f"ids are written like T3 or T1-T11, not {item!r}")
        letter, first, last = match.groups()
        ids += [f"{letter}{number}" for number in range(int(first), int(last or first) + 1)]
    return ids


def source_files(root: Path, name: str) -> list[Path]:
    """The source files of a package, or the one of a module, of the project."""
    found: list[Path] = []
    for base in (root / "src", root):
        single = base / f"{name}.py"
        found += sorted((base / name).rglob("*.py")) or ([single] if single.is_file() else [])
    return found


def _toml(file: Path, name: str) -> dict[str, Any]:
    """What a TOML file holds; nothing when it is not there."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{name}: {error}") from None


def _keys(table: dict[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        yield key
        if isinstance(value, dict):
            yield from _keys(value)


@dataclass(frozen=True)
class Settings:
    """Where the pages are and what is asked of them."""

    root: Path
    pages: tuple[str, ...] = ("README.md", "docs")
    languages: dict[str, str] = field(default_factory=dict)
    rewrite: tuple[str, ...] = ()
    homes: tuple[str, ...] = ()
    drawing: tuple[str, ...] = ()
    ids: str = "docs/required_ids.toml"
    mentioned: str = "docs/mentioned_words.toml"
    lock: str = "docs/translations.lock"
    records: str = "docs/records"
    bindings: str = ""
    unbound: tuple[str, ...] = ()
    notation: str = ""
    listings: dict[str, str] = field(default_factory=dict)
    report: str = ".cache/proseproof/report.json"

    @classmethod
    def names(cls) -> list[str]:
        """What the section may set."""
        return [one.name for one in fields(cls) if one.name != "root"]

    @classmethod
    def load(cls, root: Path) -> Settings | None:
        """The settings of the project at `root`, or None when it has none."""
        file = root / "pyproject.toml"
        if not file.is_file():
            return None
        try:
            whole = tomllib.loads(file.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise SettingsError(f"pyproject.toml: {error}") from None
        section = whole.get("tool", {}).get("proseproof")
        if section is None:
            return None
        known = cls.names()
        values: dict[str, Any] = {}
        for key, value in section.items():
            if key not in known:
                raise SettingsError(
                    f"[tool.proseproof] has no key {key!r}; known: {', '.join(known)}"
                )
            values[key] = tuple(value) if isinstance(value, list) else value
        loaded = cls(root=root, **values)
        _ = loaded._listing_words  # what is wrong with them is wrong with every page
        return loaded

    @cached_property
    def required_ids(self) -> list[str]:
        """Every id that the pages have to treat."""
        return expand(self._ids("required"))

    @cached_property
    def to_come_ids(self) -> list[str]:
        """The ids whose pages are not written yet."""
        return expand(self._ids("to_come"))

    def _ids(self, kind: str) -> list[str]:
        found = _toml(self.root / self.ids, self.ids).get(kind, [])
        if not isinstance(found, list):
            raise SettingsError(f"{self.ids}: {kind} is a list of ids, not {found!r}")
        return [str(one) for one in found]

    @cached_property
    def words(self) -> dict[str, str]:
        """Words that pages mention and nothing here defines, with their meaning."""
        found = _toml(self.root / self.mentioned, self.mentioned)
        for word, meaning in found.items():
            if not isinstance(meaning, str):
                raise SettingsError(f"{self.mentioned}: {word} has a meaning in words")
        return found

    @cached_property
    def _listing_words(self) -> dict[str, dict[str, str]]:
        found = {}
        for language, name in self.listings.items():
            if language not in self.languages:
                raise SettingsError(
                    f"[tool.proseproof] listings: there is no language {language!r}"
                )
            found[language] = table = _toml(self.root / name, name)
            for text, words in table.items():
                if not isinstance(words, str):
                    raise SettingsError(f"{name}: {text!r} has a translation in words")
        return found

    def listing_words(self, path: str) -> tuple[str, dict[str, str]]:
        """The table for the listings of a page, and what it holds; nothing without one."""
        place = self.language(path)
        if place is None or place[0] not in self.listings:
            return "", {}
        return self.listings[place[0]], self._listing_words[place[0]]

    @cached_property
    def keys(self) -> frozenset[str]:
        """What the project's own files set: the keys of its TOML and YAML files, and ours."""
        found = {*self.names(), *self.languages}
        for file in (*self.root.glob("*.toml"), self.root / self.ids):
            found |= set(_keys(_toml(file, file.name)))
        for file in (*self.root.glob("*.yml"), *self.root.glob("*.yaml")):
            text = file.read_text(encoding="utf-8")
            found |= set(re.findall(r"^[ -]*([\w-]+):", text, re.MULTILINE))
        return frozenset(found)

    def files(self) -> list[Path]:
        """Every page and lab, sorted by path."""
        found: set[Path] = set()
        for name in self.pages:
            path = self.root / name
            if path.is_dir():
                found |= {file for file in path.rglob("*") if self.covers(file)}
            elif path.is_file():
                found.add(path)
        return sorted(found)

    def covers(self, file: Path) -> bool:
        """True for a file that is a page or a lab of this project."""
        try:
            relative = file.relative_to(self.root).as_posix()
        except ValueError:
            return False
        if not any(relative == name or relative.startswith(f"{name}/") for name in self.pages):
            return False
        return file.suffix == ".md" or (file.suffix == ".py" and file.parent.name == "labs")

    def language(self, path: str) -> tuple[str, str] | None:
        """Language of a page and its path inside that language's folder."""
        for language, folder in self.languages.items():
            if path.startswith(f"{folder}/"):
                return language, path.removeprefix(f"{folder}/")
        return None

    def counterpart(self, path: str) -> str | None:
        """The same page in the other language."""
        place = self.language(path)
        if place is None:
            return None
        language, inner = place
        others = [folder for other, folder in self.languages.items() if other != language]
        return f"{others[0]}/{inner}" if others else None
