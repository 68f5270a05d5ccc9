"""A right call, and the inputs that right calls share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from headwise.cache import KeyValueCache
from headwise.layers import LayerCache
from headwise.multi_head import MultiHeadAttention

X = torch.randn(2, 3, 8)
K = torch.randn(2, 2, 3, 4)
TOKENS = torch.tensor([[3, 4, 5], [4, 3, 0]])
SEEN = torch.ones(3, 3, dtype=torch.bool)
SIZE = {"d_model": 8, "num_heads": 2}
# Rules that do not bind a parameter; the rules themselves are in test_wrong_calls.py.
ANY_DTYPE = {"bool", "long", "complex", "double", "half"}
ANYWHERE = {"meta"}
WHOLE = {"rank+1", "rank-1", "longer"}


@dataclass
class Call:
    """A right call: what to call, with what, and which rules do not bind which parameter."""

    function: Callable[..., object]
    arguments: dict[str, Any]
    free: Mapping[str, set[str]] = field(default_factory=dict)
    run: Callable[[Any], object] = lambda result: result  # what else it takes to get going

    def __call__(self, **changes: Any) -> object:
        arguments = {**self.arguments, **changes}
        positional = arguments.pop("*", ())
        return self.run(self.function(*positional, **arguments))

    def watched(self) -> list[object]:
        """Modules and caches that a wrong call leaves as they are."""
        things = [getattr(self.function, "__self__", self.function), *self.arguments.values()]
        for several in (x for x in tuple(things) if isinstance(x, list)):
            things += several
        return [x for x in things if isinstance(x, nn.Module | KeyValueCache | LayerCache)]


Table = dict[str, Callable[[], Call]]


def of(module: nn.Module, method: str | None = None, /, **arguments: Any) -> Call:
    """A call of a module, or of one of its methods; `free` is that of Call."""
    free = arguments.pop("free", {})
    return Call(module if method is None else getattr(module, method), arguments, free)


def mha() -> MultiHeadAttention:
    return MultiHeadAttention(8, 2)
