"""Small changes to text and code: another digit, a misspelt name, another operator."""

from __future__ import annotations

import ast
import functools
import io
import random
import re
import tokenize
from collections.abc import Iterator

from proseproof.page import Block, Page, Span

SWAPS = {
    "+": "-", "-": "+", "*": "+", "/": "*", "//": "*", "@": "*", "**": "*",
    "==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
    "True": "False", "False": "True", "and": "or", "or": "and",
}  # fmt: skip
DIRECTIONS = {"tril": "triu", "triu": "tril", "~": "", "==": "!=", "is_causal": "is_causa1"}


def lines_with(text: str, edits: list[tuple[int, str, str]]) -> str | None:
    """The text with `old` replaced by `new` once in each given line; None when one is not there."""
    lines = text.split("\n")
    for number, old, new in edits:
        if not 0 < number <= len(lines) or old not in lines[number - 1]:
            return None
        lines[number - 1] = lines[number - 1].replace(old, new, 1)
    return "\n".join(lines)


def other_digit(text: str, chance: random.Random) -> str | None:
    """The text with one digit changed."""
    places = [place for place, sign in enumerate(text) if sign.isdigit()]
    if not places:
        return None
    place = chance.choice(places)
    new = chance.choice([digit for digit in "123456789" if digit != text[place]])
    return text[:place] + new + text[place + 1 :]


def misspelt(text: str, chance: random.Random) -> str | None:
    """The text with two letters swapped."""
    places = [
        n
        for n in range(len(text) - 1)
        if text[n] != text[n + 1] and text[n].isalpha() and text[n + 1].isalpha()
    ]
    if not places:
        return None
    n = chance.choice(places)
    return text[:n] + text[n + 1] + text[n] + text[n + 2 :]


def renamed(text: str, names: list[str], chance: random.Random) -> str | None:
    """A shape with one dimension's name changed to another."""
    here = re.findall(r"[A-Za-z_]\w*", text)
    if not here:
        return None
    old = chance.choice(here)
    new = chance.choice([name for name in names if name not in here] or ["width"])
    return re.sub(rf"\b{old}\b", new, text, count=1)


@functools.lru_cache(maxsize=1024)
def code_tokens(code: str) -> list[tokenize.TokenInfo]:
    """The code's tokens without comments and line ends, which translations may change."""
    left_out = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE}
    tokens = tokenize.generate_tokens(io.StringIO(code).readline)
    return [token for token in tokens if token.type not in left_out]


def token_changes(
    code: str, swaps: dict[str, str], numbers: bool = True
) -> Iterator[tuple[int, str, str]]:
    """Tokens that can be swapped: place, old and new."""
    try:
        tokens = code_tokens(code)
    except (tokenize.TokenError, SyntaxError):
        return
    for place, token in enumerate(tokens):
        before = tokens[place - 1].string if place else ""
        two_before = tokens[place - 2].string if place > 1 else ""
        if two_before == "manual_seed" or before in ("->", "import"):
            continue
        if token.string in swaps:
            if token.string in ("*", "**", "/") and before in ("(", ",", "["):
                continue  # unpacking, or a mark in a signature
            yield place, token.string, swaps[token.string]
        elif numbers and token.type == tokenize.NUMBER and re.fullmatch(r"\d+", token.string):
            yield place, token.string, str(int(token.string) + 1)


def replaced(code: str, token: tokenize.TokenInfo, new: str) -> str:
    """The code with one token replaced."""
    lines = code.split("\n")
    row, begin, end = token.start[0] - 1, token.start[1], token.end[1]
    lines[row] = lines[row][:begin] + new + lines[row][end:]
    return "\n".join(lines)


@functools.lru_cache(maxsize=8192)
def means_something(old: str, new: str) -> bool:
    """True when both parse, to different trees."""
    try:
        return _meaning(old) != ast.dump(ast.parse(new))
    except SyntaxError:
        return False


@functools.lru_cache(maxsize=1024)
def _meaning(code: str) -> str:
    return ast.dump(ast.parse(code))


def with_tokens(
    page: Page, block: Block, old: list[tokenize.TokenInfo], new: dict[int, str]
) -> str | None:
    """The page with tokens of a block replaced; None when they are not there or it is no Python.

    `old` are the tokens of the same block in the language that the change was thought up in.
    """
    tokens, changed = code_tokens(block.code), block.code
    for place in sorted(new, reverse=True):
        if place >= len(tokens) or tokens[place].string != old[place].string:
            return None
        changed = replaced(changed, tokens[place], new[place])
    if not means_something(block.code, changed):
        return None
    lines = page.text.split("\n")
    body = changed.rstrip("\n").split("\n")
    first = block.first - 1
    for number, line in enumerate(body):
        lines[first + number] = (block.indent + line) if line.strip() else lines[first + number]
    return "\n".join(lines)


def with_span(page: Page, span: Span, new: str) -> str | None:
    """The page with other code in place of a span; None when it is not written in one piece."""
    same = [one for one in page.spans if (one.line, one.text) == (span.line, span.text)]
    place = next(number for number, one in enumerate(same) if one is span)
    lines, old = page.text.split("\n"), f"`{span.text}`"
    parts = lines[span.line - 1].split(old)
    if len(parts) <= len(same):
        return None
    lines[span.line - 1] = f"`{new}`".join(
        (old.join(parts[: place + 1]), old.join(parts[place + 1 :]))
    )
    return "\n".join(lines)
