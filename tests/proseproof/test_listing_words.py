"""Comments and docstrings of a listing are shown in the language of the page; the code stays."""

import ast

import pytest
from sample_site import Site

from proseproof.listing_words import passages, translated
from proseproof.listings import ListingError

SOURCE = '''
LIMIT = 3  # no more than that


def double(x, y=None):
    """Twice x.

    Says more about it,
    in two lines, and it has the shape (2, 3).

    Args:
        x: a number, or
            a list.
        y: nothing.

    double(1, y=2) == 2
    """
    # Half of it would
    # be less.
    y = 2 * x  # (batch, d_model)
    z = y + 1  # 3.0
    return y, z  # noqa: F841


class Box:
    """A box, and W (2, 3)."""

    def width(self):
        # ----
        return 1  # as wide as can be
'''
ZH = {
    "no more than that": "不能再多",
    "Twice x.": "x 的两倍。",
    "Says more about it, in two lines, and it has the shape (2, 3).": "多说两句：形状是 (2, 3)。",
    "Args:": "参数：",
    "x: a number, or a list.": "x：一个数，或者一个列表。",
    "y: nothing.": "y：什么也不是。",
    "Half of it would be less.": "一半会更少。",
    "A box, and W (2, 3).": "一个盒子，还有 W (2, 3)。",
    "as wide as can be": "要多宽有多宽",
}
DOUBLE = '''def double(x, y=None):
    """x 的两倍。

    多说两句：形状是 (2, 3)。

    参数：
        x：一个数，或者一个列表。
        y：什么也不是。

    double(1, y=2) == 2
    """
    # 一半会更少。
    y = 2 * x  # (batch, d_model)
    z = y + 1  # 3.0
    return y, z  # noqa: F841'''
LISTING = """
    # Page {{#page}}

    ```python title="lib.py"
    --8<-- "lib.py:{name}"
    ```
"""


def _without_docstrings(code: str) -> str:
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = None
    return ast.dump(tree)


def test_what_is_said_is_a_passage_and_code_is_none() -> None:
    assert [text for _, text in passages(SOURCE)] == [*ZH]
    assert dict((text, line) for line, text in passages(SOURCE))["A box, and W (2, 3)."] == 26


def test_words_are_translated_and_code_is_not() -> None:
    text = translated(SOURCE, ZH)
    assert DOUBLE in text
    assert "LIMIT = 3  # 不能再多" in text
    assert (
        '"""一个盒子，还有 W (2, 3)。"""' in text and "# ----" in text and "# 要多宽有多宽" in text
    )
    assert _without_docstrings(text) == _without_docstrings(SOURCE)


def test_long_words_are_wrapped_where_the_language_lets_them() -> None:
    code = 'def f():\n    """Short."""\n    # Also short.\n    return 1'
    long = "这个函数没有参数，" * 6 + "返回 (batch, num_heads, seq_len, d_k) 形状的张量。"
    text = translated(code, {"Short.": long, "Also short.": long})
    lines = text.splitlines()
    assert lines[1].startswith('    """这') and lines[-2].startswith("    # ")
    assert max(2 * len(line) - sum(sign < "\x80" for sign in line) for line in lines) <= 88
    assert not any(line.lstrip(" #").startswith(("，", "。")) for line in lines)
    assert text.count("(batch, num_heads, seq_len, d_k)") == 2  # a shape is not torn apart
    assert "".join(line.strip(' "#') for line in lines[1:4]).replace(" ", "") == long.replace(
        " ", ""
    )


@pytest.mark.parametrize(
    ("code", "words", "said"),
    [
        ('def f():\n    """A."""', '甲"""\n    return 1\n    """乙', "would change the code"),
        ('def f():\n    "A."', "甲" * 50, "would change the code"),
        ("x = 1  # A.", "甲" * 50, "columns wide"),
        ("x = 1  # A.", "(2, 3)", "would change the code"),
    ],
)
def test_translation_that_does_harm_is_refused(code: str, words: str, said: str) -> None:
    with pytest.raises(ListingError, match=said):
        translated(code, {"A.": words})


