"""A site of a few pages that a test may break, with the real theme, plugins and hooks."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

# pytest's importlib mode leaves test folders off the path, and with them the helpers there.
sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from small_site import GLOSSARY, INDEX, NAV, ROOT, WORDS, write_lab, write_record

import warm_python

LOADING = """
import mkdocs.commands.build, mkdocs_jupyter.plugin, sitekit.mkdocs_hooks
"""
Build = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Two pages and a lab in two languages; src/ and the theme are the real ones."""
    for language, (title, word) in WORDS.items():
        folder = tmp_path / "docs" / language
        folder.mkdir(parents=True)
        (folder / "index.md").write_text(INDEX.format(title=title), encoding="utf-8")
        glossary = GLOSSARY.format(title=title, word=word)
        (folder / "glossary.md").write_text(glossary, encoding="utf-8")
    write_lab(tmp_path, "1")
    write_record(tmp_path, "1")
    shutil.copytree(ROOT / "docs" / "assets", tmp_path / "docs" / "assets")
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    settings = re.sub(r"^nav:\n(?:(?: .*)?\n)+", NAV, settings, flags=re.M)
    (tmp_path / "mkdocs.yml").write_text(settings, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(
        '[tool.proseproof]\npages = ["docs"]\nlanguages = { zh = "docs/zh", en = "docs/en" }\n'
        'listings = { zh = "docs/zh/listings.toml" }\n'
    )
    shutil.copy(ROOT / "docs/zh/listings.toml", tmp_path / "docs/zh/listings.toml")
    (tmp_path / "src").symlink_to(ROOT / "src")
    return tmp_path


@pytest.fixture
def build(project: Path) -> Build:
    """Build the site, with a folder to build into."""

    def run(folder: str = "site", **environment: str) -> subprocess.CompletedProcess[str]:
        return warm_python.run(
            LOADING,
            project,
            os.environ | {"NO_MKDOCS_2_WARNING": "1"} | environment,
            *("mkdocs", "build", "--strict", "-d", str(project / folder)),
        )

    return run
