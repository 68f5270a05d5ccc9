"""The drill of instruments: change one small thing that they run, test, and count what is caught.

python -m sitekit.drill --seed 1 --count 60 works in a copy of the project, in which the site is
built once. A change is put into the copy and into its built site, and stays for the tests that ask
for it; these run in one session of pytest, so that the browser starts once. Changes that nobody
catches are listed: each asks for a test, or for less code.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from proseproof.drill_progress import Progress
from sitekit import static_host
from sitekit.drill_changes import FOLDER, Change, choose

ROOT = Path(__file__).parents[2]
START, LIMIT = 1200.0, 180.0  # seconds until the site is built and tested as it is; for a change


@dataclass(frozen=True)
class Outcome:
    """What became of a change: the test that failed, if one did."""

    change: Change
    why: str
    seconds: float


class Session:
    """In pytest, in place of its loop over the tests: for every change, the tests that it needs."""

    def __init__(self, root: Path, site: Path, changes: Sequence[Change], out: Path) -> None:
        self.root, self.site, self.changes, self.out = root, site, changes, out
        self.failed = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the test that fails."""
        if report.failed:
            self.failed = self.failed or f"{report.nodeid}\n{report.longreprtext}"

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Every change in turn, after all tests as things are."""
        self._say(self._run(session.items, session))
        for change in self.changes if not self.failed else ():
            files = [self.root / change.path]
            files.append(self.site / Path(change.path).relative_to("docs"))
            kept = [file.read_bytes() for file in files if file.exists()]
            for file in files[: len(kept)]:
                file.write_text(change.text, encoding="utf-8")
            self._say(self._run(wanted(session.items, change), session))
            for file, before in zip(files, kept, strict=False):
                file.write_bytes(before)
        return True

    def _run(self, items: Sequence[pytest.Item], session: pytest.Session) -> str:
        """Run tests until one fails, and give its name and what it says.

        What a file has set up ends with it, as if no test came next: it has seen the change. What
        the session has set up stays.
        """
        self.failed = ""
        for item, following in zip(items, [*items[1:], None], strict=True):
            same = following is not None and following.path == item.path
            after: Any = following if same else session
            item.ihook.pytest_runtest_protocol(item=item, nextitem=after)
            if self.failed:
                session._setupstate.teardown_exact(session)  # type: ignore[arg-type]
                break
        return self.failed

    def _say(self, why: str) -> None:
        with self.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(why) + "\n")


def wanted(items: Sequence[pytest.Item], change: Change) -> list[pytest.Item]:
    """The tests that a change is for: of those of every instrument, those of the ones it is in."""
    names = {Path(test).stem.removeprefix("test_") for test in change.tests}

    def concerns(item: pytest.Item, part: str) -> bool:
        if part.endswith("test_every_instrument.py"):
            of = getattr(item, "callspec", None)
            return bool(item.nodeid.startswith(part) and of and of.params.get("name") in names)
        return item.nodeid.startswith(part)

    return [item for part in change.tests for item in items if concerns(item, part)]


def work(order: Path) -> int:
    """In the copy: run what the order says."""
    given = json.loads(order.read_text(encoding="utf-8"))
    changes = [Change(**{**one, "tests": tuple(one["tests"])}) for one in given["changes"]]
    static_host.CACHE = "no-store"  # a changed script is not to come out of the browser's cache
    temp = Path(given["temp"])
    plugin = Session(Path.cwd(), temp / "shared" / "site", changes, Path(given["out"]))
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", f"--basetemp={temp}"]
    return int(pytest.main([*options, *given["tests"]], plugins=[plugin]))


class Worker:
    """A process that works through changes in a copy, and is begun anew if it hangs."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.folder, self.copy = folder, folder / "copy"
        made = shutil.ignore_patterns(".git", ".venv", ".cache", "*_cache", "__pycache__")

        def left_out(folder: str, names: list[str]) -> set[str]:
            built = {"site", "node_modules"} if Path(folder) == root else set()
            return made(folder, names) | built

        shutil.copytree(root, self.copy, ignore=left_out)
        (self.copy / ".cache").mkdir()

    def start(self, changes: Sequence[Change]) -> None:
        """Begin with these changes."""
        self.out = self.folder / "out"
        self.out.unlink(missing_ok=True)
        tests = sorted({test for change in changes for test in change.tests})
        order: dict[str, Any] = {"changes": [asdict(one) for one in changes], "tests": tests}
        order |= {"temp": str(self.folder / "temp"), "out": str(self.out)}
        (self.folder / "order").write_text(json.dumps(order), encoding="utf-8")
        # The copy's own modules come first, whatever is installed.
        paths = os.pathsep.join([str(self.copy / "src"), str(ROOT / "src")])
        with (self.folder / "log").open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "sitekit.drill", "--work", str(self.folder / "order")],
                cwd=self.copy,
                env=os.environ | {"PYTHONPATH": paths, "NO_MKDOCS_2_WARNING": "1"},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def answer(self, number: int, limit: float) -> str | None:
        """The answer of this number, or None if it does not come."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            ended = self.process.poll() is not None
            lines = self.out.read_text("utf-8").splitlines() if self.out.exists() else []
            if len(lines) > number:
                return str(json.loads(lines[number]))
            if ended:
                log = (self.folder / "log").read_text("utf-8")
                raise SystemExit(f"the tests could not be run:\n{log[-3000:]}")
            time.sleep(0.05)
        return None

    def stop(self) -> None:
        """End it, and the browser with it."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def drill(root: Path, seed: int, count: int) -> int:
    """Make `count` changes, test each, and print what was caught; 1 when something slips by."""
    changes = choose(root, seed, count)
    print(
        f"First the tests of instruments as they are, then {len(changes)} changes in a copy of "
        "the project, at some seconds each.",
        file=sys.stderr,
    )
    outcomes: list[Outcome] = []
    progress = Progress("changes", [change.kind for change in changes], 1)
    with tempfile.TemporaryDirectory(prefix="sitekit-drill-") as name:
        worker = Worker(root, Path(name))
        try:
            while len(outcomes) < len(changes):
                _work(worker, changes[len(outcomes) :], outcomes, progress)
        finally:
            worker.stop()
    progress.end()
    return _summary(outcomes, seed)


