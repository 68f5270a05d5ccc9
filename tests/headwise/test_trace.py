"""Traces: which names and shapes they give, and that they change nothing."""

import sys
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from headwise import MultiHeadAttention, split_heads
from headwise.attention import attention
from headwise.layers import EncoderLayer
from headwise.trace import Step, Trace, trace

X = torch.randn(2, 5, 12)


def doubled(x: Tensor) -> Tensor:
    y = x + x
    y = y.transpose(0, 1)
    _hidden = y * 2
    total = [y[i].sum() for i in range(2)]
    return y if total else x


def nested(x: Tensor) -> Tensor:
    z = doubled(x)
    return z[0]


def failing(x: Tensor) -> Tensor:
    raise ArithmeticError(f"{x.shape}")


def names_and_shapes(steps: Trace) -> list[tuple[str, tuple[int, ...]]]:
    return [(step.name, step.shape) for step in steps]


def test_steps_are_arguments_and_new_tensors_in_order() -> None:
    assert names_and_shapes(trace(doubled, torch.zeros(2, 3))) == [
        ("x", (2, 3)),
        ("y", (2, 3)),
        ("y", (3, 2)),
    ]


def test_what_is_returned_without_a_name_is_the_last_step() -> None:
    steps = trace(nested, torch.zeros(2, 3))
    assert steps[-1] == Step("return", (2,), "nested", 0)


def test_each_unnamed_part_of_a_returned_tuple_is_a_step() -> None:
    def parts(x: Tensor) -> tuple[Tensor, Tensor, int]:
        return x, x[0], 3

    steps = trace(parts, torch.zeros(2, 3))
    assert names_and_shapes(steps) == [("x", (2, 3)), ("return", (3,))]


def test_calls_have_a_depth_and_do_not_repeat_their_arguments() -> None:
    steps = trace(nested, torch.zeros(2, 3))
    assert [(step.name, step.function, step.depth) for step in steps] == [
        ("x", "nested", 0),
        ("y", "doubled", 1),
        ("y", "doubled", 1),
        ("z", "nested", 0),
        ("return", "nested", 0),
    ]


def test_lambda_is_traced_as_well() -> None:
    steps = trace(lambda x: split_heads(x, 3), X)
    assert names_and_shapes(steps) == [
        ("x", (2, 5, 12)),
        ("x", (2, 5, 3, 4)),
        ("return", (2, 3, 5, 4)),
    ]


def test_change_of_shape_in_place_is_a_step() -> None:
    def grow(x: Tensor) -> Tensor:
        y = x.clone()
        y.unsqueeze_(0)
        return y

    steps = trace(grow, torch.zeros(3))
    assert names_and_shapes(steps) == [("x", (3,)), ("y", (3,)), ("y", (1, 3))]


def test_multi_head_attention_shows_the_names_of_the_formula() -> None:
    module = MultiHeadAttention(12, 3)
    steps = trace(module, X, need_weights=True)
    shapes: dict[str, list[tuple[int, ...]]] = {}
    for name, shape, *_ in steps:
        shapes.setdefault(name, []).append(shape)
    assert shapes["query"] == [(2, 5, 12)]
    assert (2, 3, 5, 4) in shapes["Q"] and (2, 3, 5, 4) in shapes["K"] and "V" in shapes
    assert shapes["scores"] == [(2, 3, 5, 5)]
    assert set(shapes["weights"]) == {(2, 3, 5, 5)}
    assert shapes["out"][0] == (2, 3, 5, 4) and shapes["out"][-1] == (2, 5, 12)
    order = [name for name, *_ in steps if name in ("query", "Q", "scores", "weights")]
    assert list(dict.fromkeys(order)) == ["query", "Q", "scores", "weights"]


def test_private_checks_are_left_out() -> None:
    steps = trace(MultiHeadAttention(12, 3), X)
    assert not any(step.function.rpartition(".")[2].startswith("_") for step in steps)


def test_layer_shows_its_own_steps_and_those_below() -> None:
    steps = trace(EncoderLayer(12, 3), X)
    assert {"EncoderLayer.forward", "MultiHeadAttention.forward", "FeedForward.forward"} <= {
        step.function for step in steps
    }
    hidden = steps.within("FeedForward.forward")
    assert ("hidden", (2, 5, 48)) in names_and_shapes(hidden)
    assert {step.function for step in hidden} == {"FeedForward.forward"}


def test_module_of_pytorch_shows_what_goes_in_and_out() -> None:
    steps = trace(nn.Linear(12, 4), X)
    assert names_and_shapes(steps) == [("input", (2, 5, 12)), ("return", (2, 5, 4))]


def test_results_and_random_numbers_are_not_affected() -> None:
    module = MultiHeadAttention(12, 3, dropout=0.5)
    seen: list[Tensor] = []

    def run(x: Tensor) -> Tensor:
        seen.append(module(x))
        return seen[-1]

    torch.manual_seed(0)
    run(X)
    torch.manual_seed(0)
    trace(run, X)
    assert torch.equal(seen[0], seen[1])


