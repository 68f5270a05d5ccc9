"""A shape at the end of a line is asserted whenever the line runs."""

import copy
import importlib
import inspect
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from sample_site import Site, places

from proseproof import shape_comments


@pytest.mark.parametrize(
    "line",
    [
        "y = x  # (2, 3, 4)",
        "y = x  # (batch, seq_len, d_model)",
        "y = x.flatten(1)  # (batch, seq_len * d_model)",
        "y = x.view(2, 3, 1, 4)  # (batch, seq_len, h, d_model / h)",
        "y = x  # (..., 4)",
        "y = x  # (batch, ...)",
        "y = x.sum()  # ()",
        "y = x[:1]  # (1, ...)",
        "y, z = x, x  # (batch, seq_len, d_model)",
        "y, z = x, x[0]  # ((batch, seq_len, d_model), (seq_len, d_model))",
        "box.y = x  # (batch, seq_len, d_model)",
        "x += 1  # (batch, seq_len, d_model)",
        "x.flatten()  # (24,)",
        "x.shape  # (2, 3, 4)",
        "y = (\n    x.flatten(1)  # (batch, 12)\n    .transpose(0, 1)  # (12, batch)\n)",
        "y = torch.cat([\n    x,  # (2, 3, 4)\n    x,\n])  # (4, 3, 4)",
        "y = x.tolist()  # (batch, seq_len, d_model) because words follow",
        "y = x  # [2, 3, 4]",
        "y = x  # [batch, seq_len, d_model]",
        "y = x  # torch.Size([2, 3, 4])",
        "y = x.shape  # Size([2, 3, 4])",
        "y = x[0, 0, :2].int().tolist()  # [0, 0]",
        "y = x; z = x.flatten()  # (24,)",
        "if True: y = x; z = x.flatten();  # (24,)",
    ],
)
def test_true_shape_comment_passes(site: Site, line: str) -> None:
    code = "import torch\nclass Box: pass\nbox = Box()\nbatch = 2\nx = torch.zeros(2, 3, 4)\n"
    code += "def f(x, seq_len=3, d_model=4, h=1):\n" + "".join(
        f"    {one}\n" for one in [*line.split("\n"), "return x"]
    )
    words = "words follow" in line
    assert [one.line for one in site.page(f"```python\n{code}f(x)\n```\n")] == [8] * words


@pytest.mark.parametrize(
    "line",
    [
        "y = x  # (2, 3, 5)",
        "y = x  # (seq_len, batch, d_model)",
        "y = x  # (batch, n, n)",
        "y = x  # [2, 4, 3]",
        "y = x  # [batch, d_model, 3]",
        "y = x  # torch.Size([2, 3])",
        "y = x[0, 0, :2].int().tolist()  # [0, 1]",
        "y = x; z = x.flatten()  # (2, 3, 4)",
        "if True: y = x; z = x.flatten();  # (2, 3, 4)",
        "y = x.flatten(1)  # (batch, batch * 5)",
        "y = x  # (batch, d_model)",
        "y = x  # (..., 3)",
        "y, z = x, x[0]  # (batch, 3, 4)",
        "x = x.transpose(1, 2)  # (batch, 3, 4)",
        "y = 3  # (batch,)",
        "y = (\n    x.flatten(1)  # (batch, 13)\n)",
        "y = torch.cat([\n    x,  # (2, 3, 5)\n    x,\n])",
    ],
)
def test_false_shape_comment_is_caught_at_its_line(site: Site, line: str) -> None:
    code = "import torch\nx = torch.zeros(2, 3, 4)\ndef f(x, batch=2):\n"
    code += "".join(f"    {one}\n" for one in line.split("\n"))
    (finding,) = site.page(f"```python\n{code}f(x)\n```\n")
    comment = next(n for n, text in enumerate(line.split("\n"), 5) if "#" in text)
    assert places([finding]) == [f"README.md:{comment}"]


def test_name_stands_for_one_size_within_a_call_only(site: Site) -> None:
    code = "import torch\ndef f(x):\n    y = x  # (n,)\n    return y + y  # (n,)\n"
    code += "f(torch.zeros(2))\nf(torch.zeros(3))\n"
    assert site.page(f"```python\n{code}```\n") == []


def test_attribute_of_self_counts(site: Site) -> None:
    code = (
        "import torch\nclass A:\n    width = 3\n    def f(self, x):\n"
        "        return x  # (2, width)\nA().f(torch.zeros(2, 3))\n"
    )
    assert site.page(f"```python\n{code}```\n") == []
    assert len(site.page(f"```python\n{code.replace('width = 3', 'width = 4')}```\n")) == 1


