"""GPU blocks on machines without a GPU: a made-up accelerator that catches tensors left behind."""

from __future__ import annotations

import contextlib
import copy
import re
import traceback
import weakref
from collections.abc import Iterable, Iterator
from typing import Any
from unittest import mock

from proseproof.device_code import NAME

ENOUGH = 2_000  # calls of torch after which a loop of a lab has shown what it does
LIMIT = 200_000  # calls of torch after which a lab is too long to be rehearsed
# What asks a tensor for its values, and what makes as many elements as the values say.
ASKING = frozenset(
    re.findall(
        r"\w+",
        "allclose equal is_nonzero __bool__ __contains__ item __float__ __int__ __index__ "
        "__format__ tolist numpy __array__",
    )
)
COUNTING = frozenset(
    re.findall(
        r"\w+",
        "__getitem__ nonzero argwhere where masked_select unique unique_consecutive bincount "
        "repeat_interleave",
    )
)


def name() -> str:
    """The device that plays the accelerator: one that torch knows but that this build lacks."""
    import torch

    return "cuda" if torch.version.cuda else "lazy"


class TooLong(BaseException):
    """A lab goes on for too long to be rehearsed; not for the lab's own code to catch."""


def _key(path: str, first: int, function: Any) -> tuple[str, int]:
    """What is asked, and from which line of the block."""
    frames = (frame for frame, _ in traceback.walk_stack(None))
    lines = (frame.f_lineno for frame in frames if frame.f_code.co_filename == path)
    return function.__name__, next(lines, first) - first


