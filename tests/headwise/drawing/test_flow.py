"""Data flow: the diagram shows the shapes of its trace, and refuses what it cannot draw."""

import pytest
import torch
from svg_parts import elements, texts

from headwise.drawing import diagrams
from headwise.multi_head import MultiHeadAttention
from headwise.single_head import LinearHead, ParameterHead
from headwise.trace import Step, Trace, trace
from headwise.variants import ParameterOnly


@pytest.mark.parametrize("head", [ParameterHead(6), LinearHead(6)])
def test_one_head_shows_the_shapes_of_its_trace(head: torch.nn.Module) -> None:
    figure = diagrams.flow(trace(head, torch.randn(3, 5, 6)))
    shown = [text for text in texts(figure) if text.startswith("(")]
    assert shown == ["(3, 5, 6)"] * 4 + ["(3, 5, 5)"] * 2 + ["(3, 5, 6)"] * 2
    assert "Q @ Kᵀ ÷ √6" in texts(figure)
    assert "scores (3, 5, 5)" in figure.alt


@pytest.mark.parametrize("num_heads", [2, 3, 4])
def test_many_heads_stand_side_by_side(num_heads: int) -> None:
    mha = ParameterOnly(12, num_heads)
    figure = diagrams.flow(trace(mha, torch.randn(3, 5, 12)))
    shown = texts(figure)
    assert [text for text in shown if text.startswith("head")] == [
        f"head {h + 1}" for h in range(num_heads)
    ]
    assert shown.count(f"5 × {12 // num_heads}") == 2 * num_heads
    assert shown.count("5 × 5") == 2 * num_heads
    assert f"(3, {num_heads}, 5, {12 // num_heads})" in shown
    rows = {e.get("y") for e in elements(figure, "text") if (e.text or "").startswith("head")}
    assert len(rows) == 1


def test_flow_refuses_more_heads_than_fit() -> None:
    with pytest.raises(ValueError, match="steps: got 6 heads, expected 1 to 4"):
        diagrams.flow(trace(ParameterOnly(12, 6), torch.randn(1, 2, 12)))


def test_flow_refuses_a_trace_without_the_names() -> None:
    steps = trace(MultiHeadAttention(8, 2), torch.randn(1, 2, 8), need_weights=True)
    with pytest.raises(ValueError, match="steps: got no x"):
        diagrams.flow(steps)


def test_flow_refuses_a_trace_that_hides_a_step() -> None:
    steps = trace(ParameterOnly(8, 2), torch.randn(1, 2, 8))
    split = [step for step in steps if step.name in "QKV" and len(step.shape) == 4]
    with pytest.raises(ValueError, match="got 1 times Q and 2 times out, expected 2 and 2"):
        diagrams.flow(Trace(step for step in steps if step not in split))
    with pytest.raises(ValueError, match="got 2 times Q and 1 times out, expected 2 and 2"):
        diagrams.flow(Trace(steps[:-1]))


def test_flow_refuses_values_of_another_width() -> None:
    steps = trace(ParameterHead(8), torch.randn(1, 2, 8))
    wide = [
        s._replace(shape=(1, 2, 9)) if s == Step("V", (1, 2, 8), s.function, 0) else s
        for s in steps
    ]
    with pytest.raises(ValueError, match="Q, K and V of different shapes"):
        diagrams.flow(Trace(wide))


@pytest.mark.parametrize(
    ("shape", "gathered", "reason"),
    [
        ((2, 3, 4), False, "got no out in attention"),
        ((), True, "for x, expected three or four"),
    ],
)
def test_flow_refuses_steps_that_no_attention_takes(
    shape: tuple[int, ...], gathered: bool, reason: str
) -> None:
    steps = [Step(name, shape, "forward", 0) for name in ("x", "Q", "K", "V", "out", "out")]
    inside = ("scores", "weights", *["out"] * gathered)
    steps += [Step(name, (2, 3, 3), "attention", 1) for name in inside]
    with pytest.raises(ValueError, match=f"steps: .*{reason}"):
        diagrams.flow(Trace(steps))


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("weights", (3, 5, 5)),
        ("weights", (3, 2, 5, 6)),
        ("scores", (3, 0, 5, 5)),
        ("scores", (3, 3, 5, 5)),
        ("x", (3, 5, 12, 1)),
        ("x", (3, 4, 12)),
    ],
)
def test_flow_refuses_shapes_that_do_not_fit_together(name: str, shape: tuple[int, ...]) -> None:
    steps = trace(ParameterOnly(12, 2), torch.randn(3, 5, 12))
    wrong = Trace(step._replace(shape=shape) if step.name == name else step for step in steps)
    with pytest.raises(ValueError, match="steps: got shapes that do not fit together"):
        diagrams.flow(wrong)


def test_flow_refuses_no_head_at_all() -> None:
    empty = [
        step._replace(shape=(3, 0, *step.shape[2:])) if len(step.shape) == 4 else step
        for step in trace(ParameterOnly(12, 2), torch.randn(3, 5, 12))
    ]
    with pytest.raises(ValueError, match="steps: got 0 heads, expected 1 to 4"):
        diagrams.flow(Trace(empty))
