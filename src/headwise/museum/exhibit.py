"""What an exhibit of the museum consists of."""

from collections.abc import Callable
from typing import Any, NamedTuple


class Exhibit(NamedTuple):
    """One bug: the code that has it, the same code without, and the test that notices."""

    id: str
    wrong: Callable[..., Any]
    right: Callable[..., Any]
    detector: Callable[[Callable[..., Any]], None]
