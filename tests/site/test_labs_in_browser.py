"""Labs as pages: light, with words for their figures, and to be taken away as notebooks."""

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
    figures = page.locator("figure.plot svg").evaluate_all(
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
