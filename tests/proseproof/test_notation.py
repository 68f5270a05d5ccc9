"""The file of notation, the pages that differ from it, and the page that lists it."""

import pytest
from sample_site import Site, places

from proseproof.since import Touched

TORCH = r"""
world = '''
import torch

n, d = 3, 2
X, W, b = torch.randn(n, d), torch.randn(d, 4), torch.randn(4)
'''
[symbols]
n = "n"
d = "d"
X = "X"
W = "W"
b = "b"
'\text{out}' = "torch.nn.functional.linear(X, W.T, b)"
[functions]
'\operatorname{softmax}' = "lambda x: torch.softmax(x, -1)"
'\operatorname{Concat}' = "lambda *parts: torch.cat(parts, -1)"
"""
MATRICES = [
    r"\text{out} = XW + b",
    r"(XW)^\top = W^\top X^\top",
    r"X \in \mathbb{R}^{n \times d}",
    r"\operatorname{Concat}(X, X) = \begin{pmatrix} X & X \end{pmatrix}",
    r"\operatorname{softmax}(X + 1) = \operatorname{softmax}(X)",
    r"\|X\|^2 \ge 0",
    r"\max(0, X) = \frac{X + |X|}{2}",
    r"\begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix} \begin{bmatrix} 1 \\ 0 \end{bmatrix}"
    r" = \begin{bmatrix} 1 \\ 3 \end{bmatrix}",
]
WRONG = {
    r"\text{out} = WX + b": "cannot multiply (2, 4) by (3, 2)",
    r"\text{out} = XW": "XW is a tensor (3, 4)".replace("XW", "X W"),
    r"\text{out} = XW + X": "(3, 4) and (3, 2) cannot be added",
    r"X \in \mathbb{R}^{d \times n}": "X has the shape (3, 2)",
    r"X = X^\top": "X^\\top is a tensor (2, 3)",
    r"\frac{1}{X} = 1": "divides by something of shape (3, 2)",
    r"W^2 = W": "only numbers have powers",
    r"X \times W = 1": "joins numbers",
}


@pytest.fixture
def matrices(site: Site) -> Site:
    site.configure('notation = "docs/notation.toml"\n')
    site.write("docs/notation.toml", TORCH)
    return site


@pytest.mark.parametrize("formula", MATRICES)
def test_matrices_multiply_as_their_shapes_say(matrices: Site, formula: str) -> None:
    assert matrices.page(f"# M {{#m}}\n\nSo ${formula}$.\n") == []


@pytest.mark.parametrize("formula", WRONG)
def test_wrong_matrices_are_found(matrices: Site, formula: str) -> None:
    (found,) = matrices.page(f"# M {{#m}}\n\nSo ${formula}$.\n")
    assert places([found]) == ["README.md:3"] and WRONG[formula] in found.message


def test_formulas_leave_torch_as_it_was(matrices: Site) -> None:
    import torch

    drawn = torch.get_rng_state()
    matrices.page("# M {#m}\n\nSo $\\text{out} = XW + b$.\n")
    assert torch.get_default_dtype() == torch.float32
    assert torch.equal(torch.get_rng_state(), drawn)


PAGES = """
world = "radius, count = 2.0, 3"
table = "letters.md"
[symbols]
r = "radius"
n = "count"
[names]
n = "count"
[indices]
i = "range(count)"
[functions]
'\\operatorname{Area}' = "lambda r: 3 * r**2"
[pages."cubes.md"]
world = "side = 4"
symbols = { r = "side", 's_i' = "side + i" }
"""


@pytest.fixture
def letters(site: Site) -> Site:
    site.write(
        "pyproject.toml",
        '[tool.proseproof]\npages = ["cubes.md", "letters.md"]\nnotation = "notation.toml"\n',
    )
    site.write("notation.toml", PAGES)
    site.write("letters.md", LETTERS)
    return site


