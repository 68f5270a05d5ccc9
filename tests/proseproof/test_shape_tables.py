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
        ("| `heads`", "| `heads`{.wrong}", 11),
        ("(2, 5, 12)` |", "(2, 5, 12)`{.wrong} |", 10),
    ],
)
def test_wrong_row_is_caught_at_its_line(site: Site, old: str, new: str, line: int) -> None:
    assert old in PAGE
    assert places(site.page(PAGE.replace(old, new)))[:1] == [f"README.md:{line}"]


def rows(*lines: str, code: str = 'steps = [("Q", (5, 8)), ("K", (5, 8)), ("out", (5, 5))]') -> str:
    table = "\n".join(["| step | shape |", "|---|---|", *lines])
    return f"```python\n{code}\n```\n\n<!--proseproof: shapes steps-->\n\n{table}\n"


Q, K, OUT = "| `Q` | `(5, 8)` |", "| `K` | `(5, 8)` |", "| `out` | `(5, 5)` |"


@pytest.mark.parametrize("lines", [(Q, K, OUT), (Q, OUT), (K,)])
def test_rows_in_order_may_leave_some_out(site: Site, lines: tuple[str, ...]) -> None:
    assert site.page(rows(*lines)) == []


@pytest.mark.parametrize(
    ("lines", "line"),
    [((OUT, K, Q), 10), ((K, Q, OUT), 10), ((Q, Q, OUT), 10), ((Q, OUT, OUT), 11)],
)
def test_row_out_of_order_or_given_twice_is_caught(
    site: Site, lines: tuple[str, ...], line: int
) -> None:
    findings = site.page(rows(*lines))
    assert places(findings)[:1] == [f"README.md:{line}"]
    assert "its order is Q, K, out" in findings[0].message and findings[0].remedy


def test_dimension_that_nothing_binds_is_caught(site: Site) -> None:
    named = ("| `Q` | `(d_model, seq_len)` |", "| `K` | `(d_model, seq_len)` |")
    findings = site.page(rows(*named))
    assert places(findings) == ["README.md:9", "README.md:9"]
    assert "d_model" in findings[0].message and "give it a value" in findings[0].remedy
    bound = 'd_model, seq_len = 5, 8\nsteps = [("Q", (5, 8)), ("K", (5, 8))]'
    assert site.page(rows(*named, code=bound)) == []
    bound = bound.replace("5, 8\n", "8, 5\n")
    assert places(site.page(rows(*named, code=bound))) == ["README.md:10", "README.md:11"]


BLOCK, TABLE = PAGE.split("<!--")[0], "<!--" + PAGE.split("<!--")[1]


@pytest.mark.parametrize(
    ("above", "line"),
    [
        ("Text.\n\n", 3),
        (BLOCK + "```sh\ntrue\n```\n\n", 10),
        (BLOCK + "<!--proseproof: skip: slow-->\n```python\nx = 1\n```\n\n", 11),
    ],
)
def test_table_that_nobody_would_check_is_caught(site: Site, above: str, line: int) -> None:
    findings = site.page(above.lstrip("\n") + TABLE)
    assert places(findings) == [f"README.md:{line}"]
    assert "nobody checks this table" in findings[0].message and findings[0].remedy


def test_dimension_with_a_value_may_stand_in_one_cell(site: Site) -> None:
    rows = PAGE.replace("num_heads, seq_len, d_model / num_heads", "num_heads, seq_len, 4")
    assert site.page(rows) == []


def test_table_mark_without_a_table_is_caught(site: Site) -> None:
    text = "```python\nsteps = []\n```\n\n<!--proseproof: shapes steps-->\n\nText.\n"
    assert places(site.page(text)) == ["README.md:5"]
