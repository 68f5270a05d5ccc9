"""Figures that code draws: what is shown has to be what the code gives."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

from proseproof.messages import Finding, diff


def drawn(figure: Any, path: str = "") -> str:
    """A figure as SVG, the same each time it is drawn: its own, or matplotlib's.

    For a path such as docs/en/figures/split.svg it is the figure, or its twin, in that language.
    """
    named = re.search(r"/([a-z]{2})/", path)
    if named:
        versions = [figure, getattr(figure, "twin", None)]
        spoken = [one for one in versions if getattr(one, "lang", None) == named[1]]
        if not spoken:
            raise ValueError(f"it does not come in {named[1]!r}, which {path} is for")
        figure = spoken[0]
    bundle = _bundle(figure)
    if "image/svg+xml" in bundle:
        return str(bundle["image/svg+xml"]).rstrip("\n") + "\n"
    import matplotlib

    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "proseproof", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def _bundle(value: Any) -> dict[str, Any]:
    """What a value says it looks like, by kind, as notebooks ask for it."""
    if hasattr(value, "_repr_mimebundle_"):
        bundle = value._repr_mimebundle_()
        # The second part of a pair is about the data.
        return dict(bundle[0] if isinstance(bundle, tuple) else bundle)
    kinds = {"image/svg+xml": "_repr_svg_", "text/html": "_repr_html_"}
    return {kind: getattr(value, name)() for kind, name in kinds.items() if hasattr(value, name)}


def displayed(value: Any) -> list[dict[str, Any]]:
    """What a notebook shows for the last value of a cell, in a notebook's form."""
    if value is None:
        return []
    data = _bundle(value)
    if hasattr(value, "savefig") and not data:
        data = {"image/svg+xml": drawn(value)}
    data = data or {"text/plain": repr(value)}
    return [{"output_type": "display_data", "data": data, "metadata": {}}]


def check(
    root: Path, page: str, line: int, name: str, path: str, values: dict[str, Any]
) -> list[Finding]:
    """`<!--proseproof: figure NAME path.svg-->`: the variable NAME draws that file."""
    try:
        true = drawn(eval(name, dict(values)), path)
    except Exception as error:
        return [Finding(page, line, f"the figure {name}: {type(error).__name__}: {error}")]
    file = root / path
    shown = file.read_text(encoding="utf-8") if file.is_file() else ""
    if shown == true:
        return []
    message = f"{path} is not what the block draws" if shown else f"there is no {path}"
    detail = "\n".join(diff(shown, true).splitlines()[:12])
    return [Finding(page, line, message, detail, "python -m proseproof update")]
