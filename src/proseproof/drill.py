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
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from proseproof import shape_comments
from proseproof.drill_changes import Author, Change, choose
from proseproof.drill_proofs import means_nothing, prove
from proseproof.execution import sweep
from proseproof.prover import Project
from proseproof.settings import Settings

LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", ".cache", "site", "node_modules", "__pycache__", "*.egg-info", ".*_cache"
)
TIMEOUT = 180


@dataclass
class Outcome:
    """What became of a change: the finding, or why it means nothing, or how the proof broke."""

    change: Change
    caught: bool
    why: str
    reason: str = ""
    broke: str = ""


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

    def finish(self) -> Outcome:
        """The answer; the copy is as it was."""
        assert self.change is not None
        raw = b""
        late = time.monotonic() - self.since > TIMEOUT
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
        return Outcome(change, bool(why), why, answer.get("reason", ""), answer.get("broke", ""))


def _copies(settings: Settings, folder: Path, count: int) -> Iterator[Worker]:
    for number in range(count):
        root = folder / str(number)
        shutil.copytree(settings.root, root, ignore=LEFT_OUT)
        copy = Settings.load(root)
        assert copy is not None
        project = Project(copy)
        for path in project.paths():
            project.page(path)
        yield Worker(copy, project)


def drill(settings: Settings, seed: int, count: int, workers: int) -> int:
    """Make `count` changes, prove each, and print what was caught; 1 when something slips by."""
    with tempfile.TemporaryDirectory(prefix="proseproof-drill-") as folder:
        team = list(_copies(settings, Path(folder), workers))
        pages = team[0].project.pages.values()
        if any("torch" in block.code for page in pages for block in page.blocks):
            with contextlib.suppress(ImportError):  # the pages will say so
                import torch

                torch.set_num_threads(1)  # threads do not survive a fork
        sys.meta_path.insert(0, shape_comments.Finder(settings.rewrite))
        broken = _before(team[0])
        if broken:
            print(f"the pages do not hold as they are: {broken}", file=sys.stderr)
            return 2
        changes = choose(Author(Project(settings), seed), count)
        outcomes = _work(team, changes)
    return _summary(outcomes, seed)


def _before(worker: Worker) -> str:
    """What is wrong with the project as it is."""
    texts = {path: worker.project.page(path).text for path in worker.project.paths()}
    worker.start(Change("nothing", "", 0, "", texts, True))
    select.select([worker.pipe], [], [])
    outcome = worker.finish()
    return outcome.why or outcome.broke


def _work(team: list[Worker], changes: list[Change]) -> list[Outcome]:
    waiting, outcomes = list(changes), []
    while waiting or any(worker.change for worker in team):
        for worker in team:
            if worker.change is None and waiting:
                worker.start(waiting.pop(0))
        busy = [worker for worker in team if worker.change is not None]
        ready, _, _ = select.select([worker.pipe for worker in busy], [], [], 1.0)
        for worker in busy:
            if worker.pipe in ready or time.monotonic() - worker.since > TIMEOUT:
                outcomes.append(worker.finish())
                caught = sum(outcome.caught for outcome in outcomes)
                progress = f"\r{len(outcomes)}/{len(changes)} changes, {caught} caught"
                print(progress, end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return outcomes


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
