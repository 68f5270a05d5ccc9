"""Pages on a phone: nothing sticks out, and what is folded opens, without scripts too."""

import pytest
from page_visit import Facts
from playwright.sync_api import expect
from reader import Open


def test_page_fits_a_phone(scripted: Facts) -> None:
    assert scripted["overhang"] <= 0


def test_page_fits_a_phone_without_scripts(plain: Facts) -> None:
    assert plain["phone"]["overhang"] <= 0


def test_title_is_seen_without_scripts(plain: Facts) -> None:
    assert plain["titles"] == [True]


def test_what_is_folded_opens_without_scripts(plain: Facts) -> None:
    assert plain["unfolded"] == [True] * min(plain["folded"], 3)


def test_header_takes_over_the_title_once_it_is_out_of_sight(open_page: Open) -> None:
    page = open_page("en/chapters/attention.html", width=375)
    taken = page.locator(".md-header__title--active")
    expect(taken).to_have_count(0)
    page.evaluate("scrollTo(0, 1500)")
    expect(taken).to_have_count(1)


@pytest.mark.parametrize("path", ["en/reference/variants.html", "chapters/transformer.html"])
def test_listing_is_whole_on_a_wide_page(open_page: Open, path: str) -> None:
    page = open_page(path, scripts=False)
    listings = page.locator(".highlight:has(.filename) pre code")
    assert listings.count() > 2
    assert not any(listings.evaluate_all("all => all.map(e => e.scrollWidth - e.clientWidth)"))
