"""The words of a picture, in the language that is asked for."""

from collections.abc import Mapping

# What stands between the words: an item ends a part of a list, a comma a part of a sentence.
PUNCTUATION = {
    "en": {"item": ", ", "comma": ", ", "colon": ": ", "semicolon": "; ", "stop": ". "},
    "zh": {"item": "、", "comma": "，", "colon": "：", "semicolon": "；", "stop": "。"},
}


def choose(words: Mapping[str, dict[str, str]], lang: str) -> dict[str, str]:
    """The words of one language."""
    if lang not in words:
        raise ValueError(f"lang: got {lang!r}, expected one of {sorted(words)}")
    return PUNCTUATION[lang] | words[lang]


def paragraph(sentences: list[str], words: dict[str, str]) -> str:
    """The sentences one after the other, each with a capital where the language has them."""
    stop = words["stop"]
    return "".join(sentence[0].upper() + sentence[1:] + stop for sentence in sentences).strip()
