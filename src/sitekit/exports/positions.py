"""Positions: the sine code, and rotary positions in both layouts."""

from __future__ import annotations

from torch import Tensor

from headwise.positional import sinusoidal
from headwise.rotary import Rotary
from sitekit.graph_inputs import Floats, Integers, Number
from sitekit.graphs import Program

_TURNED = {
    "x": Floats("batch", "num_heads", "seq_len", 8, most=32.0),
    "positions": Integers("seq_len", least=0, most=100),
}


def code(seq_len: int, start: int) -> Tensor:
    """The sine code of eight columns, from a position on."""
    return sinusoidal(seq_len, 8, start=start)


def products(queries: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
    """What each pair of columns adds to the dot products of queries with a key, and these."""
    products = (queries * key).unflatten(-1, (-1, 2)).sum(dim=-1)  # (seq_len, d_k / 2)
    return products, products.sum(dim=-1)


PROGRAMS = {
    "sinusoidal": Program(code, {"seq_len": Number("seq_len"), "start": Number("start")}),
    "rotary_halves": Program(Rotary(8), _TURNED),
    "rotary_pairs": Program(Rotary(8, layout="pairs"), _TURNED),
    "products": Program(products, {"queries": Floats("seq_len", 8), "key": Floats(8)}),
}
