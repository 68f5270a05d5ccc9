"""What is a number and no claim, by short rules: names, ordinals, dates, idioms.

Each rule is a pattern in which ⟦⟧ are the ends of the number. They are tried in order, in the few
words around a number, and the report counts what each of them lets pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from proseproof.number_words import Read

AROUND = 28  # signs on either side that a rule can see
# Nouns in front of a number that names one of them. A project adds its own (words.toml, `names`).
NAMES = frozenset(
    re.findall(
        r"\w+",
        "appendix case cell chapter column entry example exercise figure index issue item level "
        "line number option page paragraph part phase place position proof question row rule "
        "section slide slot stage step table test version volume Python "
        "第 号 图 表 章 节 步骤 例 练习 位置 版本",
    )
)
IDIOMS_ENGLISH = (
    r"one by one|two by two|one (?:after|from) (?:the other|another)|one another|one (?:day|thing)|"
    r"(?:on|at) (?:the )?one (?:hand|go|side)|at one(?:ce)?|one[- ]to[- ](?:one|many)|one-hot|"
    r"one[- ](?:way|off|liner|sided)|zero-shot|few-shot|two-way|(?:all )?in one|"
    r"half[- ](?:precision|way|life|open|done|hour|empty|full|right|finished|truth)s?|"
    r"half (?:of )?the (?:battle|story|truth|way)|half an eye|halfway|better half|"
    r"one (?:and|or) (?:the )?(?:other|more|two)|one or two|two or three|three or four|"
    r"a (?:dozen|couple)|(?:dozens|hundreds|thousands|millions|billions)(?: of)?|"
    r"a (?:hundred|thousand|million) (?:times over|and one)|second to none|back to square one|"
    r"one['’]s|no one|any ?one|every ?one|some ?one|the one|this one|that one|which one|each one|"
    r"in two minds|put two and two together|ten to one|for one|number one|one and the same|"
    r"in (?:ten )?thousands|a million miles|zero in|24/7|50/50|fifty-fifty|two cents|four-letter|"
    r"four corners|seven seas|catch-22|two's complement|one's complement|"
    r"divi\w+(?: 0)? by 0(?!\.?\d)|0 times (?:NaN|infinity)|"
    r"two-dimensional|three-dimensional|one-dimensional|two-tailed|nine times out of ten"
)
IDIOMS_CHINESE = (
    "一词不差|三言两语|三番五次|三心二意|三三两两|三思|再三|四处|四周|四面八方|四通八达|四舍五入|五花八门|"
    "五颜六色|六神无主|七上八下|七零八落|乱七八糟|八九不离十|九牛一毛|十全十美|十分(?!之)|十足|一五一十|"
    "百分百|百分点|百科|百般|百倍|千方百计|千变万化|千篇一律|千差万别|千万(?=[不别要])|成千上万|千千万万|"
    "万一|万事大吉|万事|万能|万物|万万|亿万|接二连三|丢三落四|颠三倒四|朝三暮四|举一反三|独一无二|说一不二|"
    "数一数二|一举两得|一刀两断|一清二楚|一干二净|一知半解|一时半会|一星半点|一板一眼|一来二去|一分为二|"
    "合二为一|二话不说|不二|无二|两全其美|两难|两可|两回事|两码事|两手|两败俱伤|两头|两样|"
    "三角|三元组|二元|二进制|八进制|十进制|十六进制|二叉|二分|二次|三次方|二维|三维|四维|一维|"
    "半精度|半路|半天|大半|多半|半数|半成品|半途|半边天|过半|半开|对半|减半|折半|事半功倍|半信半疑|半斤八两|"
    "星期[一二三四五六日]|周[一二三四五六日]|[一二三四五六七八九十]月|十字|三明治|千分位|百分比|百分数|"
    "双十一|九宫格|五角|六边|四边|三边|零散|零星|零件|零碎|凋零|归零|清零|置零|补零|填零|零值|零向量|"
    r"零矩阵|按[十百千万亿]计|[个十百千]位|(?:0 ?)?除以 ?0(?!\.?\d)|0 ?乘以? ?(?:NaN|无穷)"
)
VAGUE = r"几[十百千万]|[十百千万][几多余]|[数上成][十百千万]|两三|三两|三四|四五|五六|七八"


@dataclass(frozen=True)
class Rule:
    """Why a number is no claim, and what it looks like, in English and in Chinese."""

    name: str
    pattern: str
    examples: tuple[str, ...] = ()


def rules(names: Iterable[str] = ()) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The rules by name, for a project with nouns of its own."""
    nouns = sorted({*NAMES, *names}, key=len, reverse=True)
    latin = "|".join(re.escape(one) for one in nouns if one.isascii())
    chinese = "|".join(re.escape(one) for one in nouns if not one.isascii())
    listed = r"(?:⟦?\d+(?:\.\d+)*⟧?(?:,? (?:and|or|to) |, |、|和|到|或|–))*"
    made = {name: one.format(latin=latin, chinese=chinese, listed=listed) for name, one in RULES}
    return tuple((name, re.compile(one, re.IGNORECASE)) for name, one in made.items())


