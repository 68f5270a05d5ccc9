"""`bind` finds what a number is in the code, the values and the output of its block."""

import pytest
from sample_site import Site

from proseproof.bind import bind

BLOCK = """
```python
import math

import torch

from math import ceil, floor

d_k = 8
code = torch.full((3, 2 * d_k), 1.0)
x = torch.arange(24).view(3, 8)
turned = x.T
hidden = torch.tensor([[False, True, True], [False, False, True], [False, False, False]])
weights = torch.tensor([[1.0, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]])
first, second = x + 0.5, x + 0.25
uneven = torch.tensor([0.75, 0.05])
turn = 2 * math.pi
moved = torch.roll(x, -5, dims=0)


def halve(number):
    smaller = number / 2
    return smaller


for _ in range(40):
    turn = turn + 0
same = torch.equal(first, second)
print("cost", 8352, "and", 4224)
print("score", 14 // 2, "again", 14 // 2)
```

<!--pytest-codeblocks:expected-output-->
```text
cost 8352 and 4224
score 7 again 7
```

"""


WORDS = """
[words]
feature = ["any.shape[-1]"]
token = ["any.shape[1]"]
batch = ["any.shape[0]"]
"sum to" = ["any.sum(dim=-1)"]
"""
MODULES = "sum(type(m).__name__ == 'Linear' for m in model.modules())"
CHANGED = "(moved != x).any(dim=-1).sum()"
DENIED = "(uneven.sum(dim=-1) - _).abs().max() > 0.001"


@pytest.fixture
def bound(site: Site) -> Site:
    site.configure('bindings = "docs/bindings"\n')
    site.write("docs/bindings/words.toml", WORDS)
    site.write("docs/bindings/facts.toml", 'FILL = { value = -1e9, source = "the paper" }\n')
    return site


SECOND = """
```python
import colorsys

import torch
from torch import nn

noise = torch.linspace(-2, 2, 101)
model = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 4), nn.ReLU())
rows = torch.tensor([[1.0, 0, 1, 0], [0, 1, 0, 1]])
after = torch.tensor([[1.0, 0, 1, 0], [2, 1, 0, 1]])
longer = torch.zeros(5, 4)
vector, wide = torch.full((9,), 0.5), torch.zeros(16)
scale, shift = torch.ones(6), torch.zeros(6)
uneven = torch.tensor([[0.2, 0.3, 0.1, 0.1]])
out = model(torch.randn(64, 7, 4))
stretched = nn.Linear(4, 6 * 4)
high = rows.mean(dim=0)
low = after.mean(dim=0)
print(rows.int())
print(f"best {1.0:.2f}, worst {1}")
print("short", 20, 30)
print("longer", 80, 90)
```

<!--pytest-codeblocks:expected-output-->
```text
tensor([[1, 0, 1, 0],
        [0, 1, 0, 1]], dtype=torch.int32)
best 1.00, worst 1
short 20 30
longer 80 90
```

"""


def guesses(site: Site, prose: str, block: str = BLOCK) -> dict[str, tuple[str, str]]:
    site.write("README.md", f"# A {{#a}}\n{block}{prose}\n")
    done = bind(site.project, "README.md")
    return {c.key: (one.expression, one.how) if one else ("?", "") for c, one in done.guesses}


@pytest.mark.parametrize(
    ("prose", "key", "expression", "how"),
    [
        ("They are the numbers 16 to 23.", "16 to", "2 * d_k", "likely"),
        ("They are the numbers 16 to 23.", "to 23", "3 * d_k - 1", "likely"),
        ("The places run from 0 to 23.", "to 23", "x.max()", "likely"),
        ("The range of tanh is −1 to 1.", "−1 to", "math.tanh(-math.inf)", "weak"),
        ("Now in `turned`, axis 1, it steps on.", "axis 1", "range(turned.ndim)[1]", "likely"),
        ("It fetches feature 1.", "feature 1", "range(code.shape[-1])[1]", "weak"),
        ("All hidden weights are 0.", "are 0", "weights[hidden]", "likely"),
        ("In the second row, `hidden`, two are seen.", "two are", "(~hidden[1]).sum()", "likely"),
        ("The norm of `code` is 4.", "is 4", "code.norm(dim=-1)", "likely"),
        ("The strides of `turned` are 1 and 8.", "are 1 and 8", "turned.stride()", "weak"),
        ("It takes forty steps.", "forty steps", "coded('range(_):')", "likely"),
        ("It is done in two lines.", "two lines", "lines('halve')", "likely"),
        ("Two functions do it.", "Two functions", "len([ceil, floor])", "likely"),
        ("Two versions are equal.", "Two versions", "len([first, second])", "weak"),
        ("It comes round after 2π.", "after 2", "turn / math.pi", "weak"),
        ("It is moved five rows back.", "five rows", "-coded('x, _')[0]", "weak"),
        (
            "It's about two thirds, `8352 / (8352 + 4224) == 0.66`.",
            "about two thirds",
            "printed(1) / (printed(1) + printed(2))",
            "likely",
        ),
        ("Two marks, `first` and `second`, do.", "Two marks", "spans()", "likely"),
        ("It has `(3, 16)`{of=code}: three rows.", "three rows", "code.shape[0]", "likely"),
        ("We count them from 1 here.", "1 here", "range(1, 2)[0]", "weak"),
        ("Three colours have moved.", "Three colours", CHANGED, "weak"),
        ("One is 7.5 there.", "7.5 there", "first[0, 7]", "weak"),
        ("In `hidden`, 1 means that it is.", "1 means", "hidden.int().max()", "weak"),
    ],
)
def test_number_finds_its_value(
    bound: Site, prose: str, key: str, expression: str, how: str
) -> None:
    assert guesses(bound, prose)[key] == (expression, how)


