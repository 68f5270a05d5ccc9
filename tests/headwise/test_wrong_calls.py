"""Wrong calls of everything public: each is refused by an argument's name, and leaves no mark.

They are made from signatures: in a right call, one argument is replaced by something that its
annotation does not allow, or by a tensor of another rank, width, dtype or device.
"""

import inspect
import math
import re
import signal
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from any_text import any_text
from hypothesis import given, settings
from hypothesis import strategies as st
from right_calls import MODULES, RIGHT, Call, public
from torch import Tensor, nn

from headwise.layers import LayerCache
from headwise.multi_head import KeyValueCache


class Wrong(NamedTuple):
    """Something wrong, and the rule that it breaks."""

    rule: str
    value: object


def kinds(*values: object) -> list[Wrong]:
    return [Wrong("kind", value) for value in values]


NOTHING = Wrong("None", None)
WORD = Wrong("str", "no such thing")
THINGS = [
    *kinds([1.0], object(), 1j, {1: 2}, {1.0}, iter([1.0])),
    Wrong("bytes", b"x"),
    Wrong("class", nn.Linear),  # in place of an instance
]
NUMBERS = kinds(5, 2.5, True)
ARRAYS = kinds(np.ones((2, 3, 8), dtype=np.float32), np.float64(1.5))
TENSORS = kinds(torch.ones(2), torch.tensor(3))
NOT_FINITE = [Wrong("finite", value) for value in (math.nan, math.inf, -math.inf)]
DTYPES = {
    "bool": torch.bool,
    "long": torch.long,
    "complex": torch.complex64,
    "double": torch.float64,
    "half": torch.float16,
}
# What no parameter of a kind takes, beside None; of other kinds, see `wrong_for`.
WRONG: dict[object, list[Wrong]] = {
    int: [
        *(WORD, *THINGS, *TENSORS, *NOT_FINITE, *kinds(2.5, True, np.True_, np.float64(2))),
        *(Wrong("negative", -7), Wrong("huge", 2**63), Wrong("huge", 10**30)),
    ],
    float: [WORD, *THINGS, *TENSORS, *NOT_FINITE, *kinds(True), Wrong("range", -0.5)],
    bool: [WORD, *THINGS, *TENSORS, *kinds(0, 1, 1.0)],
    str: [WORD, *THINGS, *NUMBERS, *TENSORS],
    Path: [*THINGS, *NUMBERS, Wrong("there", "nowhere/at all.pt")],
    torch.dtype: [WORD, *THINGS, *NUMBERS, *kinds(torch.complex64, torch.qint8)],
    torch.device: [WORD, *THINGS, *NUMBERS],
}


def changed(right: Tensor) -> list[Wrong]:
    """The right tensor with one thing changed."""
    others = {name: right.to(dtype) for name, dtype in DTYPES.items() if dtype != right.dtype}
    others |= {"rank+1": right[None], "rank-1": right[0], "sparse": right.to_sparse()}
    others |= {"longer": torch.cat((right, right[..., :1]), dim=-1), "meta": right.to("meta")}
    return [Wrong(rule, value) for rule, value in others.items()]


def wrong_for(kind: Any, right: Any) -> list[Wrong]:
    """What a parameter of this kind does not take."""
    if kind in WRONG:
        return WRONG[kind]
    if typing.get_origin(kind) is typing.Literal:
        return WRONG[str]
    if kind is Tensor:
        own = changed(right) if isinstance(right, Tensor) else []
        return [WORD, *THINGS, *NUMBERS, *ARRAYS, *own]
    origin = typing.get_origin(kind) or kind
    if origin in (nn.Module, KeyValueCache, LayerCache) or issubclass(origin, nn.Module):
        return [WORD, *THINGS, *NUMBERS, *TENSORS, Wrong("module", nn.Linear(2, 2))]
    unlike = [thing for thing in THINGS if type(thing.value) is not type(right)]
    if type(right) in (list, tuple):
        unlike += [Wrong("items", type(right)([None])), WORD, *TENSORS[1:]]
    if isinstance(right, dict):
        unlike += [Wrong("items", {5: None}), Wrong("items", dict.fromkeys(right)), WORD]
    return [*unlike, *NUMBERS]


def parameters(call: Call) -> Iterator[tuple[str, list[Any]]]:
    """Each parameter that the right call gives, and the kinds that it may be of."""
    function = call.function.forward if isinstance(call.function, nn.Module) else call.function
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        if name in call.arguments:
            kind = getattr(parameter.annotation, "__bound__", parameter.annotation)
            several = typing.get_origin(kind) in (UnionType, typing.Union)
            yield name, list(typing.get_args(kind)) if several else [kind]


