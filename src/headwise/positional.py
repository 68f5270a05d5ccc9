"""Positions: the sine code of the paper, why a shift of it is a rotation, and learned positions."""

import math

import torch
from torch import Tensor, nn

from headwise._check import (
    FARTHEST,
    LARGEST_OF_FLOATS,
    ROWS,
    check_floating,
    check_lengths,
    check_numel,
    check_place,
    check_positions,
    check_sizes,
    check_start,
    check_whole,
    check_widths,
)
from headwise._check_tensors import check_floats, check_input, check_shape

BASE = 10_000.0  # the paper's: wavelengths run from 2π towards 2π · 10 000


def sinusoidal(
    seq_len: int,
    d_model: int,
    *,
    start: int = 0,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
) -> Tensor:
    """The sine code of positions start, start + 1, …: (seq_len, d_model).

    Even columns are sines and odd columns cosines, a pair for each frequency. With an odd
    d_model the last sine has no cosine beside it.
    """
    _check_code(d_model, dtype, device)
    check_lengths(seq_len=seq_len, d_model=d_model, most=LARGEST_OF_FLOATS)
    check_start(start)
    # Half precision cannot even count to 2049, nor single to 2**24 + 1: use double, then round.
    precise = _widest(device)
    position = torch.arange(start, start + seq_len, dtype=precise, device=device)
    angles = position[:, None] * frequencies(d_model, dtype=precise, device=device)
    pairs = torch.stack((angles.sin(), angles.cos()), dim=-1)  # (seq_len, num_pairs, 2)
    return pairs.flatten(1)[:, :d_model].to(dtype)  # (seq_len, d_model)


def frequencies(
    d_model: int,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
) -> Tensor:
    """The angle by which each pair of columns turns from one position to the next: (num_pairs,)."""
    _check_code(d_model, dtype, device)
    exponents = torch.arange(0, d_model, 2, dtype=dtype, device=device) / d_model
    return BASE**-exponents


def _check_code(d_model: int, dtype: torch.dtype, device: torch.device | str | None = None) -> None:
    check_widths(d_model=d_model)
    check_floating("dtype", dtype)
    check_place(device)


def _widest(device: torch.device | str | None) -> torch.dtype:
    """Double precision, and single on Apple's GPUs, which have no other."""
    apple = str(device or torch.get_default_device()).startswith("mps")
    return torch.float32 if apple else torch.float64


def shift_matrix(k: int, d_model: int, *, dtype: torch.dtype = torch.float64) -> Tensor:
    """The one matrix (d_model, d_model) that moves every position by k, wherever it stands:

    sinusoidal(n, d_model, start=k) == sinusoidal(n, d_model) @ shift_matrix(k, d_model).

    It turns each pair of columns by k times the frequency of that pair, so it is a rotation; k may
    be negative. An odd d_model has a sine without its cosine, which no matrix can shift.
    """
    check_whole("k", k, -FARTHEST, FARTHEST)
    _check_code(d_model, dtype)
    if d_model % 2:
        raise ValueError(f"d_model: got {d_model}, expected an even number")
    check_numel("d_model", (d_model, d_model), LARGEST_OF_FLOATS)
    angles = k * frequencies(d_model, dtype=torch.float64)
    cos, sin = angles.cos().to(dtype), angles.sin().to(dtype)
    turn = torch.stack((cos, -sin, sin, cos), dim=-1).view(-1, 2, 2)  # (d_model / 2, 2, 2)
    matrix: Tensor = torch.block_diag(*turn)  # type: ignore[no-untyped-call]
    return matrix  # (d_model, d_model)


class SinusoidalPositions(nn.Module):
    """Adds the sine code to what comes in; nothing to learn, and no longest length."""

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """x (batch, seq_len, d_model) with the code of positions start, start + 1, … added."""
        check_shape("x", x, ("batch", "seq_len", "d_model"))
        check_floats("x", x)
        _, seq_len, d_model = x.shape
        return x + sinusoidal(seq_len, d_model, start=start, dtype=x.dtype, device=x.device)


class LearnedPositions(nn.Module):
    """Adds one learned vector for each position up to max_len."""

    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        check_widths(d_model=d_model)
        check_sizes(max_len=max_len, most=ROWS)
        self.max_len, self.d_model = int(max_len), int(d_model)
        self.weight = nn.Parameter(torch.empty(max_len, d_model))
        nn.init.normal_(self.weight, std=math.sqrt(0.5))  # as strong as the sine code

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """x (batch, seq_len, d_model) with the vectors of positions start, start + 1, … added."""
        check_input("x", x, ("batch", "seq_len", self.d_model), self)
        check_positions("x", start, x.size(1), self.max_len)
        return x + self.weight[start : start + x.size(1)]

    def extra_repr(self) -> str:
        """The two sizes."""
        return f"max_len={self.max_len}, d_model={self.d_model}"