LETTERS = """
# Letters {#letters}

| letter | in code | what |
|---|---|---|
| $r$ | | radius |
| $n$ | `count`{.text} | how many |
| $i$, $s_i$ | | one of them, and a side |
"""


def test_page_may_give_a_symbol_another_meaning_if_it_says_so(letters: Site) -> None:
    letters.write(
        "cubes.md", "# Cubes {#cubes}\n\nHere $r$ is a side, so $r = 4$, $s_i = r + i$.\n"
    )
    assert letters.prove("cubes.md") == []
    letters.write("cubes.md", "# Cubes {#cubes}\n\nHere $r = 4$.\n")
    (found,) = letters.prove("cubes.md")
    assert places([found]) == ["cubes.md:3"]
    assert "$r$ means something else" in found.message and "$r$ is …" in found.remedy


def test_table_lists_every_symbol(letters: Site) -> None:
    letters.write("cubes.md", "# Cubes {#cubes}\n")
    letters.write("letters.md", LETTERS.replace("$i$, $s_i$", "$i$"))
    (found,) = letters.findings_of_project()
    assert found.message == "$s_i$ is in notation.toml, and in no table of this page"
    letters.write("letters.md", LETTERS)
    assert letters.findings_of_project() == []


def test_table_has_the_name_in_code(letters: Site) -> None:
    letters.write("cubes.md", "# Cubes {#cubes}\n")
    letters.write("notation.toml", PAGES.replace(", 's_i' = \"side + i\"", ""))
    assert letters.findings_of_project() == []
    letters.write("letters.md", LETTERS.replace("`count`{.text}", "`size`{.text}"))
    (found,) = letters.findings_of_project()
    assert places([found]) == ["letters.md:6"] and "is `count` in code" in found.message


BROKEN = {
    "world = 3 4": "notation.toml: ",
    "colour = 3": "has no 'colour'",
    '[symbols]\n"{" = "1"': "is not closed",
    '[symbols]\nx = "1 +"': "is no Python",
    'world = "1 / 0"\n[symbols]\nx = "1"': "the world cannot be built: ZeroDivisionError",
}


@pytest.mark.parametrize("text", BROKEN)
def test_broken_notation_is_named(letters: Site, text: str) -> None:
    letters.write("notation.toml", text)
    letters.write("letters.md", "# L {#l}\n\nSo $x = 1$.\n")
    done = letters.run("pytest", "--codeblocks", "-p", "no:cacheprovider", "letters.md")
    assert done.returncode != 0 and BROKEN[text] in done.stdout + done.stderr
    assert "INTERNALERROR" not in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_notation_that_is_not_there_is_named(letters: Site) -> None:
    (letters.root / "notation.toml").unlink()
    done = letters.run("pytest", "--codeblocks", "letters.md")
    assert "notation.toml: there is no such file" in done.stdout + done.stderr


def test_change_of_the_notation_or_the_ledger_touches_the_pages_that_use_it(letters: Site) -> None:
    letters.write(
        "pyproject.toml",
        '[tool.proseproof]\npages = ["cubes.md", "letters.md"]\nnotation = "notation.toml"\n'
        'bindings = "ledger"\n',
    )
    letters.write("cubes.md", "# Cubes {#cubes}\n")
    assert Touched(letters.project, {"notation.toml"}).touched_pages == {"letters.md"}
    assert Touched(letters.project, {"ledger/cubes.toml"}).touched_pages == {"cubes.md"}


def test_kept_proof_is_redone_when_the_notation_changes(letters: Site) -> None:
    letters.write("cubes.md", "# C {#c}\n\n```python\nside = 1\n```\n\nSo $n = 3$.\n")
    assert letters.prove("cubes.md") == letters.prove("cubes.md") == []
    letters.write("notation.toml", PAGES.replace("count = 2.0, 3", "count = 2.0, 4"))
    (found,) = letters.prove("cubes.md")
    assert "n is 4; 3" in found.message
