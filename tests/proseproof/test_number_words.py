"""Numbers are read in digits and words, English and Chinese."""

import pytest

from proseproof.number_words import FULL_WIDTH, find


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("five tokens", 5),
        ("Twelve heads", 12),
        ("twenty-one rows", 21),
        ("two hundred and thirty-five words", 235),
        ("a hundred sentences", 100),
        ("a hundred and one", 101),
        ("fifteen thousand", 15000),
        ("half of it", 0.5),
        ("a quarter of it", 0.25),
        ("two thirds of it", 2 / 3),
        ("one and a half", 1.5),
        ("twice as many", 2),
        ("a five-token sentence", 5),
        ("65504", 65504),
        ("−65504", -65504),
        ("−1e9", -1e9),
        ("12,345", 12345),
        ("10 000", 10000),
        ("25%", 0.25),
        ("3/4", 0.75),
        ("½", 0.5),
        ("10⁻⁶", 1e-6),
        ("2³", 8),
        ("0.42", 0.42),
        ("135M", 135e6),
        ("五个词元", 5),
        ("两句话", 2),
        ("十二个头", 12),
        ("二百三十五", 235),
        ("一百零一", 101),
        ("一万五千", 15000),
        ("一亿两千万", 120000000),
        ("一半", 0.5),
        ("一个半", 1.5),
        ("三分之二", 2 / 3),
        ("百分之二十", 0.2),
        ("五分之一", 0.2),
        ("三点五倍", 3.5),
        ("1.2 万", 12000),
        ("3 亿", 3e8),
    ],
)
def test_number_is_worth_what_it_says(text: str, value: float) -> None:
    (found,) = find(text)
    assert found.value == pytest.approx(value)
    assert text[found.start : found.end] == found.text


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("the one three places on", [1, 3]),
        ("sentences of six and four tokens", [6, 4]),
        ("8 of 32 features", [8, 32]),
        ("from −1 to 1", [-1, 1]),
        ("第 2、3 个头", [2, 3]),
        ("bytes, often, tenths, oneself, attend", []),
        ("often someone", []),
        ("it takes a third path", []),
        ("cut in two halves", [2]),
        ("heads 1 and 4 百", [1, 4, 100]),
    ],
)
def test_numbers_side_by_side_are_told_apart(text: str, values: list[float]) -> None:
    assert [one.value for one in find(text)] == values


@pytest.mark.parametrize(
    ("text", "unit"), [("0.42", 0.01), ("42", 0), ("25%", 0.01), ("1.2 万", 1e3)]
)
def test_digits_that_are_shown_say_how_exact_it_is(text: str, unit: float) -> None:
    assert find(text)[0].unit == pytest.approx(unit)


@pytest.mark.parametrize("text", ["两三个", "三四步"])
def test_two_digits_in_a_row_are_vague(text: str) -> None:
    assert find(text)[0].vague


def test_full_width_digits_are_no_number() -> None:
    assert find("１２ 个头") == []
    assert FULL_WIDTH.findall("有１２个头") == ["１２"]
