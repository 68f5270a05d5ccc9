"""The tokens of a published model: byte-pair encoding with a vocabulary and merges from a file.

The pieces are learned as in headwise.bpe, but a file numbers them in its own way and writes them
in letters: GPT-2 gave every byte one that can be seen, so that a space is Ġ. Beside them there
are special tokens, such as <|im_end|>, which are never joined from pieces.
"""

import re
from collections.abc import Iterator, Sequence

from headwise._check import check_each, check_kind, check_whole
from headwise.bpe import BYTES, BytePairEncoding, Pair, _as_text, _character_kind, words

# The bytes that can be seen are their own letters; the others get the first of those after 255.
SEEN = 188
LETTERS = {chr(byte if i < SEEN else 256 + i - SEEN): bytes([byte]) for i, byte in enumerate(BYTES)}


def digit_words(text: str) -> Iterator[str]:
    """The text cut into words, as GPT-2 does, once every digit has been cut off by itself."""
    check_kind("text", text, str)
    kinds = "".join(map(_character_kind, _as_text(text)))
    for match in re.finditer("n|[^n]+", kinds):
        yield from words(text[match.start() : match.end()])


class ByteTokens:
    """Texts as tokens and back, for a model that was published with its vocabulary and merges.

    Bytes that have no token are left out, as other libraries do. In SmolLM2 that concerns
    characters that hardly any text has.

    Args:
        vocabulary: the tokens by their numbers, in GPT-2's letters.
        merges: the pairs of pieces that are joined, in order, each with a space between the two.
        special: numbers of the special tokens, which are written as they are.
    """

    def __init__(
        self, vocabulary: Sequence[str], merges: Sequence[str], special: Sequence[int] = ()
    ) -> None:
        check_each("vocabulary", vocabulary, str, expected="a list of strings")
        check_each("merges", merges, str, expected="a list of strings")
        check_each("special", special, int, expected="a list of tokens")
        for token in special:
            check_whole("special", token, 0, len(vocabulary) - 1, "a token")
        self.special = {vocabulary[token]: token for token in special}
        if "" in self.special:
            raise ValueError("special: got a token without letters, expected some")
        self.pieces = [
            word.encode() if word in self.special else _bytes_of("vocabulary", word)
            for word in vocabulary
        ]
        ours, pairs = _pairs(merges)
        self._encoding = BytePairEncoding(pairs)
        theirs = {
            piece: i for i, piece in enumerate(self.pieces) if vocabulary[i] not in self.special
        }
        for piece in list(ours)[256:]:
            if piece not in theirs:
                raise ValueError(f"merges: got {piece!r} from one of them, expected a token")
        self._theirs = [theirs.get(piece, -1) for piece in ours]
        self._unknown = bytes(byte for byte in range(256) if bytes([byte]) not in theirs)
        longest_first = sorted(self.special, key=len, reverse=True)
        self._special = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")

    def encode(self, text: str) -> list[int]:
        """The tokens of a text; where a special token is written out in it, that token."""
        check_kind("text", text, str)
        text, tokens, start = _as_text(text), [], 0
        for match in self._special.finditer(text):
            tokens += [*self._encode(text[start : match.start()]), self.special[match.group()]]
            start = match.end()
        return [*tokens, *self._encode(text[start:])]

    def _encode(self, text: str) -> Iterator[int]:
        for word in digit_words(text):
            known = word.encode().translate(None, self._unknown)
            spelled = known.decode("utf-8", "surrogateescape")
            yield from (self._theirs[token] for token in self._encoding._encode_word(spelled))

    def decode(self, tokens: Sequence[int]) -> bytes:
        """The bytes that the tokens stand for, which need not be whole characters.

        To read them, use decode(tokens).decode("utf-8", errors="replace").
        """
        check_each("tokens", tokens, object, expected="a list of tokens")
        for token in tokens:
            check_whole("tokens", token, 0, len(self.pieces) - 1, "a token")
        return b"".join(self.pieces[token] for token in tokens)

    def __repr__(self) -> str:
        """How large it is."""
        return f"ByteTokens(vocab={len(self.pieces)}, special={len(self.special)})"


def _bytes_of(name: str, word: str) -> bytes:
    """What a piece in GPT-2's letters stands for."""
    if not word or any(letter not in LETTERS for letter in word):
        raise ValueError(f"{name}: got {word!r} in it, expected GPT-2's letters for bytes")
    return b"".join(LETTERS[letter] for letter in word)


def _pairs(merges: Sequence[str]) -> tuple[dict[bytes, int], list[Pair]]:
    """All pieces, numbered as in headwise.bpe, and the merges in these numbers."""
    numbers = {bytes([byte]): i for i, byte in enumerate(BYTES)}
    pairs = []
    for merge in merges:
        halves = [_bytes_of("merges", half) for half in merge.split(" ")]
        if len(halves) != 2 or not all(half in numbers for half in halves):
            raise ValueError(f"merges: got {merge!r}, expected two pieces that are there already")
        pairs.append((numbers[halves[0]], numbers[halves[1]]))
        numbers.setdefault(b"".join(halves), len(numbers))
    return numbers, pairs
