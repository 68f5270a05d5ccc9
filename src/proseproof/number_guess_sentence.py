"""Guessing a number by its sentence: the code in it, what it lists, and what follows it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Set
from typing import Any

from proseproof.number_counters import Counters
from proseproof.number_guess_words import LIKELY, SURE, WEAK, Guess, counts, nouns, singular
from proseproof.numbers import CODE, Claim, sentence_at
from proseproof.sentence_subjects import SPAN, read_spans
from proseproof.values import is_number


def what_follows(claim: Claim, counters: Counters) -> Iterator[Guess]:
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


def is_listed(claim: Claim, listed: list[str]) -> bool:
    """True when the sentence lists things, and no clauses: three steps: split, attend, merge."""
    bare = claim.unit.bare
    if re.search("[:：]", bare[claim.end :].partition(listed[0] if listed else "\n")[0]):
        of = re.match(r"\s(?:of|in|on|at|with)\b", bare[claim.end :])
        counts = claim.text.lower() not in ("twice", "half") and of is None
        return counts and not re.search(r"\bthe $", bare[: claim.start], re.IGNORECASE)
    return len(listed) >= 3 and all(CODE in one for one in listed)


def spans(claim: Claim) -> list[str]:
    """The code in the sentence, the nearest first."""
    begin, end = sentence_at(claim.unit.bare, claim.start)
    text = claim.unit.text
    found = [(abs(m.start() - claim.start), m["text"]) for m in SPAN.finditer(text, begin, end)]
    return [code for _, code in sorted(found)]


def from_sentence(claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
    """The value of code in the sentence, of either side of an equality, or a size of its shape."""
    for code in spans(claim):
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


def farther_below(claim: Claim, counters: Counters, taken: Set[str]) -> Iterator[Guess]:
    """A list that comes later in the section, a fence right behind “Here are three:”."""
    if not counts(claim) or claim.unit.kind not in ("text", "heading"):
        return
    if {singular(noun) for noun in nouns(claim)} & taken:
        return
    kinds = [unit.kind for unit in counters._following()]
    if "item" in kinds:
        yield Guess("items()", WEAK, "a list farther below")
    if "row" in kinds:
        yield Guess("rows()", WEAK, "a table farther below")
    if re.search(r"[:：]\s*$", claim.unit.bare) and claim.sentence.rstrip()[-1:] in ":：":
        yield Guess("lines()", WEAK, "the lines of the fence that follows")


def pieces_of_code(claim: Claim, counters: Counters) -> Iterator[Guess]:
    """Two marks, `bos` and `eos`: as many pieces of code stand in the sentence."""
    behind_it = claim.unit.bare[claim.end :]
    twice = claim.text.lower() == "twice" and not re.match(r"\s(?:as|the|that)\b", behind_it)
    if twice or (counts(claim) and (claim.reads[0].word or nouns(claim))):
        begin, end = sentence_at(claim.unit.bare, claim.start)
        found = [match for match in SPAN.finditer(claim.unit.text, begin, end)]
        names = all(re.fullmatch(r"[\w.]+(?:\(.*\))?", match["text"]) for match in found)
        behind = bool(found) and found[0].start() >= claim.end
        if len(found) == claim.reads[0].value and names:
            how = LIKELY if behind else WEAK
            yield Guess("spans()", how, "the pieces of code in the sentence")


def cases(claim: Claim, counters: Counters) -> Iterator[Guess]:
    """Two cases: so many blocks of code follow in the section."""
    words = ("case", "example", "block", "experiment", "program", "try", "attempt")
    if counts(claim) and any(singular(noun) in words for noun in nouns(claim)):
        yield Guess(f"blocks({claim.section!r})", LIKELY, "the blocks of the section")


def with_printed(claim: Claim, printed: list[float]) -> Iterator[Guess]:
    """About two thirds, `8352 / (8352 + 4224)`: arithmetic with numbers of the output."""
    for code in spans(claim):
        try:
            node = ast.parse(code, mode="eval").body
        except (SyntaxError, ValueError):
            continue
        sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else [node]
        for side in sides:
            product = re.fullmatch(r"(\d+) \* (\d+)", ast.unparse(side))
            if product and len(sides) == 2 and side is sides[1]:  # core == 16 * 8388608
                factor, other = map(float, product.groups())
                if factor == claim.reads[0].value and other in printed:
                    code = f"{ast.unparse(sides[0])} / printed({printed.index(other) + 1})"
                    yield Guess(code, LIKELY, "the code in the sentence, as printed")
            if isinstance(side, ast.BinOp) and (found := _looked_up(side, printed)):
                yield Guess(found, LIKELY, f"`{code}`, as printed")


def _looked_up(node: ast.expr, printed: list[float]) -> str:
    """The expression with its large numbers replaced by the places where they are printed."""

    class Places(ast.NodeTransformer):
        def visit_Constant(self, node: ast.Constant) -> ast.expr:
            value = node.value if isinstance(node.value, int | float) else 0
            if value < 13 or value not in printed:
                return node
            place = ast.Constant(printed.index(value) + 1)
            return ast.Call(ast.Name("printed", ast.Load()), [place], [])

    text = ast.unparse(ast.fix_missing_locations(Places().visit(node)))
    return text if "printed(" in text else ""


def stated(claim: Claim) -> Iterator[Guess]:
    """`(1, 4, 3)`{of=x}: sizes of what the code is said of; `3 * n`{of=cost}: so much for each."""
    begin, end = sentence_at(claim.unit.bare, claim.start)
    for span in read_spans(claim.unit.text[begin:end], 0):
        subjects = [span.of] if span.of and not re.search(r"(?<!\w)_(?!\w)", span.of) else []
        try:
            node = ast.parse(span.text, mode="eval").body
        except (SyntaxError, ValueError):
            continue
        for subject in [*subjects, *span.subjects]:
            for axis, size in enumerate(node.elts if isinstance(node, ast.Tuple) else ()):
                if is_number(size) and ast.literal_eval(size) == claim.reads[0].value:
                    yield Guess(f"{subject}.shape[{axis}]", LIKELY, f"the shape of {subject}")
            each = re.fullmatch(r"(\d+) \* ([A-Za-z_]\w*)", span.text)
            if each and float(each[1]) == claim.reads[0].value:
                yield Guess(f"{subject} / {each[2]}", LIKELY, f"`{span.text}`")


def paragraph(claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
    """The value of code elsewhere in the paragraph: one starts as 1, the other as 0."""
    if claim.reads[0].word or len(claim.reads) > 1 or spans(claim):
        return
    found = [(abs(m.start() - claim.start), m["text"]) for m in SPAN.finditer(claim.unit.text)]
    for _, code in sorted(found):
        match = re.fullmatch(r"([A-Za-z_]\w*) ?= ?(.+)", code)
        side = match[1] if match else code
        if not re.fullmatch(r"[A-Za-z_][\w.]*", side):
            continue
        try:
            value = eval(side, dict(values))
        except Exception:
            continue
        if not isinstance(value, bool):
            yield Guess(side, WEAK, f"`{code}` in the paragraph")
