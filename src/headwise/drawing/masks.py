"""Masks side by side, and what is left when all of them hold."""

from collections.abc import Mapping, Sequence

from torch import Tensor

from headwise._check import show
from headwise.drawing.checks import check_kind, check_tensor, check_text, strings
from headwise.drawing.figure import Figure, with_twin
from headwise.drawing.sheet import SMALL, WIDTH, Sheet
from headwise.drawing.words import choose, paragraph, renamed
from headwise.masks import combine

WORDS = {
    "en": {
        "combined": "Masks combined: 1, filled, may be seen",
        "sees": "the mask {} shows the queries in turn {} of {} keys",
    },
    "zh": {
        "combined": "掩码的组合：填色的 1 表示可见",
        "sees": "掩码 {} 让各个查询依次看到 {} 个键，共 {} 个",
    },
}


@with_twin
def masks(
    parts: Mapping[str, Tensor],
    tokens: Sequence[str] | None = None,
    *,
    zh: Mapping[str, str] | None = None,
    lang: str = "en",
) -> Figure:
    """The named masks of one sentence side by side, and what is left when all of them hold.

    parts: name to mask, boolean, True = may be seen, broadcastable to (1, 1, query, key).
    tokens: the keys, by default their positions, counted from 0.
    zh: what the names are in Chinese, where that is something else.
    """
    words = choose(WORDS, lang)
    both = _combined(parts)
    query, key = both.shape[-2:]
    if both.numel() != query * key or not 1 <= query <= key:
        raise ValueError(
            f"parts: got masks for {show(both.shape)}, expected one sentence, (1, 1, query, key), "
            "at least one query, and no more queries than keys"
        )
    tokens = [str(i) for i in range(key)] if tokens is None else strings("tokens", tokens, key)
    signs = [*["&"] * (len(parts) - 1), "=", ""]
    sheet = Sheet()
    cell = min(26.0, (WIDTH - 22 - 24 * len(parts)) / ((len(parts) + 1) * key))
    if cell < 4:
        raise ValueError(
            f"parts: got {len(parts)} masks of {key} keys, expected fewer: they do not fit"
        )
    left = 20.0
    sentences = [words["combined"]]
    named = renamed("parts", parts, zh, lang)
    panels = [*named.items(), (" & ".join(named), both)]
    for (name, mask), sign in zip(panels, signs, strict=True):
        table = mask.expand_as(both).reshape(query, key)
        width = key * cell
        shown = name if sign else ""
        sheet.text(left + width / 2, 8, shown)
        for row, line in enumerate(table.tolist()):
            for column, seen in enumerate(line):
                x, y = left + column * cell, 20 + row * cell
                sheet.box(x, y, cell, cell, "blue", rx=0, fill_opacity=0.45 * seen)
                sheet.text(x + cell / 2, y + cell / 2, str(int(seen)), SMALL)
        for column, token in enumerate(tokens):
            sheet.text(left + (column + 0.5) * cell, 30 + query * cell, token)
        sheet.text(left + width + 12, 20 + query * cell / 2, sign, 14.0)
        left += width + 24
        counts = words["item"].join(str(int(row.sum())) for row in table)
        sentences.append(words["sees"].format(name, counts, key))
    for row, token in enumerate(tokens[-query:]):
        sheet.text(10, 20 + (row + 0.5) * cell, token)
    return sheet.figure(words["combined"], paragraph(sentences, words), lang)


def _combined(parts: Mapping[str, Tensor]) -> Tensor:
    """What all of the named masks let through."""
    check_kind("parts", parts, Mapping, "a mapping of names to masks")
    for name, mask in parts.items():
        check_text("parts", name)
        check_tensor("parts", mask)
        if mask.is_meta:
            raise ValueError("parts: got a mask on the meta device, expected one with values")
    try:
        both = combine(*parts.values())
    except ValueError as error:
        # Combine calls each of them mask; the caller knows them as parts.
        raise ValueError(f"parts: {str(error).partition(': ')[2]}") from None
    if both is None:
        raise ValueError("parts: got no mask, expected at least one")
    return both
