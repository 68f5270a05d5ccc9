"""What all tests of the library share."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import settings

sys.path.append(str(Path(__file__).parent))  # for right_calls

# The same examples on every run, and no test that fails because the machine is busy.
settings.register_profile("headwise", deadline=None, derandomize=True)
settings.load_profile("headwise")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Tensors this small gain nothing from more threads, and lose much on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
