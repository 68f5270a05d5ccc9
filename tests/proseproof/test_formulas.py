"""Formulas in the prose: what they say is evaluated, and what they are is in the ledger."""

import pytest
from sample_site import Site, places

CIRCLES = r"""
world = '''
import math

radius, height, sizes = 2.0, 5.0, [3, 4, 5]
area = math.pi * radius**2
'''
[symbols]
r = "radius"
h = "height"
A = "area"
n = "len(sizes)"
'a_{\text{max}}' = "max(sizes)"
a_i = "sizes[i - 1]"
[names]
r = "radius"
n = "count"
[indices]
i = "range(1, 4)"
[functions]
'\operatorname{Cone}' = "lambda r, h: math.pi * r**2 * h / 3"
f = "lambda x: x * x"
p = "lambda said, given: sum(said) / sum(given)"
[terms]
'\pi r^2' = "world.area"
"""
BLOCK = """
# Circles {{#circles}}

```python
radius, count = 3, 7
squares = [n * n for n in range(count)]
```

{}
"""


RELATIONS = [
    r"A = \pi r^2",
    r"\operatorname{Cone}(r, h) = \frac{A h}{3}",
    r"r = 3",  # the block's
    r"n = 7",  # by its name in code
    r"\sum_{i=1}^{3} a_i = 12",
    r"\prod_{i=1}^{3} a_i = 60",
    r"a_i \le a_{\text{max}}",
    r"a_1^2 + a_2^2 = a_3^2",
    r"\pi \approx 3.14",
    r"A > 12, \quad A < 13",
    r"f(h) = h^2",
    r"\max(a_1, \ldots, a_3) = 5",
    r"p(a_1 \mid a_2, a_3) = \frac13",
    r"a_2 \in \{3, 4, 5\}",
    r"a_2 \ne h",
    r"e^{-\infty} = 0",
    r"\sqrt[3]{8} = 2",
    r"\ln e = 1",
    r"\begin{cases} 1 & \text{if } h > 9 \\ 2 & \text{otherwise} \end{cases} = 2",
    r"|-h| = h",
    r"0.1 + 0.2 \le 0.3",
    r"1 \cdot 4 + 2 \cdot 8 + 3 = 23",
]
WRONG = {
    r"A = \pi r": "A is 12.56637061; \\pi r is 6.283185307",
    r"A = 2 \pi r^2": "is 25.13274123",
    r"\operatorname{Cone}(r, h) = \frac{A h}{2}": "A h / 2 is 31.41592654",
    r"\operatorname{Cone}(r, h) = \frac{A + h}{3}": "A + h / 3",
    r"r = 4": "r is 3; 4",
    r"n = 8": "n is 7; 8",
    r"\sum_{i=1}^{2} a_i = 12": "is 7; 12",
    r"a_i < a_{\text{max}}": "(at i = 3)",
    r"a_1^2 + a_2^2 = a_3": "is 25; a_3 is 5",
    r"\pi \approx 3.15": "\\pi is 3.141592654; 3.15",
    r"A > 13, \quad A < 13": "A is 12.56637061; 13",
    r"1 \cdot 4 + 2 \cdot 8 + 4 = 23": "is 24; 23",
    r"p(a_1 \mid a_2) = \frac13": "is 0.75",
    r"0.1 + 0.2 > 0.3": "is 0.3; 0.3",  # but for the last bits
    r"z = 1": "z is not in the notation",
    r"\operatorname{Cube}(r) = 8": "the function Cube is not in the notation",
    r"\frac{r}{r - r} = 1": "divides by zero",
    r"0^{-1} = 1": "divides by zero",
    r"\sqrt{-h} = 1": "negative",
    r"\ln 0 = 1": "the logarithm of 0",
    r"A \approx \pi r^2": "needs a number on one side",
    r"\frac{1}{2 = 1": "{ is not closed",
    r"\foo = 1": "\\foo is not known",
    r"１ = 1": "write 1",
    r"a_i \in \{3, 4\}": "(at i = 3)",
}


@pytest.fixture
def circles(site: Site) -> Site:
    site.configure("""
        notation = "docs/notation.toml"
        bindings = "docs/bindings"
        unbound = ["README.md", "docs"]  # numbers have tests of their own
    """)
    site.write("docs/notation.toml", CIRCLES)
    return site


@pytest.mark.parametrize("formula", RELATIONS)
def test_true_relation_holds(circles: Site, formula: str) -> None:
    assert circles.page(BLOCK.format(f"So ${formula}$ holds.")) == []
    assert circles.page(BLOCK.format(f"$$\n{formula}\n$$")) == []


@pytest.mark.parametrize("formula", WRONG)
def test_false_relation_is_found_with_what_is_true(circles: Site, formula: str) -> None:
    (found,) = circles.page(BLOCK.format(f"So ${formula}$ holds."))
    assert places([found]) == ["README.md:8"]
    assert WRONG[formula] in found.message
    assert found.remedy


