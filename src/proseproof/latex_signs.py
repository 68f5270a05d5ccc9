"""The signs of a formula in LaTeX, one after the other."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

SPACES = frozenset(
    (r"\,", r"\;", r"\:", r"\!", "\\ ", r"\quad", r"\qquad", "~", r"\left", r"\right", r"\bigl",
     r"\bigr", r"\Bigl", r"\Bigr", r"\big", r"\displaystyle")
)  # fmt: skip
DOTS = frozenset((r"\ldots", r"\dots", r"\cdots", "…"))
TYPED = {"·": r"\cdot", "×": r"\times", "−": "-", "≤": r"\le", "≥": r"\ge", "≈": r"\approx",
         "≠": r"\ne", "∈": r"\in", "∞": r"\infty", "⊤": r"\top", "∑": r"\sum", "∏": r"\prod",
         "√": r"\sqrt", "±": r"\pm", "′": "'", "∣": r"\mid"}  # fmt: skip

TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<number>\d+(?:(?:\\,|\{,\})\d{3})*(?:\.\d+)?|\.\d+)"
    r"|(?P<command>\\(?:[A-Za-z]+|.))|(?P<letters>[A-Za-z]+)|(?P<sign>.)",
    re.DOTALL | re.ASCII,
)


class LatexError(ValueError):
    """A formula that cannot be read; the message says where it goes wrong."""


@dataclass(frozen=True)
class Vocabulary:
    """The names of more than one letter, and the names that are functions."""

    words: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()


@dataclass
class Tokens:
    """The signs of a formula, one after the other."""

    items: list[tuple[str, str]] = field(default_factory=list)
    at: int = 0

    @property
    def now(self) -> str:
        """The sign that comes next."""
        return self.items[self.at][1] if self.at < len(self.items) else ""

    @property
    def kind(self) -> str:
        """What kind of sign that is."""
        return self.items[self.at][0] if self.at < len(self.items) else "end"

    def next(self) -> str:
        """The next sign, which is then done with."""
        text = self.now
        self.at += 1
        return text

    def skip(self, *texts: str) -> bool:
        """True when the next sign is one of these; then it is done with."""
        if self.now in texts and self.kind != "end":
            self.at += 1
            return True
        return False

    def expect(self, text: str, what: str) -> None:
        """Go past a sign that has to come; `what` is left open without it."""
        if not self.skip(text):
            raise LatexError(f"{what} is not closed: expected {text}, got {self.now or 'the end'}")


def tokens_of(text: str, vocabulary: Vocabulary) -> Tokens:
    """The signs of a formula; LatexError for one that is none, and for braces that do not match."""
    found: list[tuple[str, str]] = []
    depth = 0
    for match in TOKEN.finditer(text):
        kind, token = str(match.lastgroup), match[0]
        if kind == "space" or token in SPACES:
            if token in (r"\quad", r"\qquad"):
                found.append(("wide", token))
            continue
        if kind == "letters":
            found += [("letter", one) for one in _words(token, vocabulary.words)]
            continue
        if kind == "number":
            token = token.replace(r"\,", "").replace("{,}", "")
        elif kind == "sign" and token in TYPED:
            token = TYPED[token]
            kind = "command" if token[0] == "\\" else "sign"
        elif kind == "sign" and token in "πω":
            kind, token = "command", {"π": r"\pi", "ω": r"\omega"}[token]
        elif kind == "sign" and ord(token) > 127 and token not in DOTS:
            as_usual = _narrow(token)
            raise LatexError(f"{token} is no sign of a formula" + (as_usual and f": {as_usual}"))
        depth += (token == "{") - (token == "}")
        if depth < 0:
            raise LatexError("a } closes what no { has opened")
        found.append((kind, token))
    if depth:
        raise LatexError("a { is not closed")
    return Tokens(found)


def _narrow(sign: str) -> str:
    """How a full-width sign is to be written."""
    code = ord(sign) - 0xFEE0
    return f"write {chr(code)}" if 0x21 <= code <= 0x7E else ""


def _words(letters: str, words: frozenset[str]) -> list[str]:
    """The letters one by one, but for the names that are known."""
    found = []
    while letters:
        word = max((one for one in words if letters.startswith(one)), key=len, default=letters[0])
        found.append(word)
        letters = letters[len(word) :]
    return found
