"""Tests that passed stand until something changes that they may depend on, as proofs of pages do.

In a run of everything, a test is left out while all files that it may read, and all that is
installed, are as they were when it passed. The run says how many stand. What is asked for by name
runs, and so does everything with --prove-again, which CI does: there coverage is asked for.
"""

import functools
import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from proseproof import kept_proofs
from proseproof.report import write_whole
from sitekit import chromium_for_tests

BUILT = {".git", ".venv", ".cache", ".hypothesis", "site", "node_modules", "__pycache__"}
LIBRARY = ("src", "tests/headwise")  # all that a test of the library can read


def is_watched(item: pytest.Item) -> bool:
    """Whether coverage watches this test: one of the library, that does not say `no_cover`."""
    library = item.config.rootpath / "tests" / "headwise"
    return library in item.path.parents and not item.get_closest_marker("no_cover")


def _is_made(name: str) -> bool:
    """Whether a file or folder is what tools and runs leave, and no test reads."""
    return name in BUILT or name.startswith(".coverage") or name.endswith(("_cache", ".egg-info"))


def _files(top: Path) -> list[Path]:
    found = []
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if not _is_made(name)]
        found += [Path(folder, name) for name in names if not _is_made(name)]
    return found


def digest(root: Path, tops: tuple[str, ...] = ()) -> str:
    """A hash of the files at the top of the project and in these folders; else in all of them."""
    files = [file for top in tops for file in _files(root / top)] if tops else _files(root)
    files += [file for file in root.iterdir() if file.is_file() and not _is_made(file.name)]
    found = hashlib.sha256(_machine().encode())
    for file in sorted({*files}):
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        found.update(f"{file.relative_to(root).as_posix()} {content}\n".encode())
    return found.hexdigest()


@functools.cache
def _machine() -> str:
    """What is installed: packages, the browser, fonts."""
    browser = chromium_for_tests.find()
    fonts = shutil.which("fc-list")
    said = subprocess.run([fonts], capture_output=True, text=True).stdout if fonts else ""
    seen = [kept_proofs._environment(), *sorted(said.splitlines())]
    if browser:
        stat = Path(browser).stat()  # not when it was last read
        seen += [str(browser), str(stat.st_size), str(stat.st_mtime_ns)]
    return "\n".join(seen)


def read(file: Path) -> tuple[dict[str, str], str]:
    """The tests that passed, each with the hash under which it did; and what is wrong, if it is."""
    if not file.is_file():
        return {}, ""
    try:
        check, _, text = file.read_text(encoding="utf-8").partition("\n")
        if hashlib.sha256(text.encode()).hexdigest() != check:
            raise ValueError
        return dict(json.loads(text)), ""
    except (OSError, ValueError):
        return {}, f"{file.name} was damaged"


class KeptTests:
    """The plugin: leaves out what stands, and keeps what passed."""

    def __init__(self, config: pytest.Config) -> None:
        self.root, self.file = config.rootpath, config.rootpath / ".cache" / "tests.json"
        told = getattr(config, "workerinput", None)
        if told is None:
            asked = config.args_source is not pytest.Config.ArgsSource.TESTPATHS
            some = config.option.keyword or config.option.markexpr or config.option.collectonly
            self.active = not (asked or some)
        else:
            self.active = told["keeps_tests"]
        self.again = bool(config.getoption("prove_again", False))
        self.kept, self.damage = read(self.file) if self.active else ({}, "")
        self.passed: dict[str, str] = {}
        self.stand = self.changed = 0

    @functools.cached_property
    def keys(self) -> dict[bool, str]:
        """The hash for tests of the library, and for all others."""
        return {True: digest(self.root, LIBRARY), False: digest(self.root)}

    def key(self, item: pytest.Item) -> str:
        """The hash of all that a test may depend on; nothing for a page, which is kept itself."""
        if not isinstance(item, pytest.Function):
            return ""
        return self.keys[item.path.is_relative_to(self.root / "tests" / "headwise")]

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of pytest-xdist, which does not know what was asked for."""
        node.workerinput["keeps_tests"] = self.active

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Leave out what stands."""
        if not self.active:
            return
        left, stand = [], []
        for item in items:
            key, before = self.key(item), self.kept.get(item.nodeid)
            if key and key == before and not self.again:
                stand.append(item)
                continue
            self.changed += bool(before and not self.again)
            if key:
                item.user_properties.append(("kept under", key))
            left.append(item)
        items[:], self.stand = left, len(stand)
        if stand:  # what no test of this run reaches may be reached by one of these
            config.hook.pytest_deselected(items=stand)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what passed, from its beginning to its end."""
        key = dict(report.user_properties).get("kept under")
        if report.outcome != "passed":
            self.passed[report.nodeid] = ""
        elif key and report.when == "call":
            self.passed.setdefault(report.nodeid, key)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Each worker leaves out the same."""
        output = getattr(node, "workeroutput", {})
        self.stand, self.changed = output.get("kept tests", (self.stand, self.changed))
        coverage = node.config.pluginmanager.getplugin("_cov")
        if self.stand and coverage is not None:
            # Asked for where everything runs, as in CI.
            coverage.options.cov_fail_under, coverage.options.cov_report = 0, {}

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Keep what passed, and what stands."""
        if (output := getattr(session.config, "workeroutput", None)) is not None:
            output["kept tests"] = self.stand, self.changed
        elif self.active:
            known = {*self.keys.values()}
            now = {name: key for name, key in (self.kept | self.passed).items() if key in known}
            text = json.dumps(now, sort_keys=True)
            write_whole(self.file, f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what stands and what was done again."""
        say = terminalreporter.write_line
        if self.stand:
            say(f"tests: {self.stand} more stand as passed before; --prove-again for all")
        if self.changed:
            say(f"tests: {self.changed} run anew, as something changed that they may depend on")
        if self.damage:
            say(f"tests: all run anew, as {self.damage}")
