"""Changes of the drill to code in sentences: another digit, another dimension, a misspelt name."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterator
from functools import partial

from proseproof import shape_comments
from proseproof.drill_changes import Author, Change
from proseproof.drill_edits import misspelt, other_digit, renamed
from proseproof.page import Span


def kinds(author: Author) -> dict[str, Callable[[], Iterator[Change]]]:
    """Every kind of change to a span alone, and where its candidates come from."""
    changes = {
        "digit in a shape": _shape_digit,
        "digit in a number": _number_digit,
        "dimension's name": _dimension,
        "name misspelt": _name,
    }
    return {kind: partial(_spans, author, kind, change) for kind, change in changes.items()}


def _spans(
    author: Author, kind: str, change: Callable[[Author, Span], str | None]
) -> Iterator[Change]:
    for page in author.leading:
        for span in page.spans:
            new = None if span.mark else change(author, span)
            made = author.span(kind, page, span, new)
            if made is not None:
                yield made


def _is_shape(span: Span) -> bool:
    return shape_comments.parse_dims(span.text) is not None


def _shape_digit(author: Author, span: Span) -> str | None:
    return other_digit(span.text, author.chance) if _is_shape(span) else None


def _number_digit(author: Author, span: Span) -> str | None:
    compared = re.search(r"==|<|>", span.text) or re.fullmatch(r"-?[\d.]+", span.text)
    return other_digit(span.text, author.chance) if compared and not _is_shape(span) else None


def _dimension(author: Author, span: Span) -> str | None:
    return renamed(span.text, author.dimensions, author.chance) if _is_shape(span) else None


def _name(author: Author, span: Span) -> str | None:
    if not re.fullmatch(r"[\w.]+", span.text) or keyword.iskeyword(span.text):
        return None
    return misspelt(span.text, author.chance)
