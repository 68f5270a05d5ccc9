"""Guessing a number by its words: the noun that it counts leads to an expression."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proseproof import number_words
from proseproof.numbers import Claim, sentence_at

if TYPE_CHECKING:
    from proseproof.project import Project

RANKS = SURE, LIKELY, WEAK = "sure", "likely", "weak"
IRREGULAR = {
    "matrices": "matrix",
    "biases": "bias",
    "indices": "index",
    "axes": "axis",
    "vertices": "vertex",
}
PLAIN = frozenset(
    re.findall(
        r"\w+",
        "of to in and or the a an is are was were for at with by on that which as so times from it "
        "its this then each per if when where who has have can may more than only also "
        "should would could must will do does did",
    )
)
POINTING = frozenset(
    re.findall(r"\w+", "all other these those both first last next their our single")
)
GENERIC = frozenset(
    re.findall(
        r"\w+", "torch tensor randn print range import self len float int return model one two text"
    )
)
SELECTED = re.compile(r"\b(?:last|first|next|other|the) $", re.IGNORECASE)
ANY = re.compile(r"\bany(?=[.)]|\((?:torch\.|x,))")  # any.shape[1]: of any tensor or module


@dataclass(frozen=True)
class Guess:
    """An expression, how sure it is, and what led to it."""

    expression: str
    how: str
    why: str
    late: bool = False  # to be taken only where the same words elsewhere do not help

    @property
    def rank(self) -> tuple[int, bool]:
        """The better, the less."""
        return RANKS.index(self.how), self.late


def singular(noun: str) -> str:
    """One of them."""
    noun = noun.lower()
    if noun in IRREGULAR:
        return IRREGULAR[noun]
    if noun.endswith("ies") and len(noun) > 4:
        return noun[:-3] + "y"
    return noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun


def _behind(text: str) -> list[str]:
    """The noun that follows a number, in what stands behind it."""
    behind = re.match(r"(?:[ \n-]+(?:[A-Za-z][\w’']*))+", text)
    found = re.findall(r"[A-Za-z][\w’']*", behind[0])[:3] if behind else []
    cut = next((n for n, word in enumerate(found) if word.lower() in PLAIN), len(found))
    found = found[:cut]
    # Two learned vectors are vectors, and three matrices start out random.
    plural = next((n for n, word in enumerate(found) if singular(word) != word.lower()), None)
    return found[plural : plural + 1] if plural is not None else found[:1]


def elided(claim: Claim, known: Container[str] = ()) -> list[str]:
    """What a number word without a noun counts: four features instead of eight, one head or two.

    The noun of the number before it, or else the last known noun: without layers, or with all four.
    """
    bare = claim.unit.bare
    begin, end = sentence_at(bare, claim.start)
    apart = SELECTED.search(bare[: claim.start]) or re.match(r"\s(?:of|more)\b", bare[claim.end :])
    if not claim.reads[0].word or not counts(claim) or apart or _behind(bare[claim.end : end]):
        return []
    for other in reversed(number_words.find(bare[begin : claim.start])):
        if noun := _behind(bare[begin + other.end : claim.start]):
            return noun
    words = re.findall(r"[a-z]+", bare[begin : claim.start])
    return [one for one in reversed(words) if singular(one) != one and singular(one) in known][:1]


def nouns(claim: Claim) -> list[str]:
    """The nouns that a number may count, the nearest first."""
    bare = claim.unit.bare
    _, end = sentence_at(bare, claim.start)
    found = _behind(bare[claim.end : end])
    before = re.search(r"([A-Za-z]\w*) (?:of |is |are |= )?$", bare[: claim.start])
    said = before is not None and before[1].lower() not in PLAIN | POINTING
    return [*found, *([before[1]] if before and said and not found else [])]


def phrase_before(claim: Claim) -> str:
    """The two words in front of a number: sum to."""
    before = re.findall(r"[A-Za-z]+|[\u4e00-\u9fff]", claim.unit.bare[: claim.start])[-2:]
    return " ".join(singular(word) for word in before)


def from_words(project: Project, claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
    """The words of words.toml: nouns, phrases in front of the number, the number itself."""
    words = project.ledger.words
    for expression in words.get(claim.text, []):
        yield Guess(expression, SURE, claim.text)
    phrase = phrase_before(claim)
    things, left_out = nouns(claim), elided(claim, words)
    said = [word for noun in [*things, *left_out] for word in (noun.lower(), singular(noun))]
    for noun in dict.fromkeys([phrase, *said]):
        for expression in words.get(noun, []):
            if not ANY.search(expression):
                yield Guess(expression, LIKELY if left_out else SURE, noun)
                continue
            if expression == "any.ndim" and SELECTED.search(claim.unit.bare[: claim.start]):
                continue  # the last two axes are not all of them
            for name, value in values.items():
                if not name.startswith("_") and is_wide(value):
                    yield Guess(ANY.sub(name, expression), LIKELY, noun)
                elif expression == "any.shape[-1]" and len(getattr(value, "shape", ())) == 1:
                    yield Guess(f"len({name})", WEAK, f"a vector, for {noun}")


def is_wide(value: Any) -> bool:
    """True for what `any` may stand for: a tensor of some axes, a module."""
    shape = getattr(value, "shape", None)
    wide = isinstance(shape, tuple) and len(shape) > 1
    return not isinstance(value, type) and (wide or hasattr(value, "parameters"))


def from_names(claim: Claim, values: dict[str, Any]) -> Iterator[Guess]:
    """Variables whose names have the noun in them: layers → num_layers, len(layers)."""
    for place, noun in enumerate(nouns(claim)):
        one = singular(noun)
        for name, value in values.items():
            if name.startswith("_"):
                continue
            for own in (noun.lower(), f"num_{noun.lower()}", f"n_{noun.lower()}"):
                inner = getattr(value, own, None) if not isinstance(value, type) else None
                if type(inner) is int:
                    yield Guess(f"{name}.{own}", LIKELY, noun)
                elif hasattr(inner, "__len__") and hasattr(inner, "__iter__"):
                    yield Guess(f"len({name}.{own})", LIKELY, noun)
            parts = [singular(part) for part in name.lower().split("_")]
            if one not in parts:
                continue
            how = SURE if place == 0 and (len(parts) == 1 or parts[0] in ("num", "n")) else LIKELY
            if type(value) in (int, float):
                yield Guess(name, how, noun)
            elif hasattr(value, "__len__") and not isinstance(value, type):
                yield Guess(f"len({name})", how, noun)


def parts_of(text: str) -> set[str]:
    """The words in names, code or prose, one of each thing: num_heads, MultiHead → head, multi."""
    apart = re.sub(r"([a-z\d])([A-Z])", r"\1 \2", text)
    words = {singular(word) for word in re.findall(r"[A-Za-z]+", apart)}
    return {word for word in words if len(word) > 2 and word not in PLAIN | POINTING | GENERIC}


def said(claim: Claim) -> set[str]:
    """The words of the sentence, those of its code too."""
    return parts_of(claim.sentence)


def thing(claim: Claim) -> str:
    """What a number of two or more counts, if that stands behind it: plurals only."""
    return next((singular(noun) for noun in nouns(claim)[:1] if singular(noun) != noun.lower()), "")


def counts(claim: Claim) -> bool:
    """True for two heads, 4 heads: a number of things, and no factor, measure or value."""
    value = claim.reads[0].value
    factor = re.match(r"(?:twice|thrice|half)\b", claim.text, re.IGNORECASE)
    times = re.match(r"\s(?:times|of (?:it|them)|%|π)", claim.unit.bare[claim.end :])
    whole = len(claim.reads) == 1 and value == int(value) and value >= 2
    return whole and claim.how == "is" and not factor and not times
