"""Which words of a page lead to the glossary, and what they say."""

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag
from hypothesis import given
from hypothesis import strategies as st
from markdown import markdown
from mkdocs.config import load_config
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from sitekit import glossary
from sitekit.mkdocs_hooks import Site

PAGE = """---
description: words
forms:
  query-key-value: [query, key, 查询]
  causal-mask: [causal, causal mask, 因果掩码]
  axis: [axis, axes, 轴]
---

# Glossary {#glossary}

Mask and attention.

## Attention (注意力) {#attention}

A weighted average of `values`{.text}, see [there](a.md). Not this sentence.

## Multi-head attention (多头注意力) {#multi-head-attention}

Several attentions side by side.

## Mask (掩码) {#mask}

一张“可以”与“不可以”的表，大小约 1.5 倍。这一句不要。

## Causal mask (因果掩码) {#causal-mask}

Hides the "future".

## Query, key, value (查询、键、值) {#query-key-value}

Three vectors

## Encoder, decoder (编码器、解码器) {#encoder-decoder}

Reads; writes.

## Axis (轴) {#axis}

A direction.

## Where next {#next}

Nowhere.
"""
ENGLISH = glossary.read(PAGE)
CHINESE = glossary.read(re.sub(r"^## ([^(\n]+) \((.+)\) \{", r"## \2（\1） {", PAGE, flags=re.M))
EXTENSIONS = ["attr_list", "tables", "admonition", "pymdownx.details", "pymdownx.arithmatex"]


def rendered(text: str, words: glossary.Glossary | None, page: str = "en/chapters/a.md") -> str:
    """The text as HTML, with the words linked as on this page."""
    configs = {"pymdownx.arithmatex": {"generic": True}}
    links = [words.extension(page)] if words else []
    return str(markdown(text, extensions=[*EXTENSIONS, *links], extension_configs=configs))


def linked(text: str, words: glossary.Glossary = ENGLISH) -> list[tuple[str, str]]:
    """The words that are linked, each with its anchor."""
    terms = BeautifulSoup(rendered(text, words), "html.parser").find_all("a", class_="term")
    return [(term.get_text(), str(term["href"]).partition("#")[2]) for term in terms]


def test_only_the_first_use_is_linked() -> None:
    assert linked("A mask. A mask.\n\n- Masks") == [("mask", "mask")]


def test_two_words_of_one_entry_are_linked_once() -> None:
    assert linked("the decoder and the encoder") == [("decoder", "encoder-decoder")]


@pytest.mark.parametrize("word", ["mask", "Mask", "masks", "Masks", "axes", "query", "Queries"])
def test_capitals_and_plurals_are_found(word: str) -> None:
    assert [found for found, _ in linked(f"So {word}.")] == [word]


@pytest.mark.parametrize(
    "text", ["masked", "unmask", "self-mask", "attention_mask", "mask_", "maskes2", "MASK", "value"]
)
def test_part_of_another_word_is_left_alone(text: str) -> None:
    assert linked(f"a {text} here") == []


def test_the_longest_word_wins() -> None:
    text = "Multi-head attention, a causal mask, a mask and attention."
    assert [anchor for _, anchor in linked(text)] == [
        "multi-head-attention",
        "causal-mask",
        "mask",
        "attention",
    ]


@pytest.mark.parametrize("text", ["causal mask", "causal-mask", "causal\nmask"])
def test_words_of_a_term_may_be_joined_or_wrapped(text: str) -> None:
    assert linked(f"a {text}") == [(text, "causal-mask")]


def test_the_longest_chinese_word_wins_each_time() -> None:
    text = "用因果掩码的多头注意力，多头注意力不用因果掩码。掩码与注意力。"
    assert [word for word, _ in linked(text, CHINESE)] == [
        "因果掩码",
        "多头注意力",
        "掩码",
        "注意力",
    ]


@pytest.mark.parametrize(("text", "found"), [("两个轴", True), ("坐标轴", False), ("轴承", False)])
def test_single_character_is_linked_only_by_itself(text: str, found: bool) -> None:
    assert linked(text, CHINESE) == ([("轴", "axis")] if found else [])


@pytest.mark.parametrize(
    "text",
    [
        "# The mask",
        "### The mask",
        "`mask`",
        "`mask`{.wrong}",
        "    mask = 1",
        "[a mask](b.md)",
        "$mask$",
        "$$\nmask\n$$",
        "<div>mask</div>",
        "| mask |\n|---|\n| x |",
        '??? example "A mask"\n\n    x',
        '!!! note "A mask"\n\n    x',
        "![mask](x.svg)",
    ],
)
def test_headings_code_links_and_formulas_are_left_alone(text: str) -> None:
    assert "mask" in rendered(text, ENGLISH) and linked(text) == []


