"""Numerals: the rules against other libraries, the split, the shipped model, training, commands."""

import io
import json
import re
import runpy
from pathlib import Path

import cn2an
import num2words
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from headwise.models import translator
from headwise.models import translator_training as training
from headwise.models.numerals import LARGEST, parse_chinese, to_chinese, to_english
from headwise.models.translator import main
from headwise.transformer import Transformer

EDGES = sorted(
    {n for power in range(9) for n in (10**power - 1, 10**power, 10**power + 1, 15 * 10**power)}
    | {n for power in range(9) for n in (2 * 10**power, 11 * 10**power, 10**power * 9 + 90)}
    | {10_001_000, 100_003_000, 100_010_001, 203_000, 120_000_005, LARGEST}
)
EDGES = [n for n in EDGES if n <= LARGEST]


@st.composite
def numbers(draw: st.DrawFn) -> int:
    """Numbers of every length, with many zeros."""
    digits = draw(st.lists(st.sampled_from("000123456789"), min_size=1, max_size=9))
    return int("".join(digits))


# The rules


@pytest.mark.parametrize(
    ("n", "chinese", "english"),
    [
        (0, "零", "zero"),
        (10, "十", "ten"),
        (15, "十五", "fifteen"),
        (20, "二十", "twenty"),
        (105, "一百零五", "one hundred five"),
        (115, "一百一十五", "one hundred fifteen"),
        (235, "二百三十五", "two hundred thirty five"),
        (1_005, "一千零五", "one thousand five"),
        (10_005, "一万零五", "ten thousand five"),
        (150_000, "十五万", "one hundred fifty thousand"),
        (203_000, "二十万三千", "two hundred three thousand"),
        (100_003_000, "一亿零三千", "one hundred million three thousand"),
        (100_150_000, "一亿零一十五万", "one hundred million one hundred fifty thousand"),
    ],
)
def test_spellings(n: int, chinese: str, english: str) -> None:
    assert to_chinese(n) == chinese
    assert to_english(n) == english


def assert_english_agrees(n: int) -> None:
    theirs = num2words.num2words(n)  # "one thousand, two hundred and thirty-five"
    theirs = theirs.replace(",", "").replace("-", " ").replace(" and ", " ")
    assert to_english(n) == theirs


def assert_chinese_agrees(n: int) -> None:
    theirs = cn2an.an2cn(n, "low")
    if 1_000 <= n % 10**8 < 10_000 and n >= 10**8:
        # cn2an leaves the 零 out after 亿 where all of 万 is missing: 一亿三千 for 100003000,
        # which is what one says for 130000000.
        theirs = theirs.replace("亿", "亿零")
    assert to_chinese(n) == theirs


@pytest.mark.parametrize("n", EDGES)
def test_edges_agree_with_other_libraries(n: int) -> None:
    assert_english_agrees(n)
    assert_chinese_agrees(n)


@given(numbers() | st.integers(0, LARGEST))
def test_english_is_that_of_num2words_without_its_commas_hyphens_and_ands(n: int) -> None:
    assert_english_agrees(n)


@given(numbers() | st.integers(0, LARGEST))
def test_chinese_is_that_of_cn2an_but_for_one_zero(n: int) -> None:
    assert_chinese_agrees(n)


@given(numbers() | st.integers(0, LARGEST))
def test_reading_undoes_writing(n: int) -> None:
    assert parse_chinese(to_chinese(n)) == n


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("两百", 200),
        ("两千两百", 2_200),
        ("两万", 20_000),
        ("两亿", 200_000_000),
        ("一亿零两万", 100_020_000),
        ("一十五", 15),
        ("一十五万", 150_000),
        ("二十万零三千", 203_000),
        ("〇", 0),
        ("三百〇五", 305),
        (" 三百零五\n", 305),
    ],
)
def test_usual_alternatives_are_read(text: str, n: int) -> None:
    assert parse_chinese(text) == n


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "expected digits"),
        ("three", "'t' is no Chinese numeral"),
        ("三百5", "'5' is no Chinese numeral"),
        ("<pad>", "'<' is no Chinese numeral"),
        ("千千", "falling order"),
        ("一千二千", "falling order"),
        ("二百三千", "falling order"),
        ("三万二亿", "falling order"),
        ("万", "falling order"),
        ("亿五", "falling order"),
        ("三五", "falling order"),
        ("十亿", "which is 1,000,000,000, expected at most 999,999,999"),
        ("两", "expected 二"),
        ("两十", "expected 二"),
        ("十两万", "expected 二"),
        ("一百零两万", "expected 二"),
        ("一百五", "expected '一百零五' if 105 is meant"),
        ("一百十五", "expected '一百一十五' if 115 is meant"),
        ("一万零零五", "expected '一万零五' if 10005 is meant"),
        ("零五", "expected '五' if 5 is meant"),
        ("三亿两万", "expected '三亿零二万' if 300020000 is meant"),
        ("二十零", "expected '二十' if 20 is meant"),
        ("一百零二十三", "expected '一百二十三' if 123 is meant"),
    ],
)
def test_what_is_no_numeral_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)) as caught:
        parse_chinese(text)
    assert str(caught.value).startswith(f"text: got {text!r}, ")


