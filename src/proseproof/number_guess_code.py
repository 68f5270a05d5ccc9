"""Guessing a number by the block: it stands in the code, or in what the code prints."""

from __future__ import annotations

import ast
import contextlib
import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set
from typing import TYPE_CHECKING, Any

from proseproof import number_words
from proseproof.bindings import Unbound
from proseproof.number_counters import Counters, printed_text
from proseproof.number_guess_words import (
    LIKELY,
    WEAK,
    Guess,
    counts,
    elided,
    nouns,
    parts_of,
    said,
    singular,
    thing,
)
from proseproof.number_proof import holds
from proseproof.numbers import Claim
from proseproof.values import is_number

if TYPE_CHECKING:
    from proseproof.execution import Run

BACK = re.compile(r"\s(?:\w+\s)?(?:back|before|earlier|behind|below)\b")
BACK_THAN = re.compile(r"\b(?:back|before|earlier) than $")
TIMES = re.compile(r"\s(?:times|fold)\b")


def labelled(claim: Claim, run: Run | None) -> Iterator[Guess]:
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


def striking(claim: Claim, values: dict[str, Any], counters: Counters) -> Iterator[Guess]:
    """A number that is hardly there by chance: a variable has it, the code, or the output."""
    read = claim.reads[0]
    if claim.how in ("<", ">", "<=", ">="):
        return
    striking = len(claim.reads) > 1 or abs(read.value) >= 13 or "." in read.text
    if len(claim.reads) == 1 and striking:
        for name, value in values.items():
            if type(value) in (int, float) and not name.startswith("_"):
                yield Guess(name, WEAK, "a variable of this value")
    times = re.match(r"\stimes\b", claim.unit.bare[claim.end :]) is not None
    if striking or (not read.word and abs(read.value) >= 3):
        for pattern in coded(claim, counters.run):
            if times and "*" not in pattern:
                continue  # sixteen times as much is no sixteen of the code
            yield Guess(f"coded({pattern!r})", LIKELY if striking else WEAK, "the code")
    shown = [one for one in number_words.find(printed_text(counters.run)) if not one.word]
    where = [n for n, one in enumerate(shown, 1) if holds(read, one.value, claim.how)]
    where = [n for n in where if shown[n - 1].text == read.text] or where
    alone = len(where) == 1 and not read.word and abs(read.value) >= 3
    if len(claim.reads) == 1 and where and (striking or alone) and not times:
        sure = striking and len(where) == 1
        yield Guess(f"printed({where[0]})", LIKELY if sure else WEAK, "the output")


def coded(claim: Claim, run: Run | None) -> Iterator[str]:
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


# Numbers that tell which axis, item or seed, and not how many or how much.
PLACES = frozenset(("dim", "axis", "dim0", "dim1", "seed", "correction"))
PLACING = frozenset(
    re.findall(
        r"\w+",
        "manual_seed seed transpose swapaxes size stride unsqueeze squeeze permute flatten unbind",
    )
)
COMPARING = frozenset(("equal", "allclose", "isclose", "zip", "print", "assert_close", "compare"))


