"""Reading numbers in prose: digits and words, English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


def _counted(words: str, first: int, step: int) -> dict[str, int]:
    found = words.split()
    return {word: first + step * place for place, word in enumerate(found)}


ONES = _counted("zero one two three four five six seven eight nine ten eleven twelve", 0, 1)
ONES |= _counted("thirteen fourteen fifteen sixteen seventeen eighteen nineteen", 13, 1)
TENS = _counted("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10)
SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9}
PARTS = {"half": 0.5, "third": 1 / 3, "thirds": 1 / 3}
PARTS |= {"quarter": 0.25, "quarters": 0.25, "fifth": 0.2, "fifths": 0.2, "tenth": 0.1}
TIMES = {"twice": 2, "thrice": 3}
VULGAR = {"½": 1 / 2, "⅓": 1 / 3, "⅔": 2 / 3, "¼": 1 / 4, "¾": 3 / 4, "⅛": 1 / 8}
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
LETTERS = {"k": 10**3, "K": 10**3, "M": 10**6, "B": 10**9}
CHINESE = {sign: value for value, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
CHINESE_SCALES = {"十": 10, "百": 100, "千": 1000}
MYRIADS = {"万": 10**4, "亿": 10**8}

_SMALL = "|".join(sorted([*ONES, *TENS], key=len, reverse=True))
_CN = "[零〇一二两三四五六七八九十百千万亿]"
WORD = re.compile(
    rf"""
    (?<![\w\x01])(?:
      (?P<english>(?:(?:{_SMALL})|an?(?=\s(?:{"|".join(SCALES)})))
        (?:(?:[\s-]|(?<=hundred)\sand\s|(?<=thousand)\sand\s)(?:{_SMALL}|{"|".join(SCALES)})\b)*
        (?P<more>\sand\sa\shalf)?
        (?P<part>[\s-](?:thirds?|quarters?|fifths?|tenths?)\b)?)
      | an?\s(?P<one_part>third|quarter|fifth|tenth)(?=\s(?:of|as|more|less)\b|[.,;:!?)]|$)
      | (?P<half>half) | (?P<times>twice|thrice)
    )(?![A-Za-z])
    | (?P<fraction>{_CN}+|\d+)\s?分之\s?(?P<over>{_CN}+|\d+(?:\.\d+)?)
    | (?P<percent_sign>[-−+](?!\d))?(?P<chinese>{_CN}+(?:点[零一二三四五六七八九]+)?)
      (?P<and_half>[个倍]半)?
    | (?P<chinese_half>(?<!\w)半(?=[个数]))
    """,
    re.VERBOSE | re.IGNORECASE,
)
DIGITS = re.compile(
    r"""
    (?P<sign>(?<![\w)\]])[-−+])?
    (?P<whole>[0-9]{1,3}(?:[,\u2009\u202f][0-9]{3}|\s000)+(?![0-9])|[0-9]+)(?:\.(?P<decimals>[0-9]+))?
    (?:[eE](?P<exponent>[-+−]?[0-9]+)(?![\w])|(?P<power>[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+))?
    (?:/(?P<over>[1-9][0-9]*)(?![0-9/.-]))?
    (?:\s?(?P<percent>[%‰])|(?P<myriad>\s?[百千]?[万亿]|[百千](?![万亿]))|(?P<letter>[kKMB])(?![\w-]))?
    | (?P<vulgar>[½⅓⅔¼¾⅛])
    """,
    re.VERBOSE,
)
FULL_WIDTH = re.compile("[０-９]+")


@dataclass(frozen=True)
class Read:
    """A number in a text: its place, what it is worth, and how exactly it is given.

    `unit` is what one unit of its last digit is worth, 0 for what is exact. Whether it is a word
    matters to the rules; `vague` is a word that has no one value, such as 两三.
    """

    start: int
    end: int
    text: str
    value: float
    unit: float = 0.0
    word: bool = False
    vague: bool = False


def find(text: str) -> list[Read]:
    """The numbers of a text, in order."""
    found = [*_digits(text)]
    taken = [(one.start, one.end) for one in found]
    for one in _words(text):
        inside = [(start, end) for start, end in taken if start < one.end and one.start < end]
        if not inside:
            found.append(one)
        elif all(one.start <= start and end <= one.end for start, end in inside):
            found = [o for o in found if not (one.start <= o.start and o.end <= one.end)]
            found.append(one)  # 5 分之 1
    return sorted(found, key=lambda one: one.start)


def _digits(text: str) -> Iterator[Read]:
    for match in DIGITS.finditer(text):
        start, end = match.span()
        if match["vulgar"]:
            yield Read(start, end, match[0], VULGAR[match[0]])
            continue
        whole = re.sub(r"\D", "", match["whole"])
        decimals = match["decimals"] or ""
        value, unit = float(f"{whole}.{decimals}0"), 10.0 ** -len(decimals) if decimals else 0.0
        factor = 1.0
        if match["exponent"]:
            factor = 10.0 ** int(match["exponent"].replace("−", "-"))
        elif match["power"]:
            value = value ** int(match["power"].translate(SUPERSCRIPTS))
        elif match["over"]:
            factor = 1 / int(match["over"])
        if match["percent"]:
            factor, unit = factor / (100 if match["percent"] == "%" else 1000), unit or 1.0
        elif match["myriad"]:
            for sign in match["myriad"].strip():
                factor *= (CHINESE_SCALES | MYRIADS)[sign]
            unit = unit or 1.0
        elif match["letter"]:
            factor, unit = factor * LETTERS[match["letter"]], unit or 1.0
        if match["sign"] in ("-", "−"):
            factor = -factor
        yield Read(start, end, match[0], value * factor, abs(unit * factor))


def _words(text: str) -> Iterator[Read]:
    for match in WORD.finditer(text):
        start, end = match.span()
        if match["english"]:
            value = _english(re.split(r"[\s-]+", match["english"].lower()))
            if value is None:  # one three places on
                for word in re.finditer(_SMALL, match[0], re.IGNORECASE):
                    at, worth = start + word.start(), (ONES | TENS)[word[0].lower()]
                    yield Read(at, start + word.end(), word[0], float(worth), word=True)
                continue
        elif match["one_part"]:
            value = PARTS[match["one_part"].lower()]
        elif match["half"] or match["chinese_half"]:
            value = 0.5
        elif match["times"]:
            value = TIMES[match["times"].lower()]
        elif match["fraction"]:
            under = _chinese_or_digits(match["fraction"])
            over = _chinese_or_digits(match["over"])
            value = over / under if under and over is not None else None
        else:
            value = _chinese(match["chinese"])
            if value is not None and match["and_half"]:
                value += 0.5
            elif text[end : end + 1] == "半" and match["chinese"] == "一":
                end, value = end + 1, 0.5
        # A third is 0.33, and no more exactly.
        unit = 0.01 if value is not None and value * 4 % 1 else 0.0
        yield Read(start, end, text[start:end], value or 0.0, unit, True, value is None)


def _english(words: list[str]) -> float | None:
    """What number words are worth; None for a row of them that is no number."""
    total, group, last = 0, 0, ""
    part: float | None = None
    for word in words:
        if word in ("a", "an", "and"):
            group = group if word == "and" else 1
            continue
        if word == "half":
            return total + group + 0.5
        if word in PARTS:
            part = PARTS[word]
        elif word in SCALES:
            if word == "hundred":
                group *= 100
            else:
                total, group = total + group * SCALES[word], 0
        elif word in TENS:
            if last in ONES or last in TENS:
                return None
            group += TENS[word]
        else:
            if last in ONES or (last in TENS and not 0 < ONES[word] < 10):
                return None
            group += ONES[word]
        last = word
    return (total + group) * part if part is not None else total + group


def _chinese_or_digits(text: str) -> float | None:
    return float(text) if text[0].isdigit() else _chinese(text)


def _chinese(text: str) -> float | None:
    """What a Chinese numeral is worth; None for one that is none, such as 两三."""
    text, _, after = text.partition("点")
    total, group, digit, last = 0, 0, -1, ""
    for sign in text:
        if sign in CHINESE:
            if digit >= 0 and last not in "零〇":
                return None
            digit = CHINESE[sign]
        elif sign in CHINESE_SCALES:
            group += (1 if digit < 0 else digit) * CHINESE_SCALES[sign]
            digit = -1
        else:
            if digit < 0 and not group and not total:
                return None
            here = group + max(digit, 0)
            total = (total + here) * 10**8 if sign == "亿" else total + here * 10**4
            group, digit = 0, -1
        last = sign
    value = float(total + group + max(digit, 0))
    if after:
        value += sum(CHINESE[sign] / 10**place for place, sign in enumerate(after, 1))
    return value
