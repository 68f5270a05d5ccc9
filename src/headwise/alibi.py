"""ALiBi: no positions in the vectors, but scores that sink with distance, at each head's pace."""

import torch
from torch import Tensor

from headwise._check import check_place, check_widths
from headwise.positional import _widest
from headwise.windows import distances


def slopes(num_heads: int, *, device: torch.device | str | None = None) -> Tensor:
    """How much each head loses from one position to the next, (num_heads,), in double precision.

    For 8 heads 1/2, 1/4, … 1/256; for another power of two, 2 ** (-8 / num_heads) and its powers,
    down to the same 1/256. For other numbers of heads, those of the next lower power of two, and
    then every other one of the next higher, as in the paper's own code.
    """
    check_widths(num_heads=num_heads)
    check_place(device)
    lower = 1 << (int(num_heads).bit_length() - 1)
    powers = [-8.0 * (i + 1) / lower for i in range(lower)]
    powers += [-4.0 * (2 * i + 1) / lower for i in range(num_heads - lower)]
    exponents = torch.tensor(powers, dtype=_widest(device), device=device)
    return torch.exp2(exponents)  # (num_heads,)


def alibi_bias(num_heads: int, queries: Tensor, keys: Tensor) -> Tensor:
    """What to add to the scores, (batch or 1, num_heads, query, key): minus slope * distance.

    Positions are whole numbers, (query,) and (key,), or (batch, query) and (batch, key). A later
    key loses as much as an earlier one at the same distance.
    """
    distance = distances(queries, keys).abs()  # (..., query, key)
    slope = slopes(num_heads, device=distance.device)[:, None, None]
    bias = -slope * distance  # (..., num_heads, query, key)
    return bias if bias.dim() == 4 else bias[None]
