"""Tables of numbers as cells of colour, and the strip that says which colour is which number."""

import matplotlib
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FormatStrFormatter
from torch import Tensor

from headwise._check import show
from headwise.drawing.figure import HUES
from headwise.drawing.from_matplotlib import axes_at

# The share of the hue in a full cell. The ground shows through the rest, so that a number written
# in the page's own ink stays readable on it.
FULL = 0.55


def panels_of(name: str, x: Tensor) -> Tensor:
    """(panel, row, column) from two or three axes, as numbers that can be drawn."""
    if x.dim() not in (2, 3) or x.numel() == 0:
        raise ValueError(
            f"{name}: got shape {show(x.shape)}, expected two or three axes, not empty"
        )
    panels = (x if x.dim() == 3 else x[None]).detach().double().cpu()
    if not panels.isfinite().all():
        raise ValueError(f"{name}: got numbers that are not finite, expected finite ones")
    return panels


def cell_size(count: int) -> float:
    return min(34.0, max(320 / count, 4.0))


def paint(
    axes: Axes,
    panel: Tensor,
    most: float,
    extent: tuple[float, float, float, float] | None = None,
) -> None:
    """Fill the cells: the larger the number, the less of the ground shows through."""
    blue, orange = (torch.tensor(matplotlib.colors.to_rgb(HUES[hue])) for hue in ("blue", "orange"))
    colour = torch.where(panel[..., None] < 0, orange, blue).double()
    opacity = FULL * panel.abs() / (most or 1.0)
    cells = torch.cat([colour, opacity[..., None]], dim=-1)  # (rows, columns, 4)
    axes.imshow(cells.numpy(), interpolation="none", aspect="auto", extent=extent)


def scale(canvas: Canvas, left: float, top: float, height: float, low: float, high: float) -> None:
    """A strip that says which colour is which number."""
    axes = axes_at(canvas, left, top, 12, height)
    strip = torch.linspace(high, low, 64, dtype=torch.float64)[:, None]
    paint(axes, strip, max(abs(low), abs(high)), (0.0, 1.0, low, high))
    axes.set_xticks([])
    axes.yaxis.tick_right()
    axes.set_yticks([low, (low + high) / 2, high])
    axes.yaxis.set_major_formatter(FormatStrFormatter("%.2f"))