def _work(
    worker: Worker, changes: Sequence[Change], outcomes: list[Outcome], progress: Progress
) -> None:
    """Work until all is done or a change never ends."""
    worker.start(changes)
    before = worker.answer(0, START)
    if before != "":
        raise SystemExit(f"the tests do not hold as things are: {before or 'they never end'}")
    for number, change in enumerate(changes, 1):
        start = time.monotonic()
        why = worker.answer(number, LIMIT)
        outcomes.append(Outcome(change, why or "it never ends" * (why is None), _since(start)))
        progress.note(change.kind, outcomes[-1].seconds)
        progress.show(f", {sum(bool(one.why) for one in outcomes)} caught")
        if why is None:
            worker.stop()
            return


def _since(start: float) -> float:
    return time.monotonic() - start


def _summary(outcomes: Sequence[Outcome], seed: int) -> int:
    kinds: dict[str, list[Outcome]] = defaultdict(list)
    for one in outcomes:
        kinds[one.change.kind].append(one)
    print(f"seed {seed}\n\n{'kind of change':32} {'caught':>7} {'made':>6} {'files':>6}")
    for kind, group in {**kinds, "all": list(outcomes)}.items():
        files = len({one.change.path for one in group})
        print(f"{kind:32} {sum(bool(one.why) for one in group):7} {len(group):6} {files:6}")
    survivors = [one.change for one in outcomes if not one.why]
    for change in survivors:
        name = Path(change.path).relative_to(FOLDER)
        print(f"not caught: {name}:{change.line}: {change.kind}: {change.what}")
    return int(bool(survivors))


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m sitekit.drill", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    return work(options.work) if options.work else drill(ROOT, options.seed, options.count)


if __name__ == "__main__":
    sys.exit(main())
