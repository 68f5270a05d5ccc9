"""Tensors as they lie in memory: a strip of cells, and how far each stride steps along it."""

import itertools
from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from headwise._check import show
from headwise.drawing.checks import check_kind, check_tensor, check_text, real_numbers
from headwise.drawing.figure import Figure, with_twin
from headwise.drawing.sheet import BOLD, SMALL, WIDTH, Sheet, hue_of
from headwise.drawing.words import choose, paragraph

NARROWEST = 13.0  # the cell that still holds a number of two digits
ROOMY = 17.0  # the cell that holds one with room to spare
STEP = 17.0  # from one arrow to the one above it

WORDS = {
    "en": {
        "memory": "What lies where in memory, and how strides step along it",
        "layout": "shape {}, strides {}",
        "first": "memory",
        "same": "the same memory",
        "new": "new memory",
        "told": "tensor {}: shape {}, strides {}, {}: {}",
    },
    "zh": {
        "memory": "内存里的排列，以及步长怎样在上面走",
        "layout": "形状 {}，步长 {}",
        "first": "内存",
        "same": "同一块内存",
        "new": "新的内存",
        "told": "张量 {}：形状 {}，步长 {}，{}：{}",
    },
}


class _Laid(NamedTuple):
    """A tensor as it lies: the numbers of its memory in order, and which of them each entry is."""

    place: int
    numbers: list[int]
    cells: Tensor
    strides: tuple[int, ...]


@with_twin
def memory(tensors: Mapping[str, Tensor], *, lang: str = "en") -> Figure:
    """The memory of each tensor as a strip of cells, with its strides as arrows above.

    tensors: name to tensor, of whole numbers from 0 to 99. The first has each number once, and
    gives it the colour of its row. Below a strip stand the indices, but for the last one, of the
    entries above them: so every tensor fills its memory, and its last axis has stride 1.
    """
    words = choose(WORDS, lang)
    laid = _laid_out(tensors)
    first = next(iter(laid.values()))
    rows = first.cells.reshape(first.cells.size(0), -1).tolist()
    owners = {first.numbers[cell]: row for row, cells in enumerate(rows) for cell in cells}

    sheet, sentences, y, places = Sheet(), [words["memory"]], 0.0, set[int]()
    for name, one in laid.items():
        known = "first" if not places else "same" if one.place in places else "new"
        places.add(one.place)
        shape, strides = show(one.cells.shape), show(one.strides)
        sheet.text(0.0, y + 8, name, **BOLD)
        sheet.text(WIDTH, y + 8, words[known], SMALL, text_anchor="end")
        sheet.text(0.0, y + 25, words["layout"].format(shape, strides), SMALL, text_anchor="start")
        y = _strip(sheet, y + 40, one, owners)
        told = " ".join(map(str, one.numbers))
        sentences.append(words["told"].format(name, shape, strides, words[known], told))
    return sheet.figure(words["memory"], paragraph(sentences, words), lang)


def _strip(sheet: Sheet, top: float, one: _Laid, owners: Mapping[int, int]) -> float:
    """The strides as arrows from the first cell, the strip, and the indices; where it ends."""
    width = min(WIDTH / len(one.numbers), 24.0)
    axes = [axis for axis, size in enumerate(one.cells.shape) if size > 1]
    axes.sort(key=lambda axis: -one.strides[axis])
    y = top + STEP * len(axes) + 8
    for level, axis in enumerate(axes):
        # The longest step is the highest arrow, and begins leftmost, so that none crosses another.
        start, line = width / 2 + 3.0 * (level - len(axes) + 1), top + STEP * level + 10
        end = (one.strides[axis] + 0.5) * width
        sheet.arrow((start, y), (start, line), (end, line), (end, y - 1))
        step = f"+{one.strides[axis]}"
        if end - start < 56:  # too short for more than the step itself
            sheet.text(end + 4, line + 2, step, SMALL, text_anchor="start")
        else:
            sheet.text((start + end) / 2, line - 7, f"dim {axis}: {step}", SMALL)
    for cell, number in enumerate(one.numbers):
        sheet.box(cell * width, y, width, 22.0, hue_of(owners[number]), rx=0, fill_opacity=0.3)
        # Two digits are pressed together rather than touching those of the next cell.
        tight = {"textLength": width - 4, "lengthAdjust": "spacingAndGlyphs"}
        look = tight if number > 9 and width < ROOMY else {}
        sheet.text((cell + 0.5) * width, y + 11, str(number), SMALL, **look)
    run = one.cells.size(-1) * width
    for indices in itertools.product(*map(range, one.cells.shape[:-1])):
        left = int(one.cells[indices][0]) * width
        sheet.box(left + 2, y + 26, run - 4, 0.5)
        sheet.text(left + run / 2, y + 37, str(list(indices)), SMALL)
    return y + 62


def _laid_out(tensors: Mapping[str, Tensor]) -> dict[str, _Laid]:
    """Each tensor as it lies, once it is clear that it can be drawn."""
    check_kind("tensors", tensors, Mapping, "a mapping of names to tensors")
    found: dict[str, _Laid] = {}
    for name, x in tensors.items():
        check_text("tensors", name)
        check_tensor("tensors", x)
        where = f" in {name!r}"
        real_numbers("tensors", x, where)
        if x.layout != torch.strided or x.dim() < 2:
            got = f"shape {show(x.shape)}" if x.layout == torch.strided else str(x.layout)
            raise ValueError(f"tensors: got {got}{where}, expected a dense one of two axes or more")
        flat = torch.empty(0, dtype=x.dtype, device=x.device).set_(x.untyped_storage())
        if len(flat) != x.numel() or len(flat) * NARROWEST > WIDTH:
            raise ValueError(
                f"tensors: got {x.numel()} numbers in a memory of {len(flat)}{where}, expected "
                f"all of it, and at most {WIDTH // NARROWEST:g}: no more fit"
            )
        numbers = real_numbers("tensors", flat, where).tolist()
        cells = torch.arange(len(flat)).as_strided(x.shape, x.stride(), x.storage_offset())
        if x.stride(-1) != 1 or sorted(cells.flatten().tolist()) != list(range(len(flat))):
            raise ValueError(
                f"tensors: got strides {show(x.stride())}{where}, expected such as fill the "
                "memory, the last of them 1"
            )
        known = set(next(iter(found.values())).numbers) if found else set(range(100))
        if not known.issuperset(numbers) or (not found and len(set(numbers)) < len(numbers)):
            raise ValueError(
                f"tensors: got numbers from {min(numbers):g} to {max(numbers):g}{where}, expected "
                "each once in the first tensor, whole and from 0 to 99, and no others after it"
            )
        found[name] = _Laid(
            x.untyped_storage().data_ptr(), list(map(int, numbers)), cells, x.stride()
        )
    if not found:
        raise ValueError("tensors: got none, expected at least one")
    return found
