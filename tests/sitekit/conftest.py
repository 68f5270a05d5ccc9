"""A copy of the site's sources that a test may break."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
Build = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """docs/ and mkdocs.yml copied, src/ and the executed labs as they are."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "src").symlink_to(ROOT / "src")
    (ROOT / ".cache" / "labs").mkdir(parents=True, exist_ok=True)
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "labs").symlink_to(ROOT / ".cache" / "labs")
    return tmp_path


@pytest.fixture
def build(project: Path) -> Build:
    """Build the copy, with a folder to build into."""

    def run(folder: str = "site") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(project / folder)],
            cwd=project,
            env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
            capture_output=True,
            text=True,
            check=False,
        )

    return run
