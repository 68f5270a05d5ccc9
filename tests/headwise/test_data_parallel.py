"""Two processes train as one would, and neither outlives the other."""

import multiprocessing
import os
import re
import runpy
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import other_ranks
import pytest
import torch
import torch.distributed as dist
from torch import nn

from headwise import data_parallel
from headwise.data_parallel import (
    SEQ_LEN,
    joined,
    main,
    reversal_loss,
    share,
    small_model,
    train,
    whole_batch,
)
from headwise.transformer import Transformer

CPU = torch.device("cpu")
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
LOST = "ends, as another process is lost"
LONG = 300.0  # seconds: far more than any of these takes, so that a hanging run fails a test
elsewhere = pytest.mark.no_cover  # all of it happens in processes that coverage does not see
# Loading is most of what a process takes here: a fork of one that has loaded all has it at once.
LOADED = multiprocessing.get_context("forkserver")
LOADED.set_forkserver_preload(["headwise.data_parallel", "torch._dynamo"])


@pytest.fixture(autouse=True)
def own_processes_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test starts outside any group, whatever started pytest."""
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def rank_0(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Makes this process rank 1 of 2; the environment that makes another one rank 0."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    group = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    for name, value in {**group, "RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    return {**group, "RANK": "0", "OMP_NUM_THREADS": "1"}


@pytest.fixture
def children() -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that a test starts, none of which outlives it."""
    started: list[subprocess.Popen[str]] = []
    yield started
    for one in started:
        one.terminate()  # torchrun ends its own processes then
        one.send_signal(signal.SIGCONT)
        try:
            one.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            one.kill()
            one.communicate()


