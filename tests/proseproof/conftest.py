"""Fixtures of these tests."""

import sys
from pathlib import Path

import pytest

# pytest's importlib mode leaves a test folder off the path, and with it the helper beside us.
sys.path.append(str(Path(__file__).parent))

from sample_site import Site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)