@pytest.mark.parametrize(
    "text", ["- mask", "**mask**", "> mask", "| a |\n|---|\n| mask |", "`x` mask", "[x](y.md) mask"]
)
def test_running_text_is_linked_wherever_it_stands(text: str) -> None:
    assert linked(text) == [("mask", "mask")]


@pytest.mark.parametrize(
    ("anchor", "meaning"),
    [
        ("attention", "A weighted average of values, see there."),
        ("mask", "一张“可以”与“不可以”的表，大小约 1.5 倍。"),
        ("causal-mask", 'Hides the "future".'),
        ("query-key-value", "Three vectors"),
    ],
)
def test_tooltip_is_the_first_sentence_in_plain_text(anchor: str, meaning: str) -> None:
    text = "attention, mask, causal mask, query"
    link = BeautifulSoup(rendered(text, ENGLISH), "html.parser").find(href=re.compile(f"#{anchor}"))
    assert isinstance(link, Tag) and link["title"] == meaning


@pytest.mark.parametrize(
    ("page", "target"),
    [("en/index.md", "glossary.md"), ("zh/chapters/a.md", "../glossary.md")],
)
def test_link_starts_from_the_page(page: str, target: str) -> None:
    assert f'href="{target}#mask"' in rendered("mask", ENGLISH, page)


def test_last_section_is_no_entry() -> None:
    assert [entry.anchor for entry in ENGLISH.entries][-1] == "axis"
    assert linked("where next") == []


def test_forms_of_no_entry_are_refused() -> None:
    with pytest.raises(ValueError, match="forms: got axle, expected anchors of entries"):
        glossary.read(PAGE.replace("  axis:", "  axle:"))


def test_page_without_entries_is_refused() -> None:
    with pytest.raises(ValueError, match="entries: got none"):
        glossary.read("# Glossary\n")


PIECES = [
    "mask",
    "因果掩码",
    "注意力",
    " ",
    "a",
    "*",
    "**",
    "`",
    "\n",
    "\n\n",
    "- ",
    "# ",
    "[x](y)",
]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_nothing_but_links_is_added(text: str) -> None:
    plain = rendered(text, None)
    for words in (ENGLISH, CHINESE):
        unlinked = re.sub(r'<a class="term"[^>]*>(.*?)</a>', r"\1", rendered(text, words))
        assert unlinked == plain


@pytest.fixture
def config(tmp_path: Path) -> MkDocsConfig:
    (tmp_path / "docs" / "en").mkdir(parents=True)
    (tmp_path / "mkdocs.yml").write_text("site_name: x", encoding="utf-8")
    return load_config(str(tmp_path / "mkdocs.yml"))


def files_of(config: MkDocsConfig) -> Files:
    names = ("en/a.md", "en/glossary.md")
    return Files([File(name, config.docs_dir, config.site_dir, False) for name in names])


def test_page_is_rendered_again_when_the_glossary_changes(config: MkDocsConfig) -> None:
    plugin, files, shown = Site(), files_of(config), []
    extensions = [*config.markdown_extensions]
    for meaning in ("Hides.", "Hides.", "Shows."):
        entry = f"## Mask {{#mask}}\n\n{meaning}\n"
        Path(config.docs_dir, "en/glossary.md").write_text(entry, encoding="utf-8")
        plugin.on_files(files, config=config)
        page = Page("a", files.src_uris["en/a.md"], config)
        page.markdown = "a mask"
        plugin.on_pre_page(page, config=config, files=files)
        page.render(config, files)
        shown.append(str(page.content))
    assert 'href="glossary.html#mask" title="Hides."' in shown[0]
    assert shown[1] == shown[0] and 'title="Shows."' in shown[2]
    assert len(plugin.rendered) == 2
    assert config.markdown_extensions == extensions
    files.remove(files.src_uris["en/glossary.md"])
    plugin.on_files(files, config=config)
    assert plugin.glossaries == {}


def test_bad_glossary_is_a_problem_of_its_page(config: MkDocsConfig) -> None:
    plugin = Site()
    Path(config.docs_dir, "en/glossary.md").write_text("# Glossary\n", encoding="utf-8")
    plugin.on_files(files_of(config), config=config)
    (why,) = [why for path, _, why in plugin.problems if "entries" in why]
    assert why.startswith("entries: got none")
