"""What a block prints is what the page shows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_site import Site, places

from proseproof.outputs import same
from proseproof.update import update

MARK = "<!--pytest-codeblocks:expected-output-->"


def block(code: str, shown: str) -> str:
    return f"```python\n{code}\n```\n\n{MARK}\n```text\n{shown}\n```\n"


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("a\nb", "a  \nb\n\n"),
        ("0.33", "0.3333333"),
        ("loss 0.667 after 3", "loss 0.66666 after 3"),
        ("[0.25, 0.5]", "[0.2500001, 0.4999999]"),
        ("0.5 then 0.33", "0.5 then 0.3333"),
        ("tensor([1.0000, 1.0000])", "tensor([1., 1.])"),
        ("tensor([1., 1.])", "tensor([1.0000, 1.0000])"),
        ("torch 2.10.0, Python 3.12, loss 0.33", "torch 2.10.0, Python 3.12, loss 0.3333"),
        ("between -0.5 and 0.5.", "between -0.50001 and 0.49999."),
        ("", ""),
    ],
)
def test_right_output_is_no_alarm(shown: str, printed: str) -> None:
    assert same(shown, printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("0.34", "0.3333333"),
        ("0.3334", "0.3333"),
        ("4", "5"),
        ("a\nb", "a"),
        ("  a", "a"),
        ("a b", "a  b"),
        ("1.5 of 3", "1.52 of 4"),
        ("2e-08", "1e-08"),
        ("tensor([1., 1.])", "tensor([1.2000, 1.0000])"),
        ("tensor([1.0002, 1.0000])", "tensor([1., 1.])"),
        ("0.50", "0.5"),
        ("torch 2.1.0", "torch 2.10.0"),
        ("torch 2.1.0 and 0.33", "torch 2.10.0 and 0.3333"),
        ("Python 3.1", "Python 3.12"),
        ("Python 3.1, loss 0.33", "Python 3.12, loss 0.3333"),
        ("headwise 0.1", "headwise 0.10"),
    ],
)
def test_wrong_output_is_caught(shown: str, printed: str) -> None:
    assert not same(shown, printed)


@given(st.floats(0, 1000, allow_nan=False), st.integers(1, 6), st.integers(0, 9))
def test_shown_digits_decide(value: float, digits: int, wrong: int) -> None:
    printed = f"{value:.12f}"
    shown = f"{value:.{digits}f}"
    assert same(shown, printed)
    changed = shown[:-1] + str(wrong)
    if abs(float(changed) - value) > 0.6 * 10.0**-digits:
        assert not same(changed, printed)


def test_wrong_output_names_line_diff_and_command(site: Site) -> None:
    (finding,) = site.page(block("print(1)\nprint(2)", "1\n3"))
    assert (finding.path, finding.line) == ("README.md", 7)
    assert "-3\n" in finding.detail + "\n" and "+2\n" in finding.detail + "\n"
    assert "proseproof update" in finding.remedy


def test_print_that_is_not_shown_is_caught(site: Site) -> None:
    assert places(site.page("```python\nprint(1)\n```\n")) == ["README.md:1"]


def test_print_silenced_on_purpose_passes(site: Site) -> None:
    assert site.page("<!--proseproof: silent-->\n```python\nprint(1)\n```\n") == []


def test_silent_block_that_prints_nothing_is_caught(site: Site) -> None:
    assert places(site.page("<!--proseproof: silent-->\n```python\nx = 1\n```\n")) == [
        "README.md:2"
    ]


def test_raised_error_may_be_shown_as_output(site: Site) -> None:
    head = "<!--proseproof: raises ValueError-->\n"
    code = "print('a')\nraise ValueError('no')"
    assert site.page(head + block(code, "a\nValueError: no")) == []
    assert places(site.page(head + block(code, "a\nValueError: yes"))) == ["README.md:8"]


@pytest.mark.parametrize("code", ["x = 1", "raise TypeError('no')"])
def test_block_that_does_not_raise_what_it_should_is_caught(site: Site, code: str) -> None:
    page = f"<!--proseproof: raises ValueError-->\n```python\n{code}\n```\n"
    assert len(site.page(page)) == 1


WRONG_TYPE = "import torch\ntorch.ones(2, dtype=torch.long) @ torch.ones(2)"


@pytest.mark.parametrize(
    ("raises", "code", "place"),
    [
        ("ValueError: too long", "raise ValueError('it is too long')", ""),
        ("ValueError: too long", "raise ValueError('it is too short')", ":3"),
        ("ValueError", "raise ValueError('it is too long')", ":3"),
        ("RuntimeError: dtype", WRONG_TYPE, ""),
        ("RuntimeError: size", WRONG_TYPE, ":4"),
        ("LookupError: a", "{}['a']", ""),
        ("Exception: a", "{}['a']", ":1"),
        ("BaseException: a", "{}['a']", ":1"),
        ("AttributeError: masked_fil", "import torch\ntorch.ones(2).masked_fil", ""),
        ("UnboundLocalError: x", "def f():\n    x += 1\nf()", ""),
        ("NameError: x", "def f():\n    x += 1\nf()", ":4"),
        ("ImportError: nowhere", "import nowhere", ":3"),
    ],
)
def test_error_is_the_one_that_is_meant(site: Site, raises: str, code: str, place: str) -> None:
    findings = site.page(f"<!--proseproof: raises {raises}-->\n```python\n{code}\n```\n")
    assert places(findings) == ([f"README.md{place}"] if place else [])


@pytest.mark.parametrize(
    ("code", "seed"),
    [
        ("import random\nprint(random.randrange(10**9))", "random.seed(0)"),
        (
            "import torch\nx = torch.rand(3)\ntorch.manual_seed(0)\nprint(x)",
            "torch.manual_seed(0)",
        ),
        (
            "import random\nn = random.randrange(10**9)\nrandom.seed(0)\nprint(n)",
            "random.seed(0)",
        ),
        (
            "import torch\nwith torch.random.fork_rng():\n    x = torch.rand(3)\nprint(x)",
            "torch.manual_seed(0)",
        ),
        (
            "import torch\nwith torch.random.fork_rng():\n    torch.manual_seed(0)\n"
            "print(torch.rand(3))",
            "torch.manual_seed(0)",
        ),
        ("import numpy as np\nprint(np.random.rand())", "np.random.seed(0)"),
        ("import torch\nprint(torch.rand(3))", "torch.manual_seed(0)"),
    ],
)
def test_output_that_depends_on_an_unseeded_generator_is_caught(
    site: Site, code: str, seed: str
) -> None:
    site.write("README.md", block(code, "1"))
    assert update(site.project, "README.md") == (True, [])
    assert [one.remedy for one in site.prove("README.md")] == [f"add {seed}"]


def test_output_that_is_drawn_after_the_seed_is_no_alarm(site: Site) -> None:
    drawn = "torch.manual_seed(0)\nprint(torch.randint(9, (2,)).tolist())\n"
    fork = f"with torch.random.fork_rng():\n    torch.manual_seed(0)\n{drawn}"
    assert (
        site.page(block(f"import torch\nx = torch.rand(3)\n{drawn}{fork}", "[8, 0]\n[8, 0]")) == []
    )


def test_output_that_does_not_depend_on_what_is_drawn_is_no_alarm(site: Site) -> None:
    assert site.page(block("import random\nprint(random.random() < 2)", "True")) == []


def test_update_rewrites_outputs_in_both_languages_and_nothing_else(site: Site) -> None:
    zh = "# 一 {#a}\n\n注释  \n\n" + block("print(2)", "1") + "\n尾\n"
    en = "# One {#a}\n\nNote  \n\n" + block("print(2)  # two", "1") + "\nend\n"
    site.pair(zh, en)
    done = site.run("proseproof", "update", "docs/en/x.md")
    assert done.returncode == 0
    for language, text in (("zh", zh), ("en", en)):
        expected = text.replace("```text\n1\n", "```text\n2\n")
        assert (site.root / f"docs/{language}/x.md").read_text(encoding="utf-8") == expected


def test_update_adds_an_output_that_is_missing(site: Site) -> None:
    site.write("README.md", "- item\n\n    ```python\n    print('a\\n\\nb')\n    ```\n\nText.\n")
    assert site.run("proseproof", "update").returncode == 0
    assert site.prove("README.md") == []


def test_update_leaves_right_outputs_alone(site: Site) -> None:
    text = block("print(1 / 3)", "0.33")
    site.write("README.md", text)
    assert site.run("proseproof", "update").returncode == 0
    assert (site.root / "README.md").read_text(encoding="utf-8") == text
