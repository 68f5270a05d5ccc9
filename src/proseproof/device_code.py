"""Code that is for an accelerator too: it names one, or moves to a device that it is given."""

from __future__ import annotations

import ast
import functools
import re

NAME = re.compile(r"(cuda|mps)(:\d*)?")
WORDS = {"cuda", "mps", "accelerator"}


@functools.lru_cache(maxsize=1024)
def is_named(code: str) -> bool:
    """True for code that names an accelerator, or moves to a device that it gets from elsewhere."""
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError):  # reported where it is run
        return False
    return any(map(_names, nodes)) or (any(map(_gets_device, nodes)) and any(map(_moves, nodes)))


@functools.lru_cache(maxsize=1024)
def chooses(code: str) -> bool:
    """True for code that says where its tensors are to be, not only whether there is a GPU."""
    return any(
        (isinstance(node, ast.Constant) and _names(node))
        or (isinstance(node, ast.Attribute) and node.attr == "current_accelerator")
        or (isinstance(node, ast.Call) and _names(node.func) and not node.args)
        for node in ast.walk(ast.parse(code))
    )


def _names(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and NAME.fullmatch(node.value) is not None
    if isinstance(node, ast.alias):
        return bool(WORDS & set(node.name.split(".")))
    return isinstance(node, ast.Attribute) and node.attr in WORDS


def _gets_device(node: ast.AST) -> bool:
    """True for `device = choose()` and `from somewhere import device`."""
    if isinstance(node, ast.alias):
        return "device" in (node.name, node.asname)
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return False
    call = node.value
    spelt_out = ast.unparse(call.func).endswith("device") and call.args and not call.keywords
    spelt_out = spelt_out and all(isinstance(one, ast.Constant) for one in call.args)
    return not spelt_out and any(map(_is_device, node.targets))


def _moves(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg == "device" and _is_device(node.value)
    called = node.func if isinstance(node, ast.Call) else None
    moved = isinstance(called, ast.Attribute) and called.attr == "to"
    return moved and isinstance(node, ast.Call) and any(map(_is_device, node.args))


def _is_device(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "device"
