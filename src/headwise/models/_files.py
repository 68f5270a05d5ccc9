"""Files of models: what is wrong with one; where those of a training may go, written whole."""

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from headwise._check import check_kind


def wrong_file(path: Path, got: str, expected: str) -> ValueError:
    """An error that names the file, what is wrong with it and what it should have been."""
    return ValueError(f"path: got {path}, which {got}, expected {expected}")


def check_out(out: str | Path) -> Path:
    """The path, at which weights and what goes with them can be written."""
    check_kind("out", out, str, Path, expected="a path")
    path = Path(out)
    if path.suffix != ".pt" or "\0" in str(path):
        raise ValueError(f"out: got {str(path)!r}, expected a name that ends in .pt")
    # Unlike Path's own, os.path.isdir does not raise where a name is too long.
    if not os.path.isdir(path.parent):
        raise ValueError(f"out: got {path}, expected a directory {path.parent} to be there")
    for file in (path, *(path.with_suffix(suffix) for suffix in (".json", ".part", ".lock"))):
        if os.path.isdir(file):
            raise ValueError(f"out: got {path}, expected no directory {file} to be there")
    return path


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Nobody else trains into this file meanwhile; the lock ends with the process, however."""
    lock = path.with_suffix(".lock")
    try:
        file = lock.open("wb")
    except OSError as error:
        raise ValueError(f"out: got {path}, expected a place to write to: {error}") from error
    with file:
        try:
            _lock(file)
        except OSError:
            raise ValueError(
                f"out: got {path}, expected one that no other training is writing to"
            ) from None
        try:
            yield
        finally:
            lock.unlink()


def _lock(file: BinaryIO) -> None:
    with contextlib.suppress(ImportError):  # Windows has no such locks
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write the file whole or, when interrupted, not at all."""
    unfinished = path.with_name(path.name + ".tmp")
    try:
        with unfinished.open("wb") as file:
            write(file)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
