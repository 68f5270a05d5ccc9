"""The pytest plugin: proves every page of a project that has a `[tool.proseproof]` section.

pytest-codeblocks goes on running the blocks; this plugin collects what it would miss, and asks
more of each page. It does nothing in a project without that section. Under pytest-xdist the pages
of a pair are proved by one worker, and the workers' reports are put together.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from pytest_codeblocks.plugin import MarkdownFile, TestBlock

from proseproof import github_annotations, report, shape_comments, since, workers
from proseproof.accounted import nobody_checks
from proseproof.messages import Finding, ProofError
from proseproof.project import Project, check_project
from proseproof.prover import PageProof
from proseproof.settings import Settings, SettingsError, source_files

KEY = pytest.StashKey["Session"]()
ANNOTATION = "github annotation"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The two options."""
    group = parser.getgroup("proseproof", "proofs of pages")
    group.addoption(
        "--prove-again",
        action="store_true",
        help="prove every page from nothing, whatever earlier runs have kept",
    )
    group.addoption(
        "--since",
        metavar="REV",
        default="",
        help="only what changed since this git revision: pages that the change touches, and tests "
        "that changed or share their name with a source that did",
    )


class Session:
    """One test run: the project, its proofs so far, and the finder that asserts shapes."""

    def __init__(self, settings: Settings, config: pytest.Config) -> None:
        self.settings, self.config = settings, config
        again = bool(config.getoption("prove_again", False))
        self.project = Project(settings, again=again)
        self.first = next(iter(self.project.paths()), "")
        self.proofs: dict[str, PageProof] = {}
        self.left: dict[str, set[str]] = {}
        self.deselected = False
        self.changed: set[str] = set()
        self.touched: since.Touched | None = None
        self.left_out: list[str] = []
        self.finder = shape_comments.Finder(settings.rewrite)
        self.collected: set[str] = set()
        self.never_ran: list[Finding] = []
        self.done: list[report.PageEntry] = []
        self.ran: set[tuple[str, int]] = set()
        self.kept: set[str] = set()
        self.redone: dict[str, str] = {}

    @property
    def is_whole(self) -> bool:
        """True when this run covers the whole suite, so that what did not run never does."""
        source = self.config.args_source
        return source is pytest.Config.ArgsSource.TESTPATHS and not self.deselected

    def gather(self) -> None:
        """Take in what this process itself has proved."""
        keeper = self.project.keeper
        self.collected |= {*self.proofs}
        self.done += [proof.entry for path, proof in self.proofs.items() if not self.left[path]]
        self.ran |= {place for place, one in shape_comments.registry.items() if one.ran}
        self.ran |= keeper.ran
        self.kept |= keeper.kept
        self.redone |= keeper.redone

    def to_send(self) -> str:
        """What a worker tells the process that started it."""
        done = [asdict(entry) for entry in self.done]
        sets = [sorted(self.collected), sorted(self.ran), sorted(self.kept)]
        return json.dumps([done, *sets, self.redone, self.left_out, self.deselected])

    def receive(self, text: str) -> None:
        """Take in what a worker has proved."""
        done, collected, ran, kept, redone, left_out, deselected = json.loads(text)
        self.done += [report.page_from(entry) for entry in done]
        self.collected |= set(collected)
        self.ran |= {(path, line) for path, line in ran}
        self.kept |= set(kept)
        self.redone |= redone
        self.left_out, self.deselected = left_out, deselected

    def unproved(self) -> list[Finding]:
        """Pages in what pytest was asked to run that it passed over, as it does docs/build."""
        if self.deselected or self.config.option.ignore or self.config.option.ignore_glob:
            return []
        root = self.settings.root
        asked = [self.config.invocation_params.dir / one for one in self.config.args]
        if self.config.args_source is not pytest.Config.ArgsSource.ARGS:
            asked = [root]
        message = "this page has no proof: pytest did not collect it"
        remedy = "move it, or let pytest into its folder: norecursedirs and testpaths decide"
        return [
            Finding(path, 1, message, remedy=remedy)
            for path in self.project.paths()
            if path not in self.collected and any((root / path).is_relative_to(a) for a in asked)
        ]

    def unrun(self) -> list[Finding]:
        """Comments in the source that no test checked, or that nothing can check."""
        root = self.settings.root
        found = []
        for name in self.settings.rewrite:
            for file in source_files(root, name):
                path = file.relative_to(root).as_posix()
                source = file.read_text(encoding="utf-8")
                ends, alone, unchecked = shape_comments.comments_of(source)
                found += [nobody_checks(path, line, *said) for line, *said in unchecked]
                for line in sorted({*ends, *alone}):
                    if (str(file), line) not in self.ran:
                        message = "this shape comment was never checked: no test runs its line"
                        found.append(
                            Finding(path, line, message, "", "test the line, or remove it")
                        )
        return found