@pytest.fixture
def told(site: Site) -> Site:
    """A project whose Chinese page quotes what a table translates."""
    site.configure('listings = { zh = "words.toml" }\n')
    site.write("lib.py", SOURCE)
    page = LISTING.format(name="double")
    site.pair(page, page)
    return site


def _table(site: Site, **other: str) -> None:
    wanted = {text for _, text in passages(DOUBLE_SOURCE)}
    rows = {text: words for text, words in ZH.items() if text in wanted} | other
    site.write("words.toml", "".join(f'"{text}" = "{words}"\n' for text, words in rows.items()))


DOUBLE_SOURCE = SOURCE[SOURCE.index("def double") : SOURCE.index("class Box")]


def test_page_whose_listings_are_translated_holds(told: Site) -> None:
    _table(told)
    assert told.proof("docs/zh/x.md").accounted() == []
    assert told.findings_of_project() == []


def test_what_is_not_translated_is_listed_as_it_is_to_be_added(told: Site) -> None:
    _table(told, **{"Twice x.": ""})
    (found,) = told.proof("docs/zh/x.md").accounted()
    assert (found.path, found.line) == ("docs/zh/x.md", 3)
    assert found.message == "lib.py:5: words.toml has no words for what double says"
    assert found.detail == '"Twice x." = ""'
    assert "words.toml" in found.remedy
    assert told.proof("docs/en/x.md").accounted() == []


def test_table_that_is_not_there_translates_nothing(told: Site) -> None:
    (found,) = told.proof("docs/zh/x.md").accounted()
    assert found.detail.count("\n") == 5


def test_translation_that_breaks_the_listing_is_reported_on_the_page(told: Site) -> None:
    _table(told, **{"Twice x.": r"甲\"\"\" + 1"})
    (found,) = told.proof("docs/zh/x.md").accounted()
    assert "would change the code" in found.message and "words.toml" in found.remedy


def test_entry_that_no_listing_needs_is_reported(told: Site) -> None:
    _table(told, **{"A box.": "一个盒子。"})
    (found,) = told.findings_of_project()
    assert (found.path, found.line) == ("words.toml", 7)
    assert "no listing says 'A box.'" in found.message


def test_listing_that_leads_nowhere_needs_no_words(told: Site) -> None:
    _table(told)
    told.write("docs/zh/y.md", LISTING.format(name="nothing"))
    told.write("docs/en/y.md", LISTING.format(name="nothing"))
    assert told.findings_of_project() == []


@pytest.mark.parametrize("words", ["形状是 (3, 2)。", "形状是 (2, 3)，共 6 个数。"])
def test_entry_with_other_numbers_is_reported(told: Site, words: str) -> None:
    said = "Says more about it, in two lines, and it has the shape (2, 3)."
    _table(told, **{said: words})
    (found,) = told.findings_of_project()
    assert found.line == 2 and "other numbers or shapes" in found.message


@pytest.mark.parametrize(
    ("lines", "table", "said"),
    [
        ('listings = { fr = "words.toml" }\n', "", "there is no language 'fr'"),
        ('listings = { zh = "words.toml" }\n', "a = 1\n", "words.toml: 'a' has a translation"),
        ('listings = { zh = "words.toml" }\n', "a = \n", "words.toml: "),
    ],
)
def test_table_that_cannot_be_read_is_one_line(
    site: Site, lines: str, table: str, said: str
) -> None:
    site.configure(lines)
    site.write("words.toml", table)
    done = site.run("proseproof", "report")
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr


def test_proof_and_change_depend_on_the_table(told: Site) -> None:
    from proseproof.kept_proofs import _parts
    from proseproof.since import depends_on

    _table(told)
    before = _parts(told.proof("docs/zh/x.md"))["what it quotes"]
    _table(told, **{"Twice x.": "x 乘以二。"})
    assert _parts(told.proof("docs/zh/x.md"))["what it quotes"] != before
    assert "words.toml" in depends_on(told.project, "docs/zh/x.md")
    assert "words.toml" not in depends_on(told.project, "docs/en/x.md")
