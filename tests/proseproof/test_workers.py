"""Under pytest-xdist one worker proves both languages of a page, and reports are put together."""

import re
from pathlib import Path

import pytest
from sample_site import Site

from proseproof.report import load
from proseproof.settings import Settings
from proseproof.workers import group

SETTINGS = Settings(Path("."), languages={"zh": "docs/zh", "en": "docs/en"})


@pytest.mark.parametrize(
    ("one", "two", "together"),
    [
        ("docs/zh/a.md::line 3", "docs/en/a.md::pair", True),
        ("docs/zh/a.md::line 3", "docs/zh/b.md::line 3", False),
        ("README.md::prose", "README.md::accounted", True),
        ("tests/test_a.py::test_one", "tests/test_a.py::test_two", True),
        ("tests/test_a.py::test_one[x.md]", "tests/test_a.py::test_two[x.md]", True),
        ("tests/test_a.py::test_one[x.md]", "tests/test_a.py::test_one[y.md]", False),
    ],
)
def test_groups(one: str, two: str, together: bool) -> None:
    assert (group(SETTINGS, one) == group(SETTINGS, two)) is together


def test_workers_prove_what_one_process_proves(site: Site) -> None:
    page = "# A {{#a}}\n\n```python\nn = {}\n```\n\nHere `n == {}`.\n"
    for number in range(4):
        text = page.format(number, number)
        site.pair(text, text, f"{number}.md")
    assert site.run("proseproof", "confirm").returncode == 0
    file = site.root / ".cache/proseproof/report.json"
    reports, counts = [], []
    for options in (["-n", "2"], ["-p", "no:xdist"]):
        done = site.run("pytest", "--prove-again", *options)
        assert done.returncode == 0, done.stdout
        counts.append(re.findall(r"proseproof: \d+ shown.*", done.stdout))
        reports.append(file.read_bytes())
    assert counts[0] == counts[1] != []
    assert reports[0] == reports[1]
    assert len(load(file).pages) == 8


def test_comment_that_no_worker_ran_is_reported(site: Site) -> None:
    site.configure('rewrite = ["lib"]\n')
    code = "import numpy\n\n\ndef one():\n    return numpy.ones(2)  # (2,)\n"
    site.write("lib.py", f"{code}\n\ndef two():\n    return numpy.ones(3)  # (3,)\n")
    for name in ("one", "two"):
        page = f"# A {{#a}}\n\n```python\nimport lib\n\nlib.{name}()\n```\n"
        site.pair(page, page, f"{name}.md")
    assert site.run("proseproof", "confirm").returncode == 0
    done = site.run("pytest", "-n", "2")
    assert done.returncode == 0, done.stdout
    for language in ("zh", "en"):
        (site.root / f"docs/{language}/two.md").unlink()
    site.run("proseproof", "confirm")
    done = site.run("pytest", "-n", "2")
    assert done.returncode == 1
    assert "lib.py:9: this shape comment was never checked" in done.stdout


def test_test_that_ends_its_worker_is_not_tried_again_and_the_others_run(site: Site) -> None:
    code = "import os\n\n\ndef test_a():\n    open('tried', 'a').write('x')\n    os.abort()\n"
    others = "".join(f"\n\ndef test_{letter}():\n    pass\n" for letter in "bcd")
    site.write("tests/test_dies.py", code + others)
    site.write("tests/test_lives.py", others)
    done = site.run("pytest", "-n", "2", "-v", "tests")
    assert "worker 'gw" in done.stdout and "crashed while running 'tests/test_dies.py::test_a'" in (
        done.stdout
    )
    assert "1 failed, 6 passed" in done.stdout
    assert (site.root / "tried").read_text() == "x"
