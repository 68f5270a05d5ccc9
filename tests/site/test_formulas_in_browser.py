"""Formulas as the browser draws them, without scripts and with the site's own font."""

from page_visit import Facts
from reader import Open


def test_formula_has_a_size(plain: Facts) -> None:
    assert all(side > 1 for side in plain["formulas"]["sides"] if side)


def test_root_is_no_taller_than_its_sign_and_followed_closely(plain: Facts) -> None:
    """The font has one root: what is under it must fit."""
    assert [root for root in plain["formulas"]["roots"] if root[1] > 1.35 or root[2] > 0.1] == []


def test_brackets_stretch_and_scripts_shrink(open_page: Open) -> None:
    page = open_page("en/chapters/attention.html", scripts=False)
    formula = page.locator("div.formula math").first
    bracket = formula.locator("mo[fence=true]").first.bounding_box()
    letter = formula.locator("mi", has_text="V").last.bounding_box()
    small = formula.locator("msub > mi:nth-child(2)").first.bounding_box()
    assert bracket and letter and small
    assert bracket["height"] > 1.8 * letter["height"]
    assert small["height"] < letter["height"]
