"""What a kernel costs is measured from an idle device to an idle device, and told with its date."""

import datetime
import math
import runpy
import sys

import pytest
import torch

from headwise import timing
from headwise.timing import KERNELS, Cost, own_device, seconds, table
from proseproof.accelerator import Rehearsal

CPU = torch.device("cpu")


def test_time_runs_from_idle_to_idle_after_a_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    cuda = torch.device("cuda")
    monkeypatch.setattr(timing, "own_device", lambda: cuda)
    monkeypatch.setattr(torch.accelerator, "synchronize", lambda device: said.append("wait"))
    seconds(lambda: said.append("step"), cuda, repetitions=2)
    assert said == ["step", *["wait", "step", "wait"] * 2]


def test_time_is_the_median(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 5.0, 10.0, 11.0, 20.0, 22.0])
    monkeypatch.setattr(timing.time, "perf_counter", lambda: next(clock))
    assert seconds(lambda: None, CPU, repetitions=3) == 2.0


def test_kernel_that_does_not_run_says_why() -> None:
    costs = timing.measure(CPU, (2, 4, 5, 8), torch.float32)
    assert list(costs) == list(KERNELS)
    ran = {name for name, cost in costs.items() if isinstance(cost, Cost)}
    assert ran == {"written out", "MATH", "FLASH_ATTENTION"}
    assert "No viable backend" in str(costs["EFFICIENT_ATTENTION"])


def test_reason_is_what_pytorch_warns_of() -> None:
    costs = timing.measure(CPU, (4, 5, 8), torch.float32)
    reason = str(costs["FLASH_ATTENTION"])
    assert reason.startswith("Flash attention kernel not used because: All fused kernels requires")
    assert "Triggered" not in reason and "\n" not in reason


