"""The figures of pages, as a reader sees and hears them."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

Open = Callable[..., Page]
DOCS = Path(__file__).parents[2] / "docs"


def _shown() -> dict[str, int]:
    """How many figures each page shows that shows any, from the sources."""
    found = {}
    for file in sorted(DOCS.glob("*/**/*.md")):
        language, *rest = file.relative_to(DOCS).with_suffix(".html").parts
        count = len(re.findall(r"^!\[.+\]\(\S+\.svg\)$", file.read_text("utf-8"), re.M))
        if count:
            found["/".join(rest if language == "zh" else [language, *rest])] = count
    return found


SHOWN = _shown()


@pytest.fixture(params=SHOWN)
def path(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_every_drawing_is_on_a_page() -> None:
    for language in ("zh", "en"):
        drawn = {file.name for file in (DOCS / language / "figures").iterdir()}
        pages = [file.read_text("utf-8") for file in (DOCS / language).glob("**/*.md")]
        shown = {name for page in pages for name in re.findall(r"figures/([\w-]+\.svg)\)", page)}
        assert drawn == shown


def test_figure_is_inline_and_has_words_in_the_pages_language(open_page: Open, path: str) -> None:
    page = open_page(path, java_script_enabled=False)
    chinese = not path.startswith("en/")
    figures = page.locator("figure.drawn")
    assert figures.count() == SHOWN[path]
    assert page.locator('img[src*="figures"]').count() == 0
    for figure in figures.all():
        drawing = figure.get_by_role("img")
        name = drawing.get_attribute("aria-label") or ""
        assert len(name) > 40 and bool(re.search("[一-鿿]", name)) == chinese
        assert drawing.get_attribute("lang") == page.locator("html").get_attribute("lang")
        caption = figure.locator("figcaption").inner_text()
        assert len(caption) > 8 and bool(re.search("[一-鿿]", caption)) == chinese


def test_figure_follows_the_scheme(open_page: Open, path: str) -> None:
    inks = []
    page = open_page(path, java_script_enabled=False)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        fills = page.locator("figure.drawn text").evaluate_all(
            "all => [...new Set(all.map(text => getComputedStyle(text).fill))]"
        )
        assert fills == [page.locator("article").evaluate("e => getComputedStyle(e).color")]
        inks += fills
    assert len(set(inks)) == 2


# The words of a drawing, in the page's own font: how large, what lies outside, what overlaps.
WORDS = """all => all.map(svg => {
  const frame = svg.getBoundingClientRect(), scale = frame.width / svg.viewBox.baseVal.width;
  const texts = [...svg.querySelectorAll("text")];
  const boxes = texts.map(text => text.getBoundingClientRect());
  const outside = boxes.map((b, i) => [b, texts[i].textContent]).filter(([b]) =>
    b.left < frame.left - 1 || b.right > frame.right + 1 ||
    b.top < frame.top - 1 || b.bottom > frame.bottom + 1).map(([, text]) => text);
  const overlap = [];
  boxes.forEach((a, i) => boxes.slice(0, i).forEach((b, j) => {
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (wide > 0 && high > 4) overlap.push(`${texts[i].textContent} | ${texts[j].textContent}`);
  }));
  const sizes = texts.map(text => parseFloat(getComputedStyle(text).fontSize) * scale);
  return {width: frame.width, smallest: Math.min(...sizes), outside, overlap};
})"""


def test_words_of_a_figure_can_be_read(open_page: Open, path: str) -> None:
    page = open_page(path, java_script_enabled=False)
    for width in (375, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for drawing in page.locator("figure.drawn svg").evaluate_all(WORDS):
            assert drawing["width"] <= width and drawing["smallest"] >= 11
            assert (drawing["outside"], drawing["overlap"]) == ([], [])
