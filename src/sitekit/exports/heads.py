"""Splitting a width into heads, and merging them again."""

from __future__ import annotations

from headwise.heads import merge_heads, split_heads
from sitekit.graph_inputs import Floats, Number
from sitekit.graphs import Program

PROGRAMS = {
    "split_heads": Program(
        split_heads,
        {"x": Floats("batch", "seq_len", "num_heads*d_k"), "num_heads": Number("num_heads")},
    ),
    "merge_heads": Program(merge_heads, {"x": Floats("batch", "num_heads", "seq_len", "d_k")}),
}
