"""What a proof has to say when something does not hold: where, what, and how to mend it."""

from __future__ import annotations

import difflib
import textwrap
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Finding:
    """One thing that is wrong, at one line of one file."""

    path: str
    line: int
    message: str
    detail: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        text = f"{self.path}:{self.line}: {self.message}"
        if self.detail:
            text += "\n" + textwrap.indent(self.detail.rstrip("\n"), "    ")
        if self.remedy:
            text += f"\n    to mend: {self.remedy}"
        return text


class ProofError(Exception):
    """Raised by a proof that does not hold; carries every finding."""

    def __init__(self, findings: list[Finding]) -> None:
        super().__init__("\n\n".join(str(finding) for finding in findings))
        self.findings = findings


def diff(shown: str, true: str, shown_name: str = "shown", true_name: str = "true") -> str:
    """A unified diff without its position lines."""
    lines = difflib.unified_diff(
        shown.splitlines(), true.splitlines(), shown_name, true_name, lineterm="", n=2
    )
    return "\n".join(line for line in lines if not line.startswith("@@"))
