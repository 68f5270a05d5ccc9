"""Findings as annotations, which GitHub shows beside the line they are about.

On GitHub a line `::error file=docs/x.md,line=12,title=proseproof::message` in the log of a job
becomes an annotation of that file. Elsewhere nothing is written.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from proseproof.messages import Finding


def lines(
    findings: Iterable[Finding], root: Path, environ: Mapping[str, str] = os.environ
) -> list[str]:
    """One line for each finding of the project at `root`; none unless a job of GitHub runs us."""
    if environ.get("GITHUB_ACTIONS") != "true":
        return []
    workspace = Path(environ.get("GITHUB_WORKSPACE", root))
    return [_line(finding, root, workspace) for finding in findings]


def _line(finding: Finding, root: Path, workspace: Path) -> str:
    # GitHub counts paths from the repository, of which the project may be a part.
    file = root / finding.path
    path = file.relative_to(workspace).as_posix() if file.is_relative_to(workspace) else str(file)
    message = str(finding).removeprefix(f"{finding.path}:{finding.line}: ")
    place = f"file={_property(path)},line={finding.line},title=proseproof"
    return f"::error {place}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
