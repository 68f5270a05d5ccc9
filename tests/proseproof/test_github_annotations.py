"""On GitHub each finding is one line that names file and line; elsewhere there is none."""

from pathlib import Path

import pytest
from sample_site import Site

from proseproof.github_annotations import lines
from proseproof.messages import Finding

ROOT = Path("/repo/site")
GITHUB = {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": "/repo/site"}
FINDING = Finding("docs/a.md", 12, "it is false", "-1\n+2", "write what is true")


def test_finding_names_file_and_line_and_says_how_to_mend_it() -> None:
    assert lines([FINDING], ROOT, GITHUB) == [
        "::error file=docs/a.md,line=12,title=proseproof::"
        "it is false%0A    -1%0A    +2%0A    to mend: write what is true"
    ]


@pytest.mark.parametrize("environ", [{}, {"GITHUB_ACTIONS": "false"}])
def test_elsewhere_nothing_is_written(environ: dict[str, str]) -> None:
    assert lines([FINDING], ROOT, environ) == []


def test_path_counts_from_the_repository() -> None:
    environ = {**GITHUB, "GITHUB_WORKSPACE": "/repo"}
    assert lines([FINDING], ROOT, environ)[0].startswith("::error file=site/docs/a.md,line=12,")


def test_signs_that_mean_something_to_github_are_escaped() -> None:
    finding = Finding("docs/a, b: c.md", 1, "100 % of `a::b`,\r\nand more")
    line = lines([finding], ROOT, GITHUB)[0]
    assert line == (
        "::error file=docs/a%2C b%3A c.md,line=1,title=proseproof::100 %25 of `a::b`,%0D%0Aand more"
    )


@pytest.mark.parametrize("on_github", [True, False])
def test_run_of_pytest_ends_with_its_annotations(
    site: Site, monkeypatch: pytest.MonkeyPatch, on_github: bool
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", str(on_github).lower())
    monkeypatch.setenv("GITHUB_WORKSPACE", str(site.root))
    site.write("README.md", "```python\nx = 1\n```\n\nSo `x == 2` and `x == 3`.\n")
    shown = site.run("pytest", "README.md").stdout.splitlines()
    found = [line for line in shown if line.startswith("::error ")]
    assert len(found) == (2 if on_github else 0)
    assert all(
        line.startswith("::error file=README.md,line=5,title=proseproof::") for line in found
    )
