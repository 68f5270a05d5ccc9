"""The interpreter's global state, put back after each block so that the next one starts clean."""

from __future__ import annotations

import contextlib
import copy
import functools
import os
import random
import sys
import warnings
import webbrowser
from collections.abc import Iterator
from typing import Any
from unittest import mock


class WindowError(RuntimeError):
    """A block tried to open a window."""


def _no_browser(url: str, *_: Any, **__: Any) -> bool:
    raise WindowError(f"opens a browser window: {url}")


def seed(number: int) -> None:
    """Set every random generator that is loaded."""
    random.seed(number)
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None:
        numpy.random.seed(number % 2**32)
    if torch is not None:
        # Without a GPU, manual_seed only takes note of a stack for later: half a page's time.
        has_gpu = torch.accelerator.is_available()
        (torch.manual_seed if has_gpu else torch.default_generator.manual_seed)(number)


def generators() -> dict[str, Any]:
    """Where every random generator that is loaded stands."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    return {
        "random": random.getstate(),
        "numpy": numpy.random.get_state() if numpy is not None else None,
        "torch": torch.default_generator.get_state() if torch is not None else None,
    }


def put_back(states: dict[str, Any]) -> None:
    """Let the generators go on from where they stood."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    random.setstate(states["random"])
    if numpy is not None and states["numpy"] is not None:
        numpy.random.set_state(states["numpy"])
    if torch is not None and states["torch"] is not None:
        torch.default_generator.set_state(states["torch"])


class Draws:
    """Whether code draws from a random generator that it has not seeded before."""

    # What seeds a generator, and what puts it back to where it was.
    SEEDS = (
        ("random", "seed"),
        ("numpy.random", "seed"),
        ("torch", "manual_seed"),
        ("torch.random", "manual_seed"),
        ("torch", "seed"),
        ("torch.random", "seed"),
    )
    STATES = (
        ("random", "setstate"),
        ("numpy.random", "set_state"),
        ("torch", "set_rng_state"),
        ("torch.random", "set_rng_state"),
    )

    def __init__(self) -> None:
        self.unseeded = False
        self._seeded: set[str] = set()
        self._start = {name: self._state(name) for name in self._loaded()}
        self._first = self._initial_seed()

    @staticmethod
    def _loaded() -> list[str]:
        return [name for name in ("random", "numpy", "torch") if name in sys.modules]

    @staticmethod
    def _state(name: str) -> Any:
        """Where a generator stands, in a form that can be compared."""
        module: Any = sys.modules[name]
        if name == "torch":
            return bytes(module.default_generator.get_state().numpy())
        if name == "numpy":
            kind, keys, *rest = module.random.get_state()
            return (kind, keys.tobytes(), *rest)
        return module.getstate()

    @staticmethod
    def _initial_seed() -> Any:
        torch: Any = sys.modules.get("torch")
        return torch.initial_seed() if torch else None

    def _look(self, name: str) -> None:
        # A generator that the code itself loaded was never seeded by us.
        if name in self._seeded or self._start.get(name) == self._state(name):
            return
        # Some code seeds torch's generator itself, which cannot be watched.
        if name != "torch" or self._initial_seed() == self._first:
            self.unseeded = True

    def _hooked(self, name: str, function: Any, seeds: bool) -> Any:
        @functools.wraps(function)
        def hook(*args: Any, **kwargs: Any) -> Any:
            self._look(name)
            made = function(*args, **kwargs)
            now = self._state(name)
            given = args[:1] != (None,) and bool(args or kwargs)
            if given if seeds else now != self._start.get(name):
                self._seeded.add(name)
            else:
                self._seeded.discard(name)
                self._start[name], self._first = now, self._initial_seed()
            return made

        return hook

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Note what the code inside draws."""
        with contextlib.ExitStack() as stack:
            for place, word in (*self.SEEDS, *self.STATES):
                module = sys.modules.get(place)
                if module is not None:
                    seeds = (place, word) in self.SEEDS
                    hook = self._hooked(place.partition(".")[0], getattr(module, word), seeds)
                    stack.enter_context(mock.patch.object(module, word, hook))
            yield
            for name in self._loaded():
                self._look(name)


def _torch_settings(torch: Any) -> dict[str, tuple[Any, Any]]:
    """Torch's global switches: how each is set, and what it is now."""
    cuda, mha = torch.backends.cuda, torch.backends.mha
    return {
        "default dtype": (torch.set_default_dtype, torch.get_default_dtype()),
        "gradients": (torch.set_grad_enabled, torch.is_grad_enabled()),
        "deterministic": (
            torch.use_deterministic_algorithms,
            torch.are_deterministic_algorithms_enabled(),
        ),
        "threads": (torch.set_num_threads, torch.get_num_threads()),
        "precision": (
            torch.set_float32_matmul_precision,
            torch.get_float32_matmul_precision(),
        ),
        "flash": (cuda.enable_flash_sdp, cuda.flash_sdp_enabled()),
        "efficient": (cuda.enable_mem_efficient_sdp, cuda.mem_efficient_sdp_enabled()),
        "math": (cuda.enable_math_sdp, cuda.math_sdp_enabled()),
        "fast path": (mha.set_fastpath_enabled, mha.get_fastpath_enabled()),
    }


