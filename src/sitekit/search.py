"""Search: one index a language, with Chinese words cut as a reader would cut them."""

from __future__ import annotations

import json
import re
from typing import Any

import jieba

# jieba would cut this word in two, and a search for it would find neither half.
WHOLE_WORDS = ("归一化",)

# jieba has cut Chinese words apart with zero-width spaces. No stemmer in either language: it cuts
# the words of the index and not those of the query, so "attention" finds nothing. Particles that
# stand alone are no words: else 归一化 would be taken for 归, 一 and 化.
_SPACE = r"[\s\u200b\u3000\-、。，．？！；()（）：\"`]"
_PARTICLE = r"(?<=\u200b)[一归化的了是在不有也都就把被与和个这那它里到](?=\u200b)"
_SETTINGS: dict[str, dict[str, Any]] = {
    "zh": {"lang": ["en"], "separator": f"(?:{_SPACE}|{_PARTICLE})+", "pipeline": []},
    "en": {"lang": ["en"], "separator": r"[\s\-.,;:()\[\]`]+", "pipeline": ["stopWordFilter"]},
}


def learn_words() -> None:
    """Teach jieba the words that it does not know."""
    for word in WHOLE_WORDS:
        jieba.add_word(word)


_MARKS = re.compile(
    r"</?span[^>]*>|<a [^>]*></a>|<div data-search-exclude>.*?</div>|<svg .*?</svg>", re.DOTALL
)


def without_marks(html: str) -> str:
    """A page without the colours of its code and without drawings: half the time of indexing it."""
    return _MARKS.sub("", html)


def index(entries: list[dict[str, Any]], language: str, fields: Any) -> str:
    """The search index of one language, with addresses as seen from its root."""
    prefix = "" if language == "zh" else f"{language}/"
    docs = [entry | {"location": entry["location"].removeprefix(prefix)} for entry in entries]
    data = {"config": _SETTINGS[language] | {"fields": fields}, "docs": docs}
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
