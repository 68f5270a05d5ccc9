"""The numbers of a page's prose: where they stand, what they are worth, and which are claims.

Read are sentences, list items, table cells, headings, captions, alt texts, link texts and the
description; not code, formulas and addresses, which have proofs of their own.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from proseproof import number_words
from proseproof.bindings import DESCRIPTION
from proseproof.number_rules import Judge
from proseproof.number_words import Read
from proseproof.page import Page
from proseproof.sentence_subjects import COMPARED, SENTENCE_END, SPAN

CODE, FORMULA = "\x01", "\x02"
ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
TITLE = re.compile(r"^\s*(?:!!!|\?\?\?\+?|===[!+]?)\s")
RULER = re.compile(r"^\s*\|?[\s:|-]+\|?\s*$")
HIDDEN = re.compile(
    r"(?P<formula>\$\$.*?\$\$|(?<![\\$])\$[^$\n]+\$)|(?<=\])\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*"
    r"(?:\s+\"[^\"]*\")?\)|\{:?\s*[#.][^{}\n]*\}|<[/a-zA-Z!][^<>]*>|https?://[^\s)）]+|\[\^[^\]]+\]",
    re.DOTALL,
)
ROW = re.compile(r"(?: |, | and |, and | or |, or |、|，|和|或)")
AFTER = re.compile(
    r"(?:[ -]|\s*\n\s*)(?P<word>[A-Za-z][\w’'-]*)|\s?(?P<chinese>[\u4e00-\u9fff]{1,3})"
)
BEFORE = re.compile(r"(?P<word>[A-Za-z][\w’'-]*|[\u4e00-\u9fff]{1,2})\s*$")
ABOUT = re.compile(
    r"(?:\b(?:about|around|roughly|nearly|almost|approximately|some|close to|just (?:over|under))|"
    r"大约|大概|约|将近|接近|差不多|近|≈)\s*(?:an? |the )?$",
    re.IGNORECASE,
)
ROUGHLY = re.compile(r"^\s?(?:\w{1,2}\s?)?(?:左右|上下|or so\b)")
COMPARISONS = {
    sign: re.compile(rf"(?:{words}|{more})(?: the| a| about)?\s*$", re.IGNORECASE)
    for (sign, words), more in zip(
        COMPARED.items(),
        (r"不到|不足", r"\b(?:just|well|a little) over", "最大为", "最小为"),
        strict=True,
    )
}  # fmt: skip
# Words that say a number without being one: they may stand for it in the other language.
SOFT = (
    (2.0, r"\b(?:both|pairs?|couple|doubl\w+|neither|either|two-?fold)\b|\bthe other|"
     r"\bhal(?:f|ves|ve|ved|ving)\b|双|成对|翻倍|翻番|加倍|一倍|两|二者|对换|互换|对调|二|俩|各自|彼此"),
    (0.5, r"\bhal(?:f|ves|ve|ved|ving)\b|减半|对半|折半|半"),
    (1.0, r"\b(?:one|an?|single|once|each|alone|same|unit|per)\b|一|单|每|同|独|唯"),
    (0.0, r"\b(?:zeros?|none|nothing|no|empty|vanish\w*)\b|零|没有|空|无"),
    (3.0, r"\btripl\w+|\bthird\b|三"),
    (4.0, r"\bfourth\b|\bquadrupl\w+|四"), (12.0, r"\bdozen\b|十几|十来"),
    (10.0, r"\bten-?fold|\btenth|数量级|orders? of magnitude"),
)  # fmt: skip
SOFT_WORDS = tuple((value, re.compile(words, re.IGNORECASE)) for value, words in SOFT)


# These are no claims, but the ledger lists them, so that none can become another unnoticed.
NAMED = ("name", "date", "part of a name", "quoted")
LISTED_NAMES = re.compile(r"(\w+)\s?(?:[\d.]+(?:,? and |,? or |, |、|和|或))*$")


@dataclass(frozen=True)
class Unit:
    """A paragraph, a list item, a heading, a row of a table, a title or the description."""

    section: str
    line: int
    kind: str
    text: str
    bare: str  # the same with code, formulas and addresses blanked


@dataclass(frozen=True)
class Claim:
    """A number that says something, with the words by which the ledger knows it."""

    unit: Unit
    line: int
    start: int
    end: int
    text: str
    reads: tuple[Read, ...]
    key: str
    noun: str = ""
    how: str = "is"  # or about, <, >, <=, >=

    @property
    def section(self) -> str:
        """The section of the ledger that it belongs to."""
        return self.unit.section

    @property
    def is_latin(self) -> bool:
        """True when the words beside the number are no Chinese ones."""
        return not re.search(r"[\u4e00-\u9fff]", self.key)

    @property
    def sentence(self) -> str:
        """The sentence in which it stands."""
        begin, end = sentence_at(self.unit.bare, self.start)
        return " ".join(self.unit.text[begin:end].split())


@dataclass
class PageNumbers:
    """All numbers of a page."""

    units: list[Unit] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    passed: list[tuple[str, int, Read, Unit]] = field(default_factory=list)  # rule and line
    wide: list[tuple[int, str]] = field(default_factory=list)  # full-width digits

    def names(self) -> dict[str, list[tuple[str, int]]]:
        """What is no claim but a name, a date or a quotation, by section, each with its line."""
        found: dict[str, list[tuple[str, int]]] = {}
        for rule, line, one, unit in self.passed:
            if rule in NAMED:
                found.setdefault(unit.section, []).append((_name(rule, one, unit.bare), line))
        return found

    @property
    def rules(self) -> Counter[str]:
        """How many numbers each rule let pass."""
        return Counter(rule for rule, *_ in self.passed)

    def by_unit(self) -> dict[int, list[Claim]]:
        """The claims of each unit, by the unit's identity."""
        found: dict[int, list[Claim]] = {}
        for claim in self.claims:
            found.setdefault(id(claim.unit), []).append(claim)
        return found


