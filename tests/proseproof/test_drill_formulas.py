"""The drill changes formulas, in both languages at once or in one alone, and all is caught."""

import pytest
from sample_site import Site

from proseproof.drill_changes import Author
from proseproof.drill_formulas import kinds
from proseproof.drill_proofs import prove

NOTATION = r"""
world = '''
import math

radius, height = 2.0, 5.0
'''
[symbols]
r = "radius"
h = "height"
'd_{\text{max}}' = "2 * radius"
A = "math.pi * radius**2"
"""
PAGE = r"""
# {title} {{#circles}}

{here} $r$, $A = \pi r^2$ {both} $A \approx 12.57$.

$$
\frac{{A h}}{{3}} = \frac{{\pi r^2 h}}{{3}}
$$

{here} $\sqrt{{h}}$, $d_{{\text{{max}}}} = 2r$.
"""
LEDGER = """
[circles]
symbols = ["r"]
'$\\sqrt{h}$' = "math.sqrt(world.height)"
"""


@pytest.fixture
def circles(site: Site) -> Site:
    site.configure("""
        notation = "notation.toml"
        bindings = "docs/bindings"
        unbound = ["README.md", "docs"]
    """)
    site.write("notation.toml", NOTATION)
    site.write("docs/bindings/x.toml", LEDGER)
    site.pair(
        PAGE.format(title="圆", here="这里", both="和"),
        PAGE.format(title="Circles", here="Here", both="and"),
    )
    assert site.run("proseproof", "confirm", "--all").returncode == 0
    assert site.prove("docs/en/x.md") == site.prove("docs/zh/x.md") == []
    return site


@pytest.mark.parametrize(
    "kind", ["operator in a formula", "number in a formula", "symbol in a formula"]
)
def test_formula_is_changed_in_both_languages_and_caught(circles: Site, kind: str) -> None:
    changes = list(kinds(Author(circles.project, 1))[kind]())
    assert len({change.line for change in changes}) >= 3
    for change in changes:
        assert set(change.texts) == {"docs/zh/x.md", "docs/en/x.md"}
        assert _caught(circles, change), change.what


def test_formula_is_changed_in_one_language_and_caught(circles: Site) -> None:
    changes = list(kinds(Author(circles.project, 1))["formula in one language"]())
    assert {path for change in changes for path in change.texts} == {"docs/zh/x.md", "docs/en/x.md"}
    for change in changes:
        assert change.alone and len(change.texts) == 1
        assert _caught(circles, change), change.what


def _caught(site: Site, change) -> str:
    old = {path: (site.root / path).read_text() for path in change.texts}
    for path, text in change.texts.items():
        assert text != old[path]
        (site.root / path).write_text(text)
    project = site.project
    why = prove(project.settings, project, change)
    for path, text in old.items():
        (site.root / path).write_text(text)
    return why
