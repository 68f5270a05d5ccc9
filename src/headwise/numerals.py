"""Chinese numerals to English words, 0 to 999,999,999: rules, and a Transformer that learns them.

The rules write as many pairs as one likes: 二百三十五 is two hundred thirty five. The Transformer
sees the pairs alone, character by character on one side and word by word on the other.

    python -m headwise.numerals translate 三百零五
    python -m headwise.numerals train --out my.pt
    python -m headwise.numerals evaluate
"""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headwise.transformer import Transformer

LARGEST = 999_999_999

DIGITS = "零一二三四五六七八九"
UNITS = ("", "十", "百", "千")
GROUPS = ("", "万", "亿")

ONES = [
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    *("ten", "eleven", "twelve", "thirteen", "fourteen"),
    *("fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
]
TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
THOUSANDS = ("", "thousand", "million")

PAD, BOS, EOS = 0, 1, 2
SRC_TOKENS = ("<pad>", *DIGITS, *UNITS[1:], *GROUPS[1:])
TGT_TOKENS = ("<pad>", "<bos>", "<eos>", *ONES, *TENS[2:], "hundred", *THOUSANDS[1:])
MAX_WORDS = 15  # the longest number has 14, and then comes <eos>


def to_chinese(n: int) -> str:
    """The number in Chinese characters, spelled in one way: 10205 is 一万零二百零五.

    - Digits stand in groups of four, closed by 亿 and 万, each digit before its unit.
    - Zeros between two digits are one 零, however many they are. There is none where the zeros
      only end a group and the next one has its thousands: 203000 is 二十万三千.
    - 2 is 二 everywhere. 10 to 19 are 十 to 十九 at the front, and 一十 to 一十九 inside.
    """
    _check_number(n)
    return _spell(n) or "零"


def _spell(n: int, *, every_zero: bool = False) -> str:
    """The number in characters, on request with the 零 that one may leave out."""
    text = ""
    before = None  # the place of the digit written last, counted from the right
    for place in range(len(str(n)) - 1, -1, -1):
        digit = n // 10**place % 10
        group, unit = divmod(place, 4)
        if digit:
            skipped = before is not None and before - place > 1
            ends_a_group = before is not None and unit == 3 and before // 4 == group + 1
            if skipped and (every_zero or not ends_a_group):
                text += "零"
            ten_in_front = not text and unit == 1 and digit == 1
            text += ("" if ten_in_front else DIGITS[digit]) + UNITS[unit]
            before = place
        if unit == 0 and before is not None and before // 4 == group:
            text += GROUPS[group]
    return text


def to_english(n: int) -> str:
    """The number in English words, without "and" and hyphens: 235 is two hundred thirty five."""
    _check_number(n)
    words: list[str] = []
    for power in (2, 1, 0):
        hundreds, rest = divmod(n // 1000**power % 1000, 100)
        if hundreds:
            words += [ONES[hundreds], "hundred"]
        if rest >= 20:
            words.append(TENS[rest // 10])
            rest %= 10
        if rest:
            words.append(ONES[rest])
        if power and n // 1000**power % 1000:
            words.append(THOUSANDS[power])
    return " ".join(words) or ONES[0]


def parse_chinese(text: str) -> int:
    """The number that the characters spell; what is no numeral raises a ValueError.

    Beside the spelling of `to_chinese` these usual ones are read:

    - 两 for 二 before 百 and 千, and alone before 万 and 亿: 两百, 两万, but not 十两万.
    - 一十 to 一十九 for 十 to 十九 at the front.
    - A 零 for zeros that only end a group: 二十万零三千.
    - 〇 for 零, and white space around the whole.

    What speech leaves out is not guessed at: 一百五 might be 105 or 150.
    """
    spelled = text.strip().replace("〇", "零")
    for character in spelled:
        if character not in SRC_TOKENS and character != "两":
            raise ValueError(f"text: got {text!r}, in which {character!r} is no Chinese numeral")
    spelled = re.sub("两(?=[百千])|^两(?=[万亿])|(?<=亿)两(?=万)|(?<=亿零)两(?=万)", "二", spelled)
    if "两" in spelled:
        raise ValueError(
            f"text: got {text!r}, expected 二, as 两 goes with 百, 千, 万 and 亿 alone"
        )
    spelled = re.sub("^一十", "十", spelled)

    group = "((?:[一-九]千)?(?:[一-九]百)?(?:[一-九]?十)?[一-九]?)".replace("一-九", DIGITS[1:])
    parts = re.fullmatch(f"(?:{group}亿)?(?:{group}万)?{group}", spelled.replace("零", ""))
    if not spelled or parts is None or "" in parts.groups()[:2]:
        raise ValueError(
            f"text: got {text!r}, expected digits, each before its unit, in falling order, "
            "such as 三千零二十万五千"
        )
    n = 0
    for part in parts.groups(default=""):
        n *= 10_000
        for digit, unit in re.findall("([^十百千]?)([十百千]?)", part):
            if digit or unit:  # the last match is of nothing
                n += DIGITS.index(digit or "一") * 10 ** UNITS.index(unit)
    if n > LARGEST:
        raise ValueError(f"text: got {text!r}, which is {n:,}, expected at most {LARGEST:,}")
    if spelled not in (to_chinese(n), _spell(n, every_zero=True)):
        raise ValueError(f"text: got {text!r}, expected {to_chinese(n)!r} if {n} is meant")
    return n


def _check_number(n: int) -> None:
    if isinstance(n, bool) or not isinstance(n, int) or not 0 <= n <= LARGEST:
        raise ValueError(f"n: got {n!r}, expected a whole number from 0 to {LARGEST:,}")


# Tokens


def encode(texts: Sequence[str]) -> Tensor:
    """Chinese numerals as source tokens, a token a character: (batch, src_len)."""
    return _padded([_tokens(text, SRC_TOKENS) for text in texts])


def encode_words(texts: Sequence[str]) -> Tensor:
    """English words as target tokens, between <bos> and <eos>: (batch, tgt_len)."""
    return _padded([[BOS, *_tokens(text.split(), TGT_TOKENS), EOS] for text in texts])


def decode_words(tokens: Tensor) -> list[str]:
    """Target tokens (batch, tgt_len) as English words, up to <eos> and without <bos>."""
    texts = []
    for row in tokens.tolist():
        row = row[: row.index(EOS)] if EOS in row else row
        texts.append(" ".join(TGT_TOKENS[token] for token in row if token not in (PAD, BOS)))
    return texts


def _tokens(pieces: Sequence[str], vocabulary: Sequence[str]) -> list[int]:
    for piece in pieces:
        if piece not in vocabulary:
            raise ValueError(f"texts: got {piece!r} in them, expected {' '.join(vocabulary)}")
    return [vocabulary.index(piece) for piece in pieces]


def _padded(rows: Sequence[list[int]]) -> Tensor:
    longest = max(map(len, rows), default=0)
    filled = [row + [PAD] * (longest - len(row)) for row in rows]
    return torch.tensor(filled, dtype=torch.long).reshape(len(rows), longest)


# The model

MODEL: dict[str, Any] = {"d_model": 64, "num_heads": 4, "num_layers": 2, "d_ff": 128}
CHECKPOINT = Path(__file__).with_suffix(".pt")


def new_model(seed: int = 0) -> Transformer:
    """The translator before it has learned anything; the seed decides its weights."""
    with torch.random.fork_rng(devices=[]):  # the caller's random numbers stay as they are
        torch.manual_seed(seed)
        return Transformer(len(SRC_TOKENS), len(TGT_TOKENS), **MODEL, dropout=0.0, norm_first=True)


def load(path: str | Path = CHECKPOINT) -> Transformer:
    """The trained translator: the one that comes with the library, or your own."""
    model = new_model()
    model.load_state_dict(torch.load(path, weights_only=True))
    return model.eval()


def translate(texts: Sequence[str], model: Transformer | None = None) -> list[str]:
    """What the model says in English for each Chinese numeral; by default the trained model.

    Every spelling of `parse_chinese` may come; the model itself reads that of `to_chinese`.
    """
    texts = [to_chinese(parse_chinese(text)) for text in texts]
    return say(load() if model is None else model, texts) if texts else []


def say(model: Transformer, texts: Sequence[str], *, use_cache: bool = True) -> list[str]:
    """The model's words for numerals that are spelled as `to_chinese` does, right or wrong."""
    tokens: Any = model.generate(encode(texts), MAX_WORDS, BOS, EOS, use_cache=use_cache)
    return decode_words(tokens)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 0 if all went well, 2 with one line of why if the input was wrong."""
    from headwise import numerals_training as training  # it needs this module itself

    parser = argparse.ArgumentParser(
        prog="python -m headwise.numerals", description="Chinese numerals to English words."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    to_translate = commands.add_parser("translate", help="say Chinese numerals in English")
    to_translate.add_argument("text", nargs="*", help="numerals; without any, the lines of stdin")
    to_evaluate = commands.add_parser("evaluate", help="test on numbers never learned from")
    to_train = commands.add_parser("train", help="train from random weights")
    to_train.add_argument("--seed", type=int, default=0)
    to_train.add_argument("--steps", type=int, default=training.STEPS)
    to_train.add_argument("--out", type=Path, default=Path("numerals.pt"))
    to_train.add_argument("--resume", action="store_true", help="go on after an interruption")
    for command in (to_evaluate, to_train):
        command.add_argument("--count", type=int, default=10_000, help="numbers to test on")
    options = parser.parse_args(arguments)
    try:
        if options.command == "translate":
            texts = options.text or [line for line in sys.stdin if line.strip()]
            for words in translate(texts):
                print(words)
        elif options.command == "evaluate":
            for name, right in training.accuracy(load(), options.count).items():
                print(f"{name}: {right} exact")
        else:
            training.train(
                options.out,
                seed=options.seed,
                steps=options.steps,
                count=options.count,
                resume=options.resume,
            )
    except (ValueError, OSError) as error:
        print(f"headwise.numerals: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
