"""The drill says how far it is and how long it will take, on a screen and in a log."""

import io

import pytest

from proseproof import drill_progress
from proseproof.drill_progress import Progress, remaining


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("seconds", "done", "said"),
    [
        (0, 0, "the time left shows once the first is done"),
        (10, 90, "less than a minute left"),
        (60, 50, "about 1 minute left"),
        (60, 20, "about 4 minutes left"),
    ],
)
def test_time_left_goes_by_the_time_so_far(seconds: float, done: int, said: str) -> None:
    assert remaining(seconds, done, 100) == said


def test_screen_shows_one_line_that_changes() -> None:
    out = Screen()
    progress = Progress("changes", 2, out)
    progress.show(1, ", 1 caught")
    progress.show(2, ", 2 caught")
    progress.end()
    first, second = out.getvalue().split("\r")[1:]
    assert first == "1/2 changes, 1 caught, less than a minute left"
    assert second.rstrip() == "2/2 changes, 2 caught" and len(second.rstrip("\n")) == len(first)


def test_log_gets_a_line_now_and_then_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    progress = Progress("changes", 9, out)
    progress.show(1)
    monkeypatch.setattr(drill_progress, "EVERY", 0.0)
    progress.show(2)
    monkeypatch.setattr(drill_progress, "EVERY", 60.0)
    progress.show(3)
    progress.show(9)
    progress.end()
    assert [line.partition(" ")[0] for line in out.getvalue().splitlines()] == ["2/9", "9/9"]
