"""What a graph is given: of which kind each input is, and how to draw one.

The same description serves the export, which needs an example and the axes whose length is open,
and the proof, which runs the graph on many drawn inputs, easy ones and extreme ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

Sizes = Mapping[str, int]
Axis = int | str  # a fixed size, or a name, or a product of names such as "num_heads*d_k"


def size(axis: Axis, sizes: Sizes) -> int:
    """The size of an axis."""
    if isinstance(axis, int):
        return axis
    return math.prod(sizes[name] for name in axis.split("*"))


class Input:
    """One input; its axes are those of the tensor, none for a plain number."""

    axes: tuple[Axis, ...] = ()

    def shape(self, sizes: Sizes) -> list[int]:
        """The shape for these sizes."""
        return [size(axis, sizes) for axis in self.axes]

    def names(self) -> set[str]:
        """The sizes that it depends on."""
        return {name for axis in self.axes if isinstance(axis, str) for name in axis.split("*")}

    def draw(self, sizes: Sizes, chance: torch.Generator) -> Tensor | int:
        """One such input, as chance has it; sizes may say `extreme`, a number above 0."""
        raise NotImplementedError


class Floats(Input):
    """Numbers about as large as 1, or extreme: whole numbers times a power of two.

    Extreme ones multiply and add up without rounding, so that torch and a browser, which add in
    another order, have to agree on them too.
    """

    def __init__(self, *axes: Axis, most: float = 2.0**50) -> None:
        self.axes, self.most = axes, most

    def draw(self, sizes: Sizes, chance: torch.Generator) -> Tensor:
        shape = self.shape(sizes)
        if not sizes.get("extreme"):
            return torch.randn(shape, generator=chance)
        scale = min(self.most, 2.0 ** (0, 5, 10, 50)[sizes["extreme"] % 4])
        return torch.randint(-3, 4, shape, generator=chance) * scale


class Mask(Input):
    """True and False; some rows are all False."""

    def __init__(self, *axes: Axis) -> None:
        self.axes = axes

    def draw(self, sizes: Sizes, chance: torch.Generator) -> Tensor:
        shape = self.shape(sizes)
        shown = torch.rand(shape, generator=chance) < 0.6
        return shown & (torch.rand([*shape[:-1], 1], generator=chance) < 0.8)


class Integers(Input):
    """Whole numbers from least to most, where most may be a size."""

    def __init__(self, *axes: Axis, least: int, most: Axis) -> None:
        self.axes, self.least, self.most = axes, least, most

    def names(self) -> set[str]:
        return super().names() | ({self.most} if isinstance(self.most, str) else set())

    def draw(self, sizes: Sizes, chance: torch.Generator) -> Tensor:
        most = size(self.most, sizes)
        return torch.randint(self.least, most + 1, self.shape(sizes), generator=chance)


class Number(Input):
    """A size as a plain number."""

    def __init__(self, of: str) -> None:
        self.of = of

    def names(self) -> set[str]:
        return {self.of}

    def draw(self, sizes: Sizes, chance: torch.Generator) -> int:
        return sizes[self.of]
