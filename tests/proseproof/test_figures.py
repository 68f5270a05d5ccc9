"""A figure on a page is what its expression draws, in the page's language, and is shown."""

import random

import pytest
from sample_site import Site, places

from proseproof.figures import FigureError, draw, drawn

LIBRARY = """
from dataclasses import dataclass


@dataclass
class Figure:
    lang: str
    word: str
    twin: "Figure | None" = None

    def _repr_mimebundle_(self):
        return {"image/svg+xml": f"<svg>{self.word}</svg>", "text/plain": self.word}


def draw(n):
    return Figure("en", f"{n} bars", Figure("zh", f"{n} 根"))


def broken(n):
    return missing + n
"""

PAGE = """
# One {{#one}}

![{caption}](figures/bars.svg)

<!--proseproof: figure bars.draw(n + 1) docs/{lang}/figures/bars.svg-->

```python
n = 2
```
"""


@pytest.fixture
def drawing(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    site.write("bars.py", LIBRARY)
    site.configure('drawing = ["bars"]\n')
    monkeypatch.syspath_prepend(site.root)
    site.pair(PAGE.format(lang="zh", caption="三根"), PAGE.format(lang="en", caption="Bars"))
    site.write("docs/zh/figures/bars.svg", "<svg>3 根</svg>\n")
    site.write("docs/en/figures/bars.svg", "<svg>3 bars</svg>\n")
    return site


@pytest.mark.parametrize("path", ["docs/zh/x.md", "docs/en/x.md"])
def test_true_figure_is_no_alarm(drawing: Site, path: str) -> None:
    proof = drawing.proof(path)
    assert proof.accounted() + proof.block(0) + proof.pair() == []


@pytest.mark.parametrize("stale", ["<svg>4 bars</svg>\n", "<svg>3 根</svg>\n", ""])
def test_stale_figure_is_caught_with_the_command_that_mends_it(drawing: Site, stale: str) -> None:
    drawing.write("docs/en/figures/bars.svg", stale)
    (finding,) = drawing.proof("docs/en/x.md").block(0)
    assert f"{finding.path}:{finding.line}" == "docs/en/x.md:5"
    assert "docs/en/figures/bars.svg" in finding.message
    assert finding.remedy == "python -m proseproof update"


def test_update_draws_each_language_its_own(drawing: Site) -> None:
    for language in ("zh", "en"):
        (drawing.root / f"docs/{language}/figures/bars.svg").unlink()
    assert drawing.run("proseproof", "update").returncode == 0
    texts = [
        (drawing.root / f"docs/{language}/figures/bars.svg").read_text(encoding="utf-8")
        for language in ("zh", "en")
    ]
    assert texts == ["<svg>3 根</svg>\n", "<svg>3 bars</svg>\n"]


def test_figure_that_does_not_come_in_the_language_is_caught(drawing: Site) -> None:
    page = PAGE.format(lang="en", caption="Bars").replace("draw(n + 1)", "draw(n).twin")
    drawing.write("docs/en/x.md", page)
    (finding,) = drawing.proof("docs/en/x.md").block(0)
    assert "does not come in 'en'" in finding.message


def test_figure_that_is_drawn_and_not_shown_is_caught(drawing: Site) -> None:
    page = PAGE.format(lang="en", caption="Bars").replace("![Bars](figures/bars.svg)\n", "")
    drawing.write("docs/en/x.md", page)
    (finding,) = drawing.proof("docs/en/x.md").accounted()
    assert "docs/en/figures/bars.svg is drawn and not shown" in finding.message
    assert finding.remedy == "![caption](figures/bars.svg)"


@pytest.mark.parametrize(
    "target", ["figures/pie.svg", "../zh/figures/bars.svg", "figures/../figures/pie.svg"]
)
def test_figure_that_no_block_draws_is_caught(drawing: Site, target: str) -> None:
    drawing.write("docs/en/figures/pie.svg", "<svg/>\n")
    page = PAGE.format(lang="en", caption="Bars") + f"\nMore.\n\n![Pie]({target})\n"
    drawing.write("docs/en/x.md", page)
    findings = drawing.proof("docs/en/x.md").accounted()
    assert places(findings) == ["docs/en/x.md:13"]
    assert "no block of this page draws docs/" in findings[0].message


@pytest.mark.parametrize(("name", "lines"), [("bars", []), ("pie", ["docs/en/labs/y.py:5"])])
def test_lab_shows_what_a_page_draws(drawing: Site, name: str, lines: list[str]) -> None:
    lab = f"# %% [markdown]\n# # Lab {{#lab}}\n#\n# Here.\n# ![Bars](../figures/{name}.svg)\n"
    drawing.write("docs/en/figures/pie.svg", "<svg/>\n")
    drawing.write("docs/en/labs/y.py", lab)
    assert drawing.proof("docs/en/labs/y.py").accounted() == []
    assert [one for one in places(drawing.findings_of_project()) if "labs" in one] == lines


@pytest.mark.parametrize(
    ("expression", "message", "remedy"),
    [
        ("bars.draw(n", "it does not parse: '(' was never closed", "write one expression, then"),
        ("bars.draw(m)", "name 'm' is not defined", "use a variable of the block below, or a mod"),
        ("pie.draw(n)", "name 'pie' is not defined", "`drawing` in [tool.proseproof]: bars"),
        ("n", "it gives a value of type int, not a figure", "let it end with a call that draws"),
        ("bars.slice(n)", "AttributeError: module 'bars' has no attribute 'slice'", ""),
        ("bars.broken(n)", "NameError: name 'missing' is not defined", ""),
        ("1 / 0", "ZeroDivisionError: division by zero", ""),
    ],
)
def test_expression_that_draws_nothing_is_caught(
    drawing: Site, expression: str, message: str, remedy: str
) -> None:
    page = PAGE.format(lang="en", caption="Bars").replace("bars.draw(n + 1)", expression)
    drawing.write("docs/en/x.md", page)
    (finding,) = drawing.proof("docs/en/x.md").block(0)
    assert f"{finding.path}:{finding.line}" == "docs/en/x.md:5"
    assert finding.message == f"the figure {expression}: {message}"
    assert remedy in finding.remedy
    updated = drawing.run("proseproof", "update", "docs/en/x.md")
    assert updated.returncode == 1 and finding.message in updated.stdout + updated.stderr


def test_directive_without_a_path_is_not_understood(drawing: Site) -> None:
    page = PAGE.format(lang="en", caption="Bars").replace(" docs/en/figures/bars.svg-->", "-->")
    drawing.write("docs/en/x.md", page)
    findings = drawing.proof("docs/en/x.md").accounted()
    assert "figure code path.svg" in findings[-1].remedy


def test_variable_of_the_block_comes_before_a_module_of_its_name(drawing: Site) -> None:
    page = PAGE.format(lang="en", caption="Bars").replace(
        "n = 2", "from bars import draw\n\nn, bars = 2, draw"
    )
    drawing.write("docs/en/x.md", page.replace("bars.draw(n + 1)", "bars(n + 1)"))
    assert drawing.proof("docs/en/x.md").block(0) == []


def test_both_languages_have_the_same_expression(drawing: Site) -> None:
    page = PAGE.format(lang="en", caption="Bars").replace("n + 1", "1+n")
    drawing.write("docs/en/x.md", page)
    (finding,) = drawing.proof("docs/en/x.md").pair()
    assert finding.line == 5 and "drawings differ from docs/zh/x.md" in finding.message
    drawing.write("docs/en/x.md", page.replace("1+n", "n+1"))  # spaces are free
    assert drawing.proof("docs/en/x.md").pair() == []


def test_module_is_imported_only_where_an_expression_needs_it(drawing: Site) -> None:
    drawing.write("heavy.py", "raise RuntimeError('nobody asked for it')\n")
    drawing.configure('drawing = ["bars", "heavy"]\n')
    assert drawing.proof("docs/en/x.md").block(0) == []
    with pytest.raises(FigureError, match="RuntimeError: nobody asked for it"):
        draw("heavy.draw(1)", "docs/en/x.svg", {}, ["bars", "heavy"])
    with pytest.raises(FigureError, match="ModuleNotFoundError: No module named 'no_such'"):
        draw("no_such.draw(1)", "docs/en/x.svg", {}, ["no_such"])


def test_expression_draws_the_same_numbers_and_leaves_the_generators_alone(drawing: Site) -> None:
    before = random.getstate()
    values = {"random": random}
    svgs = {draw("bars.draw(random.random())", "docs/en/x.svg", values, ["bars"]) for _ in "ab"}
    assert len(svgs) == 1 and random.getstate() == before and values == {"random": random}


def test_picture_from_elsewhere_needs_no_block(site: Site) -> None:
    site.write("docs/photo.png", "")
    page = "![Photo](docs/photo.png)\n\n![Badge](https://example.org/badge.svg)\n"
    assert site.page(page) == []


def test_matplotlib_figure_is_drawn_the_same_each_time() -> None:
    from matplotlib.figure import Figure

    def svg() -> str:
        figure = Figure()
        figure.add_subplot().plot([1, 2])
        return drawn(figure, "docs/plot.svg")

    assert svg() == svg() and svg().startswith("<?xml") and "Date" not in svg().split("<g")[0]
