"""The drill: change one small thing at a time, run the proofs, and count what they catch.

Every change is made in a copy of the project. What both languages show (claims, blocks, outputs,
shapes) is changed in both, so that the comparison of the two cannot be what catches it, and the
lock is then left out; the lock and the comparison are drilled by changes to one language alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from proseproof import shape_comments
from proseproof.drill_changes import Author, Change
from proseproof.drill_kinds import choose, kinds
from proseproof.drill_progress import Progress, estimate
from proseproof.drill_proofs import prove
from proseproof.drill_reasons import means_nothing
from proseproof.execution import sweep
from proseproof.project import Project, check_project
from proseproof.settings import Settings

TIMEOUT = 180.0  # seconds in which most changes are proved
ENDLESS = 3600.0


@dataclass
class Outcome:
    """What became of a change: the finding, or why it means nothing, or how the proof broke."""

    change: Change
    caught: bool
    why: str
    reason: str = ""
    broke: str = ""
    seconds: float = 0.0


@dataclass
class Worker:
    """One copy of the project, in which one change at a time is proved."""

    settings: Settings
    project: Project
    change: Change | None = None
    pid: int = 0
    pipe: int = 0
    since: float = 0.0
    kept: dict[str, str] = field(default_factory=dict)

    def start(self, change: Change) -> None:
        """Make the change and prove it in a forked process."""
        root = self.settings.root
        self.change, self.since = change, time.monotonic()
        self.kept = {path: (root / path).read_text(encoding="utf-8") for path in change.texts}
        for path, text in change.texts.items():
            (root / path).write_text(text, encoding="utf-8")
        self.pipe, writer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.pipe)
            os.setpgid(0, 0)
            null = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(null, number)
            answer = {"why": "", "reason": "", "broke": ""}
            try:
                sys.path.insert(0, str(root / "src"))
                answer["why"] = prove(self.settings, self.project, change)
                if not answer["why"]:
                    answer["reason"] = means_nothing(self.settings, self.project, change)
            except BaseException as error:  # a proof that breaks has caught nothing
                answer["broke"] = f"{type(error).__name__}: {error}"
            sweep()
            os.write(writer, json.dumps(answer).encode())
            os._exit(0)
        os.close(writer)

    def finish(self, late: bool = False) -> Outcome:
        """The answer; the copy is as it was. What is late is stopped."""
        assert self.change is not None
        raw = b""
        if late:
            os.killpg(self.pid, signal.SIGKILL)
        while chunk := os.read(self.pipe, 65536):
            raw += chunk
        os.close(self.pipe)
        os.waitpid(self.pid, 0)
        for path, text in self.kept.items():
            (self.settings.root / path).write_text(text, encoding="utf-8")
        answer = json.loads(raw) if raw else {"why": "the interpreter crashed"}
        why = "it never ends" if late else answer["why"]
        change, self.change = self.change, None
        reason, broke = answer.get("reason", ""), answer.get("broke", "")
        return Outcome(change, bool(why), why, reason, broke, time.monotonic() - self.since)


def _left_out(root: Path) -> Callable[[str, list[str]], set[str]]:
    """What a copy does without: what was built, installed or kept, and the history."""
    anywhere = shutil.ignore_patterns(
        ".git", ".venv", ".cache", ".*_cache", ".hypothesis", "__pycache__", "*.egg-info"
    )
    at_the_top = shutil.ignore_patterns("site", "node_modules", "build", "dist")

    def left_out(folder: str, names: list[str]) -> set[str]:
        here = anywhere(folder, names)
        return here | at_the_top(folder, names) if Path(folder) == root else here

    return left_out


def _copies(settings: Settings, folder: Path, count: int) -> Iterator[Worker]:
    for number in range(count):
        root = folder / str(number)
        shutil.copytree(settings.root, root, ignore=_left_out(settings.root))
        copy = Settings.load(root)
        assert copy is not None
        project = Project(copy)
        for path in project.paths():
            project.page(path)
        yield Worker(copy, project)


def drill(settings: Settings, seed: int, count: int, workers: int, words: list[str]) -> int:
    """Make `count` changes, prove each, and print what was caught; 1 when something slips by.

    `words` choose the kinds of change by their names; without any, every kind is made.
    """
    os.environ["OMP_NUM_THREADS"] = "1"  # threads do not survive a fork
    with tempfile.TemporaryDirectory(prefix="proseproof-drill-") as folder:
        team = list(_copies(settings, Path(folder), workers))
        pages = team[0].project.pages.values()
        if any("torch" in block.code for page in pages for block in page.blocks):
            with contextlib.suppress(ImportError):  # the pages will say so
                import torch

                torch.set_num_threads(1)
        sys.meta_path.insert(0, shape_comments.Finder(settings.rewrite))
        print(
            f"First the {len(pages)} pages as they are, then {count} changes, "
            f"{workers} at a time, in a copy of the project.",
            file=sys.stderr,
        )
        before = _as_they_are(team)
        broken = [one.why or one.broke for one in before if one.caught or one.broke]
        broken += [
            f"{one.path}:{one.line}: {one.message}" for one in check_project(Project(settings))
        ]
        if broken:
            print(f"the pages do not hold as they are: {broken[0]}", file=sys.stderr)
            return 2
        # What takes long as it is takes long when it is changed.
        limit = max(TIMEOUT, *(5 * one.seconds for one in before))
        author = Author(Project(settings), seed)
        changes = choose(author, count, words)
        if not changes:
            print(f"nothing to change; the kinds are: {', '.join(kinds(author))}", file=sys.stderr)
            return 2
        took = {path: one.seconds for one in before for path in one.change.texts}
        soon = estimate(took, [list(change.texts) for change in changes], workers)
        print(f"{len(changes)} changes will take {soon}.", file=sys.stderr)
        outcomes = _work(team, changes, limit, "changes")
    return _summary(outcomes, seed)


def _as_they_are(team: list[Worker]) -> list[Outcome]:
    """The proofs of every page, with its translation, before anything is changed."""
    project = team[0].project
    groups: dict[str, dict[str, str]] = defaultdict(dict)
    for path in project.paths():
        place = project.settings.language(path)
        groups[place[1] if place else path][path] = project.page(path).text
    changes = [Change("nothing", "", 0, name, texts, True) for name, texts in groups.items()]
    # A page, then the labs, which take longest: so it is soon known how long the rest will take.
    changes.sort(key=lambda change: not change.is_lab)
    changes.insert(0, changes.pop())
    return _work(team, changes, ENDLESS, "pages as they are", until_caught=True)


def _work(
    team: list[Worker], changes: list[Change], limit: float, what: str, until_caught: bool = False
) -> list[Outcome]:
    waiting: list[Change] = list(changes)
    outcomes: list[Outcome] = []
    progress = Progress(what, [change.is_lab for change in changes], len(team))
    while waiting or any(worker.change for worker in team):
        for worker in team:
            if worker.change is None and waiting:
                worker.start(waiting.pop(0))
        busy = [worker for worker in team if worker.change is not None]
        ready, _, _ = select.select([worker.pipe for worker in busy], [], [], 1.0)
        for worker in busy:
            if worker.pipe in ready or time.monotonic() - worker.since > limit:
                outcomes.append(worker.finish(worker.pipe not in ready))
                progress.note(outcomes[-1].change.is_lab, outcomes[-1].seconds)
                if until_caught and (outcomes[-1].caught or outcomes[-1].broke):
                    waiting.clear()
        caught = sum(outcome.caught for outcome in outcomes)
        progress.show("" if until_caught else f", {caught} caught")
    progress.end()
    return sorted(outcomes, key=lambda outcome: changes.index(outcome.change))


def _judge(why: str) -> str:
    """Which proof caught a change."""
    head = why.partition(":")[0]
    words = head.split(" ")
    return "blocks" if words[-2:-1] == ["line"] else words[-1] if len(words) == 2 else head


def _summary(outcomes: list[Outcome], seed: int) -> int:
    kinds: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        kinds[outcome.change.kind].append(outcome)
    print(f"seed {seed}\n")
    print(f"{'kind of change':32} {'caught':>7} {'made':>6} {'files':>6}")
    for kind, group in kinds.items():
        caught = sum(outcome.caught for outcome in group)
        files = len({outcome.change.path for outcome in group})
        print(f"{kind:32} {caught:7} {len(group):6} {files:6}")
    caught = sum(outcome.caught for outcome in outcomes)
    files = len({outcome.change.path for outcome in outcomes})
    print(f"{'all':32} {caught:7} {len(outcomes):6} {files:6}\n")
    judges = Counter(_judge(outcome.why) for outcome in outcomes if outcome.caught)
    print("caught by: " + ", ".join(f"{name} {n}" for name, n in judges.most_common()) + "\n")
    survivors = [outcome for outcome in outcomes if not outcome.caught]
    for outcome in survivors:
        change = outcome.change
        print(f"not caught: {change.path}:{change.line}: {change.kind}: {change.what}")
        broke = f"the proof broke: {outcome.broke}" if outcome.broke else ""
        print(f"    {outcome.reason or broke or 'UNEXPLAINED'}")
    return int(any(not outcome.reason for outcome in survivors))
