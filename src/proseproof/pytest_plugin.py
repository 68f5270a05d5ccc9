"""The pytest plugin: proves every page of a project that has a `[tool.proseproof]` section.

pytest-codeblocks goes on running the blocks; this plugin collects what it would miss, and asks
more of each page. It does nothing in a project without that section.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any

import pytest
from pytest_codeblocks.plugin import MarkdownFile, TestBlock

from proseproof import lab_runner, report, shape_comments
from proseproof.messages import Finding, ProofError
from proseproof.prover import PageProof, Project, check_project
from proseproof.settings import Settings, source_files

KEY = pytest.StashKey["Session"]()


class Session:
    """One test run: the project, its proofs so far, and the finder that asserts shapes."""

    def __init__(self, settings: Settings, config: pytest.Config) -> None:
        self.settings, self.config = settings, config
        self.project = Project(settings)
        self.first = next(iter(self.project.paths()), "")
        self.proofs: dict[str, PageProof] = {}
        self.left: dict[str, set[str]] = {}
        self.deselected = False
        self.finder = shape_comments.Finder(settings.rewrite)
        self.never_ran: list[Finding] = []

    @property
    def is_whole(self) -> bool:
        """True when this run covers the whole suite, so that what did not run never does."""
        source = self.config.args_source
        return source is pytest.Config.ArgsSource.TESTPATHS and not self.deselected

    def unrun(self) -> list[Finding]:
        """Shape comments in the source whose line no test ran."""
        root = self.settings.root
        ran = {place for place, comment in shape_comments.registry.items() if comment.ran}
        found = []
        for name in self.settings.rewrite:
            for file in source_files(root, name):
                ends, alone, _ = shape_comments.comments_of(file.read_text(encoding="utf-8"))
                for line in sorted({*ends, *alone}):
                    if (str(file), line) not in ran:
                        path = file.relative_to(root).as_posix()
                        message = "this shape comment was never checked: no test runs its line"
                        found.append(
                            Finding(path, line, message, "", "test the line, or remove it")
                        )
        return found


def pytest_configure(config: pytest.Config) -> None:
    """Read the settings and begin to assert shape comments."""
    settings = Settings.load(config.rootpath)
    if settings is None:
        return
    session = Session(settings, config)
    config.stash[KEY] = session
    for name in [*sys.modules]:
        if name.partition(".")[0] in settings.rewrite:
            del sys.modules[name]
    sys.meta_path.insert(0, session.finder)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave the interpreter as it was."""
    session = config.stash.get(KEY, None)
    if session is not None and session.finder in sys.meta_path:
        sys.meta_path.remove(session.finder)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Our collector in place of the one that would miss things."""
    found = yield
    session = parent.config.stash.get(KEY, None)
    if session is None or not parent.config.getoption("codeblocks", False):
        return found
    if not session.settings.covers(file_path):
        return found
    # A lab that is named on the command line would be taken for a test module as well.
    kept = [one for one in found if not isinstance(one, MarkdownFile | pytest.Module)]
    return [PageFile.from_parent(parent, path=file_path), *kept]


class PageFile(MarkdownFile):  # type: ignore[misc]
    """A page or a lab."""

    def collect(self) -> Iterable[pytest.Item]:
        """One item for each proof."""
        session = self.config.stash[KEY]
        path = self.path.relative_to(session.settings.root).as_posix()
        proof = PageProof(session.project, path)
        session.proofs[path] = proof
        steps = proof.steps()
        if proof.page.is_lab:
            steps[-1] = ("cells", lambda: [*lab_runner.proved(proof), *proof.recorded()])
        session.left[path] = {name for name, _ in steps}
        for name, step in steps:
            yield ProofItem.from_parent(self, name=name, step=step, page=path)
        if path == session.first:
            yield ProofItem.from_parent(
                self, name="project", step=lambda: check_project(session.project), page=path
            )


class ProofItem(TestBlock):  # type: ignore[misc]
    """One proof of one page."""

    def __init__(
        self, name: str, parent: PageFile, step: Callable[[], list[Finding]], page: str
    ) -> None:
        super().__init__(name, parent)
        self.step, self.page = step, page

    def runtest(self) -> None:
        """Prove, and raise what was found."""
        findings = self.step()
        self.config.stash[KEY].left[self.page].discard(self.name)
        if findings:
            raise ProofError(findings)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The findings; for an error of our own, its traceback."""
        if isinstance(excinfo.value, ProofError):
            return str(excinfo.value)
        return pytest.Item.repr_failure(self, excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where the proof stands in the page."""
        first, _, number = self.name.partition(" ")
        line = int(number) - 1 if first == "line" and number.isdigit() else 0
        return self.path, line, f"{self.page}: {self.name}"


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Remember that not everything ran."""
    for item in items[:1]:
        session = item.config.stash.get(KEY, None)
        if session is not None:
            session.deselected = True


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write the report, and look for shape comments that never ran."""
    ours = session.config.stash.get(KEY, None)
    if ours is None:
        return
    done = [proof.entry for path, proof in ours.proofs.items() if not ours.left[path]]
    if done and not session.config.option.collectonly:
        file = ours.settings.root / ours.settings.report
        report.merge(report.load(file), done, ours.project.paths()).save(file)
    if ours.is_whole and exitstatus == pytest.ExitCode.OK:
        ours.never_ran = ours.unrun()
        if ours.never_ran:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how much was proved, and what was skipped."""
    session = terminalreporter.config.stash.get(KEY, None)
    if session is None or not session.proofs:
        return
    for finding in session.never_ran:
        terminalreporter.write_line(str(finding), red=True)
    entries = [proof.entry for proof in session.proofs.values()]
    shown, accounted = sum(one.shown for one in entries), sum(one.accounted for one in entries)
    claims = sum(one.claims_checked for one in entries)
    terminalreporter.write_line(
        f"proseproof: {shown} shown, {accounted} accounted for; {claims} claims hold"
    )
    for entry in entries:
        for block in entry.blocks:
            if block.kind == "skipped":
                terminalreporter.write_line(f"skipped {entry.path}:{block.line}: {block.reason}")
