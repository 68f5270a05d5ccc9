"""What values say."""

import pytest
from sample_site import Site, places


@pytest.mark.parametrize(("limit", "wrong"), [("0", []), ("5", ["README.md:6"])])
def test_equality_of_nothing_does_not_hold(site: Site, limit: str, wrong: list[str]) -> None:
    page = f"```python\nimport torch\nx = torch.full((2,), 3.0)\n```\n\n`x[x > {limit}] == 3`\n"
    assert places(site.page(page)) == wrong