def _no_window(*_: Any, **__: Any) -> None:
    raise WindowError("show() opens a window")


@contextlib.contextmanager
def restored(windows: bool = False) -> Iterator[None]:
    """Put back, at the end, what the code inside may have changed for everybody.

    With `windows`, `pyplot.show()` does nothing, as in a notebook; without, it is an error.
    """
    kept: dict[str, Any] = {
        "cwd": os.getcwd(),
        "environ": dict(os.environ),
        "argv": list(sys.argv),
        "path": list(sys.path),
        "main": sys.modules["__main__"],
        "stdout": sys.stdout,
        "stderr": sys.stderr,
        "stdin": sys.stdin,
        "limit": sys.getrecursionlimit(),
        "browser": webbrowser.open,
        "random": random.getstate(),
    }
    names = ("numpy", "torch", "matplotlib", "matplotlib.pyplot")
    modules: list[Any] = [sys.modules.get(name) for name in names]
    numpy, torch, matplotlib, pyplot = modules
    settings = _torch_settings(torch) if torch else {}
    generator = torch.get_rng_state() if torch else None
    printing = copy.copy(torch._tensor_str.PRINT_OPTS) if torch else None
    numpy_state = (numpy.random.get_state(), numpy.get_printoptions()) if numpy else None
    drawing = dict.copy(matplotlib.rcParams) if matplotlib else None
    os.environ["MPLBACKEND"] = "Agg"
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        os.environ.pop(name, None)
    webbrowser.open = _no_browser
    show = pyplot.show if pyplot else None
    if pyplot:
        pyplot.show = (lambda *_, **__: None) if windows else _no_window
    try:
        with warnings.catch_warnings():
            yield
    finally:
        os.chdir(kept["cwd"])
        os.environ.clear()
        os.environ.update(kept["environ"])
        sys.argv[:], sys.path[:] = kept["argv"], kept["path"]
        sys.modules["__main__"] = kept["main"]
        sys.stdout, sys.stderr, sys.stdin = kept["stdout"], kept["stderr"], kept["stdin"]
        sys.setrecursionlimit(kept["limit"])
        webbrowser.open = kept["browser"]
        random.setstate(kept["random"])
        now = _torch_settings(torch) if torch else {}
        for name, (put, value) in settings.items():
            if now[name][1] != value:
                put(value)
        if torch is not None:
            torch.default_generator.set_state(generator)
            torch._tensor_str.PRINT_OPTS = printing
            if torch.get_default_device().type != "cpu":
                torch.set_default_device(None)
        if numpy is not None and numpy_state is not None:
            numpy.random.set_state(numpy_state[0])
            numpy.set_printoptions(**numpy_state[1])
        if pyplot is not None:
            pyplot.show = show
            pyplot.close("all")
        if drawing is not None and not dict.__eq__(matplotlib.rcParams, drawing):
            dict.update(matplotlib.rcParams, drawing)
