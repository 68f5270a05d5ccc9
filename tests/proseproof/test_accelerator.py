"""Blocks for a GPU run on the CPU and, for rehearsal, on a made-up accelerator."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sample_site import Site

from proseproof import accelerator, lab_runner, second_runs
from proseproof.execution import execute
from proseproof.page import Block, Page
from proseproof.project import Project
from proseproof.prover import PageProof
from proseproof.settings import Settings

HEAD = """Text.
```python
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
"""
RIGHT = [
    "x = torch.randn(2, 3, device=device)\nmask = torch.ones(3, dtype=torch.bool, device=device)\n"
    "y = x.masked_fill(mask, 0.0)",
    "layer = nn.Linear(3, 3).to(device)\nassert layer(torch.ones(2, 3, device=device)).sum() != 0",
    "layer = nn.MultiheadAttention(4, 2, batch_first=True).to(device)\n"
    "x = torch.randn(2, 3, 4).to(device)\nout, weights = layer(x, x, x)\nloss = out.sum()\n"
    "loss.backward()\nvalue = loss.item()",
    "layer = nn.Linear(3, 1).to(device)\n"
    "step = torch.optim.AdamW(layer.parameters())\nlayer(torch.ones(2, 3, device=device)).sum()"
    ".backward()\nstep.step()",
    "x = torch.ones(3, device=device)\nassert torch.allclose(x, x) and (x > 0).all()\n"
    "y = x.cpu().numpy()",
    "x = torch.zeros(2, 3, device=device)  # (2, 3)",
    "x = torch.tensor([[1, 2]], device=device)  # (1, 2)\ny = torch.as_tensor([3]).to(device) + x",
    "x = torch.ones(3).pin_memory().to(device, non_blocking=True) if device != 'cpu' else None",
    "layer = nn.Linear(3, 3).to(device)\n"
    "with torch.autocast(device_type=torch.device(device).type, dtype=torch.bfloat16):\n"
    "    y = layer(torch.ones(2, 3, device=device))  # (2, 3)",
    "@torch.autocast(torch.device(device).type, dtype=torch.bfloat16)\ndef twice(x):\n"
    "    return x @ x\n\n\ny = twice(torch.ones(3, 3, device=device))",
    'layer = torch.compile(nn.Linear(3, 3).to(device), backend="eager")\n'
    "y = layer(torch.ones(2, 3, device=device))",
    '@torch.compile(backend="eager")\ndef twice(x):\n    return x + x\n\n\n'
    "y = twice(torch.ones(3, device=device))",
    "x = torch.ones(3, device=device)\nif x.device.type != 'cpu':\n"
    "    start, end = (torch.Event(device, enable_timing=True) for _ in range(2))\n"
    "    start.record()\n    end.record()\n    end.synchronize()\n"
    "    assert start.elapsed_time(end) > 0\n"
    "    torch.accelerator.reset_peak_memory_stats()\n"
    "    assert torch.accelerator.max_memory_allocated() > torch.cuda.device_count()",
    "g = torch.Generator(device).manual_seed(0)\nx = torch.randn(2, device=device, generator=g)\n"
    "y = x.normal_(generator=g)\nz = torch.multinomial(x.abs(), 1, generator=g)",
    "g = torch.Generator().manual_seed(0)\nx = torch.randn(2, generator=g).to(device)\n"
    "order = torch.randperm(5, generator=g)",
    "i = torch.tensor([0, 1], device=device)\nx = torch.zeros(3, device=device)\ny = x[i]\n"
    "x[i] = 1.0\nz = torch.zeros(3)[i.cpu()]\nw = torch.zeros(3)[i[0]]",
    "x = torch.arange(-2.0, 3.0, device=device)\nassert len(x[x > 0].tolist()) == 2\n"
    "rows, = torch.where(x > 0)\nassert rows.shape == x[x > 0].unique().shape",
    "x = torch.zeros(3, device=device)\nwhile x.sum().item() < 3:\n    x = x + 1\n"
    "if x.sum().item() == 0:\n    y = x + torch.ones(3)",
]
WRONG = [
    ("x = torch.randn(2, 3, device=device)\ny = x + torch.ones(3)", 9),
    (
        "x = torch.randn(2, 3, device=device)\n"
        "y = x.masked_fill(torch.ones(3, dtype=torch.bool), 0.0)",
        9,
    ),
    ("layer = nn.Linear(3, 3)\ny = layer(torch.ones(2, 3, device=device))", 9),
    ("layer = nn.Linear(3, 3).to(device)\n\ny = layer(torch.ones(2, 3))", 10),
    ("x = torch.ones(3, device=device)\nok = torch.allclose(x, torch.ones(3))", 9),
    ("x = torch.ones(3, device=device)\ny = x.numpy()", 9),
    ("x = torch.ones(3)", 2),
    ("x = torch.ones(3, device=device)\ny = x + torch.tensor([1, 2, 3])", 9),
    (
        "layer = torch.compile(nn.Linear(3, 3), backend='eager')\n"
        "y = layer(torch.ones(2, 3, device=device))",
        9,
    ),
    (
        "layer = nn.Linear(3, 3).to(device)\n"
        "with torch.autocast(torch.device(device).type, dtype=torch.bfloat16):\n"
        "    y = layer(torch.ones(2, 3))",
        10,
    ),
    (
        "x = torch.ones(3, device=device)\nif x.device.type != 'cpu':\n"
        "    start, end = torch.Event(device), torch.Event(device)\n"
        "    start.record()\n    start.elapsed_time(end)",
        12,
    ),
    ("x = torch.zeros(2, 3, device=device)  # (3, 2)", 8),
    ("g = torch.Generator()\nx = torch.randn(2, device=device, generator=g)", 9),
    ("g = torch.Generator()\nx = torch.randperm(2, device=device, generator=g)", 9),
    ("g = torch.Generator()\nx = torch.ones(2, device=device).normal_(generator=g)", 9),
    (
        "g = torch.Generator()\n"
        "x = torch.multinomial(torch.ones(2, device=device), 1, generator=g)",
        9,
    ),
    ("i = torch.tensor([0, 1], device=device)\nx = torch.zeros(3)[i]", 9),
    ("i = torch.tensor([0, 1], device=device)\nx = torch.zeros(3)\nx[i] = 1.0", 10),
    (
        "x = torch.zeros(3, device=device)\nif x.sum().item() == 0:\n    y = x + torch.ones(3)",
        10,
    ),
    (
        "x = torch.zeros(3, device=device)\nfor _ in range(2):\n    x = x + 1\n"
        "    if x.sum() > 5:\n        y = x + torch.ones(3)",
        12,
    ),
]


@pytest.mark.parametrize("code", RIGHT)
def test_block_that_follows_its_device_is_no_alarm(site: Site, code: str) -> None:
    assert site.page(f"{HEAD}{code}\n```\n") == []