def _name(rule: str, one: Read, bare: str) -> str:
    """The name in which a number stands: head 1, float16; of words 1, 2 and 3, word by word."""
    if rule == "part of a name":
        begin = re.search(r"[\w.-]*$", bare[: one.start])
        end = re.match(r"[\w-]*(?:\.\w+)*", bare[one.end :])
        return f"{begin[0] if begin else ''}{one.text}{end[0] if end else ''}"
    noun = LISTED_NAMES.search(bare[: one.start]) if rule == "name" else None
    return f"{noun[1]} {one.text}" if noun else one.text


def sentence_at(bare: str, place: int) -> tuple[int, int]:
    """Where the sentence around a place begins and ends."""
    ends = [0, *(match.end() for match in SENTENCE_END.finditer(bare)), len(bare)]
    index = bisect_right(ends, place)
    return ends[index - 1], ends[min(index, len(ends) - 1)]


def blanked(text: str) -> str:
    """The text with all that is no prose blanked, sign for sign."""

    def fill(sign: str, match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", sign, match[0])

    if "`" in text:
        text = SPAN.sub(lambda match: fill(CODE, match), text)
    return HIDDEN.sub(lambda match: fill(FORMULA if match["formula"] else " ", match), text)


def units_of(page: Page) -> list[Unit]:
    """The prose of a page in pieces, in order."""
    found: list[Unit] = []
    heads = [heading.line for heading in page.headings]
    start, lines, kind = 0, list[str](), "text"

    def close() -> None:
        if lines:
            text = "\n".join(lines)
            index = bisect_right(heads, start)
            section = page.headings[index - 1].anchor if index else ""
            if start in page.front_lines:
                section = page.front_lines[start]
            found.append(Unit(section, start, kind, text, _without_marker(blanked(text), kind)))
            lines.clear()

    for number, line in enumerate(page.prose, 1):
        alone = ""
        if not line.strip():
            close()
            continue
        if number in page.front_lines:
            alone = DESCRIPTION
        elif line.startswith("#"):
            alone = "heading"
        elif line.lstrip().startswith("|"):
            alone = "row"
        elif TITLE.match(line):
            alone = "title"
        if alone or ITEM.match(line):
            close()
        if alone == "row" and RULER.match(line):
            continue
        if not lines:
            start, kind = number, alone or ("item" if ITEM.match(line) else "text")
        lines.append(line)
        if alone:
            close()
    close()
    return found


def _without_marker(bare: str, kind: str) -> str:
    match = ITEM.match(bare) if kind == "item" else None
    return " " * match.end() + bare[match.end() :] if match else bare


def read(page: Page, judge: Judge, language: str = "") -> PageNumbers:
    """The numbers of a page in that language; of both when it is in none."""
    found = PageNumbers(units_of(page))
    seen: Counter[tuple[str, str]] = Counter()
    for unit in found.units:
        claims: list[tuple[Read, str]] = []
        for one in number_words.find(unit.bare):
            rule = judge.rule(unit.bare, one, language)
            if rule:
                line = unit.line + unit.bare.count("\n", 0, one.start)
                found.passed.append((rule, line, one, unit))
            else:
                claims.append((one, ""))
        for wide in number_words.FULL_WIDTH.finditer(unit.bare):
            found.wide.append((unit.line + unit.bare.count("\n", 0, wide.start()), wide[0]))
        for row in _rows(unit.bare, [one for one, _ in claims]):
            claim = _claim(unit, row)
            seen[claim.section, claim.key] += 1
            count = seen[claim.section, claim.key]
            found.claims.append(
                claim if count == 1 else replace(claim, key=f"{claim.key} #{count}")
            )
    return found


def _rows(text: str, reads: list[Read]) -> Iterator[tuple[Read, ...]]:
    """The numbers, those in a row such as 1 0 1 0 or 2, 3 and 4 together."""
    row: list[Read] = []
    for one in reads:
        joined = row and not one.word and not row[-1].word
        if joined and ROW.fullmatch(text[row[-1].end : one.start]):
            row.append(one)
            continue
        if row:
            yield tuple(row)
        row = [one]
    if row:
        yield tuple(row)


def _claim(unit: Unit, row: tuple[Read, ...]) -> Claim:
    bare = unit.bare
    start, end = row[0].start, row[-1].end
    text = " ".join(bare[start:end].split())
    after, before = AFTER.match(bare, end), BEFORE.search(bare[max(0, start - 40) : start])
    noun = (after["word"] or after["chinese"]) if after else ""
    key = text
    if after:
        key = f"{text} {noun}"
    elif unit.kind == "row" and (label := _label(unit)):
        key = f"{label} | {text}"
    elif before:
        key = f"{before['word']} {text}"
    line = unit.line + bare.count("\n", 0, start)
    return Claim(unit, line, start, end, text, row, key, noun, _how(bare, start, end))


def _label(unit: Unit) -> str:
    """What the first cell of a row says, when it is no number."""
    cells = [one.strip() for one in unit.bare.strip().strip("|").split("|")]
    first = unit.text.strip().strip("|").split("|")[0].strip() if CODE in cells[0] else cells[0]
    first = " ".join(first.replace("`", "").split())
    return first if not re.fullmatch(r"[\d\s.,]*", first) else ""


def _how(bare: str, start: int, end: int) -> str:
    """How the number is said: is, about, or compared."""
    before = " ".join(bare[max(0, start - 40) : start].split(" "))
    if ABOUT.search(before) or ROUGHLY.match(bare[end : end + 12]):
        return "about"
    for sign, pattern in COMPARISONS.items():
        if pattern.search(before):
            return sign
    return "is"


def soft_values(unit: Unit) -> set[float]:
    """The numbers that words of a unit may stand for."""
    return {value for value, words in SOFT_WORDS if words.search(unit.bare)}
