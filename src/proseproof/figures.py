"""Figures that code draws: what is shown has to be what the code gives."""

from __future__ import annotations

import ast
import importlib
import io
import re
from collections.abc import Iterable
from typing import Any

from proseproof import interpreter_state
from proseproof.messages import Finding, diff
from proseproof.settings import Settings


class FigureError(ValueError):
    """An expression that draws no figure; the remedy says what to do about it."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


def drawn(figure: Any, path: str = "") -> str:
    """A figure as SVG, the same each time it is drawn: its own, or matplotlib's.

    For a path such as docs/en/figures/split.svg it is the figure, or its twin, in that language.
    """
    if not hasattr(figure, "savefig") and "image/svg+xml" not in _bundle(figure):
        remedy = "let it end with a call that draws"
        raise FigureError(f"it gives a value of type {type(figure).__name__}, not a figure", remedy)
    named = re.search(r"/([a-z]{2})/", path)
    if named:
        versions = [figure, getattr(figure, "twin", None)]
        spoken = [one for one in versions if getattr(one, "lang", None) == named[1]]
        if not spoken:
            message = f"it does not come in {named[1]!r}, which {path} is for"
            raise FigureError(message, "give the figure a twin in that language")
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


def draw(expression: str, path: str, values: dict[str, Any], modules: Iterable[str]) -> str:
    """What the expression draws for that path, as SVG; a FigureError says why it draws nothing.

    It knows the values of its block, and the modules, each by the last part of its name. Random
    numbers are the same each time, and what it changes for everybody is put back.
    """
    homes = {module.rpartition(".")[2]: module for module in modules}
    with interpreter_state.restored():
        interpreter_state.seed(0)
        try:
            tree = ast.parse(expression, mode="eval")
            names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            # Only those that it needs: what draws is slow to import.
            needed = names & homes.keys() - values.keys()
            found = {name: importlib.import_module(homes[name]) for name in needed}
            return drawn(eval(compile(tree, path, "eval"), found | values), path)
        except SyntaxError as error:
            remedy = "write one expression, then the path: figure plot.lines(x) docs/x.svg"
            raise FigureError(f"it does not parse: {error.msg}", remedy) from error
        except NameError as error:
            if error.name not in names:  # raised by what draws, not by what the page says
                raise FigureError(f"NameError: {error}", "") from error
            known = f", or a module of `drawing` in [tool.proseproof]: {', '.join(homes)}"
            remedy = "use a variable of the block below" + (known if homes else "")
            raise FigureError(str(error), remedy) from error
        except FigureError:
            raise
        except Exception as error:
            raise FigureError(f"{type(error).__name__}: {error}", "") from error


def check(
    settings: Settings, page: str, line: int, expression: str, path: str, values: dict[str, Any]
) -> list[Finding]:
    """`<!--proseproof: figure EXPRESSION path.svg-->`: the expression draws that file."""
    try:
        true = draw(expression, path, values, settings.drawing)
    except FigureError as error:
        return [Finding(page, line, f"the figure {expression}: {error}", remedy=error.remedy)]
    file = settings.root / path
    shown = file.read_text(encoding="utf-8") if file.is_file() else ""
    if shown == true:
        return []
    message = f"{path} is not what {expression} draws" if shown else f"there is no {path}"
    detail = "\n".join(diff(shown, true).splitlines()[:12])
    return [Finding(page, line, message, detail, "python -m proseproof update")]
