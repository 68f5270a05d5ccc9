"""The drill changes numbers in plain prose, in both languages or in one, and all are caught."""

import pytest
from sample_site import Site

from proseproof.drill_changes import Author
from proseproof.drill_numbers import kinds
from proseproof.drill_proofs import prove

PAGE = """
---
description: {description}
---

# {heading} {{#a}}

```python
heads = 4
```

{sentence}

| x |
|---|
| 4 |

![{alt}](x.png)
"""
LEDGER = """
[description]
"Four heads" = "heads"

[a]
names = ["step 3"]
"Four heads" = "heads"
"4 heads" = "heads"
"four of" = "heads"
"4" = "heads"
"Four heads #2" = "heads"
"""


@pytest.fixture
def author(site: Site) -> Author:
    site.configure('bindings = "docs/bindings"\n')
    site.pair(
        PAGE.format(
            description="四个头",
            heading="四个头",
            sentence="4 个头，四个都在，见步骤 3。",
            alt="四个头",
        ),
        PAGE.format(
            description="Four heads",
            heading="Four heads",
            sentence="There are 4 heads, four of them, see step 3.",
            alt="Four heads",
        ),
    )
    for language in ("zh", "en"):
        site.write(f"docs/{language}/x.png", "")
    site.write("docs/bindings/x.toml", LEDGER)
    assert site.run("proseproof", "confirm", "--all").returncode == 0
    for path in ("docs/zh/x.md", "docs/en/x.md"):
        assert site.prove(path) == []
    return Author(site.project, 0)


@pytest.mark.parametrize(
    ("kind", "line", "pages"),
    [
        ("digit in plain prose", 11, 2),
        ("number word", 11, 2),
        ("number in a table", 15, 2),
        ("number in a heading", 5, 2),
        ("number in an alt text", 17, 2),
        ("number in a description", 2, 2),
        ("name with a number", 11, 1),
    ],
)
def test_number_changed_in_both_languages_is_caught(
    site: Site, author: Author, kind: str, line: int, pages: int
) -> None:
    (change,) = kinds(author)[kind]()
    assert (change.path, change.line, len(change.texts)) == ("docs/en/x.md", line, pages)
    for path, text in change.texts.items():
        assert text != (site.root / path).read_text()
        site.write(path, text)
    project = site.project
    assert prove(project.settings, project, change)


def test_number_changed_in_one_language_is_caught(site: Site, author: Author) -> None:
    changes = list(kinds(author)["number in one language"]())
    assert {change.path for change in changes} == {"docs/zh/x.md", "docs/en/x.md"}
    for change in changes:
        ((path, text),) = change.texts.items()
        old = (site.root / path).read_text()
        site.write(path, text)
        project = site.project
        assert "pair" in prove(project.settings, project, change) or path.startswith("docs/en")
        site.write(path, old)


def test_page_that_is_not_bound_yet_is_left_alone(site: Site) -> None:
    site.pair("# 甲 {#a}\n\n四个头。\n", "# A {#a}\n\nFour heads.\n")
    found = kinds(Author(site.project, 0))
    assert not [change for source in found.values() for change in source()]
