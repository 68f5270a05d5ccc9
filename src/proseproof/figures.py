"""Figures that a block draws: the file on the page has to be what the code gives."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from proseproof.execution import Run
from proseproof.finding import Finding, diff


def drawn(figure: Any) -> str:
    """A matplotlib figure as SVG that is the same each time it is drawn."""
    import matplotlib

    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "proseproof", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def check(root: Path, page: str, line: int, name: str, path: str, run: Run) -> list[Finding]:
    """`<!--proseproof: figure NAME path.svg-->`: the variable NAME draws that file."""
    remedy = "python -m proseproof update"
    try:
        true = drawn(eval(name, dict(run.namespace)))
    except Exception as error:
        message = f"the figure {name}: {type(error).__name__}: {error}"
        return [Finding(page, line, message)]
    file = root / path
    shown = file.read_text(encoding="utf-8") if file.is_file() else ""
    if shown == true:
        return []
    message = f"{path} is not what the block draws" if shown else f"there is no {path}"
    return [Finding(page, line, message, "\n".join(diff(shown, true).splitlines()[:12]), remedy)]
