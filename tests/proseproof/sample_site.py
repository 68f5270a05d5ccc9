"""A small project in a temporary folder, with pages that a test writes."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import warm_python
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


# What proves pages; the other plugins of this environment would only take their time to load.
PLUGINS = ["pytest_codeblocks.plugin", "proseproof.pytest_plugin"]
LOADING = f"import pytest, proseproof.update, {', '.join(PLUGINS)}"
FOR_OPTION = {"-n": "xdist.plugin", "--cov": "pytest_cov.plugin"}


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

    @staticmethod
    def environ(arguments: tuple[str, ...]) -> dict[str, str]:
        said = " ".join(["", *arguments])
        loaded = [*PLUGINS, *(FOR_OPTION[one] for one in FOR_OPTION if f" {one}" in said)]
        return {
            **os.environ,
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTEST_PLUGINS": ",".join(loaded),
        }

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """A module of Python, begun in this project."""
        return subprocess.Popen(
            [sys.executable, "-m", *arguments],
            cwd=self.root,
            env=self.environ(arguments),
            stdout=subprocess.DEVNULL,
            text=True,
        )

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A module of Python, run to its end in this project."""
        return warm_python.run(LOADING, self.root, self.environ(arguments), *arguments)


def places(findings: list[Finding]) -> list[str]:
    """`path:line` of each finding."""
    return [f"{finding.path}:{finding.line}" for finding in findings]
