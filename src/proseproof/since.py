"""What a change touches: the pages, and the tests, that have to be looked at again."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from proseproof import kept_proofs

if TYPE_CHECKING:
    from proseproof.project import Project


class SinceError(ValueError):
    """What changed cannot be told."""


def changed_files(root: Path, revision: str) -> set[str]:
    """Paths from the root that differ from a revision, those that git does not track yet too."""
    found: set[str] = set()
    for command in (
        ["git", "diff", "--name-only", "--relative", revision, "--"],
        ["git", "ls-files", "--others", "--exclude-standard"],
    ):
        try:
            done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            said = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
            raise SinceError(f"--since {revision}: {said[0] if said else error}") from None
        found |= set(done.stdout.splitlines())
    return found


class Touched:
    """What a change touches; `changed` are the paths of its files from the root."""

    def __init__(self, project: Project, changed: set[str]) -> None:
        self.changed = changed
        self.pages = set(project.paths())
        self.touched_pages = _touched_pages(project, changed)
        # Of a page that only links to what changed, the links have to be followed again.
        self.linking_pages = {
            path for path in self.pages - self.touched_pages if _links(project, path) & changed
        }
        self.stems = {Path(name).stem for name in self.changed if name.endswith(".py")}

    def includes(self, path: str) -> bool:
        """True for a page that is touched, and for a test that changed or whose source did."""
        if path in self.pages:
            return path in self.touched_pages | self.linking_pages
        return path in self.changed or Path(path).stem.removeprefix("test_") in self.stems


def _touched_pages(project: Project, changed: set[str]) -> set[str]:
    """The pages that changed, those that depend on what changed, and the other language's."""
    settings = project.settings
    paths = project.paths()
    if "pyproject.toml" in changed:
        return set(paths)
    found = {path for path in paths if path in changed or depends_on(project, path) & changed}
    for path in sorted(found):
        other = settings.counterpart(path)
        if other in paths:
            found.add(other)
    return found


def depends_on(project: Project, path: str) -> set[str]:
    """The files that a page imports, quotes, draws or records, and those that say what it means."""
    from proseproof.prover import PageProof

    proof = PageProof(project, path)
    root = project.settings.root
    quoted = {root / one.spec.partition(":")[0] for one in proof.page.listings}
    files = kept_proofs.files_of(proof) | quoted
    found = {file.relative_to(root).as_posix() for file in files if file.is_relative_to(root)}
    if proof.formulas.said:
        found.add(project.settings.notation)
    if proof.page.is_lab:
        found.add(proof.record_file.relative_to(root).as_posix())
    if proof.page.listings:
        found.add(project.settings.listing_words(path)[0])
    return found | project.ledger.files(path)


def _links(project: Project, path: str) -> set[str]:
    """The project's files that a page links to."""
    root = project.settings.root
    found = set()
    for link in project.page(path).links:
        target = link.target.partition("#")[0]
        if target and "://" not in target:
            place = (root / path).parent.joinpath(target).resolve()
            if place.is_relative_to(root):
                found.add(place.relative_to(root).as_posix())
    return found
