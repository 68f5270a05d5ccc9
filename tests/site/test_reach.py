"""How a reader gets about: from the home page, from the end of a page, from a word."""

import functools
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import pytest
from bs4 import BeautifulSoup, Tag
from playwright.sync_api import Page, expect

Open = Callable[..., Page]
HERE = "http://site/"


@functools.cache
def _text(site: Path, path: str) -> Tag:
    """What a page says, without the frame around it."""
    page = BeautifulSoup((site / path).read_text(encoding="utf-8"), "html.parser")
    assert page.article
    return page.article


def _targets(path: str, part: Tag) -> set[str]:
    """The pages of this site that links in this part lead to; glossary words do not count."""
    links = part.select("a[href]:not(.term, .headerlink)")
    targets = (urldefrag(urljoin(HERE + path, str(link["href"])))[0] for link in links)
    return {target.removeprefix(HERE) for target in targets if target.startswith(HERE)}


def _pages(site: Path) -> set[str]:
    return {
        file.relative_to(site).as_posix() for file in site.rglob("*.html") if file.stem != "404"
    }


@pytest.mark.parametrize("home", ["index.html", "en/index.html"])
def test_every_page_is_three_clicks_from_home(site: Path, home: str) -> None:
    """By links in the text alone: on a phone the navigation is folded away."""
    wanted = {page for page in _pages(site) if page.startswith("en/") == home.startswith("en/")}
    reached = newest = {home}
    for _ in range(3):
        newest = {to for page in newest for to in _targets(page, _text(site, page))} & wanted
        reached = reached | newest
    assert len(wanted) > 25
    assert sorted(wanted - reached) == []


def test_every_page_ends_with_where_to_go(site: Path) -> None:
    lost = []
    for path in sorted(_pages(site) - {"index.html", "en/index.html"}):
        last = _text(site, path).find_all("h2")[-1]
        onward = set().union(*(_targets(path, part) for part in last.find_next_siblings()))
        if last.get("id") != "next" or not onward - {path}:
            lost.append(path)
    assert lost == []


WORDS = {
    "en/index.html": {"Transformer": "transformer", "mask": "mask", "tensor": "tensor"},
    "index.html": {"多头注意力": "multi-head-attention", "掩码": "mask", "张量": "tensor"},
    "en/chapters/masks.html": {"causal mask": "causal-mask", "NaN": "nan", "batch": "batch"},
    "chapters/masks.html": {"因果掩码": "causal-mask", "半精度": "half-precision", "轴": "axis"},
    "en/chapters/transformer.html": {"teacher forcing": "teacher-forcing", "logits": "logits"},
    "chapters/transformer.html": {"教师强制": "teacher-forcing", "交叉注意力": "cross-attention"},
    "en/questions/shapes.html": {"strides": "stride", "contiguous": "contiguous"},
    "en/labs/scaling.html": {"dot products": "dot-product", "autograd": "gradient"},
    "labs/scaling.html": {"点积": "dot-product", "自动求导": "gradient"},
}


@pytest.mark.parametrize("path", WORDS)
def test_words_lead_to_their_entries_once(site: Path, path: str) -> None:
    article = _text(site, path)
    entries = _text(site, "en/glossary.html" if path.startswith("en/") else "glossary.html")
    for word, anchor in WORDS[path].items():
        links = article.select(f'a.term[href$="glossary.html#{anchor}"]')
        assert [link.get_text() for link in links] == [word]
        entry = entries.find(id=anchor)
        assert entry and entry.find_next("p").get_text().startswith(str(links[0]["title"]))


def test_glossary_does_not_link_to_itself(site: Path) -> None:
    for path in ("glossary.html", "en/glossary.html"):
        assert not _text(site, path).select("a.term")


def test_word_says_what_it_means_to_mouse_and_keyboard(open_page: Open) -> None:
    page = open_page("en/chapters/masks.html")
    word = page.locator("a.term", has_text="causal mask")
    assert "nothing later" in (word.get_attribute("title") or "")  # shown to the mouse
    shown = "e => getComputedStyle(e, '::after').content"
    assert word.evaluate(shown) == "none"
    page.keyboard.press("Tab")  # from here on the focus is the keyboard's, and to be seen
    word.focus()
    assert "nothing later" in word.evaluate(shown)


def test_word_says_what_it_means_without_scripts(open_page: Open) -> None:
    page = open_page("chapters/masks.html", width=375, java_script_enabled=False)
    word = page.locator("a.term", has_text="因果掩码")
    assert "看不见之后" in (word.get_attribute("title") or "")
    word.click()
    page.wait_for_url("**/glossary.html#causal-mask")
    expect(page.locator("#causal-mask")).to_be_in_viewport()
