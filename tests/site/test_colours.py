"""Light and dark: the system's choice, the reader's own, and paper."""

import re

import pytest
from page_visit import SCHEMES
from playwright.sync_api import Page, expect
from reader import Open, Scheme


def _lightness(page: Page) -> str:
    colour = page.locator("body").evaluate("e => getComputedStyle(e).backgroundColor")
    red, green, blue = map(int, re.findall(r"\d+", colour)[:3])
    return "dark" if red + green + blue < 384 else "light"


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("scripts", [True, False])
def test_colours_follow_the_system(open_page: Open, scheme: Scheme, scripts: bool) -> None:
    page = open_page("index.html", scheme=scheme, scripts=scripts)
    assert _lightness(page) == scheme


def test_the_switch_changes_colours_and_is_remembered(open_page: Open) -> None:
    page = open_page("index.html")
    page.get_by_title("切换到深色").click()
    assert _lightness(page) == "dark"
    page.reload()
    assert _lightness(page) == "dark"


def test_print_leaves_only_the_text(open_page: Open) -> None:
    page = open_page("en/chapters/attention.html", scheme="dark")
    page.emulate_media(media="print")
    expect(page.locator(".md-header")).to_be_hidden()
    expect(page.locator(".md-sidebar--primary")).to_be_hidden()
    expect(page.locator("details pre").first).to_be_visible()
    assert _lightness(page) == "light"
