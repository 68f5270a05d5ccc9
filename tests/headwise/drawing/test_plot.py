"""Plots: wrong input is named, and nothing else of the library needs matplotlib."""

import subprocess
import sys

import pytest
import torch
from sample_figures import EN, WEIGHTS

from headwise.drawing import plot

WITHOUT_MATPLOTLIB = """
import importlib, pkgutil, sys
sys.modules["matplotlib"] = None  # as if it were not installed
import headwise
found, refused = [], {}
for module in pkgutil.walk_packages(headwise.__path__, "headwise."):
    try:
        loaded = importlib.import_module(module.name)
    except ImportError as error:
        refused[module.name] = str(error)
    else:
        found += [getattr(loaded, name) for name in getattr(loaded, "__all__", dir(loaded))]
import torch
from headwise.drawing import diagrams
print(diagrams.split(torch.arange(8).view(1, 2, 4), 2).alt[:9])
print(*sorted(refused))
print(*set(refused.values()))
try:
    from headwise.drawing import plot
except ImportError as error:
    print(type(error).__name__, error)
"""


def test_library_needs_matplotlib_for_plots_only() -> None:
    """In a process of its own, where matplotlib cannot be imported."""
    command = [sys.executable, "-c", WITHOUT_MATPLOTLIB]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    drawn, refused, *messages = run.stdout.splitlines()
    assert drawn == "Splitting"
    plots = ("cells", "chart", "from_matplotlib", "heatmap", "histogram", "lines", "plot")
    assert refused.split() == [f"headwise.drawing.{name}" for name in (*plots, "positions")]
    sentence = 'plots need matplotlib: pip install "headwise[drawing]"'
    assert messages == [sentence, f"ImportError {sentence}"]


def test_importing_the_library_does_not_import_matplotlib() -> None:
    code = "import headwise, headwise.transformer, headwise.trace, headwise.museum, sys; "
    code += "import headwise.drawing.diagrams; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plot.heatmap(WEIGHTS, lang="fr"), "lang: got 'fr', expected one of"),
        (lambda: plot.heatmap(WEIGHTS[None]), r"weights: got shape \(1, 2, 4, 4\)"),
        (lambda: plot.heatmap(torch.zeros(0, 4)), r"weights: got shape \(0, 4\)"),
        (lambda: plot.heatmap(WEIGHTS / 0), "weights: got numbers that are not finite"),
        (lambda: plot.heatmap(WEIGHTS, ["a"]), "queries: got 1, expected 4"),
        (lambda: plot.heatmap(WEIGHTS, EN, ["a"]), "keys: got 1, expected 4"),
        (lambda: plot.mask_picture(WEIGHTS), "mask: got dtype torch.float32"),
        (lambda: plot.mask_picture(torch.ones(2, 3, 4, 4).bool()), r"mask: got shape \(2, 3, 4"),
        (lambda: plot.positions(WEIGHTS), r"encoding: got shape \(2, 4, 4\), expected \(seq_len"),
        (lambda: plot.lines({}, x_label="x", y_label="y"), "series: got 0, expected 1 to 4"),
        (
            lambda: plot.lines({"a": [1.0]}, [1.0, 2.0], x_label="x", y_label="y"),
            "series: got 1 values for 'a', expected 2",
        ),
        (
            lambda: plot.lines({"a": [0.0]}, x_label="x", y_label="y", log_y=True),
            "series: got 0.0 in 'a', expected numbers above 0",
        ),
        (lambda: plot.histogram({"a": []}, x_label="x"), "series: got 0 numbers"),
        (lambda: plot.histogram({"a": [1.0]}, x_label="x", bins=0), "bins: got 0"),
    ],
)
def test_wrong_input_is_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
