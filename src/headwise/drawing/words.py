"""The words of a picture: in the language that is asked for, and such that they can be drawn."""

import unicodedata
from collections.abc import Mapping, Sequence
from typing import TypeVar

from headwise.drawing.checks import check_kind, check_text

Value = TypeVar("Value")

# What stands between the words: an item ends a part of a list, a comma a part of a sentence.
PUNCTUATION = {
    "en": {
        "item": ", ",
        "and": " and ",
        "more": "{0} and {1} more",
        "comma": ", ",
        "colon": ": ",
        "semicolon": "; ",
        "stop": ". ",
    },
    "zh": {
        "item": "、",
        "and": "、",
        "more": "{0}等，共 {2} 个",
        "comma": "，",
        "colon": "：",
        "semicolon": "；",
        "stop": "。",
    },
}


def choose(words: Mapping[str, dict[str, str]], lang: str) -> dict[str, str]:
    """The words of one language, and its punctuation."""
    check_text("lang", lang)
    if lang not in words:
        raise ValueError(f"lang: got {lang!r}, expected one of {sorted(words)}")
    return PUNCTUATION[lang] | words[lang]


def titled(title: str | None, otherwise: str) -> str:
    """The title that the caller gives, or another one if there is none."""
    if title is not None:
        check_text("title", title)
    return drawable(title or otherwise)


def paragraph(sentences: list[str], words: dict[str, str]) -> str:
    """The sentences one after the other, each with a capital where the language has them."""
    stop = words["stop"]
    return "".join(sentence[0].upper() + sentence[1:] + stop for sentence in sentences).strip()


def listed(items: Sequence[str], words: dict[str, str]) -> str:
    """The items in one phrase: a, b and c; of more than four only the first three are named."""
    if len(items) > 4:
        # English counts those that are left out, Chinese all of them.
        return words["more"].format(words["item"].join(items[:3]), len(items) - 3, len(items))
    *before, last = items
    return words["and"].join([words["item"].join(before), last]) if before else last


def drawable(text: str) -> str:
    r"""The text with what cannot stand in a line of a picture written out: a line break as \n.

    Joiners, spaces and all letters stay as they are, but for a text in which nothing is visible.
    """
    invisible = all(unicodedata.category(sign) in ("Cf", "Zs") for sign in text)
    if invisible and text.strip(" "):
        return ascii(text)[1:-1]
    return "".join(ascii(sign)[1:-1] if _is_undrawable(sign) else sign for sign in text)


def _is_undrawable(sign: str) -> bool:
    """Whether XML forbids the sign, or a line of text ends at it."""
    code = ord(sign)
    is_no_character = code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
    return is_no_character or unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp")


def renamed(
    argument: str, named: Mapping[str, Value], zh: Mapping[str, str] | None, lang: str
) -> dict[str, Value]:
    """The same values under the names of the language, which stay as many as they were.

    argument: what the caller calls `named`; zh: the Chinese names, where they are others.
    """
    chinese = in_chinese(zh, lang)
    found: dict[str, Value] = {}
    before: dict[str, str] = {}
    for name, value in named.items():
        check_text(argument, name)
        shown = drawable(chinese.get(name, name))
        if shown in found:
            blamed = "zh" if {name, before[shown]} & chinese.keys() else argument
            raise ValueError(
                f"{blamed}: got {shown!r} for {before[shown]!r} and for {name!r}, "
                "expected names that differ"
            )
        found[shown], before[shown] = value, name
    return found


def in_chinese(zh: Mapping[str, str] | None, lang: str) -> Mapping[str, str]:
    """What the names are called in the language: nothing else, unless that is Chinese."""
    if zh is None:
        return {}
    check_kind("zh", zh, Mapping, "a mapping of names to Chinese ones")
    for name in (*zh, *zh.values()):
        check_text("zh", name)
    return zh if lang == "zh" else {}
