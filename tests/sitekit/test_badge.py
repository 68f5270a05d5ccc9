"""The line under a title says what was proved of the page, and leaves out what there is none of."""

import pytest

from proseproof.report import BlockEntry, ClaimEntry, PageEntry, Report, digest
from sitekit import badge


@pytest.mark.parametrize(
    ("blocks", "claims", "names", "said"),
    [
        (3, 2, 4, "Checked: blocks run 3, claims compared 2, mentions found 4, torch 9."),
        (0, 2, 0, "Checked: claims compared 2, torch 9."),
        (0, 0, 0, "Checked: no code, torch 9."),
    ],
)
def test_line_under_the_title_leaves_out_what_there_is_none_of(
    blocks: int, claims: int, names: int, said: str
) -> None:
    entry = PageEntry("docs/en/a.md", digest("text"))
    entry.blocks = [BlockEntry(1, "python", "holds")] * blocks
    entry.claims = [ClaimEntry(1, "x == 1", "comparison", "holds")] * claims
    entry.claims += [ClaimEntry(1, "x", "name", "holds")] * names
    report = Report({"torch": "9"}, {"docs/en/a.md": entry})
    assert said in badge.badge(report, "docs/en/a.md", "text", "en", "verified.html")
