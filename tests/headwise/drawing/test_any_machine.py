"""Any machine: other threads and other vector units change no byte of a drawing or of its words."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

pytestmark = pytest.mark.no_cover  # each drawing has tests of its own

# Beside this process, with four threads: each other vector unit, with one thread and with four.
MACHINES: tuple[dict[str, str], ...] = (
    {"OMP_NUM_THREADS": "1", "ATEN_CPU_CAPABILITY": "avx2"},
    {"OMP_NUM_THREADS": "4", "ATEN_CPU_CAPABILITY": "default"},
)


def drawn_on(machine: dict[str, str]) -> str:
    """What this file prints in a process of its own, under these settings."""
    run = subprocess.run(
        [sys.executable, __file__],
        # More threads than cores would else spend their time on waiting.
        env=os.environ | machine | {"OMP_WAIT_POLICY": "passive"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_every_machine_draws_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    torch.set_num_threads(4)
    main()
    first = capsys.readouterr().out
    assert len(first.splitlines()) == len(set(first.splitlines())) > 40
    for machine in MACHINES:
        assert drawn_on(machine) == first, machine


# What follows runs here, and in the processes that the test starts.


def attention(dtype: torch.dtype) -> torch.Tensor:
    """The weights of four heads for a sentence in which a word comes twice."""
    from headwise import MultiHeadAttention

    torch.manual_seed(0)
    tokens = nn.Embedding(5, 32)(torch.tensor([[0, 1, 2, 3, 0, 4]])).to(dtype)
    weights = MultiHeadAttention(32, 4).to(dtype)(tokens, need_weights=True)[1]
    return weights[0]  # (4, 6, 6)


def trained() -> torch.Tensor:
    """What the heads of the translator look at."""
    from headwise.models import translator

    model = translator.load()
    src, tgt = translator.encode(["二百三十五"]), translator.encode_words(["two hundred"])
    with torch.no_grad():
        return model(src, tgt, need_weights=True)[1].memory[1][0]  # (4, words, characters)


def gradients() -> torch.Tensor:
    """The norms of what comes back through an RNN."""
    torch.manual_seed(0)
    x = torch.randn(4, 60, 32, dtype=torch.float64, requires_grad=True)
    nn.RNN(32, 32, batch_first=True).double()(x)[0][:, -1].sum().backward()
    assert x.grad is not None
    return x.grad.norm(dim=-1).mean(dim=0)


def main() -> None:
    """Draw everything and print a hash of each drawing, of its twin and of their words."""
    from sample_figures import DIAGRAMS

    from headwise.drawing import diagrams, plot
    from headwise.positional import sinusoidal

    words, labels = ["the", "cat", "sat", "on", "the", "mat"], {"x_label": "x", "y_label": "y"}
    codes = sinusoidal(24, 64)
    torch.manual_seed(0)
    dots = torch.randn(300, 64) @ torch.randn(64)
    largest = torch.randn(20, 16, 64, dtype=torch.float64).softmax(dim=-1).amax(dim=-1).mean(dim=-1)
    computed = {
        "attention": plot.heatmap(attention(torch.float64), words),
        "one head": plot.heatmap(attention(torch.float32)[0], words),
        "translator": plot.heatmap(trained()),
        "even": plot.heatmap(torch.zeros(1, 3, 8).softmax(dim=-1)),
        "similar": plot.heatmap(codes @ codes.T / 32, axes=("p", "q")),
        "mask": plot.mask_picture(attention(torch.float32) > 1 / 6, words),
        "encoding": plot.positions(codes),
        "lines": plot.lines({"largest": largest, "sorted": largest.sort()[0]}, **labels),
        "gradients": plot.lines({"RNN": gradients()}, log_y=True, **labels),
        "histogram": plot.histogram({"dots": dots}, x_label="q · k"),
        "bars": diagrams.gradients({"RNN": gradients()}, [1, 10, 50]),
    }
    diagrams_too = {f"diagram: {name}": draw() for name, draw in DIAGRAMS.items()}
    for name, figure in (computed | diagrams_too).items():
        for one in (figure, figure.twin):
            assert one is not None
            parts = (hashlib.sha256(part.encode()).hexdigest()[:12] for part in (one.svg, one.alt))
            print(name, one.lang, *parts)


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parent))
    main()
