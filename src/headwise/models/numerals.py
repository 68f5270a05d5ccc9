"""Numbers from 0 to 999,999,999 in Chinese characters and in English words, by rules.

The rules write as many pairs as one likes: 二百三十五 is two hundred thirty five. The translator
learns from the pairs alone.
"""

import re

from headwise._check import check_kind, check_whole

LARGEST = 999_999_999

DIGITS = "零一二三四五六七八九"
UNITS = ("", "十", "百", "千")
GROUPS = ("", "万", "亿")
CHARACTERS = (*DIGITS, *UNITS[1:], *GROUPS[1:])

ONES = [
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    *("ten", "eleven", "twelve", "thirteen", "fourteen"),
    *("fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
]
TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
THOUSANDS = ("", "thousand", "million")


def to_chinese(n: int) -> str:
    """The number in Chinese characters, spelled in one way: 10205 is 一万零二百零五.

    - Digits stand in groups of four, closed by 亿 and 万, each digit before its unit.
    - Zeros between two digits are one 零, however many they are. There is none where the zeros
      only end a group and the next one has its thousands: 203000 is 二十万三千.
    - 2 is 二 everywhere. 10 to 19 are 十 to 十九 at the front, and 一十 to 一十九 inside.
    """
    _check_number(n)
    return _spell(n) or "零"


def _spell(n: int, *, every_zero: bool = False) -> str:
    """The number in characters, on request with the 零 that one may leave out."""
    text = ""
    before = None  # the place of the digit written last, counted from the right
    for place in range(len(str(n)) - 1, -1, -1):
        digit = n // 10**place % 10
        group, unit = divmod(place, 4)
        if digit:
            skipped = before is not None and before - place > 1
            ends_a_group = before is not None and unit == 3 and before // 4 == group + 1
            if skipped and (every_zero or not ends_a_group):
                text += "零"
            ten_in_front = not text and unit == 1 and digit == 1
            text += ("" if ten_in_front else DIGITS[digit]) + UNITS[unit]
            before = place
        if unit == 0 and before is not None and before // 4 == group:
            text += GROUPS[group]
    return text


def to_english(n: int) -> str:
    """The number in English words, without "and" and hyphens: 235 is two hundred thirty five."""
    _check_number(n)
    words: list[str] = []
    for power in (2, 1, 0):
        hundreds, rest = divmod(n // 1000**power % 1000, 100)
        if hundreds:
            words += [ONES[hundreds], "hundred"]
        if rest >= 20:
            words.append(TENS[rest // 10])
            rest %= 10
        if rest:
            words.append(ONES[rest])
        if power and n // 1000**power % 1000:
            words.append(THOUSANDS[power])
    return " ".join(words) or ONES[0]


def parse_chinese(text: str) -> int:
    """The number that the characters spell; what is no numeral raises a ValueError.

    Beside the spelling of `to_chinese` these usual ones are read:

    - 两 for 二 before 百 and 千, and alone before 万 and 亿: 两百, 两万, but not 十两万.
    - 一十 to 一十九 for 十 to 十九 at the front.
    - A 零 for zeros that only end a group: 二十万零三千.
    - 〇 for 零, and white space around the whole.

    What speech leaves out is not guessed at: 一百五 might be 105 or 150.
    """
    check_kind("text", text, str)
    spelled = text.strip().replace("〇", "零")
    for character in spelled:
        if character not in CHARACTERS and character != "两":
            raise ValueError(
                f"text: got {text!r}, expected numerals: {character!r} is no Chinese numeral"
            )
    spelled = re.sub("两(?=[百千])|^两(?=[万亿])|(?<=亿)两(?=万)|(?<=亿零)两(?=万)", "二", spelled)
    if "两" in spelled:
        raise ValueError(
            f"text: got {text!r}, expected 二, as 两 goes with 百, 千, 万 and 亿 alone"
        )
    spelled = re.sub("^一十", "十", spelled)

    group = "((?:[一-九]千)?(?:[一-九]百)?(?:[一-九]?十)?[一-九]?)".replace("一-九", DIGITS[1:])
    parts = re.fullmatch(f"(?:{group}亿)?(?:{group}万)?{group}", spelled.replace("零", ""))
    if not spelled or parts is None or "" in parts.groups()[:2]:
        raise ValueError(
            f"text: got {text!r}, expected digits, each before its unit, in falling order, "
            "such as 三千零二十万五千"
        )
    n = 0
    for part in parts.groups(default=""):
        n *= 10_000
        for digit, unit in re.findall("([^十百千]?)([十百千]?)", part):
            if digit or unit:  # the last match is of nothing
                n += DIGITS.index(digit or "一") * 10 ** UNITS.index(unit)
    if n > LARGEST:
        raise ValueError(f"text: got {text!r}, which is {n:,}, expected at most {LARGEST:,}")
    if spelled not in (to_chinese(n), _spell(n, every_zero=True)):
        raise ValueError(f"text: got {text!r}, expected {to_chinese(n)!r} if {n} is meant")
    return n


def _check_number(n: int) -> None:
    check_whole("n", n, 0, LARGEST)
