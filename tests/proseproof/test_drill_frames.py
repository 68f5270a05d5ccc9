"""The drill changes words in one language alone, also where no sentence stands."""

import pytest
from sample_site import Site

from proseproof.drill_changes import Author
from proseproof.drill_frames import kinds
from proseproof.drill_proofs import prove

PAGE = """
---
description: {description}
ids: []
---

# A {{#a}}

```console
pip install torch
```

```python title="{title}"
n = 1
```
"""


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("words of a plain fence", 9),
        ("words of the front matter", 2),
        ("words beside a fence's language", 12),
    ],
)
def test_word_is_changed_in_one_language_alone_and_caught(site: Site, kind: str, line: int) -> None:
    site.pair(
        PAGE.format(description="三个词元", title="一个文件"),
        PAGE.format(description="three tokens", title="a file"),
    )
    assert site.run("proseproof", "confirm", "--all").returncode == 0
    changes = list(kinds(Author(site.project, 0))[kind]())
    assert {(path, change.line) for change in changes for path in change.texts} == {
        ("docs/zh/x.md", line),
        ("docs/en/x.md", line),
    }
    for change in changes:
        ((path, text),) = change.texts.items()
        kept = site.root / path
        old = kept.read_text()
        kept.write_text(text)
        project = site.project
        assert prove(project.settings, project, change)
        kept.write_text(old)


def test_page_without_a_translation_has_nothing_to_fall_behind(site: Site) -> None:
    site.write("README.md", PAGE.format(description="three tokens", title="a file"))
    found = kinds(Author(site.project, 0))
    assert not list(found["words of the front matter"]())
