"""Formulas are read into trees; what cannot be read is said in words."""

import pytest

from proseproof.latex import expression, statements
from proseproof.latex_nodes import Node, spelt
from proseproof.latex_signs import LatexError, Vocabulary

WORDS = Vocabulary(frozenset({"PE"}), frozenset({"f", "p", "O"}))

READ = {
    r"a + b - c": "a + b - c",
    r"2ab": "2 a b",
    r"\frac{a}{2}": "a / 2",
    r"\sqrt 5": r"\sqrt{5}",
    r"\sqrt{a + 1}": r"\sqrt{a + 1}",
    r"x^2": "x^2",
    r"d_{\text{model}}^2": "d_{model}^2",
    r"W_i^Q": "W_i^Q",
    r"K^\top": r"K^\top",
    r"W_\text{in}^\top": r"W_{in}^\top",
    r"f'(x)": "f'(x)",
    r"w(1 - w)": "w 1 - w",
    r"p(y_t \mid y_1, \ldots, y_{t-1}, x)": "p(y_t | y_1, …, y_{t - 1}, x)",
    r"\operatorname{FFN}(x) = \max(0,\; x)": "FFN(x) = max(0, x)",
    r"\sin((p+k)\,\omega)": r"sin(p + k \omega)",
    r"-\sum_j w_j \ln w_j": r"-\sum_j w_j ln(w_j)",
    r"\pm 1/2": "(1 / 2)",
    r"PE_{(p,\,2i)}": "PE_{(p, 2 i)}",
    r"10\,000": "10000",
    r"a ≤ b": "a ≤ b",
    r"\left( a \right)": "a",
    r"\log_2 n": "log_2(n)",
}


@pytest.mark.parametrize("text", READ)
def test_formula_is_read(text: str) -> None:
    assert spelt(expression(text, WORDS)) == READ[text]


def test_formulas_are_separated_by_commas_and_wide_spaces() -> None:
    assert len(statements(r"a = 1, \quad b = 2", WORDS)) == 2
    assert len(statements(r"a = 1 \quad b = 2.", WORDS)) == 2


def test_label_names_the_formula_behind_it() -> None:
    assert spelt(expression(r"\text{post-LN: } x + 1", WORDS)) == "post-LN = x + 1"


def test_matrix_and_cases_are_read_row_by_row() -> None:
    matrix = expression(r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}", WORDS)
    assert (matrix.kind, matrix.text, len(matrix.parts)) == ("matrix", "2", 4)
    cases = expression(
        r"\begin{cases} 0 & \text{if } j \le i \\ -\infty & \text{otherwise} \end{cases}", WORDS
    )
    assert [part.kind for part in cases.parts] == ["number", "relation", "negative", "text"]


def test_brackets_behind_a_letter_multiply_unless_it_is_a_function() -> None:
    assert expression("f(x)", WORDS).kind == "call"
    assert expression("x(y)", WORDS).kind == "product"


def test_part_of_a_formula_is_found_in_it() -> None:
    whole = expression(r"\frac{QK^\top}{\sqrt{d_k}}", WORDS)
    assert expression(r"QK^\top", WORDS) in whole
    assert Node("name", "V") not in whole


UNREADABLE = {
    r"\frac{1}{2": "{ is not closed",
    "a}": "no { has opened",
    r"\foo x": r"\foo is not known",
    "１ + 2": "write 1",
    "a ＋ b": "write +",
    "a +": "breaks off",
    "(a": "a ( is not closed",
    "(a]": "closed by ]",
    r"\begin{cases} 0": r"no \end",
    r"\begin{align} 0 \end{align}": r"\begin{align} is not known",
    r"\begin{pmatrix} a & b \\ c \end{pmatrix}": "not of one length",
    "": "nothing in it",
    "= 3": "= stands where",
    "x^": "superscript is missing",
    "x^a^b": "two superscripts",
    "3 )": ") stands where",
    r"a \pm b": r"\pm stands where",
}


@pytest.mark.parametrize("text", UNREADABLE)
def test_what_cannot_be_read_is_said(text: str) -> None:
    with pytest.raises(LatexError) as error:
        statements(text, WORDS)
    assert UNREADABLE[text] in str(error.value)
