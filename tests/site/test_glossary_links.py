"""Words of the glossary: linked once on a page, and explained where they stand."""

from pathlib import Path

import pytest
from playwright.sync_api import expect
from reader import Open
from site_pages import article

WORDS = {
    "en/index.html": {"Transformer": "transformer", "mask": "mask", "tensor": "tensor"},
    "index.html": {"多头注意力": "multi-head-attention", "掩码": "mask", "张量": "tensor"},
    "en/chapters/masks.html": {"causal mask": "causal-mask", "NaN": "nan", "batch": "batch"},
    "chapters/masks.html": {"因果掩码": "causal-mask", "半精度": "half-precision", "轴": "axis"},
    "en/chapters/transformer.html": {"teacher forcing": "teacher-forcing", "logits": "logits"},
    "chapters/transformer.html": {"教师强制": "teacher-forcing", "交叉注意力": "cross-attention"},
    "en/questions/shapes.html": {"strides": "stride", "contiguous": "contiguous"},
    "en/labs/scaling.html": {"dot products": "dot-product", "gradient": "gradient"},
    "labs/scaling.html": {"点积": "dot-product", "梯度": "gradient"},
}


@pytest.mark.parametrize("path", WORDS)
def test_words_lead_to_their_entries_once(site: Path, path: str) -> None:
    text = article(site, path)
    entries = article(site, "en/glossary.html" if path.startswith("en/") else "glossary.html")
    for word, anchor in WORDS[path].items():
        links = text.select(f'a.term[href$="glossary.html#{anchor}"]')
        assert [link.get_text() for link in links] == [word]
        entry = entries.find(id=anchor)
        assert entry and entry.find_next("p").get_text().startswith(str(links[0]["title"]))


def test_glossary_does_not_link_to_itself(site: Path) -> None:
    for path in ("glossary.html", "en/glossary.html"):
        assert not article(site, path).select("a.term")


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
    page = open_page("chapters/masks.html", width=375, scripts=False)
    word = page.locator("a.term", has_text="因果掩码")
    assert "看不见后面" in (word.get_attribute("title") or "")
    word.click()
    page.wait_for_url("**/glossary.html#causal-mask")
    expect(page.locator("#causal-mask")).to_be_in_viewport()
