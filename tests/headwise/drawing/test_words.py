"""Words: both languages have the same, and every one is used."""

import importlib
import inspect
import pkgutil
import xml.etree.ElementTree as ET
from types import ModuleType

import pytest
from any_text import any_text
from hypothesis import given

from headwise import drawing
from headwise.drawing.words import PUNCTUATION, choose, drawable, listed, renamed, titled

NAMES = [one.name for one in pkgutil.iter_modules(drawing.__path__, "headwise.drawing.")]
SPOKEN = [one for one in map(importlib.import_module, NAMES) if hasattr(one, "WORDS")]
every_module = pytest.mark.parametrize("module", SPOKEN, ids=lambda one: one.__name__)


@every_module
def test_both_languages_have_the_same_words(module: ModuleType) -> None:
    english, chinese = module.WORDS["en"], module.WORDS["zh"]
    assert english.keys() == chinese.keys()
    for name, words in english.items():
        assert words.count("{") == chinese[name].count("{"), name


@every_module
def test_every_word_is_used(module: ModuleType) -> None:
    source = inspect.getsource(module).split("\n}\n", 1)[1]
    assert [name for name in module.WORDS["en"] if f'"{name}"' not in source] == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\x00", r"a\nb\x00"),
        ("\u2028\ufffe\ud800\ufdd0", r"\u2028\ufffe\ud800\ufdd0"),
        ("👨‍👩‍👧 你　好 می‌خواهم", "👨‍👩‍👧 你　好 می‌خواهم"),
        ("\u3000", r"\u3000"),
        ("\u200d", r"\u200d"),
        ("  ", "  "),
        ("", ""),
        ("\\n", "\\n"),
    ],
)
def test_only_what_cannot_be_drawn_is_written_out(text: str, shown: str) -> None:
    assert drawable(text) == shown


@given(any_text())
def test_drawable_text_is_text_of_xml(text: str) -> None:
    root = ET.Element("text", {"aria-label": drawable(text)})
    root.text = drawable(text)
    read = ET.fromstring(ET.tostring(root, encoding="unicode"))
    assert read.text or root.text == ""
    assert read.get("aria-label") == drawable(text) and len(drawable(text).splitlines()) <= 1


@pytest.mark.parametrize(
    ("items", "english", "chinese"),
    [
        ("a", "a", "a"),
        ("ab", "a and b", "a、b"),
        ("abcd", "a, b, c and d", "a、b、c、d"),
        ("abcde", "a, b, c and 2 more", "a、b、c等，共 5 个"),
    ],
)
def test_list_reads_as_a_phrase(items: str, english: str, chinese: str) -> None:
    assert listed(list(items), PUNCTUATION["en"]) == english
    assert listed(list(items), PUNCTUATION["zh"]) == chinese


def test_names_change_in_chinese_only() -> None:
    named = {"a": 1, "b\n": 2}
    assert renamed("series", named, {"a": "甲"}, "zh") == {"甲": 1, "b\\n": 2}
    assert renamed("series", named, {"a": "甲"}, "en") == {"a": 1, "b\\n": 2}


@pytest.mark.parametrize(
    ("named", "zh", "message"),
    [
        ({"a": 1, "b": 2}, {"a": "同", "b": "同"}, "zh: got '同' for 'a' and for 'b'"),
        ({"a": 1, "b": 2}, {"b": "a"}, "zh: got 'a' for 'a' and for 'b'"),
        ({"\n": 1, "\\n": 2}, None, r"series: got '\\\\n' for"),
    ],
)
def test_names_that_become_one_are_refused(
    named: dict[str, int], zh: dict[str, str] | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        renamed("series", named, zh, "zh")


def test_what_is_no_name_is_refused() -> None:
    with pytest.raises(TypeError, match="zh: got list, expected a mapping"):
        renamed("series", {"a": 1}, ["甲"], "en")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="zh: got int, expected a string"):
        renamed("series", {"a": 1}, {"a": 1}, "en")  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="lang: got list, expected a string"):
        choose(PUNCTUATION, ["en"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="title: got int, expected a string"):
        titled(3, "T")  # type: ignore[arg-type]
