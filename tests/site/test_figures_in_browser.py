"""The figures of pages, as a reader sees and hears them, without scripts."""

import re

import pytest
from page_visit import PHONE, SCHEMES, WIDE, Facts
from site_pages import DOCS, FIGURES, language

on_pages_with_figures = pytest.mark.parametrize("path", FIGURES)


def test_every_drawing_is_on_a_page() -> None:
    for side in ("zh", "en"):
        drawn = {file.name for file in (DOCS / side / "figures").iterdir()}
        pages = [file.read_text("utf-8") for file in (DOCS / side).glob("**/*.md")]
        shown = {name for page in pages for name in re.findall(r"figures/([\w-]+\.svg)\)", page)}
        assert drawn == shown


@on_pages_with_figures
def test_figure_is_inline(plain: Facts, path: str) -> None:
    assert plain["drawn"] == FIGURES[path]
    assert plain["linked"] == 0


@on_pages_with_figures
def test_figure_is_one_image_with_words_in_the_pages_language(plain: Facts, path: str) -> None:
    assert plain["heard"] == plain["drawn"]
    for figure in plain["spoken"]:
        (label,) = figure["labels"]
        assert len(label) > 40 and _is_chinese(label) == (language(path) == "zh")
        assert figure["languages"] == [plain["language"]]
        caption = figure["caption"]
        assert len(caption) > 8 and _is_chinese(caption) == (language(path) == "zh")


def _is_chinese(text: str) -> bool:
    """An English text may hold a few characters that the model reads."""
    return len(re.findall("[一-鿿]", text)) > len(re.findall("[A-Za-z]", text)) / 4


@on_pages_with_figures
def test_figure_follows_the_scheme(plain: Facts, path: str) -> None:
    for scheme in SCHEMES:
        assert plain[scheme]["drawings"] == [plain[scheme]["text"]]
    assert plain["light"] != plain["dark"]


@on_pages_with_figures
@pytest.mark.parametrize(("screen", "width"), [("phone", PHONE), ("wide", WIDE)])
def test_words_of_a_figure_can_be_read(plain: Facts, path: str, screen: str, width: int) -> None:
    assert plain[screen]["overhang"] <= 0
    drawings = plain[screen]["words"]
    assert len(drawings) == FIGURES[path]
    for drawing in drawings:
        assert drawing["width"] <= width
        assert drawing["smallest"] >= 10.5  # a phone shrinks a chart's 12 pixels by a tenth
        assert (drawing["outside"], drawing["overlap"]) == ([], [])
