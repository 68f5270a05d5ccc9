"""Diagrams of the GPU pages: tiles, timelines, bytes, ranks and devices."""

from typing import Any

import pytest
import torch
from svg_parts import elements, texts

from headwise.drawing import diagrams


def test_tiles_keep_what_an_online_softmax_keeps() -> None:
    torch.manual_seed(0)
    scores = torch.randn(4, 6, dtype=torch.float64)
    figure = diagrams.tiles(scores, 2)
    highest, total = -torch.inf, torch.tensor(0.0, dtype=torch.float64)
    for step, part in enumerate(scores[0].split(2)):
        new = max(highest, part.max().item())
        total = total * torch.tensor(highest - new).exp() + (part - new).exp().sum()
        highest = new
        told = f"keys {2 * step + 1} to {2 * step + 2} are in fast memory; query 1 keeps "
        assert told + f"highest score {highest:.2f}, sum {total:.2f}" in figure.alt
    assert torch.isclose(total * torch.tensor(highest).exp(), scores[0].exp().sum())


def test_tiles_fill_the_tile_at_work_and_throw_away_the_others() -> None:
    drawn = elements(diagrams.tiles(torch.zeros(4, 4), 2), "rect")[:-3]  # but for the legend
    first, second = drawn[:16], drawn[16:]
    filled = [[float(box.attrib["fill-opacity"]) > 0 for box in panel] for panel in (first, second)]
    gone = [["stroke-dasharray" in box.attrib for box in panel] for panel in (first, second)]
    rows = [[column < 2 and row < 2 for row in range(4) for column in range(4)]]
    rows += [[column >= 2 and row < 2 for row in range(4) for column in range(4)]]
    assert filled == rows and gone == [[False] * 16, rows[0]]


@pytest.mark.parametrize(
    ("shape", "block", "message"),
    [
        ((6, 6), 4, "block: got 4, expected one that cuts 6 keys"),
        ((6, 6), 1, "block: got 1"),
        ((3, 6), 2, "and 3 queries evenly"),
        ((6, 26), 13, "num_keys: got 26"),
        ((6,), 2, "scores: got shape"),
    ],
)
def test_tiles_refuse_what_does_not_fit(shape: tuple[int, ...], block: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        diagrams.tiles(torch.zeros(shape), block)


def test_timeline_runs_each_kernel_once_it_is_launched_and_the_gpu_is_free() -> None:
    figure = diagrams.timeline({"small": [1.0] * 3, "large": [5.0] * 3}, 2.0)
    assert "Small: 3 kernels; the last launch ends at 6, the GPU is done at 7" in figure.alt
    assert "was idle for 4 before that" in figure.alt
    assert "the GPU is done at 17 and was idle for 2" in figure.alt
    assert {"CPU", "GPU", "launch", "kernel", "waiting"} <= set(texts(figure))


def test_timeline_speaks_chinese_names() -> None:
    figure = diagrams.timeline({"small": [1.0]}, 2.0, zh={"small": "小"})
    assert figure.twin and "小：1 个内核" in figure.twin.alt


@pytest.mark.parametrize("arguments", [({}, 1.0), ({"a": [0.0]}, 1.0), ({"a": [1.0]}, -1.0)])
def test_timeline_refuses_times_that_are_none(arguments: Any) -> None:
    with pytest.raises(ValueError, match="kernels, launch"):
        diagrams.timeline(*arguments)


def test_parameter_bytes_add_up() -> None:
    figure = diagrams.parameter_bytes({"mixed": [4, 2, 4, 4]})
    assert "parameter 4, gradient 2, Adam's mean 4, Adam's mean square 4, together 14" in figure.alt
    widths = [float(box.attrib["width"]) for box in elements(figure, "rect")[:4]]
    assert widths[0] == 2 * widths[1] == widths[3] and "14 bytes" in texts(figure)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [({}, "got none"), ({"a": [4]}, "got 1 for 'a'"), ({"a": [4, 4, 4, 9]}, "sizes: got 9")],
)
def test_parameter_bytes_refuse_what_is_none(sizes: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        diagrams.parameter_bytes(sizes)


def test_ranks_take_the_mean_of_their_gradients() -> None:
    figure = diagrams.ranks([0.25, -0.5, 1.0], 6)
    assert "Rank 1, rows 2 to 3: gradient -0.5000" in figure.alt
    assert "mean of the gradients: 0.2500" in texts(figure)
    assert texts(figure).count("the same step") == 3


@pytest.mark.parametrize(
    ("gradients", "rows", "message"),
    [([1.0], 2, "gradients: got 1"), ([1.0, 2.0], 3, "rows: got 3"), ([1.0, 2.0], 0, "rows")],
)
def test_ranks_refuse_what_is_uneven(gradients: list[float], rows: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        diagrams.ranks(gradients, rows)


def test_devices_show_each_tensor_where_it_is() -> None:
    tensors = {"a": torch.ones(2), "b": torch.empty(3, 4, device="meta"), "c": torch.ones(5)}
    figure = diagrams.devices(tensors)
    assert "On cpu: a (2,) and c (5,). On meta: b (3, 4)." in figure.alt
    assert texts(figure)[:2] == ["cpu", "a (2,)"]


def test_devices_refuse_nothing() -> None:
    with pytest.raises(ValueError, match="tensors: got 0 devices"):
        diagrams.devices({})
