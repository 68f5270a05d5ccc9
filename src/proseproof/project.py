"""A project: its settings, its pages as they are read, and what no single page can tell."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from proseproof import covered_ids, listing_words, mentions, notation_table, translation_lock
from proseproof.bindings import Ledger
from proseproof.execution import Run
from proseproof.kept_proofs import FOLDER, Keeper
from proseproof.messages import Finding
from proseproof.notation import Notation
from proseproof.number_rules import Judge
from proseproof.numbers import PageNumbers
from proseproof.numbers import read as read_numbers
from proseproof.page import Page
from proseproof.page_reader import read
from proseproof.settings import Settings


@dataclass
class Project:
    """The settings, and every page that was read so far."""

    settings: Settings
    pages: dict[str, Page] = field(default_factory=dict)
    # What was proved of a program in one language, and need not be proved again in the other.
    done: set[tuple[Any, ...]] = field(default_factory=set)
    runs: dict[tuple[Any, ...], Run] = field(default_factory=dict)
    again: bool = False  # prove even what is kept from an earlier run

    def __post_init__(self) -> None:
        folder = (self.settings.root / self.settings.report).parent / FOLDER
        self.keeper = Keeper(folder, self.again)
        self.ledger = Ledger(self.settings)
        self.notation = Notation.load(self.settings)
        self._numbers: dict[str, PageNumbers] = {}
        self._rules: Judge | None = None

    def page(self, path: str) -> Page:
        """The page at a path from the root; read once."""
        if path not in self.pages:
            self.pages[path] = read(self.settings.root, path)
        return self.pages[path]

    def numbers(self, path: str) -> PageNumbers:
        """The numbers in the prose of a page; read once."""
        if path not in self._numbers:
            self._rules = self._rules or Judge(self.ledger.names)
            place = self.settings.language(path)
            self._numbers[path] = read_numbers(
                self.page(path), self._rules, place[0] if place else ""
            )
        return self._numbers[path]

    def paths(self) -> list[str]:
        """Every page's path from the root."""
        root = self.settings.root
        return [file.relative_to(root).as_posix() for file in self.settings.files()]

    def exists(self, path: str) -> bool:
        """True when there is such a page."""
        return (self.settings.root / path).is_file()

    def other(self, path: str) -> Page | None:
        """The same page in the other language, when there is one."""
        other = self.settings.counterpart(path)
        return self.page(other) if other is not None and self.exists(other) else None


def check_project(project: Project) -> list[Finding]:
    """What no single page can tell: ids that nobody treats, words that nobody mentions, drawings of
    labs that no page draws, what is left of listings, sections and pages that are gone."""
    settings = project.settings
    pages = [project.page(path) for path in project.paths()]
    found = covered_ids.check_project(settings, pages) if settings.languages else []
    found += mentions.unused(settings, pages)
    found += listing_words.check(settings, pages)
    found += notation_table.check(project)
    found += project.ledger.check([page.path for page in pages])
    drawn = {path for page in pages for block in page.blocks for *_, path in block.figures}
    for page in pages:
        for path, line in page.drawings().items() if page.is_lab else ():
            if path not in drawn:
                found.append(Finding(page.path, line, f"no page draws {path}"))
    known = {place[1] for page in pages if (place := settings.language(page.path))}
    for key in translation_lock.read_lock(settings.root / settings.lock):
        if key.partition("#")[0] not in known:
            message = f"the lock knows a page that is gone: {key}"
            found.append(Finding(settings.lock, 1, message, remedy="python -m proseproof confirm"))
    return found
