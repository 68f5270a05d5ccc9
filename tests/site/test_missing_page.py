"""What a reader gets at an address where no page is."""

import pytest
from playwright.sync_api import expect
from reader import Open


@pytest.mark.parametrize(
    ("path", "words"), [("nowhere.html", "没有找到这一页"), ("en/no/where.html", "does not exist")]
)
def test_missing_page_speaks_the_readers_language(open_page: Open, path: str, words: str) -> None:
    page = open_page(path, expect=404)
    expect(page.locator("h1")).to_contain_text(words)
    expect(page.locator("html")).to_have_attribute("lang", "en" if "en/" in path else "zh")


def test_missing_page_speaks_both_without_scripts(open_page: Open) -> None:
    page = open_page("en/no/where.html", expect=404, scripts=False)
    expect(page.locator("article")).to_contain_text("没有找到这一页")
    expect(page.locator("article")).to_contain_text("does not exist")
