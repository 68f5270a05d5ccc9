"""The drill puts another true value of the page in place of the right one, in both languages."""

import pytest
from sample_site import Site

from proseproof.drill_changes import Author, Change
from proseproof.drill_proofs import prove
from proseproof.drill_values import kinds

CODE = """
```python
import torch

n, d = 2, 3
x = torch.ones(n, d)  # (n, d)
t = x.transpose(dim0=0, dim1=1)  # (d, n)
kept = x.sum(dim=0, keepdim=True)
size, share, done = x.numel(), 0.25, True
try:
    x @ x
except RuntimeError:
    print([1, 2, 0.25])
```

<!--pytest-codeblocks:expected-output-->
```text
[1, 2, 0.25]
```
"""
EN = f"""
# One {{#one}}
{CODE}
`x` has shape `(n, d)`, `t` has shape `(d, n)`, and `size` is `6`, `share` is `0.25`. With
`keepdim=True` an axis stays. `done` is `True`, `x @ x` raises a `RuntimeError`, and
`x.numel() == 6` while `x.shape == (2, 3)`.
"""
ZH = f"""
# 一 {{#one}}
{CODE}
`x` 的形状是 `(n, d)`，`t` 的形状是 `(d, n)`，`size` 是 `6`，`share` 是 `0.25`。写
`keepdim=True` 时轴还在。`done` 是 `True`，`x @ x` 抛出 `RuntimeError`；
`x.numel() == 6`，`x.shape == (2, 3)`。
"""


def made(site: Site, kind: str, seed: int = 0) -> list[Change]:
    return list(kinds(Author(site.project, seed))[kind]())


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("another shape", "`(n, d)` → `(d, n)`"),
        ("another number", "`0.25` → `6`"),
        ("another value of a keyword", "`keepdim=True` → `keepdim=False`"),
        ("another of True, False, None", "`True` → `None`"),
        ("another error", "`RuntimeError` → `ValueError`"),
        ("another subject", "`size` → `share`"),
        ("another subject", "`t` → `x`"),
        ("another right side", "`x.numel() == 6` → `x.numel() == 2`"),
        ("another right side", "`x.shape == (2, 3)` → `x.shape == (d, n)`"),
        ("another order", "`(n, d)` → `(d, n)`"),
        ("another order", "`x.shape == (2, 3)` → `x.shape == (3, 2)`"),
    ],
)
def test_another_value_of_the_page_is_put_in_place_and_caught(
    site: Site, kind: str, what: str
) -> None:
    site.pair(ZH, EN)
    changes = [one for seed in range(40) for one in made(site, kind, seed)]
    change = next(one for one in changes if one.what == what)
    for path, text in change.texts.items():
        site.write(path, text)
    project = site.project
    assert sorted(change.texts) == ["docs/en/x.md", "docs/zh/x.md"]
    assert "docs/zh/x.md" in prove(project.settings, project, change)


def test_no_value_is_replaced_by_the_same_number_to_the_digits_shown(site: Site) -> None:
    site.write("README.md", "```python\na, b = 0.25, 3\n```\n\n`a` is `0.25`; `a == 0.250`.\n")
    assert made(site, "another number") == made(site, "another right side") == []


def test_inequality_is_not_loosened(site: Site) -> None:
    text = "```python\nn = 3\n```\n\n`n == 3`, `n > 2`, `n < 5` and `n != 1`.\n"
    site.write("README.md", text)
    changes = [one for seed in range(20) for one in made(site, "another right side", seed)]
    new = {one.new for one in changes}
    assert {"n > 3", "n > 5", "n < 3", "n < 1"} <= new
    assert not {"n > 1", "n < 6"} & new


def test_error_is_not_replaced_by_one_that_it_is(site: Site) -> None:
    text = "```python\nraise KeyError\n```\n\nIt raises a `KeyError`, `LookupError` or `OSError`.\n"
    site.write("README.md", text)
    changes = [one for seed in range(20) for one in made(site, "another error", seed)]
    assert {one.new for one in changes if "`KeyError` →" in one.what} == {"OSError"}


def test_code_that_is_not_judged_is_left_alone(site: Site) -> None:
    site.write("README.md", "```python\nn = 1\n```\n\n`True`{.text} and `(n, 2)`{.wrong}, `n`.\n")
    author = Author(site.project, 0)
    assert [one for source in kinds(author).values() for one in source()] == []


def test_change_is_made_where_the_same_is_said_in_the_other_language(site: Site) -> None:
    block = "# {0} {{#one}}\n\n```python\na, b, c = 2, 2, 3\n```\n\n"
    site.pair(
        block.format("一") + "`c` 是 `3`，`b` 是 `2`，`a` 是 `2`。\n",
        block.format("One") + "`a` is `2`, `b` is `2` and `c` is `3`.\n",
    )
    changes = [one for one in made(site, "another number") if one.what == "`2` → `3`"]
    assert {tuple(text.splitlines()[-1] for text in one.texts.values()) for one in changes} == {
        ("`c` 是 `3`，`b` 是 `3`，`a` 是 `2`。", "`a` is `2`, `b` is `3` and `c` is `3`."),
        ("`c` 是 `3`，`b` 是 `2`，`a` 是 `3`。", "`a` is `3`, `b` is `2` and `c` is `3`."),
    }
