"""How the tests of the museum's rooms try detectors on code of others, right and wrong."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from headwise.museum import Exhibit

Table = dict[str, Callable[..., Any] | tuple[Callable[..., Any], dict[str, Any]]]
"""Functions by name; one that wants options of the detector comes with them."""


def cases(room: Sequence[Exhibit], tables: dict[str, tuple[Table, Table]], side: int) -> list[Any]:
    """Each detector of a room beside each function that it has to judge."""
    found = []
    for exhibit in room:
        for name, entry in tables[exhibit.id][side].items():
            function, options = entry if isinstance(entry, tuple) else (entry, {})
            detector = partial(exhibit.detector, **options)
            found.append(pytest.param(detector, function, id=f"{exhibit.id}, {name}"))
    return found


def assert_caught(detector: Callable[..., None], function: Callable[..., Any]) -> None:
    """The detector says what is wrong, and not that something stopped."""
    with pytest.raises(AssertionError, match=r"\w+ \w+") as caught:
        detector(function)
    assert "stopped with" not in str(caught.value)


def assert_five_of_either_kind(
    room: Sequence[Exhibit], tables: dict[str, tuple[Table, Table]]
) -> None:
    """No exhibit of the room has fewer right or wrong functions than five."""
    assert {exhibit.id for exhibit in room} == set(tables)
    assert all(len(table) >= 5 for pair in tables.values() for table in pair)
