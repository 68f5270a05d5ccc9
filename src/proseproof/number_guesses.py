"""Guessing what a number is: for `bind`, which writes the guess into the ledger for its author.

A guess has to be more than a coincidence of small numbers. It is *sure* when the noun behind the
number leads to the expression, or what it counts follows; *likely* when code in the same sentence
gives it, or the block prints it and hardly anything else could be meant; *weak* otherwise. Without
a guess, the entry stays open.
"""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proseproof import number_words
from proseproof.bindings import Entry, Unbound
from proseproof.number_counters import Counters, printed_numbers, printed_text
from proseproof.number_proof import holds, judged
from proseproof.numbers import CODE, Claim, sentence_at
from proseproof.sentence_subjects import SPAN

if TYPE_CHECKING:
    from proseproof.execution import Run
    from proseproof.project import Project

RANKS = SURE, LIKELY, WEAK = "sure", "likely", "weak"
IRREGULAR = {
    "matrices": "matrix",
    "biases": "bias",
    "indices": "index",
    "axes": "axis",
    "vertices": "vertex",
}
PLAIN = frozenset(
    re.findall(
        r"\w+",
        "of to in and or the a an is are was were for at with by on that which as so times from it "
        "its this then each per if when where who has have can may more than only also",
    )
)
POINTING = frozenset(
    re.findall(r"\w+", "all other these those both first last next their our single")
)
COMPOUNDS = frozenset(
    re.findall(r"\w+", "axis dimension size argument number input part value index name entry")
)
SELECTED = re.compile(r"\b(?:last|first|next|other|the) $", re.IGNORECASE)
FACTOR = re.compile(r"(?:twice|thrice|half|\w+\stimes) (?:as|the)\b", re.IGNORECASE)
POINTED = re.compile(r"\b(?:all|the|these|those|as) $", re.IGNORECASE)
DENIED = re.compile(r"(?:\b(?:not|never|no longer|nor)\b|n[’']t\b)[^,;:.]{0,12}$")
HERE = "#guess"
ANY = re.compile(r"\bany(?=\.|\((?:torch\.|x,))")  # any.shape[1]: of any tensor or module


@dataclass(frozen=True)
class Guess:
    """An expression, how sure it is, and what led to it."""

    expression: str
    how: str
    why: str


def singular(noun: str) -> str:
    """One of them."""
    noun = noun.lower()
    if noun in IRREGULAR:
        return IRREGULAR[noun]
    if noun.endswith("ies") and len(noun) > 4:
        return noun[:-3] + "y"
    return noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun


def nouns(claim: Claim) -> list[str]:
    """The nouns that a number may count, the nearest first."""
    bare = claim.unit.bare
    _, end = sentence_at(bare, claim.start)
    behind = re.match(r"(?:[ \n-]+(?:[A-Za-z][\w’']*))+", bare[claim.end : end])
    found = re.findall(r"[A-Za-z][\w’']*", behind[0])[:3] if behind else []
    cut = next((n for n, word in enumerate(found) if word.lower() in PLAIN), len(found))
    found = found[:cut]
    # Two learned vectors are vectors, and three matrices start out random.
    plural = next((n for n, word in enumerate(found) if singular(word) != word.lower()), None)
    found = found[plural : plural + 1] if plural is not None else found[:1]
    before = re.search(r"([A-Za-z]\w*) (?:of |is |are |= )?$", bare[: claim.start])
    said = before is not None and before[1].lower() not in PLAIN | POINTING
    return [*found, *([before[1]] if before and said and not found else [])]


def alike(one: Claim, other: Claim) -> bool:
    """True for the same number of the same things in a section, the same words, or a rare one."""
    if [read.value for read in one.reads] != [read.value for read in other.reads]:
        return False
    things, others = nouns(one), nouns(other)
    same = bool(things and others) and singular(things[0]) == singular(others[0])
    here = same and one.section == other.section
    again = one.key.lower() == other.key.lower() and one.reads[0].value >= 3
    return one.how == other.how and (here or again or is_rare(one))


def is_rare(claim: Claim) -> bool:
    """True for a number that hardly means two things on one page, such as −1e9."""
    return len(claim.reads) == 1 and abs(claim.reads[0].value) >= 1000