@pytest.mark.parametrize(("code", "line"), WRONG)
def test_tensor_left_behind_is_caught_at_its_line(site: Site, code: str, line: int) -> None:
    findings = site.page(f"{HEAD}{code}\n```\n")
    assert [one.line for one in findings] == [line]


@pytest.mark.parametrize(("rest", "line"), [("torch.ones(3)", 5), ("x", None)])
def test_device_that_the_library_chooses_is_rehearsed(
    site: Site, monkeypatch: pytest.MonkeyPatch, rest: str, line: int | None
) -> None:
    monkeypatch.syspath_prepend(site.root)
    choice = '    return "cuda" if torch.cuda.is_available() else "cpu"\n'
    site.write("choice_of_device.py", f"import torch\n\n\ndef choose():\n{choice}")
    code = "import torch\nfrom choice_of_device import choose\ndevice = choose()\n"
    findings = site.page(f"```python\n{code}x = torch.ones(3).to(device); y = x + {rest}\n```\n")
    assert [one.line for one in findings] == ([line] if line else [])


RAISES = "<!--proseproof: raises RuntimeError: {}-->\n" + HEAD.partition("\n")[2]


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        ("size", "x = torch.ones(3, device=device)\ny = x + torch.ones(2, device=device)", None),
        ("size", "x = torch.ones(3, device=device)\ny = x.view(4)", None),
        (
            "size",
            "x = torch.ones(3, device=device)\nz = x + torch.ones(3)\n"
            "y = x + torch.ones(2, device=device)",
            9,
        ),
        (
            "size",
            "x = torch.ones(3)\nif device == 'cpu':\n    y = x + torch.ones(2)\nz = x.to(device)",
            2,
        ),
        ("size", "x = torch.ones(3, device=device)\ny = (x + torch.ones(3)).view(4)", 9),
    ],
)
def test_error_is_the_same_on_the_accelerator(
    site: Site, words: str, code: str, line: int | None
) -> None:
    findings = site.page(f"{RAISES.format(words)}{code}\n```\n")
    assert [one.line for one in findings] == ([line] if line else [])


