"""Fixtures of these tests."""

from pathlib import Path

import pytest
from sample_site import Site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)
