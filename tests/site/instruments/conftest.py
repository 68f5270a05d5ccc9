"""Helpers beside us, which pytest's importlib mode leaves off the path; and instruments, open."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from reader import Open, Reader

sys.path.append(str(Path(__file__).parent))

from instrument import Instrument, places, visit


@pytest.fixture(scope="module")
def name(request: pytest.FixtureRequest) -> str:
    """The instrument that a file of tests is named after."""
    return str(request.path.stem.removeprefix("test_"))


@pytest.fixture(scope="module")
def language() -> str:
    return "en"


@pytest.fixture(scope="module")
def tab(readers: dict[bool, Reader]) -> Iterator[Reader]:
    """Where pages are open. Another file opens its own: what it runs may have changed by then."""
    yield readers[True]
    readers[True].page.goto("about:blank")


@pytest.fixture
def shown(tab: Reader, open_page: Open, name: str, language: str) -> Instrument:
    """The instrument as it is at first; its page stays open until a test goes to another one."""
    if tab.page.url.partition("?")[0] != tab.address + places()[name, language]:
        return visit(open_page, name, language)
    shown = Instrument(tab.page, name)
    shown.begin_again()
    return shown
