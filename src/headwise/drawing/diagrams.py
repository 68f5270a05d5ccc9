"""Diagrams drawn from what a run has done: data flow, split and merge, masks, norms, decoding.

Shapes come from a trace, numbers from tensors, and what an attention is fed from watching it at
work, so that no diagram says what the code does not do. Each function returns a Figure, as in
`headwise.drawing.plot`, narrow enough for a phone, and stands in the file that is called after
what it draws.
"""

from headwise.drawing.add_norm import add_norm
from headwise.drawing.attentions import attentions
from headwise.drawing.decoding import decoding
from headwise.drawing.flow import flow
from headwise.drawing.given_wanted import given_wanted
from headwise.drawing.gradients import gradients
from headwise.drawing.heads import merge, split
from headwise.drawing.masks import masks
from headwise.drawing.norms import norms
from headwise.drawing.packed import packed
from headwise.drawing.paths import paths

__all__ = [
    "add_norm",
    "attentions",
    "decoding",
    "flow",
    "given_wanted",
    "gradients",
    "masks",
    "merge",
    "norms",
    "packed",
    "paths",
    "split",
]
