"""Tokens are those of the published tokeniser, which the library `tokenizers` runs."""

import random
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from headwise.models import weights
from headwise.models.wordpiece import SPECIAL, WordPiece, words

LETTERS = {
    "ascii": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    "accents": "àéîõüçñßøåÆŒşğıİǅﬁÅÉẞạ\u0301\u0308\u0327ΑΣςώЖйЁ",
    "punctuation": "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~«»“”…—·¿„",
    "chinese": "猫坐在垫子上，。！？、《》「」㐀豈丽𠀀𪜀中文ㄅ",
    "others": "한국어カタカナひらがなไทยעבריתعربيहिन्दी",
    "emoji": "😀👩\u200d👩\u200d👧🇫🇷❤\ufe0f🏳\ufe0f\u200d🌈",
    "odd": "\t\n\r \u00a0\u2003\u3000\u2028\u200b\u200e\ufeff\x00\x07\x1f\x85\ufffd\ue000",
}


@pytest.fixture(scope="module")
def folder() -> Path:
    return weights.find("minilm")


@pytest.fixture(scope="module")
def ours(folder: Path) -> WordPiece:
    text = (folder / "vocab.txt").read_text(encoding="utf-8")
    return WordPiece(text.removesuffix("\n").split("\n"))


@pytest.fixture(scope="module")
def theirs(folder: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(512)
    return tokenizer


def lines(vocabulary: list[str]) -> list[str]:
    """2000 lines of words that are known, joined, broken or made of odd characters."""
    source = random.Random(0)
    known = [piece.removeprefix("##") for piece in vocabulary if not piece.startswith("[")]

    def word() -> str:
        kind = source.randrange(8)
        if kind < 3:
            return source.choice(known)
        if kind == 3:
            return "".join(source.choices(known, k=3))
        if kind == 4:
            return source.choice([*SPECIAL, "[mask]", "[ CLS ]", "x" * 100, "x" * 101])
        letters = source.choice(list(LETTERS.values()))
        return "".join(source.choices(letters, k=source.randrange(1, 9)))

    found = []
    for i in range(2000):
        count = 700 if i % 200 == 0 else source.randrange(13)
        found.append(source.choice([" ", " ", ""]).join(word() for _ in range(count)))
    return found


def test_tokens_are_those_of_the_published_tokeniser(ours: WordPiece, theirs: Tokenizer) -> None:
    texts = lines(ours.vocabulary)
    for text, expected in zip(texts, theirs.encode_batch(texts), strict=True):
        assert ours.encode(text) == expected.ids, text


def test_the_lines_hold_what_they_should(ours: WordPiece) -> None:
    encoded = [ours.encode(text) for text in lines(ours.vocabulary)]
    used = {token for tokens in encoded for token in tokens}
    assert max(map(len, encoded)) == 512 and min(map(len, encoded)) == 2
    assert used.issuperset(ours.vocabulary.index(piece) for piece in SPECIAL) and len(used) > 6000


def test_every_character_that_the_vocabulary_has_is_cut_as_published(
    ours: WordPiece, theirs: Tokenizer
) -> None:
    characters = sorted({character for piece in ours.vocabulary for character in piece})
    texts = [f"a{character}b{character}{character}" for character in characters]
    for text, expected in zip(texts, theirs.encode_batch(texts), strict=True):
        assert ours.encode(text) == expected.ids, text


def test_chinese_is_unknown_where_the_vocabulary_lacks_it(ours: WordPiece) -> None:
    assert ours.pieces("猫坐在垫子上") == ["[UNK]"] * 3 + ["[UNK]", "子", "上"]


# A vocabulary of a few pieces shows the rules

SMALL = [*SPECIAL, "un", "##aff", "##able", "##ab", "##le", "cat", "cafe", "!", "猫"]


def test_the_longest_piece_is_taken_from_the_left() -> None:
    tokenizer = WordPiece(SMALL)
    assert tokenizer.pieces("Unaffable cat!") == ["un", "##aff", "##able", "cat", "!"]
    assert tokenizer.pieces("unaffab") == ["un", "##aff", "##ab"]
    assert tokenizer.pieces("unaffx cat") == ["[UNK]", "cat"]
    assert tokenizer.pieces("") == []


def test_accents_case_and_controls_are_gone() -> None:
    assert words("CAFÉ\u200b cafe\u0301\tΣΣ") == ["cafe", "cafe", "σσ"]


def test_punctuation_and_chinese_stand_alone() -> None:
    assert words("猫cat猫,$") == ["猫", "cat", "猫", ",", "$"]


def test_a_word_of_more_than_100_characters_is_unknown() -> None:
    tokenizer = WordPiece([*SPECIAL, "x", "##x"])
    assert tokenizer.pieces("x" * 100) == ["x", *["##x"] * 99]
    assert tokenizer.pieces("x" * 101) == ["[UNK]"]


def test_tokens_are_cut_off_before_the_separator() -> None:
    tokenizer = WordPiece(SMALL)
    pieces = tokenizer.decode(tokenizer.encode("cat cat cat", max_len=4))
    assert pieces == ["[CLS]", "cat", "cat", "[SEP]"]


def test_wrong_input_is_refused_by_name() -> None:
    tokenizer = WordPiece(SMALL)
    with pytest.raises(ValueError, match=r"vocabulary: got no \[SEP\], expected \[PAD\] \[UNK\]"):
        WordPiece(["[PAD]", "[UNK]", "[CLS]"])
    with pytest.raises(TypeError, match="vocabulary: got 'cat', expected a list of pieces"):
        WordPiece("cat")
    with pytest.raises(ValueError, match=r"text: got .* in it, half a character, expected"):
        tokenizer.encode("a\ud800")
    with pytest.raises(TypeError, match="text: got 5, expected str"):
        words(5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_len: got 1, expected a length of at least 2"):
        tokenizer.encode("cat", max_len=1)
    with pytest.raises(ValueError, match="tokens: got 99, expected a token of at most"):
        tokenizer.decode([99])