@given(st.text(st.sampled_from("零一二三九两十百千万亿"), max_size=8))
def test_whatever_is_read_is_a_spelling_of_that_number(text: str) -> None:
    try:
        n = parse_chinese(text)
    except ValueError:
        return
    plain = re.sub("^一十", "十", text.replace("两", "二"))
    assert plain.replace("零", "") == to_chinese(n).replace("零", "")


@pytest.mark.parametrize("n", [-1, LARGEST + 1, True, 1.0])
@pytest.mark.parametrize("write", [to_chinese, to_english])
def test_numbers_out_of_range_are_refused(write: object, n: object) -> None:
    with pytest.raises(ValueError, match=re.escape(f"n: got {n!r}, expected a whole number")):
        write(n)  # type: ignore[operator]


# The split


def test_no_number_to_learn_from_is_held_out_or_in_a_range() -> None:
    learned = training.training_numbers(20_000, seed=0)
    assert not training.held_out(learned).any()
    assert not [n for n in learned.tolist() if any(n in held for held in training.RANGES)]


@pytest.mark.parametrize("held", training.RANGES)
def test_a_range_is_held_out_from_its_first_number_to_its_last(held: range) -> None:
    border = torch.tensor([held.start - 1, held.start, held.stop - 1, held.stop])
    assert training.in_ranges(border).tolist() == [False, True, True, False]


