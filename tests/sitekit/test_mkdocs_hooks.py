"""What stops a build, what a build gives, and what a served page shows while it is edited."""

import filecmp
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from small_site import write_lab, write_record

from sitekit.mkdocs_hooks import without_subjects

Build = Callable[..., subprocess.CompletedProcess[str]]


def _line(file: Path, part: str) -> int:
    return file.read_text(encoding="utf-8").split(part)[0].count("\n") + 1


def test_what_a_number_is_said_of_is_not_for_readers() -> None:
    page = 'So `4`{of="f(_)"} and `d=1`{of="g(x, _) == 2"}.'
    assert without_subjects(page) == "So `4` and `d=1`."
    assert without_subjects("Not `4`{.wrong of=n}.") == "Not `4`{.wrong}."


def test_mark_that_a_page_talks_about_stays() -> None:
    page = "Write `{of=x}`{.text} behind it."
    assert without_subjects(page) == page


def test_two_builds_are_the_same_whatever_the_threads(project: Path, build: Build) -> None:
    first, second = build("one"), build("two", OMP_NUM_THREADS="1")
    assert first.returncode == 0, first.stderr
    assert "WARNING" not in first.stderr + second.stderr
    files = [str(f.relative_to(project / "one")) for f in (project / "one").rglob("*")]
    files = [name for name in files if (project / "one" / name).is_file()]
    _, differing, missing = filecmp.cmpfiles(project / "one", project / "two", files, shallow=False)
    assert (differing, missing) == ([], [])
    assert {"index.html", "en/labs/small.html", "en/labs/small.ipynb", "index.ipynb"} <= set(files)
    assert "result 1" in (project / "one" / "labs" / "small.html").read_text("utf-8")
    assert not (project / "one" / "records").exists()
    chinese = (project / "one" / "index.html").read_text("utf-8")
    english = (project / "one" / "en" / "index.html").read_text("utf-8")
    assert "拆头" in chinese and "side by side" not in chinese
    assert "拆头" not in english and "side by side" in english


