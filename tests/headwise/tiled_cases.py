"""Calls of tiled attention that the tests of both paths share, drawn from all combinations."""

import random
from typing import Any, NamedTuple

import torch
from torch import Tensor

from headwise.attention import attention


class Case(NamedTuple):
    """One combination of what tiled attention can be asked for."""

    query: int
    key: int
    num_heads: int
    group: int  # heads of queries to a head of keys
    d_v: int
    mask: str
    bias: str
    is_causal: bool
    window: int | None
    sinks: int
    tile: int

    def __str__(self) -> str:
        named = self._asdict().items()
        return " ".join(f"{name}={value}" for name, value in named)

    def inputs(self, dtype: torch.dtype) -> tuple[list[Tensor | None], dict[str, Any]]:
        """Q, K, V and the mask, and the options beside them."""
        draw = torch.Generator().manual_seed(0)

        def randn(*shape: int) -> Tensor:
            return torch.randn(*shape, dtype=torch.float64, generator=draw).to(dtype)

        heads = self.num_heads // self.group
        Q = randn(2, self.num_heads, self.query, 5).requires_grad_()
        K = randn(2, heads, self.key, 5).requires_grad_()
        V = randn(2, heads, self.key, self.d_v).requires_grad_()
        shapes = {
            "square": (self.query, self.key),
            "padding": (2, 1, 1, self.key),
            "heads": (1, self.num_heads, self.query, self.key),
            "rows": (2, 1, self.query, 1),
        }
        mask = bias = None
        if self.mask in shapes:
            mask = torch.rand(shapes[self.mask], generator=draw) > 0.3
        if self.bias in shapes:
            bias = randn(*shapes[self.bias])
        options = {"bias": bias, "is_causal": self.is_causal}
        return [Q, K, V, mask], {**options, "window": self.window, "sinks": self.sinks}


def drawn(count: int, seed: int, queries: list[int], keys: list[int], num_heads: int) -> list[Case]:
    """So many different combinations, of which none asks for what is refused."""
    draw, found = random.Random(seed), {}
    while len(found) < count:
        is_causal = draw.random() < 0.7
        window = draw.choice([None, 1, 3]) if is_causal else None
        case = Case(
            query=draw.choice(queries),
            key=draw.choice(keys),
            num_heads=num_heads,
            group=draw.choice([n for n in (1, 2, 4) if n <= num_heads]),
            d_v=draw.choice([1, 5, 8]),
            mask=draw.choice(["none", "square", "padding", "heads", "rows"]),
            bias=draw.choice(["none", "square", "padding", "heads", "rows"]),
            is_causal=is_causal,
            window=window,
            sinks=draw.choice([0, 2]) if window else 0,
            tile=draw.choice([2, 4, 16]),
        )
        found[case] = case
    return list(found)


def reference(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    mask: Tensor | None = None,
    *,
    bias: Tensor | None = None,
    is_causal: bool = False,
    window: int | None = None,
    sinks: int = 0,
) -> Tensor:
    """The formula, with every option in one mask and in the scores, written out."""
    batch, heads, query, d_k = Q.shape
    key, group = K.size(2), heads // K.size(1)
    seen = torch.ones(query, key, dtype=torch.bool) if mask is None else mask
    if is_causal:
        distance = torch.arange(query)[:, None] + (key - query) - torch.arange(key)
        near = distance >= 0
        if window is not None:
            near &= (distance < window) | (torch.arange(key) < sinks)
        seen = seen & near
    K, V = (torch.repeat_interleave(x, group, dim=1) for x in (K, V))
    if bias is not None:  # q·k + b is (q, b's row) · (k, a unit vector), with the same scale
        rows = bias.expand(batch, heads, query, key) * d_k**0.5
        unit = torch.eye(key, dtype=K.dtype).expand(batch, heads, key, key)
        grown = ((d_k + key) / d_k) ** 0.5
        Q, K = torch.cat((Q * grown, rows * grown), -1), torch.cat((K, unit), -1)
    return attention(Q, K, V, seen)[0]


def assert_close(found: Tensor, wanted: Tensor, inputs: Any, tolerance: float) -> None:
    """Both outputs, and the gradients that they send to the inputs, agree."""
    torch.testing.assert_close(found, wanted, rtol=tolerance, atol=tolerance)
    upstream = torch.randn(wanted.shape, generator=torch.Generator().manual_seed(1)).to(wanted)
    for ours, theirs in zip(
        torch.autograd.grad(found, inputs, upstream),
        torch.autograd.grad(wanted, inputs, upstream),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)
