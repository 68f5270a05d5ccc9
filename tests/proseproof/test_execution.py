"""Bad blocks fail on their own, with a line, and leave the next one alone."""

import os
import random
import signal

import pytest
import torch
from sample_site import Site, places

from proseproof import execution


@pytest.mark.parametrize(
    ("code", "line", "word"),
    [
        ("import sys\nsys.exit(3)", 3, "leaves the interpreter"),
        ("exit()", 2, "leaves the interpreter"),
        ("for n in range(10**6):\n    print('x' * 100)", 3, "prints more than"),
        ("import os\nos.chdir('/')", 1, "working directory"),
        ("import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()", 4, "window"),
        ("import webbrowser\nwebbrowser.open('https://example.org')", 3, "window"),
        ("x = (", 2, "SyntaxError"),
        ("def f():\n    return 1 / 0\n\nf()", 3, "ZeroDivisionError"),
        ("import json\njson.loads('{')", 3, "JSONDecodeError"),
        ("input()", 2, ""),
    ],
)
def test_block_that_misbehaves_is_caught_at_its_line(
    site: Site, code: str, line: int, word: str
) -> None:
    findings = site.page(f"```python\n{code}\n```\n")
    assert places(findings) == [f"README.md:{line}"]
    assert word in findings[0].message


def test_traceback_shows_the_lines_of_the_page(site: Site) -> None:
    text = (
        "Text\n\n- item\n\n    ```python\n    def f():\n        return 1 / 0\n\n    f()\n    ```\n"
    )
    (finding,) = site.page(text)
    assert 'File "README.md", line 9, in <module>\n    f()' in finding.detail
    assert 'File "README.md", line 7, in f\n    return 1 / 0' in finding.detail
    assert "proseproof" not in finding.detail


@pytest.mark.parametrize(
    "code",
    [
        "import random\nrandom.seed(1)",
        "import torch\ntorch.manual_seed(1)",
        "import torch\ntorch.set_default_dtype(torch.float64)",
        "import torch\ntorch.set_grad_enabled(False)",
        "import torch\ntorch.set_printoptions(precision=1)",
        "import torch\ntorch.set_default_device('meta')",
        "import numpy\nnumpy.random.seed(1)",
        "import os\nos.environ['HEADS'] = '8'",
        "import sys\nsys.path.append('/nowhere')",
        "import sys, io\nsys.stdout = io.StringIO()",
        "import warnings\nwarnings.simplefilter('error')",
        "import matplotlib\nmatplotlib.rcParams['font.size'] = 99",
    ],
)
def test_block_cannot_change_anything_for_the_next(site: Site, code: str) -> None:
    def state() -> list[object]:
        import sys
        import warnings

        import matplotlib
        import numpy

        return [
            random.getstate(),
            torch.get_rng_state().tolist(),
            torch.get_default_dtype(),
            torch.is_grad_enabled(),
            str(torch.tensor([0.123456])),
            torch.get_default_device(),
            numpy.random.get_state()[1].tolist(),  # type: ignore[index,union-attr]
            dict(os.environ),
            list(sys.path),
            sys.stdout,
            list(warnings.filters),
            dict(matplotlib.rcParams),
            os.getcwd(),
        ]

    before = state()
    assert site.page(f"```python\n{code}\n```\n") == []
    assert state() == before


FRESH = """
```python
from __future__ import annotations

import inspect
import pickle
from dataclasses import dataclass


@dataclass
class A:
    x: int

    def go(self):
        return 1


assert pickle.loads(pickle.dumps(A(1))) == A(1)
assert inspect.getsource(A.go).strip().startswith("def go")
assert inspect.getsource(A).startswith("@dataclass")
if __name__ == "__main__":
    ok = A(2)
```

Here `ok.x == 2`.
"""


def test_what_blocks_need_of_a_fresh_interpreter_is_there(site: Site) -> None:
    assert site.page(FRESH) == []


def test_block_starts_from_an_empty_namespace(site: Site) -> None:
    text = "```python\nleft = 1\n```\n\n```python\nleft\n```\n"
    assert places(site.page(text)) == ["README.md:6"]


def test_files_written_by_a_block_stay_out_of_the_project(site: Site) -> None:
    assert site.page("```python\nn = open('a.txt', 'w').write('a')\n```\n") == []
    assert not (site.root / "a.txt").exists()


def test_block_starts_in_an_empty_folder(site: Site) -> None:
    write = "import os\nn = open('a.txt', 'w').write('a')\nos.makedirs('b/c')\n"
    assert site.page(f"```python\n{write}x = open('a.txt').read()\n```\n") == []
    findings = site.page(f"```python\n{write}```\n\n```python\nx = open('a.txt').read()\n```\n")
    assert places(findings) == ["README.md:8"]
    assert "FileNotFoundError" in findings[0].message
    assert (
        site.page(
            f"```python\n{write}```\n\n```python\nos = __import__('os')\n"
            "assert not os.listdir()\n```\n"
        )
        == []
    )


def test_endless_block_is_stopped_at_its_line(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "SECONDS", 1)
    (finding,) = site.page("```python\nn = 0\nwhile True:\n    n += 1\n```\n")
    assert finding.line in (3, 4)
    assert "runs for more than 1 seconds" in finding.message
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
