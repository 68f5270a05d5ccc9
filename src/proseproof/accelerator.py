"""GPU blocks on machines without a GPU: a made-up accelerator that catches tensors left behind."""

from __future__ import annotations

import contextlib
import traceback
import weakref
from collections.abc import Iterator
from typing import Any
from unittest import mock


def name() -> str:
    """The device that plays the accelerator: one that torch knows but that this build lacks."""
    import torch

    return "cuda" if torch.version.cuda else "lazy"


class Rehearsal:
    """What was seen on the made-up accelerator."""

    def __init__(self) -> None:
        self.used = False
        self.left: list[int] = []  # lines of the page that made what was on the CPU at the end
        self._born: dict[int, tuple[weakref.ref[Any], set[int]]] = {}

    def _note(self, made: Any, device: Any) -> None:
        """Remember that something was on the accelerator, and which lines made what is not."""
        if made.device.type == device.type:
            self.used = True
        elif made.dim():
            known = self._born.get(id(made))
            if known is None or known[0]() is not made:
                frames = (frame for frame, _ in traceback.walk_stack(None))
                pages = [one for one in frames if one.f_code.co_filename.endswith(".md")]
                self._born[id(made)] = weakref.ref(made), {one.f_lineno for one in pages}

    @contextlib.contextmanager
    def stage(self) -> Iterator[None]:
        """Inside, code runs as on a machine with an accelerator; tensors have no values."""
        import torch
        from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

        device = torch.device(name())
        rehearsal = self

        def made_up(function: Any, args: Any) -> Any:
            """An answer for what asks a tensor without values for its values."""
            first = args[0]
            devices = {one.device for one in args if isinstance(one, torch.Tensor) and one.dim()}
            if len(devices) > 1:
                raise RuntimeError(f"tensors on {', '.join(sorted(map(str, devices)))} meet")
            word = function.__name__
            if word in ("allclose", "equal", "is_nonzero", "__bool__", "__contains__"):
                return True
            if word in ("item", "__float__", "__int__", "__index__"):
                kind = {"__float__": float, "__int__": int, "__index__": int}.get(word)
                kind = kind or (float if first.is_floating_point() else int)
                return kind(1)
            if word == "__format__":
                return "1"
            if first.device.type != "cpu":
                raise TypeError(f"can't convert {first.device} tensor to numpy; use .cpu() first")
            import numpy

            zeros = numpy.zeros(tuple(first.shape))
            return zeros.tolist() if word == "tolist" else zeros

        asking = {
            torch.allclose,
            torch.equal,
            torch.is_nonzero,
            torch.Tensor.allclose,
            torch.Tensor.equal,
            torch.Tensor.is_nonzero,
            torch.Tensor.__bool__,
            torch.Tensor.__contains__,
            torch.Tensor.item,
            torch.Tensor.__float__,
            torch.Tensor.__int__,
            torch.Tensor.__index__,
            torch.Tensor.__format__,
            torch.Tensor.tolist,
            torch.Tensor.numpy,
            torch.Tensor.__array__,
        }

        class Answers(torch.overrides.TorchFunctionMode):
            def __torch_function__(
                self, function: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                kwargs = kwargs or {}
                if function in asking and args and isinstance(args[0], FakeTensor):
                    return made_up(function, args)
                if function is torch.Tensor.pin_memory:
                    return args[0]
                if function in (torch.tensor, torch.as_tensor):
                    # Values are written on the CPU first, and this device cannot be written to.
                    made = function(*args, **{**kwargs, "device": None})
                    made.constant = None  # or it would be moved with its value
                    made = made if kwargs.get("device") is None else made.to(kwargs["device"])
                else:
                    made = function(*args, **kwargs)
                for one in made if isinstance(made, tuple | list) else (made,):
                    if isinstance(one, torch.Tensor):
                        rehearsal._note(one, device)
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


@contextlib.contextmanager
def without_accelerator() -> Iterator[None]:
    """Inside, code runs as on a machine that has only a CPU."""
    import torch

    with (
        mock.patch.object(torch.cuda, "is_available", lambda: False),
        mock.patch.object(torch.accelerator, "is_available", lambda: False),
        mock.patch.object(torch.accelerator, "current_accelerator", lambda *_, **__: None),
    ):
        yield


def has_cuda() -> bool:
    """True on a machine with a CUDA device."""
    import torch

    return bool(torch.cuda.is_available())
