"""Code spans in sentences hold, exist and evaluate; what is marked wrong is proved wrong."""

import pytest
from sample_site import Site, places

BLOCK = """
```python
import torch
import torch.nn.functional as F
from torch import nn

batch, seq_len, d_model, num_heads = 2, 5, 12, 3
d_k = d_model // num_heads
torch.manual_seed(0)
x = torch.randn(batch, seq_len, d_model)
layer = nn.Linear(d_model, 2 * d_model, bias=False)
heads = x.view(batch, seq_len, num_heads, d_k).transpose(1, 2)
weights = F.softmax(heads @ heads.transpose(-2, -1), dim=-1)
half = 1 / 3
for head in range(num_heads):
    part = weights[:, head]
print(round(half, 3))
```

<!--pytest-codeblocks:expected-output-->
```text
0.333
```

"""
LINE = BLOCK.count("\n")  # sentences below the block stand on this line


@pytest.mark.parametrize(
    "span",
    [
        "d_k == 4",
        "half == 0.33",
        "half != 0.34",
        "0.1 + 0.2 != 0.3",
        "x.shape == (batch, seq_len, d_model)",
        "num_heads * d_k == d_model",
        "weights.min() >= 0",
        "2 < num_heads < 4",
        "0 <= weights <= 1",
        "d_k = d_model // num_heads",
        "num_heads = 3",
        "d_model // num_heads",
        "heads.transpose(1, 2)",
        "torch.equal(x, x)",
        "heads.is_contiguous() is False",
        "transpose(1, 2)",
        "view(...)",
        "view(batch, ...)",
        "view(...).transpose(1, 2)",
        "transpose(1, 2).contiguous().view(...)",
        "x.view(...)",
        ".transpose(-2, -1)",
        "softmax",
        "masked_fill",
        "torch.nn.functional.softmax",
        "nn.Linear",
        "F.softmax",
        "layer.weight",
        "forward",
        "len",
        "lambda",
        "dim=-1",
        "bias=False",
        "README.md",
        "pyproject.toml",
        "import torch",
        "from torch import nn",
        "for head in range(num_heads):",
        "x[:, 0]",
        "sum([1, 2])",
        "pytest README.md",
        "python -m pytest",
    ],
)
def test_right_sentence_is_no_alarm(site: Site, span: str) -> None:
    assert site.page(f"{BLOCK}It is `{span}` here.\n") == []


@pytest.mark.parametrize(
    "span",
    [
        "(2, 5, 12)",  # of what?
        "True",
        "None",
        "[1, 2]",
        "0.333",
        "average_attn_weights=False",  # in no code of the page
        "d_k == 5",
        "half == 0.34",
        "half != 0.33",  # to the digits shown it is
        "x.shape == (batch, d_model, seq_len)",
        "weights.min() >= 1",
        "0 <= weights < 0.5",
        "d_k = d_model // batch",
        "d_model // nm_heads",
        "heads.transpose(1, 9)",
        "transpose(1, 3)",
        "veiw(...)",
        "view(...).transpose(1, 3)",
        "view(...).transpsoe(1, 2)",
        "sofmax",
        "mask_fill",
        "torch.nn.functional.sofmax",
        "nn.Liner",
        "layer.weigth",
        "self.W_q",
        "dmi=-1",
        "12",
        "README.rst",
        "docs/none.md",
        "import troch",
        "from torch import nm",
        "for head in range(batch):",
        "x[:, 9]",
        "K^T",
        "make tset",
        "pytest docs/none.md",
        "torch.equal(x, x + 1)",  # a test that does not hold
        "view(seq_len, ...)",  # no call begins like this
        "not torch.equal(x, x)",
        "heads.is_contiguous()",
    ],
)
def test_wrong_sentence_is_caught_at_its_line(site: Site, span: str) -> None:
    assert places(site.page(f"{BLOCK}\nIt is `{span}` here.\n")) == [f"README.md:{LINE + 1}"]


@pytest.mark.parametrize(
    "span",
    ["mask_fill", "d_k == 5", "x^heads", "x.mask_fill(...)", "docs/none.md", "if x then", "dim=2"],
)
def test_what_is_marked_wrong_and_is_wrong_passes(site: Site, span: str) -> None:
    site.write("README.md", f"{BLOCK}Not `{span}`{{.wrong}}.\n")
    proof = site.proof("README.md")
    assert proof.whole() == []
    assert [claim.verdict for claim in proof.entry.claims] == ["proved wrong"]


@pytest.mark.parametrize(
    "span", ["masked_fill", "d_k == 4", "README.md", "x.view(...)", "d_k + 1", "dim=-1"]
)
def test_what_is_marked_wrong_and_is_right_is_caught(site: Site, span: str) -> None:
    assert places(site.page(f"{BLOCK}Not `{span}`{{.wrong}}.\n")) == [f"README.md:{LINE}"]


