"""A change that nobody caught is explained only when the page stays right."""

import pytest
from sample_site import Site

from proseproof.drill_changes import Author, Change
from proseproof.drill_reasons import means_nothing

PAGE = """
```python
import torch

n, d = 2, 3
Q, K, V = torch.zeros(n, d), torch.ones(n, d), torch.ones(d, n)
print(Q.sum().item())
```

<!--pytest-codeblocks:expected-output-->
```text
0.0
```

`Q` has shape `(n, d)`, and `Q.numel() > 4`; it was `dim=1`.
"""


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("(n, d)", "(2, 3)", "both are (2, 3) here"),
        ("(n, d)", "(d, n)", ""),
        ("(n, d)", "(n, unknown)", ""),
        ("Q", "K", "K has the same shape"),
        ("Q", "V", ""),
        ("Q", "n", ""),
        ("Q.numel() > 4", "Q.numel() > 5", "the comparison stays true"),
        ("Q.numel() > 4", "Q.numel() > 6", ""),
        ("dim=1", "dim=n - 1", "both are 1 here"),
        ("dim=1", "dim=0", ""),
    ],
)
def test_other_code_in_a_sentence_is_excused_when_it_is_true(
    site: Site, old: str, new: str, reason: str
) -> None:
    site.write("README.md", PAGE)
    project = site.project
    page = project.page("README.md")
    span = next(one for one in page.spans if one.text == old)
    change = Author(project, 0).span("kind", page, span, new)
    assert change is not None
    assert means_nothing(project.settings, project, change) == reason


def test_sentence_of_a_lab_is_computed_with_all_cells_above_it(site: Site) -> None:
    site.write(
        "docs/labs/a.py",
        """
        # %%
        n = 2
        # %%
        m = n + 1
        # %% [markdown]
        # So `m > 1`.
        """,
    )
    project = site.project
    page = project.page("docs/labs/a.py")
    author = Author(project, 0)
    reasons = []
    for new in ("m > 2", "m > 3"):
        change = author.span("kind", page, page.spans[0], new)
        assert change is not None
        reasons.append(means_nothing(project.settings, project, change))
    assert reasons == ["the comparison stays true", ""]


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("torch.ones(2)", "torch.zeros(2) + 1", True),
        ("torch.ones(2)", "torch.zeros(2)", False),
        ("torch.ones(2) / 0 * 0", "torch.ones(2) * torch.nan", True),
        ("{1: [2]}", "{1: [3]}", False),
        ("torch.nn.Dropout(0.5)", "torch.nn.Dropout(0.5).eval()", False),
        ("lambda x: min(x)", "lambda x: max(x)", False),
    ],
)
def test_turned_block_is_excused_only_when_it_computes_the_same(
    site: Site, one: str, two: str, same: bool
) -> None:
    texts = [f"```python\nimport torch\n\nvalue = {code}\n```\n" for code in (one, two)]
    site.write("README.md", texts[0])
    project = site.project
    project.page("README.md")
    site.write("README.md", texts[1])
    change = Change("turned: a flag", "README.md", 4, "", {"README.md": texts[1]})
    reason = means_nothing(project.settings, project, change)
    assert reason == ("the code computes the same" if same else "")


@pytest.mark.parametrize(
    ("what", "explained"),
    [
        ("'2' → '3' in x = torch.randn(2, 5)", True),
        ("'2' → '3' in x = torch.randn(5, 5) * 2", False),
        ("'2' → '3' in return x.transpose(1, 2)", False),
        ("'==' → '!=' in x = torch.ones(2) == y", False),
    ],
)
def test_only_another_size_of_an_example_means_nothing_in_a_source(
    site: Site, what: str, explained: bool
) -> None:
    change = Change("line of a listed source", "src/lib.py", 1, what, {})
    project = site.project
    assert bool(means_nothing(project.settings, project, change)) == explained
