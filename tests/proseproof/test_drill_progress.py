"""The drill says how far it is and how long it will take, on a screen and in a log."""

import io

import pytest

from proseproof import drill_progress
from proseproof.drill_progress import Progress


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("times", "workers", "said"),
    [
        ([], 1, ""),
        ([("page", 0.5)], 1, ", more than 1 minute left"),
        ([("page", 1.0), ("lab", 100.0)], 1, ", about 3 minutes left"),
        ([("page", 1.0), ("lab", 100.0)], 2, ", about 2 minutes left"),
        ([("page", 1.0), ("lab", 100.0), ("lab", 50.0)], 2, ", less than a minute left"),
        ([("page", 1.0)] * 90 + [("lab", 9.0)] * 2, 1, ""),
    ],
)
def test_time_left_goes_by_the_time_that_others_of_the_kind_took(
    times: list[tuple[str, float]], workers: int, said: str
) -> None:
    progress = Progress("pages", ["page"] * 90 + ["lab"] * 2, workers)
    for kind, seconds in times:
        progress.note(kind, seconds)
    assert progress.remaining() == said


def test_screen_shows_one_line_that_changes() -> None:
    out = Screen()
    progress = Progress("changes", [0, 0], 1, out)
    for caught in (1, 2):
        progress.note(0, 1.0)
        progress.show(f", {caught} caught")
    progress.end()
    first, second = out.getvalue().split("\r")[1:]
    assert first == "1/2 changes, 1 caught, less than a minute left"
    assert second.rstrip() == "2/2 changes, 2 caught" and len(second.rstrip("\n")) == len(first)


def test_log_gets_a_line_now_and_then_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    progress = Progress("changes", [0] * 4, 1, out)
    for pause in (60.0, 0.0, 60.0, 60.0):
        monkeypatch.setattr(drill_progress, "EVERY", pause)
        progress.note(0, 1.0)
        progress.show()
    progress.end()
    assert [line.partition(" ")[0] for line in out.getvalue().splitlines()] == ["2/4", "4/4"]