def pytest_configure(config: pytest.Config) -> None:
    """Read the settings and begin to assert shape comments."""
    try:
        settings = Settings.load(config.rootpath)
        session = None if settings is None else Session(settings, config)
    except SettingsError as error:
        raise pytest.UsageError(str(error)) from None
    if settings is None or session is None:
        return
    config.stash[KEY] = session
    if revision := config.getoption("since", ""):
        try:
            session.changed = since.changed_files(settings.root, revision)
        except since.SinceError as error:
            raise pytest.UsageError(str(error)) from None
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
    if session is None or not session.settings.covers(file_path):
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
        if path == session.first:
            steps.append(("project", lambda: check_project(session.project)))
        session.left[path] = {name for name, _ in steps}
        only_links = session.touched is not None and path in session.touched.linking_pages
        for name, step in steps[:1] if only_links else steps:
            yield ProofItem.from_parent(self, name=name, step=step, page=path)


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
            # Properties go with the report, from a worker of pytest-xdist too.
            lines = github_annotations.lines(findings, self.config.rootpath)
            self.user_properties += [(ANNOTATION, line) for line in lines]
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


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `--since`, leave out the pages and tests that the change does not touch."""
    session = config.stash.get(KEY, None)
    revision = config.getoption("since", "")
    if session is None or not revision or collection_path.suffix not in (".py", ".md"):
        return None
    if collection_path.name == "conftest.py" or collection_path.is_dir():
        return None
    session.touched = session.touched or since.Touched(session.project, session.changed)
    place = collection_path.relative_to(session.settings.root).as_posix()
    if session.touched.includes(place):
        return None
    session.left_out.append(place)
    session.deselected = True
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let what takes longest go first, so that no worker is left with it alone at the end."""
    items.sort(key=lambda item: getattr(item, "page", "")[-3:] != ".py")


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Remember that not everything ran."""
    for item in items[:1]:
        session = item.config.stash.get(KEY, None)
        if session is not None:
            session.deselected = True


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let one worker prove both languages of a page, unless another way to share was chosen."""
    session = config.stash.get(KEY, None)
    if session is None or config.getoption("dist") != "load":
        return None
    return workers.scheduler(config, log, session.settings)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: Any) -> None:
    """Take in what a worker of pytest-xdist has proved."""
    session = node.config.stash.get(KEY, None)
    text = getattr(node, "workeroutput", {}).get("proseproof")
    if session is not None and text:
        session.receive(text)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write the report, and look for pages and shape comments that never ran."""
    ours = session.config.stash.get(KEY, None)
    if ours is None:
        return
    ours.gather()
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["proseproof"] = ours.to_send()
        return
    if ours.done and not session.config.option.collectonly:
        file = ours.settings.root / ours.settings.report
        report.merge(report.load(file), ours.done, ours.project.paths()).save(file)
    if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        ours.never_ran = ours.unproved()
        if ours.is_whole and exitstatus == pytest.ExitCode.OK:
            ours.never_ran += ours.unrun()
        if ours.never_ran:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
    elif exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and ours.left_out:
        session.exitstatus = pytest.ExitCode.OK  # a change that touches nothing is no failure


def _annotate(session: Session, reporter: pytest.TerminalReporter) -> None:
    """Write the findings as GitHub reads them, when it does."""
    failed = reporter.stats.get("failed", [])
    said = [text for one in failed for name, text in one.user_properties if name == ANNOTATION]
    said += github_annotations.lines(session.never_ran, session.settings.root)
    for line in dict.fromkeys(said):
        reporter.write_line(line)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how much was proved, what was kept from earlier runs, left out or skipped."""
    session = terminalreporter.config.stash.get(KEY, None)
    if session is None:
        return
    say = terminalreporter.write_line
    _annotate(session, terminalreporter)
    if session.left_out:
        pages = [place for place in session.left_out if place in session.project.paths()]
        tests = len(session.left_out) - len(pages)
        say(
            f"proseproof: left out, as nothing touches them: {len(pages)} pages, {tests} test files"
        )
    for finding in session.never_ran:
        say(str(finding), red=True)
    if not session.done:
        return
    entries = session.done
    shown, accounted = sum(one.shown for one in entries), sum(one.accounted for one in entries)
    claims = sum(one.claims_judged for one in entries)
    mentions = sum(one.mentions_found for one in entries)
    hold = "1 claim holds" if claims == 1 else f"{claims} claims hold"
    exist = ", 1 mention exists" if mentions == 1 else f", {mentions} mentions exist"
    bound = sum(one.numbers.get("bound", 0) for one in entries)
    numbers = f", {bound} numbers are bound" * bool(bound)
    exist *= bool(mentions)
    say(f"proseproof: {shown} shown, {accounted} accounted for; {hold}{exist}{numbers}")
    if session.kept:
        say(f"proseproof: {len(session.kept)} pages stand as proved before; --prove-again for all")
    reasons: dict[str, list[str]] = {}
    for path, why in sorted(session.redone.items()):
        reasons.setdefault(why, []).append(path)
    for why, paths in reasons.items():
        if why not in ("not proved before", "asked for"):
            say(
                f"proseproof: proved anew, as {why}: {', '.join(paths[:3])}"
                + " …" * (len(paths) > 3)
            )
    for entry in entries:
        for block in entry.blocks:
            if block.kind == "skipped":
                say(f"skipped {entry.path}:{block.line}: {block.reason}")
