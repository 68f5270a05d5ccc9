"""Functions of the library as graphs that a page can run: exported by torch, written as JSON.

`export` traces a function with torch.export and leaves what a browser needs: the operators in their
order, what each is given, and the names that the source gives the results. Lengths stay open: they
are read off the inputs by operators of their own. The runtime that runs such a graph is
docs/assets/instruments/runtime.js; an operator that it does not know is an error here.

A graph is a list of values: first the inputs, then the weights, then what the nodes compute. "$3"
is the value at place 3. A node is [operator, [what it is given]], and behind that the names of its
result, if it has any. An input is [name, axes], where an axis is a fixed size or a name. Beside
them may stand the lines of the library that made the values, and what it says of bad sizes.
"""

from __future__ import annotations

import json
import math
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn
from torch.fx.experimental.proxy_tensor import get_proxy_mode, get_proxy_slot
from torch.fx.proxy import TracerBase

import headwise
from sitekit import graph_lines, instruments
from sitekit.graph_inputs import Input, Sizes

SOURCE = Path(headwise.__file__).parent
ROOT = SOURCE.parents[1]
INSTRUMENTS = ROOT / "docs" / "assets" / "instruments"
OPERATORS, FOLDER = INSTRUMENTS / "operators.js", INSTRUMENTS / "graphs"
Graph = dict[str, Any]

# What only checks or only promises something: nothing is computed by it.
CHECKS = ("_assert_", "promote_types", "sym_constrain_range")
# What hands on what it is given, as long as nothing is trained.
SAME = (
    "dropout.default",
    "contiguous.default",
    "alias.default",
    "detach_.default",
    "clone.default",
    "sym_float",
)
# Where things lie is the browser's business.
PLACES = {"device", "layout", "pin_memory", "memory_format", "generator", "non_blocking", "copy"}


EXAMPLE = (3, 5, 7, 4, 6, 9)  # sizes to try a function on: no two alike, and none of them 1


class GraphError(Exception):
    """A function that cannot become a graph; the message says which operator, and where."""


@dataclass
class Program:
    """A function to export, its inputs in order, and the module whose places name its values.

    With a refusal, which is what the library says of bad sizes, its lines are written down too.
    """

    function: Callable[..., Any]
    inputs: Mapping[str, Input]
    module: nn.Module | None = None
    refusal: str = ""

    def sizes(self) -> list[str]:
        """The names of all sizes that its inputs have."""
        return sorted({name for one in self.inputs.values() for name in one.names()})

    def draw(self, sizes: Sizes, chance: torch.Generator) -> dict[str, Tensor | int]:
        """Inputs of these sizes, as chance has it."""
        return {name: one.draw(sizes, chance) for name, one in self.inputs.items()}


class _Called(nn.Module):
    """A function as a module, as torch.export wants it."""

    def __init__(self, function: Callable[..., Any], module: nn.Module | None) -> None:
        super().__init__()
        self.function, self.module = function, module

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


# Names


class _Names:
    """The names that the library's own lines give to results, noted while they run.

    A local variable gives its name to the tensor that is assigned to it, and a function to what it
    returns, as in `causal_mask()`. Inside a module the name begins with the module's place in the
    whole, as in `decoder.layers.0.cross_attention.weights`.
    """

    def __init__(self, module: nn.Module | None) -> None:
        named = module.named_modules() if module is not None else ()
        self.places = {id(one): f"{place}." if place else "" for place, one in named}
        self.known: dict[int, dict[str, int]] = {}
        self.ours: dict[CodeType, bool] = {}

    @contextmanager
    def listening(self) -> Iterator[None]:
        before = sys.gettrace()
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(before)

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        # Called for all of torch's own functions too: anything but this look-up would be felt.
        ours = self.ours.get(code := frame.f_code)
        if ours is None:
            named = not code.co_name.startswith("<")  # <genexpr>, <lambda>
            ours = self.ours[code] = named and code.co_filename.startswith(str(SOURCE))
        if not ours:
            return None
        # What comes in has the name that the caller gave it.
        self.known[id(frame)] = {name: id(x) for name, x in frame.f_locals.items()}
        return self._line

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        known = self.known.setdefault(id(frame), {})
        for name, x in frame.f_locals.items():
            if known.get(name) != id(x):
                known[name] = id(x)
                self._note(frame, name, x)
        if event == "return":
            del self.known[id(frame)]
            if not frame.f_code.co_name.startswith(("_", "forward")):
                self._note(frame, f"{frame.f_code.co_name}()", argument)
        return self._line

    def _note(self, frame: FrameType, name: str, x: object) -> None:
        if not isinstance(x, Tensor) or (mode := get_proxy_mode()) is None:
            return
        slot = get_proxy_slot(x, mode.tracer, None)
        if slot is not None:
            names = slot.proxy.node.meta.setdefault("custom", {}).setdefault("names", [])
            if (full := self._place(frame) + name) not in names:
                names.append(full)

    def _place(self, frame: FrameType | None) -> str:
        """The place of the module whose method called this, directly or not."""
        while frame is not None:
            if (place := self.places.get(id(frame.f_locals.get("self")))) is not None:
                return place
            frame = frame.f_back
        return ""