def test_parameters_are_checked_on_entry_and_none_is_left_out(site: Site) -> None:
    code = (
        "import torch\ndef f(\n    x,  # (batch, d)\n    y=None,  # (d, batch)\n):\n    return x\n"
        "f(torch.zeros(2, 3))\nf(torch.zeros(2, 3), torch.zeros(3, 2))\n"
    )
    assert site.page(f"```python\n{code}```\n") == []
    assert len(site.page(f"```python\n{code.replace('zeros(3, 2)', 'zeros(2, 3)')}```\n")) == 1


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("import torch\nif False:\n    x = torch.zeros(2)  # (2,)\n", 4),
        ("import torch\n# (2,)\nx = torch.zeros(2)\n", 3),
        ("import torch\npass  # (2,)\n", 3),
        ("import torch\nxs = []  # (2, 3)\nxs += [torch.zeros(4)]\n", 3),
        ("import torch\nx = None  # (2, 3)\n", 3),
        ("import torch\nassert True  # False\n", 3),
    ],
)
def test_comment_that_is_never_checked_is_caught(site: Site, code: str, line: int) -> None:
    assert places(site.page(f"```python\n{code}```\n")) == [f"README.md:{line}"]


@pytest.mark.parametrize("shape", ["(2, 3)", "(3, 2)"])
@pytest.mark.parametrize(
    "lines",
    [
        ["try:", "    y = x  # {}", "except Exception:", "    pass"],
        ["with contextlib.suppress(AssertionError):", "    y = x  # {}"],
    ],
)
def test_failed_check_counts_though_the_block_catches_it(
    site: Site, lines: list[str], shape: str
) -> None:
    code = "\n".join(["import contextlib", "import torch", "x = torch.zeros(2, 3)", *lines])
    wrong = ["README.md:6"] if shape == "(3, 2)" else []
    assert places(site.page(f"```python\n{code.format(shape)}\n```\n")) == wrong


@pytest.mark.parametrize("shape", ["(2, 3)", "(3, 2)"])
def test_failed_check_is_not_the_error_that_a_block_promises(site: Site, shape: str) -> None:
    code = f"import torch\nx = torch.zeros(2, 3)  # {shape}\nassert x.sum() == 1, 'no'\n"
    found = site.page(f"<!--proseproof: raises AssertionError: no-->\n\n```python\n{code}```\n")
    assert places(found) == (["README.md:5"] if shape == "(3, 2)" else [])


def test_failed_check_in_the_library_counts_at_the_line_of_the_page(site: Site) -> None:
    site.write("flip_lib.py", "def flip(x):\n    return x.T  # (3, 2)\n")
    site.configure('rewrite = ["flip_lib"]\n')
    finder = shape_comments.Finder(["flip_lib"])
    sys.meta_path.insert(0, finder)
    sys.path.insert(0, str(site.root))
    code = "import torch\nfrom flip_lib import flip\ntry:\n    flip(torch.zeros({}))\n"
    code += "except AssertionError:\n    pass\n"
    try:
        assert site.page(f"```python\n{code.format('2, 3')}```\n") == []
        (finding,) = site.page(f"```python\n{code.format('2, 4')}```\n")
    finally:
        sys.path.remove(str(site.root))
        sys.meta_path.remove(finder)
        del sys.modules["flip_lib"]
    assert places([finding]) == ["README.md:5"]
    assert "flip_lib.py:2: (3, 2) against (4, 2)" in finding.message


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("x = torch.zeros(2, 3)  # (batch, 3)", "batch"),
        ("x = torch.zeros(2, 3)  # (d_model, batch)", "batch, d_model"),
        ("batch = 2; x = torch.zeros(2, 3)  # (batch, 3)", ""),
        ("x = torch.zeros(2, 3)  # (batch, 3)\ny = x.sum(1)  # (batch,)", ""),
        ("x = torch.zeros(2, 2)  # (n, n)", ""),
    ],
)
def test_name_that_is_used_once_and_bound_by_nothing_is_caught(
    site: Site, code: str, wrong: str
) -> None:
    found = site.page(f"```python\nimport torch\n{code}\n```\n")
    assert places(found) == ["README.md:3"] * bool(wrong)
    assert [one.message.rpartition(": ")[2] for one in found] == [wrong] * bool(wrong)


