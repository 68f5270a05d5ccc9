"""Heat maps and masks: their labels, and an alt text that is true of the numbers."""

import re

import pytest
import torch
from any_text import any_text
from hypothesis import given, settings
from sample_figures import EN, PLOTS, WEIGHTS, ZH, drawn
from svg_parts import texts

from headwise.drawing import plot
from headwise.drawing.words import drawable


def test_text_stays_text_in_both_languages() -> None:
    assert set(ZH) | {"查询", "键", "第 1 头（共 2 头）", "0.41"} <= set(
        texts(plot.heatmap(WEIGHTS, ZH, lang="zh"))
    )
    assert {"$x_1$", "<&>", "two hundred", "]]>"} <= set(texts(drawn(PLOTS["long tokens"])))


def test_labels_slant_only_where_they_are_wider_than_their_cells() -> None:
    assert drawn(PLOTS["long tokens"]).svg.count("rotate(-45 ") == 3
    assert "rotate(-45 " not in drawn(PLOTS["heat maps"]).svg


def test_labels_stay_level_where_few_are_said() -> None:
    places = [str(i) if i % 8 == 0 else "" for i in range(48)]
    assert "rotate(-45" not in plot.heatmap(torch.rand(48, 48), places).svg


def test_axes_of_a_map_can_be_named() -> None:
    figure = plot.heatmap(torch.rand(2, 2), axes=("p", "q"))
    assert {"p", "q"} <= set(texts(figure)) and "key" not in texts(figure)


def test_alt_text_names_what_each_query_looks_at() -> None:
    assert plot.heatmap(WEIGHTS, EN).alt == (
        "Attention weights, head 1 of 2: 'The' looks most at 'The' (0.70); "
        "'cat' looks most at 'sat' (0.41); 'sat' sees nothing; "
        "'on' looks most at 'sat' and 'on' (0.50 each). "
        "Attention weights, head 2 of 2: 'The' looks most at 'cat' (0.90); "
        "'cat' looks most at 'The' (1.00); 'sat' looks most at 'sat' (0.40); "
        "'on' looks most at 'on' (1.00)."
    )
    assert plot.heatmap(WEIGHTS[0], ZH, lang="zh", title="第一层").alt == (
        "第一层：“猫”最关注“猫”（0.70）；“坐”最关注“在”（0.41）；“在”什么也看不到；"
        "“垫子”最关注“在”、“垫子”（各 0.50）。"
    )


def test_alt_text_of_many_rows_names_the_strongest() -> None:
    weights = torch.zeros(20, 20)
    weights[3, 17] = 0.5
    assert plot.heatmap(weights).alt == "Attention weights: strongest is '3' at '17' (0.50)."


def test_alt_text_tells_equal_tokens_apart() -> None:
    assert (
        "'a' [0] looks most at 'a' [2] (1.00)"
        in plot.heatmap(torch.tensor([[0, 0, 1.0], [0, 1, 0], [1, 0, 0]]), ["a", "b", "a"]).alt
    )


def test_alt_text_of_a_mask_counts_what_is_seen() -> None:
    mask = torch.tensor([[True, False], [True, True]])
    assert plot.mask_picture(mask, ["猫", "坐"], lang="zh").alt == (
        "掩码（1、填色：可见）：“猫”能看到 1 个，共 2 个；“坐”能看到 2 个，共 2 个。"
    )
    two = plot.mask_picture(torch.stack((mask, ~mask))[:, None])
    assert "sample 2 of 2: '0' sees 1 of 2; '1' sees 0 of 2." in two.alt


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 1, 9), (1, 9, 1)])
def test_any_size_can_be_drawn(shape: tuple[int, int, int]) -> None:
    figure = plot.heatmap(torch.rand(shape))
    assert texts(figure).count("query") == shape[0]


@settings(max_examples=20)
@given(any_text(min_size=1, max_size=3))
def test_any_token_can_be_drawn(token: str) -> None:
    shown = drawable(token)
    figure = plot.heatmap(torch.ones(1, 1), [token], ["key"])
    assert shown in texts(figure) or not shown.strip()


@pytest.mark.parametrize("token", ["👨‍👩‍👧", "می‌خواهم", "你　好"])
def test_token_with_joiners_or_wide_spaces_is_drawn_as_it_is(token: str) -> None:
    figure = plot.heatmap(torch.ones(1, 1), [token], ["key"])
    assert token in texts(figure) and token in figure.alt


# Ties.


@pytest.mark.parametrize("noise", [-3e-8, 0.0, 3e-8])
def test_tie_is_told_as_a_tie_whatever_the_last_bits(noise: float) -> None:
    weights = torch.tensor([[0.3 + noise, 0.3, 0.1, 0.3 - noise]], dtype=torch.float64)
    figure = plot.heatmap(weights, ["mat"], ["the", "cat", "sat", "the"])
    assert figure.alt == (
        "Attention weights: 'mat' looks most at 'the' [0], 'cat' and 'the' [3] (0.30 each)."
    )


def test_tie_of_two_names_both() -> None:
    weights = torch.tensor([[0.3, 0.4, 0.3], [0.4, 0.2, 0.4 + 1e-6]])
    figure = plot.heatmap(weights, ["x", "y"], ["the", "cat", "the"])
    assert figure.alt == (
        "Attention weights: 'x' looks most at 'cat' (0.40); "
        "'y' looks most at 'the' [0] and 'the' [2] (0.40 each)."
    )
    assert figure.twin is not None
    assert figure.twin.alt == (
        "注意力权重：“x”最关注“cat”（0.40）；“y”最关注“the” [0]、“the” [2]（各 0.40）。"
    )


