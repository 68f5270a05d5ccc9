"""Byte-pair encoding: against `tokenizers`, and any bytes there and back."""

import copy
import pickle
import random

import pytest
from any_text import any_text
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from headwise.bpe import BYTES, BytePairEncoding, words

ENGLISH = (
    "It's a low, lower, lowest newest widest tale; she'll say 'twas 1999's best  \n\n\tthe end. "
)
CHINESE = "逐头注意力：每个头看一次，多头一起看。注意力的权重加起来等于一，一个头的权重也一样。"
ODD = "naïve café ½ x² ٣٤ Ⅷ 👩‍🚀🚀🚀 …—“” \u00a0\u3000 e\u0301 한국어 \x1c\x85 'S 'd''re we've"
TEXT = (ENGLISH * 3 + CHINESE * 2 + ODD) * 2


def theirs(text: str, vocab: int, min_count: int = 1) -> Tokenizer:
    """The byte-level encoding of `tokenizers`, learned from the same text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab,
        min_frequency=min_count,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([text], trainer)
    return tokenizer


def letters() -> dict[str, int]:
    """The letter by which `tokenizers` shows each byte, and the byte."""
    return {chr(b if b in BYTES[:188] else 256 + BYTES.index(b) - 188): b for b in range(256)}


def assert_same_tokens(text: str, vocab: int, others: list[str], min_count: int = 1) -> None:
    ours = BytePairEncoding.learn(text, vocab, min_count=min_count)
    reference = theirs(text, vocab, min_count)
    byte_of = letters()
    pieces = {
        token: bytes(byte_of[letter] for letter in piece)
        for piece, token in reference.get_vocab().items()
    }
    assert ours.pieces == [pieces[token] for token in range(len(pieces))]
    for other in (text, *others):
        assert ours.encode(other) == reference.encode(other).ids


@pytest.mark.parametrize("vocab", [256, 257, 300, 400, 2000])
def test_learns_what_tokenizers_learns_and_writes_the_same_tokens(vocab: int) -> None:
    assert_same_tokens(TEXT, vocab, ["注意力 and lower 👩‍🚀", "unseen wörds 東京 it's", "", " "])


def test_rare_pairs_are_left_alone_as_in_tokenizers() -> None:
    assert_same_tokens(TEXT, 2000, [CHINESE], min_count=4)


@given(st.text(st.sampled_from("ab c"), max_size=80), st.text(st.sampled_from("ab c"), max_size=30))
def test_equally_frequent_pairs_are_joined_in_the_order_of_tokenizers(
    text: str, other: str
) -> None:
    assert_same_tokens(text, 300, [other])


@settings(max_examples=200)
@given(
    st.text(
        st.sampled_from("aZ1½一²_-'’s lretvm\t\n\r\x0b\x1d\x85\u3000\u200d🚀é\u0301٣"), max_size=40
    )
)
def test_cuts_words_where_tokenizers_cuts_them(text: str) -> None:
    cut = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(text)
    byte_of = letters()
    expected = [bytes(byte_of[letter] for letter in piece) for piece, _ in cut]
    assert [word.encode() for word in words(text)] == expected


TRAINED = BytePairEncoding.learn(TEXT, 400)


@given(st.binary() | any_text().map(str.encode))
def test_any_bytes_come_back(text: bytes) -> None:
    for encoding in (TRAINED, BytePairEncoding()):
        assert encoding.decode(encoding.encode(text)) == text


@given(any_text())
def test_a_text_has_the_tokens_of_its_bytes(text: str) -> None:
    assert TRAINED.encode(text) == TRAINED.encode(text.encode())
    assert TRAINED.decode(TRAINED.encode(text)).decode() == text


def test_learns_from_bytes_that_are_no_text() -> None:
    source = random.Random(0)
    noise = bytes(source.choices(b"\xff\x80\xc3a", k=500))
    encoding = BytePairEncoding.learn(noise, 300)
    assert encoding.vocab == 300
    tokens = encoding.encode(noise)
    assert len(tokens) < len(noise) / 2
    assert encoding.decode(tokens) == noise


def test_fewer_tokens_where_the_text_is_known() -> None:
    alone = BytePairEncoding()
    assert len(alone.encode(CHINESE)) == len(CHINESE.encode())
    assert len(TRAINED.encode(CHINESE)) < len(CHINESE.encode()) / 2


def test_merges_alone_make_the_same_encoding() -> None:
    again = BytePairEncoding(TRAINED.merges)
    assert again.pieces == TRAINED.pieces
    assert again.encode(TEXT) == TRAINED.encode(TEXT)
    assert repr(again) == "BytePairEncoding(vocab=400)"


def test_copies_and_pickles() -> None:
    for other in (copy.deepcopy(TRAINED), pickle.loads(pickle.dumps(TRAINED))):
        assert other.encode(TEXT) == TRAINED.encode(TEXT)


def test_stops_when_nothing_is_left_to_join() -> None:
    encoding = BytePairEncoding.learn("ab ab", 1000)
    assert [encoding.pieces[token] for token in range(256, encoding.vocab)] == [b"ab", b" ab"]


def test_two_ways_to_the_same_bytes_share_a_token() -> None:
    a, b = BYTES.index(b"a"), BYTES.index(b"b")
    encoding = BytePairEncoding([(a, b), (256, a), (b, a), (a, 258)])
    assert encoding.pieces[256:] == [b"ab", b"aba", b"ba"]
    assert encoding.encode("aba") == [257]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: BytePairEncoding([(0, 1, 2)]), "merges: got 3 tokens in one of them, expected 2"),
        (lambda: BytePairEncoding([(0, 256)]), "merges: got 256, expected a token of at most 255"),
        (lambda: BytePairEncoding.learn("a", 255), "vocab: got 255, expected"),
        (lambda: BytePairEncoding.learn("a", 256, min_count=0), "min_count: got 0"),
        (lambda: TRAINED.decode([400]), "tokens: got 400, expected a token of at most 399"),
        (lambda: TRAINED.encode("a\ud800"), r"text: got '\\ud800' in it, half a character"),
    ],
)
def test_wrong_input_is_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