def _our_frames(tracer: TracerBase, found: traceback.StackSummary) -> traceback.StackSummary:
    """Of a stack, the lines of the library."""
    ours = [frame for frame in found if frame.filename.startswith(str(SOURCE))]
    return traceback.StackSummary.from_list(ours)


def _square_root(x: Any) -> Any:
    """math.sqrt would ask a size that is still open for its value."""
    if isinstance(x, torch.SymInt | torch.SymFloat):
        return torch._sym_sqrt(x)  # type: ignore[attr-defined]
    return x**0.5


# Export


def export(program: Program, known: frozenset[str] | None = None) -> tuple[Graph, list[Tensor]]:
    """The graph of a function, and the weights that go beside it, in the graph's order.

    Args:
        program: what to export.
        known: the operators that the runtime knows; by default, those in operators.js.
    """
    sizes = dict(zip(program.sizes(), EXAMPLE, strict=False))
    given = program.draw(sizes, torch.Generator().manual_seed(0))
    dynamic = torch.export.Dim.DYNAMIC
    shapes = tuple(
        {i: dynamic for i, axis in enumerate(one.axes) if isinstance(axis, str)}
        if isinstance(given[name], Tensor)
        else dynamic
        for name, one in program.inputs.items()
    )
    names = _Names(program.module)
    module = _Called(program.function, program.module).eval()
    with (
        torch.no_grad(),
        mock.patch.object(TracerBase, "_filter_traceback_frames", _our_frames),
        mock.patch.object(math, "sqrt", _square_root),
        names.listening(),
    ):
        exported = torch.export.export(
            module, tuple(given.values()), dynamic_shapes={"inputs": shapes}
        )
    return _Writer(exported, program, known or operators()).graph()


def operators(file: Path = OPERATORS) -> frozenset[str]:
    """The operators that the runtime knows."""
    return instruments.operators(file)


class _Writer:
    """Writes down an exported program, without what computes nothing."""

    def __init__(self, exported: Any, program: Program, known: frozenset[str]) -> None:
        self.exported, self.program, self.known = exported, program, known
        self.inputs = [[name, list(one.axes) or None] for name, one in program.inputs.items()]
        self.same: dict[Any, Any] = {}

    def graph(self) -> tuple[Graph, list[Tensor]]:
        nodes = list(self.exported.graph.nodes)
        calls = [node for node in nodes if node.op == "call_function" and not self._is_idle(node)]
        (output,) = nodes[-1].args
        used = self._used(output)
        weights, places = self._weights(nodes, used)
        for node in calls:
            if node in used:
                places[node] = len(places)
        graph: Graph = {
            "inputs": self.inputs,
            "weights": [[name, list(x.shape)] for name, x in weights],
            "nodes": [self._call(node, places) for node in calls if node in used],
            "outputs": [_written(self._origin(one), places) for one in output],
        }
        if self.program.refusal:
            named = {node: names for node in places if (names := self._names(node))}
            graph["lines"] = graph_lines.lines(named, places)
            graph["refusal"] = self.program.refusal
        return graph, [x.detach() for _, x in weights]

    def _weights(
        self, nodes: list[Any], used: set[Any]
    ) -> tuple[list[tuple[str, Tensor]], dict[Any, int]]:
        """Parameters and constants, and the places of all that is there before the first node."""
        signature = self.exported.graph_signature
        named = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
        constants = signature.inputs_to_lifted_tensor_constants
        held = {**self.exported.state_dict, **self.exported.constants}
        given = [node for node in nodes if node.op == "placeholder"]
        lifted = [node for node in given if node.name in {**named, **constants}]
        places = {node: i for i, node in enumerate(n for n in given if n not in lifted)}
        assert len(places) == len(self.inputs), given
        weights = []
        for node in filter(used.__contains__, lifted):
            name = {**named, **constants}[node.name]
            places[node] = len(places)
            weights.append((name.removeprefix("module."), held[name]))
        return weights, places

    def _is_idle(self, node: Any) -> bool:
        """Whether a node only checks or hands on; then what uses it uses what it was given."""
        name = _name(node.target)
        if name.startswith(CHECKS):
            return True
        source = node.args[0] if node.args else None
        if name in SAME or (name.startswith(("to.", "_to_copy")) and _is_alike(node, source)):
            self.same[node] = source
        return node in self.same

    def _origin(self, x: Any) -> Any:
        while x in self.same if isinstance(x, torch.fx.Node) else False:
            x = self.same[x]
        return x

    def _used(self, output: Any) -> set[Any]:
        """All that the outputs need."""
        used: set[Any] = set()
        waiting = [self._origin(node) for node in _nodes_in(output)]
        while waiting:
            node = waiting.pop()
            if node not in used:
                used.add(node)
                waiting += [self._origin(one) for one in node.all_input_nodes]
        return used

    def _call(self, node: Any, places: Mapping[Any, int]) -> list[Any]:
        name = _name(node.target)
        if name not in self.known:
            raise GraphError(f"{_where(node)}: the runtime does not know the operator {name}")
        given = [_written(x, places, self._origin) for x in _arguments(node)]
        return [name, given, *self._names(node)]

    def _names(self, node: Any) -> list[str]:
        """The names of a node's value, and of those that only hand it on."""
        if not isinstance(node.meta.get("val"), Tensor):  # a size has the notes of what it is of
            return []
        handed_on = [other for other, _ in self.same.items() if self._origin(other) is node]
        notes = [one.meta.get("custom", {}) for one in (node, *handed_on)]
        return list(dict.fromkeys(name for note in notes for name in note.get("names", [])))


