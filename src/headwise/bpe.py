"""Byte-pair encoding: learn which pieces a text is made of, and write any bytes with them.

Every text is bytes, so 256 tokens can write anything. Learning joins the pair of neighbours that
is most frequent into a token of its own, again and again; encoding makes the same joins in the
same order. Words are joined within themselves alone, and are cut the way GPT-2 cuts them.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from headwise._check import ROWS, check_each, check_kind, check_whole

Pair = tuple[int, int]

# GPT-2 numbers the bytes that have a visible letter first, and the other libraries follow it. Any
# order would do, but where two pairs are equally frequent the one of lower numbers is joined.
_VISIBLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
BYTES = bytes(_VISIBLE + [byte for byte in range(256) if byte not in _VISIBLE])

_CONTRACTION = re.compile("'(?:s|t|re|ve|m|ll|d)")
# One word by the kinds of its characters: letters, numbers or others, with a space before them;
# or else white space, all but the last of it if a word comes next.
_WORD = re.compile(r" ?l+| ?n+| ?o+|[w ]+(?![lno])|[w ]+")


def words(text: str) -> Iterator[str]:
    """The text cut into words, each with the space before it: nothing is lost.

    These are the words of GPT-2's pattern, for which Python's `re` has no classes of characters.
    """
    check_kind("text", text, str)
    return _cut(_as_text(text))


def _cut(text: str) -> Iterator[str]:
    kinds = "".join(map(_character_kind, text))
    position = 0
    while position < len(text):
        match = _CONTRACTION.match(text, position) or _WORD.match(kinds, position)
        assert match is not None  # every character is of a kind
        yield text[position : match.end()]
        position = match.end()


def _character_kind(character: str) -> str:
    """l for a letter, n for a number, w for white space, the space itself, o for any other."""
    if character == " ":
        return " "
    if character.isspace() and character not in "\x1c\x1d\x1e\x1f":  # spaces to Python alone
        return "w"
    return {"L": "l", "N": "n"}.get(unicodedata.category(character)[0], "o")


class BytePairEncoding:
    """Tokens for any bytes: the 256 bytes, then one token for each pair that was joined.

    Args:
        merges: the pairs of tokens that are joined, in the order in which they were learned. A
            token below 256 is a byte, BYTES[token]; the others are numbered as they come.
    """

    def __init__(self, merges: Sequence[Pair] = ()) -> None:
        check_each("merges", merges, tuple, expected="a list of pairs of tokens")
        self.pieces = [bytes([byte]) for byte in BYTES]
        self._numbers = {piece: token for token, piece in enumerate(self.pieces)}
        self._ranks: dict[Pair, tuple[int, int]] = {}  # when a pair is joined, and into what
        for pair in merges:
            if len(pair) != 2:
                raise ValueError(f"merges: got {len(pair)} tokens in one of them, expected 2")
            for token in pair:
                check_whole("merges", token, 0, len(self.pieces) - 1, "a token")
            self._join(pair)

    @property
    def merges(self) -> list[Pair]:
        """The pairs of tokens that are joined, in order."""
        return list(self._ranks)

    @property
    def vocab(self) -> int:
        """How many tokens there are."""
        return len(self.pieces)

    @classmethod
    def learn(cls, text: str | bytes, vocab: int, *, min_count: int = 1) -> "BytePairEncoding":
        """An encoding of at most `vocab` tokens, learned from the text.

        Args:
            text: what to learn from.
            vocab: how many tokens there shall be, the 256 bytes included.
            min_count: how often a pair has to occur to be joined.
        """
        check_kind("text", text, str, bytes)
        check_whole("vocab", vocab, 256, ROWS, "a number of tokens")
        check_whole("min_count", min_count, 1, 2**63 - 1)
        self = cls()
        frequency = Counter(_cut(_as_text(text)))
        spelled = [self._bytes_of(word) for word in frequency]
        times = list(frequency.values())
        counts: Counter[Pair] = Counter()
        where: defaultdict[Pair, set[int]] = defaultdict(set)  # the words that hold a pair
        for i, word in enumerate(spelled):
            for pair in pairwise(word):
                counts[pair] += times[i]
                where[pair].add(i)
        while self.vocab < vocab and counts:
            most = max(counts.values())
            if most < min_count:
                break
            best = min(pair for pair, count in counts.items() if count == most)
            joined = self._join(best)
            for i in where.pop(best):
                for pair in pairwise(spelled[i]):
                    counts[pair] -= times[i]
                    if not counts[pair]:
                        del counts[pair]
                spelled[i] = _replaced(spelled[i], best, joined)
                for pair in pairwise(spelled[i]):
                    counts[pair] += times[i]
                    where[pair].add(i)
        return self

    def encode(self, text: str | bytes) -> list[int]:
        """The tokens of a text, or of any bytes."""
        check_kind("text", text, str, bytes)
        return [token for word in _cut(_as_text(text)) for token in self._encode_word(word)]

    def decode(self, tokens: Sequence[int]) -> bytes:
        """The bytes that the tokens stand for, which need not be whole characters.

        To read them, use decode(tokens).decode("utf-8", errors="replace").
        """
        check_each("tokens", tokens, object, expected="a list of tokens")
        for token in tokens:
            check_whole("tokens", token, 0, self.vocab - 1, "a token")
        return b"".join(self.pieces[token] for token in tokens)

    def _encode_word(self, word: str) -> list[int]:
        """Of all pairs that can be joined, the one learned first is, until there is none."""
        tokens = self._bytes_of(word)
        while True:
            ranked = [
                (*self._ranks[pair], i)
                for i, pair in enumerate(pairwise(tokens))
                if pair in self._ranks
            ]
            if not ranked:
                return tokens
            _, joined, i = min(ranked)
            tokens[i : i + 2] = [joined]

    def _bytes_of(self, word: str) -> list[int]:
        """One token a byte."""
        return [self._numbers[bytes([byte])] for byte in word.encode("utf-8", "surrogateescape")]

    def _join(self, pair: Pair) -> int:
        """The token that the pair becomes from now on: a new one, unless its bytes have one."""
        piece = self.pieces[pair[0]] + self.pieces[pair[1]]
        token = self._numbers.setdefault(piece, self.vocab)
        if token == self.vocab:
            self.pieces.append(piece)
        self._ranks.setdefault(pair, (len(self._ranks), token))
        return token

    def __repr__(self) -> str:
        """How large it is."""
        return f"BytePairEncoding(vocab={self.vocab})"


def _replaced(word: list[int], pair: Pair, joined: int) -> list[int]:
    """The word with every such pair joined, from the left."""
    out: list[int] = []
    for token in word:
        if out and (out[-1], token) == pair:
            out[-1] = joined
        else:
            out.append(token)
    return out


def _as_text(text: str | bytes) -> str:
    """Bytes as a text, from which they can be had back even where they are no UTF-8."""
    if isinstance(text, bytes):
        return text.decode("utf-8", "surrogateescape")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"text: got {text[error.start]!r} in it, half a character, expected whole ones"
        ) from error
    return text
