"""Labs as pages: light, with words for their figures, and to be taken away as notebooks."""

import itertools
import json
import re
from pathlib import Path

import pytest
from reader import Open
from site_pages import LABS, language


@pytest.mark.parametrize("path", LABS)
def test_lab_weighs_at_most_twice_the_same_text_without_figures(site: Path, path: str) -> None:
    page = (site / path).read_text(encoding="utf-8")
    prose = re.sub(r"<figure.*?</figure>", "", page, flags=re.S)
    assert len(prose) < len(page) <= 2 * len(prose)


@pytest.mark.parametrize("path", LABS)
def test_lab_has_words_for_its_figures_anchors_and_a_download(open_page: Open, path: str) -> None:
    page = open_page(path)
    figures = page.locator("figure.plot svg:not(.map)").evaluate_all(
        "all => all.map(svg => [svg.getAttribute('aria-label'), svg.getAttribute('lang')])"
    )
    assert figures
    for label, spoken in figures:
        assert len(label or "") > 20
        assert spoken == language(path)
    entry = page.locator(".md-sidebar--secondary a.md-nav__link[href^='#']").first
    anchor = entry.get_attribute("href") or ""
    entry.click()
    page.wait_for_url(f"**{anchor}")
    with page.expect_download() as download:
        page.locator("a.download[download]").click()
    notebook = json.loads(download.value.path().read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    assert any("%pip install" in "".join(cell["source"]) for cell in notebook["cells"])
    colab = page.locator("a.download:not([download])").get_attribute("href") or ""
    assert colab == (
        "https://colab.research.google.com/github/headwise/headwise/blob/gh-pages/"
        + path.replace(".html", ".ipynb")
    )


def test_maps_stand_below_each_other_on_a_phone(open_page: Open) -> None:
    page = open_page("en/labs/attention.html", width=375)
    figure = page.locator("figure.maps").first
    assert figure.evaluate("e => e.scrollWidth - e.clientWidth") <= 0
    tops = figure.locator("svg.map").evaluate_all(
        "all => all.map(e => e.getBoundingClientRect().y)"
    )
    assert len(tops) == 4 and all(b - a > 200 for a, b in itertools.pairwise(tops))
    page.set_viewport_size({"width": 1440, "height": 900})
    assert figure.locator("svg.map:visible").count() == 0
    assert figure.locator("svg[role=img]").evaluate("e => e.getBoundingClientRect().width") > 400
