"""A block imports what it uses, and leaves modules as they were."""

import math

import pytest
import torch
from sample_site import Site, places

from proseproof import lab_runner, module_leaks


@pytest.mark.parametrize(
    ("code", "line", "name"),
    [
        ("import math\nmath.tau7 = 44", 3, "math.tau7"),
        ("import math as m\nx = 1\nm.pi = 3", 4, "math.pi"),
        ("import torch\ntorch.nn.functional.softmax = print", 3, "torch.nn.functional.softmax"),
        (
            "import torch.nn.functional as F\nF.softmax = print",
            3,
            "torch.nn.functional.softmax",
        ),
        (
            "from torch import nn\nnn.Linear.forward = lambda self, x: x",
            3,
            "torch.nn.Linear.forward",
        ),
        ("import math\ndel math.tau", 3, "math.tau"),
        ("import math\nsetattr(math, 'tau7', 44)", 3, "math.tau7"),
        ("import math\nvars(math).update(tau7=44)", 3, "math.tau7"),
    ],
)
def test_patch_of_a_module_is_reported_and_undone(
    site: Site, code: str, line: int, name: str
) -> None:
    before = dict(vars(math)), dict(vars(torch.nn.functional)), torch.nn.Linear.forward
    findings = site.page(f"```python\n{code}\n```\n")
    assert places(findings) == [f"README.md:{line}"]
    assert findings[0].message == f"the block changes {name}, which other code uses too"
    assert (dict(vars(math)), dict(vars(torch.nn.functional)), torch.nn.Linear.forward) == before


def test_patch_of_a_module_that_was_not_loaded_is_reported(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(site.root)
    site.write("patched_here.py", "n = 1\n")
    findings = site.page("```python\nimport patched_here\npatched_here.n = 2\n```\n")
    assert places(findings) == ["README.md:3"]


@pytest.mark.parametrize(
    "code",
    [
        "import math\nfrom unittest.mock import patch\nwith patch.object(math, 'e', 3):\n    x = 1",
        "import math\nx = math.tau\nsetattr(object, '__doc__', '') if x < 0 else None",
        "from torch import nn\n\n\nclass Layer(nn.Linear):\n    pass\n\n\nLayer.forward = print\n"
        "layer = nn.Linear(2, 2)\nlayer.bias = None\nlayer.weight.requires_grad = False",
        "import sys\nsys.argv = ['x']",
    ],
)
def test_what_is_the_blocks_own_or_put_back_is_no_patch(site: Site, code: str) -> None:
    assert site.page(f"```python\n{code}\n```\n") == []


def test_lab_may_patch_for_itself_alone(site: Site) -> None:
    site.write("docs/labs/l.py", "# %%\nimport math\nmath.tau7 = 44\n# %%\nx = math.tau7\n")
    assert lab_runner.run_or_recall(site.proof("docs/labs/l.py")) == []
    assert not hasattr(math, "tau7")


@pytest.mark.parametrize(
    ("code", "line", "name"),
    [
        ("import matplotlib\nfigure = matplotlib.pyplot.figure()", 3, "matplotlib.pyplot"),
        ("import concurrent\n\nx = concurrent.futures.Future", 4, "concurrent.futures"),
        ("import xml.dom\nx = xml.etree.ElementTree", 3, "xml.etree"),
    ],
)
def test_submodule_that_other_code_has_loaded_is_caught(
    site: Site, code: str, line: int, name: str
) -> None:
    import concurrent.futures  # noqa: F401
    import xml.etree.ElementTree  # noqa: F401

    import matplotlib.pyplot  # noqa: F401

    findings = site.page(f"```python\n{code}\n```\n")
    assert f"README.md:{line}" in places(findings)
    assert f"nothing here imports {name}" in findings[0].message
    assert findings[0].remedy == f"add import {name}"


@pytest.mark.parametrize(
    "code",
    [
        "import matplotlib.pyplot\nfigure = matplotlib.pyplot.figure()",
        "import matplotlib\nimport matplotlib.pyplot as plt\nfigure = matplotlib.pyplot.figure()",
        "import concurrent\nfrom concurrent import futures\nx = concurrent.futures.Future",
        "import torch\nx = torch.nn.functional.softmax(torch.ones(2), dim=0)",
        "import torch\nx = torch.nn.utils.rnn.pad_sequence([torch.ones(2)])",
        "import os\nx = os.path.sep",
        "import numpy as np\nx = np.random.seed(0)",
    ],
)
def test_submodule_that_the_imports_bring_is_no_alarm(site: Site, code: str) -> None:
    assert site.page(f"```python\n{code}\n```\n") == []


def test_cell_of_a_lab_may_use_what_an_earlier_one_imports() -> None:
    import concurrent.futures  # noqa: F401

    code = "import concurrent\nx = concurrent.futures.Future"
    assert module_leaks.not_imported(code) == [(2, "concurrent.futures")]
    assert module_leaks.not_imported(code, "import concurrent.futures") == []
