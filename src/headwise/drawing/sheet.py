"""The sheet that diagrams are drawn on: boxes, arrows and words, narrow enough for a phone."""

import math
import xml.etree.ElementTree as ET
from typing import Any

from headwise.drawing.figure import HUES, Figure, finished
from headwise.drawing.words import drawable

WIDTH = 340.0
SMALL, NORMAL = 11.0, 12.0  # sizes of text
BOLD: dict[str, Any] = {"text_anchor": "start", "font_weight": 600}


class Sheet:
    """A drawing that grows downwards; every place is given in pixels."""

    def __init__(self) -> None:
        self.root = ET.Element("svg")
        self.height = 0.0

    def add(self, kind: str, **attributes: object) -> ET.Element:
        named = {
            name.replace("_", "-"): f"{value:g}" if isinstance(value, float) else str(value)
            for name, value in attributes.items()
        }
        return ET.SubElement(self.root, kind, named)

    def text(
        self, x: float, y: float, words: str, size: float = NORMAL, **attributes: object
    ) -> None:
        """Words around the point (x, y); `text_anchor` says whether they begin or end there."""
        if words:
            attributes = {"text_anchor": "middle", "font_size": size} | attributes
            self.add("text", x=x, y=y + size * 0.35, **attributes).text = drawable(words)
            self.height = max(self.height, y + size)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        hue: str | None = None,
        **more: object,
    ) -> None:
        """A frame, filled with some of its hue; without one, in the page's ink."""
        colour, fill = (HUES[hue], 0.16) if hue else ("currentColor", 0.0)
        look = {"fill": colour, "fill_opacity": fill, "stroke": colour, "rx": 4} | more
        self.add("rect", x=x, y=y, width=width, height=height, **look)
        self.height = max(self.height, y + height + 1)

    def tensor(
        self, x: float, y: float, width: float, name: str, shape: str, hue: str | None = None
    ) -> None:
        """A box of two lines: what it is, and its shape."""
        self.box(x, y, width, 40.0, hue)
        self.text(x + width / 2, y + 13, name, font_weight=600)
        self.text(x + width / 2, y + 29, shape)

    def arrow(self, *points: tuple[float, float], **more: object) -> None:
        """A line through the points, with a head at the last one; in the page's ink by default."""
        (x0, y0), (x1, y1) = points[-2:]
        length = math.hypot(x1 - x0, y1 - y0)
        across, down = (x1 - x0) / length, (y1 - y0) / length
        barbs = [
            (x1 - 6 * across - side * 3.5 * down, y1 - 6 * down + side * 3.5 * across)
            for side in (1, -1)
        ]
        path = [points, (barbs[0], (x1, y1), barbs[1])]
        d = " ".join("M" + " L".join(f"{x:g} {y:g}" for x, y in line) for line in path)
        look = {"fill": "none", "stroke": "currentColor", "stroke_opacity": 0.7} | more
        self.add("path", d=d, **look)

    def figure(self, title: str, alt: str, lang: str) -> Figure:
        return finished(
            self.root, f"{WIDTH:g}", f"{math.ceil(self.height)}", title=title, alt=alt, lang=lang
        )


def hue_of(i: int) -> str:
    return list(HUES)[i % len(HUES)]