def start(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@contextmanager
def beside(act: Callable[..., None], *arguments: Any) -> Iterator[BaseProcess]:
    """Another process, which does not outlive the block."""
    other = LOADED.Process(target=act, args=arguments)
    other.start()
    try:
        yield other
    finally:
        other.kill()  # also if it is stopped
        other.join()


def step_lines(output: str) -> list[str]:
    return re.findall(r"^step .*$", output, re.MULTILINE)


def test_two_processes_print_the_losses_of_one(
    children: list[subprocess.Popen[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    children.append(start([*TORCHRUN, "-m", "headwise.data_parallel", "--steps", "4"]))
    monkeypatch.setattr(sys, "argv", ["parallel", "--steps", "4"])
    runpy.run_path(data_parallel.__file__, run_name="__main__")
    alone = step_lines(capsys.readouterr().out)
    output, _ = children[0].communicate(timeout=LONG)
    assert children[0].returncode == 0, output
    assert step_lines(output) == alone and len(alone) == 4
    assert "rank 1 of 2" in output


def test_two_processes_step_as_one_does_on_the_joined_batch(
    rank_0: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "rank_0.pt"
    model = small_model().double()
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_()  # training has to begin with the weights of rank 0
    with beside(other_ranks.trains, rank_0, file) as other:
        with joined(LONG) as device:
            losses = list(train(model, device, 3))
        other.join(LONG)
        assert other.exitcode == 0
    their_losses, theirs = torch.load(file)
    assert their_losses == losses

    # One process and the whole batch, without DistributedDataParallel.
    alone = small_model().double()
    optimizer = torch.optim.SGD(alone.parameters(), lr=0.03, momentum=0.9)
    for step in range(3):
        optimizer.zero_grad()
        loss = reversal_loss(alone, whole_batch(step))
        loss.backward()
        optimizer.step()
        assert losses[step] == pytest.approx(loss.item(), abs=1e-12)
    for ours, (weight, grad), expected in zip(
        model.parameters(), theirs, alone.parameters(), strict=True
    ):
        assert ours.grad is not None
        assert torch.equal(ours, weight) and torch.equal(ours.grad, grad)
        torch.testing.assert_close(ours, expected, rtol=0, atol=1e-12)
        torch.testing.assert_close(ours.grad, expected.grad, rtol=0, atol=1e-12)


ENDED = """
import weakref
import torch.distributed as dist
from headwise.data_parallel import joined, small_model, train
with joined(300) as device:
    list(train(small_model(), device, 1))
    group = weakref.ref(dist.group.WORLD)
print("the group is", "held" if group() else "gone")
"""


@elsewhere
def test_group_ends_with_its_threads(children: list[subprocess.Popen[str]]) -> None:
    children.append(start([sys.executable, "-c", ENDED]))  # where nothing is imported yet
    output, _ = children[0].communicate(timeout=LONG)
    assert children[0].returncode == 0, output
    assert "the group is gone" in output


@elsewhere
def test_killed_worker_ends_the_whole_run(children: list[subprocess.Popen[str]]) -> None:
    run = start([*TORCHRUN, "-m", "headwise.data_parallel", "--steps", "1000000"])
    children.append(run)
    assert run.stdout is not None
    processes: dict[int, int] = {}
    for line in run.stdout:
        if found := re.match(r"rank (\d) of 2: process (\d+)", line):
            processes[int(found[1])] = int(found[2])
        if line.startswith("step   2"):  # in the middle
            break
    os.kill(processes[1], signal.SIGKILL)
    # The output ends when the last process that could write to it has ended.
    output, _ = run.communicate(timeout=LONG)
    assert run.returncode != 0
    assert re.search(f"rank 0 of 2: ({LOST}|told to end)", output)
    for process in processes.values():
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_killed_process_ends_the_other_without_torchrun(
    rank_0: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        beside(other_ranks.leaves, rank_0, LOADED.Event(), signal.SIGKILL),
        pytest.raises(SystemExit, match=f"rank 1 of 2: {LOST}"),
    ):
        main(["--timeout", str(LONG)])
    assert not step_lines(capsys.readouterr().out)  # rank 0 alone prints losses


def test_silent_process_is_waited_for_no_longer_than_the_timeout(rank_0: dict[str, str]) -> None:
    begun = LOADED.Event()
    with beside(other_ranks.leaves, rank_0, begun, signal.SIGSTOP):
        assert begun.wait(LONG)
        with pytest.raises(SystemExit, match=f"rank 1 of 2: {LOST}: .*[Tt]ime"):
            main(["--timeout", "2"])


def test_signal_to_end_is_obeyed_with_a_message() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit, match="rank 0 of 1: told to end"), joined(LONG):
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before
    assert not dist.is_initialized()


def test_error_of_ones_own_is_not_blamed_on_others() -> None:
    with pytest.raises(RuntimeError, match="must match"), joined(LONG):
        torch.ones(2) + torch.ones(3)


def test_every_row_falls_to_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = torch.arange(12)
    monkeypatch.setattr(dist, "is_initialized", lambda: True)
    monkeypatch.setattr(dist, "get_world_size", lambda: 3)
    shares = []
    for rank in range(3):
        monkeypatch.setattr(dist, "get_rank", lambda rank=rank: rank)
        shares.append(share(rows))
    assert {len(one) for one in shares} == {4}
    assert torch.cat(shares).sort().values.equal(rows)


def test_process_alone_gets_all_rows() -> None:
    rows = torch.arange(12)
    assert share(rows) is rows
    with pytest.raises(ValueError, match="rows: got a single number, expected rows"):
        share(torch.tensor(3))


def test_training_is_refused_at_the_call_and_not_at_the_first_step() -> None:
    with pytest.raises(TypeError, match="model: got None, expected Module"):
        train(None, torch.device("cpu"), 1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="device: got cpu outside any group, expected what"):
        train(small_model(), torch.device("cpu"), 1)
    with pytest.raises(TypeError, match="timeout: got None, expected seconds"):
        joined(None)  # type: ignore[arg-type]


def test_model_without_values_is_refused_and_stays_where_it_is() -> None:
    model = small_model().to("meta")
    with joined(LONG) as device, pytest.raises(ValueError, match="model: got one on the meta"):
        train(model, device, 1)


def test_loss_needs_logits_for_every_token_of_the_vocabulary() -> None:
    tokens = torch.tensor([[2, 3]])
    with pytest.raises(ValueError, match=r"model: got shape \(1, 2, 5\), expected \(1, 2, 12\)"):
        reversal_loss(Transformer(12, 5, d_model=8, num_heads=2, num_layers=1), tokens)


def test_unequal_shares_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dist, "is_initialized", lambda: True)
    monkeypatch.setattr(dist, "get_world_size", lambda: 3)
    monkeypatch.setattr(dist, "get_rank", lambda: 0)
    with pytest.raises(ValueError, match="rows: got 16, expected a multiple of 3 processes"):
        share(torch.ones(16, SEQ_LEN))


def test_training_lowers_the_loss() -> None:
    with joined(LONG):
        losses = list(train(small_model(), CPU, 30))
    assert sum(losses[-5:]) < 0.9 * sum(losses[:5])


GROUP = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}


@pytest.mark.parametrize(
    ("arguments", "environment", "reason"),
    [
        (["--timeout", "-1"], {}, "timeout: got -1.0, expected seconds, more than 0"),
        (["--timeout", "nan"], {}, "timeout: got nan, expected seconds"),
        (["--timeout", "inf"], {}, "timeout: got inf, expected seconds"),
        (["--timeout", "soon"], {}, "argument --timeout: invalid float value: 'soon'"),
        (["--steps", "-3"], {}, "steps: got -3, expected a whole number of at least 1"),
        ([], {"LOCAL_RANK": "x"}, "LOCAL_RANK: got 'x', expected a whole number"),
        ([], {"RANK": "0"}, "WORLD_SIZE: got none beside RANK, expected what torchrun sets"),
        ([], {**GROUP, "RANK": "1"}, "RANK: got 1, expected one below WORLD_SIZE = 1"),
        ([], {**GROUP, "WORLD_SIZE": "0"}, "WORLD_SIZE: got 0, expected a whole number of at"),
        ([], {**GROUP, "WORLD_SIZE": "9" * 30}, "WORLD_SIZE: got 9"),
        ([], {**GROUP, "MASTER_ADDR": ""}, "MASTER_ADDR: got none beside RANK"),
        ([], {**GROUP, "MASTER_PORT": "99999"}, "MASTER_PORT: got 99999, expected a port of at"),
        ([], {**GROUP, "WORLD_SIZE": "3"}, "WORLD_SIZE: got 3, expected a divisor of 16 rows"),
    ],
)
def test_wrong_options_get_one_line_and_exit_code_2(
    arguments: list[str],
    environment: dict[str, str],
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    shown = capsys.readouterr()
    assert (ended.value.code, shown.out) == (2, "")
    assert shown.err.startswith(f"headwise.data_parallel: {reason}")
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize("timeout", [None, "60", True])
def test_timeout_is_a_number_of_seconds(timeout: object) -> None:
    with pytest.raises(TypeError, match=r"timeout: got .*, expected seconds"), joined(timeout):  # type: ignore[arg-type]
        pass


def test_small_model_leaves_the_callers_random_numbers_alone() -> None:
    state = torch.get_rng_state()
    small_model()
    assert torch.equal(torch.get_rng_state(), state)


def test_nothing_to_reverse_is_refused() -> None:
    with pytest.raises(ValueError, match="tokens: got none, expected some"):
        reversal_loss(small_model(), torch.zeros(2, 0, dtype=torch.long))


def test_model_that_takes_something_else_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="model: got a Linear, expected a Transformer"):
        reversal_loss(nn.Linear(2, 2), torch.tensor([[2, 3]]))
