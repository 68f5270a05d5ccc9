"""GGUF files, version 3: what a model is called and how large it is, its words and its weights.

Such a file is a header, which says what is in it, and then the numbers. Most weights are
quantised: 32 neighbours of a row share a scale, and each keeps only a few bits of its own. Only
the types that SmolLM2 comes in are read, and nothing in the file is ever run.
"""

import math
import mmap
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from headwise._check import check_kind, show
from headwise.models._files import wrong_file

BLOCK = 32  # numbers that are quantised together
Value = int | float | bool | str | list[int] | list[float] | list[bool] | list[str]


def _as_f32(data: Tensor) -> Tensor:
    """A number is 4 bytes, as in torch."""
    return data.view(torch.float32).clone()  # the file may be closed or change


def _as_f16(data: Tensor) -> Tensor:
    """A number is 2 bytes: half precision."""
    return data.view(torch.float16).float()


def _as_q4_1(data: Tensor) -> Tensor:
    """A block is 20 bytes: the scale and the least of 32 numbers, then 4 bits for each.

    A byte holds two numbers, one from the first half of the block in its low bits, and one from
    the second half in its high bits.
    """
    blocks = data.view(-1, 20)
    shared = blocks[:, :4].contiguous().view(torch.float16).float()  # (blocks, 2)
    scale, least = shared[:, :1], shared[:, 1:]
    low, high = blocks[:, 4:] & 15, blocks[:, 4:] >> 4  # (blocks, 16)
    steps = torch.cat((low, high), dim=1)  # (blocks, 32)
    return scale * steps + least


def _as_q8_0(data: Tensor) -> Tensor:
    """A block is 34 bytes: the scale of 32 numbers, then each of them as a whole number."""
    blocks = data.view(-1, 34)
    scale = blocks[:, :2].contiguous().view(torch.float16).float()  # (blocks, 1)
    return scale * blocks[:, 2:].view(torch.int8)  # (blocks, 32)


class Kind(NamedTuple):
    """How numbers are kept: so many at a time, in so many bytes, and how to read those."""

    name: str
    numbers: int
    size: int
    read: Callable[[Tensor], Tensor]


KINDS = {
    0: Kind("F32", 1, 4, _as_f32),
    1: Kind("F16", 1, 2, _as_f16),
    3: Kind("Q4_1", BLOCK, 20, _as_q4_1),
    8: Kind("Q8_0", BLOCK, 34, _as_q8_0),
}
# Whole numbers, floats and True or False, by their numbers in the format; then there are strings
# and arrays.
SCALARS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"
}  # fmt: skip
STRING, ARRAY = 8, 9


class Place(NamedTuple):
    """Where a tensor lies in the file, its shape as torch has it, and how it is kept."""

    shape: tuple[int, ...]
    kind: Kind
    start: int
    size: int  # in bytes


