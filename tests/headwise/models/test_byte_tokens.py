"""Tokens of a published vocabulary: against `tokenizers` with the same pieces and merges."""

import copy
import pickle

import pytest
from gguf_files import MERGES, reference, vocabulary
from hypothesis import given
from hypothesis import strategies as st

from headwise.models.byte_tokens import LETTERS, ByteTokens, digit_words

TEXT = "the thane an  <end>th 12the1\n\n the<begin><begin> thé 注意力12个 \x04 <en d> \u00a0 ½² 'd"
SPECIAL = [0, 1]
LETTERS_BY_BYTE = {byte[0]: letter for letter, byte in LETTERS.items()}


def tokens() -> ByteTokens:
    return ByteTokens(vocabulary(), MERGES, SPECIAL)


THEIRS = reference(vocabulary(), MERGES, SPECIAL)


@given(st.lists(st.sampled_from([*"the an12'dé注\n <>½", "<end>", "<begin>", " the"])).map("".join))
def test_any_text_is_encoded_as_by_the_reference(text: str) -> None:
    assert tokens().encode(text) == THEIRS.encode(text, add_special_tokens=False).ids


def test_tokens_of_a_text_are_the_references_and_give_it_back() -> None:
    ours = tokens().encode(TEXT)
    assert ours == THEIRS.encode(TEXT, add_special_tokens=False).ids
    assert tokens().decode(ours).decode() == TEXT
    assert THEIRS.decode(ours, skip_special_tokens=False) == TEXT


def test_every_digit_is_a_word_and_takes_no_space_along() -> None:
    assert list(digit_words("in 1999, a  ½")) == [
        "in",
        " ",
        "1",
        "9",
        "9",
        "9",
        ",",
        " a",
        "  ",
        "½",
    ]


def test_the_longest_special_token_wins() -> None:
    words = [*vocabulary(), "<end><end>"]
    special = [0, 1, len(words) - 1]
    text = "<end><end><end>the<begin>"
    ours = ByteTokens(words, MERGES, special).encode(text)
    assert ours == reference(words, MERGES, special).encode(text, add_special_tokens=False).ids
    assert ours[:2] == [len(words) - 1, 0]


def test_bytes_without_a_token_are_left_out_as_by_the_reference() -> None:
    missing = {LETTERS_BY_BYTE[4], LETTERS_BY_BYTE[0xF1]}
    words = [word for word in vocabulary() if word not in missing]
    ours, theirs = ByteTokens(words, MERGES, SPECIAL), reference(words, MERGES, SPECIAL)
    for text in ("t\x04he an", "\x04", f"the{chr(0x40000)}an", ""):
        assert ours.encode(text) == theirs.encode(text, add_special_tokens=False).ids
    assert ours.decode(ours.encode("t\x04he")) == b"the"
    assert len(ours.encode("t\x04he")) == 3  # what is left is in two words


def test_without_special_tokens_their_letters_are_letters() -> None:
    words = vocabulary()[2:]
    ours = ByteTokens(words, MERGES)
    assert ours.decode(ours.encode("<end>")) == b"<end>"
    assert len(ours.encode("<end>")) == 5


def test_copies_encode_alike() -> None:
    for twin in (copy.deepcopy(tokens()), pickle.loads(pickle.dumps(tokens()))):
        assert twin.encode(TEXT) == tokens().encode(TEXT)
        assert repr(twin) == "ByteTokens(vocab=262, special=2)"


@pytest.mark.parametrize(
    ("words", "merges", "special", "message"),
    [
        (["a", "注"], [], [], "vocabulary: got '注' in it, expected GPT-2's letters"),
        (["a", ""], [], [], "vocabulary: got '' in it, expected GPT-2's letters"),
        (["a", ""], [], [1], "special: got a token without letters, expected some"),
        (["a", "b"], ["a b"], [], "merges: got b'ab' from one of them, expected a token"),
        (["a", "ab"], ["ab b"], [], "merges: got 'ab b', expected two pieces that are there"),
        (["a"], ["a b c"], [], "merges: got 'a b c', expected two pieces that are there"),
        (["a"], ["ab"], [], "merges: got 'ab', expected two pieces that are there"),
        (["a"], [" a"], [], "merges: got '' in it, expected GPT-2's letters"),
        (["a"], [], [1], "special: got 1, expected a token of at most 0"),
    ],
)
def test_wrong_vocabularies_are_named(
    words: list[str], merges: list[str], special: list[int], message: str
) -> None:
    with pytest.raises(ValueError) as error:
        ByteTokens(words, merges, special)
    assert message in str(error.value)


def test_half_a_character_is_refused() -> None:
    with pytest.raises(ValueError, match=r"text: got .* half a character"):
        tokens().encode("a\ud800")
    with pytest.raises(ValueError, match=r"text: got .* half a character"):
        next(digit_words("a\ud800"))


def test_tokens_that_are_not_there_are_refused() -> None:
    with pytest.raises(ValueError, match="tokens: got 262, expected a token of at most 261"):
        tokens().decode([262])
