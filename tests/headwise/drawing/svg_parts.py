"""What a drawing is made of, for tests to look at."""

import base64
import io
import re
import xml.etree.ElementTree as ET
from itertools import pairwise

from PIL import Image
from torch import nn

from headwise.drawing.figure import Figure


def elements(figure: Figure, tag: str = "") -> list[ET.Element]:
    """All elements of the drawing, or those of one kind."""
    found = list(ET.fromstring(figure.svg).iter())
    return [one for one in found if not tag or one.tag.endswith("}" + tag)]


def texts(figure: Figure) -> list[str]:
    return [one.text or "" for one in elements(figure, "text")]


def cells(figure: Figure) -> list[tuple[str, str]]:
    """Each number that stands in a frame, with the colour of the frame."""
    children = list(ET.fromstring(figure.svg))
    return [
        (text.text or "", box.get("fill") or "")
        for box, text in pairwise(children)
        if box.tag.endswith("rect") and text.tag.endswith("text")
    ]


def pictures(figure: Figure) -> list[Image.Image]:
    """The pictures inside the SVG: one a heat map, and one for a scale."""
    found = re.findall(r"data:image/png;base64,\s*([^\"]+)", figure.svg)
    return [Image.open(io.BytesIO(base64.b64decode(one))).convert("RGBA") for one in found]


def hooks(module: nn.Module) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in module.modules())
