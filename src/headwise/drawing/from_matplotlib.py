"""A matplotlib figure as the site shows it: small, deterministic, in the page's ink."""

import hashlib
import io
import re
import threading
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager

from headwise.drawing.checks import check_kind, check_text
from headwise.drawing.figure import Figure, finished
from headwise.drawing.words import PUNCTUATION, choose, drawable

try:
    import matplotlib
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas
    from matplotlib.text import Text
except ModuleNotFoundError as error:
    raise ImportError('plots need matplotlib: pip install "headwise[drawing]"') from error

__all__ = ["Axes", "Canvas", "axes_at", "canvas_of", "from_matplotlib", "style"]

_drawing = threading.RLock()  # matplotlib has one set of settings for all threads


def from_matplotlib(canvas: Canvas, *, title: str, alt: str, lang: str = "en") -> Figure:
    """A matplotlib figure as the site shows it: small, deterministic, black turned into ink.

    Text stays text in the reader's own sans-serif, so Chinese needs no font here. Ids are hashed
    from the content, so that many figures fit on one page.
    """
    choose(PUNCTUATION, lang)
    check_text("title", title)
    check_text("alt", alt)
    check_kind("canvas", canvas, Canvas, "a matplotlib figure")
    title, alt = drawable(title), drawable(alt)
    for text in canvas.findobj(Text):
        lines = text.get_text().split("\n")
        if lines != [drawable(line) for line in lines]:
            raise ValueError(f"canvas: got the text {lines!r}, expected signs that can be drawn")
    buffer = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with style(), warnings.catch_warnings():
        # The browser's fonts draw the text, so what matplotlib's own font lacks is no loss.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        canvas.savefig(buffer, format="svg", transparent=True, metadata=nothing)

    root = ET.fromstring(buffer.getvalue())
    salt = hashlib.sha256(f"{lang}\n{title}\n{alt}\n{buffer.getvalue()}".encode()).hexdigest()[:10]
    _clean(root, salt)
    size = root.attrib["viewBox"].split()[2:]
    return finished(root, size[0], size[1], title=title, alt=alt, lang=lang)


def _clean(root: ET.Element, salt: str) -> None:
    """Drop what a page cannot use, and make what stays short and its own."""
    markup = ET.tostring(root, encoding="unicode")
    used = set(re.findall(r'(?:url\(|href=")#([^)"]+)', markup))
    for parent in root.iter():
        for child in list(parent):
            # A style element would reach every other element on the page.
            if child.tag.endswith("}style"):
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.split("}")[-1]
        element.tail = None
        if element.tag not in ("text", "tspan"):
            element.text = None
        attributes = {key.split("}")[-1]: value for key, value in element.attrib.items()}
        if attributes.get("id") not in used:
            attributes.pop("id", None)
        for key, value in attributes.items():
            if key in ("d", "x", "y", "transform"):
                value = re.sub(r"\d+\.\d+", lambda m: f"{float(m[0]):.2f}", " ".join(value.split()))
            elif key == "id":
                value = f"hw-{salt}-{value}"
            elif key == "href":
                value = re.sub("^#", f"#hw-{salt}-", value)
            elif key == "style":
                value = re.sub("font-family: [^;]*(; |$)|font-size: 12px(; |$)", "", value)
                value = value.replace("#000000", "currentColor")
            attributes[key] = value.replace("url(#", f"url(#hw-{salt}-")
        if attributes.get("transform", "").startswith("rotate(-0 "):
            del attributes["transform"]
        element.attrib = attributes
    _flatten(root)


def _flatten(element: ET.Element) -> None:
    """Take out groups that group nothing, and what cannot be seen: half of the bytes."""
    kept: list[ET.Element] = []
    for child in element:
        _flatten(child)
        if child.tag == "g" and not child.attrib:
            kept += child
        elif (child.attrib.get("style") != "fill: none" and child.tag != "defs") or len(child):
            kept.append(child)
    element[:] = kept


@contextmanager
def style() -> Iterator[None]:
    """Matplotlib's defaults, whatever the machine's own settings, with text kept as text.

    The settings are those of the whole process, so one thread at a time changes them.
    """
    with _drawing, matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(
            {
                "svg.fonttype": "none",
                "svg.hashsalt": "headwise",
                "font.size": 12,
                "text.parse_math": False,  # a token may be a dollar sign
                "axes.spines.top": False,
                "axes.spines.right": False,
            }
        )
        yield


def canvas_of(width: float, height: float) -> Canvas:
    return Canvas(figsize=(width / 72, height / 72))  # matplotlib draws 72 pixels to the inch


def axes_at(canvas: Canvas, left: float, top: float, width: float, height: float) -> Axes:
    """Axes whose place is given in pixels from the upper left corner."""
    whole_width, whole_height = canvas.get_size_inches() * 72
    return canvas.add_axes(
        (
            left / whole_width,
            1 - (top + height) / whole_height,
            width / whole_width,
            height / whole_height,
        )
    )