def _is_alike(node: Any, source: Any) -> bool:
    """Whether a conversion of dtype converts nothing."""
    made, given = node.meta.get("val"), source.meta.get("val")
    return isinstance(made, Tensor) and made.dtype == given.dtype


def _nodes_in(x: Any) -> list[Any]:
    if isinstance(x, torch.fx.Node):
        return [x]
    return [node for one in x for node in _nodes_in(one)] if isinstance(x, list | tuple) else []


def _name(target: Any) -> str:
    """The name of an operator: torch's with its overload, or Python's on sizes."""
    if isinstance(target, torch._ops.OpOverload):
        return str(target).removeprefix("aten.")
    return str(target.__name__).removeprefix("_")


def _arguments(node: Any) -> list[Any]:
    """What an operator is given, by place, without what is as by default at the end."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return list(node.args)
    given, defaults = [], []
    for i, one in enumerate(node.target._schema.arguments):
        if one.name in PLACES:
            continue
        default = one.default_value if one.has_default_value() else None
        given.append(node.args[i] if i < len(node.args) else node.kwargs.get(one.name, default))
        defaults.append(one.has_default_value() and given[-1] == default)
    while given and defaults.pop():
        given.pop()
    return given


def _written(x: Any, places: Mapping[Any, int], origin: Callable[[Any], Any] = lambda x: x) -> Any:
    """What is given to an operator, as JSON."""
    if isinstance(x, torch.fx.Node):
        return f"${places[origin(x)]}"
    if isinstance(x, list | tuple):
        return [_written(one, places, origin) for one in x]
    if isinstance(x, torch.dtype):
        return str(x).removeprefix("torch.")
    if isinstance(x, float) and not math.isfinite(x):
        return str(x)
    if x is None or isinstance(x, bool | int | float):
        return x
    raise GraphError(f"cannot write {x!r} into a graph")


def _where(node: Any) -> str:
    """The innermost line of the library that a node comes from."""
    found = re.findall(r'File "(.+?)", line (\d+)', node.meta.get("stack_trace") or "")
    if not found:
        return "unknown place"
    file, line = found[-1]
    return f"{Path(file).relative_to(ROOT).as_posix()}:{line}"


# Files


def write(graph: Graph) -> str:
    """The graph as text, a node a line."""
    parts = []
    for key, value in graph.items():
        if key in ("nodes", "weights", "lines") and value:
            lines = ",\n".join(json.dumps(one, separators=(",", ":")) for one in value)
            parts.append(f'"{key}":[\n{lines}\n]')
        else:
            parts.append(f'"{key}":{json.dumps(value, separators=(",", ":"))}')
    return "{" + ",\n".join(parts) + "}\n"


def write_weights(weights: Sequence[Tensor]) -> bytes:
    """The weights one after another, as float16, in the byte order of every browser's machine."""
    numbers = torch.cat([x.flatten().half() for x in weights])
    return numbers.numpy().astype("<f2").tobytes()


def files(programs: Mapping[str, Program]) -> dict[str, bytes]:
    """What a page fetches, by name: each graph, and its weights if it has any."""
    known, found = operators(), {}
    for name, program in programs.items():
        graph, weights = export(program, known)
        found[f"{name}.json"] = write(graph).encode()
        if weights:
            found[f"{name}.bin"] = write_weights(weights)
    return found
