"""What looks like a shape in a comment is asserted or reported, and plain words are neither."""

import pytest
from sample_site import Site, places

BLOCK = """```python
import torch
batch, seq_len, d_model, n, d = 2, 3, 4, 9, 5
x = torch.zeros(2, 3)  # {}
y = x.T
```
"""


@pytest.mark.parametrize(
    "text",
    [
        "now (2, 3)",
        "-> (batch, seq_len)",
        "→ (rows, columns)",
        "x: (rows, columns)",
        "2 x 3",
        "2 × 3",
        "now 2 x 3",
        "batch × seq_len",
        "B T C",
        "B, T, C",
        "batch seq_len",
        "2, 3",
        "batch, seq_len, d_model, heads",
        "Q: [batch, d_model]",
        "one row: (2,)",
        "all but the last: (2, n-7)",
        "now (2*n, d)",
        "of Size([2, 3]) at last",
        "（2, 3）",
        "形状（batch，seq_len）",
        "形状(2, 3)",
        "shape(2, 3)",
        "(batch, ...) and more",
    ],
)
def test_shape_that_nobody_checks_is_caught(site: Site, text: str) -> None:
    (finding,) = site.page(BLOCK.format(text))
    assert places([finding]) == ["README.md:4"]
    assert finding.message == f"looks like a shape, and nobody checks it: # {text}"
    assert "# (batch, seq_len)" in finding.remedy


@pytest.mark.parametrize("text", ["(2, 3)", "[2, 3]", "(batch, seq_len)", "Size([2, 3])"])
def test_same_shape_as_the_whole_comment_is_asserted(site: Site, text: str) -> None:
    assert site.page(BLOCK.format(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "like transpose(1, 2) or f(a, b)",
        "like torch.zeros((2, 3))",
        "numbers in [0, 1)",
        "between (1, 2)",
        "numbers in [1, 5]",
        "scaled to [0, 1]",
        "scaled to [-1, 1]",
        "as in (Vaswani, 2017)",
        "see [1, 2]",
        "axes (1, 2)",
        "axis=(1, 2)",
        "the pair (key, value)",
        "every (i, j) once",
        "Q, K, V",
        "Q K V",
        "query, key",
        "1 x",
        "2 x faster",
        "a 3x3 kernel",
        "0x10 and more",
        "[start, end]",
        "[x]",
        "(1)!",
        "(1)",
        "first, second",
        "batch, then heads",
        "d_model is large, so is n",
        "在第（1）步之后，再看第 2 行",
        "（见下文，然后再算）",
        "每个头一份，共 4 份",
        "区间 [1, 5]",
        "对 f(a, b) 求导",
        "TODO: a, b",
        "X6: mask on the wrong axis when batch == heads",
    ],
)
def test_ordinary_comment_is_no_alarm(site: Site, text: str) -> None:
    assert site.page(BLOCK.format(text)) == []
    assert (
        site.page(
            BLOCK.replace("x = torch.zeros(2, 3)  #", "x = torch.zeros(2, 3)\n#").format(text)
        )
        == []
    )


def test_library_is_held_to_it_too(site: Site) -> None:
    source = "def f(x):\n    return x  # {}\n"
    site.configure('rewrite = ["shape_like_lib"]\n')
    site.write("docs/a.md", "# A\n")
    test = (
        "import numpy\nfrom shape_like_lib import f\n\ndef test_f():\n    f(numpy.zeros((2, 3)))\n"
    )
    site.write("docs/test_f.py", test)
    site.write("shape_like_lib.py", source.format("(rows, columns)"))
    assert site.run("pytest").returncode == 0
    site.write("shape_like_lib.py", source.format("now (rows, columns)"))
    done = site.run("pytest")
    assert done.returncode == 1
    assert "shape_like_lib.py:2: looks like a shape, and nobody checks it" in done.stdout
