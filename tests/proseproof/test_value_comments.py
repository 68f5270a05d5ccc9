"""A value at the end of a line is asserted whenever the line runs."""

import pytest
from sample_site import Site, places

BLOCK = """```python
import numpy as np
import torch
x, n, third = torch.ones(3), 4, 1 / 3
{}
```
"""


@pytest.mark.parametrize(
    ("line", "false"),
    [
        ("x.sum()  # 3.0", "7.0"),
        ("x.sum()  # 3", "7"),
        ("x.sum()  # tensor(3.)", "tensor(3.5)"),
        ("torch.equal(x, x)  # True", "False"),
        ("y = x * 2  # tensor([2., 2., 2.])", "tensor([9., 9., 9.])"),
        ("y = x.double()  # tensor([1., 1., 1.], dtype=torch.float64)", "tensor([1.], dtype=x)"),
        (
            "y = x.double()  # tensor([1., 1., 1.], dtype=torch.float64)",
            "tensor([1., 1., 1.], dtype=torch.float32)",
        ),
        ("y = x / 3  # tensor([0.3333, 0.3333, 0.3333])", "tensor([0.3333, 0.3333, 0.3334])"),
        ("y = x.numpy()  # array([1., 1., 1.])", "tensor([1., 1., 1.])"),
        ("y = x.numpy() * 2  # np.array([2, 2, 2])", "np.array([2, 2, 3])"),
        ("y = -x.log()  # tensor([0., 0., 0.])", "tensor([0., 0., inf])"),
        ("y = x.log().log()  # tensor([-inf, -inf, -inf])", "tensor([-inf, -inf, nan])"),
        ("x.tolist()  # [1.0, 1.0, 1.0]", "[1.0, 1.0]"),
        ("len(x)  # 3", "4"),
        ("m = n * 2  # 8", "9"),
        ("m = -n  # -4", "4"),
        ("m = third  # 0.33", "0.34"),
        ("m = third  # 0.3333", "0.334"),
        ("m = third / 1e5  # 3.33e-06", "3.34e-06"),
        ("m = 0.96  # 0.96", "1.0"),
        ("m = {'a': n}  # {'a': 4}", "{'a': 5}"),
        ("m = 'mean'  # 'mean'", "'sum'"),
        ("m = x.dtype.is_floating_point, n  # (True, 4)", "(True, 5)"),
        ("m = divmod(-7, 2)  # (-4, 1)", "(-1, 99)"),
        ("m = x.view(-1, 3)  # [1, 3]", "(-1, 3)"),
        ("m = None  # None", "True"),
        ("def f():\n    return n  # 4\nf()", "5"),
        ("print(n)  # 4", "5"),
        ("print(f'{third:.2f}')  # 0.33", "0.34"),
        ("a = n; b = n + 1  # 5", "4"),
    ],
)
def test_value_comment_is_asserted(site: Site, line: str, false: str) -> None:
    first, _, rest = line.partition("  # ")
    _, newline, after = rest.partition("\n")
    silent = "<!--proseproof: silent-->\n\n" * ("print" in line)
    number = 5 + 2 * bool(silent) + first.count("\n")
    assert site.page(silent + BLOCK.format(line)) == []
    found = site.page(silent + BLOCK.format(f"{first}  # {false}{newline}{after}"))
    assert places(found) == [f"README.md:{number}"], found


def test_failure_says_what_is_true(site: Site) -> None:
    (finding,) = site.page(BLOCK.format("x.sum()  # 7.0"))
    assert finding.message == "README.md:5: the line makes tensor(3.), the comment says 7.0"


@pytest.mark.parametrize(
    "line",
    [
        "m = n  # now `n == 4`",
        "m = n  # 此时 `n == 4`",
        "m = n  # n == 4",
        "m = n  # n = 4",
        "m = n  # -> 4",
        "m = n  # => 4",
        "m = n  # → 4",
        "m = third  # ≈ 0.33",
        "m = third  # 0.333...",
        "y = x  # gives tensor([1., 1., 1.])",
        "y = x  # output: tensor([1., ..., 1.])",
        "y = x.numpy()  # [1. 1. 1.]",
        "# tensor([1., 1., 1.])",
        "# [1.0, 1.0]",
    ],
)
def test_value_that_nobody_checks_is_caught(site: Site, line: str) -> None:
    (finding,) = site.page(BLOCK.format(line))
    assert places([finding]) == ["README.md:5"]
    assert finding.message.startswith("looks like a value, and nobody checks it: #")


@pytest.mark.parametrize(
    "line",
    [
        "y = x * 2  # 1",
        'y = x * 2  # "scaled"',
        "import math  # 1",
        "y = [\n    n,  # 1\n    n,  # 2\n]",
        "y = x  # 3 of them",
        "y = x  # one",
        "y = x  # None of it is kept",
        "y = x  # True of all tensors",
        "y = x  # by 0.1 at most",
        "y = x  # the default, dim=0",
        "y = x  # `x` once more, with `dim=0`",
        "y = x  # like tensor(n) or torch.tensor(y)",
        "y = x  # 009e73",
        "y = x  # 第 3 步",
        "y = x  # 共 3 个，都是 1",
        "y = x if n == 4 else None  # 若 n 为 4",
        "if n:  # n == 4\n    y = x",
        "# n = 5",
        "# 2",
        '# "quoted"',
    ],
)
def test_words_and_numbers_of_steps_are_no_alarm(site: Site, line: str) -> None:
    assert site.page(BLOCK.format(line)) == []


def test_value_that_depends_on_the_seed_is_caught(site: Site) -> None:
    code = "import torch\n{}\nx = torch.rand(1).item()  # {}\n"
    seeded = code.format("torch.manual_seed(0)", "0.4963")
    assert site.page(f"```python\n{seeded}```\n") == []
    (finding,) = site.page(f"```python\n{code.format('', '7.5')}```\n")
    drawn = finding.message.split("makes ")[1].split(",")[0]
    (finding,) = site.page(f"```python\n{code.format('', drawn)}```\n")
    assert "without a seed" in finding.message


def test_made_up_accelerator_is_not_asked_for_values(site: Site) -> None:
    code = (
        'import torch\ndevice = "cuda" if torch.cuda.is_available() else "cpu"\n'
        "x = torch.ones(3, device=device)\nx.sum().item()  # {}\n"
    )
    page = "```python\n" + code + "```\n"
    assert site.page(page.format("3.0")) == []
    assert places(site.page(page.format("1.0"))) == ["README.md:5"]
