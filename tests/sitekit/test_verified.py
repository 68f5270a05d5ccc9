"""The report on the page "How it is verified" speaks the language of its page."""

import inspect
import re

from proseproof import claims, mentions, sentence_subjects, stated_values
from proseproof.number_rules import RULES
from proseproof.report import FORMULAS, ClaimEntry, PageEntry, Report, digest
from sitekit import verified


def test_report_speaks_the_language_of_its_page() -> None:
    judging = [inspect.getsource(one) for one in (claims, stated_values, sentence_subjects.kind_of)]
    rules = {mentions.RULE, *re.findall(r'return "(\w+)"', "".join(judging)), *FORMULAS, "symbol"}
    entry = PageEntry("docs/zh/a.md", digest("text"))
    entry.claims = [ClaimEntry(1, "x", rule, "holds") for rule in sorted(rules)]
    report = Report({"torch": "9", "python": "3"}, {"docs/zh/a.md": entry})
    table = verified.overview(report, "zh").split("<tbody>")[1]
    assert len(rules) > 10 and table.count("<td>成立 ") == len(rules)
    assert re.findall(r"<td>([a-z ]+)</td>", table) == []


def test_report_counts_numbers_formulas_and_what_is_no_claim() -> None:
    entry = PageEntry("docs/zh/a.md", digest("text"))
    entry.claims = [ClaimEntry(1, "$x$", rule, "holds") for rule in (*FORMULAS, "symbol")]
    entry.numbers = {"bound": 7, **{rule: 3 for rule, _ in RULES}, "one": 5}
    report = Report({"python": "3"}, {"docs/zh/a.md": entry})
    english, chinese = (verified.overview(report, one).partition("</p>")[0] for one in ("en", "zh"))
    assert "2 of the claims are formulas" in english and "7 numbers are bound to code" in english
    assert "date 3, idiom 3, marker 3" in english and "one 5" in english
    assert "2 个公式" in chinese and "7 个数" in chinese and "“一”和“零” 5" in chinese
    assert re.findall(r"[a-z ]{3,}", chinese.replace("Python", "").partition("：")[2]) == []
