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
    """The sine code of sixteen columns, from a position on."""
    return sinusoidal(seq_len, 16, start=start)


PROGRAMS = {
    "sinusoidal": Program(code, {"seq_len": Number("seq_len"), "start": Number("start")}),
    "rotary_halves": Program(Rotary(8), _TURNED),
    "rotary_pairs": Program(Rotary(8, layout="pairs"), _TURNED),
}
