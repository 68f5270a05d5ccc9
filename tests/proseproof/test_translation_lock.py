"""A section that changes in one language is followed in the other, or confirmed."""

import pytest
from sample_site import Site, places

ZH = "# 一 {#one}\n\n甲\n\n```python\nn = 1  # 数\n```\n\n## 二 {#two}\n\n乙\n"
EN = "# One {#one}\n\nA\n\n```python\nn = 1  # a number\n```\n\n## Two {#two}\n\nB\n"


@pytest.fixture
def agreed(site: Site) -> Site:
    site.pair(ZH, EN)
    assert site.run("proseproof", "confirm", "--all").returncode == 0
    return site


def fresh(site: Site, language: str = "en") -> list[str]:
    return places(site.proof(f"docs/{language}/x.md").fresh())


def test_agreed_pair_is_no_alarm(agreed: Site) -> None:
    assert fresh(agreed, "en") == fresh(agreed, "zh") == []


@pytest.mark.parametrize(
    ("old", "new", "line"), [("\nB\n", "\nB2\n", 9), ("## Two", "## 2", 9), ("a number", "one", 1)]
)
def test_change_on_one_side_is_caught_on_both(agreed: Site, old: str, new: str, line: int) -> None:
    agreed.write("docs/en/x.md", EN.replace(old, new))
    assert fresh(agreed, "en") == [f"docs/en/x.md:{line}"]
    assert fresh(agreed, "zh") == [f"docs/zh/x.md:{line}"]


FENCES = """---
title: One
description: Five tokens, with PyTorch
---
# One {#one}

```python title="A number" hl_lines="1"
n = 1
```

```text
A tree
```

```mermaid
graph LR
  Q["queries (8, 5)"]
```

<!--sitekit: report-->
"""


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("title: One", "title: Two", 1),
        ("Five tokens, with", "Seven tokens, without", 1),
        ('title="A number"', 'title="Two numbers"', 5),
        ("A tree", "Another tree", 5),
        ("queries (", "keys (", 5),
        ("<!--sitekit: report-->\n", "", 5),
    ],
)
def test_words_outside_the_prose_are_followed_too(
    site: Site, old: str, new: str, line: int
) -> None:
    site.pair(FENCES, FENCES)
    assert site.run("proseproof", "confirm", "--all").returncode == 0
    assert fresh(site) == []
    assert old in FENCES
    site.write("docs/en/x.md", FENCES.replace(old, new))
    (finding,) = site.proof("docs/en/x.md").fresh()
    assert finding.line == line
    assert "docs/zh/x.md did not follow" in finding.message
    command = finding.remedy.rpartition("python -m ")[2].split()
    assert site.run(*command).returncode == 0
    assert fresh(site) == []


@pytest.mark.parametrize("language", ["zh", "en"])
def test_message_says_which_side_did_not_follow(agreed: Site, language: str) -> None:
    agreed.write("docs/en/x.md", EN.replace("\nB\n", "\nB2\n"))
    (finding,) = agreed.proof(f"docs/{language}/x.md").fresh()
    assert finding.message == "#two changed in docs/en/x.md, and docs/zh/x.md did not follow"


def test_message_names_the_command_that_confirms(agreed: Site) -> None:
    agreed.write("docs/en/x.md", EN.replace("\nB\n", "\nB2\n"))
    (finding,) = agreed.proof("docs/en/x.md").fresh()
    assert "python -m proseproof confirm docs/en/x.md#two" in finding.remedy
    done = agreed.run("proseproof", "confirm", "docs/en/x.md#two")
    assert done.returncode == 0
    assert fresh(agreed) == []


def test_confirming_one_section_leaves_the_others(agreed: Site) -> None:
    agreed.write("docs/en/x.md", EN.replace("\nB\n", "\nB2\n").replace("\nA\n", "\nA2\n"))
    assert agreed.run("proseproof", "confirm", "docs/en/x.md#two").returncode == 0
    assert fresh(agreed) == ["docs/en/x.md:1"]


def test_confirming_without_a_name_records_only_what_changed_on_both_sides(agreed: Site) -> None:
    agreed.write("docs/zh/x.md", ZH.replace("\n乙\n", "\n丙\n"))
    agreed.write("docs/en/x.md", EN.replace("\nB\n", "\nC\n").replace("\nA\n", "\nA2\n"))
    assert agreed.run("proseproof", "confirm").returncode == 0
    assert fresh(agreed) == ["docs/en/x.md:1"]


def test_change_on_both_sides_waits_to_be_recorded(agreed: Site) -> None:
    agreed.write("docs/zh/x.md", ZH.replace("\n乙\n", "\n丙\n"))
    agreed.write("docs/en/x.md", EN.replace("\nB\n", "\nC\n"))
    (finding,) = agreed.proof("docs/en/x.md").fresh()
    assert "#two (line 9)" in finding.detail


def test_code_and_outputs_need_no_confirmation(agreed: Site) -> None:
    for language, text in (("zh", ZH), ("en", EN)):
        agreed.write(f"docs/{language}/x.md", text.replace("n = 1", "n = 2"))
    assert fresh(agreed) == []


def test_unknown_section_cannot_be_confirmed(agreed: Site) -> None:
    done = agreed.run("proseproof", "confirm", "docs/en/x.md#three")
    assert done.returncode == 2
    assert "no such section" in done.stderr


def test_marks_of_a_merge_are_passed_over_and_go_when_one_confirms(agreed: Site) -> None:
    lock = agreed.root / "docs/translations.lock"
    clean = lock.read_text(encoding="utf-8")
    head, *entries = clean.splitlines()
    ours, theirs = entries[0], entries[0].replace("en=", "en=0")
    marked = [head, "<<<<<<< HEAD", theirs, "=======", ours, ">>>>>>> 1234 main", *entries[1:]]
    lock.write_text("\n".join([*marked, ""]), encoding="utf-8")
    assert fresh(agreed) == []
    assert agreed.run("proseproof", "confirm", "--all").returncode == 0
    assert lock.read_text(encoding="utf-8") == clean


def test_lock_entry_of_a_page_that_is_gone_is_caught(agreed: Site) -> None:
    for language in ("zh", "en"):
        (agreed.root / f"docs/{language}/x.md").unlink()
    assert places(agreed.findings_of_project())[:1] == ["docs/translations.lock:1"]
