"""Both languages state the same numbers, paragraph by paragraph."""

import pytest
from sample_site import Site

from proseproof import translation_lock

BLOCK = "```python\nheads, tokens = 4, 5\n```\n"


def pair(site: Site, english: str, chinese: str, ledger: str = "") -> list[str]:
    """What is found on the English page when the two say that."""
    site.configure('bindings = "docs/bindings"\n')
    site.pair(f"# 甲 {{#a}}\n\n{BLOCK}\n{chinese}\n", f"# A {{#a}}\n\n{BLOCK}\n{english}\n")
    project = site.project
    pages = [(project.page("docs/zh/x.md"), project.page("docs/en/x.md"))]
    translation_lock.confirm(project.settings, pages, set(), True)
    site.write("docs/bindings/x.toml", ledger or site_ledger(english))
    return [one.message for one in site.prove("docs/en/x.md")]


def site_ledger(english: str) -> str:
    """Entries for the sentences of these tests."""
    entries = {
        "4 heads": "heads",
        "four heads": "heads",
        "5 tokens": "tokens",
        "two ends": "tokens - 3",
        "half of": "(tokens - 3) / heads",
    }
    lines = [f'"{key}" = "{code}"' for key, code in entries.items() if key in english]
    return "\n".join(["[a]", *lines, ""])


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("There are 4 heads.", "一共 4 个头。"),
        ("There are four heads.", "一共四个头。"),
        ("There are 4 heads and 5 tokens.", "五个词元，四个头。"),
        ("It uses half of them.", "它只用其中一半。"),
        ("It has one head, with two ends.", "它有一个头，两个端点。"),
        ("Both are right.", "两种都对。"),  # words that stand for a number
        ("A single one is left.", "只剩下 1 个。"),
        ("It writes zeros.", "写的是 0。"),
        ("There are 4 heads.\n\nAnd 5 tokens.", "有 4 个头。\n\n有 5 个词元。"),
    ],
)
def test_same_numbers_agree_whatever_their_order_in_a_paragraph(
    site: Site, english: str, chinese: str
) -> None:
    assert pair(site, english, chinese) == []


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("There are 4 heads.", "一共 6 个头。"),
        ("There are four heads.", "一共五个头。"),
        ("There are 4 heads.", "有很多头。"),
        ("There are many heads.", "一共 4 个头。"),
        ("There are 4 heads.", "4 个头，还有 4 个头。"),
        ("It uses half of them.", "它只用其中三分之一。"),
        ("There are 4 heads.\n\nAnd 5 tokens.", "有 5 个词元。\n\n有 4 个头。"),
    ],
)
def test_number_that_one_language_does_not_state_is_shown_with_both_lines(
    site: Site, english: str, chinese: str
) -> None:
    found = pair(site, english, chinese)
    assert found
    assert set(found) <= {
        f"numbers of this paragraph differ from docs/zh/x.md:{line}" for line in (7, 9)
    }


def test_chinese_page_needs_no_entries(site: Site) -> None:
    assert pair(site, "There are 4 heads.", "一共四个头。") == []
    assert site.prove("docs/zh/x.md") == []


def test_page_of_both_languages_binds_a_number_once(site: Site) -> None:
    site.configure('bindings = "docs/bindings"\n')
    site.write("docs/bindings/README.toml", '[""]\n"4 heads" = "heads"\n')
    assert site.page(f"{BLOCK}\nThere are 4 heads.\n\n一共四个头。\n") == []
    (found,) = site.page(f"{BLOCK}\nThere are 4 heads.\n\n一共五个头。\n")
    assert found.message == 'nothing says what "五 个头" is'
