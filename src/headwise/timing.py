"""What attention costs on this machine, kernel by kernel, as a table with machine and date."""

import datetime
import math
import platform
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from headwise._check import (
    LARGEST_OF_FLOATS,
    check_callable,
    check_each,
    check_flags,
    check_floating,
    check_kind,
    check_sizes,
    check_whole,
    show,
)
from headwise._command import Parser
from headwise.attention import attention, fused_attention
from headwise.masks import causal_mask

Step = Callable[[], object]
KERNELS = {
    "written out": None,
    "MATH": SDPBackend.MATH,
    "EFFICIENT_ATTENTION": SDPBackend.EFFICIENT_ATTENTION,
    "FLASH_ATTENTION": SDPBackend.FLASH_ATTENTION,
    "CUDNN_ATTENTION": SDPBackend.CUDNN_ATTENTION,
}


class Cost(NamedTuple):
    """Forward and backward by one kernel: seconds, and bytes where the device counts them."""

    seconds: float
    peak: int | None


def own_device() -> torch.device:
    """The accelerator of this machine, or else its CPU."""
    return torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")


def _check_computes(device: torch.device) -> None:
    check_kind("device", device, torch.device)
    if device.type not in ("cpu", own_device().type):
        raise ValueError(f"device: got {device}, expected cpu or an accelerator of this machine")


def wait_for(device: torch.device) -> None:
    """Return once the device has done everything that it was told to do."""
    _check_computes(device)
    if device.type != "cpu":
        torch.accelerator.synchronize(device)


def seconds(step: Step, device: torch.device, repetitions: int = 5) -> float:
    """The median time of a step, from an idle device to an idle device."""
    check_callable("step", step)
    _check_computes(device)
    check_sizes(repetitions=repetitions, most=1_000_000)
    step()  # the first time also chooses kernels, allocates and compiles
    times = []
    for _ in range(repetitions):
        wait_for(device)
        start = time.perf_counter()
        step()
        wait_for(device)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def peak_bytes(step: Step, device: torch.device) -> int | None:
    """The most memory that a step needs beside what is there already; the CPU keeps no count."""
    check_callable("step", step)
    _check_computes(device)
    if device.type == "cpu":
        return None
    step()  # workspaces of libraries and the first gradients are set up once
    torch.accelerator.reset_peak_memory_stats(device)
    before = torch.accelerator.memory_allocated(device)
    step()
    return torch.accelerator.max_memory_allocated(device) - before


def measure(
    device: torch.device, shape: Sequence[int], dtype: torch.dtype, *, is_causal: bool = False
) -> dict[str, Cost | str]:
    """The cost of each kernel for Q, K and V of a shape, or why the kernel did not run."""
    _check_computes(device)
    check_each("shape", shape, object, expected="the sizes (..., seq_len, d_k)")
    for size in shape:
        check_whole("shape", size, 1, LARGEST_OF_FLOATS, "a size")
    if len(shape) < 2 or math.prod(map(int, shape)) > LARGEST_OF_FLOATS:
        raise ValueError(f"shape: got {show(shape)}, expected sizes (..., seq_len, d_k) that fit")
    check_floating("dtype", dtype)
    check_flags(is_causal=is_causal)
    mask = causal_mask(shape[-2], device=device) if is_causal else None
    Q, K, V = torch.randn(3, *shape, device=device, dtype=dtype, requires_grad=True)
    costs: dict[str, Cost | str] = {}
    for name, kernel in KERNELS.items():

        def step(kernel: SDPBackend | None = kernel) -> None:
            if kernel is None:
                out, _ = attention(Q, K, V, mask)
            else:
                with sdpa_kernel(kernel):
                    out = fused_attention(Q, K, V, is_causal=is_causal)
            torch.autograd.grad(out.sum(), (Q, K, V))

        with warnings.catch_warnings(record=True) as said:  # why a kernel does not take it
            warnings.simplefilter("always")
            try:
                costs[name] = Cost(seconds(step, device), peak_bytes(step, device))
            except RuntimeError as error:  # not for this device or type, or out of memory
                costs[name] = _reason(error, [str(warning.message) for warning in said])
    return costs


