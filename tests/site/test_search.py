"""Search finds what the reader's language calls it, in that language."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from reader import Reader

QUERIES = {
    "自注意力": "chapters/attention",
    "注意力": "chapters/attention",
    "掩码": "chapters/masks",
    "因果掩码": "chapters/masks|glossary.html#causal-mask",
    "归一化": "chapters/layers|glossary.html#layer-normalisation",
    "多头": "chapters/multi_head",
    "位置编码": "chapters/positional",
    "转置": "#q13-transpose|glossary.html#transpose|chapters/heads",
    "attention": "chapters/attention",
    "mask": "chapters/masks",
    "softmax": "#q2-scaling|chapters/attention|glossary.html#softmax|labs/scaling.html#softmax",
    "transpose": "#q13-transpose|glossary.html#transpose|chapters/heads|questions/shapes",
}


@pytest.fixture(scope="module")
def home_page(browser: Browser, address: str) -> Iterator[Callable[[bool], Page]]:
    """The home page in English or Chinese, opened once for all that is searched there."""
    readers: dict[bool, Reader] = {}

    def opened(english: bool) -> Page:
        if english not in readers:
            readers[english] = Reader(browser, address, search=True)
            readers[english].open("en/index.html" if english else "index.html")
        return readers[english].page

    yield opened
    assert [line for reader in readers.values() for line in reader.leave()] == []


@pytest.mark.parametrize("query", QUERIES)
def test_search_finds_the_right_page_first(
    home_page: Callable[[bool], Page], address: str, query: str
) -> None:
    english = query.isascii()
    page = home_page(english)
    box = page.locator(".md-search__input")
    box.click()
    box.fill("")
    expect(page.locator(".md-search-result__item")).to_have_count(0)  # of the query before
    box.press_sequentially(query)
    box.press("End")  # typed Chinese sends no key event of its own
    page.locator(".md-search-result__item").first.wait_for()
    for _ in range(300):  # what is shown at first may still answer the first letters alone
        links = page.locator(".md-search-result__link").evaluate_all("all => all.map(a => a.href)")
        paths = [re.sub(r"\?[^#]*", "", link.removeprefix(address)) for link in links]
        # A page is listed with its best section below it.
        if right := any(re.search(QUERIES[query], path) for path in paths[:2]):
            break
        page.wait_for_timeout(100)
    assert right, paths
    assert all(path.startswith("en/") == english for path in paths), paths


def test_search_results_show_no_notebook_prompts(site: Path) -> None:
    for index in ("search/search_index.json", "en/search/search_index.json"):
        text = (site / index).read_text(encoding="utf-8")
        assert json.loads(text)["docs"]
        assert "In [" not in text and "<svg" not in text
