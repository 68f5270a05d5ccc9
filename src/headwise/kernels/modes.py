"""Compiled or interpreted: which of the two becomes of a kernel, decided once for a process."""

import os
from collections.abc import Callable
from typing import Any

import torch
import triton
import triton.language as tl
from triton import knobs
from triton.runtime.interpreter import InterpretedFunction

asked = "TRITON_INTERPRET" in os.environ
INTERPRETED: bool = knobs.runtime.interpret if asked else not torch.cuda.is_available()


def kernel(function: Callable[..., Any]) -> Any:
    """A kernel, to be started as function[how many programs](arguments)."""
    return InterpretedFunction(function) if INTERPRETED else triton.jit(function)


def part(function: Callable[..., Any]) -> Any:
    """A function that kernels call."""
    return InterpretedFunction(function).rewrite() if INTERPRETED else triton.jit(function)


# Triton's own parts are made to be compiled, unless somebody asked for the interpreter before
# Triton was imported the first time, which other packages do as well.
row_max, row_sum = (part(one.fn) if INTERPRETED else one for one in (tl.max, tl.sum))