def _replace(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def _break_pair(project: Path) -> str:
    (project / "docs/en/glossary.md").unlink()
    return "docs/zh/glossary.md:1: has no counterpart docs/en/glossary.md"


def _break_lab(project: Path) -> str:
    write_lab(project, "2", ("en",))
    return "docs/en/labs/small.py:1: the record docs/records/labs/small.json is of other code"


def _break_record(project: Path) -> str:
    file = project / "docs/records/labs/small.json"
    file.write_text(file.read_text()[:30])
    return "docs/en/labs/small.py:1: small.json cannot be read"


def _lose_record(project: Path) -> str:
    (project / "docs/records/labs/small.json").unlink()
    return "docs/en/labs/small.py:1: the record docs/records/labs/small.json is missing"


def _break_code(project: Path) -> str:
    write_lab(project, "(")
    return "docs/en/labs/small.py:9: SyntaxError"


def _break_link(project: Path) -> str:
    page = project / "docs/zh/index.md"
    _replace(page, "(glossary.md)", "(glossery.md)")
    return f"docs/zh/index.md:{_line(page, 'glossery.md')}: link to 'glossery.md'"


def _break_anchor(project: Path) -> str:
    page = project / "docs/en/index.md"
    _replace(page, "#mask", "#musk")
    return f"docs/en/index.md:{_line(page, '#musk')}: link to 'glossary.md#musk'"


def _break_listing(project: Path) -> str:
    page = project / "docs/en/index.md"
    _replace(page, "heads.py:split_heads", "haeds.py:split_heads")
    return f"docs/en/index.md:{_line(page, '--8<--')}:"


def _lose_words(project: Path) -> str:
    _replace(project / "docs/zh/listings.toml", '"The heads side by side', '"The heads in a row')
    line = _line(project / "docs/zh/index.md", "--8<--")
    return f"docs/zh/index.md:{line}: src/headwise/heads.py:"


def _name_no_instrument(project: Path) -> str:
    page = project / "docs/en/glossary.md"
    page.write_text(page.read_text("utf-8") + '\n<div data-instrument="banjo"></div>\n', "utf-8")
    return f"docs/en/glossary.md:{_line(page, 'banjo')}: no instrument 'banjo'"


def _need_an_operator(project: Path) -> str:
    graph = project / "docs/assets/instruments/graphs/attention.json"
    _replace(graph, '["softmax.int"', '["softmix.int"')
    place = f"docs/assets/instruments/graphs/attention.json:{_line(graph, 'softmix')}"
    return f"{place}: the runtime does not know the operator softmix.int"


def _cut_a_graph(project: Path) -> str:
    graph = project / "docs/assets/instruments/graphs/combine.json"
    graph.write_text(graph.read_text("utf-8")[:20], "utf-8")
    return "docs/assets/instruments/graphs/combine.json:1: this is no graph"


# What breaks different pages can break them at once, and a build is seconds.
TOGETHER = {
    "pair, link and listing": (_break_link, _break_listing),
    "pair": (_break_pair,),
    "anchor, lab and words": (_break_anchor, _break_lab, _lose_words),
    "record and instruments": (
        *(_break_record, _name_no_instrument, _need_an_operator, _cut_a_graph),
    ),
    "no record": (_lose_record,),
    "code": (_break_code,),
}


@pytest.mark.parametrize("breaks", TOGETHER.values(), ids=TOGETHER)
def test_bad_input_stops_the_build_with_file_and_line(
    project: Path, build: Build, breaks: tuple[Callable[[Path], str], ...]
) -> None:
    expected = [break_it(project) for break_it in breaks]
    result = build()
    assert result.returncode != 0
    for message in expected:
        assert message in result.stderr


@pytest.fixture
def served(project: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "mkdocs", "serve", "-a", f"127.0.0.1:{port}", "-q"]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    with (project / "log").open("w") as log:
        server = subprocess.Popen(command, cwd=project, stderr=log, env=environment)
    path = re.search(r'site_url:.*?//[^/]+/([^"]*)"', (project / "mkdocs.yml").read_text("utf-8"))
    assert path
    try:
        yield f"http://127.0.0.1:{port}/{path[1]}"
    finally:
        server.terminate()
        server.wait()


def _read(address: str) -> str:
    """The page, as soon as there is one: 300 tries, not a measurement."""
    for _ in range(300):
        try:
            with urllib.request.urlopen(address, timeout=10) as answer:
                return str(answer.read().decode())
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    raise AssertionError(f"{address} never answered")


def _until(address: str, *parts: str) -> str:
    """The page, once it says all of this."""
    for _ in range(300):
        if all(part in (text := _read(address)) for part in parts):
            return text
        time.sleep(0.2)
    raise AssertionError(f"{address} never said {parts}: {text}")


def test_serve_shows_the_problem_and_keeps_serving(project: Path, served: str) -> None:
    assert "标题" in _read(served)
    expected = [_break_link(project), _break_listing(project)]
    for page, message in zip(("index.html", "en/index.html"), expected, strict=True):
        place = message.split(": ")[0]
        _until(served + page, "admonition failure", place)
        assert place in (project / "log").read_text("utf-8")
    assert "Title" in _read(served + "en/glossary.html")
    assert "Traceback" not in (project / "log").read_text("utf-8")


def test_lab_edited_while_serving_runs_and_shows_its_new_result(project: Path, served: str) -> None:
    page = served + "en/labs/small.html"
    assert "result 1" in _read(page)
    recorded = (project / "docs/records/labs/small.json").read_bytes()
    write_lab(project, "40 + 2")
    _until(page, "result 42")
    assert "running in the background" not in _read(page)
    _until(served + "labs/small.html", "result 42")
    assert (project / "docs/records/labs/small.json").read_bytes() == recorded
    write_lab(project, "1 / 0")
    _until(page, "admonition failure", "docs/en/labs/small.py:9: ZeroDivisionError")
    write_lab(project, "3")
    write_record(project, "3")
    assert "admonition failure" not in _until(page, "result 3")
