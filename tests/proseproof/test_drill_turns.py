"""The drill turns the behaviour of a block round, and leaves what it shows as it was."""

import pytest
from sample_site import Site

from proseproof.drill_changes import Author, Change
from proseproof.drill_turns import kinds

SHOWN = "\n<!--pytest-codeblocks:expected-output-->\n```text\n{}\n```\n"


def made(site: Site, kind: str) -> list[Change]:
    return list(kinds(Author(site.project, 0))[kind]())


def turned(site: Site, kind: str, code: str) -> list[str]:
    """The block's code after each change of the kind."""
    site.write("README.md", f"```python\n{code}\n```\n" + SHOWN.format("?"))
    return [one.texts["README.md"].split("```")[1][7:-1] for one in made(site, kind)]


@pytest.mark.parametrize(
    ("kind", "code", "new"),
    [
        ("a negation", "x = not 1", ["x =  1"]),
        ("a negation", "x = ~3", ["x = 3"]),
        ("a negation", "print(1, 2 == 3)", ["print(1, not (2 == 3))"]),
        ("a negation", "print('é', all([1]))", ["print('é', not (all([1])))"]),
        ("a flag", "x = sorted([1], reverse=True)", ["x = sorted([1], reverse=False)"]),
        ("a flag", "reverse = True", []),
        ("two arguments", "x = max(1, 2 + 3)", ["x = max(2 + 3, 1   )"]),
        ("two arguments", "print(1, 2)", []),
        ("two arguments", "x = max(1, 1)", []),
        (
            "one for the other",
            "from math import cos, sin\nx = cos(1)\ny = 2 * sin(2)",
            ["from math import cos, sin\nx = sin(1)\ny = 2 * cos(2)"],
        ),
        (
            "one for the other",
            "wrong = min([1])\nright = min([2])\nprint(wrong, f'{right:2}')",
            ["wrong = min([1])\nright = min([2])\nprint(right, f'{wrong:2}')"],
        ),
    ],
)
def test_block_is_turned_round(site: Site, kind: str, code: str, new: list[str]) -> None:
    found = turned(site, f"turned: {kind}", code)
    assert [text.replace(" ", "") for text in found] == [text.replace(" ", "") for text in new]


def test_function_is_exchanged_for_the_other_that_its_section_quotes(site: Site) -> None:
    site.write("src/lib.py", "def bad(x):\n    return 1\n\n\ndef good(x):\n    return x\n")
    listing = '```python title="src/lib.py"\n--8<-- "src/lib.py:{}"\n```\n\n'
    block = "```python\nfrom lib import bad\n\nprint(bad(2))\n```\n" + SHOWN.format("1")
    site.write("README.md", listing.format("bad") + block + "\n" + listing.format("good"))
    (change,) = made(site, "turned: one for the other")
    assert "from lib import good\n\nprint(good(2))\n" in change.texts["README.md"]


def test_only_sections_of_required_ids_are_turned_where_there_are_any(site: Site) -> None:
    site.write("docs/required_ids.toml", 'required = ["M1"]\n')
    block = "```python\nprint(1 == 2)\n```\n" + SHOWN.format("False")
    site.write("README.md", f"# A {{#a}}\n\n{block}\n## B {{#m1-b}}\n\n{block}")
    (change,) = made(site, "turned: a negation")
    assert change.line == 15


def test_block_that_shows_the_same_when_it_is_turned_is_a_defect(site: Site) -> None:
    code = "rows = sorted([1, 2], reverse=True)\nprint(len(rows))"
    site.write("README.md", f"```python\n{code}\n```\n" + SHOWN.format("2"))
    done = site.run("proseproof", "drill", "--kinds", "flag")
    assert done.returncode == 1
    assert "turned: a flag: 'True' → 'False' in rows" in done.stdout
    assert "UNEXPLAINED" in done.stdout
