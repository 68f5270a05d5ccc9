"""A finished picture with its words, its twin in the other language, and its hues."""

import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

from headwise.drawing.checks import called, check_kind, check_text
from headwise.drawing.words import PUNCTUATION, choose, drawable

P = ParamSpec("P")

# Hues of middling lightness: each stands out from white and from near-black alike.
HUES = {"blue": "#2f7fd0", "orange": "#c8642c", "green": "#2b8a57", "purple": "#a05bc0"}


@dataclass(frozen=True)
class Figure:
    """A finished picture: its SVG, and what it shows in words.

    In a notebook it appears as the SVG, and as the words where there are no pictures. Its twin
    is the same picture in the other language, so that one run serves a notebook in both.
    """

    svg: str
    alt: str
    lang: str = "en"
    twin: "Figure | None" = None

    def __post_init__(self) -> None:
        """Words are words, and of a known language."""
        check_text("svg", self.svg)
        try:
            self.svg.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"svg: got {error}, expected what a file can hold") from error
        check_text("alt", self.alt)
        choose(PUNCTUATION, self.lang)
        if self.twin is not None:
            check_kind("twin", self.twin, Figure, "a Figure")

    def save(self, path: str | Path) -> None:
        """Write the SVG to a file, whose directory is there."""
        if not isinstance(path, str | Path):
            raise TypeError(f"path: got {called(path)}, expected a path")
        try:
            Path(path).write_text(self.svg + "\n", encoding="utf-8")
        except (OSError, ValueError) as error:
            raise ValueError(
                f"path: got {str(path)!r}, expected a file in a directory that exists: {error}"
            ) from error

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        bundle: dict[str, Any] = {"image/svg+xml": self.svg, "text/plain": self.alt}
        if self.twin:
            twin = {"lang": self.twin.lang, "svg": self.twin.svg, "alt": self.twin.alt}
            bundle["application/vnd.headwise.twin+json"] = twin
        return bundle


def with_twin(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Draw the figure a second time, in the other language, as the first one's twin."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Figure:
        figure = draw(*args, **kwargs)
        kwargs["lang"] = "en" if figure.lang == "zh" else "zh"
        return replace(figure, twin=draw(*args, **kwargs))

    return drawn


def finished(
    root: ET.Element, width: str, height: str, *, title: str, alt: str, lang: str
) -> Figure:
    """The drawing as a Figure: with its size, its words, and the page's ink by default."""
    title, alt = drawable(title), drawable(alt)
    root.attrib = {
        "xmlns": "http://www.w3.org/2000/svg",
        "viewBox": f"0 0 {width} {height}",
        "width": width,
        "height": height,
        "role": "img",
        "aria-label": alt,
        "lang": lang,
        "fill": "currentColor",
        "font-family": "sans-serif",
        "font-size": "12px",
        "stroke-linejoin": "round",
        "style": "max-width: 100%; height: auto",
    }
    # No desc element beside the label: a screen reader would say the same words twice.
    name = ET.Element("title")
    name.text = title
    root.insert(0, name)
    return Figure(ET.tostring(root, encoding="unicode"), alt, lang)