def tree_of(run: Run | None) -> ast.Module:
    """The block's code, parsed; none when it cannot be."""
    try:
        return ast.parse(run.block.code if run is not None else "")
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def literals(claim: Claim, counters: Counters, taken: Set[str]) -> Iterator[Guess]:
    """A number in a line of the code that shares words with the sentence, or the only such one."""
    read, run = claim.reads[0], counters.run
    if len(claim.reads) > 1 or claim.how != "is" or TIMES.match(claim.unit.bare, claim.end):
        return
    code = run.block.code if run is not None else ""
    lines, words = code.splitlines(), said(claim)
    found: list[tuple[int, str]] = []
    first = re.search(r"\b(?:first|last) $", claim.unit.bare[: claim.start]) is not None
    things = {singular(noun) for noun in nouns(claim)[:1]}
    back = BACK.match(claim.unit.bare[claim.end :]) or BACK_THAN.search(
        claim.unit.bare[: claim.start]
    )  # three tokens back, for −3
    tree = tree_of(run)
    rows = [one for one in ast.walk(tree) if isinstance(one, ast.List | ast.Tuple)]
    listed = {id(one) for row in rows for one in row.elts} if read.word else set()
    cut = [end for one in ast.walk(tree) if isinstance(one, ast.Slice) for end in (one.upper,)]
    for node in _amounts(tree, first):
        if id(node) in listed:
            continue  # one of the numbers of a list is no count
        if first and not any(node is end for end in cut):
            continue  # the first three are cut off somewhere
        if float(ast.literal_eval(node)) != (-read.value if back else read.value):
            continue
        line = lines[node.lineno - 1]
        begin = len(line.encode()[: node.col_offset].decode())
        end = len(line.encode()[: node.end_col_offset].decode())
        pattern = _telling(counters, line, begin, end)
        if pattern and pattern not in [one for _, one in found]:
            own = parts_of(re.sub(r"\w+\.", "", line))
            found.append((len(own & words) + 2 * len(own & things), pattern))
    found.sort(key=lambda one: -one[0])
    unlike_others = len(found) == 1 or (len(found) > 1 and found[0][0] > found[1][0])
    alone = len(found) == 1 and (
        first or (read.value not in (0, 1, 2) and (not read.word or read.value >= 5))
    )
    if read.word and not (first or things & taken):
        alone = False
    enough = 2 if counts(claim) and (things or read.word) else 1
    alone = alone or (back is not None and len(found) == 1)
    if found and unlike_others and (found[0][0] >= enough or alone):
        why = (
            "the code, which speaks of the same"
            if found[0][0] >= enough
            else "nowhere else in the code"
        )
        yield Guess(f"-{found[0][1].removesuffix('[0]')}[0]" if back else found[0][1], WEAK, why)


MAKING = frozenset(("randn", "rand", "zeros", "ones", "empty", "view", "reshape", "expand"))


def made(claim: Claim, counters: Counters, words: Mapping[str, list[str]]) -> Iterator[Guess]:
    """Eight numbers: a tensor is made with that size on the noun's axis, as in randn(64, 2, 8)."""
    read, code = claim.reads[0], counters.run.block.code if counters.run is not None else ""
    things = [singular(noun) for noun in (*nouns(claim)[:1], *elided(claim, words))]
    leads = "\n".join(one for thing in things for one in words.get(thing, []))
    axes = [int(axis) for axis in re.findall(r"^any\.shape\[(-?\d)\]$", leads, re.MULTILINE)]
    for node in ast.walk(tree_of(counters.run)) if axes and len(claim.reads) == 1 else ():
        if not isinstance(node, ast.Call) or len(node.args) < 2:
            continue
        if getattr(node.func, "attr", getattr(node.func, "id", "")) not in MAKING:
            continue
        for axis in axes:
            size = node.args[axis] if -len(node.args) <= axis < len(node.args) else node
            if is_number(size) and float(ast.literal_eval(size)) == read.value:
                line = code.splitlines()[size.lineno - 1]
                begin = len(line.encode()[: size.col_offset].decode())
                end = len(line.encode()[: size.end_col_offset].decode())
                if pattern := _telling(counters, line, begin, end):
                    yield Guess(pattern, LIKELY, f"the size of a tensor: {things[0]}")


def signs(claim: Claim, run: Run | None) -> Iterator[Guess]:
    """A 1 wherever a key is seen: the block prints a table of 0 and 1."""
    text, value, bare = printed_text(run), claim.reads[0].value, claim.unit.bare
    if claim.reads[0].word or value not in (0, 1) or not SIGN.match(bare[claim.end :]):
        return
    table = re.search(r"(?<![\d.])[01](?:[,\s\[\]]+[01](?![\d.])){2,}", text)
    shown = [one for one in number_words.find(text) if not one.word]
    for place, one in enumerate(shown, 1):
        if table and table.start() <= one.start < table.end() and one.value == value:
            yield Guess(f"printed({place})", WEAK, "a sign of the table that is printed")
            return


SIGN = re.compile(r"\s(?:means?|stands? for|where|wherever|for each|if|says)\b")


def _amounts(node: ast.AST, ends: bool) -> Iterator[ast.expr]:
    """The numbers in code, but for those that say which axis or item; or the ends of slices too."""
    for child in ast.iter_child_nodes(node):
        if isinstance(node, ast.Subscript) and child is node.slice:
            slices = [one for one in ast.walk(child) if isinstance(one, ast.Slice)]
            for end in [one.upper or one.lower for one in slices] if ends else ():
                if end is not None and is_number(end):
                    yield end
            continue
        if isinstance(child, ast.keyword) and child.arg in PLACES:
            continue
        if isinstance(node, ast.Call) and child is not node.func:
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in PLACING:
                continue
        if isinstance(child, ast.expr) and is_number(child):
            yield child
        else:
            yield from _amounts(child, ends)