def guess(
    project: Project,
    path: str,
    claim: Claim,
    run: Run | None,
    *,
    elsewhere: bool = False,
    before: dict[str, Claim] | None = None,
) -> Guess | None:
    """The best guess at what a number is, beside one block of the page.

    `before` are the expressions that the section was bound to so far, with their claims: what says
    "all three" may speak of the three tokens before it.
    """
    numbers = project.numbers(path)
    counters = Counters(project, path, numbers, claim, run)
    values: dict[str, Any] = {**run.watch.bindings, **run.namespace} if run else {}
    found: list[Guess] = []
    if DENIED.search(claim.unit.bare[: claim.start]):
        return None  # what is not so is for its author to say
    for one in _candidates(project, claim, values, counters, elsewhere):
        entry = Entry(claim.section, claim.key, one.expression, HERE, 0)
        if not judged(project, claim, entry, values, counters):
            found.append(one)
            if one.how == SURE:
                break
    if (
        not found
        and before
        and not nouns(claim)[:1]
        and POINTED.search(claim.unit.bare[: claim.start])
    ):
        for expression, other in reversed(before.items()):
            same = [one.value for one in other.reads] == [one.value for one in claim.reads]
            if same and other.reads[0].word and nouns(other):
                return Guess(expression, LIKELY, f"as {other.key}")
    return min(found, key=lambda one: RANKS.index(one.how)) if found else None


def _candidates(
    project: Project, claim: Claim, values: dict[str, Any], counters: Counters, elsewhere: bool
) -> Iterator[Guess]:
    if not elsewhere:
        yield from _what_follows(claim, counters)
        if claim.reads[0].value >= 2 and any(singular(noun) in COMPOUNDS for noun in nouns(claim)):
            yield Guess("parts()", LIKELY, "the parts of the code in the sentence")
    yield from _from_words(project, claim, values)
    yield from _from_names(claim, values)
    yield from _labelled(claim, counters.run)
    if elsewhere:
        for pattern in _coded(claim, counters.run) if is_rare(claim) else ():
            yield Guess(f"coded({pattern!r})", WEAK, "the code")
        return
    if claim.reads[0].word and _is_listed(claim, counters.list_behind()):
        yield Guess("listed()", LIKELY, "what the sentence lists")
    yield from _from_sentence(claim, values)
    yield from _from_rows(claim, values)
    yield from _from_range(claim, values)
    yield from _striking(claim, values, counters)


def _is_listed(claim: Claim, listed: list[str]) -> bool:
    """True when the sentence lists things, and no clauses: three steps: split, attend, merge."""
    bare = claim.unit.bare
    if re.search("[:：]", bare[claim.end :].partition(listed[0] if listed else "\n")[0]):
        of = re.match(r"\s(?:of|in|on|at|with)\b", bare[claim.end :])
        counts = claim.text.lower() not in ("twice", "half") and of is None
        return counts and not re.search(r"\bthe $", bare[: claim.start], re.IGNORECASE)
    return len(listed) >= 3 and all(CODE in one for one in listed)


def _what_follows(claim: Claim, counters: Counters) -> Iterator[Guess]:
    """A list or a table right behind the paragraph."""
    try:
        following = counters._following()
    except StopIteration:
        return
    if following and claim.unit.kind in ("text", "heading", "description"):
        if following[0].kind == "item":
            yield Guess("items()", SURE, "the list that follows")
        elif following[0].kind == "row":
            yield Guess("rows()", LIKELY, "the table that follows")
            yield Guess("columns()", WEAK, "the table that follows")
    headings = counters.project.page(counters.path).headings
    below = [one.anchor for one in headings if one.level == 2]
    at_start = claim.unit.kind == "description" or claim.section not in below
    if at_start and claim.reads[0].value >= 2:
        # The questions q1-…, q2-… of a page that says how many it has.
        for begin in dict.fromkeys(m[1] for one in below if (m := re.match(r"([a-z]+)\d", one))):
            how = LIKELY if claim.start else SURE  # the description begins with it
            yield Guess(f"sections('{begin}[0-9]')", how, "the sections of the page")
        yield Guess("sections()", LIKELY, "the sections of the page")
        yield Guess(f"sections('(?!{''.join(below[-1:])})')", LIKELY, "the sections but the last")


