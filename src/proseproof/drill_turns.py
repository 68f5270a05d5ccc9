"""Changes of the drill that turn a block's behaviour round, to what it is there to refute.

A block that refutes something must not show the same when the wrong function stands in place of
the right one, a mask is negated, a flag is turned or two arguments are exchanged. What it shows is
left as it was.
"""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations

from proseproof import listings
from proseproof.drill_changes import Author, Change, anchor_of
from proseproof.drill_edits import code_tokens
from proseproof.page import Block, Page

Edit = dict[int, str]  # the new text of each token that changes, by its place
FLAGS = {"True": "False", "False": "True"}
OPPOSED = ("wrong", "right")


class Code:
    """A block's code as a tree and as tokens, each node with the places of its tokens."""

    def __init__(self, source: str) -> None:
        self.source, self.tree, self.tokens = source, ast.parse(source), code_tokens(source)
        self.starts = {token.start: place for place, token in enumerate(self.tokens)}
        self.ends = {token.end: place for place, token in enumerate(self.tokens)}

    def places(self, node: ast.expr) -> tuple[int, int] | None:
        """The first and the last token of an expression that stands in one line."""
        lines = self.source.split("\n")
        if node.end_lineno != node.lineno or node.end_col_offset is None:
            return None
        line = lines[node.lineno - 1].encode()
        first, last = (
            (node.lineno, len(line[:column].decode()))
            for column in (node.col_offset, node.end_col_offset)
        )
        if first not in self.starts or last not in self.ends:
            return None
        return self.starts[first], self.ends[last]

    def text(self, node: ast.expr) -> str:
        """An expression as it is written."""
        return ast.get_source_segment(self.source, node) or ""

    def renamed(self, names: dict[str, str], *, imports: bool, anywhere: bool = False) -> Edit:
        """Other names in place of these where they are used; `anywhere` counts attributes."""
        used = {
            self.places(node)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
        lines = {
            line
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ImportFrom)
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        }
        edit = {}
        for place, token in enumerate(self.tokens):
            imported = token.start[0] in lines
            before = self.tokens[place - 1].string if place else ""
            if token.string in names and (
                (imports if imported else (place, place) in used) or (anywhere and before == ".")
            ):
                edit[place] = names[token.string]
            elif (
                token.type == tokenize.STRING and "f" in token.string.partition(token.string[-1])[0]
            ):
                new = _in_braces(token.string, names)
                if new != token.string:
                    edit[place] = new
        return edit


def _in_braces(text: str, names: dict[str, str]) -> str:
    """An f-string with other names in place of these."""
    either = re.compile(rf"(?<![\w.])(?:{'|'.join(names)})(?!\w)")
    return re.sub(
        r"\{[^{}]*\}", lambda part: either.sub(lambda name: names[name[0]], part[0]), text
    )


def kinds(author: Author) -> dict[str, Callable[[], Iterator[Change]]]:
    """Every way to turn a block round, and where its candidates come from."""
    turns: dict[str, Callable[[Author, Page, Block, Code], Iterator[Edit]]] = {
        "turned: one for the other": _one_for_the_other,
        "turned: a negation": _negations,
        "turned: a flag": _flags,
        "turned: two arguments": _arguments,
    }
    return {kind: partial(_changes, author, kind, turn) for kind, turn in turns.items()}


def _changes(
    author: Author, kind: str, turn: Callable[[Author, Page, Block, Code], Iterator[Edit]]
) -> Iterator[Change]:
    for page in author.leading:
        for index, block in enumerate(page.blocks):
            if block.language != "python" or block.skip is not None or page.is_lab:
                continue
            if _refutes(author, page, block):
                for edit in turn(author, page, block, Code(block.code)):
                    change = author.tokens(kind, page, index, edit) if edit else None
                    if change is not None:
                        yield change


def _refutes(author: Author, page: Page, block: Block) -> bool:
    """True for a block that shows something in a section that has to treat an id, where a project
    has such ids, and for one that puts wrong and right side by side."""
    ids = author.settings.required_ids
    section = anchor_of(page, block.line).partition("-")[0].upper()
    if all(re.search(rf"\b{word}\b", block.code) for word in OPPOSED):
        return True
    return block.output is not None and (not ids or section in ids)


