"""What exists is looked up where the page and the project look, and nowhere else."""

import pytest
from sample_site import Site

NUMPY = """
# Means {#means}

Unlike torch, this page needs NumPy alone.

```python
import numpy as np

x = np.arange(6.0).reshape(2, 3)
mean = x.mean(axis=0)
```

The array `x` has shape `(2, 3)`, and `mean` holds `1.5`, `2.5` and `3.5`. With
`keepdims=True`{of="np.mean(x, 0, _).ndim == 2"}, `np.mean` and `reshape` keep both axes.
"""


def test_numpy_page_holds(site: Site) -> None:
    assert site.page(NUMPY) == []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("`1.5`", "`1.6`"),
        ("(2, 3)`", "(3, 2)`"),
        ("keepdims=True", "keepdims=False"),
        ("`np.mean`", "`np.men`"),
    ],
)
def test_mistake_on_a_numpy_page_is_caught(site: Site, right: str, wrong: str) -> None:
    assert right in NUMPY
    findings = site.page(NUMPY.replace(right, wrong))
    assert findings and {one.line for one in findings} <= {12, 13}


@pytest.mark.parametrize("name", ["transpose", "no_such_name", "keepdims=True", "softmax(...)"])
def test_torch_is_not_loaded_for_a_page_that_does_not_import_it(site: Site, name: str) -> None:
    site.write("README.md", f"{NUMPY}\nAnd there is `{name}`.\n")
    site.write(
        "conftest.py",
        """
        import sys

        def pytest_sessionfinish():
            print("loaded:", "torch" in sys.modules)
        """,
    )
    assert "loaded: False" in site.run("pytest", "-s", "README.md").stdout


def test_bare_name_of_torch_exists_only_where_torch_is_imported(site: Site) -> None:
    block = "```python\nimport {}\n```\n\nThen comes `masked_fill`.\n"
    assert site.page(block.format("torch")) == []
    assert [one.line for one in site.page(block.format("math"))] == [5]
