"""A table of shapes is held against data that the code gives."""

import pytest
from sample_site import Site, places

PAGE = """
```python
num_heads = 3
steps = [("x", (2, 5, 12)), ("heads", (2, 3, 5, 4)), ("x", (2, 5, 12))]
```

<!--proseproof: shapes steps-->

| step | shape | numbers |
|---|---|---|
| `x` | `(batch, seq_len, d_model)` | `(2, 5, 12)` |
| `heads` | `(batch, num_heads, seq_len, d_model / num_heads)` | |
| `x` | `(batch, seq_len, d_model)` | again |
"""


def test_true_table_passes_and_is_counted(site: Site) -> None:
    site.write("README.md", PAGE)
    proof = site.proof("README.md")
    assert proof.whole() == []
    assert [(claim.rule, claim.verdict) for claim in proof.entry.claims] == [("table", "holds")] * 3


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("| `(batch, seq_len, d_model)` | again", "| `(batch, d_model, seq_len)` | again", 12),
        ("(2, 5, 12)` |", "(2, 5, 13)` |", 10),
        ("| `heads`", "| `haeds`", 11),
        ("num_heads, seq_len, d_model /", "seq_len, num_heads, d_model /", 11),
        ("| `(batch, seq_len, d_model)` | again", "| five | again", 12),
        ("shapes steps", "shapes stesp", 6),
    ],
)
def test_wrong_row_is_caught_at_its_line(site: Site, old: str, new: str, line: int) -> None:
    assert old in PAGE
    assert places(site.page(PAGE.replace(old, new)))[:1] == [f"README.md:{line}"]


def test_table_mark_without_a_table_is_caught(site: Site) -> None:
    text = "```python\nsteps = []\n```\n\n<!--proseproof: shapes steps-->\n\nText.\n"
    assert places(site.page(text)) == ["README.md:5"]
