"""Shape tables: rows that name tensors and shapes, held against data that the code gives."""

from __future__ import annotations

import ast
from typing import Any

from proseproof import shape_comments
from proseproof.messages import Finding
from proseproof.page import Page, Span, Table
from proseproof.report import ClaimEntry


def spans_of(page: Page) -> set[Span]:
    """The spans that are judged with their table and not on their own."""
    return {span for table in page.tables for _, spans in table.rows for span in _parts(spans)}


def _parts(spans: tuple[Span, ...]) -> list[Span]:
    return [span for n, span in enumerate(spans) if n == 0 or shape_comments.parse_dims(span.text)]


def _said_once(page: Page, table: Table, sizes: dict[str, int]) -> list[Finding]:
    """Names that nothing binds: one that stands in the table only once fits any size."""
    uses: dict[str, list[int]] = {}
    for line, spans in table.rows:
        for span in spans[1:]:
            dims = shape_comments.parse_dims(span.text)
            for node in ast.walk(dims) if dims is not None else ():
                if isinstance(node, ast.Name) and node.id not in sizes:
                    uses.setdefault(node.id, []).append(line)
    remedy = "give it a value in the block above, or use the name that the other rows use"
    return [
        Finding(page.path, lines[0], f"nothing says how large {name} is", remedy=remedy)
        for name, lines in uses.items()
        if len(lines) == 1
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
    found = _said_once(page, table, sizes)
    place = 0
    for line, spans in table.rows:
        tuples = [span for span in spans[1:] if shape_comments.parse_dims(span.text) is not None]
        if not tuples:
            message = "this row needs a `name` in its first cell and a `(shape)` in another"
            found.append(Finding(page.path, line, message))
            continue
        name, said = spans[0].text, tuples[-1].text
        known = [n for n in range(len(data)) if data[n][0] == name]
        # A name may come more than once: rows take them in order.
        at = next((n for n in known if n >= place), known[0] if known else None)
        reason = ""
        if at is None:
            reason = f"the data has no {name!r}; it has {', '.join(one for one, _ in data)}"
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
            found.append(Finding(page.path, line, reason, remedy="write the true shape"))
    return claims, found
