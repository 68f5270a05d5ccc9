"""Code that is only mentioned names what exists; a slip of the pen in it is caught."""

import pytest
from sample_site import Site, places

PAGE = """
# Circles {{#circles}}

```python
import json
import math

radius = math.sqrt(4.0)
corners = [radius * math.cos(step) for step in range(3)]
text = json.dumps(corners, indent=None)
pairs = "ab,bc->ac"
```

```toml
colour = "red"
```

Beside it there is {}.
"""
LINE = PAGE[1:].count("\n")

RIGHT = [
    "radius",
    "corners",
    "math.sqrt",
    "json",
    "json.dumps(radius, indent=2)",
    "corners[i, j]",
    "[step + 1 for step in corners]",
    "lambda angle: radius * angle",
    "if math.isnan(radius):",
    "from decimal import ROUND_UP",
    "indent",
    "indent=",
    "assert",
    "~",
    "-> float",
    "(2, 4)",
    "# (2, 4)",
    "README.md",
    "docs/en",
    "en/other.html#part",
    "make area",
    "python -m json",
    "pip install -r requirements.txt",
    "pytest",
    "languages",
    "{.wrong}",
    "{of=radius}",
    "proseproof: silent",
    "varies: true",
    "colour",
    "b",  # an axis
    "area_of",
    "area_",  # the beginning of a name
    "_of",
    "--unit 3",
    "n_head",
    "core dumped",
]
WRONG = [
    ("raduis", "radius"),
    ("conrers", "corners"),
    ("math.sqtr", "math.sqrt"),
    ("jsno", "json"),
    ("json.dmups(radius, indent=2)", "json.dumps"),
    ("json.dumps(radius, indnet=2)", "indent"),
    ("croners[i, j]", "corners"),
    ("[step + 1 for step in conrers]", "corners"),
    ("corners[0].raduis", "radius"),
    ("[step + 1 for setp in corners]", ""),
    ("m.sqrt(4)", ""),
    ("{fo=radius}", ""),
    ("if math.isnna(radius):", "math.isnan"),
    ("from decimal import ROUDN_UP", "decimal.ROUND_UP"),
    ("indnet=", "indent"),
    ("asesrt", ""),
    ("~~", ""),
    ("READEM.md", ""),
    ("docs/ne", ""),
    ("en/other.html#prat", ""),
    ("en/ohter.html#part", ""),
    ("make aera", "area"),
    ("python -m jsno", ""),
    ("pip isntall -r requirements.txt", ""),
    ("pip install -r requirments.txt", ""),
    ("langauges", "languages"),
    ("{.worng}", "wrong"),
    ("{of=raduis}", "radius"),
    ("proseproof: slient", "silent"),
    ("vaires: true", "varies"),
    ("coluor", ""),
    ("z", ""),
    ("area_fo", "area_of"),
    ("aera_", ""),
    ("--untis 3", ""),
    ("n_haed", "n_head"),
    ("core dupmed", ""),
    ("'memroy'", ""),
    ("torch.nn", ""),  # which nothing here imports
]


@pytest.fixture
def circles(site: Site) -> Site:
    site.configure('rewrite = ["shapes"]\n')
    site.write("shapes.py", 'def area_of(radius):\n    return ("--unit", radius)\n')
    site.write("Makefile", "area:\n")
    site.write("requirements.txt", "")
    site.write("docs/en/other.md", "# Other {#part}\n")
    site.write(
        "docs/mentioned_words.toml",
        """
        n_head = "GPT-2's name for the number of heads"
        "core dumped" = "what a shell prints when a program dies"
        """,
    )
    return site


@pytest.mark.parametrize("span", RIGHT)
def test_name_of_something_may_be_mentioned(circles: Site, span: str) -> None:
    assert circles.page(PAGE.format(f"`{span}`{{.text}}")) == []


@pytest.mark.parametrize(("span", "near"), WRONG)
def test_slip_of_the_pen_is_caught_with_its_line_and_what_is_near(
    circles: Site, span: str, near: str
) -> None:
    (finding,) = circles.page(PAGE.format(f"`{span}`{{.text}}"))
    assert places([finding]) == [f"README.md:{LINE}"]
    assert near in finding.message.partition(": ")[2]
    assert "docs/mentioned_words.toml" in finding.remedy


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("tgt_key_padding_mask", "tgt_key_paddding_mask"),
        ("masked_fill", "maksed_fill"),
        ("F.softmax(x, dim=-1)", "F.sofmtax(x, dim=-1)"),
        ("x.transpose(-2, -1)", "x.transpsoe(-2, -1)"),
        ("loss.backward()", "loss.backwrad()"),
        ("DataLoader", "DataLader"),
        ('"cuda"', '"cdua"'),
    ],
)
def test_attribute_and_parameter_of_an_imported_package_exist(
    site: Site, right: str, wrong: str
) -> None:
    site.configure('homes = ["torch.utils.data"]\n')
    block = "```python\nimport torch\n\nx = torch.ones(2, 3)\nloss = x.sum()\n```\n\n"
    assert site.page(f"{block}See `{right}`{{.text}}.\n") == []
    assert places(site.page(f"{block}See `{wrong}`{{.text}}.\n")) == ["README.md:8"]


def test_package_that_nobody_imports_is_not_loaded_to_look_a_name_up(site: Site) -> None:
    site.write("README.md", "There are `tabnanny`{.text}, `nn.Linear`{.text}, `softmax`{.text}.\n")
    site.write(
        "conftest.py",
        """
        import sys

        def pytest_sessionfinish():
            print("loaded:", {"torch", "tabnanny"} & {*sys.modules})
        """,
    )
    assert "loaded: set()" in site.run("pytest", "-s", "README.md").stdout


def test_word_of_the_list_that_no_page_mentions_is_reported(circles: Site) -> None:
    circles.write("README.md", PAGE.format("`n_head`{.text}"))
    (finding,) = circles.findings_of_project()
    assert places([finding]) == ["docs/mentioned_words.toml:2"]
    assert "core dumped" in finding.message


def test_word_without_a_meaning_is_reported(site: Site) -> None:
    site.write("docs/mentioned_words.toml", 'n_head = " "\n')
    site.write("README.md", "There is `n_head`{.text}.\n")
    assert places(site.findings_of_project()) == ["docs/mentioned_words.toml:1"]
