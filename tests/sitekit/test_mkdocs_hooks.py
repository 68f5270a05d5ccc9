"""What stops a build, and what a build gives."""

import filecmp
import inspect
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

from proseproof import claims
from proseproof.report import BlockEntry, ClaimEntry, PageEntry, Report, digest
from sitekit import badge, formulas

Build = Callable[..., subprocess.CompletedProcess[str]]


def _line(file: Path, part: str) -> int:
    return file.read_text(encoding="utf-8").split(part)[0].count("\n") + 1


def test_two_builds_are_the_same_and_the_second_runs_no_lab(project: Path, build: Build) -> None:
    first = build("one")
    assert first.returncode == 0, first.stderr
    second = build("two")
    assert "Running the lab" not in second.stderr
    assert "WARNING" not in first.stderr + second.stderr
    files = [str(f.relative_to(project / "one")) for f in (project / "one").rglob("*")]
    files = [name for name in files if (project / "one" / name).is_file()]
    _, differing, missing = filecmp.cmpfiles(project / "one", project / "two", files, shallow=False)
    assert (differing, missing) == ([], [])
    assert len(files) > 20


def _break_pair(project: Path) -> str:
    (project / "docs/en/glossary.md").unlink()
    return "docs/zh/glossary.md:1: has no counterpart docs/en/glossary.md"


def _break_lab(project: Path) -> str:
    lab = project / "docs/en/labs/scaling.py"
    text = lab.read_text(encoding="utf-8")
    lab.write_text(text.replace("num_keys, trials = 8, 2000", "num_keys = 8 / 0"), encoding="utf-8")
    return f"docs/en/labs/scaling.py:{_line(lab, 'num_keys = 8 / 0')}: ZeroDivisionError"


def _break_link(project: Path) -> str:
    page = project / "docs/zh/index.md"
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("(glossary.md)", "(glossery.md)"), encoding="utf-8")
    return f"docs/zh/index.md:{_line(page, 'glossery.md')}: link to 'glossery.md'"


def _break_anchor(project: Path) -> str:
    page = project / "docs/en/chapters/attention.md"
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("#q13-transpose", "#q13-turn"), encoding="utf-8")
    line = _line(page, "#q13-turn")
    return f"docs/en/chapters/attention.md:{line}: link to '../questions/scores.md#q13-turn'"


def _break_listing(project: Path) -> str:
    page = project / "docs/en/chapters/attention.md"
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("attention.py:attention", "atention.py:attention"), "utf-8")
    return f"docs/en/chapters/attention.md:{_line(page, '--8<--')}:"


BREAKS = [_break_pair, _break_lab, _break_link, _break_anchor, _break_listing]


@pytest.mark.parametrize("break_it", BREAKS, ids=lambda f: f.__name__.removeprefix("_break_"))
def test_bad_input_stops_the_build_with_file_and_line(
    project: Path, build: Build, break_it: object
) -> None:
    expected = break_it(project)  # type: ignore[operator]
    result = build()
    assert result.returncode != 0
    assert expected in result.stderr


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


def test_serve_shows_the_problem_and_keeps_serving(project: Path, served: str) -> None:
    assert "掩码" in _read(served)
    assert "Glossary" in _read(served + "en/glossary.html")
    expected = [_break_link(project), _break_listing(project), _break_lab(project)]
    pages = ("index.html", "en/chapters/attention.html", "en/labs/scaling.html")
    for page, message in zip(pages, expected, strict=True):
        message = message.split(": ")[0]
        for _ in range(300):
            if message in (text := _read(served + page)):
                break
            time.sleep(0.2)
        assert "admonition failure" in text and message in text
        assert message in (project / "log").read_text("utf-8")
    assert "Glossary" in _read(served + "en/glossary.html")
    assert "Traceback" not in (project / "log").read_text("utf-8")


@pytest.mark.parametrize(
    ("latex", "parts"),
    [
        (r"p \log n", "<mi>p</mi>{}<mi>log</mi>{}<mi>n</mi>"),
        (r"\tanh(x)", '<mi>tanh</mi><mo stretchy="false">(</mo><mi>x</mi>'),
        (r"\ln\left(x\right)", "<mi>ln</mi><mrow><mo"),
        (r"-\infty", "<mo>−</mo><mi>∞</mi>"),
        ("f'(x)", "<mrow><mi>f</mi><mo>′</mo></mrow><mo"),
    ],
)
def test_names_stand_apart_and_signs_close(latex: str, parts: str) -> None:
    assert parts.replace("{}", '<mspace width="0.167em" />') in formulas.mathml(latex, block=False)


@pytest.mark.parametrize(
    ("blocks", "claims", "said"),
    [
        (3, 2, "Checked: blocks run 3, claims compared 2, torch 9."),
        (0, 2, "Checked: claims compared 2, torch 9."),
        (0, 0, "Checked: no code, torch 9."),
    ],
)
def test_line_under_the_title_leaves_out_what_there_is_none_of(
    blocks: int, claims: int, said: str
) -> None:
    entry = PageEntry("docs/en/a.md", digest("text"))
    entry.blocks = [BlockEntry(1, "python", "holds")] * blocks
    entry.claims = [ClaimEntry(1, "x", "name", "holds")] * claims
    report = Report({"torch": "9"}, {"docs/en/a.md": entry})
    assert said in badge.badge(report, "docs/en/a.md", "text", "en", "verified.html")


def test_report_speaks_the_language_of_its_page() -> None:
    rules = set(re.findall(r'return "(\w+)"', inspect.getsource(claims)))
    entry = PageEntry("docs/zh/a.md", digest("text"))
    entry.claims = [ClaimEntry(1, "x", rule, "not judged") for rule in sorted(rules)]
    report = Report({"torch": "9", "python": "3"}, {"docs/zh/a.md": entry})
    table = badge.overview(report, "zh").split("<tbody>")[1]
    assert len(rules) > 10 and table.count("不作判断") == len(rules)
    assert re.findall(r"<td>([a-z ]+)</td>", table) == []


@pytest.mark.parametrize("mark", ["。", "，", ",", ").", "?"])
def test_mark_behind_a_formula_stays_on_its_line(mark: str) -> None:
    html, _ = formulas.draw(rf'<p>a <span class="arithmatex">\(x\)</span>{mark} b</p>')
    kept = rf'<p>a <span class="kept"><math .*</math>{re.escape(mark)}</span> b</p>'
    assert re.fullmatch(kept, html)
    html, _ = formulas.draw(r'<p>is <span class="arithmatex">\(x\)</span> here</p>')
    assert "kept" not in html
