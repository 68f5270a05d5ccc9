"""Figures on pages: a drawing that a page shows becomes part of it, and follows its colours."""

from __future__ import annotations

import re
from pathlib import Path

_IMAGE = re.compile(
    r'<p><img alt="(?P<caption>[^"]+)" src="[^"]*?(?P<path>figures/[^"]+\.svg)" ?/></p>'
)


def inline(html: str, folder: Path) -> str:
    """The page with each drawing that is a paragraph of its own in place, above its caption.

    The drawings lie in `figures` in the folder of the page's language.
    """

    def drawn(match: re.Match[str]) -> str:
        file = folder / match["path"]
        if not file.exists():  # MkDocs has said so already
            return match[0]
        svg = file.read_text(encoding="utf-8").rstrip()
        width = re.search(r' width="([\d.]+)"', svg)
        size = f' style="--width: {width[1]}"' if width else ""
        # What is drawn is not what a search should quote; the caption is.
        return (
            f'<figure class="drawn"{size}><div data-search-exclude>{svg}</div>'
            f"<figcaption>{match['caption']}</figcaption></figure>"
        )

    return _IMAGE.sub(drawn, html)