def test_formula_in_a_table_a_heading_or_a_link_is_judged(circles: Site) -> None:
    table = "| a | b |\n|---|---|\n| $r = 4$ | $r = 3$ |"
    assert places(circles.page(BLOCK.format(table))) == ["README.md:10"]
    assert places(circles.page(BLOCK.format("## If $r = 4$ {#if}"))) == ["README.md:8"]
    assert places(circles.page(BLOCK.format("See [$r = 4$](#circles)."))) == ["README.md:8"]


def test_bad_formula_leaves_the_rest_of_the_page_alone(circles: Site) -> None:
    text = "If $\\frac{1}{2$ then.\n\nSo $r = 4$.\n\nAnd $r = 3$."
    assert places(circles.page(BLOCK.format(text))) == ["README.md:8", "README.md:10"]


def test_dollar_that_nothing_closes_is_found(circles: Site) -> None:
    (found,) = circles.page(BLOCK.format("So $r = 3 holds."))
    assert "not closed" in found.message
    assert circles.page(BLOCK.format(r"It costs \$3.")) == []


def test_code_with_dollars_is_no_formula(circles: Site) -> None:
    circles.write("docs/mentioned_words.toml", '"$HOME" = "a folder"\n')
    assert circles.page(BLOCK.format("It is `$HOME`{.text}.")) == []


# What the ledger says.

BOUND = {
    r"\pi r^2": "world.area",
    r"r^2": "lambda r: r * r",
    r"n^2": "len(squares) ** 2",
    r"2n + 1": "lambda n: n + n + 1",
    r"O(n^2)": "lambda n: n * (n + 1) // 2",
    r"n^3": "grows(lambda n: 5 * n**3 + n)",
    r"n < r": "lambda n, r: n * n < n * r",
    r"f(\cdot)": "lambda x: x**2",
    r"\pm r": "[-radius, radius]",
    r"\ln n": "math.log(count)",
    r"h - 1": "world.height - 1",
}


def bound(site: Site, formula: str, expression: str, text: str = "So ${}$ it is.") -> list:
    site.write("docs/bindings/README.toml", f"[circles]\n'${formula}$' = '''{expression}'''\n")
    return site.page(BLOCK.format(text.format(formula)))


@pytest.mark.parametrize("formula", BOUND)
def test_formula_without_a_relation_is_what_its_entry_is(circles: Site, formula: str) -> None:
    assert bound(circles, formula, BOUND[formula]) == []


OTHER = {
    (r"\pi r", "world.area"): "it is 9.424777961; world.area is 12.56637061",
    (r"r^3", "lambda r: r * r"): "at r = 8 it is 512; what it is bound to is 64",
    (r"O(n)", "lambda n: n * (n + 1) // 2"): "grows like n^2, not n^1",
    (r"O(n^2 h)", "lambda n: n * n"): "h is no parameter",
    (r"n^2", "grows(lambda n: n)"): "not n^2",
    (r"n > r", "lambda n, r: n * n < n * r"): "it is False",
    (r"n = n", "lambda n: True"): "whatever the sizes",
    (r"f(\cdot)", "lambda x: x**3"): "the two differ",
    (r"n^2", "len(triangles)"): "there is no triangles here",
    (r"n^2", "world.volume"): "no volume",
    (r"n^2", "1 +"): "no Python expression",
    (r"n^2", "1 / 0"): "ZeroDivisionError",
    (r"n^2", "term()"): "term() is False",
    (r"\frac{n}{0}", "count"): "divides by zero",
}


@pytest.mark.parametrize(("formula", "expression"), OTHER)
def test_another_value_is_found_with_the_true_one(
    circles: Site, formula: str, expression: str
) -> None:
    (found,) = bound(circles, formula, expression)
    assert places([found]) == ["README.md:8"]
    assert OTHER[formula, expression] in found.message


def test_term_of_a_proved_formula_is_bound_to_it(circles: Site) -> None:
    text = "As $A = \\pi r^2$, the ${}$ counts."
    assert bound(circles, "r^2", "term()", text) == []
    assert len(bound(circles, "r^4", "term()", text)) == 1


def test_formula_that_the_ledger_does_not_have_is_found(circles: Site) -> None:
    (found,) = circles.page(BLOCK.format("So $n^2$ it is."))
    assert places([found]) == ["README.md:8"]
    assert "'$n^2$' = " in found.remedy and "[circles]" in found.remedy


def test_entry_that_no_formula_uses_is_found(circles: Site) -> None:
    """Dividing by the root is not dividing by what is under it."""
    circles.write(
        "docs/bindings/README.toml", "[circles]\n'$\\sqrt{h}$' = \"world.height ** 0.5\"\n"
    )
    assert circles.page(BLOCK.format(r"It is divided by $\sqrt{h}$.")) == []
    found, unlisted = circles.page(BLOCK.format("It is divided by $h$."))
    assert places([found]) == ["docs/bindings/README.toml:2"]
    assert "no longer stands in #circles of README.md" in found.message
    assert "here is $h$" in unlisted.message


