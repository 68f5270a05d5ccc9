"""GGUF files: numbers as the package `gguf` reads them, and no file that does harm."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gguf import GGUFReader
from gguf.quants import dequantize
from gguf_files import (
    Tensors,
    entry,
    gguf_bytes,
    header,
    metadata,
    small_model,
    string,
    value,
    weights,
)
from torch import Tensor

from headwise.models.gguf import GGUF

SAID: dict[str, Any] = {
    "a.whole": 7,
    "a.float": 0.5,
    "a.flag": True,
    "a.word": "nǐ 好",
    "words": ["one", "", "二"],
    "numbers": [3, 4, 5],
    "flags": [True, False],
    "none": [],
}


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def same_bits(ours: Tensor, theirs: np.ndarray) -> bool:
    expected = torch.from_numpy(theirs.copy())
    return ours.shape == expected.shape and torch.equal(
        ours.view(torch.int32), expected.view(torch.int32)
    )


def test_header_says_what_was_written(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gguf", gguf_bytes(SAID, {"x": ("F32", torch.ones(2, 3))}))
    file = GGUF(path)
    assert file.metadata == SAID
    assert file.places["x"].shape == (2, 3)
    assert file.places["x"].kind.name == "F32"


@pytest.mark.parametrize("letter", "BbHhIiQqfd")
def test_numbers_of_every_width(letter: str, tmp_path: Path) -> None:
    kind = dict(zip("BbHhIifQqd", (0, 1, 2, 3, 4, 5, 6, 10, 11, 12), strict=True))[letter]
    number = 0.5 if letter in "fd" else -3 if letter.islower() else 200
    one = string("one") + struct.pack(f"<I{letter}", kind, number)
    many = string("many") + struct.pack(f"<IIQ3{letter}", 9, kind, 3, number, number, number)
    data = b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + one + many
    assert GGUF(write(tmp_path / "a.gguf", data)).metadata == {"one": number, "many": [number] * 3}


@pytest.mark.parametrize("align", [8, 32, 64])
def test_dequantised_tensors_are_the_reference_librarys(align: int, tmp_path: Path) -> None:
    torch.manual_seed(0)
    many = torch.cat((torch.randn(3, 64), torch.zeros(1, 64), torch.full((1, 64), 1e-6)))
    tensors: dict[str, tuple[str, Tensor]] = {
        kind: (kind, 300 * many) for kind in ("F16", "Q4_1", "Q8_0", "F32")
    } | {"row": ("Q4_1", torch.randn(96)), "axes": ("Q8_0", torch.randn(2, 1, 3, 32))}
    path = write(tmp_path / "a.gguf", gguf_bytes({"general.alignment": align}, tensors))
    file = GGUF(path)
    theirs = {one.name: one for one in GGUFReader(path).tensors}
    assert set(theirs) == set(file.places) == set(tensors)
    for name, one in theirs.items():
        assert same_bits(file.tensor(name), dequantize(one.data, one.tensor_type)), name


def test_a_block_can_be_read_by_hand(tmp_path: Path) -> None:
    # Scale 0.5, least -1, then byte i holds i in its low half and 15 - i in its high half.
    half = struct.pack("<ee", 0.5, -1.0) + bytes(i | (15 - i) << 4 for i in range(16))
    data = header({}, [entry("x", (32,), 3, 0)])
    x = GGUF(write(tmp_path / "a.gguf", data + b"\0" * (-len(data) % 32) + half)).tensor("x")
    assert x.tolist() == [0.5 * i - 1 for i in (*range(16), *range(15, -1, -1))]


def test_a_tensor_keeps_its_numbers_when_the_file_goes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gguf", gguf_bytes({}, {"x": ("F32", torch.arange(8.0))}))
    x = GGUF(path).tensor("x")
    path.write_bytes(b"\xff" * path.stat().st_size)
    x += 1
    assert x.tolist() == list(range(1, 9))


def a_file(said: dict[str, Any] | None = None, tensors: Tensors | None = None) -> bytes:
    return gguf_bytes(said or {"a": 1}, tensors or {"x": ("F32", torch.ones(2, 3))})


def with_entry(*sizes: int, kind: int = 0, offset: int = 0) -> bytes:
    data = header({}, [entry("x", sizes, kind, offset)])
    return data + b"\0" * (-len(data) % 32 + 64)


def with_value(kind: int, data: bytes) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + string("key") + struct.pack("<I", kind) + data


FAR = 2**62
WRONG: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "expected a GGUF file: cannot mmap an empty file"),
    "magic": (b"PK\3\4 and so on", r"begins with b'PK\x03\x04', expected b'GGUF'"),
    "version": (header({}, [], version=2), "is of version 2, expected GGUF version 3"),
    "other end first": (
        b"GGUF" + struct.pack(">IQQ", 3, 0, 0),
        "is of version 50331648, expected GGUF version 3",
    ),
    "type": (with_entry(256, kind=12), "keeps x in type 12, expected one of the types 0 (F32)"),
    "part of a block": (with_entry(33, kind=8), "has x of shape (33,), expected rows of 32"),
    "no numbers": (with_entry(3, 0), "has x of shape (3, 0), expected rows of 1"),
    "no axes": (with_entry(), "has x of 0 axes, expected 1 to 4"),
    "many axes": (with_entry(1, 1, 1, 1, 1), "has x of 5 axes, expected 1 to 4"),
    "size that lies": (with_entry(FAR, FAR), "ends before x does, expected a whole GGUF file"),
    "offset that lies": (with_entry(2, offset=FAR), "ends before x does"),
    "offset between": (with_entry(2, offset=3), "has x at 3, expected a multiple of 32"),
    "alignment": (header({"general.alignment": 0}, []), "has an alignment of 0"),
    "alignment in words": (header({"general.alignment": "a"}, []), "has an alignment of 'a'"),
    "text that is none": (header({"key": b"\xff"}, []), "has a string that is not UTF-8"),
    "unknown value": (with_value(13, b""), "has a value of type 13"),
    "array of arrays": (with_value(9, struct.pack("<IQ", 9, 1)), "has an array of values of"),
    "long array": (with_value(9, struct.pack("<IQ", 4, FAR)), "ends within its header"),
    "endless array": (with_value(9, struct.pack("<IQ", 10, 2**64 - 1)), "ends within its header"),
    "long words": (with_value(9, struct.pack("<IQ", 8, 2**64 - 1)), "ends within its header"),
    "long word": (with_value(8, struct.pack("<Q", FAR)), "ends within its header"),
    "many tensors": (b"GGUF" + struct.pack("<IQQ", 3, 2**64 - 1, 0), "ends within its header"),
    "many entries": (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**64 - 1), "ends within its header"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_files_are_named_with_what_was_expected(case: str, tmp_path: Path) -> None:
    data, message = WRONG[case]
    path = write(tmp_path / "wrong.gguf", data)
    with pytest.raises(ValueError) as error:
        GGUF(path)
    assert str(error.value).startswith("path: got ") and str(path) in str(error.value)
    assert message in str(error.value)


def test_no_part_of_a_file_is_taken_for_the_whole(tmp_path: Path) -> None:
    whole = a_file(SAID, {"x": ("Q4_1", torch.randn(2, 32)), "y": ("F32", torch.ones(3))})
    end = len(whole) - 20  # what fills up the last row may be missing
    for length in range(end):
        with pytest.raises(ValueError, match="expected"):
            GGUF(write(tmp_path / "part.gguf", whole[:length]))
    assert GGUF(write(tmp_path / "part.gguf", whole[:end])).tensor("y").tolist() == [1, 1, 1]


def test_any_altered_byte_is_refused_or_read(tmp_path: Path) -> None:
    whole = a_file(SAID, {"x": ("Q4_1", torch.randn(2, 32)), "y": ("F32", torch.ones(3))})
    path, refused = tmp_path / "altered.gguf", 0
    for i in range(len(whole)):
        for change in (1, 0x80):
            path.write_bytes(whole[:i] + bytes([whole[i] ^ change]) + whole[i + 1 :])
            try:
                file = GGUF(path)
                for name in file.places:
                    file.tensor(name)
            except ValueError as error:
                assert str(error).startswith(f"path: got {path}")
                refused += 1
    assert refused > 100


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda folder: folder / "none.gguf", "expected a file: No such file"),
        (lambda folder: folder, "expected a file: Is a directory"),
        (lambda folder: "a\0b", "expected a GGUF file: embedded null byte"),
    ],
)
def test_what_is_no_file_is_refused(
    make: Callable[[Path], Path | str], expected: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=expected):
        GGUF(make(tmp_path))


def test_a_tensor_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="name: got 'y', expected a tensor of"):
        GGUF(write(tmp_path / "a.gguf", a_file())).tensor("y")


def test_the_made_up_model_is_a_file_to_the_reference_library(tmp_path: Path) -> None:
    theirs = GGUFReader(small_model(tmp_path))
    assert {one.name for one in theirs.tensors} == set(weights())
    for key, x in metadata().items():
        assert theirs.fields[key].types[0] == value(x)[0]
