"""A table of shapes is held against data that the code gives."""

import pytest
from sample_site import Site, places

PAGE = """
```python
num_heads = 3
steps = [("x", (2, 5, 12)), ("heads", (2, 3, 5, 4)), ("x", (2, 12, 5))]
```

<!--proseproof: shapes steps-->

| step | shape | numbers |
|---|---|---|
| `x` | `(batch, seq_len, d_model)` | `(2, 5, 12)` |
| `heads` | `(batch, num_heads, seq_len, d_model / num_heads)` | |
| `x` | `(batch, d_model, seq_len)` | turned |
"""


def test_true_table_passes_and_is_counted(site: Site) -> None:
    site.write("README.md", PAGE)
    proof = site.proof("README.md")
    assert proof.whole() == []
    assert [(claim.rule, claim.verdict) for claim in proof.entry.claims] == [("table", "holds")] * 3


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("| `(batch, d_model, seq_len)` | turned", "| `(batch, seq_len, d_model)` | turned", 12),
        ("(2, 5, 12)` |", "(2, 5, 13)` |", 10),
        ("| `heads`", "| `haeds`", 11),
        ("num_heads, seq_len, d_model /", "seq_len, num_heads, d_model /", 11),
        ("| `(batch, d_model, seq_len)` | turned", "| five | turned", 12),
        ("shapes steps", "shapes stesp", 6),
    ],
)
def test_wrong_row_is_caught_at_its_line(site: Site, old: str, new: str, line: int) -> None:
    assert old in PAGE
    assert places(site.page(PAGE.replace(old, new)))[:1] == [f"README.md:{line}"]


def test_dimension_that_nothing_binds_and_one_cell_names_is_caught(site: Site) -> None:
    text = PAGE.replace("(batch, num_heads,", "(batch, groups,")
    assert places(site.page(text)) == ["README.md:11"]


def test_dimension_with_a_value_may_stand_in_one_cell(site: Site) -> None:
    rows = PAGE.replace("num_heads, seq_len, d_model / num_heads", "num_heads, seq_len, 4")
    assert site.page(rows) == []


def test_table_mark_without_a_table_is_caught(site: Site) -> None:
    text = "```python\nsteps = []\n```\n\n<!--proseproof: shapes steps-->\n\nText.\n"
    assert places(site.page(text)) == ["README.md:5"]
