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


@pytest.fixture
def bound(site: Site) -> Site:
    site.configure('bindings = "docs/bindings"\n')
    site.write("docs/bindings/words.toml", '[words]\nfeature = ["any.shape[-1]"]\n')
    return site


def guesses(site: Site, prose: str) -> dict[str, tuple[str, str]]:
    site.write("README.md", f"# A {{#a}}\n{BLOCK}{prose}\n")
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
        ("After the score comes 7, as said.", "comes 7", "printed(3)", "weak"),
        ("With `d_k = 8`, 21 is 2 times 8 plus 5.", "2 times", "21 // d_k", "weak"),
        ("Two marks, `first` and `second`, do.", "Two marks", "spans()", "likely"),
        ("It has `(3, 16)`{of=code}: three rows.", "three rows", "code.shape[0]", "likely"),
        ("We count them from 1 here.", "1 here", "range(1, 2)[0]", "weak"),
    ],
)
def test_number_finds_its_value(
    bound: Site, prose: str, key: str, expression: str, how: str
) -> None:
    assert guesses(bound, prose)[key] == (expression, how)


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
