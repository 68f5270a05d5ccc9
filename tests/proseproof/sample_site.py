"""A small project in a temporary folder, with pages that a test writes."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

from proseproof.messages import Finding
from proseproof.project import Project, check_project
from proseproof.prover import PageProof
from proseproof.settings import Settings

PYPROJECT = """
[tool.pytest.ini_options]
addopts = "--codeblocks -p no:cacheprovider"
testpaths = ["README.md", "docs"]

[tool.proseproof]
pages = ["README.md", "docs"]
languages = { zh = "docs/zh", en = "docs/en" }
"""


class Site:
    """A project: write pages, prove them, run pytest or a command on them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("pyproject.toml", PYPROJECT)

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        return file

    def configure(self, lines: str) -> None:
        self.write("pyproject.toml", PYPROJECT + textwrap.dedent(lines))

    @property
    def project(self) -> Project:
        settings = Settings.load(self.root)
        assert settings is not None
        return Project(settings)

    def proof(self, path: str) -> PageProof:
        return PageProof(self.project, path)

    def prove(self, path: str) -> list[Finding]:
        return self.proof(path).whole()

    def page(self, text: str) -> list[Finding]:
        """Findings on one page without a second language."""
        self.write("README.md", text)
        return self.prove("README.md")

    def pair(self, zh: str, en: str, name: str = "x.md") -> None:
        self.write(f"docs/zh/{name}", zh)
        self.write(f"docs/en/{name}", en)

    def findings_of_project(self) -> list[Finding]:
        return check_project(self.project)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environ = {key: value for key, value in os.environ.items() if key != "COV_CORE_SOURCE"}
        environ["PYTHONDONTWRITEBYTECODE"] = "1"
        return subprocess.run(
            [sys.executable, "-m", *arguments],
            cwd=self.root,
            env=environ,
            capture_output=True,
            text=True,
        )


def places(findings: list[Finding]) -> list[str]:
    """`path:line` of each finding."""
    return [f"{finding.path}:{finding.line}" for finding in findings]
