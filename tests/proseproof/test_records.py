"""What a lab shows is held to its record, as far as rounding on another machine allows."""

from pathlib import Path
from typing import Any

import pytest

from proseproof import records

DRAWN = """<svg aria-label="lowest 0.2512 at 3"><g id="m4e97a" fill="#2f7fd0">
<path d="M 57.601 307.5 L 61.25 12"/><use href="#m4e97a" x="7"/><text>0.2512</text></g></svg>"""


def drawn(svg: str) -> list[dict[str, Any]]:
    return [{"output_type": "display_data", "data": {"image/svg+xml": svg}, "metadata": {}}]


def printed(text: str) -> list[dict[str, Any]]:
    return [{"output_type": "stream", "name": "stdout", "text": text}]


@pytest.mark.parametrize(
    ("here", "there"),
    [("57.601", "57.602"), ("307.5", "307.2"), ("m4e97a", "m0b17c"), ("0.2512", "0.2513")],
)
def test_rounding_on_another_machine_is_no_alarm(here: str, there: str) -> None:
    assert records.difference(drawn(DRAWN), drawn(DRAWN.replace(here, there))) == ""
    assert records.difference(printed("loss 1.2500"), printed("loss 1.2501")) == ""


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("lowest 0.2512", "lowest 0.2612"),
        ("at 3", "at 4"),
        (">0.2512<", ">0.3512<"),
        ("#2f7fd0", "#2f7fd1"),
        ("307.5", "207.5"),
        ("L 61.25 12", ""),
        ('<use href="#m4e97a" x="7"/>', ""),
    ],
)
def test_a_change_of_what_a_cell_draws_is_caught(was: str, now: str) -> None:
    assert was in DRAWN
    assert records.difference(drawn(DRAWN), drawn(DRAWN.replace(was, now)))


@pytest.mark.parametrize(
    ("was", "now"),
    [("loss 1.25", "loss 1.26"), ("3 right", "4 right"), ("a\nb", "a"), ("-1.0", "1.0")],
)
def test_a_change_of_what_a_cell_prints_is_caught(was: str, now: str) -> None:
    assert f"+{now.splitlines()[0]}" in records.difference(printed(was), printed(now)) or "-b" in (
        records.difference(printed(was), printed(now))
    )


def test_an_output_more_or_less_is_caught() -> None:
    assert "1 outputs are recorded, and there are 0" in records.difference(printed("a"), [])


def test_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    record = records.of(["n = 1  # one", "print(n)"], [[], printed("1\n")], varies=False)
    records.write(tmp_path / "labs" / "l.json", record)
    assert records.read(tmp_path / "labs" / "l.json") == record
    assert record.made == {}
    assert [file.name for file in (tmp_path / "labs").iterdir()] == ["l.json"]


def test_record_is_of_its_code_whatever_the_comments_say() -> None:
    record = records.of(["n = 1  # one"], [[]], varies=False)
    assert record.is_of(["n = 1  # 一"])
    assert not record.is_of(["n = 2"])
    assert not record.is_of(["n = 1", "n"])


def test_record_of_what_varies_says_where_and_when() -> None:
    made = records.of([], [], varies=True).made
    assert set(made) >= {"date", "processor", "cores", "python"}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cells": [1], "made": {}}', '{"cells": []}'])
def test_record_that_cannot_be_read_says_so(tmp_path: Path, text: str) -> None:
    (tmp_path / "l.json").write_text(text)
    with pytest.raises(records.RecordError, match=r"l\.json cannot be read"):
        records.read(tmp_path / "l.json")
