"""The translator's command line: what it does, and wrong input refused before any work."""

import io
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from headwise.models import translator
from headwise.models import translator_training as training
from headwise.models._files import alone, write_whole
from headwise.models.translator import main

Captured = pytest.CaptureFixture[str]


class Interrupting(io.StringIO):
    """A terminal at which somebody presses Ctrl-C as soon as step 20 is shown."""

    def write(self, text: str) -> int:
        if " 20/" in text:
            raise KeyboardInterrupt
        return super().write(text)


def train(*options: str) -> int:
    return main(["train", "--steps", "22", "--count", "10", *options])


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


# Refused before the work begins


def left_by_a_training() -> dict[str, object]:
    return training.Training(steps=40).state_dict()


def without_values() -> dict[str, object]:
    return dict.fromkeys(left_by_a_training())


def of_another_shape() -> dict[str, object]:
    state = left_by_a_training()
    weights = dict(state["model"])  # type: ignore[call-overload]
    weights["W_vocab.weight"] = weights["W_vocab.weight"][:3]
    return {**state, "model": weights}


@pytest.mark.parametrize(
    "state",
    [
        *([], torch.zeros(3), {}, "text", None, 5),
        *(without_values(), of_another_shape(), {**left_by_a_training(), "losses": 3}),
    ],
    ids=["list", "tensor", "dict", "text", "None", "number", "Nones", "shape", "losses"],
)
def test_resuming_something_else_is_refused(
    state: object, tmp_path: Path, capsys: Captured
) -> None:
    torch.save(state, tmp_path / "own.part")
    out = ("--resume", "--steps", "40", "--out", str(tmp_path / "own.pt"))
    assert_refused(capsys, f"resume: got {tmp_path / 'own.part'}, expected", "train", *out)


@pytest.mark.parametrize("size", [0, 1, 500, 20_000])
def test_resuming_a_file_that_breaks_off_is_refused(
    size: int, tmp_path: Path, capsys: Captured
) -> None:
    kept = tmp_path / "own.part"
    torch.save(left_by_a_training(), kept)
    kept.write_bytes(kept.read_bytes()[:size])
    out = ("--resume", "--steps", "40", "--out", str(tmp_path / "own.pt"))
    assert_refused(capsys, f"resume: got {kept}, expected", "train", *out)


@pytest.mark.parametrize("name", ["own.pt", "own.json", "own.part"])
def test_directory_in_the_way_is_noticed_before_training(
    name: str, tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / name).mkdir()
    out = str(tmp_path / "own.pt")
    assert_refused(capsys, f"out: got {out}, expected no directory", "train", "--out", out)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("option", ["seed", "steps", "count"])
def test_huge_numbers_are_refused_by_name(option: str, tmp_path: Path, capsys: Captured) -> None:
    arguments = (f"--{option}", "9" * 20, "--out", str(tmp_path / "own.pt"))
    assert_refused(capsys, f"{option}: got 99999999999999999999, expected", "train", *arguments)
    assert not list(tmp_path.iterdir())


def test_second_training_into_one_file_is_refused(tmp_path: Path, capsys: Captured) -> None:
    out = tmp_path / "own.pt"
    with alone(out):
        assert_refused(
            capsys, f"out: got {out}, expected one that no other", "train", f"--out={out}"
        )
    assert not list(tmp_path.iterdir())


def test_file_locked_by_a_process_that_was_killed_is_free_again(tmp_path: Path) -> None:
    out = tmp_path / "own.pt"
    killed = (
        "import os, pathlib, sys; from headwise.models._files import alone\n"
        "with alone(pathlib.Path(sys.argv[1])): os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", killed, str(out)]).returncode == -9
    assert (tmp_path / "own.lock").exists()
    with alone(out):
        pass
    assert not list(tmp_path.iterdir())


def test_file_that_could_not_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "own.pt"
    with pytest.raises(ZeroDivisionError):
        write_whole(path, lambda file: file.write(bytes(1 // 0)))
    assert not list(tmp_path.iterdir())


def test_wrong_options_get_one_line_and_exit_code_2(capsys: Captured) -> None:
    for arguments, reason in (
        (["train", "--steps", "x"], "train: argument --steps: invalid int value: 'x'"),
        (["sing"], "argument command: invalid choice: 'sing'"),
        ([], "the following arguments are required: command"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        shown = capsys.readouterr()
        assert (ended.value.code, shown.out) == (2, "")
        assert shown.err.startswith("headwise.models.translator") and reason in shown.err
        assert shown.err.count("\n") == 1


@pytest.mark.parametrize("content", [b"", b"no weights at all", b"PK\x03\x04"])
def test_file_without_weights_is_refused_by_name(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "own.pt"
    path.write_bytes(content)
    for wrong in (path, tmp_path / "nowhere.pt", tmp_path):
        with pytest.raises(ValueError, match=re.escape(f"path: got {wrong}, expected the weights")):
            translator.load(wrong)


def test_weights_of_another_model_are_refused_by_name(tmp_path: Path) -> None:
    torch.save({"W_vocab.weight": torch.zeros(3)}, tmp_path / "own.pt")
    with pytest.raises(ValueError, match="path: got"):
        translator.load(tmp_path / "own.pt")


@pytest.mark.parametrize("change", ["meta", "one in half", "complex", "sparse"])
def test_weights_that_cannot_be_computed_with_are_refused_by_name(
    change: str, tmp_path: Path
) -> None:
    weights = translator.new_model().state_dict()
    name, first = next(iter(weights.items()))
    if change in ("meta", "complex"):
        to = "meta" if change == "meta" else torch.complex64
        weights = {name: weight.to(to) for name, weight in weights.items()}
    else:
        weights[name] = first.half() if change == "one in half" else first.to_sparse()
    torch.save(weights, tmp_path / "own.pt")
    with pytest.raises(ValueError, match="path: got"):
        translator.load(tmp_path / "own.pt")


def test_place_that_cannot_be_written_to_is_noticed_before_training(
    tmp_path: Path, capsys: Captured
) -> None:
    out = str(tmp_path / f"{'a' * 300}.pt")
    assert_refused(capsys, f"out: got {out}, expected a place to write to", "train", "--out", out)


def test_lines_that_are_no_text_get_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\n"), encoding="utf-8"))
    assert_refused(capsys, "text: got bytes that are not utf-8", "translate")


def test_line_break_in_a_path_breaks_no_line(capsys: Captured) -> None:
    assert_refused(capsys, "out: got no such/x.pt, expected", "train", "--out", "no\nsuch/x.pt")
