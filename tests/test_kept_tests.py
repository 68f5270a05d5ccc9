"""A test that passed is left out of a run of everything until something changes, no longer."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import kept_tests
import warm_python
from kept_tests import LIBRARY, digest, read

PLUGINS = ["pytest_codeblocks.plugin", "proseproof.pytest_plugin"]
PLUGINS += ["pytest_cov.plugin", "xdist.plugin"]
LOADING = f"import pytest, coverage, sitekit.chromium_for_tests, {', '.join(PLUGINS)}"
FILES = {
    "pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["tests"]\n',
    "conftest.py": f"""
import sys

sys.path.append({str(Path(__file__).parent)!r})
from kept_tests import KeptTests

def pytest_configure(config):
    config.pluginmanager.register(KeptTests(config), "kept-tests")
""",
    "docs/page.md": "# A page\n",
    "src/lib.py": "",
    "tests/test_site.py": "def test_site():\n    pass\n",
    "tests/headwise/test_watched.py": "def test_watched():\n    pass\n",
    "tests/headwise/test_slow.py": """
import pytest

@pytest.mark.no_cover
def test_slow():
    pass
""",
}


class Project:
    """A small project with a test of each kind, and what runs of pytest do there."""

    def __init__(self, root: Path) -> None:
        self.root, self.said = root, ""

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text, encoding="utf-8")

    @property
    def kept(self) -> Path:
        return self.root / ".cache" / "tests.json"

    def start(self, *options: str) -> subprocess.CompletedProcess[str]:
        environ = {
            **os.environ,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTEST_PLUGINS": ",".join(PLUGINS),
        }
        arguments = ("pytest", "-v", "-p", "no:cacheprovider", *options)
        return warm_python.run(LOADING, self.root, environ, *arguments)

    def run(self, *options: str) -> set[str]:
        """The tests that passed in a new run."""
        self.said = self.start(*options).stdout
        lines = [line for line in self.said.splitlines() if "PASSED" in line]
        return {found[1] for line in lines if (found := re.search(r"::test_(\w+)", line))}


ALL = {"site", "watched", "slow"}


@pytest.fixture(scope="module")
def tested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project after a first run."""
    project = Project(tmp_path_factory.mktemp("tested"))
    for name, text in FILES.items():
        project.write(name, text)
    assert project.run() == ALL, project.said
    return project.root


@pytest.fixture
def project(tested: Path, tmp_path: Path) -> Project:
    return Project(shutil.copytree(tested, tmp_path / "copy"))


def test_what_passed_stands(project: Project) -> None:
    for options in ((), ("-n", "2")):
        assert project.run(*options) == set()
        assert "tests: 3 more stand as passed before; --prove-again for all" in project.said


def test_prove_again_runs_everything(project: Project) -> None:
    assert project.run("--prove-again") == ALL
    assert project.run() == set()


@pytest.mark.parametrize("asked", [["tests/test_site.py", "tests/headwise"], ["-k", "test"]])
def test_what_is_asked_for_runs(project: Project, asked: list[str]) -> None:
    assert project.run(*asked) == ALL


@pytest.mark.parametrize(
    ("change", "library", "others"),
    [
        ("src/lib.py", True, True),
        ("tests/headwise/helper.py", True, True),
        ("requirements.txt", True, True),
        ("docs/page.md", False, True),
        ("docs/en/labs/new.py", False, True),
        ("tests/test_new.py", False, True),
        (".github/workflows/test.yml", False, True),
        (".coverage.host.1", False, False),
        (".cache/visits/a.json", False, False),
        ("src/__pycache__/lib.pyc", False, False),
        ("__pycache__/conftest.pyc", False, False),
    ],
)
def test_key_is_of_all_that_a_test_may_read(
    project: Project, change: str, library: bool, others: bool
) -> None:
    root = project.root
    before = digest(root, LIBRARY), digest(root)
    project.write(change, "changed = 1\n")
    assert (digest(root, LIBRARY) != before[0], digest(root) != before[1]) == (library, others)


def test_what_may_depend_on_a_change_runs_anew(project: Project) -> None:
    project.write("docs/page.md", "# Another page\n")
    assert project.run() == {"site"}
    assert "tests: 1 run anew, as something changed that they may depend on" in project.said
    assert "tests: 2 more stand" in project.said
    assert project.run() == set()


def test_run_is_not_blamed_for_what_standing_tests_reach(project: Project) -> None:
    """A comment of the source that they check, and the lines that they cover."""
    project.write(
        "pyproject.toml",
        '[tool.pytest.ini_options]\ntestpaths = ["tests"]\npythonpath = ["src"]\n'
        '[tool.coverage.run]\nsource = ["src"]\n[tool.coverage.report]\nfail_under = 100\n'
        '[tool.proseproof]\npages = ["pages"]\nrewrite = ["lib"]\n',
    )
    project.write("src/lib.py", "def f(x):\n    y = x  # (2,)\n    return y\n")
    project.write(
        "tests/headwise/test_watched.py",
        "import lib\nfrom types import SimpleNamespace\n\n\n"
        "def test_watched():\n    lib.f(SimpleNamespace(shape=(2,)))\n",
    )
    options = ("--cov", "--cov-report=term", "-n", "2")
    done = project.start(*options)
    assert done.returncode == 0 and "TOTAL" in done.stdout, done.stdout
    project.write("docs/page.md", "# Another page\n")
    done = project.start(*options)
    assert "tests: 2 more stand" in done.stdout
    assert done.returncode == 0, done.stdout
    assert "TOTAL" not in done.stdout


FAILING = """
import pytest

@pytest.fixture
def ends_badly():
    yield
    assert False

def test_fails():
    assert False

def test_ends_badly(ends_badly):
    pass

def test_is_skipped():
    pytest.skip("today")
"""


def test_only_what_passed_to_its_end_is_kept(project: Project) -> None:
    project.write("tests/test_site.py", FAILING)
    for _ in range(2):
        assert "ends_badly" in project.run()
        for end in ("fails FAILED", "ends_badly ERROR", "is_skipped SKIPPED"):
            assert f"::test_{end}" in project.said


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: text.replace("test_site", "test_size"),
        lambda text: "\x00" * 9,
    ],
    ids=["truncated", "empty", "another test", "garbage"],
)
def test_damaged_file_counts_for_nothing(project: Project, damage: Callable[[str], str]) -> None:
    project.kept.write_text(damage(project.kept.read_text()))
    assert read(project.kept) == ({}, "tests.json was damaged")


def test_after_damage_everything_runs_and_it_is_said(project: Project) -> None:
    project.kept.write_bytes(b"\xff\xfe")
    assert project.run() == ALL
    assert "tests: all run anew, as tests.json was damaged" in project.said
    assert project.run() == set()


def test_a_browser_that_was_merely_started_is_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    browser = tmp_path / "chromium"
    browser.write_text("#!/bin/sh\n")
    monkeypatch.setattr("sitekit.chromium_for_tests.find", lambda: browser)
    before = browser.stat()
    described = kept_tests._machine.__wrapped__()
    os.utime(browser, ns=(before.st_atime_ns + 10**9, before.st_mtime_ns))
    assert kept_tests._machine.__wrapped__() == described
    os.utime(browser, ns=(before.st_atime_ns, before.st_mtime_ns + 10**9))
    assert kept_tests._machine.__wrapped__() != described


def test_another_machine_tests_for_itself(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "default")
    assert project.run() == ALL
