"""The lock file: what each section's two sides were when they last said the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from proseproof.messages import Finding
from proseproof.page import Page
from proseproof.settings import Settings

Hashes = dict[str, str]


def hashes(page: Page) -> Hashes:
    """The hash of each section's prose, by anchor.

    Code, outputs and listings are compared side by side and need no lock; comments in blocks,
    titles, fences that are not code and the words of the front matter are prose.
    """
    return {
        section.anchor: hashlib.sha256(section.prose.encode()).hexdigest()[:16]
        for section in page.sections
    }


def read_lock(file: Path) -> dict[str, Hashes]:
    """Hashes by `inner/path.md#anchor` and language.

    What is no entry, such as the marks of a merge, is passed over: confirming writes a clean file.
    """
    lock: dict[str, Hashes] = {}
    if file.is_file():
        for line in file.read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                place, *sides = line.split()
                if "#" in place and all("=" in side for side in sides):
                    lock[place] = dict(side.split("=", 1) for side in sides)
    return lock


def write_lock(file: Path, lock: dict[str, Hashes]) -> None:
    """Write the lock, one section a line, sorted."""
    head = (
        "# The prose of each section when its languages last agreed: python -m proseproof confirm"
    )
    lines = [
        " ".join([place, *(f"{name}={value}" for name, value in sorted(sides.items()))])
        for place, sides in sorted(lock.items())
    ]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join([head, *lines, ""]), encoding="utf-8")


def _now(settings: Settings, page: Page, other: Page) -> dict[str, Hashes]:
    place, there = settings.language(page.path), settings.language(other.path)
    assert place is not None and there is not None
    found: dict[str, Hashes] = {}
    for (language, inner), side in ((place, page), (there, other)):
        for anchor, value in hashes(side).items():
            found.setdefault(f"{inner}#{anchor}", {})[language] = value
    return found


def check(settings: Settings, page: Page, other: Page) -> list[Finding]:
    """Sections of which one side changed since both were agreed on."""
    lock = read_lock(settings.root / settings.lock)
    now = _now(settings, page, other)
    place, there = settings.language(page.path), settings.language(other.path)
    assert place is not None and there is not None
    mine, theirs, inner = place[0], there[0], place[1]
    starts = {section.anchor: section.line for section in page.sections}
    command = "python -m proseproof confirm"
    found = []
    unrecorded: list[str] = []
    for key in sorted({*now, *(name for name in lock if name.startswith(f"{inner}#"))}):
        anchor = key.partition("#")[2]
        line = starts.get(anchor, 1)
        section = f"#{anchor}" if anchor else "what stands above the first heading"
        old, new = lock.get(key), now.get(key)
        if new is None:
            message = f"the lock knows a section that is gone: {section}"
            found.append(Finding(page.path, line, message, remedy=command))
        elif old == new or len(new) < 2:
            continue  # a section on one side only is a difference of the pair
        elif old is None or (old[mine] != new[mine] and old[theirs] != new[theirs]):
            unrecorded.append(f"{section} (line {line})")
        else:
            changed, behind = (page, other) if old[mine] != new[mine] else (other, page)
            message = f"{section} changed in {changed.path}, and {behind.path} did not follow"
            remedy = (
                f"follow in {behind.path}, or, when nothing has to change there: "
                f"{command} {page.path}#{anchor}"
            )
            found.append(Finding(page.path, line, message, remedy=remedy))
    if unrecorded:
        message = "new in both languages, or changed in both, and not recorded as saying the same"
        found.append(Finding(page.path, 1, message, "\n".join(unrecorded), command))
    return found


def confirm(
    settings: Settings, pairs: Iterable[tuple[Page, Page]], named: set[str], everything: bool
) -> list[str]:
    """Record sections as agreed: all, those named, or else those changed on both sides."""
    file = settings.root / settings.lock
    lock = read_lock(file)
    recorded = []
    current: dict[str, Hashes] = {}
    for page, other in pairs:
        current |= _now(settings, page, other)
    for key, new in current.items():
        old = lock.get(key)
        both = old is None or all(old.get(name) != value for name, value in new.items())
        if len(new) == 2 and old != new and (everything or (key in named if named else both)):
            lock[key] = new
            recorded.append(key)
    gone = [key for key in lock if key not in current]
    for key in gone:
        del lock[key]
    if recorded or gone or file.is_file():
        write_lock(file, lock)
    return sorted(recorded + gone)