def test_one_number_in_ten_is_held_out_whatever_its_length() -> None:
    for length in range(3, 10):
        everything = torch.arange(10 ** (length - 1), 10**length, max(1, 10**length // 99_991))
        everything = everything[~training.in_ranges(everything)]
        share = training.held_out(everything).double().mean().item()
        assert abs(share - 0.1) < 0.02, length


def test_numbers_below_100_are_all_learned_from() -> None:
    assert not training.held_out(torch.arange(100)).any()
    assert set(range(100)) <= set(training.training_numbers(20_000, seed=0).tolist())


def test_test_numbers_are_held_out_and_all_different() -> None:
    tested = training.held_out_numbers(5_000, seed=3)
    assert training.held_out(tested).all()
    assert len(tested.unique()) == len(tested) == 5_000


def test_range_numbers_lie_in_their_ranges() -> None:
    for held, row in zip(training.RANGES, training.range_numbers(50, seed=0), strict=True):
        assert all(n in held for n in row.tolist())


def test_numbers_of_every_length_are_drawn() -> None:
    drawn = training.draw(9_000, torch.Generator().manual_seed(0))
    assert drawn.min() >= 0 and drawn.max() <= LARGEST
    lengths = torch.tensor([len(str(n)) for n in drawn.tolist()]).bincount(minlength=10)[1:]
    assert (lengths > 500).all()


# Tokens


@given(st.lists(numbers(), min_size=1, max_size=5))
def test_words_survive_tokens(some: list[int]) -> None:
    words = [to_english(n) for n in some]
    assert translator.decode_words(translator.encode_words(words)) == words


def test_words_without_an_end_are_decoded_as_far_as_they_go() -> None:
    assert translator.decode_words(translator.encode_words(["ten"])[:, :-1]) == ["ten"]


def test_unknown_tokens_are_refused() -> None:
    with pytest.raises(ValueError, match="texts: got '两' in them, expected <pad> 零 一"):
        translator.encode(["三", "两百"])
    with pytest.raises(ValueError, match="texts: got 'and' in them"):
        translator.encode_words(["one hundred and one"])


def test_no_text_is_an_empty_batch() -> None:
    assert translator.encode([]).shape == (0, 0)
    assert translator.encode_words([]).dtype == torch.long


def test_longest_number_fits_the_words_allowed() -> None:
    longest = max((777_777_777, 373_373_373, LARGEST), key=lambda n: len(to_english(n).split()))
    assert len(to_english(longest).split()) + 1 == translator.MAX_WORDS


# The shipped model

RECIPE = json.loads(translator.CHECKPOINT.with_suffix(".json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def shipped() -> Transformer:
    return translator.load()


def test_shipped_model_translates_numbers_it_has_never_seen(shipped: Transformer) -> None:
    right = training.exact(shipped, training.held_out_numbers(2_000, seed=20_261))
    assert right.double().mean().item() >= 0.999


def test_cache_changes_no_word_of_a_translation(shipped: Transformer) -> None:
    texts = [to_chinese(n) for n in training.held_out_numbers(2_000, seed=20_261).tolist()]
    for start in range(0, len(texts), 500):
        part = texts[start : start + 500]
        assert translator.say(shipped, part) == translator.say(shipped, part, use_cache=False)


def test_checkpoint_is_small_and_is_the_one_of_the_recipe(shipped: Transformer) -> None:
    assert translator.CHECKPOINT.stat().st_size < 1_000_000
    assert training.fingerprint(shipped) == RECIPE["sha256"]


def test_recipe_is_that_of_the_code() -> None:
    assert RECIPE["seed"] == 0
    assert RECIPE["steps"] == training.STEPS
    assert RECIPE["batch"] == training.BATCH
    assert RECIPE["learning_rate"] == training.LEARNING_RATE
    assert RECIPE["model"] == translator.MODEL


def test_recorded_accuracy_meets_the_bar() -> None:
    right, count = map(int, RECIPE["exact"]["held out"].split(" of "))
    assert count == 10_000
    assert right / count >= 0.999
    ranges = [f"{held.start} to {held.stop - 1}" for held in training.RANGES]
    assert list(RECIPE["exact"]) == ["held out", *ranges]


def test_translate_takes_every_spelling_that_can_be_read() -> None:
    assert translator.translate(["两百零五", "一十五", "〇"]) == [
        "two hundred five",
        "fifteen",
        "zero",
    ]
    assert translator.translate([]) == []


# Training


def test_loading_and_creating_leave_the_callers_random_numbers_alone() -> None:
    state = torch.get_rng_state()
    translator.new_model(seed=3)
    translator.load()
    assert torch.equal(torch.get_rng_state(), state)


def trained(model: Transformer | None, seed: int) -> str:
    run = training.Training(model, seed=seed, steps=3)
    run.advance(3)
    return training.fingerprint(run.model)


def test_seed_decides_the_weights() -> None:
    assert trained(None, 0) == trained(None, 0) != trained(None, 1)


def test_seed_decides_the_numbers_to_learn_from() -> None:
    assert trained(translator.new_model(0), 0) != trained(translator.new_model(0), 1)


def test_loss_is_the_mean_over_next_words_and_no_padding() -> None:
    run = training.Training(seed=0, steps=1)
    run.advance(1)
    model, losses = translator.new_model(seed=0), []
    for n in training.training_numbers(training.BATCH, seed=0).tolist():
        words = translator.encode_words([to_english(n)])  # alone, so there is nothing to fill up
        logits = model(translator.encode([to_chinese(n)]), words[:, :-1])
        losses.append(F.cross_entropy(logits[0], words[0, 1:], reduction="none"))
    torch.testing.assert_close(run.losses[0], torch.cat(losses).mean().item(), rtol=1e-5, atol=0)


def test_training_stops_at_its_last_step() -> None:
    run = training.Training(steps=2)
    run.advance(5)
    assert len(run.losses) == 2
    assert run.seconds > 0


def test_training_lowers_the_loss() -> None:
    run = training.Training(steps=20)
    run.advance(20)
    assert sum(run.losses[-5:]) < 0.7 * sum(run.losses[:5])


def test_training_restores_the_number_of_threads() -> None:
    torch.set_num_threads(2)
    training.Training(steps=1).advance(1)
    assert torch.get_num_threads() == 2


def test_learning_rate_rises_and_falls() -> None:
    rates = [training.learning_rate(step, 100) for step in range(100)]
    top = rates.index(max(rates))
    assert max(rates) == training.LEARNING_RATE
    assert rates == sorted(rates[: top + 1]) + sorted(rates[top + 1 :], reverse=True)
    assert 9 <= top <= 10
    assert rates[-1] < 0.01 * training.LEARNING_RATE


def test_steps_below_one_are_refused() -> None:
    with pytest.raises(ValueError, match="steps: got 0"):
        training.Training(steps=0)


# Commands

Captured = pytest.CaptureFixture[str]


class Interrupting(io.StringIO):
    """A terminal at which somebody presses Ctrl-C as soon as step 20 is shown."""

    def write(self, text: str) -> int:
        if " 20/" in text:
            raise KeyboardInterrupt
        return super().write(text)


def train(*options: str) -> int:
    return main(["train", "--steps", "40", "--count", "50", *options])


def test_interrupted_and_resumed_training_gives_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, parts = tmp_path / "whole.pt", tmp_path / "parts.pt"
    assert train("--out", str(whole)) == 0

    with monkeypatch.context() as patched:
        terminal = Interrupting()
        patched.setattr("sys.stdout", terminal)
        assert train("--out", str(parts)) == 130
        assert "--resume" in terminal.getvalue()
    assert not parts.exists()
    assert train("--out", str(parts), "--resume") == 0

    assert training.fingerprint(translator.load(parts)) == training.fingerprint(
        translator.load(whole)
    )
    names = {"whole.pt", "whole.json", "parts.pt", "parts.json"}
    assert {path.name for path in tmp_path.iterdir()} == names
    recipes = [json.loads(path.with_suffix(".json").read_text()) for path in (whole, parts)]
    for recipe in recipes:
        assert recipe.pop("seconds") > 0
    assert recipes[0] == recipes[1]


def test_training_shows_loss_and_accuracy(tmp_path: Path, capsys: Captured) -> None:
    assert main(["train", "--steps=2", "--count=10", f"--out={tmp_path / 'own.pt'}"]) == 0
    assert re.search(r"\[#{20}\] 2/2, loss \d\.\d{4}, exact \d+\.\d%\n", capsys.readouterr().out)


def assert_refused(capsys: Captured, reason: str, *arguments: str) -> None:
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("headwise.models.translator: ")
    assert reason in shown.err
    assert shown.err.count("\n") == 1


def test_wrong_input_gets_one_line_and_exit_code_2(tmp_path: Path, capsys: Captured) -> None:
    out = str(tmp_path / "own.pt")
    assert_refused(capsys, "'x' is no Chinese numeral", "translate", "三", "x")
    assert_refused(capsys, "count: got 0", "evaluate", "--count", "0")
    assert_refused(capsys, "steps: got -1", "train", "--steps", "-1", "--out", out)
    assert_refused(capsys, "seed: got -1", "train", "--seed", "-1", "--out", out)
    assert_refused(capsys, "own.part", "train", "--resume", "--out", out)
    assert_refused(capsys, "count: got 0", "train", "--count", "0", "--out", out)
    assert_refused(capsys, "ends in .pt", "train", "--out", str(tmp_path / "own.json"))
    missing = str(tmp_path / "nowhere" / "own.pt")
    assert_refused(capsys, "nowhere", "train", "--steps", "1", "--out", missing)


def test_resuming_another_training_is_refused(tmp_path: Path, capsys: Captured) -> None:
    begun = training.Training(steps=40)
    torch.save(begun.state_dict(), tmp_path / "own.part")
    out = ("--resume", "--out", str(tmp_path / "own.pt"))
    assert_refused(capsys, "steps: got 30, expected 40", "train", "--steps", "30", *out)
    assert_refused(capsys, "seed: got 1, expected 0", "train", "--seed", "1", *out)


def test_resuming_what_is_no_training_is_refused(tmp_path: Path, capsys: Captured) -> None:
    out = ("--resume", "--out", str(tmp_path / "own.pt"))
    (tmp_path / "own.part").write_text("no training")
    assert_refused(capsys, "own.part", "train", *out)
    torch.save(translator.new_model().state_dict(), tmp_path / "own.part")
    assert_refused(capsys, "own.part", "train", *out)


def test_translate_answers_a_line_for_each_numeral(capsys: Captured) -> None:
    assert main(["translate", "三百零五", "两万"]) == 0
    assert capsys.readouterr().out == "three hundred five\ntwenty thousand\n"


def test_translate_reads_lines_where_no_numeral_is_given(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("三百零五\n\n 十五\n"))
    assert main(["translate"]) == 0
    assert capsys.readouterr().out == "three hundred five\nfifteen\n"


def test_translate_of_nothing_prints_nothing(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["translate"]) == 0
    assert capsys.readouterr().out == ""


def test_evaluate_counts_each_split(capsys: Captured) -> None:
    assert main(["evaluate", "--count", "30"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(training.RANGES)
    assert lines[0] == "held out: 30 of 30 exact"
    assert all(re.fullmatch(r"\d+ to \d+: \d of 3 exact", line) for line in lines[1:])


def test_module_runs_as_a_command(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["numerals", "translate", "二百三十五"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(translator.__file__), run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out == "two hundred thirty five\n"
