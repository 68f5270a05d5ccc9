"""The report on the page "How it is verified" speaks the language of its page."""

import inspect
import re

from proseproof import claims, mentions, sentence_subjects, stated_values
from proseproof.report import ClaimEntry, PageEntry, Report, digest
from sitekit import verified


def test_report_speaks_the_language_of_its_page() -> None:
    judging = [inspect.getsource(one) for one in (claims, stated_values, sentence_subjects.kind_of)]
    rules = {mentions.RULE, *re.findall(r'return "(\w+)"', "".join(judging))}
    entry = PageEntry("docs/zh/a.md", digest("text"))
    entry.claims = [ClaimEntry(1, "x", rule, "holds") for rule in sorted(rules)]
    report = Report({"torch": "9", "python": "3"}, {"docs/zh/a.md": entry})
    table = verified.overview(report, "zh").split("<tbody>")[1]
    assert len(rules) > 10 and table.count("<td>成立 ") == len(rules)
    assert re.findall(r"<td>([a-z ]+)</td>", table) == []
