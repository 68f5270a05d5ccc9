"""Why a change of the drill that nobody caught leaves the page right, if it does.

Nothing here asks the proofs, which let the change pass: it is computed anew.
"""

from __future__ import annotations

import ast
import os
import re
from types import CodeType
from typing import Any

from proseproof import interpreter_state, shape_comments
from proseproof.drill_changes import Change
from proseproof.drill_values import KEYWORD
from proseproof.execution import SEED, empty_scratch, execute
from proseproof.page import Block, Page, Span
from proseproof.project import Project
from proseproof.settings import Settings
from proseproof.values import truth


def means_nothing(settings: Settings, project: Project, change: Change) -> str:
    """Why a change that nobody caught leaves the page right; nothing when it does not."""
    old = project.pages.get(change.path)
    if old is None:
        return _another_example(settings, change)
    if change.span is not None:
        return _still_true(old, change.span, change.new)
    new = Project(settings).page(change.path)
    pairs = [
        (one, two)
        for one, two in zip(old.blocks, new.blocks, strict=True)
        if one.code != two.code and one.language == "python"
    ]
    if pairs and old.is_lab:
        return "the cells print and draw the same, and every sentence about them holds"
    if pairs and all(_computes_the_same(old, one, new, two) for one, two in pairs):
        return "the code computes the same"
    if pairs and change.kind == "operator, index or keyword":
        return "the page stays true: the code prints what is shown, and every sentence holds"
    return ""


def _another_example(settings: Settings, change: Change) -> str:
    """The reason for a source that only tries another size of the tensors it makes up."""
    sized = "|".join(("randn", "rand", "randint", "zeros", "ones", "arange", "full", "empty"))
    before, _, line = change.what.partition(" in ")
    old = before.partition(" → ")[0].strip("'")
    made = re.search(rf"\b(?:{sized})\(([^)]*)", line)
    if old.isdigit() and made and re.search(rf"\b{old}\b", made[1]):
        return "it tries an example of another size, and all that is said of it holds"
    return ""


# Other code in a sentence.


def _still_true(page: Page, span: Span, new: str) -> str:
    values = _values_above(page, span.line)
    old_value, new_value = _evaluated(span.text, values), _evaluated(new, values)
    if isinstance(_parsed(new), ast.Compare):
        # The comparison as it stands now, without what we make of it.
        return "the comparison stays true" if _is_true(new_value) else ""
    if shape_comments.parse_dims(new) is not None:
        same = isinstance(new_value, tuple) and old_value == new_value
        return f"both are {new_value} here" if same else ""
    if KEYWORD.fullmatch(new):
        one, two = (_evaluated(text.partition("=")[2], values) for text in (span.text, new))
        return f"both are {two} here" if two is not None and _same_value(one, two) else ""
    if span.is_subject:
        return _true_of_both(page, span, new, values)
    return ""


def _true_of_both(page: Page, span: Span, new: str, values: dict[str, Any]) -> str:
    """The reason for another subject, of which the same is true."""
    for table in page.tables:
        if any(span.line == line for line, _ in table.rows):
            data = _evaluated(table.expression, values) or []
            shapes = {name: [one[1] for one in data if one[0] == name] for name in (span.text, new)}
            if shapes[new] and all(shape in shapes[new] for shape in shapes[span.text]):
                return f"{new} has the same shape"
    said = [one for one in page.spans if one.line == span.line and span.text in one.subjects]
    one, two = (_evaluated(text, values) for text in (span.text, new))
    if said and all(one.text.startswith("(") for one in said) and hasattr(one, "shape"):
        same = getattr(two, "shape", None) == one.shape
        return f"{new} has the same shape" if same else ""
    return f"{new} has the same value" if said and _same_value(one, two) else ""


def _values_above(page: Page, line: int) -> dict[str, Any]:
    """The variables of the block above a line, or of the first block."""
    blocks = [block for block in page.blocks if block.language == "python" and block.skip is None]
    above = [block for block in blocks if block.line < line] or blocks[:1]
    shared: dict[str, Any] | None = {} if page.is_lab else None
    found: dict[str, Any] = {}
    with interpreter_state.restored():
        os.chdir(empty_scratch())
        interpreter_state.seed(SEED)
        for block in above if page.is_lab else above[-1:]:  # the cells of a lab go on
            run = execute(page, block, shared=shared)
            found = {**run.watch.bindings, **run.namespace}
    return found


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _evaluated(text: str, values: dict[str, Any]) -> Any:
    try:
        return eval(text, dict(values))
    except Exception:
        return None


def _is_true(value: Any) -> bool:
    try:
        return truth(value)
    except Exception:
        return False


# Other code in a block.


def _computes_the_same(old: Page, one: Block, new: Page, two: Block) -> bool:
    first, second = execute(old, one), execute(new, two)
    names = {name for name in first.namespace if not name.startswith("__")}
    return first.stdout == second.stdout and all(
        name in second.namespace and _same_value(first.namespace[name], second.namespace[name])
        for name in names
    )


def _same_value(one: Any, two: Any) -> bool:
    """True when two values are the same, as far as anything can be made of them."""
    if type(one) is not type(two):
        return False
    if hasattr(one, "numel") and hasattr(one, "shape"):
        same = one.shape == two.shape and one.dtype == two.dtype
        return bool(same and ((one == two) | ((one != one) & (two != two))).all())
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(map(_same_value, one, two))
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(_same_value(one[key], two[key]) for key in one)
    if callable(getattr(one, "state_dict", None)) and not isinstance(one, type):
        parts = [(repr(each), getattr(each, "training", None)) for each in (one, two)]
        return parts[0] == parts[1] and _same_value(dict(one.state_dict()), dict(two.state_dict()))
    if hasattr(one, "__code__"):
        return _program(one.__code__) == _program(two.__code__)
    return not isinstance(one, int | float | str | bool | set) or bool(one == two)


def _program(code: CodeType) -> tuple[Any, ...]:
    """What a function does, wherever it stands."""
    constants = [_program(one) if isinstance(one, CodeType) else one for one in code.co_consts]
    return code.co_code, code.co_names, code.co_varnames, constants
