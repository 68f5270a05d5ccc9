"""The Triton kernels, run by Triton's interpreter where there is no GPU: the formula's numbers.

What the interpreter does not catch is caught otherwise: reads beyond the end by NaN around the
tensors, and what only the compiler refuses by compiling for a GPU that is not there.
"""

import importlib
import math
import os
import subprocess
import sys
from typing import Any

import pytest
import torch
from tiled_cases import Case, assert_close, drawn, reference
from torch import Tensor

from headwise import kernels
from headwise.attention import attention
from headwise.kernels import triton_attention

# The quickest have all lines run that no other test has: coverage, which slows them down, may rest.
CASES = [
    pytest.param(case, id=str(case), marks=() if case.key == 1 else pytest.mark.no_cover)
    for case in drawn(8, seed=1, queries=[1, 17], keys=[1, 18, 33], num_heads=2)
]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.mark.parametrize("case", CASES)
def test_equals_the_formula_in_output_and_gradients(case: Case) -> None:
    arguments, options = case.inputs(torch.float64)
    there = [x if x is None else x.to(DEVICE) for x in arguments]
    bias = options["bias"]
    moved = {**options, "bias": bias if bias is None else bias.to(DEVICE)}
    found = triton_attention(*there, **moved, tile=16).cpu()
    assert_close(found, reference(*arguments, **options), arguments[:3], 1e-10)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_every_dtype_is_computed_in_single_precision_at_least(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    Q, K, V = ((torch.randn(1, 1, 18, 4) * 3).to(dtype) for _ in range(3))
    found = triton_attention(*(x.to(DEVICE) for x in (Q, K, V)), tile=16).cpu()
    assert found.dtype == dtype
    wanted = attention(Q, K, V)[0]
    torch.testing.assert_close(found, wanted, rtol=2 * torch.finfo(dtype).eps, atol=1e-5)


def test_hidden_row_gives_zeros_and_no_gradient() -> None:
    Q, K, V = (torch.randn(1, 2, 5, 4, device=DEVICE, requires_grad=True) for _ in range(3))
    mask = torch.ones(5, 5, dtype=torch.bool, device=DEVICE)
    mask[3] = False
    out = triton_attention(Q, K, V, mask, tile=16)
    gradients = torch.autograd.grad(out.sum(), (Q, K, V))
    assert out[0, :, 3].count_nonzero() == 0 and out[0, :, 2].abs().min() > 0
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert gradients[0][0, :, 3].count_nonzero() == 0


def surrounded(x: Tensor) -> Tensor:
    """The same numbers, contiguous, with NaN before and behind them in memory."""
    room = torch.full((x.numel() + 4096,), math.nan, dtype=x.dtype)
    room[2048:-2048] = x.flatten()
    return room[2048:-2048].view(x.shape)


def test_nothing_is_read_beyond_the_edges() -> None:
    Q, K, V = (surrounded(torch.randn(1, 1, n, d)) for n, d in ((18, 5), (19, 5), (19, 3)))
    for x in (Q, K, V):
        x.requires_grad_()
    bias = surrounded(torch.randn(1, 1, 18, 19))
    out = triton_attention(
        *(x.to(DEVICE) for x in (Q, K, V)), bias=bias.to(DEVICE), is_causal=True, window=4, tile=16
    )
    assert out.isfinite().all()
    assert all(x.isfinite().all() for x in torch.autograd.grad(out.sum(), (Q, K, V)))


def test_tiles_that_nobody_sees_are_not_read() -> None:
    Q, K = torch.randn(1, 1, 16, 2), torch.randn(1, 1, 64, 2)
    K[:, :, 16:32] = math.nan  # neither in the window of the last queries nor a sink
    inputs = [x.to(DEVICE).requires_grad_() for x in (Q, K)]
    out = triton_attention(
        inputs[0], inputs[1], inputs[1], is_causal=True, window=2, sinks=2, tile=16
    )
    assert out.isfinite().all()
    dQ, dK = torch.autograd.grad(out.sum(), inputs)
    assert dQ.isfinite().all() and dK.isfinite().all()
    assert dK[:, :, 16:32].count_nonzero() == 0


def test_rows_need_not_follow_each_other_in_memory() -> None:
    Q = torch.randn(1, 5, 2, 4, device=DEVICE).transpose(1, 2).requires_grad_()
    dout = torch.randn(1, 5, 2, 4, device=DEVICE).transpose(1, 2)
    ours, theirs = triton_attention(Q, Q, Q, tile=16), attention(Q, Q, Q)[0]
    torch.testing.assert_close(ours, theirs)
    grads = [torch.autograd.grad(out, Q, dout)[0] for out in (ours, theirs)]
    torch.testing.assert_close(*grads)


@pytest.mark.parametrize("empty", [(0, 3, 3, 2), (2, 0, 3, 2), (2, 3, 0, 2), (2, 3, 3, 0)])
def test_nothing_to_do_is_done(empty: tuple[int, int, int, int]) -> None:
    batch, query, key, d_v = empty
    Q = torch.randn(batch, 2, query, 3, device=DEVICE, requires_grad=True)
    K = torch.randn(batch, 1, key, 3, device=DEVICE, requires_grad=True)
    V = torch.randn(batch, 1, key, d_v, device=DEVICE, requires_grad=True)
    out = triton_attention(Q, K, V)
    assert out.shape == (batch, 2, query, d_v) and out.count_nonzero() in (0, out.numel())
    out.sum().backward()
    assert Q.grad is not None and not Q.grad.count_nonzero()


@pytest.mark.parametrize("tile", [1, 8, 24])
def test_tile_that_no_gpu_takes_is_refused(tile: int) -> None:
    Q = torch.randn(1, 1, 3, 2, device=DEVICE)
    with pytest.raises(ValueError, match=f"tile: got {tile}, expected a power of two of at least"):
        triton_attention(Q, Q, Q, tile=tile)


def test_compiled_kernels_refuse_what_lies_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[triton_attention.__module__], "INTERPRETED", False)
    Q = torch.randn(1, 1, 3, 2)
    with pytest.raises(ValueError, match="Q: got device cpu, expected cuda"):
        triton_attention(Q, Q, Q)


def test_reader_without_triton_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    with pytest.raises(ImportError, match=r'on Linux: pip install "headwise\[kernels\]"'):
        importlib.reload(kernels)


COMPILE = """
import torch, triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from headwise.kernels import attention, backward, forward
from headwise.kernels.modes import INTERPRETED

assert not INTERPRETED
Q = torch.empty(1, 1, 1, 16)
seen = torch.ones(1, 1, 1, 1, dtype=torch.bool)
given = attention._arguments(Q, Q, Q, seen, Q[..., :1], True, 2, 1, 16)
for kernel in (forward.forward, backward.backward_queries, backward.backward_keys):
    kinds, constants = {}, {}
    for name in kernel.arg_names:
        value = given.get(name, Q)
        if name in given and name.isupper():
            kinds[name], constants[name] = "constexpr", value
        elif isinstance(value, int):
            kinds[name] = "i32"
        else:
            kinds[name] = "*u8" if name == "mask" else "*fp32"
    made = triton.compile(ASTSource(kernel, kinds, constants), target=GPUTarget("cuda", 80, 32))
    print(kernel.__name__, "mma" in made.asm["ptx"] or "fma" in made.asm["ptx"])
"""


def test_kernels_compile_for_a_gpu_that_is_not_there(tmp_path: Any) -> None:
    environ = {**os.environ, "TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", COMPILE], env=environ, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    names = ("forward", "backward_queries", "backward_keys")
    assert done.stdout.splitlines() == [f"{name} True" for name in names]