def _telling(counters: Counters, line: str, begin: int, end: int, sign: str = "") -> str:
    """An expression for the number at a place of the code, with as few signs around as will do."""
    row = re.match(r"(?:, -?\d[\d_]*(?:\.\d+)?(?:e-?\d+)?(?![\w.]))*", line[end:])
    stop = end + (row.end() if row else 0)
    index = "[0]" if stop > end else ""
    starts = [m.start() for m in re.finditer(r"[\w.]+", line[:begin])]
    after = [m.end() for m in re.finditer(r"[\w.]+|$", line[stop:])]
    for start in [*reversed(starts[-4:]), len(line) - len(line.lstrip())]:
        for last in [0, *after[:1]]:
            pattern = f"{line[start:begin]}_{line[stop : stop + last]}".strip()
            if sign not in pattern:
                continue
            with contextlib.suppress(Unbound):
                counters.coded(pattern)
                return f"coded({pattern!r}){index}"
    code = counters.run.block.code if counters.run is not None else ""
    for match in re.finditer(rf"{re.escape(line)}\n\s*[\w.]+", code) if starts else ():
        pattern = f"{line[starts[-1] : begin]}_{match[0][stop:]}"  # with the start of the next line
        with contextlib.suppress(Unbound):
            counters.coded(pattern)
            return f"coded({pattern!r}){index}"
    return ""


def listed_names(
    claim: Claim, values: dict[str, Any], run: Run | None, taken: Set[str]
) -> Iterator[Guess]:
    """Two versions: the code puts two variables of one type side by side, or treats them alike."""
    one = thing(claim)
    if not counts(claim) or not claim.reads[0].word or not one or one in taken:
        return
    before = re.search(r"\b([a-z]+) $", claim.unit.bare[: claim.start], re.IGNORECASE)
    article = before[1].lower() if before else ""
    if article in ("first", "last", "other"):
        return
    shown = article in ("the", "these", "those", "our", "its")  # they were seen before
    words, found = said(claim), dict[frozenset[str], tuple[int, int, list[str]]]()
    for nearness, names in _side_by_side(tree_of(run)):
        held = [values.get(name) for name in names]
        kinds = {(type(value), str(getattr(value, "shape", ""))) for value in held}
        alike = len(kinds) == 1 and not isinstance(held[0], int | str | None)
        if alike and len(names) == len(set(names)) == claim.reads[0].value:
            shared = len(parts_of(" ".join(names)) & words)
            if nearness and not shared and not shown:
                continue
            found.setdefault(frozenset(names), (-shared, nearness, names))
    ranked = sorted(found.values())
    if len(ranked) == 1 or (len(ranked) > 1 and ranked[0][:2] < ranked[1][:2]):
        yield Guess(f"len([{', '.join(ranked[0][2])}])", WEAK, "side by side in the code")


def _side_by_side(tree: ast.Module) -> Iterator[tuple[int, list[str]]]:
    """Names listed or compared; unpacked; in which lines of one form differ: print(a), print(b)."""
    forms: dict[str, list[list[str]]] = {}
    for node in ast.walk(tree):
        listed: list[ast.expr] = []
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            listed = node.elts
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            listed = node.args if name in COMPARING else []
        elif isinstance(node, ast.Assign | ast.Expr):
            form = re.sub(r"id='\w+'|value='[^']*'", "", ast.dump(node))
            forms.setdefault(form, []).append(
                [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]
            )
        inner = [one.elts[-1] if isinstance(one, ast.Tuple) and one.elts else one for one in listed]
        names = [one.id for one in inner if isinstance(one, ast.Name)]
        if names and len(names) == len(inner):
            yield int(isinstance(getattr(node, "ctx", None), ast.Store)), names
    for rows in forms.values():
        columns = [list(one) for one in zip(*rows, strict=True)]
        yield 2, next((one for one in columns if len(set(one)) == len(one) > 1), [])


VERSIONS = frozenset(("way", "form", "version", "variant", "implementation"))


