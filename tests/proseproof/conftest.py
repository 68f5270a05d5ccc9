"""Fixtures of these tests."""

import sys
from pathlib import Path

import pytest

# pytest's importlib mode leaves test folders off the path, and with them the helpers there.
sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from sample_site import Site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)