def test_row_of_equal_weights_looks_at_all_alike() -> None:
    figure = plot.heatmap(torch.full((1, 8), 1 / 8), ["x"], list("abcdefgh"))
    assert figure.alt == "Attention weights: 'x' looks at all 8 alike (0.12 each)."
    assert figure.twin and figure.twin.alt == "注意力权重：“x”对全部 8 个的关注相同（各 0.12）。"


def test_of_many_ties_the_first_are_named_and_all_are_counted() -> None:
    weights = torch.tensor([[0.2] * 5 + [0.0]])
    figure = plot.heatmap(weights, ["x"], list("abcdef"))
    assert "'x' looks most at 'a', 'b', 'c' and 2 more (0.20 each)" in figure.alt
    assert figure.twin and "“x”最关注“a”、“b”、“c”等，共 5 个（各 0.20）" in figure.twin.alt


@pytest.mark.parametrize(
    ("panel", "english", "chinese"),
    [
        (torch.eye(3), "strongest is the diagonal (1.00 each)", "最强的是对角线（各 1.00）"),
        (torch.full((2, 3), -2.0), "all are alike (-2.00 each)", "全部相同（各 -2.00）"),
        (
            torch.tensor([[2.0, 0.0], [2.0, 0.0]]),
            "strongest are '0' at '0' and '1' at '0' (2.00 each)",
            "最强的是“0”对“0”、“1”对“0”（各 2.00）",
        ),
    ],
)
def test_ties_of_a_named_map(panel: torch.Tensor, english: str, chinese: str) -> None:
    figure = plot.heatmap(panel, names=["w"])
    assert figure.alt == f"Attention weights, w: {english}."
    assert figure.twin and figure.twin.alt == f"注意力权重，w：{chinese}。"


@pytest.mark.parametrize("noise", [-1e-8, 0.0, 1e-8])
def test_number_in_a_cell_does_not_hang_on_its_last_bits(noise: float) -> None:
    numbers = torch.tensor([[0.125, 0.375, 0.0, 0.5]], dtype=torch.float64) + noise
    shown = [text for text in texts(plot.heatmap(numbers, [""], list("abcd"))) if "." in text]
    assert shown == ["0.12", "0.38", "0.00", "0.50"]


# Maps that are called by names other than head 1, head 2.

MAPS = torch.tensor([[[0.75, 0.25], [0.5, 0.5]], [[0.0, -2.0], [1.5, 0.0]]])  # (2, 2, 2)


def titles(figure: plot.Figure) -> list[str]:
    """The words in the picture that are neither numbers nor tokens."""
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", figure.svg)
    return [text for text in texts if text in ("w", "ΔP") or "head" in text or "头" in text]


def test_names_stand_above_the_maps_in_place_of_the_heads() -> None:
    figure = plot.heatmap(MAPS, ["a", "b"], names=["w", "ΔP"])
    assert titles(figure) == ["w", "ΔP"]
    assert titles(plot.heatmap(MAPS, ["a", "b"])) == ["head 1 of 2", "head 2 of 2"]


def test_alt_text_of_a_named_map_says_where_its_largest_number_is() -> None:
    figure = plot.heatmap(MAPS, ["a", "b"], names=["w", "ΔP"], title="T")
    assert figure.alt == (
        "T, w: strongest is 'a' at 'a' (0.75). T, ΔP: strongest is 'b' at 'a' (1.50)."
    )
    assert figure.twin is not None
    assert figure.twin.alt == "T，w：最强的是“a”对“a”（0.75）。T，ΔP：最强的是“b”对“a”（1.50）。"


def height(figure: plot.Figure) -> float:
    """How high the picture is."""
    return float(re.findall(r' height="([\d.]+)"', figure.svg)[0])


def test_a_single_map_can_have_a_name_and_has_room_for_it() -> None:
    figure = plot.heatmap(MAPS[0], ["a", "b"], names=["w"])
    assert titles(figure) == ["w"]
    assert figure.alt.startswith("Attention weights, w: ")
    assert height(figure) > height(plot.heatmap(MAPS[0], ["a", "b"]))


def test_a_single_map_without_a_name_has_none() -> None:
    figure = plot.heatmap(MAPS[0], ["a", "b"])
    assert titles(figure) == []
    assert figure.alt.startswith("Attention weights: ")


@pytest.mark.parametrize("names", [[], ["w"], ["w", "ΔP", "x"]])
def test_names_that_are_not_as_many_as_the_maps_are_refused(names: list[str]) -> None:
    with pytest.raises(ValueError, match=f"names: got {len(names)}, expected 2"):
        plot.heatmap(MAPS, names=names)


def test_long_names_of_many_columns_stand_upright_and_a_phone_shows_them() -> None:
    names = [f"token {i}" for i in range(12)]
    figure = plot.heatmap(torch.eye(12), names)
    upright = re.findall(r"rotate\(-90\)[^>]*>([^<]*)</text>", figure.svg)
    assert set(names) <= set(upright)
    assert float(re.findall(r' width="([\d.]+)"', figure.svg)[0]) <= 385
