"""Drawings become part of the page."""

from pathlib import Path

import pytest

from sitekit.inline_figures import inline

SVG = '<svg role="img" aria-label="Three bars" width="340"><title>Bars</title></svg>'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "bars.svg").write_text(SVG + "\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("place", ["figures/", "../figures/", "../../en/figures/"])
def test_drawing_stands_in_the_page_above_its_caption(folder: Path, place: str) -> None:
    html = f'<p>Text</p>\n<p><img alt="A &lt; B" src="{place}bars.svg" /></p>\n<p>More</p>'
    before, figure, after = inline(html, folder).split("\n")
    assert (before, after) == ("<p>Text</p>", "<p>More</p>")
    assert figure == (
        f'<figure class="drawn" style="--width: 340"><div data-search-exclude>{SVG}</div>'
        "<figcaption>A &lt; B</figcaption></figure>"
    )


@pytest.mark.parametrize(
    "html",
    [
        '<p><img alt="Pie" src="../figures/pie.svg" /></p>',
        '<p><img alt="Bars" src="../figures/bars.png" /></p>',
        '<p>In a line: <img alt="Bars" src="../figures/bars.svg" /></p>',
    ],
)
def test_what_is_no_drawing_of_its_own_is_left_alone(folder: Path, html: str) -> None:
    assert inline(html, folder) == html