def _from_words(project: Project, claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
    """The words of words.toml: nouns, phrases in front of the number, the number itself."""
    words = project.ledger.words
    for expression in words.get(claim.text, []):
        yield Guess(expression, SURE, claim.text)
    before = re.findall(r"[A-Za-z]+|[\u4e00-\u9fff]", claim.unit.bare[: claim.start])[-2:]
    phrase = " ".join(singular(word) for word in before)
    said = [phrase, *(word for noun in nouns(claim) for word in (noun.lower(), singular(noun)))]
    for noun in dict.fromkeys(said):
        for expression in words.get(noun, []):
            if not ANY.search(expression):
                yield Guess(expression, SURE, noun)
                continue
            if expression == "any.ndim" and SELECTED.search(claim.unit.bare[: claim.start]):
                continue  # the last two axes are not all of them
            for name, value in values.items():
                if not name.startswith("_") and _is_wide(value):
                    yield Guess(ANY.sub(name, expression), LIKELY, noun)


def _is_wide(value: Any) -> bool:
    """True for what `any` may stand for: a tensor of some axes, a module."""
    shape = getattr(value, "shape", None)
    wide = isinstance(shape, tuple) and len(shape) > 1
    return not isinstance(value, type) and (wide or hasattr(value, "parameters"))


def _from_names(claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
    """Variables whose names have the noun in them: layers → num_layers, len(layers)."""
    for place, noun in enumerate(nouns(claim)):
        one = singular(noun)
        for name, value in values.items():
            if name.startswith("_"):
                continue
            for own in (noun.lower(), f"num_{noun.lower()}", f"n_{noun.lower()}"):
                inner = getattr(value, own, None) if not isinstance(value, type) else None
                if type(inner) is int:
                    yield Guess(f"{name}.{own}", LIKELY, noun)
                elif hasattr(inner, "__len__") and hasattr(inner, "__iter__"):
                    yield Guess(f"len({name}.{own})", LIKELY, noun)
            parts = [singular(part) for part in name.lower().split("_")]
            if one not in parts:
                continue
            how = SURE if place == 0 and (len(parts) == 1 or parts[0] in ("num", "n")) else LIKELY
            if type(value) in (int, float):
                yield Guess(name, how, noun)
            elif hasattr(value, "__len__") and not isinstance(value, type):
                yield Guess(f"len({name})", how, noun)


def _labelled(claim: Claim, run: Run | None) -> Iterator[Guess]:
    """A number with the noun beside it, in the code (num_heads=4) or in what the block prints."""
    for noun in nouns(claim)[:1]:
        one = re.escape(singular(noun))
        code = run.block.code if run is not None else ""
        for match in re.finditer(rf"\b(?:\w*_)?{one}s?(?: = |=| in range\()(?=\d)", code):
            yield Guess(f"coded({match[0] + '_'!r})", LIKELY, "the code")
        for match in re.finditer(rf"\b(?:\w*_)?{one}s? (?:in|=) [(\[](?=\d)", code):
            yield Guess(f"len(coded({match[0] + '_'!r}))", LIKELY, "the code")
        text = printed_text(run)
        shown = [read for read in number_words.find(text) if not read.word]
        for place, read in enumerate(shown, 1):
            before, after = text[max(0, read.start - 40) : read.start], text[read.end :]
            label = rf"\b{one}s?\b"
            if re.match(rf"[ -]{label}", after) or re.search(rf"{label}[:=]? *$", before):
                yield Guess(f"printed({place})", LIKELY, f"printed beside {noun}")


def _spans(claim: Claim) -> list[str]:
    """The code in the sentence, the nearest first."""
    begin, end = sentence_at(claim.unit.bare, claim.start)
    text = claim.unit.text
    found = [(abs(m.start() - claim.start), m["text"]) for m in SPAN.finditer(text, begin, end)]
    return [code for _, code in sorted(found)]


def _from_sentence(claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
    """The value of code in the sentence, of either side of an equality, or a size of its shape."""
    for code in _spans(claim):
        sides = [code]
        if match := re.fullmatch(r"([A-Za-z_]\w*) ?= ?(.+)", code):
            sides = [match[1]]
        else:
            try:
                node = ast.parse(code, mode="eval").body
            except (SyntaxError, ValueError):
                continue
            if isinstance(node, ast.Compare):
                sides = [ast.unparse(one) for one in (node.left, *node.comparators)]
            elif isinstance(node, ast.Tuple):
                sides = [ast.unparse(one) for one in node.elts]
        for side in sides:
            if re.fullmatch(r"[\d.,() -]*", side):
                continue
            try:
                value = eval(side, dict(values))
            except Exception:
                continue
            if isinstance(value, bool):
                continue
            yield Guess(side, LIKELY, f"`{code}`")
            shape = getattr(value, "shape", None)
            if isinstance(shape, tuple) and not isinstance(value, type):
                for place, size in enumerate(shape):
                    if size == claim.reads[0].value and size > 1:
                        yield Guess(f"{side}.shape[{place}]", WEAK, f"the shape of `{code}`")


def _from_rows(claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
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


def _from_range(claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
    """The ends of 0 to 511, where something has the size 512."""
    bare = claim.unit.bare
    last = re.match(r"0 (?:to|through) (\d+)\b", bare[claim.start :])
    begun = re.search(r"\b0 (?:to|through) $", bare[: claim.start])
    end = int(last[1]) if last else int(claim.reads[0].value) if begun else 0
    for name, value in values.items():
        if end > 2 and type(value) is int and value == end + 1 and not name.startswith("_"):
            yield Guess(f"range({name})[{0 if last else -1}]", LIKELY, f"up to {name}")


def _striking(claim: Claim, values: dict[str, Any], counters: Counters) -> Iterator[Guess]:
    """A number that is hardly there by chance: a variable has it, the code, or the output."""
    read = claim.reads[0]
    if claim.how in ("<", ">", "<=", ">="):
        return
    if FACTOR.match(claim.unit.bare, claim.start):
        yield from _ratios(read.value, printed_numbers(counters.run))
    striking = len(claim.reads) > 1 or abs(read.value) >= 13 or bool(read.value % 1 and read.unit)
    if len(claim.reads) == 1 and striking:
        for name, value in values.items():
            if type(value) in (int, float) and not name.startswith("_"):
                yield Guess(name, WEAK, "a variable of this value")
    times = re.match(r"\stimes\b", claim.unit.bare[claim.end :]) is not None
    if striking or (not read.word and abs(read.value) >= 3):
        for pattern in _coded(claim, counters.run):
            if times and "*" not in pattern:
                continue  # sixteen times as much is no sixteen of the code
            yield Guess(f"coded({pattern!r})", LIKELY if striking else WEAK, "the code")
    printed = printed_numbers(counters.run)
    where = [place for place, true in enumerate(printed, 1) if holds(read, true, claim.how)]
    alone = len(where) == 1 and not read.word and abs(read.value) >= 3
    if len(claim.reads) == 1 and where and (striking or alone) and not times:
        sure = striking and len(where) == 1
        yield Guess(f"printed({where[0]})", LIKELY if sure else WEAK, "the output")


def _ratios(value: float, printed: list[float]) -> Iterator[Guess]:
    """The only two numbers of the output of which one is that many times the other."""
    large = [(place, one) for place, one in enumerate(printed, 1) if abs(one) >= 13]
    found = [(p, q) for p, one in large for q, two in large if p != q and one == value * two]
    if len(found) == 1:
        yield Guess("printed({}) / printed({})".format(*found[0]), LIKELY, "the output")


def _coded(claim: Claim, run: Run | None) -> Iterator[str]:
    """Where the number stands in the block's code: a few signs around it that tell it apart."""
    code = run.block.code if run is not None else ""
    one = r"-?\d[\d_]*(?:\.\d+)?(?:e-?\d+)?"
    row = rf"(?<![\w.]){one}(?:, {one}){{{len(claim.reads) - 1}}}(?![\w.])"
    for match in re.finditer(row, code):
        numbers = [float(one.replace("_", "")) for one in match[0].split(", ")]
        if numbers != [read.value for read in claim.reads]:
            continue
        begin = code.rfind("\n", 0, match.start()) + 1
        line = code[begin:].partition("\n")[0]
        at = match.start() - begin
        before = re.search(r"(?:[\w.]+\W{0,3})?$", line[:at])
        after = re.match(r"(?:\W{0,3}[\w.]+)?", line[at + len(match[0]) :])
        yield f"{before[0] if before else ''}_{after[0] if after else ''}".strip()


__all__ = ["Guess", "Unbound", "guess", "nouns", "singular"]
