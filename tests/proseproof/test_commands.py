"""A command that a page shows could be carried out."""

from pathlib import Path

import pytest
from sample_site import Site, places

from proseproof.commands import complaint

PYPROJECT = """
[project]
name = "our-lib"
dependencies = ["torch"]
optional-dependencies = { drawing = ["matplotlib"] }
urls = { Repository = "https://example.org/us/our-lib" }

[tool.proseproof]
"""
TOOL = """
import argparse

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int)
    parser.parse_args()
    raise RuntimeError("it must not run")
"""


@pytest.fixture
def root(site: Site, monkeypatch: pytest.MonkeyPatch) -> Path:
    site.write("pyproject.toml", PYPROJECT)
    site.write("requirements.txt", "# what we need\n-e .\nnumpy==2.4.6  # arrays\n")
    site.write("Makefile", "test:\n\tpytest $(AGAIN)\n")
    site.write("src/our_tool.py", TOOL)
    site.write("src/lib/x.txt", "")
    monkeypatch.syspath_prepend(site.root / "src")
    return site.root


@pytest.mark.parametrize(
    "text",
    [
        "make test",
        "make test AGAIN=1",
        "python -m our_tool --steps 3",
        "python -m our_tool --help",
        "python -m proseproof drill --seed 1 --count 50",
        "python -m proseproof confirm README.md#top",
        "pytest --since main -q -k 'a and b'",
        "python -m pytest --prove-again",
        "pip install torch",
        "pip install Our_Lib[drawing]",
        "pip install -U numpy==2.4.6",
        "pip install 'numpy>=2'",
        "pip install -r requirements.txt",
        "pip install -e .[drawing]",
        "pip install 'our-lib[drawing] @ git+https://example.org/us/our-lib'",
        "pip install 'git+https://example.org/us/our-lib#subdirectory=src/lib'",
        "git status",
    ],
)
def test_right_command_is_no_alarm(root: Path, text: str) -> None:
    (root / "README.md").write_text("")
    assert complaint(root, text) == ""


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("make tset", "it has test"),
        ("make test AGIAN=1", "does not use AGIAN"),
        ("python -m our_tool --stpes 3", "--stpes"),
        ("python -m our_tool --steps three", "invalid int value"),
        ("python -m proseproof dril", "invalid choice"),
        ("python -m proseproof drill --sede 1", "--sede"),
        ("pytest --nonexistent-flag", "no option --nonexistent-flag"),
        ("python -m pytest --nonexistent-flag", "no option --nonexistent-flag"),
        ("pip install nonexistent-package-xyz", "neither this project"),
        ("pip install torch numpyy", "numpyy is neither"),
        ("pip install numpy==1.0", "numpy==2.4.6"),
        ("pip install our-lib[drawings]", "no extra drawings"),
        ("pip install -r requirments.txt", "no requirments.txt"),
        ("pip install 'our-lib @ git+https://example.org/them/our-lib'", "[project.urls]"),
        ("pip install 'git+https://example.org/us/our-lib#subdirectory=lib'", "no folder lib"),
        ("nonexistent-program run", "no program"),
    ],
)
def test_wrong_command_is_caught(root: Path, text: str, truth: str) -> None:
    assert truth in complaint(root, text)


def test_wrong_command_in_a_fence_is_caught_at_its_line(site: Site) -> None:
    text = "```console\npython -m proseproof report  # all\npython -m proseproof reprot\n```\n"
    (finding,) = findings = site.page(text)
    assert places(findings) == ["README.md:3"]
    assert "'report'" in finding.message and finding.remedy