def test_tracing_is_restored_even_after_an_error() -> None:
    before = sys.gettrace()
    with pytest.raises(ArithmeticError, match="2, 5, 12"):
        trace(failing, X)
    assert sys.gettrace() is before
    trace(doubled, X)
    assert sys.gettrace() is before


def test_table_is_markdown_with_the_names_of_sizes() -> None:
    steps = trace(lambda x: split_heads(x, 3), torch.zeros(2, 1, 12)).within("split_heads")
    assert steps.markdown({"batch": 2, "num_heads": 3, "d_k": 4, "seq_len": 1}) == (
        "| step | shape | in |\n"
        "|---|---|---|\n"
        "| `x` | `(batch, 1, num_heads, d_k)` | `split_heads` |"
    )


def test_table_without_names_shows_numbers() -> None:
    assert "| `y` | `(5, 2, 12)` | `doubled` |" in trace(doubled, X).markdown()


def test_two_names_for_one_size_are_refused() -> None:
    with pytest.raises(ValueError, match="names: got 4 for num_heads and for d_k"):
        trace(doubled, X).markdown({"num_heads": 4, "d_k": 4})


def test_names_need_sizes() -> None:
    with pytest.raises(ValueError, match=r"names\['batch'\]: got 0"):
        trace(doubled, X).markdown({"batch": 0})


def test_partial_is_traced_like_what_it_calls() -> None:
    steps = trace(partial(split_heads, num_heads=3), X)
    assert steps == trace(split_heads, X, 3)
    assert trace(partial(partial(doubled), X)) == trace(doubled, X)


class Doubling:
    def __call__(self, x: Tensor) -> list[Tensor | dict[str, Tensor]]:
        y = x + x
        return [y, x[0], {"flipped": x.flip(0)}]


def test_object_that_can_be_called_is_traced() -> None:
    steps = trace(Doubling(), torch.zeros(2, 3))
    assert names_and_shapes(steps[:2]) == [("x", (2, 3)), ("y", (2, 3))]
    assert steps[0].function == "Doubling.__call__"


def test_unnamed_tensors_in_lists_and_dictionaries_are_steps() -> None:
    steps = trace(Doubling(), torch.zeros(2, 3))
    assert names_and_shapes(steps[2:]) == [("return", (3,)), ("return", (2, 3))]


def test_decorated_function_is_traced_as_if_it_were_not() -> None:
    steps = trace(attention, X, X, X)
    assert [step.name for step in steps] == ["Q", "K", "V", "scores", "weights", "out"]
    assert {step.depth for step in steps} == {0}


def test_bar_in_a_name_does_not_end_the_cell() -> None:
    table = trace(doubled, X).markdown({"batch|rows": 2})
    assert "| `x` | `(batch\\|rows, 5, 12)` | `doubled` |" in table


@pytest.mark.parametrize("function", [None, 5, "doubled", X])
def test_what_cannot_be_called_is_refused(function: object) -> None:
    with pytest.raises(TypeError, match=r"function: got .*, expected something to call"):
        trace(function, X)  # type: ignore[arg-type]


def test_function_that_is_not_written_in_python_is_refused() -> None:
    with pytest.raises(ValueError, match=r"function: got .*relu.*, expected one that is written"):
        trace(torch.relu, X)


def test_trace_is_made_of_steps() -> None:
    with pytest.raises(TypeError, match="steps: got 3, expected Step"):
        Trace([3])  # type: ignore[list-item]


def test_name_of_a_size_has_letters() -> None:
    for name in ("", "a\nb"):
        with pytest.raises(ValueError, match=r"names: got .*, expected names in words"):
            trace(lambda x: x, X).markdown({name: 2})


@pytest.mark.parametrize(
    "step",
    [
        Step(5, (1,), "f", 0),
        Step("x", [1], "f", 0),
        Step("x", ("one",), "f", 0),
        Step("x", (-1,), "f", 0),
        Step("x", (1,), None, 0),
        Step("x", (1,), "f", "0"),
    ],
)
def test_step_of_a_trace_has_a_name_a_shape_and_a_place(step: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"^steps: got"):
        Trace([step])


def test_what_pauses_or_is_not_written_in_python_is_refused_before_it_runs() -> None:
    ran = []

    def waits(x: Tensor) -> Iterator[Tensor]:
        ran.append(x)
        yield x

    for function in (waits, ran.append):
        with pytest.raises(ValueError, match=r"^function: got .* runs when it is called"):
            trace(function, torch.ones(2))
    assert ran == []


def test_function_that_did_not_have_to_run_is_refused() -> None:
    remembered = lru_cache(doubled)
    remembered(X)
    with pytest.raises(ValueError, match=r"^function: got .* runs when it is called"):
        trace(remembered, X)


def test_module_that_inherits_its_forward_is_traced() -> None:
    class Mine(nn.Linear):
        pass

    assert [step.name for step in trace(Mine(12, 3), X)] == ["input", "return"]