@pytest.mark.parametrize("is_causal", [False, True])
def test_every_kernel_computes_the_same(is_causal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []

    def keep(out: torch.Tensor, inputs: object) -> None:
        found.append(out.item())

    monkeypatch.setattr(torch.autograd, "grad", keep)
    timing.measure(CPU, (2, 4, 5, 8), torch.float64, is_causal=is_causal)
    assert len(set(found)) > 0 and max(found) - min(found) < 1e-9


@pytest.mark.parametrize(
    ("device", "has_bfloat16", "dtype"),
    [
        ("cpu", True, torch.float32),
        ("cuda", True, torch.bfloat16),
        ("cuda", False, torch.float16),
    ],
)
def test_usual_type_is_the_half_precision_that_a_gpu_has(
    device: str, has_bfloat16: bool, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: has_bfloat16)
    assert timing.usual_dtype(torch.device(device)) == dtype


def test_accelerator_counts_its_memory() -> None:
    with Rehearsal(__file__).stage():
        costs = timing.measure(own_device(), (2, 4, 5, 8), torch.float32)
    assert all(isinstance(cost, Cost) and cost.peak is not None for cost in costs.values())


def test_memory_is_counted_beyond_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with Rehearsal(__file__).stage():
        monkeypatch.setattr(torch.accelerator, "memory_allocated", lambda device: 100)
        monkeypatch.setattr(torch.accelerator, "max_memory_allocated", lambda device: 164)
        assert timing.peak_bytes(lambda: None, own_device()) == 64
        monkeypatch.undo()


def test_table_tells_times_as_ratios_with_machine_and_date() -> None:
    costs = {"a": "out of memory", "b": Cost(2.0, 3 * 2**20), "c": Cost(1.0, None)}
    rows = table(costs, "machine", datetime.date(2024, 2, 29)).splitlines()
    version = torch.__version__
    assert rows == [
        "| machine | torch | date | kernel | time | memory |",
        "|---|---|---|---|---|---|",
        f"| machine | {version} | 2024-02-29 | a | out of memory | – |",
        f"| machine | {version} | 2024-02-29 | b | 1.00 | 3 MiB |",
        f"| machine | {version} | 2024-02-29 | c | 0.50 | – |",
    ]


def test_command_prints_a_row_for_each_kernel(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["measure", "--seq-len", "8", "--dtype", "bfloat16"])
    runpy.run_path(timing.__file__, run_name="__main__")
    printed = capsys.readouterr().out
    assert printed.startswith(
        "Forward and backward for Q, K and V of shape (4, 8, 8, 64), bfloat16"
    )
    assert printed.count("\n| ") == 1 + len(KERNELS)


def test_command_takes_batch_and_causal(capsys: pytest.CaptureFixture[str]) -> None:
    timing.main(["--batch", "2", "--seq-len", "8", "--causal"])
    assert "of shape (2, 8, 8, 64), float32, causal:" in capsys.readouterr().out


def test_table_where_no_kernel_ran_says_why_for_each() -> None:
    rows = table({"a": "out of memory"}, "machine", datetime.date(2024, 2, 29)).splitlines()
    assert rows[2].endswith("| a | out of memory | – |")


def test_reason_keeps_to_its_cell() -> None:
    rows = table({"a": "this | that\nand more"}, "a|b", datetime.date(2024, 2, 29)).splitlines()
    assert rows[2].startswith(r"| a\|b |") and rows[2].endswith(r"| this \| that and more | – |")
    assert len(rows) == 3


def test_machine_has_a_name_in_one_line() -> None:
    with pytest.raises(ValueError, match=r"machine: got 'a\\nb'"):
        table({}, "a\nb", datetime.date(2024, 2, 29))


def test_device_that_does_not_compute_is_refused() -> None:
    far = torch.device("meta")
    calls = (
        lambda: timing.wait_for(far),
        lambda: seconds(list, far),
        lambda: timing.peak_bytes(list, far),
        lambda: timing.measure(far, (1, 2, 3, 4), torch.float32),
    )
    for call in calls:
        with pytest.raises(ValueError, match="device: got meta, expected cpu or an accelerator"):
            call()


@pytest.mark.parametrize(
    ("costs", "error", "reason"),
    [
        ({5: Cost(1.0, None)}, TypeError, "got 5, expected names of kernels"),
        ({"a": Cost("1", None)}, TypeError, "got '1', expected seconds"),  # type: ignore[arg-type]
        ({"a": Cost(0.0, None)}, ValueError, "got 0.0 seconds, expected more than 0"),
        ({"a": Cost(math.nan, None)}, ValueError, "got nan seconds"),
        ({"a": Cost(True, None)}, ValueError, "got True seconds"),
        ({"a": Cost(1.0, -5)}, ValueError, "got -5, expected bytes"),
    ],
)
def test_costs_that_nobody_can_have_measured_are_refused(
    costs: dict[str, Cost | str], error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=f"costs: {reason}"):
        table(costs, "machine", datetime.date(2024, 2, 29))


@pytest.mark.parametrize(
    "shape", [(), (4,), (1, 2, 0, 4), (1, 2, -3, 4), (2**20, 2**20, 4, 4), (True, 4)]
)
def test_shape_that_no_kernel_could_take_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="shape: got"):
        timing.measure(CPU, shape, torch.float32)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--seq-len", "-1"], "seq_len: got -1, expected a whole number of at least 1"),
        (["--batch", "0"], "batch: got 0, expected a whole number of at least 1"),
        (["--seq-len", "0"], "seq_len: got 0, expected a whole number of at least 1"),
        (["--seq-len", "x"], "argument --seq-len: invalid int value: 'x'"),
        (["--seq-len", str(10**12)], "seq_len: got 1000000000000, expected a whole number of at"),
        (["--dtype", "int8"], "argument --dtype: invalid choice"),
    ],
)
def test_wrong_options_get_one_line_and_exit_code_2(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        timing.main(arguments)
    shown = capsys.readouterr()
    assert (ended.value.code, shown.out) == (2, "")
    assert shown.err.startswith(f"headwise.timing: {reason}") and shown.err.count("\n") == 1
