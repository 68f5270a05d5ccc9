"""Data-parallel training: a copy of the model in each process, and a part of each batch for it.

    torchrun --standalone --nproc-per-node 2 -m headwise.data_parallel

The same command trains on GPUs, one to a process, and without them on the CPU. Started by plain
`python -m`, it is a single process.
"""

import os
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

# DistributedDataParallel imports this module. Were there a group by then, the module would hold it
# for good, and gloo's threads, outliving Python, would now and then abort a process that is done.
import torch.distributed.nn
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from headwise._check import check_first, check_floating, check_kind, check_sizes, check_whole, kind
from headwise._check_tensors import check_device, check_shape, check_tensor, check_tokens
from headwise._command import Parser
from headwise.transformer import Transformer

BATCH, SEQ_LEN, VOCAB = 16, 6, 12
PAD, BOS, FIRST = 0, 1, 2


def _check_group(timeout: float) -> None:
    """The timeout can be waited for, and the environment names a whole group or none."""
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        raise TypeError(f"timeout: got {kind(timeout)}, expected seconds")
    if not 0 < timeout < 1e6:
        raise ValueError(f"timeout: got {timeout}, expected seconds, more than 0")
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_PORT"):
        value = os.environ.get(name, "0")
        if not value.isdecimal():
            raise ValueError(f"{name}: got {value!r}, expected a whole number")
    if "RANK" not in os.environ:
        return
    for name in ("WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        if not os.environ.get(name):
            raise ValueError(f"{name}: got none beside RANK, expected what torchrun sets")
    rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    check_sizes(WORLD_SIZE=world_size, most=2**31 - 1)
    if rank >= world_size:
        raise ValueError(f"RANK: got {rank}, expected one below WORLD_SIZE = {world_size}")
    check_whole("MASTER_PORT", int(os.environ["MASTER_PORT"]), 0, 2**16 - 1, "a port")


@check_first(_check_group)
@contextmanager
def joined(timeout: float) -> Iterator[torch.device]:
    """The device of this process, as a member of the group that torchrun has started.

    A member that is lost ends all others, each with a message and a code that is not 0: they
    notice a closed connection at once, torchrun's signal, or silence for `timeout` seconds.
    """
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    device = torch.device(accelerator.type, local_rank) if accelerator else torch.device("cpu")
    backend = dist.get_default_backend_for_device(device)  # nccl for CUDA, gloo for the CPU
    who = f"rank {os.environ.get('RANK', 0)} of {os.environ.get('WORLD_SIZE', 1)}"
    print(f"{who}: process {os.getpid()} on {device}, {backend}", file=sys.stderr, flush=True)

    def told_to_end(*_: object) -> None:
        raise SystemExit(f"{who}: told to end, as torchrun does once another process is lost")

    group: dict[str, Any] = {"timeout": timedelta(seconds=timeout)}
    if "RANK" not in os.environ:
        alone = dist.HashStore()  # type: ignore[attr-defined]
        group |= {"store": alone, "rank": 0, "world_size": 1}
    before = signal.signal(signal.SIGTERM, told_to_end)
    try:
        with torch.accelerator.device_index(device.index):
            dist.init_process_group(backend, **group)
            try:
                yield device
            except BaseException as error:
                # A model that outlives the group waits for gloo's threads, and they for Python.
                traceback.clear_frames(error.__traceback__)
                raise
            finally:
                dist.destroy_process_group()
    except RuntimeError as error:
        # Gloo has no error class of its own.
        if isinstance(error, dist.DistError) or "gloo" in str(error):
            raise SystemExit(f"{who}: ends, as another process is lost: {error}") from None
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def whole_batch(step: int) -> Tensor:
    """The tokens of one step, (batch, seq_len), the same in every process."""
    check_whole("step", step, 0, 2**63 - 1)
    generator = torch.Generator().manual_seed(int(step))
    return torch.randint(FIRST, VOCAB, (BATCH, SEQ_LEN), generator=generator)


def share(rows: Tensor) -> Tensor:
    """The rows that fall to this process, as many as to every other.

    Gradients are averaged over processes. Were one share smaller, its rows would weigh more.
    """
    check_tensor("rows", rows)
    if rows.dim() == 0:
        raise ValueError("rows: got a single number, expected rows")
    if not dist.is_initialized():
        return rows  # this process is alone
    rank, world_size = dist.get_rank(), dist.get_world_size()
    if len(rows) % world_size:
        raise ValueError(f"rows: got {len(rows)}, expected a multiple of {world_size} processes")
    return rows[rank::world_size]


def small_model() -> Transformer:
    """A Transformer that starts with the same parameters every time, without dropout."""
    with torch.random.fork_rng(devices=[]):  # the caller's random numbers stay as they are
        torch.manual_seed(0)
        return Transformer(
            VOCAB, VOCAB, d_model=32, num_heads=4, num_layers=1, dropout=0.0, pad=PAD
        )


def reversal_loss(model: nn.Module, tokens: Tensor) -> Tensor:
    """How badly the model writes the tokens (batch, seq_len) backwards."""
    check_kind("model", model, nn.Module)
    check_tokens("tokens", tokens, ("batch", "seq_len"), VOCAB)
    check_device("tokens", tokens, "the model", next(model.parameters(), tokens))
    if tokens.numel() == 0:
        raise ValueError("tokens: got none, expected some")
    target = tokens.flip(1)
    so_far = F.pad(target[:, :-1], (1, 0), value=BOS)  # (batch, seq_len)
    try:
        logits = model(tokens, so_far)  # (batch, seq_len, vocab)
    except TypeError as error:
        raise TypeError(f"model: got {kind(model)}, expected a Transformer: {error}") from error
    check_shape("model", logits, (*tokens.shape, VOCAB))
    check_floating("model", logits.dtype)
    return F.cross_entropy(logits.flatten(0, 1), target.flatten())


def _check_training(model: nn.Module, device: torch.device, steps: int) -> None:
    check_kind("model", model, nn.Module)
    check_kind("device", device, torch.device)
    check_sizes(steps=steps)
    if not dist.is_initialized():
        raise ValueError(f"device: got {device} outside any group, expected what `joined` gives")
    if any(parameter.is_meta for parameter in model.parameters()):
        raise ValueError("model: got one on the meta device, expected parameters with values")


@check_first(_check_training)
def train(model: nn.Module, device: torch.device, steps: int) -> Iterator[float]:
    """The loss of each whole batch, while the copies of the model learn in step."""
    copy = DistributedDataParallel(model.to(device))  # all start from the parameters of rank 0
    optimizer = torch.optim.SGD(copy.parameters(), lr=0.03, momentum=0.9)
    for step in range(steps):
        loss = reversal_loss(copy, share(whole_batch(step)).to(device))
        optimizer.zero_grad()
        # Averages the gradients over all processes.
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        total = loss.detach()
        dist.all_reduce(total)
        yield total.item() / dist.get_world_size()


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, and print the loss from one process."""
    parser = Parser(prog="python -m headwise.data_parallel", description=__doc__)
    parser.add_argument("--steps", type=int, default=200, help="how many batches to train on")
    parser.add_argument(
        "--timeout", type=float, default=60, help="seconds to wait for another process"
    )
    options = parser.read(arguments)
    try:
        check_sizes(steps=options.steps)
        _check_group(options.timeout)
        world_size = int(os.environ["WORLD_SIZE"]) if "RANK" in os.environ else 1
        if BATCH % world_size:
            raise ValueError(f"WORLD_SIZE: got {world_size}, expected a divisor of {BATCH} rows")
    except ValueError as error:
        parser.error(str(error))
    with joined(options.timeout) as device:
        for step, loss in enumerate(train(small_model(), device, options.steps)):
            if dist.get_rank() == 0:
                print(f"step {step:3}  loss {loss:.4f}", flush=True)


if __name__ == "__main__":
    main()
