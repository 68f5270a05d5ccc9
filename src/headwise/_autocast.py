"""What autocast does to a tensor, and how a whole function can be to autocast what a kernel is."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import torch
from torch import Tensor

P = ParamSpec("P")
R = TypeVar("R")


def multiplied_dtype(x: Tensor) -> torch.dtype:
    """The dtype in which x is multiplied: its own, or autocast's where that is on."""
    if not x.is_floating_point() or x.dtype == torch.float64 or not is_on(x.device.type):
        return x.dtype
    return torch.get_autocast_dtype(x.device.type)


def is_on(device_type: str) -> bool:
    """Whether autocast is on for this type of device; some, such as meta, have none."""
    return torch.amp.is_autocast_available(device_type) and torch.is_autocast_enabled(device_type)


def cast_as_one(function: Callable[P, R]) -> Callable[P, R]:
    """The function as autocast treats a kernel: it casts what goes in, and nothing inside."""

    @wraps(function)
    def _cast(*args: P.args, **kwargs: P.kwargs) -> R:
        device_type = next((x.device.type for x in args if isinstance(x, Tensor)), "meta")
        if not is_on(device_type):
            return function(*args, **kwargs)
        cast = [x.to(multiplied_dtype(x)) if isinstance(x, Tensor) else x for x in args]
        with torch.autocast(device_type, enabled=False):
            return function(*cast, **kwargs)  # type: ignore[arg-type]

    return _cast
