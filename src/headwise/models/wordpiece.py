"""WordPiece, the tokeniser of BERT: words are cut into the longest pieces that it knows.

A text is first made plain: lower case, no accents, no control characters. It is cut at white
space, and every punctuation mark and every Chinese character becomes a word of its own. Then each
word is written with pieces of a fixed vocabulary, from the left, always the longest that fits; a
piece that goes on inside a word begins with ##. A word that cannot be written is [UNK].
"""

import re
import string
import unicodedata
from collections.abc import Callable, Sequence

from headwise._check import check_each, check_kind, check_whole

PAD, UNK, CLS, SEP, MASK = SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LONGEST_WORD = 100  # characters; a longer one is [UNK]

CHINESE = (  # ranges of numbers; the published tokeniser leaves out 0x2B820 to 0x2B91F as well
    *((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF)),
    *((0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF), (0x2F800, 0x2FA1F)),
)


class WordPiece:
    """Tokens for sentences, out of a vocabulary of pieces.

    Args:
        vocabulary: the pieces, each at the place that is its number; the five with brackets,
            [PAD], [UNK], [CLS], [SEP] and [MASK], are among them.
    """

    def __init__(self, vocabulary: Sequence[str]) -> None:
        check_each("vocabulary", vocabulary, str, expected="a list of pieces")
        self.vocabulary = list(vocabulary)
        self._numbers = {piece: number for number, piece in enumerate(self.vocabulary)}
        for piece in SPECIAL:
            if piece not in self._numbers:
                raise ValueError(f"vocabulary: got no {piece}, expected {' '.join(SPECIAL)}")

    def encode(self, text: str, max_len: int = 512) -> list[int]:
        """The tokens of a text between [CLS] and [SEP], at most max_len of them in all."""
        check_whole("max_len", max_len, 2, 2**24, "a length")
        pieces = [CLS, *self.pieces(text)[: max_len - 2], SEP]
        return [self._numbers[piece] for piece in pieces]

    def decode(self, tokens: Sequence[int]) -> list[str]:
        """The pieces that these tokens stand for."""
        check_each("tokens", tokens, object, expected="a list of tokens")
        for token in tokens:
            check_whole("tokens", token, 0, len(self.vocabulary) - 1, "a token")
        return [self.vocabulary[token] for token in tokens]

    def pieces(self, text: str) -> list[str]:
        """The pieces of a text; [MASK] and its like, spelled so, are pieces as they are."""
        pieces: list[str] = []
        for part in _SPELLED.split(_whole(text)):
            pieces += [part] if part in SPECIAL else self._cut(words(part))
        return pieces

    def _cut(self, words: Sequence[str]) -> list[str]:
        return [piece for word in words for piece in self._pieces_of(word)]

    def _pieces_of(self, word: str) -> list[str]:
        """A word from the left, always the longest piece that fits."""
        pieces: list[str] = []
        start = 0
        while start < len(word) <= LONGEST_WORD:
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                if (piece := prefix + word[start:end]) in self._numbers:
                    break
            else:
                return [UNK]  # not even the next character can be written
            pieces.append(piece)
            start = end
        return pieces or [UNK]


def words(text: str) -> list[str]:
    """A text made plain and cut into words, punctuation marks and Chinese characters."""
    text = _whole(text).translate(_CLEAN)
    text = unicodedata.normalize("NFD", text)  # é becomes e and an accent
    return text.translate(_PLAIN).split()


class _EachCharacter(dict[int, str]):
    """A table for str.translate, filled in as characters come along."""

    def __init__(self, rule: Callable[[str], str]) -> None:
        super().__init__()
        self.rule = rule

    def __missing__(self, number: int) -> str:
        self[number] = self.rule(chr(number))
        return self[number]


def _clean(character: str) -> str:
    """White space is a space, controls are nothing, a Chinese character stands alone."""
    if character in "\t\n\r":
        return " "
    if unicodedata.category(character) in ("Cc", "Cf", "Co") or character in "\0\ufffd":
        return ""
    if character.isspace():
        return " "
    if any(first <= ord(character) <= last for first, last in CHINESE):
        return f" {character} "
    return character


def _plain(character: str) -> str:
    """Accents are nothing, a punctuation mark stands alone, a letter is a small one."""
    category = unicodedata.category(character)
    if category == "Mn":
        return ""
    if category.startswith("P") or character in string.punctuation:
        return f" {character} "
    return character.lower()


_CLEAN, _PLAIN = _EachCharacter(_clean), _EachCharacter(_plain)
_SPELLED = re.compile(f"({'|'.join(map(re.escape, SPECIAL))})")


def _whole(text: str) -> str:
    """The text, in which there is no half of a character."""
    check_kind("text", text, str)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"text: got {text[error.start]!r} in it, half a character, expected whole ones"
        ) from error
    return text
