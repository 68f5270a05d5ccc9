"""The shape at every step of a forward pass, as data and as a table."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, unwrap
from types import FrameType
from typing import Any, NamedTuple

from torch import Tensor, nn

from headwise._check import check_callable, check_kind, check_whole, show

PAUSES = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR  # called, such a function does not run
EXPECTED = "one that is written in Python and runs when it is called"


class Step(NamedTuple):
    """One tensor that was given a name: `function` says where, `depth` how many calls down."""

    name: str
    shape: tuple[int, ...]
    function: str
    depth: int


class Trace(tuple[Step, ...]):
    """The steps, in the order in which they happened."""

    def __new__(cls, steps: Iterable[Step] = ()) -> "Trace":
        """The steps as a trace."""
        check_kind("steps", steps, Iterable, expected="steps")
        if isinstance(steps, Tensor):
            raise TypeError("steps: got a Tensor, expected steps")
        steps = tuple(steps)
        for step in steps:
            check_kind("steps", step, Step)
            check_kind("steps", step.name, str, expected="steps with names")
            check_kind("steps", step.shape, tuple, expected="steps with shapes")
            for size in step.shape:
                check_whole("steps", size, 0, 2**63 - 1, "sizes")
            check_kind("steps", step.function, str, expected="steps in named functions")
            check_whole("steps", step.depth, 0, 2**63 - 1, "depths")
        return super().__new__(cls, steps)

    def within(self, function: str) -> "Trace":
        """Only the steps of one function, such as `MultiHeadAttention.forward`."""
        check_kind("function", function, str, expected="the name of a function")
        return Trace(step for step in self if step.function == function)

    def markdown(self, names: Mapping[str, int] | None = None) -> str:
        """A Markdown table of the steps, in words where `names` says {"batch": 2, …}.

        No two names may stand for one size, or nobody could tell which of them an axis is. An
        axis of size 1 stays 1.
        """
        words: dict[int, str] = {}
        names = {} if names is None else names
        check_kind("names", names, Mapping, expected="sizes by name")
        for name, size in names.items():
            check_kind("names", name, str, expected="names in words")
            if not name.isprintable() or not name:
                raise ValueError(f"names: got {name!r}, expected names in words")
            check_whole(f"names[{name!r}]", size, 1, 2**63 - 1)
            if size in words:
                raise ValueError(
                    f"names: got {size} for {words[size]} and for {name}, expected different sizes"
                )
            words[size] = name
        words.pop(1, None)
        lines = ["| step | shape | in |", "|---|---|---|"]
        for step in self:
            shape = show([words.get(size, size) for size in step.shape])
            cells = (
                f"`{text.replace('|', chr(92) + '|')}`"
                for text in (step.name, shape, step.function)
            )
            lines.append(f"| {' | '.join(cells)} |")
        return "\n".join(lines)


class _Event(NamedTuple):
    """What is seen of a running function before each of its lines, and when it returns."""

    frame: FrameType
    kind: str
    tensors: dict[str, tuple[Tensor, tuple[int, ...]]]
    value: object


def trace(function: Callable[..., object], *args: Any, **kwargs: Any) -> Trace:
    """Run a module or a function, and get the name and the shape of each tensor on the way.

    A step is a local variable that comes to stand for another tensor, in the function itself and
    in all that it calls of headwise and of its own module. First stand the arguments; last, as
    `return`, what is returned without ever having had a name. Names and functions that begin with
    an underscore are left out. What the function computes is not affected.

    Variables are looked at between lines: what one was in the middle of a line is not seen. What
    is not written in Python has no variables to look at, and a generator does not run when it is
    called: both raise a ValueError.
    """
    check_callable("function", function)
    called = function
    while isinstance(called, partial):
        called = called.func
    if isinstance(called, nn.Module):
        called = called.forward  # which may be inherited, and then stands in another module
    called = unwrap(called)  # a decorated function, without its decoration
    home = getattr(called, "__module__", None)
    entry = getattr(called, "__code__", None) or getattr(type(called).__call__, "__code__", None)
    if entry is None or entry.co_flags & PAUSES:
        raise ValueError(f"function: got {function!r}, expected {EXPECTED}")
    events: list[_Event] = []

    # Coverage is itself a trace function, so it cannot see this one at work.
    def watch(frame: FrameType, kind: str, value: object) -> Any:  # pragma: no cover
        module, code = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        ours = module == home or re.match(r"headwise(?!\._)", module)
        # What begins with "_" is a detail, and with "<" a comprehension.
        hidden = code.startswith(("_", "<")) and code != "<lambda>" and frame.f_code is not entry
        if hidden or not ours:
            return None
        tensors = {
            name: (x, tuple(x.shape))
            for name, x in frame.f_locals.items()
            if isinstance(x, Tensor) and not name.startswith("_")
        }
        events.append(_Event(frame, kind, tensors, value))
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        function(*args, **kwargs)
    finally:
        sys.settrace(before)
    if not events:
        raise ValueError(f"function: got {function!r}, expected {EXPECTED}")
    return Trace(_steps(events))


def _tensors(value: object) -> Iterator[Tensor]:
    """The tensors in what a function returned, however deep in lists, tuples and dictionaries."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        yield from _tensors(list(value.values()))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _tensors(part)


def _steps(events: Sequence[_Event]) -> list[Step]:
    """Each change from one event of a function to its next."""
    steps = []
    known: dict[FrameType, dict[str, tuple[Tensor, tuple[int, ...]]]] = {}
    depth = -1
    for frame, kind, tensors, value in events:
        function = frame.f_code.co_qualname
        if kind == "call":
            depth += 1
            # What was handed on by a function that is itself traced has been seen before.
            known.setdefault(frame, tensors if depth else {})
        for name, (x, shape) in tensors.items():
            old, old_shape = known[frame].get(name, (None, None))
            if old is not x or old_shape != shape:
                steps.append(Step(name, shape, function, depth))
        known[frame] = tensors
        if kind == "return":
            if depth == 0:
                named = [id(x) for x, _ in tensors.values()]
                for x in _tensors(value):
                    if id(x) not in named:
                        steps.append(Step("return", tuple(x.shape), function, depth))
            depth -= 1
    return steps
