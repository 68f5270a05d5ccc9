"""A figure on a page is what its block draws, in the page's language, and is shown."""

import pytest
from sample_site import Site, places

from proseproof.figures import drawn

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
"""

PAGE = """
# One {{#one}}

![{caption}](figures/bars.svg)

<!--proseproof: figure picture docs/{lang}/figures/bars.svg-->

```python
from bars import draw

picture = draw(3)
```
"""


@pytest.fixture
def drawing(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    site.write("bars.py", LIBRARY)
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
    page = PAGE.format(lang="en", caption="Bars").replace("draw(3)", "draw(3).twin")
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
    assert places(findings) == ["docs/en/x.md:15"]
    assert "no block of this page draws docs/" in findings[0].message


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
