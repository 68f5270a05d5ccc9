"""Glossary words in running text: the first on a page leads to its entry, with what it means."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor
from mkdocs.utils.meta import get_data

_ENTRY = re.compile(r"^## (?P<words>.+?) *\{#(?P<anchor>[\w-]+)\}\n+(?P<text>.+)$", re.M)
_LAST = "next"  # the section with which every page ends, this one too
_TRANSLATION = re.compile(r" ?[（(].+[）)]$")
_MARKUP = re.compile(r"\[([^]]+)\]\([^)]*\)|`([^`]+)`(?:\{[^}]*\})?|[*$]")
_SENTENCE = re.compile(r".+?(?:。|\.(?=\s|$)|$)")
_CLOSED = {"h1", "h2", "h3", "h4", "h5", "h6", "a", "code", "th", "summary"}
_CLOSED_CLASSES = {"arithmatex", "admonition-title"}


class Entry(NamedTuple):
    """An anchor of the glossary page, what stands there in short, and the words that lead to it."""

    anchor: str
    meaning: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class Glossary:
    """The entries of one glossary page."""

    entries: tuple[Entry, ...]

    def extension(self, page: str) -> Extension:
        """What links the words on this page, to be given to Markdown; `page` is as in `src_uri`."""
        depth = len(PurePosixPath(page).parts) - 2
        return _Links(self, "../" * depth + "glossary.md")


def read(text: str) -> Glossary:
    """The glossary that this page holds, or a ValueError.

    An entry is found by the words of its heading, unless `forms` at the top of the page gives
    others: a word that has an everyday meaning too is better left out.
    """
    body, meta = get_data(text)
    forms = dict(meta.get("forms", {}))
    entries = []
    for match in _ENTRY.finditer(body):
        if match["anchor"] == _LAST:
            continue
        words = re.split("、|, ", _TRANSLATION.sub("", match["words"]))
        plain = _MARKUP.sub(r"\1\2", match["text"])
        meaning = _SENTENCE.match(plain)
        assert meaning, "an entry has text"
        words = forms.pop(match["anchor"], words)
        entries.append(Entry(match["anchor"], meaning[0], tuple(words)))
    if forms:
        raise ValueError(f"forms: got {', '.join(forms)}, expected anchors of entries")
    if not entries:
        raise ValueError("entries: got none, expected headings such as '## Mask (掩码) {#mask}'")
    return Glossary(tuple(entries))


def pattern(words: Sequence[str]) -> re.Pattern[str]:
    """What finds these words in a sentence; the n-th group is the n-th word.

    A word in Latin letters is whole, perhaps capitalised, perhaps a plural. A single Chinese
    character is part of many words; after some others it stands by itself.
    """
    parts = []
    for word in words:
        first, rest = word[0], re.escape(word[1:]).replace(r"\ ", r"[\s-]")
        if not word.isascii():
            parts.append(f"({first}{rest})" if rest else f"((?<=[个号、]){first})")
            continue
        plural = f"{rest[:-1]}(?:y|ies)" if rest.endswith("y") else f"{rest}(?:s|es)?"
        parts.append(f"([{first.upper()}{first.lower()}]{plural}(?![A-Za-z0-9_-]))")
    # Nearly all of a text is passed over by its first letter, not by trying every word.
    starts = "".join(sorted({word[0] for word in words}))
    return re.compile(rf"(?<![A-Za-z0-9_-])(?=(?i:[{starts}]))(?:{'|'.join(parts)})")


class _Links(Extension):  # type: ignore[misc]  # Markdown has no types
    def __init__(self, glossary: Glossary, target: str) -> None:
        super().__init__()
        self.glossary = glossary
        self.target = target

    def extendMarkdown(self, md: Markdown) -> None:
        # After all that reads attributes (8) and headings (5), before MkDocs resolves links (0).
        md.treeprocessors.register(_FirstUses(self.glossary, self.target), "glossary", 3)


class _FirstUses(Treeprocessor):  # type: ignore[misc]
    def __init__(self, glossary: Glossary, target: str) -> None:
        super().__init__()
        self.target = target
        self.meanings = {entry.anchor: entry.meaning for entry in glossary.entries}
        words = [(word, entry.anchor) for entry in glossary.entries for word in entry.words]
        words.sort(key=lambda pair: -len(pair[0]))  # "padding mask" before "padding"
        self.anchors = [anchor for _, anchor in words]
        self.words = pattern([word for word, _ in words])

    def run(self, root: Element) -> None:
        self.waiting = set(self.anchors)
        self._enter(root)

    def _enter(self, element: Element) -> None:
        classes = set(element.get("class", "").split())
        if element.tag in _CLOSED or classes & _CLOSED_CLASSES:
            return
        children = list(element)
        element.text, content = self._cut(element.text)
        for child in children:
            self._enter(child)
            child.tail, links = self._cut(child.tail)
            content += [child, *links]
        element[:] = content

    def _cut(self, text: str | None) -> tuple[str | None, list[Element]]:
        """The text up to the first word to link, and the links, each with the text after it."""
        if not text:
            return text, []
        links = list(self._links(text))
        ends = [*(start for start, _, _ in links), len(text)]
        for (_, end, link), next_start in zip(links, ends[1:], strict=True):
            link.tail = text[end:next_start]
        return text[: ends[0]], [link for _, _, link in links]

    def _links(self, text: str) -> Iterator[tuple[int, int, Element]]:
        for match in self.words.finditer(text):
            anchor = self.anchors[(match.lastindex or 0) - 1]
            if anchor in self.waiting:
                self.waiting.remove(anchor)
                href = f"{self.target}#{anchor}"
                link = Element("a", {"class": "term", "href": href, "title": self.meanings[anchor]})
                link.text = match[0]
                yield *match.span(), link
