"""How far the drill has come, and how long it will go on."""

from __future__ import annotations

import sys
import time
from typing import TextIO

EVERY = 20.0  # seconds between two lines in a log


class Progress:
    """One line that is written again and again; in a log, a line now and then."""

    def __init__(self, what: str, total: int, out: TextIO | None = None) -> None:
        self.what, self.total = what, total
        self.out = out or sys.stderr
        self.began = self.last = time.monotonic()
        self.text = ""

    def show(self, done: int, more: str = "") -> None:
        """Say that `done` are done, and when the rest will be."""
        now = time.monotonic()
        left = f", {remaining(now - self.began, done, self.total)}" if done < self.total else ""
        text = f"{done}/{self.total} {self.what}{more}{left}"
        if self.out.isatty():
            self.out.write(f"\r{text.ljust(len(self.text))}")
            self.out.flush()
        elif now - self.last >= EVERY:
            print(text, file=self.out, flush=True)
            self.last = now
        self.text = text

    def end(self) -> None:
        """Leave the last line as it is; a log gets it now."""
        print("" if self.out.isatty() else self.text, file=self.out, flush=True)


def remaining(seconds: float, done: int, total: int) -> str:
    """How long the rest takes, if it goes on as it did."""
    if not done:
        return "the time left shows once the first is done"
    minutes = seconds / done * (total - done) / 60
    if minutes < 1:
        return "less than a minute left"
    return f"about {minutes:.0f} minute{'s' * (round(minutes) > 1)} left"