@pytest.mark.parametrize(
    ("prose", "key", "expression", "how"),
    [
        # a noun that is left out is that of the number before, or else one that is known
        ("It has 4 tokens, or seven.", "or seven", "out.shape[1]", "likely"),
        ("Of all features, we keep all nine.", "all nine", "len(vector)", "weak"),
        ("It has sixty-four batches.", "sixty-four batches", "coded('torch.randn(_, 7')", "likely"),
        ("A row is 1 0 1 0.", "is 1 0 1 0", "rows[0]", "likely"),
        ("There is a 1 wherever it is seen.", "1 wherever", "printed(1)", "weak"),
        ("The best is 1.00.", "is 1.00", "printed(10)", "likely"),
        ("That costs four times as much.", "four times", "printed(14) / printed(12)", "likely"),
        ("That costs three times as much.", "three times", "printed(15) / printed(13)", "likely"),
        ("It is six times as wide.", "six times", "coded('4, _ * 4')", "weak"),
        ("`rows` is half as high as wide.", "half as", "rows.shape[0] / rows.shape[1]", "weak"),
        ("Two activations bend it.", "Two activations", "?", ""),
        ("There are two linears.", "two linears", MODULES, "likely"),
        ("The next one in `rows` is 4 strides on.", "4 strides", "rows.stride()[0]", "likely"),
        ("One of two rows, `rows` and `after`, moved.", "two rows", "len(rows)", "sure"),
        ("`view`{of=longer.view} has five things.", "five things", "longer.shape[0]", "weak"),
        ("Here is `scale`, and `shift`. It starts as 1.", "as 1", "scale", "weak"),
        ("In `vector`, each is 0.5.", "is 0.5", "vector", "likely"),
        ("The two heights are near, `high`{.text}.", "two heights", "len([high, low])", "weak"),
        ("In `uneven`, it doesn't sum to 1.", "to 1", DENIED, "weak"),
        ("They are random, with mean 0.", "mean 0", "abs(noise.mean() - _) < 0.1", "weak"),
        ("It has six variants.", "six variants", "len(colorsys.__all__)", "likely"),
        ("It is done by −1e9.", "by −1e9", "facts.FILL", "weak"),
        ("Two examples.\n\n```python\nx = 1\n```", "Two examples", "blocks('a')", "likely"),
        ("Two kinds are there.\n\nSo:\n\n- a\n- b", "Two kinds", "items()", "weak"),
        ("Two sorts:\n\n| a |\n|---|\n| b |\n| c |", "Two sorts", "rows()", "likely"),
        ("It gets seven more tokens.", "seven more", "wide.shape[0] - vector.shape[0]", "weak"),
    ],
)
def test_number_finds_its_value_in_another_block(
    bound: Site, prose: str, key: str, expression: str, how: str
) -> None:
    assert guesses(bound, prose, SECOND)[key] == (expression, how)


@pytest.mark.parametrize(
    ("prose", "key"),
    [
        ("It has five colours.", "five colours"),  # a 5 elsewhere in the code is no reason
        ("It costs nine times as much.", "nine times"),
        ("It turns the last three axes.", "three axes"),
        ("They are the numbers 17 to 22.", "17 to"),
        ("It is done in nine lines.", "nine lines"),
    ],
)
def test_coincidence_is_no_guess(bound: Site, prose: str, key: str) -> None:
    assert guesses(bound, prose)[key] == ("?", "")


def test_lines_of_a_function_and_lines_that_begin_alike_are_counted(bound: Site) -> None:
    for expression, holds in (
        ("lines('halve')", True),
        ("lines('turn = ')", True),
        ("lines('print')", True),
        ("lines('import')", True),
        ("lines('smaller')", False),
        ("lines('nowhere')", False),
    ):
        bound.write("README.md", f"# A {{#a}}\n{BLOCK}Two colours.\n")
        bound.write("docs/bindings/README.toml", f'[a]\n"Two colours" = "{expression}"\n')
        assert (bound.prove("README.md") == []) is holds


def test_number_without_a_noun_is_what_its_sentence_said_before(bound: Site) -> None:
    found = guesses(bound, "It has `(3, 16)`{of=code}, three rows, and drops the other two.")
    assert found["other two"][0].endswith(" - 1")
