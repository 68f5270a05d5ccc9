"""Comments that look like shapes to a reader and are written so that nothing can be asserted."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

WIDE = str.maketrans("（），［］【】：", "(),[][]:")
# Names that everybody takes for sizes, whatever the code is about.
SIZE = r"[BTCHNLSDE]|batch|(?:num|dim|n|d)_\w+|\w+_(?:len|length|size|dim)"
LABEL = r"^(?:(?:[\w.' ]{1,30}[:=]|[-=]*>|→|(?:now|shapes?|sizes?|of|is)\b|形状|大小|为|是)\s*)+"
# What is written in brackets behind one of these is an interval, a reference, or places.
OTHER = (
    r"(?:\b(?:in|between|from|within|range|interval|see|cf|eq|step|section|figure|axis|axes|dims?"
    r"|rows?|columns?|points?|pairs?|positions?|places?|at|by|centre|center|coords?|versions?)"
    r"|∈|区间|属于|见|第|轴|维)[.=]?\s*$"
)
BRACKETS = re.compile(
    r"(?:(?<![A-Za-z0-9_.)\]])(?<!\w\()|(?<=shape))(?:\(([^()\[\]]*,[^()\[\]]*)\)|\[([^()\[\]]*,[^()\[\]]*)\])"
)


def looks_like_shape(text: str, known: frozenset[str]) -> bool:
    """True for what a reader takes for a shape; `known` are the sizes that the code names."""
    text = text.translate(WIDE).strip()
    if re.search(r"\bSize\(", text):
        return True
    rest = re.sub(LABEL, "", text)
    for match in BRACKETS.finditer(text):
        told = re.fullmatch(
            r"(?:[\w.]+\s*[:=]|[-=]*>|→|now|shapes?|形状)\s*", text[: match.start()]
        )
        if not re.search(OTHER, text[: match.start()], re.IGNORECASE) and _is_shape(
            match[1] or match[2], known, any_name=told is not None
        ):
            return True
    by = re.split(r"\s*×\s*|\s+x\s+|(?<=\d)x(?=\d)", rest)
    if len(by) > 1 and all(_is_size(item, known) for item in by):
        return True
    listed = re.split(r"\s*,\s*", rest)
    if len(listed) > 1 and all(re.fullmatch(r"[A-Za-z_]\w*|\d+", item, re.A) for item in listed):
        named = not all(map(str.isdigit, listed)) or rest == text
        return named and sum(_is_size(item, known) for item in listed) > 1
    spaced = rest.split()
    return len(spaced) > 1 and all(
        _is_size(item, known) and not item.isdigit() and (item in known or item != item.lower())
        for item in spaced
    )


def is_size_list(text: str, known: frozenset[str]) -> bool:
    """True for `[2, 3]` and `[batch, d_model]`, and not for `[start, end]` or `[x]`."""
    inside = text.strip()[1:-1]
    if "," not in inside:
        return _is_size(inside.strip(), known)
    return _is_shape(inside, known, any_name=False)


def _is_size(item: str, known: frozenset[str]) -> bool:
    return item in known or re.fullmatch(rf"[1-9]\d*|{SIZE}", item, re.ASCII) is not None


def _is_shape(inside: str, known: frozenset[str], any_name: bool) -> bool:
    """True when the items can be sizes, and one of them can hardly be anything else."""
    if not inside.isascii():
        return False
    try:
        node = ast.parse(f"({inside})", mode="eval").body
    except (SyntaxError, ValueError):
        return False
    if not isinstance(node, ast.Tuple) or not node.elts:
        return False
    sure = any_name
    names = any(isinstance(one, ast.Name) for one in ast.walk(node))
    for item in node.elts:
        if isinstance(item, ast.Constant) and type(item.value) is int:
            if item.value == 0 or (names and 1900 <= item.value < 2100):
                return False
            sure = True
        elif isinstance(item, ast.Name):
            sure = sure or _is_size(item.id, known)
        elif isinstance(item, ast.BinOp):
            sure = sure or any(
                _is_size(part, known) for part in re.split(r"\W+", ast.unparse(item))
            )
        elif not (isinstance(item, ast.Constant) and item.value is ...):
            return False
    return sure


def sizes_named(source: str) -> Iterator[str]:
    """The names that the code binds to whole numbers or takes from a shape."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            one, many = isinstance(target, ast.Name), isinstance(target, ast.Tuple)
            if one and _is_int(node.value):
                yield ast.unparse(target)
            elif many and isinstance(node.value, ast.Tuple):
                pairs = zip(target.elts, node.value.elts, strict=False)  # type: ignore[attr-defined]
                yield from (ast.unparse(name) for name, value in pairs if _is_int(value))
            elif many and re.search(r"\.(shape|size\(\))$", ast.unparse(node.value)):
                yield from map(ast.unparse, target.elts)  # type: ignore[attr-defined]


def _is_int(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int
