"""Lines: ends and extremes in words, and names in both languages."""

from typing import Any

import pytest
import torch
from svg_parts import texts

from headwise.drawing import plot


def test_names_and_labels_of_lines_have_their_chinese() -> None:
    chinese = {"loss": "损失", "step": "步"}
    figure = plot.lines({"loss": [2.0, 1.0]}, x_label="step", y_label="MiB", zh=chinese)
    assert {"loss", "step", "MiB"} <= set(texts(figure))
    assert figure.twin and {"损失", "步", "MiB"} <= set(texts(figure.twin))
    assert "MiB随步的变化" in figure.twin.alt and "损失：" in figure.twin.alt
    assert "step" not in figure.twin.alt


def test_alt_text_of_lines_gives_ends_and_extremes() -> None:
    figure = plot.lines({"loss": [3, 0.5, 4, 1]}, x_label="step", y_label="loss")
    assert figure.alt == (
        "loss against step. loss: 3 at 0, 1 at 3; lowest 0.5 at 1, highest 4 at 2."
    )


def test_extremes_that_are_equal_are_all_named() -> None:
    figure = plot.lines({"a": [1, 3, 1 + 1e-9, 3, 2]}, x_label="x", y_label="y")
    assert (
        figure.alt == "y against x. a: 1 at 0, 2 at 4; lowest 1 at 0 and 2, highest 3 at 1 and 3."
    )
    assert figure.twin and figure.twin.alt == (
        "y随x的变化。a：起点 1（在 0），终点 2（在 4）；最低 1（在 0、2），最高 3（在 1、3）。"
    )


def test_line_that_stays_where_it_is_is_told_in_one_phrase() -> None:
    figure = plot.lines({"a": [1.0, 1.0000000001, 1.0], "b": [2, 1, 2]}, x_label="x", y_label="y")
    assert "a: 1 all the way from 0 to 2." in figure.alt
    assert figure.twin and "a：从 0 到 2 一直是 1。" in figure.twin.alt


def test_single_point_is_told_once() -> None:
    figure = plot.lines({"a": [0.5]}, [3.0], x_label="x", y_label="y")
    assert figure.alt == "y against x. a: 0.5 at 3."
    assert figure.twin and figure.twin.alt == "y随x的变化。a：0.5（在 3）。"


def test_small_numbers_count_on_a_logarithmic_scale_only() -> None:
    tiny = {"a": [1.0, 1e-9, 1e-12]}
    assert "lowest 0 at 1 and 2" in plot.lines(tiny, x_label="x", y_label="y").alt
    assert "lowest 1e-12 at 2" in plot.lines(tiny, x_label="x", y_label="y", log_y=True).alt


def test_rounding_changes_no_byte_of_a_line() -> None:
    values = torch.linspace(0, 6, 100, dtype=torch.float64).sin()
    values[50] = 0.125
    draw = [
        plot.lines({"a": numbers}, x_label="x", y_label="y").svg
        for numbers in (values, values + 1e-12, values * (1 - 1e-12))
    ]
    assert draw[0] == draw[1] == draw[2]


def test_two_names_that_would_be_one_in_chinese_are_refused() -> None:
    both = {"a": [1.0, 2.0], "b": [2.0, 1.0]}
    with pytest.raises(ValueError, match="zh: got '同' for 'a' and for 'b', expected names that"):
        plot.lines(both, x_label="x", y_label="y", zh={"a": "同", "b": "同"})
    with pytest.raises(ValueError, match="zh: got 'b' for 'a' and for 'b', expected names that"):
        plot.lines(both, x_label="x", y_label="y", zh={"a": "b"})


def test_numbers_too_large_to_subtract_are_refused_by_name() -> None:
    with pytest.raises(
        ValueError, match=r"series: got 1e\+308 in 'a', expected numbers of at most"
    ):
        plot.lines({"a": [1e308, -1e308]}, x_label="x", y_label="y")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"series": {"a": 5.0}}, TypeError),
        ({"series": {"a": torch.tensor(1.0)}}, ValueError),
        ({"series": {"a": torch.ones(2, 1)}}, ValueError),
        ({"x": [[0.0, 1.0]]}, ValueError),
        ({"log_y": 1}, TypeError),
        ({"zh": {5: "b"}}, TypeError),
    ],
)
def test_lines_take_a_row_of_numbers_for_each_name(
    change: dict[str, Any], error: type[Exception]
) -> None:
    right: dict[str, Any] = {"series": {"a": [1.0, 2.0]}, "x_label": "x", "y_label": "y"}
    with pytest.raises(error, match=f"{next(iter(change))}: got .*, expected"):
        plot.lines(**{**right, **change})