@pytest.mark.parametrize(
    "span",
    [
        "Q @ KT",  # names that are not there
        "layer(inputs)",
        "x.sum() == zero",
        "(2, 5, 13)",  # said of nothing
        "4",
        "row += 1",  # Python, and nobody says that it is not
        "for row in x",
    ],
)
def test_what_is_marked_wrong_is_wrong_for_its_own_sake(site: Site, span: str) -> None:
    assert places(site.page(f"{BLOCK}Not `{span}`{{.wrong}}.\n")) == [f"README.md:{LINE}"]


def test_span_marked_as_text_is_a_mention_that_holds(site: Site) -> None:
    site.write("README.md", f"{BLOCK}The product `x × heads`{{.text}}.\n")
    proof = site.proof("README.md")
    assert proof.whole() == []
    assert [(one.rule, one.verdict, one.whole) for one in proof.entry.claims] == [
        ("text", "holds", False)
    ]


@pytest.mark.parametrize("span", ["x", "torch.Size", "x.shape == (2, 5, 12)"])
def test_sentence_above_the_first_block_is_judged_in_it(site: Site, span: str) -> None:
    assert site.page(f"First `{span}`.\n{BLOCK}") == []


def test_sentence_is_judged_in_the_last_block_above(site: Site) -> None:
    first, second = "```python\nn = 1\n```\n", "```python\nn = 2\n```\n"
    text = f"{first}\n`n == 1`\n\n{second}\n`n == 2`\n"
    assert site.page(text) == []
    assert places(site.page(text.replace("`n == 2`", "`n == 1`"))) == ["README.md:11"]


def test_sentence_above_the_first_block_of_its_section_is_judged_in_that(site: Site) -> None:
    first, second = "```python\nn = 1\n```\n", "```python\nn = 2\n```\n"
    text = f"{first}\nNow `n == 1`.\n\n## Two {{#two}}\n\nAnswer: `n == 2`.\n\n{second}"
    assert site.page(text) == []
    assert places(site.page(text.replace("`n == 2`", "`n == 1`"))) == ["README.md:9"]


def test_heading_table_and_list_are_judged(site: Site) -> None:
    text = "```python\nn = 1\n```\n\n## The `m`\n\n| a |\n|---|\n| `k` |\n\n- a `j`\n"
    assert places(site.page(text)) == ["README.md:5", "README.md:9", "README.md:11"]


def test_names_inside_a_listing_may_be_spoken_of(site: Site) -> None:
    site.write("src/lib.py", "class A:\n    def go(self, rate):\n        self.total = rate * 2\n")
    head = '```python title="src/lib.py"\n--8<-- "src/lib.py:A"\n```\n\n'
    assert site.page(head + "`self.total`, `rate`, `rate * 2`, `A`, `src/lib.py:A.go`\n") == []
    assert len(site.page(head + "`self.totla`, `raet`, `rate * 3`, `B`, `src/lib.py:A.og`\n")) == 5


def test_span_over_two_lines_and_with_two_ticks_is_read(site: Site) -> None:
    text = "```python\nn = 1\n```\n\nA `n ==\n2` and ``n == 3``.\n"
    assert places(site.page(text)) == ["README.md:5", "README.md:6"]


def test_unclosed_span_is_caught(site: Site) -> None:
    assert places(site.page("Text\nwith `open code.\n")) == ["README.md:2"]


def test_judging_leaves_the_random_state_alone(site: Site) -> None:
    lab = "# %%\nimport random\nrandom.seed(1)\n# %% [markdown]\n# `random.random() < 2`\n# %%\n"
    lab += "a = random.random()\nrandom.seed(1)\nassert a == random.random()\n"
    site.write("docs/labs/a.py", lab)
    assert site.run("proseproof", "update").returncode == 0
    assert site.prove("docs/labs/a.py") == []


def test_sentences_of_a_lab_are_judged_below_their_cell(site: Site) -> None:
    lab = "# %% [markdown]\n# # Lab {#lab}\n# %%\nn = 1\n# %% [markdown]\n# Here `n == 1`.\n# %%\n"
    lab += "n = n + 1\n# %% [markdown]\n# Now `n == 2`.\n"
    site.write("docs/labs/a.py", lab)
    assert site.run("proseproof", "update").returncode == 0
    assert site.prove("docs/labs/a.py") == []
    site.write("docs/labs/a.py", lab.replace("`n == 2`", "`n == 1`"))
    assert places(site.prove("docs/labs/a.py")) == ["docs/labs/a.py:10"]
