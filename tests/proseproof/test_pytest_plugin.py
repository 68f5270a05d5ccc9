"""The plugin in a real test run, and the report that it leaves."""

import json

import pytest
from sample_site import Site

from proseproof.report import digest, load

GOOD = "# A {#a}\n\n```python\nn = 1\n```\n\nHere `n == 1`.\n"
LAB = "# %% [markdown]\n# # Lab {#lab}\n# %%\nn = 1\n# %% [markdown]\n# `n == 1`\n"


def agreed(site: Site) -> Site:
    site.pair(GOOD, GOOD)
    site.pair(LAB, LAB, "labs/l.py")
    site.write("README.md", "Text `len`.\n")
    for command in (["update"], ["confirm", "--all"]):
        assert site.run("proseproof", *command).returncode == 0
    return site


def test_good_project_passes_and_is_counted(site: Site) -> None:
    done = agreed(site).run("pytest", "-v")
    assert done.returncode == 0, done.stdout
    assert "docs/zh/x.md::line 3 PASSED" in done.stdout
    assert "proseproof: 4 shown, 4 accounted for; 4 claims hold, 1 mention exists" in done.stdout


def test_bad_page_fails_with_its_line_and_the_next_page_does_not(site: Site) -> None:
    agreed(site)
    bad = "# B {#b}\n\n```python\nimport sys\nsys.exit()\n```\n"
    site.pair(bad, bad, "a.md")
    (site.root / "docs/zh/b.md").write_bytes(b"\xff\n")
    (site.root / "docs/en/b.md").write_bytes(b"\xff\n")
    done = site.run("pytest")
    assert done.returncode == 1
    assert "INTERNALERROR" not in done.stdout
    assert "docs/zh/a.md:5: the block leaves the interpreter" in done.stdout
    assert "docs/zh/b.md:1: not UTF-8" in done.stdout
    failed = {line.split("::")[0] for line in done.stdout.splitlines() if line.startswith("FAILED")}
    assert failed == {f"FAILED docs/{one}/{name}.md" for one in ("zh", "en") for name in "ab"}


def test_project_without_a_section_is_left_alone(site: Site) -> None:
    agreed(site)
    site.write("pyproject.toml", '[tool.pytest.ini_options]\naddopts = "--codeblocks"\n')
    done = site.run("pytest", "docs", "-v")
    assert "docs/zh/x.md::line 3 PASSED" in done.stdout
    assert "accounted" not in done.stdout


def test_page_proved_alone_updates_its_entry_only(site: Site) -> None:
    agreed(site).run("pytest")
    file = site.root / ".cache/proseproof/report.json"
    before = load(file)
    site.write("docs/zh/x.md", GOOD.replace("Here", "这里"))
    site.write("docs/en/x.md", GOOD.replace("Here", "There"))
    site.run("proseproof", "confirm")
    site.run("pytest", "docs/zh/x.md")
    after = load(file)
    text = (site.root / "docs/zh/x.md").read_text(encoding="utf-8")
    zh, en = after.page("docs/zh/x.md"), after.page("docs/en/x.md")
    assert zh is not None and zh.is_current(text) and not zh.is_current(text + "\n")
    assert en == before.page("docs/en/x.md")
    assert site.run("proseproof", "report").returncode == 1  # the other page is not the proved one


def test_part_of_a_page_does_not_count_as_proved(site: Site) -> None:
    agreed(site).run("pytest", "docs/zh/x.md::line 3")
    assert load(site.root / ".cache/proseproof/report.json").pages == {}


def test_report_is_the_same_each_time_and_holds_every_verdict(site: Site) -> None:
    file = agreed(site).root / ".cache/proseproof/report.json"
    runs = []
    for _ in range(2):
        assert site.run("pytest", "README.md", "docs").returncode == 0
        runs.append(file.read_bytes())
    assert runs[0] == runs[1]
    data = json.loads(runs[0])
    page = data["pages"]["docs/en/x.md"]
    assert page["sha256"] == digest(GOOD)
    assert page["blocks"] == [{"line": 3, "kind": "python", "verdict": "holds", "reason": ""}]
    assert page["claims"] == [
        {"line": 7, "span": "n == 1", "rule": "comparison", "verdict": "holds"}
    ]
    assert data["totals"]["pages"] == 5
    done = site.run("proseproof", "report")
    assert done.returncode == 0, done.stdout
    assert "4 shown, 4 accounted for" in done.stdout


def test_program_of_both_languages_runs_once_and_is_judged_twice(site: Site) -> None:
    block = f"```python\nopen('{site.root}/runs', 'a').write('x')\nn = 1  # {{}}\n```\n\n"
    page = "# A {#a}\n\n{}\n\n" + block + "`n == 1`\n"
    site.pair(page.replace("{}", "一"), page.replace("{}", "one"))
    assert site.run("proseproof", "confirm").returncode == 0
    assert site.run("pytest", "docs").returncode == 0
    assert (site.root / "runs").read_text() == "x"
    for path in ("docs/zh/x.md", "docs/en/x.md"):
        assert site.run("pytest", "--prove-again", path).returncode == 0
    assert (site.root / "runs").read_text() == "xxx"
    site.pair(page.replace("{}", "一"), page.replace("{}", "one").replace("n = 1", "n = 2"))
    done = site.run("pytest", "docs")
    assert "docs/en/x.md:10: `n == 1`" in done.stdout
    assert (site.root / "runs").read_text() == "xxxx"  # the Chinese page stands as it was


def test_program_that_fails_fails_in_both_languages_at_its_own_line(site: Site) -> None:
    page = "# A {#a}\n\n{}```python\n1 / 0\n```\n"
    site.pair(page.replace("{}", ""), page.replace("{}", "More.\n\n"))
    done = site.run("pytest", "docs")
    assert "docs/zh/x.md:4: ZeroDivisionError" in done.stdout
    assert "docs/en/x.md:6: ZeroDivisionError" in done.stdout


@pytest.mark.parametrize("arguments", [[], ["docs"], ["-n", "1"]])
def test_page_that_pytest_passes_over_fails_the_run(site: Site, arguments: list[str]) -> None:
    agreed(site)
    hidden = ("docs/build/y.md", "docs/dist/y.md")
    for path in hidden:
        site.write(path, "```python\nassert False\n```\n")
    done = site.run("pytest", *arguments)
    assert done.returncode == 1
    for path in hidden:
        assert f"{path}:1: this page has no proof" in done.stdout
    assert "to mend: move it" in done.stdout


def test_page_beside_those_asked_for_needs_no_proof(site: Site) -> None:
    agreed(site).write("docs/build/y.md", "Text.\n")
    for arguments in (["docs/zh"], ["docs", "-k", "pair"]):
        assert site.run("pytest", *arguments).returncode == 0


def test_folder_that_pytest_is_let_into_is_proved(site: Site) -> None:
    agreed(site).write("docs/build/y.md", "Text `len`.\n")
    assert site.run("pytest", "-o", "norecursedirs=none").returncode == 0
