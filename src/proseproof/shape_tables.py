"""Shape tables: rows that name tensors and shapes, held against data that the code gives."""

from __future__ import annotations

import ast
from typing import Any

from proseproof import shape_comments
from proseproof.messages import Finding
from proseproof.page import Block, Page, Span, Table
from proseproof.report import ClaimEntry


def spans_of(page: Page) -> set[Span]:
    """The spans that are judged with their table and not on their own."""
    return {span for table in page.tables for _, spans in table.rows for span in _parts(spans)}


def _parts(spans: tuple[Span, ...]) -> list[Span]:
    return [span for n, span in enumerate(spans) if n == 0 or shape_comments.parse_dims(span.text)]


def block_of(page: Page, table: Table) -> Block | None:
    """The block that gives the table's data: the last above it, or else the page's first."""
    above = [block for block in page.blocks if block.line < table.line] or page.blocks[:1]
    return above[-1] if above else None


def unchecked(page: Page) -> list[Finding]:
    """Tables whose block does not run, so that nobody would look at their rows."""
    found = []
    for table in page.tables:
        block = block_of(page, table)
        if block is not None and block.language == "python" and block.skip is None:
            continue
        why = "this page has no block" if block is None else f"the block at {block.line} gives none"
        message = f"nobody checks this table: its data is {table.expression}, and {why}"
        remedy = f"put the table below a python block in which {table.expression} can be evaluated"
        found.append(Finding(page.path, table.line, message, remedy=remedy))
    return found


def _unbound(page: Page, table: Table, sizes: dict[str, int]) -> list[Finding]:
    """Names that fit any size: neither the block nor numbers in the same row say how large."""
    uses: dict[str, int] = {}
    for line, spans in table.rows:
        shapes = [shape_comments.parse_dims(span.text) for span in spans[1:]]
        names = [
            {node.id for node in ast.walk(dims) if isinstance(node, ast.Name)}
            for dims in shapes
            if dims is not None
        ]
        if all(names):
            for name in set().union(*names) - sizes.keys():
                uses.setdefault(name, line)
        else:  # `(batch, d_model)` beside `(2, 8)`
            sizes = sizes | dict.fromkeys(set().union(*names), 0)
    remedy = "give it a value in the block above, or numbers beside it: `(n, d)` | `(2, 8)`"
    return [
        Finding(page.path, line, f"nothing says how large {name} is", remedy=remedy)
        for name, line in sorted(uses.items())
        if name not in sizes
    ]


def check(
    page: Page, table: Table, values: dict[str, Any]
) -> tuple[list[ClaimEntry], list[Finding]]:
    """Every row's name and shape, against the items (name, shape, …) that the expression gives."""
    try:
        data = [(str(item[0]), tuple(item[1])) for item in eval(table.expression, dict(values))]
    except Exception as error:
        message = f"the table's data, {table.expression}: {type(error).__name__}: {error}"
        remedy = "give an expression whose items begin with a name and a shape"
        return [], [Finding(page.path, table.line, message, remedy=remedy)]
    sizes = {name: int(value) for name, value in values.items() if type(value) is int}
    claims: list[ClaimEntry] = []
    found = _unbound(page, table, sizes)
    place = 0
    for line, spans in table.rows:
        tuples = [span for span in spans[1:] if shape_comments.parse_dims(span.text) is not None]
        if not tuples:
            message = "this row needs a `name` in its first cell and a `(shape)` in another"
            found.append(Finding(page.path, line, message))
            continue
        name, said = spans[0].text, tuples[-1].text
        # A name may come more than once: rows take them in order, and may leave some out.
        at = next((n for n in range(place, len(data)) if data[n][0] == name), None)
        reason, remedy = "", "write the true shape"
        if any(span.mark == "wrong" for span in (spans[0], *tuples)):
            reason, remedy = f"{name} is marked as wrong in a table of what is true", "remove it"
        elif at is None:
            order = ", ".join(one for one, _ in data)
            if any(one == name for one, _ in data):
                reason = f"the data has no {name!r} after the row above; its order is {order}"
            else:
                reason = f"the data has no {name!r}; it has {order}"
            remedy = "write the rows that the data has, in its order"
        else:
            place = at + 1
            for one in tuples:
                dims = shape_comments.parse_dims(one.text)
                assert dims is not None
                try:
                    sizes |= shape_comments.agree(dims, data[at][1], sizes)
                except shape_comments.ShapeError as error:
                    reason = f"{name}: {error}"
        claims.append(ClaimEntry(line, f"{name} {said}", "table", "fails" if reason else "holds"))
        if reason:
            found.append(Finding(page.path, line, reason, remedy=remedy))
    return claims, found
