"""From one language to the other, on the same page and in the same section."""

import re
from pathlib import Path

from reader import Open
from site_pages import PAGES


def test_switch_keeps_page_and_section(open_page: Open) -> None:
    page = open_page("chapters/attention.html#by-hand")
    page.get_by_role("link", name="English").click()
    page.wait_for_url("**/en/chapters/attention.html#by-hand")
    assert page.locator("html").get_attribute("lang") == "en"
    page.get_by_role("link", name="中文").click()
    page.wait_for_url(re.compile(r"/chapters/attention\.html#by-hand$"))
    assert page.locator("html").get_attribute("lang") == "zh"


def test_switch_keeps_the_section_scrolled_to(open_page: Open) -> None:
    page = open_page("questions/scores.html")
    page.wait_for_load_state("networkidle")  # the theme takes no notice of the very first scrolling
    page.evaluate("document.querySelector('#q13-transpose').scrollIntoView()")
    page.wait_for_url("**#q13-transpose")
    page.get_by_role("link", name="English").click()
    page.wait_for_url("**/en/questions/scores.html#q13-transpose")


def test_every_page_names_both_languages(site: Path, site_url: str) -> None:
    for path in PAGES:
        page = (site / path).read_text(encoding="utf-8")
        links = dict(re.findall(r'hreflang="([^"]+)" href="([^"]+)"', page.split("</head>")[0]))
        plain = path.removeprefix("en/")
        assert links["zh"] == links["x-default"], path
        assert links["zh"].removesuffix("index.html") == site_url + plain.removesuffix("index.html")
        assert links["en"] == f"{site_url}en/{plain}"