def test_each_time_that_a_formula_stands_in_a_section_counts(circles: Site) -> None:
    entries = "[circles]\n'$n^2$' = \"count ** 2\"\n'$n^2$ #2' = \"len(squares) ** 2\"\n"
    circles.write("docs/bindings/README.toml", entries)
    assert circles.page(BLOCK.format("Here $n^2$, there $n^2$.")) == []
    found, _ = circles.page(BLOCK.format("Here $n^2$, there $n$."))
    assert places([found]) == ["docs/bindings/README.toml:3"]


def test_entry_may_name_the_block_beside_which_it_holds(circles: Site) -> None:
    more = "So $n^2$.\n\n## More {#more}\n\n```python\ncount = 4\n```\n"
    entry = "[circles]\n'$n^2$' = \"#more count ** 2\"\n"
    circles.write("docs/bindings/README.toml", entry)
    assert circles.page(BLOCK.format(more)) == []


def test_lone_symbol_has_to_be_known(circles: Site) -> None:
    symbols = "symbols = ['r', 'a_2', 'a_{\\text{max}}', '\\sum']"
    circles.write("docs/bindings/README.toml", f"[circles]\n{symbols}\n")
    text = "Here $r$, $a_2$, $a_{\\text{max}}$ and $\\sum$."
    assert circles.page(BLOCK.format(text)) == []
    found, _ = circles.page(BLOCK.format(text.replace("$r$", "$R$")))
    assert "not in the notation" in found.message and "docs/notation.toml" in found.remedy


def test_lone_symbol_that_has_become_another_is_found(circles: Site) -> None:
    circles.write("docs/bindings/README.toml", "[circles]\nsymbols = ['r', 'h']\n")
    assert circles.page(BLOCK.format("Both $r$ and $h$ count.")) == []
    (found,) = circles.page(BLOCK.format("Both $r$ and $A$ count."))
    assert places([found]) == ["README.md:8"]
    assert "here is $A$, and docs/bindings/README.toml lists $h$" in found.message
    assert "bind README.md" in found.remedy


def test_without_a_notation_nothing_is_asked(site: Site) -> None:
    assert site.page(BLOCK.format("So $\\foo = 4$.")) == []


def test_page_without_blocks_is_judged(circles: Site) -> None:
    (found,) = circles.page("# Circles {#circles}\n\nSo $A = r$.\n")
    assert places([found]) == ["README.md:3"]


def test_both_languages_are_judged(circles: Site) -> None:
    circles.pair("# 圆 {#circles}\n\n$A = r$。\n", "# Circles {#circles}\n\n$A = r$.\n")
    assert "docs/zh/x.md:3" in places(circles.prove("docs/zh/x.md"))
    assert "docs/en/x.md:3" in places(circles.prove("docs/en/x.md"))


def test_formula_changed_in_one_language_alone_is_found(circles: Site) -> None:
    circles.pair(
        "# 圆 {#circles}\n\n$A = r^2 \\pi$。\n", "# Circles {#circles}\n\n$A = \\pi r^2$.\n"
    )
    found = [one for one in circles.prove("docs/en/x.md") if "formulas" in one.message]
    assert places(found) == ["docs/en/x.md:3"]


# What bind writes.


def ledger(site: Site) -> str:
    return (site.root / "docs/bindings/README.toml").read_text(encoding="utf-8")


def test_bind_says_what_formulas_are(circles: Site) -> None:
    text = "With $r$: $\\pi r^2$ as a rule. As $A = \\pi r^2$, $r^2$ counts. Also $2 n$."
    circles.write("README.md", BLOCK.format(text).replace("count)]", "count)]\ndouble = 14"))
    circles.run("proseproof", "bind", "README.md")
    written = ledger(circles)
    assert written.endswith(
        """
[circles]
symbols = ["r"]
'$\\pi r^2$' = "world.area"
"$r^2$" = "term()"
"$2 n$" = "double"
"""
    )
    assert circles.prove("README.md") == []
    circles.run("proseproof", "bind", "README.md")
    assert ledger(circles) == written


def test_bind_leaves_open_what_it_cannot_guess(circles: Site) -> None:
    circles.write("README.md", BLOCK.format("So $n^3$."))
    done = circles.run("proseproof", "bind", "README.md")
    assert done.returncode == 1 and '"$n^3$" = "?"' in ledger(circles)
    (found,) = circles.prove("README.md")
    assert "nobody has said what $n^3$ is" in found.message


def test_bind_refuses_a_formula_in_place_of_one_that_is_gone(circles: Site) -> None:
    circles.write(
        "docs/bindings/README.toml", "[circles]\n'$\\sqrt{h}$' = \"world.height ** 0.5\"\n"
    )
    circles.write("README.md", BLOCK.format("It is divided by $h^2$."))
    done = circles.run("proseproof", "bind", "README.md")
    assert done.returncode == 1 and "not bound: $h^2$" in done.stdout
    assert "$h^2$" not in ledger(circles)


def test_ledger_that_cannot_be_read_is_said_once(circles: Site) -> None:
    circles.write("docs/bindings/README.toml", "[circles\n")
    found = circles.page(BLOCK.format("So $A = \\pi r^2$."))
    assert places(found) == ["docs/bindings/README.toml:1"]
