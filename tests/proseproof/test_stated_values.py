"""What is said of a subject is judged whole: another value in its place is false."""

import pytest
from sample_site import Site, places

BLOCK = """
```python
import torch
import torch.nn.functional as F
from torch import nn

scale, p, dim = 0.5, 0.1, 1
x = torch.ones(3)
y = x * 2 + 1
w = torch.softmax(torch.zeros(2, 4), dim=-1)
mha = nn.MultiheadAttention(8, num_heads=4, bias=False, batch_first=True)
numbers = [1, 2]
close = torch.tensor([1.0, 0.96])
print("n = 5")
n = 4
```

<!--pytest-codeblocks:expected-output-->
```text
n = 5
```

"""
LINE = BLOCK.count("\n")


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        # Keywords: of the block, of a variable, of what the sentence names.
        ("over the columns, with `dim=-1`", "over the columns, with `dim=0`"),
        ("it has `num_heads=4`", "it has `num_heads=2`"),
        ("it has `batch_first=True`", "it has `batch_first=False`"),
        ("by default `nn.Linear` has `bias=True`", "by default `nn.Dropout` has `p=0.9`"),
        # The block has bias=False, and that is not the default.
        ("by default `nn.Linear` has `bias=True`", "by default `nn.Linear` has `bias=False`"),
        ("`n=4`", "`n=5`"),
        # Assignments: what is true here, not what stands in a string or begins a statement.
        ("`n = 4`", "`n = 5`"),
        ("`scale = 0.5`", "`scale = 0`"),
        ("`y = x * 2 + 1`", "`y = x`"),
        ("`p = 0.1`", "`p = 0`"),
        # Tests, also as tensors.
        ("`(x == 1).all()`", "`(x == 2).all()`"),
        ("`torch.isclose(x, x).all()`", "`torch.isclose(x, y).all()`"),
        ("`(x == 1)[0]`", "`(x == 2)[0]`"),
        ("`torch.equal(x, y)` is `False`", "they are the same: `torch.equal(x, y)`"),
        # Digits: a whole number with a point is exact.
        ("`(x - y).abs().max() == 2.0`", "`(close - 1).abs().max() == 0.0`"),
        ("`x.min() == 1.0`", "`close.min() == 1.0`"),
        ("`close.min() == 0.96`", "`close.min() == 0.97`"),
        # Two expressions.
        ("`x.ndim` is `y.ndim`", "`x.ndim` is `x.numel()`"),
        ("`x` is `torch.ones(3)`", "`x` is `torch.tensor([7, 7])`"),
        ("`x` and `y` have shape `(3,)`", "`x` and `x` have shape `(3,)`"),
        ("`x[x > 0] == 1`", "`x[x > 5] == 3`"),  # of no element at all nothing is said
    ],
)
def test_false_twin_of_a_right_sentence_is_caught(site: Site, right: str, wrong: str) -> None:
    assert site.page(f"{BLOCK}Here {right}.\n") == []
    assert places(site.page(f"{BLOCK}Here {wrong}.\n")) == [f"README.md:{LINE}"]


def test_keyword_with_two_values_in_the_block_needs_what_comes_of_it(site: Site) -> None:
    block = "```python\ndef f(x, up):\n    return x + 1 if up else x - 1\n\n\n"
    block += "a, b = f(1, up=True), f(1, up=False)\n```\n\n"
    assert "this could mean any" in site.page(f"{block}Say `up=True`.\n")[0].message
    assert site.page(f'{block}Say `up=True`{{of="f(1, _) == 2"}}.\n') == []
    found = site.page(f'{block}Say `up=False`{{of="f(1, _) == 2"}}.\n')
    assert "f(1, up=False) == 2 is False" in found[0].message


def test_value_comes_from_the_block_above_and_not_from_the_page(site: Site) -> None:
    page = "```python\nheads = 8\n```\n\nText.\n\n```python\nheads = 4\n```\n\nNow `heads = {}`.\n"
    assert site.page(page.format(4)) == []
    assert "heads is 4" in site.page(page.format(8))[0].message


def test_binding_can_say_what_comes_of_a_method(site: Site) -> None:
    page = BLOCK + 'Each in its place: `{}`{{of="torch.tensor([1, 2])._(2)[1] == 1"}}.\n'
    assert site.page(page.format("repeat_interleave")) == []
    assert "repeat(2)[1] == 1 is tensor(False)" in site.page(page.format("repeat"))[0].message
    assert "has no attribute 'repaet'" in site.page(page.format("repaet"))[0].message


def test_binding_to_what_is_not_there_names_it(site: Site) -> None:
    found = site.page(f"{BLOCK}It is `3`{{of=lenght}}.\n")
    assert "of=lenght: NameError" in found[0].message


@pytest.mark.parametrize(("said", "true"), [("ValueError", True), ("KeyError", False)])
def test_error_that_is_said_to_be_raised_is_the_blocks(site: Site, said: str, true: bool) -> None:
    block = "<!--proseproof: raises ValueError-->\n```python\nint('a')\n```\n\n"
    block += "<!--pytest-codeblocks:expected-output-->\n```text\n"
    block += "ValueError: invalid literal for int() with base 10: 'a'\n```\n\n"
    for sentence in ("This raises a `{}`.", "It dies of a `{}`.", "这会抛出 `{}`。", "遇到 `{}`。"):
        found = site.page(block + sentence.format(said) + "\n")
        assert (found == []) is true
        assert true or "the block raises ValueError" in found[0].message


@pytest.mark.parametrize("span", ["x.zero_()", "numbers.append(3)", "mha.eval()", "x.mul_(0)"])
def test_span_that_changes_what_the_next_are_judged_by_is_refused(site: Site, span: str) -> None:
    found = site.page(f"{BLOCK}Call `{span}`.\n")
    assert "do that in a block" in found[0].message


def test_expression_that_only_evaluates_does_not_count_as_judged(site: Site) -> None:
    site.write("README.md", f"{BLOCK}Exactly `n + 2` additions; `n` is `4`.\n")
    entry = site.proof("README.md")
    assert entry.whole() == []
    assert (entry.entry.claims_judged, entry.entry.mentions_found) == (1, 2)
