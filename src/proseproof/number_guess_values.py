"""Guessing a number by the values of the block: rows and ranges that its variables hold."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from proseproof.number_guess_words import (
    ANY,
    LIKELY,
    WEAK,
    Guess,
    counts,
    is_wide,
    nouns,
    parts_of,
    said,
    singular,
)
from proseproof.number_proof import holds
from proseproof.numbers import Claim, sentence_at
from proseproof.sentence_subjects import OF, SPAN
from proseproof.values import numbers_in

if TYPE_CHECKING:
    from proseproof.project import Project


def from_rows(claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
    """A tensor, or a row of one, that holds the numbers of a row: 1 0 1 0."""
    if len(claim.reads) < 2:
        return
    for name, value in values.items():
        shape = getattr(value, "shape", None)
        if name.startswith("_") or isinstance(value, type):
            continue
        if isinstance(value, list | tuple) and len(value) == len(claim.reads):
            yield Guess(name, LIKELY, name)
        if isinstance(shape, tuple):
            yield Guess(f"tuple({name}.shape)", WEAK, f"the shape of {name}")
            if callable(getattr(value, "stride", None)):
                yield Guess(f"{name}.stride()", WEAK, f"the strides of {name}")
        if not isinstance(shape, tuple):
            continue
        for axes in range(len(shape)):
            places = [list(range(size)) for size in shape[:axes]]
            if math.prod(shape[axes:]) != len(claim.reads) or math.prod(shape[:axes]) > 16:
                continue
            for place in itertools.product(*places):
                index = f"[{', '.join(map(str, place))}]" if place else ""
                yield Guess(f"{name}{index}", LIKELY, name)


ORDINALS = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1}
MASKED = 4096  # numbers in a tensor that is searched


def tensors(
    claim: Claim, values: dict[str, Any], *, loosely: bool = True
) -> list[tuple[str, Any, bool]]:
    """Tensors and arrays of the block, those that the sentence names first, and whether it does.

    In code or, loosely, in words: weights are `weights`.
    """
    text, words = claim.sentence, said(claim)
    raw = set(re.findall(r"[a-z]+", text.lower()))
    found = []
    for name, value in values.items():
        shape = getattr(value, "shape", None)
        if name.startswith("_") or isinstance(value, type) or not isinstance(shape, tuple):
            continue
        if hasattr(value, "numpy") or type(value).__module__ == "numpy":
            in_code = re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", code_in(text)) is not None
            in_words = len(name) > 2 and (parts_of(name) or {"?"}) <= words | raw
            in_words = in_words or (len(name) > 3 and name in raw)
            found.append((name, value, in_code or (loosely and in_words)))
    return sorted(found, key=lambda one: not one[2])


def code_in(text: str) -> str:
    """The code of a text, with what it is said of."""
    return " ".join(f"{one['text']} {_of(one['attrs'] or '')}" for one in SPAN.finditer(text))


def _of(attributes: str) -> str:
    found = OF.search(attributes)
    return next(filter(None, found.groups()), "") if found else ""


def from_ends(claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
    """16 to 23: the least and the largest number of a tensor, a slice, a piece of some width."""
    if (ends := _ends(claim)) is None:
        return
    low, high, at_end = ends
    for name, value, named in tensors(claim, values):
        how = LIKELY if named or high - low > 2 else WEAK
        if 2 < math.prod(value.shape) <= MASKED and _extremes(value) == (low, high):
            yield Guess(f"{name}.{'max' if at_end else 'min'}()", how, f"the ends of {name}")
    for name, value in values.items():
        if isinstance(value, slice) and (value.start, value.stop) == (low, high + 1):
            end = f"{name}.stop - 1" if at_end else f"{name}.start"
            yield Guess(end, LIKELY, f"the ends of {name}")
        if type(value) is int and value > 2 and high - low + 1 == value and low % value == 0:
            times = int(low // value)
            end = f"{times + 1} * {name} - 1" if at_end else f"{times} * {name}"
            if low == 0:
                end = f"range({name})[{-1 if at_end else 0}]"
            yield Guess(end, LIKELY, f"a piece of {name}")
        if type(value) is range and value and (value[0], value[-1]) == (low, high):
            yield Guess(f"{name}[{-1 if at_end else 0}]", LIKELY, f"the ends of {name}")
    for name, value, _ in tensors(claim, values):
        for axis, size in enumerate(value.shape):
            if low == 0 and size == high + 1 > 2:
                end = f"range({name}.shape[{axis}])[{-1 if at_end else 0}]"
                yield Guess(end, WEAK, f"up to the size of {name}")
    for word in re.findall(r"[a-z]+", claim.sentence):
        if callable(getattr(math, word, None)):
            sign = "" if at_end else "-"
            yield Guess(f"math.{word}({sign}math.inf)", WEAK, f"the ends of {word}")


def _ends(claim: Claim) -> tuple[float, float, bool] | None:
    """The range in which a number stands, and whether it is the end of it."""
    bare = claim.unit.bare
    if len(claim.reads) > 1:
        return None
    number, value = r"([-−]?\d+)", claim.reads[0].value
    if after := re.match(rf"\s?(?:to|through|–)\s?{number}\b", bare[claim.end :]):
        return value, float(after[1].replace("−", "-")), False
    if before := re.search(rf"{number}\s?(?:to|through|–)\s?$", bare[: claim.start]):
        return float(before[1].replace("−", "-")), value, True
    return None


def _extremes(value: Any) -> tuple[float, float] | None:
    try:
        value = value.detach() if hasattr(value, "detach") else value
        return float(value.min()), float(value.max())
    except (TypeError, ValueError, RuntimeError):
        return None


def axes(project: Project, claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
    """Axis 0 of a tensor, feature 1 of those that there are, and an axis of size 1."""
    bare, place = claim.unit.bare, claim.reads[0].value
    whole = len(claim.reads) == 1 and place == int(place) and not claim.reads[0].word
    before = re.search(r"([A-Za-z]+)\s$", bare[: claim.start])
    if not whole or before is None:
        return
    if place in (0, 1) and re.search(
        r"\b(?:count|number)\w*\b[^.;]{0,40} from $", bare[: claim.start]
    ):
        start = f"range({int(place)}, {int(place) + 1})[0]"
        yield Guess(start, WEAK, "where counting begins, which is a convention")
    noun = before[1].lower()
    near = tensors(claim, values)
    if noun == "axis":
        for name, value, named in near:
            if -len(value.shape) <= place < len(value.shape):
                how = LIKELY if named else WEAK
                yield Guess(f"range({name}.ndim)[{int(place)}]", how, f"an axis of {name}")
    elif noun in ("size", "length", "width") and re.search(r"\bax[ie]s\b", claim.sentence):
        for name, value, named in near:
            for axis in [n for n, size in enumerate(value.shape) if size == place]:
                how = LIKELY if named else WEAK
                yield Guess(f"{name}.shape[{axis}]", how, f"an axis of {name}")
    elif place >= 0:
        for expression in project.ledger.words.get(noun, []):
            sized = [expression]
            if ANY.search(expression):
                sized = [ANY.sub(name, expression) for name, value, _ in near if is_wide(value)]
            for one in sized:
                yield Guess(f"range({one})[{int(place)}]", WEAK, f"one {noun} of all")


def where_masked(claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
    """The hidden weights are 0: a tensor that the sentence names, where a mask is on or off."""
    if len(claim.reads) > 1 or claim.reads[0].word or claim.reads[0].value not in (0, 1):
        return
    near, behind = tensors(claim, values), claim.unit.bare[claim.end :]
    masks = [(name, value) for name, value, _ in near if str(value.dtype).endswith("bool")]
    for name, value, named in near:
        if not named or math.prod(value.shape) > MASKED:
            continue
        if str(value.dtype).endswith("bool"):
            end = "max" if claim.reads[0].value else "min"
            if not re.match(r"\s(?:means?|stands?|wherever|where|if|for)\b", behind):
                continue
            yield Guess(f"{name}.int().{end}()", WEAK, f"{name} as numbers")
            continue
        if _extremes(value) == (claim.reads[0].value,) * 2:
            yield Guess(name, WEAK, f"all of {name}")
            continue
        for mask, on in masks:
            if tuple(on.shape) == tuple(value.shape)[: len(on.shape)]:
                yield Guess(f"{name}[{mask}]", LIKELY, f"{name}, where {mask}")
                yield Guess(f"{name}[~{mask}]", LIKELY, f"{name}, where not {mask}")
            yield Guess(f"{name}.masked_select({mask})", LIKELY, f"{name}, where {mask}")
            yield Guess(f"{name}.masked_select(~{mask})", LIKELY, f"{name}, where not {mask}")


def how_many_are_on(claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
    """Two columns are hidden: as many as a mask has on, or off, in the row that is spoken of."""
    if not counts(claim):
        return
    begin, end = sentence_at(claim.unit.bare, claim.start)
    before = re.sub(r"\b\w+\s$", "", claim.unit.bare[begin : claim.start])  # but for the last two
    words = re.findall(r"[a-z]+", (before + claim.unit.bare[claim.end : end]).lower())
    rows = [ORDINALS[word] for word in words if word in ORDINALS]
    rows += [int(row) for row in re.findall(r"\b[a-z]+ (\d)\b", claim.sentence)]
    for name, value, named in tensors(claim, values):
        if not str(value.dtype).endswith("bool") or math.prod(value.shape) > MASKED:
            continue
        how = LIKELY if named and rows else WEAK
        places = [f"[{row}]" for row in rows if len(value.shape) > 1]
        for place in [*dict.fromkeys(places), *([""] if len(value.shape) == 1 or named else [])]:
            for sign in ("", "~"):
                code = f"({sign}{name}{place}).sum()" if sign else f"{name}{place}.sum()"
                yield Guess(code, how, f"how many of {name}{place} are {'off' if sign else 'on'}")
                if place and len(value.shape) > 2:
                    code = code.replace(".sum()", ".sum(dim=-1)")
                    yield Guess(code, how, f"how many in each row of {name}{place}")


def elements(claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
    """A number in digits that a small tensor, or a list of numbers, holds in one place."""
    read = claim.reads[0]
    if len(claim.reads) > 1 or claim.how != "is":
        return
    if (read.word and read.value == int(read.value)) or _ends(claim) is not None:
        return
    near = tensors(claim, values)
    held = [one for one in near if not str(one[1].dtype).endswith("bool")]
    lists = [(name, value) for name, value in values.items() if isinstance(value, list | tuple)]
    for name, value in lists:
        if 1 < len(value) <= 64 and all(type(one) in (int, float) for one in value):
            held.append((name, value, bool(parts_of(name) & said(claim))))
    for name, value, named in sorted(held, key=lambda one: not one[2]):
        numbers = numbers_in(value) if math.prod(getattr(value, "shape", (2,))) <= 64 else []
        places = [n for n, true in enumerate(numbers) if holds(read, true, claim.how)]
        plain = read.value in (0, 1, 2)
        if (
            len(numbers) < 2
            or not places
            or (len(places) > 1 and not named)
            or (plain and not named)
        ):
            continue
        index = index_of(getattr(value, "shape", (len(numbers),)), places[0])
        yield Guess(f"{name}[{index}]", WEAK, f"stands in {name}")


def index_of(shape: tuple[int, ...], place: int) -> str:
    found: list[int] = []
    for size in reversed(shape):
        place, rest = divmod(place, size)
        found.insert(0, rest)
    return ", ".join(map(str, found))


def modules(claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
    """Three attentions: so many modules inside another have the noun in the name of their class."""
    for noun in nouns(claim)[:1] if counts(claim) else ():
        one = singular(noun).capitalize()
        for name, value in values.items():
            if name.startswith("_") or isinstance(value, type) or not hasattr(value, "parameters"):
                continue
            if one in ("Vector", "Parameter", "Tensor"):
                yield Guess(f"len(list({name}.parameters()))", WEAK, f"the parameters of {name}")
            kinds = {type(inner).__name__ for inner in _inner(value)}
            for kind in sorted(kinds):
                if one.lower() in parts_of(kind) and kind != type(value).__name__:
                    code = f"sum(type(m).__name__ == {kind!r} for m in {name}.modules())"
                    yield Guess(code, LIKELY, f"each {kind} of {name}")


def _inner(module: Any) -> list[Any]:
    """The modules in a module of PyTorch."""
    return list(module.modules()) if callable(getattr(module, "modules", None)) else []


def sizes(claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
    """The size of something that the sentence names: so many rows, items, or axes."""
    if not counts(claim):
        return
    wanted, things = claim.reads[0].value, nouns(claim)[:1]
    for name, value, named in tensors(claim, values, loosely=not things):
        if named or any(singular(noun) in parts_of(name) for noun in things):
            for axis in [n for n, size in enumerate(value.shape) if size == wanted]:
                yield Guess(f"{name}.shape[{axis}]", WEAK, f"an axis of {name}")


PROPERTIES = {
    r"norms?|length": ("norm(dim=-1)", "norm()"),
    r"mean|average": ("mean()", "mean(dim=-1)"),
    r"standard deviation|spread": ("std()", "std(dim=-1)", "std(dim=-1, correction=0)"),
    r"variance": ("var()", "var(dim=-1)"),
    r"largest|maximum|highest": ("max()", "max(dim=-1).values"),
    r"smallest|minimum|lowest": ("min()", "min(dim=-1).values"),
    r"sums?|total|adds? up": ("sum()", "sum(dim=-1)"),
}


def properties(claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
    """All have the norm 4: what the sentence says of a tensor that it names, as its method.

    Right before a number, the word is enough: of random numbers with variance 1, or mean 0.
    """
    if len(claim.reads) > 1 or claim.reads[0].word:
        return
    before = claim.unit.bare[: claim.start]
    for words, methods in PROPERTIES.items():
        if not re.search(rf"\b(?:{words})\b", claim.sentence, re.IGNORECASE):
            continue
        near = re.search(rf"\b(?:{words})(?: of)?(?: about)? $", before) is not None
        for name, value, named in tensors(claim, values):
            size = math.prod(value.shape)
            for method in methods if named and size > 1 else ():
                yield Guess(f"{name}.{method}", LIKELY, f"of {name}")
            if near and size >= 64 and str(value.dtype).startswith("torch.float"):
                mean = methods[0] if methods[0].endswith("()") else f"{methods[0]}.mean()"
                yield Guess(f"abs({name}.{mean} - _) < 0.1", WEAK, f"about that of {name}")


def strides(claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
    """Where the paragraph speaks of strides: those of a tensor, from either end."""
    if not re.search(r"\bstrides?\b", claim.unit.text) or claim.reads[0].word:
        return
    for name, value, named in tensors(claim, values):
        if not callable(getattr(value, "stride", None)):
            continue
        steps, how = value.stride(), LIKELY if named else WEAK
        if len(claim.reads) == len(steps) > 1:
            yield Guess(f"{name}.stride()[::-1]", how, f"the strides of {name}")
        for axis in [n for n, step in enumerate(steps) if step == claim.reads[0].value]:
            yield Guess(f"{name}.stride()[{axis}]", how, f"a stride of {name}")
