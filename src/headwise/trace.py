"""The shape at every step of a forward pass, as data and as a table."""

import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any, NamedTuple

from torch import Tensor

from headwise._check import check_sizes, show


class Step(NamedTuple):
    """One tensor that was given a name: `function` says where, `depth` how many calls down."""

    name: str
    shape: tuple[int, ...]
    function: str
    depth: int


class Trace(tuple[Step, ...]):
    """The steps, in the order in which they happened."""

    def within(self, function: str) -> "Trace":
        """Only the steps of one function, such as `MultiHeadAttention.forward`."""
        return Trace(step for step in self if step.function == function)

    def markdown(self, names: Mapping[str, int] | None = None) -> str:
        """A Markdown table of the steps, in words where `names` says {"batch": 2, …}.

        No two names may stand for one size, or nobody could tell which of them an axis is. An
        axis of size 1 stays 1.
        """
        words: dict[int, str] = {}
        check_sizes(**(names or {}))
        for name, size in (names or {}).items():
            if size in words:
                raise ValueError(
                    f"names: got {size} for {words[size]} and for {name}, expected different sizes"
                )
            words[size] = name
        words.pop(1, None)
        lines = ["| step | shape | in |", "|---|---|---|"]
        for step in self:
            shape = show([words.get(size, size) for size in step.shape])
            lines.append(f"| `{step.name}` | `{shape}` | `{step.function}` |")
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
    """
    home = function.__module__
    events: list[_Event] = []

    # Coverage is itself a trace function, so it cannot see this one at work.
    def watch(frame: FrameType, kind: str, value: object) -> Any:  # pragma: no cover
        module, code = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        ours = module == home or module.partition(".")[0] == "headwise"
        # What begins with "_" is a detail, and with "<" a comprehension.
        if not ours or (code.startswith(("_", "<")) and code != "<lambda>"):
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
    return Trace(_steps(events))


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
                for x in value if isinstance(value, tuple) else (value,):
                    if isinstance(x, Tensor) and id(x) not in named:
                        steps.append(Step("return", tuple(x.shape), function, depth))
            depth -= 1
    return steps
