"""What the browser said of a page is kept until something that it depends on changes."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import kept_visits
import pytest
from kept_visits import Visits


class Run:
    """One run after another over a page of a small site, with what each of them measures."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.site, self.count = folder, folder / "site", 0
        (self.site / "en").mkdir(parents=True)
        (self.site / "en" / "page.html").write_text("<h1>Page</h1>")
        (self.site / "style.css").write_text("h1 { color: red }")

    @property
    def file(self) -> Path:
        (file,) = (self.folder / "kept").glob("*.json")
        return file

    def __call__(self, again: bool = False) -> str:
        """Why a new run measured the page; nothing if it did not."""
        kept_visits._looks.cache_clear()
        self.count += 1
        shared = self.folder / f"run {self.count}"
        shared.mkdir()
        visits, asked = Visits(self.site, self.folder / "kept", shared, again), []

        def measure() -> dict[str, str]:
            asked.append(1)
            return {"colour": "red"}

        facts, why = visits.get("en/page.html", "facts", measure)
        assert facts == {"colour": "red"} and len(asked) == bool(why)
        # The second time it is known, whatever is to be done again.
        assert visits.get("en/page.html", "facts", measure) == (facts, "")
        assert len(asked) == bool(why)
        return why


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = Run(tmp_path)
    assert run() == "not visited before"
    return run


def test_page_of_which_nothing_changed_is_not_visited(run: Run) -> None:
    assert run() == run() == ""


def test_prove_again_visits_every_page_once(run: Run) -> None:
    assert run(again=True) == "asked for"
    assert run() == ""


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("en/page.html", "the page changed"),
        ("style.css", "the site's looks changed"),
        ("new.js", "the site's looks changed"),
    ],
)
def test_change_of_the_page_or_its_looks_brings_the_visit_back(
    run: Run, file: str, why: str
) -> None:
    (run.site / file).write_text("other")
    assert run() == why
    assert run() == ""


def test_another_browser_visits_for_itself(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_visits, "_browser", lambda: "another")
    assert run() == "the browser or what asks it changed"


def test_another_page_changes_nothing(run: Run) -> None:
    (run.site / "other.html").write_text("new")
    assert run() == ""


def _other_facts(text: str) -> str:
    check, _, rest = text.partition("\n")
    return f"{check}\n{rest.replace('red', 'tan')}"


@pytest.mark.parametrize(
    "damage",
    [lambda text: text[: len(text) // 2], lambda text: "", lambda text: "\x00" * 9, _other_facts],
    ids=["truncated", "empty", "garbage", "another colour"],
)
def test_damaged_file_is_measured_anew_and_said(run: Run, damage: Callable[[str], str]) -> None:
    run.file.write_text(damage(run.file.read_text()))
    assert run() == "what was kept is damaged"
    assert run() == ""


def test_visit_that_fails_keeps_nothing(run: Run) -> None:
    run.file.unlink()
    (run.folder / "shared").mkdir()
    visits = Visits(run.site, run.folder / "kept", run.folder / "shared")
    with pytest.raises(ZeroDivisionError):
        visits.get("en/page.html", "facts", lambda: 1 / 0)
    assert visits.get("en/page.html", "facts", lambda: 1) == (1, "not visited before")
    assert json.loads(run.file.read_text().partition("\n")[2])["facts"] == 1


def test_what_a_process_died_over_is_made_by_the_next(tmp_path: Path) -> None:
    def half(draft: Path) -> None:
        draft.mkdir()
        (draft / "half").touch()
        os._exit(0)

    if (child := os.fork()) == 0:
        kept_visits.once(tmp_path / "result", half)
    os.waitpid(child, 0)
    made = kept_visits.once(tmp_path / "result", lambda draft: draft.mkdir())
    assert list(made.iterdir()) == []
