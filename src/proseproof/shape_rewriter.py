"""Putting checks into a syntax tree: one behind each line that ends in a shape or a value."""

from __future__ import annotations

import ast
import re
from typing import Any

CHECK, DIMS, VALUE, COMPILING = "__shape_check__", "__dims__", "__made__", "__is_compiling__"


class Rewriter(ast.NodeTransformer):
    """Puts a check behind every statement, or around every part of one, that has a comment."""

    def __init__(self, path: str, comments: dict[int, str], source: list[str], shift: int) -> None:
        self.path, self.comments, self.source, self.shift = path, dict(comments), source, shift
        self.used: set[int] = set()
        self.depth = 0

    def _checking(self, value: ast.expr, line: int, at: ast.AST) -> Any:
        call = ast.Call(
            ast.Name(CHECK, ast.Load()),
            [
                value,
                ast.Constant(self.path),
                ast.Constant(line + self.shift),
                ast.Name(DIMS, ast.Load()),
            ],
            [],
        )
        gate = ast.Call(ast.Name(COMPILING, ast.Load()), [], [])
        return self._place(ast.BoolOp(ast.Or(), [gate, call]), at)

    @staticmethod
    def _place(new: Any, at: Any) -> Any:
        """Give every new node the first line of `at`, so that no line or branch is added."""
        node: Any
        for node in ast.walk(new):
            if not hasattr(node, "lineno"):
                node.lineno = node.end_lineno = at.lineno
                node.col_offset = node.end_col_offset = at.col_offset
        return new

    def _take(self, line: int | None) -> bool:
        if line in self.comments and line not in self.used:
            self.used.add(line)
            return True
        return False

    def body(self, body: list[ast.stmt]) -> list[ast.stmt]:
        new: list[ast.stmt] = []
        for node in body:
            simple = not hasattr(node, "body") and not isinstance(node, ast.Match)
            if simple and self._ends_line(node) and self._take(node.end_lineno):
                new += self._statement(node)
            else:
                new.append(self.visit(node))
        return new

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        line = node.end_lineno or node.lineno
        self.generic_visit(node)
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            read = ast.parse(ast.unparse(target).strip("()"), mode="eval").body
            for part in ast.walk(read):
                for name in ("lineno", "end_lineno", "col_offset", "end_col_offset"):
                    part.__dict__.pop(name, None)
            return [node, self._place(ast.Expr(self._checking(read, line, node)), node)]
        if isinstance(node, ast.Return | ast.Expr) and node.value is not None:
            made = ast.Name(VALUE, ast.Store())
            value = node.value
            if _prints_one(value):
                inner = value.args[0]  # type: ignore[attr-defined]
                value.args[0] = self._wrapped(inner, line)  # type: ignore[attr-defined]
                return [node]
            keep = self._place(ast.Assign([made], value), node)
            node.value = self._place(ast.Name(VALUE, ast.Load()), node)
            proof = self._checking(ast.Name(VALUE, ast.Load()), line, node)
            return [keep, self._place(ast.Expr(proof), node), node]
        self.used.discard(line)
        return [node]

    def _wrapped(self, value: ast.expr, line: int) -> ast.expr:
        """`value`, checked where it stands: `(made := value, check(made))[0]`."""
        keep = ast.NamedExpr(ast.Name(VALUE, ast.Store()), value)
        proof = self._checking(ast.Name(VALUE, ast.Load()), line, value)
        pair = ast.Tuple([keep, proof], ast.Load())
        return self._place(ast.Subscript(pair, ast.Constant(0), ast.Load()), value)  # type: ignore[no-any-return]

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Descend, statement lists first, so that a comment goes to what ends on its line."""
        for name, old in ast.iter_fields(node):
            if isinstance(old, list) and old and isinstance(old[0], ast.stmt):
                setattr(node, name, self.body(old))
            elif isinstance(old, list):
                setattr(
                    node,
                    name,
                    [self.visit(item) if isinstance(item, ast.AST) else item for item in old],
                )
            elif isinstance(old, ast.AST):
                setattr(node, name, self.visit(old))
        return node

    def visit(self, node: ast.AST) -> Any:
        """Wrap the widest expression that ends where a comment inside a statement begins."""
        end = getattr(node, "end_lineno", None)
        if (
            isinstance(node, ast.expr)
            and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
            and not isinstance(node, ast.Starred | ast.Slice)
            and end in self.comments
            and end not in self.used
            and self._ends_line(node)
        ):
            self.used.add(end)
            self.generic_visit(node)
            return self._wrapped(node, end)
        return super().visit(node)

    def _ends_line(self, node: ast.expr | ast.stmt) -> bool:
        raw = self.source[(node.end_lineno or 1) - 1].encode()[node.end_col_offset :]
        return re.fullmatch(rb"[\s,;)\]]*#.*", raw) is not None

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        first = node.body[0]
        arguments = node.args
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        checks = []
        for argument in named[::-1]:
            line = argument.end_lineno or argument.lineno
            if line < first.lineno and self._take(line):
                read = ast.Name(argument.arg, ast.Load())
                checks.append(self._place(ast.Expr(self._checking(read, line, first)), first))
        node.body = self.body(node.body)
        start = self._place(ast.Assign([ast.Name(DIMS, ast.Store())], ast.Dict([], [])), first)
        quoted = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        at = 1 if quoted and len(node.body) > 1 else 0
        node.body[at:at] = [self._move(one, node.body[at]) for one in [start, *checks[::-1]]]
        return node

    @staticmethod
    def _move(new: ast.stmt, at: ast.stmt) -> ast.stmt:
        node: Any
        for node in ast.walk(new):
            if hasattr(node, "lineno"):
                node.lineno = node.end_lineno = at.lineno
        return new

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Give a function its own bindings, and check the parameters that have a comment."""
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """As for a plain function."""
        return self._function(node)


def _prints_one(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id == "print"
        and len(value.args) == 1
    )