def wrong_arguments(call: Call) -> list[tuple[str, Wrong]]:
    """Each parameter with everything that is wrong for it."""
    found = []
    for name, allowed in parameters(call):
        for kind in allowed:
            if kind is NoneType:
                continue
            wrongs = wrong_for(kind, call.arguments[name])
            found += [
                (name, wrong) for wrong in wrongs if wrong.rule not in call.free.get(name, ())
            ]
        if NoneType not in allowed and "None" not in call.free.get(name, ()):
            found.append((name, NOTHING))
    return found


def bits(x: Tensor) -> bytes:
    return x.detach().numpy().tobytes()


def state(call: Call) -> list[object]:
    """Everything that a refused call has no business to change."""
    marks: list[object] = [
        bits(torch.get_rng_state()),
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.get_default_dtype(),
        torch.get_num_threads(),
        sys.gettrace(),
        signal.getsignal(signal.SIGTERM),
        [*dict.values(sys.modules["matplotlib"].rcParams)] if "matplotlib" in sys.modules else None,
    ]
    for thing in call.watched():
        if isinstance(thing, nn.Module):
            marks.append([module.training for module in thing.modules()])
            marks.append([bits(x) for x in (*thing.parameters(), *thing.buffers())])
        parts = (thing.own, thing.memory) if isinstance(thing, LayerCache) else (thing,)
        marks += [(id(part.K), id(part.V)) for part in parts if isinstance(part, KeyValueCache)]
    return marks


def problem(
    call: Call, changes: dict[str, Any], names: list[str], before: list[object]
) -> str | None:
    """What is wrong with how a wrong call ends, if anything; "accepted" if it does not fail.

    `before` is the state before it.
    """
    try:
        call(**changes)
    except (ValueError, TypeError) as error:
        if not any(re.search(rf"\b{re.escape(name)}\b", str(error)) for name in names):
            return f"names no argument: {error}"
        return "leaves a mark" if state(call) != before else None
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "accepted"


def test_every_public_name_has_a_right_call() -> None:
    named = {name.partition(",")[0] for name in RIGHT}
    assert {name for module in MODULES for name in public(module)} == named


NEEDS_A_GROUP = {"data_parallel.share", "data_parallel.train"}
TAKES_LONG = {
    *("data_parallel.joined", "translator_training.recipe"),
    *("translator_training.accuracy", "translator_training.train"),
}
WRITES = {"plot.Figure.save"}
CALLED = sorted(set(RIGHT) - NEEDS_A_GROUP - TAKES_LONG - WRITES)


@pytest.mark.parametrize("name", CALLED)
def test_right_call_is_right(name: str) -> None:
    RIGHT[name]()()


@pytest.mark.parametrize("name", sorted(RIGHT))
def test_wrong_call_is_refused_by_name_and_leaves_no_mark(name: str) -> None:
    call, problems = RIGHT[name](), []
    wrongs = wrong_arguments(call)
    before = state(call)
    for parameter, wrong in wrongs:
        # Of two tensors that do not fit together, either may be named.
        names = [parameter] if wrong.rule in ("kind", "bytes", "None") else list(call.arguments)
        if found := problem(call, {parameter: wrong.value}, names, before):
            problems.append(f"{parameter}={wrong.value!r:.60} ({wrong.rule}): {found}")
            call = RIGHT[name]()
            before = state(call)
    assert not problems, "\n".join(problems)


@st.composite
def odd_tensors(draw: st.DrawFn) -> Tensor:
    """A small tensor of any shape and dtype, in which everything is odd."""
    shape = draw(st.lists(st.integers(0, 3), max_size=5))
    dtype = draw(st.sampled_from([torch.float32, *DTYPES.values()]))
    value = draw(st.sampled_from([0, 1, 9, -1, math.nan]))
    return torch.full(shape, False if math.isnan(value) and dtype not in FLOATING else value).to(
        dtype
    )


FLOATING = (torch.float32, torch.float64, torch.float16, torch.complex64)
ODD: dict[object, st.SearchStrategy[Any]] = {
    int: st.integers(-3, 9) | st.integers(min_value=2**62) | st.integers(max_value=-(2**62)),
    float: st.floats(),
    bool: st.booleans(),
    str: any_text(max_size=5),
    Tensor: odd_tensors(),
}


@settings(max_examples=600)
@given(st.data())
def test_odd_call_ends_right_or_is_refused_by_name_and_leaves_no_mark(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(CALLED))
    call = RIGHT[name]()
    changes, every_wrong = {}, wrong_arguments(call)
    for parameter, allowed in parameters(call):
        wrongs = [wrong.value for name, wrong in every_wrong if name == parameter]
        odd = [ODD[kind] for kind in allowed if kind in ODD]
        right = [call.arguments[parameter]] * (1 + len(wrongs))  # as often right as wrong
        changes[parameter] = data.draw(st.one_of(*odd, st.sampled_from(right + wrongs)))
    assert problem(call, changes, list(call.arguments), state(call)) in (None, "accepted")
