"""The site's figures: heat maps, masks, positions, lines and histograms, each with its alt text.

Every function returns a Figure: an SVG that takes its ink from the page (currentColor), so that
it reads on a light and on a dark ground, and an alt text made from the same numbers. Nothing
needs a display. This module needs matplotlib, and what draws here is all of headwise that does.
"""

from headwise.drawing.figure import Figure
from headwise.drawing.from_matplotlib import from_matplotlib
from headwise.drawing.heatmap import heatmap, mask_picture
from headwise.drawing.histogram import histogram
from headwise.drawing.lines import lines
from headwise.drawing.positions import positions

__all__ = [
    "Figure",
    "from_matplotlib",
    "heatmap",
    "histogram",
    "lines",
    "mask_picture",
    "positions",
]