class GGUF:
    """A file whose header has been read; the numbers of a tensor are read when they are asked for.

    Args:
        path: the file.
    """

    def __init__(self, path: str | Path) -> None:
        check_kind("path", path, str, Path, expected="a path")
        self.path = Path(path)
        try:
            with self.path.open("rb") as file:
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        except OSError as error:
            raise ValueError(f"path: got {path}, expected a file: {error.strerror}") from error
        except ValueError as error:  # nothing can be mapped of an empty one, or it has no such name
            raise ValueError(f"path: got {path!r}, expected a GGUF file: {error}") from error
        self._at = 0
        self._read_header()

    def _read_header(self) -> None:
        if self._bytes[:4] != b"GGUF":
            raise wrong_file(
                self.path, f"begins with {self._bytes[:4]!r}", "b'GGUF', as GGUF files do"
            )
        self._at = 4
        version, tensors, entries = self._numbers("IQQ")
        if version != 3:
            raise wrong_file(self.path, f"is of version {version}", "GGUF version 3")
        self.metadata: dict[str, Value] = {}
        for _ in range(entries):
            key = self._string()
            (kind,) = self._numbers("I")
            self.metadata[key] = self._array() if kind == ARRAY else self._value(kind)
        found = [self._entry() for _ in range(tensors)]
        align = self.metadata.get("general.alignment", 32)
        if type(align) is not int or align <= 0 or align % 8:
            raise wrong_file(self.path, f"has an alignment of {align!r}", "a multiple of 8")
        start = -(-self._at // align) * align
        self.places: dict[str, Place] = {}
        for name, shape, kept, offset in found:
            size = math.prod(shape) // kept.numbers * kept.size
            if offset % align:
                raise wrong_file(self.path, f"has {name} at {offset}", f"a multiple of {align}")
            if start + offset + size > len(self._bytes):
                raise wrong_file(self.path, f"ends before {name} does", "a whole GGUF file")
            self.places[name] = Place(shape, kept, start + offset, size)

    def _entry(self) -> tuple[str, tuple[int, ...], Kind, int]:
        """One tensor as the header lists it: where it begins is counted from the header's end."""
        name = self._string()
        (rank,) = self._numbers("I")
        if not 1 <= rank <= 4:
            raise wrong_file(self.path, f"has {name} of {rank} axes", "1 to 4")
        shape = self._numbers(f"{rank}Q")[::-1]  # the axis whose numbers are neighbours comes first
        kind, offset = self._numbers("IQ")
        if kind not in KINDS:
            known = ", ".join(f"{number} ({one.name})" for number, one in KINDS.items())
            raise wrong_file(self.path, f"keeps {name} in type {kind}", f"one of the types {known}")
        if 0 in shape or shape[-1] % KINDS[kind].numbers:
            expected = f"rows of {KINDS[kind].numbers} numbers or a multiple of that"
            raise wrong_file(self.path, f"has {name} of shape {show(shape)}", expected)
        return name, shape, KINDS[kind], offset

    def _value(self, kind: int) -> int | float | bool | str:
        if kind == STRING:
            return self._string()
        if kind not in SCALARS:
            raise wrong_file(self.path, f"has a value of type {kind}", "one of the types of GGUF")
        value: int | float | bool = self._numbers(SCALARS[kind])[0]
        return value

    def _array(self) -> Value:
        kind, length = self._numbers("IQ")
        if kind in SCALARS:
            return list(self._numbers(f"{length}{SCALARS[kind]}"))
        if kind != STRING:
            raise wrong_file(
                self.path, f"has an array of values of type {kind}", "numbers or strings"
            )
        return [self._string() for _ in range(length)]

    def _string(self) -> str:
        (length,) = self._numbers("Q")
        try:
            return self._take(length).decode()
        except UnicodeDecodeError:
            raise wrong_file(self.path, "has a string that is not UTF-8", "one that is") from None

    def _numbers(self, kinds: str) -> tuple[Any, ...]:
        """The next few numbers; in the file, the lowest byte of each comes first."""
        try:
            size = struct.calcsize(f"<{kinds}")
        except struct.error:  # of an array that no memory could hold
            size = len(self._bytes)
        return struct.unpack(f"<{kinds}", self._take(size))

    def _take(self, size: int) -> bytes:
        """The next so many bytes, of which the file may have fewer than it says."""
        if self._at + size > len(self._bytes):
            raise wrong_file(self.path, "ends within its header", "a whole GGUF file")
        self._at += size
        return self._bytes[self._at - size : self._at]

    def tensor(self, name: str) -> Tensor:
        """The numbers of one tensor, in single precision."""
        check_kind("name", name, str)
        if name not in self.places:
            raise ValueError(f"name: got {name!r}, expected a tensor of {self.path}")
        shape, kind, start, size = self.places[name]
        data = torch.frombuffer(self._bytes, dtype=torch.uint8, count=size, offset=start)
        return kind.read(data).reshape(shape)
