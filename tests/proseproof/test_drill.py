"""The drill makes changes in a copy, and reports what slips by."""

from pathlib import Path

from sample_site import Site

from proseproof.drill import Worker
from proseproof.drill_changes import Change
from proseproof.drill_proofs import prove
from proseproof.execution import scratch

ZH = """
# 一 {#one}

```python
sizes = [2, 3]
print(sum(sizes), sizes[0])
```

<!--pytest-codeblocks:expected-output-->
```text
5 2
```

这里 `sum(sizes) == 5`，名字是 `sizes`，见[下文](#two)。

## 二 {#two}

第二段的文字在这里。
"""
EN = """
# One {#one}

```python
sizes = [2, 3]
print(sum(sizes), sizes[0])
```

<!--pytest-codeblocks:expected-output-->
```text
5 2
```

Here `sum(sizes) == 5`, the name is `sizes`, see [below](#two).

## Two {#two}

The words of the second section stand here.
"""


def tree(site: Site) -> dict[str, bytes]:
    files = [file for file in site.root.rglob("*") if file.is_file()]
    return {str(file): file.read_bytes() for file in files if ".cache" not in file.parts}


def test_drill_catches_every_change_and_leaves_the_project_alone(site: Site) -> None:
    site.pair(ZH, EN)
    assert site.run("proseproof", "confirm", "--all").returncode == 0
    before = tree(site)
    done = site.run("proseproof", "drill", "--seed", "3", "--count", "40")
    assert done.returncode == 0, done.stdout + done.stderr
    assert tree(site) == before
    rows = {line[:32].strip(): line[32:].split() for line in done.stdout.splitlines()}
    for kind in (
        "digit in a number",
        "name misspelt",
        "printed digit",
        "operator, index or keyword",
        "fence's info string",
        "heading's anchor",
        "link",
        "sentence in one language",
        "block in one language",
    ):
        caught, made, _ = rows[kind]
        assert caught == made != "0", done.stdout


def test_same_seed_makes_the_same_changes(site: Site) -> None:
    site.pair(ZH, EN)
    site.run("proseproof", "confirm", "--all")
    runs = [site.run("proseproof", "drill", "--seed", "5", "--count", "8").stdout for _ in "ab"]
    assert runs[0] == runs[1]


def test_change_that_nothing_depends_on_is_listed_with_its_reason(site: Site) -> None:
    text = "```python\nleft = [0 + 7]\nright = max(left)\n```\n"
    site.write("README.md", text)
    done = site.run("proseproof", "drill", "--count", "8")
    assert done.returncode == 0
    assert "not caught: README.md:2: operator, index or keyword" in done.stdout
    assert "the page stays true" in done.stdout


def test_drill_refuses_pages_that_do_not_hold(site: Site) -> None:
    site.pair(ZH.replace("5 2", "5 3"), EN)
    done = site.run("proseproof", "drill", "--count", "4")
    assert done.returncode == 2
    assert "do not hold" in done.stderr


def test_drill_says_what_it_does_and_how_far_it_is(site: Site) -> None:
    site.pair(ZH, EN)
    site.run("proseproof", "confirm", "--all")
    said = site.run("proseproof", "drill", "--count", "4", "--workers", "1").stderr.splitlines()
    assert said == [
        "First the 2 pages as they are, then 4 changes, 1 at a time, in a copy of the project.",
        "1/1 pages as they are",
        "4 changes will take less than a minute.",
        "4/4 changes, 4 caught",
    ]


def test_kinds_are_chosen_by_words_of_their_names(site: Site) -> None:
    site.pair(ZH, EN)
    site.run("proseproof", "confirm", "--all")
    done = site.run("proseproof", "drill", "--count", "6", "--kinds", "link", "anchor")
    assert [row[:32].strip() for row in done.stdout.splitlines() if row[-3:].strip().isdigit()] == [
        "heading's anchor", "link", "all",
    ]  # fmt: skip


def test_unknown_kind_is_answered_with_the_known_ones(site: Site) -> None:
    site.pair(ZH, EN)
    site.run("proseproof", "confirm", "--all")
    done = site.run("proseproof", "drill", "--count", "6", "--kinds", "nonsense")
    assert done.returncode == 2
    assert "another shape" in done.stderr and "turned: a flag" in done.stderr


def test_copy_leaves_out_what_was_built_and_keeps_what_is_named_like_it(site: Site) -> None:
    site.write("README.md", "See `tests/site/a.py` and `site/b.py`.\n")
    site.write("tests/site/a.py", "")
    site.write("site/b.py", "")
    done = site.run("proseproof", "drill", "--count", "4")
    assert "do not hold" in done.stderr and "`site/b.py`" in done.stderr
    assert "`tests/site/a.py`" not in done.stderr


def test_source_in_a_room_is_tested_by_its_mirror(site: Site) -> None:
    site.write("src/lib/room/part.py", "ONE = 2\n")
    site.write("tests/lib/room/test_part.py", "def test_one():\n    assert False\n")
    project = site.project
    change = Change("source", "src/lib/room/part.py", 1, "", {"src/lib/room/part.py": "ONE = 2\n"})
    assert prove(project.settings, project, change).startswith("test: tests/lib/room/test_part.py")


def test_proof_that_breaks_has_caught_nothing(site: Site) -> None:
    site.write("README.md", "Text.\n")
    site.write("docs/required_ids.toml", 'required = ["no id"]\n')
    project = site.project
    worker = Worker(project.settings, project)
    worker.start(Change("sentence", "README.md", 1, "", {"README.md": "Words.\n"}))
    outcome = worker.finish()
    assert not outcome.caught and not outcome.reason
    assert "no id" in outcome.broke
    assert (site.root / "README.md").read_text() == "Text.\n"


def test_fork_leaves_the_scratch_folder_of_its_parent(site: Site) -> None:
    site.write("README.md", "```python\nn = 1\n```\n")
    folder = Path(scratch())
    project = site.project
    worker = Worker(project.settings, project)
    worker.start(Change("block", "README.md", 1, "", {"README.md": "```python\nn = 2\n```\n"}))
    worker.finish()
    assert folder.is_dir()
