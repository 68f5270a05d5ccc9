"""Tables of numbers as cells of colour, and the strip that says which colour is which number."""

import torch
from torch import Tensor

from headwise._check import show
from headwise.drawing.checks import check_tensor, real_numbers
from headwise.drawing.figure import HUES
from headwise.drawing.from_matplotlib import Axes, Canvas, axes_at
from headwise.drawing.rounding import NOTHING, two_decimals

# The share of the hue in a full cell. The ground shows through the rest, so that a number written
# in the page's own ink stays readable on it.
FULL = 0.55
MOST = 2**22  # cells: half a minute and 8 MB


def panels_of(name: str, x: Tensor) -> Tensor:
    """(panel, row, column) from two or three axes, as numbers that can be drawn."""
    check_tensor(name, x)
    if x.dim() not in (2, 3) or x.numel() == 0:
        raise ValueError(
            f"{name}: got shape {show(x.shape)}, expected two or three axes, not empty"
        )
    if x.numel() > MOST:
        raise ValueError(f"{name}: got shape {show(x.shape)}, expected at most {MOST:,} numbers")
    panels = real_numbers(name, x)
    return panels if x.dim() == 3 else panels[None]


def without_rounding(panel: Tensor) -> Tensor:
    """The panel with zeros where rounding has left next to nothing, which still has a sign."""
    return panel.where(panel.abs() > NOTHING * panel.abs().max(), 0.0)


def cell_size(count: int) -> float:
    return min(34.0, max(320 / count, 4.0))


def paint(
    axes: Axes,
    panel: Tensor,
    most: float,
    extent: tuple[float, float, float, float] | None = None,
) -> None:
    """Fill the cells: the larger the number, the less of the ground shows through."""
    blue, orange = (_rgb(HUES[name]) for name in ("blue", "orange"))
    panel = without_rounding(panel)
    colour = torch.where(panel[..., None] < 0, orange, blue).double()
    opacity = FULL * panel.abs() / (most or 1.0)
    cells = torch.cat([colour, opacity[..., None]], dim=-1)  # (rows, columns, 4)
    axes.imshow(cells.numpy(), interpolation="none", aspect="auto", extent=extent)


def scale(canvas: Canvas, left: float, top: float, height: float, low: float, high: float) -> None:
    """A strip that says which colour is which number."""
    if low == high:  # the strip then goes to zero, or from zero to one
        low, high = min(low, 0.0), max(high, 0.0 if low else 1.0)
    axes = axes_at(canvas, left, top, 12, height)
    strip = torch.linspace(high, low, 64, dtype=torch.float64)[:, None]
    paint(axes, strip, max(abs(low), abs(high)), (0.0, 1.0, low, high))
    axes.set_xticks([])
    axes.yaxis.tick_right()
    ticks = [low, (low + high) / 2, high]
    axes.set_yticks(ticks, [two_decimals(tick) for tick in ticks])


def _rgb(colour: str) -> Tensor:
    """The three parts of a colour such as #2f7fd0, from 0 to 1."""
    return torch.tensor([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