def functions(claim: Claim, values: dict[str, Any], run: Run | None) -> Iterator[Guess]:
    """Two functions: those that the block imports by name, or defines; or a module's versions."""
    kinds: dict[str, Callable[[Any], bool]] = {
        "function": inspect.isroutine,
        "method": inspect.isroutine,
        "class": inspect.isclass,
    }
    for noun in nouns(claim)[:1] if counts(claim) else ():
        for name, value in values.items() if singular(noun) in VERSIONS else ():
            if inspect.ismodule(value) and hasattr(value, "__all__") and not name.startswith("_"):
                yield Guess(f"len({name}.__all__)", LIKELY, f"what {name} has")
        is_one = kinds.get("class" if noun.lower() == "classes" else singular(noun))
        if is_one is None:
            continue
        for node_type in (ast.ImportFrom, ast.FunctionDef | ast.ClassDef):
            nodes = [node for node in ast.walk(tree_of(run)) if isinstance(node, node_type)]
            names = [
                name
                for node in nodes
                for name in (
                    [one.asname or one.name for one in node.names]
                    if isinstance(node, ast.ImportFrom)
                    else [node.name]
                )
                if is_one(values.get(name))
            ]
            if len(names) == claim.reads[0].value:
                yield Guess(f"len([{', '.join(names)}])", LIKELY, f"each {singular(noun)} there")


def line_counts(claim: Claim, run: Run | None) -> Iterator[Guess]:
    """Four lines: of the fence that follows, or of a function that the block defines."""
    if any(singular(noun) == "line" for noun in nouns(claim)[:1]) and counts(claim):
        yield Guess("lines()", LIKELY, "the lines of the fence")
        for node in ast.walk(tree_of(run)):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("__"):
                yield Guess(f"lines({node.name!r})", LIKELY, f"the lines of {node.name}")
        code = run.block.code if run is not None else ""
        begun = Counter(re.findall(r"^[ ]*([A-Za-z_]\w* = )", code, re.MULTILINE))
        alike = [begin for begin, times in begun.items() if times == claim.reads[0].value]
        if len(alike) == 1:
            yield Guess(f"lines({alike[0]!r})", WEAK, f"the lines that begin with {alike[0]}")


ROUNDS = frozenset(
    ("run", "time", "step", "round", "seed", "try", "epoch", "iteration", "repeat", "call", "pass")
)


def rounds(claim: Claim, counters: Counters) -> Iterator[Guess]:
    """Forty steps, three runs, 200 times: a loop goes round so often."""
    value, bare = claim.reads[0].value, claim.unit.bare
    if len(claim.reads) > 1 or value < 2 or re.match(r"\stimes (?:as|the|\d)", bare[claim.end :]):
        return
    noun = re.match(r"\s([a-z]+)", bare[claim.end :])
    known = noun is not None and singular(noun[1]) in ROUNDS
    if not known and not (counts(claim) and value >= 5):
        return
    code = counters.run.block.code if counters.run is not None else ""
    found: list[str] = []
    for match in re.finditer(r"\bin range\((\d+)\)", code):
        begin = code.rfind("\n", 0, match.start()) + 1
        line = code[begin:].partition("\n")[0]
        if int(match[1]) == value:
            found.append(_telling(counters, line, match.start(1) - begin, match.end(1) - begin))
    for pattern in dict.fromkeys(found) if len(set(found)) == 1 else ():
        yield Guess(pattern, LIKELY if known else WEAK, "a loop goes round so often")


def spelled_factor(claim: Claim, counters: Counters) -> Iterator[Guess]:
    """Four times as wide: the code multiplies with that number."""
    value = claim.reads[0].value
    twice = re.match(r"(?:twice|thrice|double)", claim.text, re.IGNORECASE)
    if not (twice or TIMES.match(claim.unit.bare, claim.end)):
        return
    if re.match(r"\stimes \d", claim.unit.bare[claim.end :]):
        return  # 2 times 8 is a product
    code = counters.run.block.code if counters.run is not None else ""
    for node in ast.walk(tree_of(counters.run)):
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)):
            continue
        for side in (node.left, node.right):
            if is_number(side) and float(ast.literal_eval(side)) == value:
                line = code.splitlines()[side.lineno - 1]
                begin = len(line.encode()[: side.col_offset].decode())
                end = len(line.encode()[: side.end_col_offset].decode())
                if pattern := _telling(counters, line, begin, end, "*"):
                    yield Guess(pattern, WEAK, "the code multiplies with it")
