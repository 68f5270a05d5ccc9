"""Splitting a width into heads, and merging them again, rightly and by a bare reshape."""

from __future__ import annotations

from headwise.heads import merge_heads, split_heads
from headwise.museum.shapes import merge_without_transpose, split_by_reshape
from sitekit.graph_inputs import Floats, Number
from sitekit.graphs import Program

_WIDE = {"x": Floats("batch", "seq_len", "num_heads*d_k"), "num_heads": Number("num_heads")}
_HEADS = {"x": Floats("batch", "num_heads", "seq_len", "d_k")}

PROGRAMS = {
    "split_heads": Program(split_heads, _WIDE),
    "split_by_reshape": Program(split_by_reshape, _WIDE),
    "merge_heads": Program(merge_heads, _HEADS),
    "merge_without_transpose": Program(merge_without_transpose, _HEADS),
}
