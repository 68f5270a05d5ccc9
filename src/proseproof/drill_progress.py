"""How far the drill has come, and how long it will go on."""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from statistics import mean
from typing import TextIO

EVERY = 20.0  # seconds between two lines in a log


class Progress:
    """One line that is written again and again; in a log, a line now and then.

    `kinds` says of each thing to do of which kind it is: what takes as long as the others.
    """

    def __init__(
        self, what: str, kinds: Iterable[Hashable], workers: int, out: TextIO | None = None
    ) -> None:
        self.what, self.workers = what, workers
        self.left = Counter(kinds)
        self.total = self.left.total()
        self.times: dict[Hashable, list[float]] = defaultdict(list)
        self.out = out or sys.stderr
        self.last = time.monotonic()
        self.text = ""

    def note(self, kind: Hashable, seconds: float) -> None:
        """One of this kind is done."""
        self.left[kind] -= 1
        self.times[kind].append(seconds)

    def show(self, more: str = "") -> None:
        """Say how many are done, and when the rest will be."""
        now = time.monotonic()
        done = self.total - self.left.total()
        text = f"{done}/{self.total} {self.what}{more}{self.remaining()}"
        if self.out.isatty():
            self.out.write(f"\r{text.ljust(len(self.text))}")
            self.out.flush()
        elif now - self.last >= EVERY:
            print(text, file=self.out, flush=True)
            self.last = now
        self.text = text

    def remaining(self) -> str:
        """How long the rest takes, if each kind goes on as it did."""
        left = {kind: count for kind, count in self.left.items() if count}
        known = [kind for kind in left if self.times[kind]]
        if not known:
            return ""
        seconds = sum(left[kind] * mean(self.times[kind]) for kind in known) / self.workers
        if len(known) < len(left):
            return f", more than {_minutes(seconds)} left"
        return f", {_about(seconds)} left"

    def end(self) -> None:
        """Leave the last line as it is; a log gets it now."""
        print("" if self.out.isatty() else self.text, file=self.out, flush=True)


def estimate(took: dict[str, float], changes: list[list[str]], workers: int) -> str:
    """How long changes take: each as long as the slowest of its files did as it was.

    A file that is no page takes as long as a page does.
    """
    usual = mean(took.values())
    each = [max([took[path] for path in paths if path in took], default=usual) for paths in changes]
    return _about(sum(each) / workers)


def _about(seconds: float) -> str:
    return f"about {_minutes(seconds)}" if seconds >= 60 else "less than a minute"


def _minutes(seconds: float) -> str:
    whole = max(1, round(seconds / 60))
    return f"{whole} minute{'s' * (whole > 1)}"
