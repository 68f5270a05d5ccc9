"""The report: what was proved on each page, as JSON that is the same for the same commit."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import os
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

# Rules under which code merely exists, evaluates or is quoted.
MENTIONS = frozenset(
    (
        "name",
        "path",
        "import",
        "call",
        "expression",
        "quotation",
        "string",
        "command",
        "text",
        "symbol",
    )
)

FORMULAS = frozenset(("formula", "bound formula"))


@dataclass(frozen=True)
class BlockEntry:
    """A block: `kind` is python, gpu, sh, bash or skipped; `reason` says why it was skipped."""

    line: int
    kind: str
    verdict: str
    reason: str = ""


@dataclass(frozen=True)
class ClaimEntry:
    """A span and the rule that it was judged by."""

    line: int
    span: str
    rule: str
    verdict: str

    @property
    def stands(self) -> bool:
        """True when it was found to be as it says (or to be wrong, where it is marked so)."""
        return self.verdict in ("holds", "proved wrong")

    @property
    def whole(self) -> bool:
        """True when it was judged whole: another value in its place would have been false."""
        return self.rule not in MENTIONS


@dataclass(frozen=True)
class ListingEntry:
    """A quotation from the source."""

    line: int
    spec: str
    verdict: str


@dataclass(frozen=True)
class FenceEntry:
    """A checked output (`language` is then `output`), or a fence that is not code."""

    line: int
    language: str
    verdict: str


@dataclass(frozen=True)
class FindingEntry:
    """What did not hold."""

    line: int
    message: str


@dataclass
class PageEntry:
    """Everything that was looked at on one page."""

    path: str
    sha256: str
    blocks: list[BlockEntry] = field(default_factory=list)
    claims: list[ClaimEntry] = field(default_factory=list)
    outputs: list[FenceEntry] = field(default_factory=list)
    listings: list[ListingEntry] = field(default_factory=list)
    plains: list[FenceEntry] = field(default_factory=list)
    findings: list[FindingEntry] = field(default_factory=list)
    shown: int = 0
    # Numbers in the prose: how many are bound, and how many are no claim, by rule.
    numbers: dict[str, int] = field(default_factory=dict)

    @property
    def accounted(self) -> int:
        """How many of the fences shown were run, compared, resolved, skipped or are not code."""
        entries: list[BlockEntry | FenceEntry | ListingEntry] = [
            *self.blocks,
            *self.outputs,
            *self.listings,
            *self.plains,
        ]
        return sum(entry.verdict != "fails" for entry in entries)

    @property
    def blocks_run(self) -> int:
        """How many blocks ran."""
        return sum(block.verdict == "holds" for block in self.blocks)

    @property
    def claims_judged(self) -> int:
        """How many spans were judged whole, and hold."""
        return sum(claim.stands and claim.whole for claim in self.claims)

    @property
    def formulas_proved(self) -> int:
        """How many formulas were evaluated, and hold; they are among the claims."""
        return sum(claim.stands and claim.rule in FORMULAS for claim in self.claims)

    @property
    def mentions_found(self) -> int:
        """How many spans name, call or quote something that is there."""
        return sum(claim.stands and not claim.whole for claim in self.claims)

    @property
    def proved(self) -> bool:
        """True when nothing on the page fails."""
        return not self.findings

    def is_current(self, text: str) -> bool:
        """True when `text` is the text that was proved."""
        return digest(text) == self.sha256


@dataclass
class Report:
    """All pages of one run."""

    versions: dict[str, str]
    pages: dict[str, PageEntry] = field(default_factory=dict)

    def page(self, path: str) -> PageEntry | None:
        """The entry of one page, by its path from the project's root."""
        return self.pages.get(path)

    @property
    def totals(self) -> dict[str, int]:
        """Counts over all pages."""
        pages = self.pages.values()
        return {
            "pages": len(self.pages),
            "shown": sum(page.shown for page in pages),
            "accounted": sum(page.accounted for page in pages),
            "blocks": sum(page.blocks_run for page in pages),
            "skipped": sum(block.kind == "skipped" for page in pages for block in page.blocks),
            "claims": sum(page.claims_judged for page in pages),
            "mentions": sum(page.mentions_found for page in pages),
            "numbers": sum(page.numbers.get("bound", 0) for page in pages),
            "formulas": sum(page.formulas_proved for page in pages),
            "outputs": sum(len(page.outputs) for page in pages),
            "listings": sum(len(page.listings) for page in pages),
            "findings": sum(len(page.findings) for page in pages),
        }

    @property
    def rules(self) -> dict[str, int]:
        """How many numbers in the prose are no claim, by the rule that says so."""
        found: dict[str, int] = {}
        for page in self.pages.values():
            for rule, count in page.numbers.items():
                if rule != "bound":
                    found[rule] = found.get(rule, 0) + count
        return dict(sorted(found.items()))

    def save(self, path: Path) -> None:
        """Write the report, byte for byte the same for the same contents."""
        pages = {name: asdict(page) for name, page in sorted(self.pages.items())}
        data = {"versions": self.versions, "totals": self.totals, "pages": pages}
        text = json.dumps(data, ensure_ascii=False, indent=1, sort_keys=True)
        write_whole(path, text + "\n")


def write_whole(file: Path, text: str) -> None:
    """Write a file so that nobody ever reads half of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, file)


def digest(text: str) -> str:
    """The hash that says whether a page is the one that was proved."""
    return hashlib.sha256(text.replace("\r\n", "\n").encode()).hexdigest()


def versions() -> dict[str, str]:
    """Python's version and torch's, when it is installed."""
    found = {"python": platform.python_version()}
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        found["torch"] = importlib.metadata.version("torch")
    return found


def page_from(data: dict[str, Any]) -> PageEntry:
    """One page's entry out of its JSON form."""
    kinds: dict[str, type] = {
        "blocks": BlockEntry,
        "claims": ClaimEntry,
        "outputs": FenceEntry,
        "listings": ListingEntry,
        "plains": FenceEntry,
        "findings": FindingEntry,
    }
    values = {name: [kind(**item) for item in data[name]] for name, kind in kinds.items()}
    shown, numbers = data["shown"], data["numbers"]
    return PageEntry(data["path"], data["sha256"], shown=shown, numbers=numbers, **values)


def load(path: Path) -> Report:
    """The report at `path`; an empty one when there is none."""
    if not path.is_file():
        return Report(versions())
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        pages = {name: page_from(one) for name, one in data["pages"].items()}
        return Report(data["versions"], pages)
    except (ValueError, KeyError, TypeError):  # damaged: what it said is proved again
        return Report(versions())


def merge(old: Report, new: Iterable[PageEntry], exist: Iterable[str]) -> Report:
    """The old report with pages replaced; pages that are gone, or other versions, drop out."""
    pages = dict(old.pages) if old.versions == versions() else {}
    pages.update({page.path: page for page in new})
    kept = set(exist)
    return Report(versions(), {path: page for path, page in pages.items() if path in kept})