@pytest.mark.parametrize(
    ("sizes", "calls", "wrong"),
    [
        ("batch, heads = 2, 2", "f(torch.zeros(2, 2))", ["README.md:5"]),
        ("batch, heads = 2, 3", "f(torch.zeros(2, 3))", []),
        ("pass", "f(torch.zeros(2, 2)); f(torch.zeros(2, 3))", []),
    ],
)
def test_names_of_one_size_that_could_be_exchanged_are_caught(
    site: Site, sizes: str, calls: str, wrong: list[str]
) -> None:
    code = f"import torch\n{sizes}\ndef f(x):\n    x = x * 1  # (batch, heads)\n"
    code += f"    return x.T  # (heads, batch)\n{calls}\n"
    assert places(site.page(f"```python\n{code}```\n"))[:1] == wrong


SOURCE = '''
"""A module."""

import torch
from torch import nn


class Twice(nn.Module):
    """Two times the input."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Twice x."""
        if x.dim() == 1:
            return x
        y = x + x  # (batch, width)
        return y.sum(  # a comment in between
            0
        )  # (width,)
'''

# The same in NumPy, which a run of pytest loads in a tenth of the time.
NUMPY = SOURCE
for ours, theirs in {
    "import torch\nfrom torch import nn": "import numpy\nfrom numpy import ndarray",
    "(nn.Module)": "",
    "forward": "__call__",
    "torch.Tensor": "ndarray",
    "x.dim()": "x.ndim",
}.items():
    assert ours in NUMPY
    NUMPY = NUMPY.replace(ours, theirs)


@pytest.fixture
def module(tmp_path: Path) -> Iterator[object]:
    (tmp_path / "twice_lib.py").write_text(SOURCE)
    finder = shape_comments.Finder(["twice_lib"])
    sys.meta_path.insert(0, finder)
    sys.path.insert(0, str(tmp_path))
    yield importlib.import_module("twice_lib")
    sys.path.remove(str(tmp_path))
    sys.meta_path.remove(finder)
    del sys.modules["twice_lib"]


def test_imported_module_is_checked(module) -> None:  # type: ignore[no-untyped-def]
    assert module.Twice()(torch.ones(2, 3)).tolist() == [4.0, 4.0, 4.0]
    with pytest.raises(shape_comments.ShapeError, match=r"twice_lib.py:15"):
        module.Twice()(torch.ones(2, 3, 4))


def test_checked_code_compiles_into_one_graph(module) -> None:  # type: ignore[no-untyped-def]
    compiled = torch.compile(module.Twice(), fullgraph=True, backend="eager")
    assert compiled(torch.ones(2, 3)).tolist() == [4.0, 4.0, 4.0]


def test_checked_code_can_be_shown_copied_and_pickled(module) -> None:  # type: ignore[no-untyped-def]
    twice = pickle.loads(pickle.dumps(copy.deepcopy(module.Twice())))
    assert inspect.getsource(type(twice)).strip() in SOURCE


def test_checks_add_no_line_and_no_branch_to_coverage(site: Site) -> None:
    site.write("twice_lib.py", NUMPY)
    site.configure('rewrite = ["twice_lib"]\n')
    site.write(
        "tests/test_it.py",
        "import numpy\nfrom twice_lib import Twice\n\n"
        "def test_it():\n    Twice()(numpy.ones((2, 3)))\n    Twice()(numpy.ones(3))\n",
    )
    done = site.run(
        "pytest", "tests", "--cov=twice_lib", "--cov-branch", "--cov-fail-under=100", "-q"
    )
    assert done.returncode == 0, done.stdout


def test_comment_in_the_source_that_no_test_runs_is_reported(site: Site) -> None:
    site.write("twice_lib.py", NUMPY)
    site.configure('rewrite = ["twice_lib"]\n')
    site.write("docs/a.md", "# A\n")
    test = "import numpy\nfrom twice_lib import Twice\n\n"
    test += "def test_it():\n    Twice()(numpy.ones(({},)))\n"
    site.write("docs/test_it.py", test.format("2, 3"))
    done = site.run("pytest")
    assert done.returncode == 0, done.stdout
    site.write("docs/test_it.py", test.format("3"))
    done = site.run("pytest")
    assert done.returncode == 1
    assert "twice_lib.py:14: " in done.stdout and "twice_lib.py:17: " in done.stdout
    assert site.run("pytest", "docs/test_it.py").returncode == 0  # only a part of the suite