class OnCpu:
    """What the values of a block's tensors were on the CPU, where they have some.

    The made-up accelerator gives the same answers, so that the block takes the same branches.
    """

    def __init__(self, path: str, first: int = 0) -> None:
        self.path, self.first = path, first
        self.answers: dict[tuple[str, int], list[Any]] = {}

    @contextlib.contextmanager
    def stage(self, listening: bool = True) -> Iterator[None]:
        """Inside, code runs as on a machine that has only a CPU, and what it asks is noted."""
        import torch

        on_cpu = self

        class Listening(torch.overrides.TorchFunctionMode):
            def __torch_function__(
                self, function: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                made = function(*args, **(kwargs or {}))
                word = getattr(function, "__name__", "")
                if word in ASKING or word in COUNTING:
                    answer = copy.copy(made) if word in ASKING else _sizes(made)
                    key = _key(on_cpu.path, on_cpu.first, function)
                    on_cpu.answers.setdefault(key, []).append(answer)
                return made

        with (
            mock.patch.object(torch.cuda, "is_available", lambda: False),
            mock.patch.object(torch.backends.mps, "is_available", lambda: False),
            mock.patch.object(torch.accelerator, "is_available", lambda: False),
            mock.patch.object(torch.accelerator, "current_accelerator", lambda *_, **__: None),
            Listening() if listening else contextlib.nullcontext(),
        ):
            yield


def _sizes(made: Any) -> list[tuple[Any, Any]]:
    """The shape and the type of each tensor that was made."""
    return [(tuple(one.shape), one.dtype) for one in _tensors(made)]


def _tensors(made: Any) -> list[Any]:
    import torch

    several = made if isinstance(made, tuple | list) else (made,)
    return [one for one in several if isinstance(one, torch.Tensor)]


class Rehearsal:
    """What was seen on the made-up accelerator."""

    def __init__(self, path: str, first: int = 0, on_cpu: OnCpu | None = None) -> None:
        self.path, self.first = path, first
        self.used = False
        self.left: list[int] = []  # lines of the page that made what was on the CPU at the end
        self.cut = False  # a loop was left before its end
        self._calls = 0
        self._born: dict[int, tuple[weakref.ref[Any], set[int]]] = {}
        answers = on_cpu.answers if on_cpu else {}
        self._answers = {key: iter(given) for key, given in answers.items()}

    def _note(self, made: Any, device: Any) -> None:
        """Remember that something was on the accelerator, and which lines made what is not."""
        if made.device.type == device.type:
            self.used = True
        elif made.dim():
            known = self._born.get(id(made))
            if known is None or known[0]() is not made:
                frames = (frame for frame, _ in traceback.walk_stack(None))
                pages = [one for one in frames if one.f_code.co_filename == self.path]
                self._born[id(made)] = weakref.ref(made), {one.f_lineno for one in pages}

    def _on_cpu(self, function: Any, otherwise: Any) -> Any:
        """What the CPU answered here; `otherwise` where it was not asked."""
        return next(self._answers.get(_key(self.path, self.first, function), iter(())), otherwise)

    def bounded(self, rounds: Iterable[Any]) -> Iterator[Any]:
        """A loop of a lab, left as soon as it has shown what it does."""
        start = self._calls
        for one in rounds:
            yield one
            if self._calls - start > ENOUGH:
                self.cut = True
                return

    def _count(self) -> None:
        self._calls += 1
        if self._calls > LIMIT:
            raise TooLong(f"makes more than {LIMIT} calls of torch")

    @contextlib.contextmanager
    def stage(self) -> Iterator[None]:
        """Inside, code runs as on a machine with an accelerator; tensors have no values."""
        import torch
        from torch._subclasses.fake_tensor import (
            DynamicOutputShapeException,
            FakeTensor,
            FakeTensorMode,
        )

        device = torch.device(name())
        rehearsal = self

        def made_up(function: Any, args: Any) -> Any:
            """An answer for what asks a tensor without values for its values."""
            first = args[0]
            devices = {one.device for one in args if isinstance(one, torch.Tensor) and one.dim()}
            if len(devices) > 1:
                raise RuntimeError(
                    f"different devices meet: {', '.join(sorted(map(str, devices)))}"
                )
            word = function.__name__
            if word in ("numpy", "__array__") and first.device.type != "cpu":
                message = f"can't convert {first.device} device type tensor to numpy"
                raise TypeError(f"{message}; use .cpu() first")
            if word in ("allclose", "equal", "is_nonzero", "__bool__", "__contains__"):
                otherwise: Any = True
            elif word in ("item", "__float__", "__int__", "__index__"):
                kind = {"__float__": float, "__int__": int, "__index__": int}.get(word)
                otherwise = (kind or (float if first.is_floating_point() else int))(1)
            elif word == "__format__":
                otherwise = "1"
            else:
                import numpy

                otherwise = numpy.zeros(tuple(first.shape))
                otherwise = otherwise.tolist() if word == "tolist" else otherwise
            return rehearsal._on_cpu(function, otherwise)

        def ours(given: Any) -> Any:
            """`"cuda"` in code that was not rewritten is the made-up device too."""
            if isinstance(given, torch.device):
                return device if given.type in ("cuda", "mps") else given
            return device if isinstance(given, str) and NAME.fullmatch(given) else given

        def counted(function: Any, args: Any, kwargs: Any) -> Any:
            """What has as many elements as it had on the CPU, where the values decide."""
            sizes = rehearsal._on_cpu(function, [])
            try:
                return function(*args, **kwargs)
            except DynamicOutputShapeException:
                if not sizes:
                    raise
                first = next(one for one in args if isinstance(one, torch.Tensor))
                made = tuple(first.new_empty(shape, dtype=kind) for shape, kind in sizes)
                return made if len(made) > 1 or function is torch.where else made[0]

        def indexed(tensor: Any, index: Any, *value: Any) -> Any:
            """The arguments of an indexing; the CPU cannot look up where an accelerator says."""
            parts = []
            for one in index if isinstance(index, tuple) else (index,):
                if isinstance(one, torch.Tensor) and not (one.dim() or one.dtype == torch.bool):
                    parts.append(0)  # a single whole number is read, wherever it is
                    continue
                parts.append(one)
                if (
                    isinstance(one, torch.Tensor)
                    and tensor.device.type == "cpu"
                    and one.device.type != "cpu"
                ):
                    message = "indices should be on the same device as the indexed tensor (cpu)"
                    raise RuntimeError(f"{message}, and are on {one.device}")
            return tensor, tuple(parts) if isinstance(index, tuple) else parts[0], *value

        base: Any = torch.Generator

        class Generator(base):  # type: ignore[misc]
            """A source of random numbers for one device."""

            def __new__(cls, device: Any = "cpu") -> Any:
                made = super().__new__(cls, "cpu")
                made.home = torch.device(ours(device))
                return made

            @property
            def device(self) -> Any:
                return self.home

        class Answers(torch.overrides.TorchFunctionMode):
            def __torch_function__(
                self, function: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                rehearsal._count()
                args = tuple(map(ours, args))
                kwargs = {name: ours(value) for name, value in (kwargs or {}).items()}
                word = getattr(function, "__name__", "")
                if word in ASKING and args and isinstance(args[0], FakeTensor):
                    return made_up(function, args)
                if function is torch.Tensor.pin_memory:
                    return args[0]
                if word in ("__getitem__", "__setitem__"):
                    args = indexed(*args)
                if function in (torch.tensor, torch.as_tensor):
                    # Values are written on the CPU first, and this device cannot be written to.
                    made = function(*args, **{**kwargs, "device": None})
                    made.constant = None  # or it would be moved with its value
                    made = made if kwargs.get("device") is None else made.to(kwargs["device"])
                elif word in COUNTING:
                    made = counted(function, args, kwargs)
                else:
                    made = function(*args, **kwargs)
                source = kwargs.get("generator")
                for one in _tensors(made):
                    rehearsal._note(one, device)
                    if source is not None and source.device.type != one.device.type:
                        message = f"Expected a '{one.device.type}' device type for generator"
                        raise RuntimeError(f"{message} but found '{source.device.type}'")
                return made

        # Module.to() swaps tensors in place, which tensors without storage do not allow.
        moved: dict[int, tuple[Any, Any]] = {}

        def apply(self: Any, function: Any, recurse: bool = True) -> Any:
            for child in self.children() if recurse else ():
                child._apply(function)
            for name, parameter in self._parameters.items():
                if parameter is None:
                    continue
                if id(parameter) not in moved:
                    with torch.no_grad():
                        new = torch.nn.Parameter(function(parameter), parameter.requires_grad)
                    moved[id(parameter)] = (parameter, new)
                    rehearsal._born.pop(id(parameter), None)
                self._parameters[name] = moved[id(parameter)][1]
            for name, buffer in self._buffers.items():
                self._buffers[name] = None if buffer is None else function(buffer)
            return self

        def to_device(self: Any, *_: Any, **__: Any) -> Any:
            return self.to(device)

        @contextlib.contextmanager
        def no_cast() -> Iterator[None]:
            yield

        real_autocast = torch.autocast

        def autocast(device_type: str, *args: Any, **kwargs: Any) -> Any:
            if device_type == device.type:
                return no_cast()
            return real_autocast(device_type, *args, **kwargs)

        def not_compiled(function: Any = None, **_: Any) -> Any:
            return not_compiled if function is None else function

        class Event:
            """Marks a moment; the next is always a millisecond later."""

            def __init__(self, *_: Any, **__: Any) -> None:
                self.recorded = False

            def record(self, *_: Any) -> None:
                self.recorded = True

            def synchronize(self) -> None:
                pass

            def elapsed_time(self, end: Event) -> float:
                if not (self.recorded and end.recorded):
                    raise RuntimeError("both events must be recorded first")
                return 1.0

        nothing = mock.Mock(return_value=None)
        bytes_used = mock.Mock(return_value=2**20)
        patches: list[Any] = [
            mock.patch.object(torch, "autocast", autocast),
            mock.patch.object(torch.amp, "autocast", autocast),
            mock.patch.object(torch, "compile", not_compiled),
            mock.patch.object(torch, "Generator", Generator),
            mock.patch.object(torch.backends.mps, "is_available", lambda: True),
            mock.patch.object(torch, "Event", Event),
            mock.patch.object(torch.cuda, "Event", Event),
            mock.patch.object(torch.cuda, "get_device_name", lambda *_: "a made-up accelerator"),
            mock.patch.object(torch.accelerator, "current_accelerator", lambda *_, **__: device),
            *(
                mock.patch.object(module, name, value)
                for module in (torch.cuda, torch.accelerator)
                for name, value in {
                    "is_available": lambda: True,
                    "device_count": lambda: 1,
                    "synchronize": nothing,
                    "empty_cache": nothing,
                    "reset_peak_memory_stats": nothing,
                    "memory_allocated": bytes_used,
                    "max_memory_allocated": bytes_used,
                }.items()
            ),
            mock.patch.object(torch.Tensor, "cuda", to_device),
            mock.patch.object(torch.nn.Module, "cuda", to_device),
            mock.patch.object(torch.nn.Module, "_apply", apply),
        ]
        with contextlib.ExitStack() as stack:
            for patch in patches:
                stack.enter_context(patch)
            stack.enter_context(FakeTensorMode())
            stack.enter_context(Answers())
            yield
            alive = (lines for born, lines in self._born.values() if born() is not None)
            self.left = sorted(set().union(*alive))


def has_cuda() -> bool:
    """True on a machine with a CUDA device."""
    import torch

    return bool(torch.cuda.is_available())
