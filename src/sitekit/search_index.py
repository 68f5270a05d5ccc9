"""Search: one index a language, of plain text, for the worker docs/assets/search.js."""

from __future__ import annotations

import json
import posixpath
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any

from sitekit.glossary import Glossary

# The worker of ours in place of the theme's, which every page names.
_THEIRS = re.compile(r"assets/javascripts/workers/search\.\w+\.min\.js")
_OURS = "assets/search.js"

_MARKS = re.compile(
    r'<span class="filename">.*?</span>|</?span[^>]*>|<a [^>]*></a>'
    r"|<div data-search-exclude>.*?</div>|<svg .*?</svg>",
    re.DOTALL,
)
_FORMULA = re.compile(r'<math [^>]*data-latex="([^"]*)".*?</math>', re.DOTALL)
_CODE = re.compile(r"<pre>(.*?)</pre>", re.DOTALL)
_TAG = re.compile(r"<[^>]+>")
_INLINE = re.compile(r"</?(?:code|su[bp])>")
_ITEM = re.compile(r"<(tr|li)>(.*?)</\1>|<a .*?</a>", re.DOTALL)
_LINK = re.compile(r'<a (?!class="(?:term|headerlink))[^>]*?href="([^"]+)".*?</a>', re.DOTALL)
_ANCHOR = re.compile(
    r"#(?:[a-z]\d+-)?(.+)$"
)  # without the number of a question, as in q13-transpose
_TWO_TONGUES = re.compile(r"(?P<here>.+?) ?[（(](?P<there>.+)[）)]")

# Sections that list what is said elsewhere, and those where it is practised or announced only.
_LISTS = ("#next", "#questions")
_LESS = re.compile(r"index\.html|(questions|mistakes|museum)/\w+\.html$|.*#(exercises|try)$")
_LONGEST = 200  # what is longer than this is about more than its link


def without_marks(html: str) -> str:
    """A page without the colours of its code and without drawings: half the time of indexing it.

    A formula is what somebody would type: √d_k.
    """
    return _FORMULA.sub(lambda formula: _typed(formula[1]), _MARKS.sub("", html))


def _typed(latex: str) -> str:
    for command, sign in ((r"\sqrt", "√"), (r"^\top", "ᵀ"), ("}{", "/")):
        latex = latex.replace(command, sign)
    return re.sub(r"\\[A-Za-z]+|[\\{}]", "", latex)


SECTIONS = "search/sections.json"


def with_own_worker(page: str) -> str:
    """The theme's page, with our search behind its search box."""
    return _THEIRS.sub(_OURS, page, count=1)


@dataclass
class Words:
    """Words of one meaning, and other words for sections, by their addresses."""

    same: list[list[str]] = field(default_factory=list)
    vague: list[list[str]] = field(default_factory=list)
    sections: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def load(cls, file: Path) -> Words:
        """The words of a TOML file, in which a section is named as in chapters/masks#causal."""
        data = tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        words = cls(data.get("same", []), data.get("vague", []))
        for section, found in data.get("sections", {}).items():
            page, sign, anchor = section.partition("#")
            words.sections[f"{page}.html{sign}{anchor}"] = found
        return words

    def add(self, glossary: Glossary) -> None:
        """Let the words that lead to an entry of the glossary lead there in the search too."""
        for entry in glossary.entries:
            self.sections.setdefault(f"glossary.html#{entry.anchor}", []).extend(entry.words)


def links(html: str, url: str) -> Iterator[tuple[str, str]]:
    """What a page says where it links: the addresses of sections, and the words of the links.

    A row of a table, or an item of a list, that holds but one link speaks of what it leads to.
    """
    for item in _ITEM.finditer(html):
        found = list(_LINK.finditer(item[0]))
        for link in found:
            words = _plain(item[0] if len(found) == 1 else link[0])
            address = posixpath.normpath(posixpath.join(posixpath.dirname(url), link[1]))
            if len(words) <= _LONGEST:
                yield address, words


def index(entries: Sequence[Mapping[str, Any]], language: str, words: Words) -> str:
    """The search index of one language, with addresses as seen from its root."""
    prefix = "" if language == "zh" else f"{language}/"
    said: dict[str, dict[str, None]] = defaultdict(dict)  # each once, in order
    for entry in entries:
        if anchor := _ANCHOR.search(entry["location"]):
            said[entry["location"]][anchor[1].replace("-", " ")] = None
        for address, text in entry.get("links", ()):
            said[address][text.lower()] = None
    docs = []
    for entry in entries:
        location = entry["location"].removeprefix(prefix)
        if not location.endswith(_LISTS):
            aliases = {"words": words.sections.get(location), "said": said.get(entry["location"])}
            docs.append(
                _section(entry, location) | {k: ", ".join(v) for k, v in aliases.items() if v}
            )
    meanings = {"same": [*words.same, *_translations(docs)], "vague": words.vague}
    return _json({"config": meanings, "docs": docs})


def for_theme(language: str, prefix: str) -> str:
    """What the theme fetches with every page: no sections, but where our worker finds them."""
    # The theme itself marks the words found on the page that a result leads to, cut at spaces.
    theirs = {"lang": ["en"], "separator": r"\s+", "pipeline": []}
    ours = {"language": language, "sections": f"../{prefix}{SECTIONS}"}
    return _json({"config": theirs | ours, "docs": []})


def _json(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _section(entry: Mapping[str, Any], location: str) -> dict[str, Any]:
    code = " ".join(_CODE.findall(entry["text"]))
    section = {"location": location, "title": _plain(entry["title"])}
    section["text"] = _plain(_CODE.sub(" ", entry["text"]))
    section |= {"code": _plain(code)} if code else {}
    return section | ({"boost": 0.6} if _LESS.match(location) else {})


def _plain(html: str) -> str:
    """What a reader sees of it, in one line."""
    return " ".join(unescape(_TAG.sub(" ", _INLINE.sub("", html))).split())


def _translations(docs: Sequence[Mapping[str, Any]]) -> Iterator[list[str]]:
    """A word of the glossary and its translation, from headings such as 掩码（mask）."""
    for doc in docs:
        found = _TWO_TONGUES.fullmatch(doc["title"])
        if found and doc["location"].startswith("glossary.html#"):
            here, there = (re.split("、|, ", found[name]) for name in ("here", "there"))
            if len(here) == len(there):
                yield from ([one, other] for one, other in zip(here, there, strict=True))
