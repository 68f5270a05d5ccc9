"""Heat maps that are called by names other than head 1, head 2."""

import re

import pytest
import torch

from headwise.drawing import plot

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
