"""Diagrams drawn from what a run has done.

Shapes come from a trace, numbers from tensors, and what an attention is fed from watching it at
work, so that no diagram says what the code does not do. Each function returns a Figure, as in
`headwise.drawing.plot`, narrow enough for a phone, and stands in the file that is called after
what it draws.
"""

from headwise.drawing.add_norm import add_norm
from headwise.drawing.arrows import arrows
from headwise.drawing.attentions import attentions
from headwise.drawing.beside import beside
from headwise.drawing.blocks import blocks
from headwise.drawing.decoding import decoding
from headwise.drawing.dependence import dependence
from headwise.drawing.devices import devices
from headwise.drawing.flow import flow
from headwise.drawing.gaze import gaze
from headwise.drawing.given_wanted import given_wanted
from headwise.drawing.gradients import gradients
from headwise.drawing.hands import hands
from headwise.drawing.heads import merge, split
from headwise.drawing.masks import masks
from headwise.drawing.memory import memory
from headwise.drawing.norms import norms
from headwise.drawing.packed import packed
from headwise.drawing.parameter_bytes import parameter_bytes
from headwise.drawing.paths import paths
from headwise.drawing.ranks import ranks
from headwise.drawing.teacher_forcing import teacher_forcing
from headwise.drawing.tiles import tiles
from headwise.drawing.timeline import timeline

__all__ = [
    "add_norm",
    "arrows",
    "attentions",
    "beside",
    "blocks",
    "decoding",
    "dependence",
    "devices",
    "flow",
    "gaze",
    "given_wanted",
    "gradients",
    "hands",
    "masks",
    "memory",
    "merge",
    "norms",
    "packed",
    "parameter_bytes",
    "paths",
    "ranks",
    "split",
    "teacher_forcing",
    "tiles",
    "timeline",
]