def _one_for_the_other(author: Author, page: Page, block: Block, code: Code) -> Iterator[Edit]:
    """The wrong function or value in place of the right one, and the other way round."""
    for one, two in _quoted_pairs(author, page, block):
        used = [name for name in (one, two) if re.search(rf"\b{name}\b", block.code)]
        if len(used) == 1:
            other = two if used == [one] else one
            yield code.renamed({used[0]: other}, imports=True)
    for one, two in sorted({*_imported_pairs(code), *_assigned_pairs(code)}):
        yield code.renamed({one: two, two: one}, imports=False)
    if all(re.search(rf"\.{word}\b", block.code) for word in OPPOSED):
        one, two = OPPOSED
        yield code.renamed({one: two, two: one}, imports=False, anywhere=True)


def _quoted_pairs(author: Author, page: Page, block: Block) -> Iterator[tuple[str, str]]:
    """Two functions of one file, called alike, that the block's section quotes."""
    section = anchor_of(page, block.line)
    quoted = [one.spec for one in page.listings if anchor_of(page, one.line) == section]
    for one, two in combinations(dict.fromkeys(quoted), 2):
        nodes = [
            ast.parse(listings.resolve(author.settings.root, spec)).body[0] for spec in (one, two)
        ]
        first, second = (
            len(node.args.args) if isinstance(node, ast.FunctionDef) else 0 for node in nodes
        )
        if one.partition(":")[0] == two.partition(":")[0] and first == second > 0:
            yield one.rpartition(":")[2], two.rpartition(":")[2]


def _imported_pairs(code: Code) -> Iterator[tuple[str, str]]:
    """Two functions that one statement imports, and that are called alike."""
    calls = {
        node.func.id: len(node.args) + len(node.keywords)
        for node in ast.walk(code.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    for node in ast.walk(code.tree):
        if isinstance(node, ast.ImportFrom):
            names = [alias.asname or alias.name for alias in node.names]
            for one, two in combinations(sorted(name for name in names if name in calls), 2):
                if calls[one] == calls[two]:
                    yield one, two


def _assigned_pairs(code: Code) -> Iterator[tuple[str, str]]:
    """Two variables that are made in the same way."""
    made: dict[str, str] = {}
    for node in code.tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            target, function = node.targets[0], node.value.func
            if isinstance(target, ast.Name):
                made[target.id] = ast.unparse(function).rpartition(".")[2]
    for one, two in combinations(sorted(made), 2):
        if made[one] == made[two]:
            yield one, two


def _negations(author: Author, page: Page, block: Block, code: Code) -> Iterator[Edit]:
    """A negation dropped, and what is printed as True or False negated."""
    for node in ast.walk(code.tree):
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert | ast.Not):
            places = code.places(node)
            if places is not None:
                yield {places[0]: ""}
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "print":
            for argument in node.args:
                places = code.places(argument)
                if places is not None and _answers(argument):
                    first, last = (code.tokens[place].string for place in places)
                    if places[0] == places[1]:
                        continue
                    yield {places[0]: f"not ({first}", places[1]: f"{last})"}


def _answers(node: ast.expr) -> bool:
    """True for an expression that is likely to be True or False."""
    if isinstance(node, ast.Call):
        name = ast.unparse(node.func).rpartition(".")[2]
        return name in ("equal", "allclose", "all", "any", "isinstance", "hasattr", "callable")
    return isinstance(node, ast.Compare | ast.BoolOp)


def _flags(author: Author, page: Page, block: Block, code: Code) -> Iterator[Edit]:
    """True for False in what a call is given by name, and the other way round."""
    for node in ast.walk(code.tree):
        if isinstance(node, ast.keyword):
            places = code.places(node.value)
            if places is not None and code.tokens[places[0]].string in FLAGS:
                yield {places[0]: FLAGS[code.tokens[places[0]].string]}


def _arguments(author: Author, page: Page, block: Block, code: Code) -> Iterator[Edit]:
    """Two arguments that stand side by side, exchanged."""
    for node in ast.walk(code.tree):
        if not isinstance(node, ast.Call) or ast.unparse(node.func) == "print":
            continue
        for one, two in zip(node.args, node.args[1:], strict=False):
            first, second = code.places(one), code.places(two)
            if first is None or second is None or code.text(one) == code.text(two):
                continue
            edit = dict.fromkeys(
                [*range(first[0], first[1] + 1), *range(second[0], second[1] + 1)], ""
            )
            yield edit | {first[0]: code.text(two), second[0]: code.text(one)}
