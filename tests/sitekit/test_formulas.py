"""Formulas become MathML that a browser sets right."""

import re

import pytest

from sitekit import formulas


@pytest.mark.parametrize(
    ("latex", "parts"),
    [
        (r"p \log n", "<mi>p</mi>{}<mi>log</mi>{}<mi>n</mi>"),
        (r"\tanh(x)", '<mi>tanh</mi><mo stretchy="false">(</mo><mi>x</mi>'),
        (r"\ln\left(x\right)", "<mi>ln</mi><mrow><mo"),
        (r"-\infty", "<mo>−</mo><mi>∞</mi>"),
        ("f'(x)", "<mrow><mi>f</mi><mo>′</mo></mrow><mo"),
    ],
)
def test_names_stand_apart_and_signs_close(latex: str, parts: str) -> None:
    assert parts.replace("{}", '<mspace width="0.167em" />') in formulas.mathml(latex, block=False)


@pytest.mark.parametrize("mark", ["。", "，", ",", ").", "?"])
def test_mark_behind_a_formula_stays_on_its_line(mark: str) -> None:
    html, _ = formulas.draw(rf'<p>a <span class="arithmatex">\(x\)</span>{mark} b</p>')
    kept = rf'<p>a <span class="kept"><math .*</math>{re.escape(mark)}</span> b</p>'
    assert re.fullmatch(kept, html)
    html, _ = formulas.draw(r'<p>is <span class="arithmatex">\(x\)</span> here</p>')
    assert "kept" not in html
