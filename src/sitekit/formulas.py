"""Formulas as MathML, drawn by the browser itself, with a math font cut to what the site uses."""

from __future__ import annotations

import html
import io
import re
import xml.etree.ElementTree as ET
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont
from latex2mathml.converter import convert

_ARITHMATEX = re.compile(
    r'<(span|div) class="arithmatex">(?:\\\(|\\\[)(.+?)(?:\\\)|\\\])</\1>'
    r"([，。；：、！？）”,.;:?!)]*)",
    re.S,
)
_SPACE = "http://www.w3.org/1998/Math/MathML"
ET.register_namespace("", _SPACE)
# A lone letter in <mi> is drawn in math italics, which are characters of their own in the font.
_ITALIC = {chr(ord("A") + i): chr(0x1D434 + i) for i in range(26)}
_ITALIC |= {chr(ord("a") + i): chr(0x1D44E + i) for i in range(26)} | {"h": "\u210e"}
_ITALIC |= {chr(0x3B1 + i): chr(0x1D6FC + i) for i in range(25)}


def mathml(latex: str, *, block: bool) -> str:
    """The formula as a `<math>` element, with its LaTeX source kept for those who copy it."""
    root = ET.fromstring(convert(latex.strip(), display="block" if block else "inline"))
    for element in root.iter():
        # Infinity, and the name of a function, are no operators: they would get an operator's room.
        if _kind(element) == "mo" and re.fullmatch("∞|⊤|[A-Za-z]{2,}", element.text or ""):
            element.tag = f"{{{_SPACE}}}mi"
        # The prime is a raised sign already.
        if _kind(element) == "msup" and element[1].text == "′":
            element.tag, element[1].tag = f"{{{_SPACE}}}mrow", f"{{{_SPACE}}}mo"
    for row in list(root.iter(f"{{{_SPACE}}}mrow")):
        _part_names(row)
    root.set("data-latex", latex.strip())
    return ET.tostring(root, encoding="unicode")


def _kind(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _part_names(row: ET.Element) -> None:
    """Put a thin space between a function's name and what stands beside it, as in p log n."""

    def named(element: ET.Element) -> bool:
        first = element[0] if _kind(element) in ("msub", "msup", "msubsup") else element
        return _kind(first) == "mi" and len(first.text or "") > 1

    parted: list[ET.Element] = []
    for element in row:
        before = parted[-1] if parted else None
        fenced = _kind(element) == "mrow" and len(element) > 0 and element[0].get("fence")
        if (
            before is not None
            and not {"mo", "mspace"} & {_kind(before), _kind(element)}
            and (named(element) or (named(before) and not fenced))
        ):
            parted.append(ET.Element(f"{{{_SPACE}}}mspace", {"width": "0.167em"}))
        parted.append(element)
    row[:] = parted


def draw(page_html: str) -> tuple[str, set[str]]:
    """The page with every formula drawn, and the characters that drawing them takes."""
    characters: set[str] = set()

    def one(match: re.Match[str]) -> str:
        block = match[1] == "div"
        drawn = mathml(html.unescape(match[2]), block=block)
        letters = set(html.unescape(re.sub(r"<[^>]+>", "", drawn)))
        characters.update(letters, (_ITALIC[c] for c in letters if c in _ITALIC), "√")
        # A wide formula scrolls by itself, so a keyboard has to be able to reach it.
        if block:
            return f'<div class="formula" tabindex="0">{drawn}</div>{match[3]}'
        # A browser would let a line begin with the mark behind a formula.
        return f'<span class="kept">{drawn}{match[3]}</span>' if match[3] else drawn

    return _ARITHMATEX.sub(one, page_html), characters


@cache
def font(characters: frozenset[str]) -> bytes:
    """STIX Two Math as WOFF2, cut to these characters and the tall forms of their brackets.

    The root has no tall form: Chromium would leave room for the widest one behind every root.
    """
    # The font comes inside ziamath; importing that would load all of it.
    package = find_spec("ziamath")
    assert package and package.origin, "ziamath is in requirements.txt"
    source = Path(package.origin).parent / "fonts" / "STIXTwoMath-Regular.ttf"
    options = subset.Options(flavor="woff2", layout_features=["ssty"], hinting=False)
    cut = subset.Subsetter(options)
    cut.populate(text="".join(sorted(characters)))
    with TTFont(source, recalcTimestamp=False) as whole:
        cut.subset(whole)
        variants = whole["MATH"].table.MathVariants
        root = variants.VertGlyphCoverage.glyphs.index(whole.getBestCmap()[ord("√")])
        forms = variants.VertGlyphConstruction[root]
        forms.GlyphAssembly, forms.MathGlyphVariantRecord = None, forms.MathGlyphVariantRecord[:1]
        forms.MathGlyphVariantCount = len(forms.MathGlyphVariantRecord)
        whole.flavor = "woff2"
        out = io.BytesIO()
        whole.save(out)
    return out.getvalue()