def _reason(error: RuntimeError, said: Sequence[str]) -> str:
    """What PyTorch says about a kernel that does not run, in one line that fits into a table."""
    parts = [text.partition("(Triggered internally")[0] for text in said]
    parts = parts or [str(error).partition(".")[0]]
    return " ".join(" ".join(dict.fromkeys(parts)).replace("|", "/").split())


def usual_dtype(device: torch.device) -> torch.dtype:
    """What one trains in on this device: half precision on a GPU, as most fast kernels want it."""
    check_kind("device", device, torch.device)
    if device.type != "cuda":
        return torch.float32
    has_bfloat16 = torch.cuda.is_bf16_supported(including_emulation=False)
    return torch.bfloat16 if has_bfloat16 else torch.float16


def table(costs: dict[str, Cost | str], machine: str, date: datetime.date) -> str:
    """Costs as a Markdown table: times relative to the first kernel that ran, memory in MiB."""
    _check_costs(costs)
    check_kind("machine", machine, str)
    if not machine.isprintable():
        raise ValueError(f"machine: got {machine!r}, expected a name in one line")
    check_kind("date", date, datetime.date)
    lines = ["| machine | torch | date | kernel | time | memory |", "|---|---|---|---|---|---|"]
    first = next((cost.seconds for cost in costs.values() if isinstance(cost, Cost)), 1.0)
    for kernel, cost in costs.items():
        if isinstance(cost, Cost):
            spent, peak = f"{cost.seconds / first:.2f}", cost.peak
        else:
            spent, peak = cost, None
        memory = "–" if peak is None else f"{peak / 2**20:.0f} MiB"
        cells = (machine, torch.__version__, str(date), kernel, spent, memory)
        shown = (" ".join(cell.split()).replace("|", r"\|") for cell in cells)
        lines.append(f"| {' | '.join(shown)} |")
    return "\n".join(lines)


def _check_costs(costs: dict[str, Cost | str]) -> None:
    """Costs by the names of kernels, in times and memory that can have been measured."""
    check_kind("costs", costs, dict)
    for kernel, cost in costs.items():
        check_kind("costs", kernel, str, expected="names of kernels")
        check_kind("costs", cost, Cost, str)
        if not isinstance(cost, Cost):
            continue
        check_kind("costs", cost.seconds, float, int, expected="seconds")
        if isinstance(cost.seconds, bool) or not 0 < cost.seconds < math.inf:
            raise ValueError(f"costs: got {cost.seconds} seconds, expected more than 0")
        if cost.peak is not None:
            check_whole("costs", cost.peak, 0, 2**63 - 1, "bytes")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on this machine and print the table."""
    parser = Parser(prog="python -m headwise.timing", description=__doc__)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--seq-len", type=int, default=1024)
    parser.add_argument("--dtype", choices=("float32", "float16", "bfloat16"))
    parser.add_argument("--causal", action="store_true")
    options = parser.read(arguments)
    device = own_device()
    dtype = getattr(torch, options.dtype) if options.dtype else usual_dtype(device)
    shape = (options.batch, 8, options.seq_len, 64)
    try:
        most = LARGEST_OF_FLOATS // (8 * 64)
        check_sizes(batch=options.batch, seq_len=options.seq_len, most=most)
        costs = measure(device, shape, dtype, is_causal=options.causal)
    except (ValueError, RuntimeError) as error:  # a wrong length, or one too long for the memory
        parser.error(str(error))
    cuda = device.type == "cuda"
    machine = torch.cuda.get_device_name(device) if cuda else f"{device.type} {platform.machine()}"
    what = f"{str(dtype).removeprefix('torch.')}{', causal' if options.causal else ''}"
    print(f"Forward and backward for Q, K and V of shape {shape}, {what}:\n")
    print(table(costs, machine, datetime.date.today()))


if __name__ == "__main__":
    main()
