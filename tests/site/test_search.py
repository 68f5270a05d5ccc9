"""Search finds what readers call it, whole questions too, each in their own language."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect
from reader import Reader

from sitekit.search_index import SECTIONS, Words

DOCS = Path(__file__).parents[2] / "docs"
QUERIES = {
    file.stem: tomllib.loads(file.read_text("utf-8"))
    for file in sorted((Path(__file__).parent / "queries").glob("*.toml"))
}
HOME = {"zh": "index.html", "en": "en/index.html"}

# The theme empties its list of results and fills it again whenever its worker answers.
ASK = """async queries => {
  const box = document.querySelector(".md-search__input")
  const list = document.querySelector(".md-search-result__list")
  const answers = {}
  for (const query of queries) {
    box.value = query
    await new Promise(done => {
      new MutationObserver((_, observer) => {
        observer.disconnect()
        done()
      }).observe(list, { childList: true })
      box.dispatchEvent(new KeyboardEvent("keyup"))
      setTimeout(done, 5000)
    })
    answers[query] = [...list.querySelectorAll("a")].map(link => link.href)
  }
  return answers
}"""


@pytest.fixture(scope="module")
def reader(browser: Browser, address: str) -> Iterator[Reader]:
    reader = Reader(browser, address, search=True)
    yield reader
    assert reader.leave() == []


@pytest.mark.parametrize("language", QUERIES)
def test_search_finds_the_right_section(reader: Reader, address: str, language: str) -> None:
    """One of twenty may be missed: pages change, and docs/search.toml says what helps."""
    page = reader.open(HOME[language])
    page.locator(".md-search__input").click()
    missed = {}
    for query, links in page.evaluate(ASK, list(QUERIES[language])).items():
        prefix = address + HOME[language].removesuffix("index.html")
        assert all(link.startswith(prefix) for link in links), links
        found = [re.sub(r"\.html(\?[^#]*)?", "", link.removeprefix(prefix)) for link in links[:2]]
        assert not any(section.startswith("verified") for section in found), query
        if not any(
            section.startswith(tuple(QUERIES[language][query].split())) for section in found
        ):
            missed[query] = found
    assert len(missed) <= len(QUERIES[language]) / 20, missed


@pytest.mark.parametrize(
    ("query", "section"),
    [("编码器", "encoder-decoder"), ("teacher forcing", "teacher-forcing")],
)
def test_enter_leads_to_the_section_and_marks_the_words(
    reader: Reader, query: str, section: str
) -> None:
    page = reader.open(HOME["en" if query.isascii() else "zh"])
    box = page.locator(".md-search__input")
    box.click()
    box.press_sequentially(query)
    box.press("End")  # typed Chinese sends no key event of its own
    # What is shown at first may still answer the first letters alone.
    first = page.locator(".md-search-result__link").first
    expect(first).to_have_attribute("href", re.compile(f"#{section}$"))
    expect(first.locator("mark").first).to_be_visible()
    box.press("Enter")
    page.wait_for_url(re.compile(f"#{section}$"))
    expect(page.locator("article mark[data-md-highlight]").first).to_be_visible()


def test_sections_are_fetched_for_who_searches_and_again_if_they_did_not_come(
    browser: Browser, address: str
) -> None:
    reader = Reader(browser, address, search=True)
    asked, lost = [], True

    def answer(route: Route) -> None:
        asked.append(route.request.url)
        route.abort() if lost else route.continue_()

    reader.page.context.route(f"**/{SECTIONS}", answer)
    page = reader.open(HOME["en"])
    page.wait_for_load_state("networkidle")
    assert asked == []
    page.locator(".md-search__input").click()
    expect(page.locator(".md-search-result__meta")).to_have_text("Type to start searching")
    page.locator(".md-search__input").press_sequentially("mas")
    first = page.locator(".md-search-result__list h1, .md-search-result__list h2").first
    expect(first).to_have_text("The search didn't load; please try again.")
    lost = False
    page.locator(".md-search__input").press_sequentially("k")
    expect(first).to_contain_text("mask")
    asked.clear()
    page.locator(".md-search__input").press_sequentially("s")
    expect(first).to_contain_text("asks")
    assert asked == []
    reader.page.context.close()


def test_search_knows_other_words_for_sections_that_exist(site: Path) -> None:
    for folder in ("", "en/"):
        index = json.loads((site / folder / SECTIONS).read_text("utf-8"))
        sections = {entry["location"] for entry in index["docs"]}
        assert set(Words.load(DOCS / "search.toml").sections) <= sections


def test_search_results_show_no_notebook_prompts(site: Path) -> None:
    for index in (SECTIONS, f"en/{SECTIONS}"):
        text = (site / index).read_text(encoding="utf-8")
        assert json.loads(text)["docs"]
        assert "In [" not in text and "<svg" not in text
