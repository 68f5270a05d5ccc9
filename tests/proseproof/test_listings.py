"""A listing is the source text of what it names."""

from pathlib import Path

import pytest

from proseproof.listings import ListingError, resolve

SOURCE = '''
import functools

LIMIT = 3
SIZES: list[int] = [
    1,
]


@functools.cache
def double(x):
    """Twice x."""
    return 2 * x


class Box:
    """A box."""

    @property
    def width(self):
        # how wide
        return 1


async def later():
    pass
'''


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "lib.py").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "broken.py").write_text("def f(:\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("LIMIT", "LIMIT = 3"),
        ("SIZES", "SIZES: list[int] = [\n    1,\n]"),
        ("double", '@functools.cache\ndef double(x):\n    """Twice x."""\n    return 2 * x'),
        ("Box.width", "@property\ndef width(self):\n    # how wide\n    return 1"),
        ("later", "async def later():\n    pass"),
    ],
)
def test_named_part_is_quoted_whole(root: Path, name: str, text: str) -> None:
    assert resolve(root, f"lib.py:{name}") == text


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        ("lib.py:duoble", "double"),
        ("lib.py:Box.widht", "Box.width"),
        ("none.py:f", "no file"),
        ("lib.py", "path:name"),
        ("broken.py:f", "does not parse"),
        ("lib.py:functools", "no functools"),
    ],
)
def test_part_that_is_not_there_is_refused(root: Path, spec: str, word: str) -> None:
    with pytest.raises(ListingError, match=word):
        resolve(root, spec)
