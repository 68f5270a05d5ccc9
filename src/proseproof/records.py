"""What the cells of a lab show, kept in the repository: the site shows it, the tests compare it.

A record is a JSON file: for each cell a hash of its code, without comments, and its outputs in a
notebook's form; where another language's cell shows something else, that cell too. A lab whose
outputs depend on the machine also says where and when it ran.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from proseproof.language_pairs import tree_of
from proseproof.messages import diff
from proseproof.outputs import FLOAT
from proseproof.report import versions, write_whole
from proseproof.settings import Settings

Output = dict[str, Any]
TAG = re.compile(r"<[^<>]*>")
# In a tag, words count to the letter; ids, which are hashes of the drawing, do not; the rest are
# coordinates.
WORDS = re.compile(r'aria-label=\\?"[^"]*"')
IDS = re.compile(r"""(?:\bid=|href=|url\()\\?["']?\#?[\w-]+""")
COORDINATE = re.compile(r"(?<![\w#.])-?\d+(?:\.\d+)?(?:e-?\d+)?(?!\w)")
PIXELS = 0.5  # how far apart two machines may put a point of a drawing
SHARE = 1e-3  # how far apart, as a share of it, two machines may compute a number


class RecordError(ValueError):
    """A record that cannot be read."""


@dataclass(frozen=True)
class Cell:
    """The hash of a cell's code, and what the cell shows."""

    code: str
    outputs: list[Output]


@dataclass(frozen=True)
class Record:
    """The cells of a lab; `made` says where and when, if that matters."""

    cells: list[Cell]
    made: dict[str, str] = field(default_factory=dict)

    def is_of(self, codes: Sequence[str]) -> bool:
        """True when these are the cells that were run."""
        return [cell.code for cell in self.cells] == [code_hash(code) for code in codes]


def code_hash(code: str) -> str:
    """A hash of a cell's program: comments, which are written in the page's language, are not."""
    return hashlib.sha256(tree_of(code).encode()).hexdigest()[:16]


def file_of(settings: Settings, inner: str) -> Path:
    """Where the record of a lab lies; `inner` is its path inside its language's folder."""
    return settings.root / settings.records / Path(inner).with_suffix(".json")


def of(codes: Sequence[str], outputs: Sequence[list[Output]], varies: bool) -> Record:
    """The record of cells that just ran."""
    cells = [Cell(code_hash(code), shown) for code, shown in zip(codes, outputs, strict=True)]
    return Record(cells, _here() if varies else {})


def _here() -> dict[str, str]:
    """This machine, today."""
    return {
        "date": datetime.date.today().isoformat(),
        "processor": _processor(),
        "cores": str(os.cpu_count() or 1),
        **versions(),
    }


def _processor() -> str:
    described = Path("/proc/cpuinfo")
    if described.is_file():
        found = re.search(r"^model name\s*: (.+)$", described.read_text("utf-8"), re.MULTILINE)
        if found:
            return found[1].strip()
    return platform.processor() or platform.machine()


def read(file: Path, language: str = "") -> Record | None:
    """The record in a file, in a language, None when there is no such file."""
    if not file.is_file():
        return None
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        own = data.get("translated", {}).get(language, {})
        shown = [own.get(str(n), one) for n, one in enumerate(data["cells"])]
        cells = [Cell(str(one["code"]), list(one["outputs"])) for one in shown]
        return Record(cells, dict(data["made"]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecordError(f"{file.name} cannot be read: {error}") from None


def write(file: Path, record: Record, others: Mapping[str, Record] | None = None) -> None:
    """Write the record, whole or not at all; of other languages, the cells that differ."""
    data = asdict(record)
    if others:
        data["translated"] = {
            language: {
                str(n): asdict(cell)
                for n, (cell, first) in enumerate(zip(other.cells, record.cells, strict=True))
                if cell != first
            }
            for language, other in others.items()
        }
    text = json.dumps(data, ensure_ascii=False, indent=1, sort_keys=True)
    write_whole(file, text + "\n")


def difference(recorded: list[Output], shown: list[Output]) -> str:
    """Where what a cell shows is not what is recorded; nothing when a reader sees the same.

    Rounding differs from machine to machine: a float may differ by a thousandth of itself, and a
    point of a drawing by half a pixel.
    """
    one, two = ([_text_of(output) for output in outputs] for outputs in (recorded, shown))
    if len(one) != len(two):
        return f"{len(one)} outputs are recorded, and there are {len(two)}"
    for left, right in zip(one, two, strict=True):
        if not _alike(left, right):
            return "\n".join(diff(left, right, "recorded", "shown").splitlines()[:12])
    return ""


def kinds(outputs: list[Output]) -> list[list[str]]:
    """Of what kinds the outputs of a cell are: what a lab that varies still has to show."""
    return [sorted(one.get("data", {"text/plain": ""})) for one in outputs]


def _text_of(output: Output) -> str:
    """An output as lines of text, a tag a line, without the addresses that change by the run."""
    if "text" in output:
        return str(output["text"])
    parts = [
        one if isinstance(one, str) else json.dumps(one, sort_keys=True, ensure_ascii=False)
        for _, one in sorted(output["data"].items())
    ]
    return re.sub(r">\s*<", ">\n<", re.sub(r" at 0x[0-9a-f]+", "", "\n".join(parts)))


def _alike(one: str, two: str) -> bool:
    if one == two:
        return True
    tags = [[_tag(tag) for tag in TAG.findall(text)] for text in (one, two)]
    texts = [TAG.sub("<>", text) for text in (one, two)]
    return (
        len(tags[0]) == len(tags[1])
        and all(a[0] == b[0] and _near(a[1], b[1]) for a, b in zip(*tags, strict=True))
        and _same_words(*texts)
        and all(_same_words(a[2], b[2]) for a, b in zip(*tags, strict=True))
    )


def _tag(tag: str) -> tuple[str, list[float], str]:
    """A tag's skeleton, its coordinates and its words."""
    said = " ".join(WORDS.findall(tag))
    bare = IDS.sub("", WORDS.sub("", tag))
    return COORDINATE.sub("#", bare), [float(n) for n in COORDINATE.findall(bare)], said


def _near(one: list[float], two: list[float]) -> bool:
    return len(one) == len(two) and all(abs(a - b) <= PIXELS for a, b in zip(one, two, strict=True))


def _same_words(one: str, two: str) -> bool:
    if FLOAT.sub("#", one) != FLOAT.sub("#", two):
        return False
    pairs = zip(FLOAT.findall(one), FLOAT.findall(two), strict=True)
    return all(_rounded_alike(a, b) for a, b in pairs)


def _rounded_alike(one: str, two: str) -> bool:
    return math.isclose(float(one), float(two), rel_tol=SHARE, abs_tol=0.0)