# They are hardly more than articles, and are not judged: the one head is "a head" in most tongues.
# But one that becomes two is a number without an entry.
ONE = frozenset(("one", "a", "an", "zero", "一", "零", "〇"))
SPAN_OF = re.compile(r"\d\s?(?:to|through|到|至|–)\s?⟦\d|\d⟧\s?(?:to|through|到|至|–)\s?\d")
RULES = (
    ("marker", r"\*\*⟦\d+⟧\.\*\*|^\s*⟦\d+⟧[.)]\s|\[\^⟦\d+⟧\]"),
    ("ordinal", r"第\s?⟦|(?:^|[：:，,；;。])\s?⟦[一二三四五六七八九]⟧[是来则]|"
     r"⟦\d+⟧(?:st|nd|rd|th)\b|⟦\w+⟧\s?号(?!码)"),
    ("part of a name", r"[A-Za-z_](?:[-.]|[-.]?\d+[.-])?⟦\d|⟦\d[\d.]*⟧[A-Za-z_]|⟦\d+⟧-?D\b|"
     r"\d⟧[.:]\d"),
    ("date", r"\b(?:in|of|since|until|by|from|before|after) ⟦(?:19[5-9]|20[0-4])\d⟧|"
     r"⟦(?:19[5-9]|20[0-4])\d⟧(?!,? [a-z]+s\b)(?:\s?年)?|⟦\d+⟧\s?[年月日]|"
     r"⟦\d+⟧ (?-i:January|February|March|April|May|June|July|August|September|October|November|"
     r"December)|(?:19[5-9]|20[0-4])\d-(?:\d+-)?⟦\d+⟧|⟦\d{{4}}⟧-\d\d"),
    ("name", r"(?<!next )(?<!each )(?<!every )(?:\b(?:{latin})s? |(?:{chinese})\s?){listed}"
     r"⟦[\d.]+⟧(?! \d)"),
    ("quoted", r"[\"“‘「]⟦[^\d⟧]+⟧[\"”’」]"),
    ("idiom", rf"(?:{IDIOMS_ENGLISH}|{IDIOMS_CHINESE})"),
    ("roughly", rf"(?:{VAGUE})"),
    ("pronoun", r"⟦[两二三四]⟧者|⟦两⟧[边侧端旁]"),
)  # fmt: skip


class Judge:
    """Tells claims from numbers that are none."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.rules = rules(names)

    def rule(self, text: str, number: Read, language: str = "") -> str:
        """The rule by which a number is no claim; nothing for a claim.

        A number word of another language than the page's is spoken of, and counts nothing.
        """
        if number.vague:
            return "roughly"
        if number.text.lower() in ONE:
            return "one"
        if language and number.word and number.text.isascii() != (language != "zh"):
            return "quoted"
        before = text[max(0, number.start - AROUND) : number.start]
        after = text[number.end : number.end + AROUND]
        marked = f"{before}⟦{number.text}⟧{after}"
        place = len(before)
        bare = before + number.text + after
        span = SPAN_OF.search(marked) is not None
        for name, pattern in self.rules:
            if span and name in ("name", "ordinal"):
                continue  # rows 16 to 23 are no name
            if name in ("idiom", "roughly"):
                for match in pattern.finditer(bare):
                    if match.start() < place + len(number.text) and place < match.end():
                        return name
            elif pattern.search(marked):
                return name
        return ""
