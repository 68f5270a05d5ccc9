"""What axe finds: nothing on any page, and enough contrast on a page of each kind."""

import pytest
from page_visit import SCHEMES, Facts, Visit
from reader import Scheme


def test_axe_finds_nothing(scripted: Facts) -> None:
    assert scripted["axe"] == []


def test_link_in_the_text_is_underlined(scripted: Facts) -> None:
    """Colour alone would not tell it from the text around it."""
    assert scripted["unmarked"] == []


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("language", ["", "en/"])
@pytest.mark.parametrize("kind", ["index", "questions/scores", "labs/scaling", "mistakes/masks"])
def test_colours_can_be_told_apart(visit: Visit, kind: str, language: str, scheme: Scheme) -> None:
    """On one page of each kind: the colours are the same on all of them, and axe is slow here."""
    path = f"{language}{kind}.html"
    found = visit(path, scheme, lambda visitor: visitor.contrast(path, scheme))
    assert found == {"axe": [], "trouble": []}