LAB = """# %%
import torch
device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
layer = torch.nn.Linear(3, 1).to(device)
# %%
for step in range(100_000 if device != "cpu" else 3):
    loss = layer(torch.randn(2, 3, device=device)).sum()
    loss.backward()
# %%
{}
"""


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("y = layer(torch.ones(3))", 11),
        ("y = layer(torch.ones(3, device=device))", None),
        ("y = [n for n in range(3)][2]\ny = layer(torch.ones(3))", 12),
    ],
)
def test_lab_is_rehearsed_and_its_loops_are_cut_short(
    site: Site, code: str, line: int | None
) -> None:
    site.write("docs/labs/l.py", LAB.format(code))
    findings = lab_runner.run_or_recall(site.proof("docs/labs/l.py"))
    assert [one.line for one in findings] == ([line] if line else [])


def test_lab_whose_loop_cannot_be_cut_is_reported(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accelerator, "LIMIT", 100)
    code = "n = 0\nwhile n < 99:\n    n += 1\n    y = layer(torch.ones(3, device=device))"
    site.write("docs/labs/l.py", LAB.format(code).replace("100_000", "3"))
    (finding,) = lab_runner.run_or_recall(site.proof("docs/labs/l.py"))
    assert "makes more than 100 calls of torch" in finding.message and finding.line == 14


def test_rehearsal_leaves_the_cpu_run_alone(site: Site) -> None:
    head = HEAD.replace('device = "cuda" if torch.cuda.is_available() else "cpu"', 'device = "cpu"')
    findings = site.page(f"{head}x = torch.ones(2)\nprint(x)\n```\n")
    assert "what this block prints is not shown" in findings[0].message


def test_lines_that_made_what_stayed_behind_are_known(site: Site) -> None:
    code = "x = torch.ones(3, device=device)\nmoved = torch.ones(3).to(device)\n"
    code += "layer = nn.Linear(3, 3)\n\ny = layer(x)"
    site.write("README.md", f"{HEAD}{code}\n```\n")
    page = site.project.page("README.md")
    rehearsal = accelerator.Rehearsal("README.md")
    run = execute(page, page.blocks[0], accelerator=accelerator.name(), within=rehearsal.stage())
    assert rehearsal.left == [10] and run.error_line() == 12


# On the real pages, no tensor can stay behind unnoticed: each move to the device is needed.

MOVE = re.compile(r"\.to\(device\)|(?:, )?device=(?:x\.)?device\b")
SETTINGS = Settings.load(Path(__file__).parents[2])
assert SETTINGS is not None
PROJECT = Project(SETTINGS)


def moves() -> Iterator[tuple[str, Page, Block, re.Match[str]]]:
    """Every place at which a GPU block of an English page puts something on the device."""
    for path in PROJECT.paths():
        if path.startswith("docs/en/") and path.endswith(".md"):
            page = PROJECT.page(path)
            for block in page.blocks:
                for move in MOVE.finditer(block.code) if block.gpu else ():
                    line = block.first + block.code.count("\n", 0, move.start())
                    yield f"{path}:{line}", page, block, move


MOVES = list(moves())


def rehearse(page: Page, block: Block) -> str:
    """What the proof says of the block on the made-up accelerator, or nothing."""
    found = second_runs.rehearsed(PageProof(PROJECT, page.path), block)
    return "".join(finding.message for finding in found)


def test_pages_have_gpu_blocks() -> None:
    assert len(MOVES) > 30
    assert len({page.path for _, page, _, _ in MOVES}) >= 5


@pytest.mark.parametrize(
    ("place", "page", "block", "move"), MOVES, ids=[f"{m[0]}-{m[3].start()}" for m in MOVES]
)
def test_move_turned_into_a_comment_fails_and_names_its_line(
    place: str, page: Page, block: Block, move: re.Match[str]
) -> None:
    before, after = block.code[: move.start()], block.code[move.end() :]
    rest, newline, below = after.partition("\n")
    code = f"{before}{rest}  # {move[0]}{newline}{below}"
    said = rehearse(page, replace(block, code=code))
    lines = re.search(r"left on the CPU: what line ([\d, ]+) made", said)
    assert lines and place.rpartition(":")[2] in lines[1].split(", "), said


@pytest.mark.parametrize(
    ("page", "block"),
    {(page.path, block.line): (page, block) for _, page, block, _ in MOVES}.values(),
    ids=lambda one: one.path if isinstance(one, Page) else str(one.line),
)
def test_block_as_it_stands_leaves_nothing_behind(page: Page, block: Block) -> None:
    assert rehearse(page, block) == ""
