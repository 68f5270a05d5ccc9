"""How fast multi-head attention is and how much memory it takes, against peers, as ratios.

    python bench/attention.py [--quick] [--json PATH]

All contenders run interleaved in one process, and what is claimed are ratios of medians from that
run: absolute times belong to the machine. Peers that are not installed are named and left out.
"""

import gc
import importlib.metadata
import math
import os
import statistics
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile

from headwise import KeyValueCache, MultiHeadAttention, merge_heads, padding_mask
from headwise.convert import convert
from headwise.flash import flash_attention
from headwise.rotary import Rotary
from headwise.transformer import Transformer
from turns import Times, keep, ratio, read_options, say, table, take_turns

D_MODEL, NUM_HEADS, NUM_KV_HEADS = 768, 12, 4
OURS, BARE = "MultiHeadAttention", "SDPA between four nn.Linear"
TORCH = "nn.MultiheadAttention, no weights"
GROUPED, BARE_GROUPED = f"{OURS}, {NUM_KV_HEADS} key heads", f"{BARE}, {NUM_KV_HEADS} key heads"
# None of them has a bias on the queries, keys and values, as ours has.
PEERS = {
    "x-transformers": "x-transformers==2.31.10",
    "memory-efficient-attention-pytorch": "memory-efficient-attention-pytorch==0.1.6",
    "perceiver-pytorch": "perceiver-pytorch==0.11.0",
}
Step = Callable[[Tensor], Tensor]


class BareSDPA(nn.Module):
    """The least that multi-head attention can be: four projections and the fused kernel."""

    def __init__(self, d_model: int, num_heads: int, num_kv_heads: int) -> None:
        super().__init__()
        self.d_k, self.grouped = d_model // num_heads, num_kv_heads != num_heads
        self.W_q, self.W_o = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.W_k, self.W_v = (nn.Linear(d_model, num_kv_heads * self.d_k) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        batch, seq_len, d_model = x.shape
        Q, K, V = (
            W(x).view(batch, seq_len, -1, self.d_k).transpose(1, 2)
            for W in (self.W_q, self.W_k, self.W_v)
        )
        out = F.scaled_dot_product_attention(Q, K, V, enable_gqa=self.grouped)
        return self.W_o(out.transpose(1, 2).reshape(batch, seq_len, d_model))


def contenders() -> dict[str, Step]:
    """Self-attention without a mask by each contender: (batch, seq_len, d_model) to the same."""
    ours = MultiHeadAttention(D_MODEL, NUM_HEADS)
    theirs = convert(ours, nn.MultiheadAttention(D_MODEL, NUM_HEADS, batch_first=True))
    steps: dict[str, Step] = {
        OURS: ours,
        BARE: BareSDPA(D_MODEL, NUM_HEADS, NUM_HEADS),
        GROUPED: MultiHeadAttention(D_MODEL, NUM_HEADS, num_kv_heads=NUM_KV_HEADS),
        BARE_GROUPED: BareSDPA(D_MODEL, NUM_HEADS, NUM_KV_HEADS),
        "MultiHeadAttention, weights": lambda x: ours(x, need_weights=True)[0],
        TORCH: lambda x: theirs(x, x, x, need_weights=False)[0],
        "nn.MultiheadAttention, weights": lambda x: theirs(x, x, x)[0],
    }
    d_k = D_MODEL // NUM_HEADS
    try:
        from x_transformers import Attention

        steps[peer("x-transformers")] = Attention(
            D_MODEL, heads=NUM_HEADS, dim_head=d_k, flash=True
        )
        steps[f"{peer('x-transformers')}, {NUM_KV_HEADS} key heads"] = Attention(
            D_MODEL, heads=NUM_HEADS, kv_heads=NUM_KV_HEADS, dim_head=d_k, flash=True
        )
    except ImportError:
        say_missing("x-transformers")
    try:
        from memory_efficient_attention_pytorch import Attention

        steps[peer("memory-efficient-attention-pytorch")] = Attention(
            dim=D_MODEL, heads=NUM_HEADS, dim_head=d_k, memory_efficient=True
        )
    except ImportError:
        say_missing("memory-efficient-attention-pytorch")
    try:
        from perceiver_pytorch.perceiver_pytorch import Attention

        steps[peer("perceiver-pytorch")] = Attention(D_MODEL, heads=NUM_HEADS, dim_head=d_k)
    except ImportError:
        say_missing("perceiver-pytorch")
    return steps


def peer(package: str) -> str:
    return f"{package} {importlib.metadata.version(package)}"


def say_missing(package: str) -> None:
    say(f"  {package} is not installed and left out: pip install {PEERS[package]}")


def forward_and_backward(step: Step, x: Tensor) -> None:
    step(x).sum().backward()


def measure_times(batch: int, seq_len: int, repetitions: int, into_input: bool) -> Times:
    """Seconds for forward and backward, a list for each contender, in the order of rounds.

    Backward goes to the weights, and with into_input on to the input, as in a stack of layers.
    """
    torch.manual_seed(0)
    steps = contenders()
    if into_input:
        steps = {name: steps[name] for name in (OURS, BARE, TORCH)}
    x = torch.randn(batch, seq_len, D_MODEL, requires_grad=into_input)
    turns = {name: partial(forward_and_backward, step, x) for name, step in steps.items()}
    return take_turns(turns, repetitions, f"({batch}, {seq_len})")


def peak_bytes(step: Step, x: Tensor) -> int:
    """The most that forward and backward had allocated at one time, beyond what was there before.

    Counted from every allocation and release that PyTorch's allocator reports, the scratch space
    inside kernels included.
    """
    gc.collect()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        forward_and_backward(step, x)
    assert profiler.profiler is not None
    events = [e for e in profiler.profiler.kineto_results.events() if e.name() == "[memory]"]
    live = peak = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        live += event.nbytes()
        peak = max(peak, live)
    return peak


def measure_memory(lengths: list[int]) -> dict[str, dict[int, int]]:
    """Peak bytes by path and length, at a width where the written-out path fits as well."""
    torch.manual_seed(0)
    module = MultiHeadAttention(128, 2)

    def half(x: Tensor) -> Tensor:
        return padding_mask(torch.tensor([x.size(1) // 2]), x.size(1))

    def tiled(x: Tensor) -> Tensor:
        Q, (K, V) = module.project_queries(x), module.project_keys(x, x)
        return module.W_o(merge_heads(flash_attention(Q, K, V, is_causal=True)))

    paths: dict[str, Callable[[Tensor], Tensor]] = {
        "default": module,
        "default, causal": lambda x: module(x, is_causal=True),
        "default, padding": lambda x: module(x, mask=half(x)),
        "default, causal and padding": lambda x: module(x, mask=half(x), is_causal=True),
        "tiled in PyTorch, causal": tiled,
        "written out": lambda x: module(x, need_weights=True)[0],
    }
    forward_and_backward(module, torch.randn(1, 8, 128))  # what is allocated once and for all
    peaks: dict[str, dict[int, int]] = {name: {} for name in paths}
    for name, step in paths.items():
        for seq_len in lengths:
            say(f"  memory, {name}, length {seq_len}")
            module.zero_grad(set_to_none=True)
            peaks[name][seq_len] = peak_bytes(step, torch.randn(1, seq_len, 128))
    return peaks


def exponent(peaks: dict[int, int]) -> float:
    """The k for which peak = c * length ** k fits best, by least squares on logarithms."""
    logs = [(math.log(length), math.log(peak)) for length, peak in peaks.items()]
    return statistics.linear_regression(*zip(*logs, strict=True)).slope


def measure_decoding(num_tokens: int, repetitions: int) -> float:
    """How many times as fast greedy decoding is with a cache, as the median over rounds."""
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # steps are so small that threads would mostly wait for each other
    nowhere = -1  # neither end nor padding is ever written, so that every run is full length
    model = Transformer(50, 50, d_model=256, num_heads=4, num_layers=4, pad=nowhere)
    src = torch.randint(0, 50, (4, 32))
    write = partial(model.generate, src, num_tokens, bos=1, eos=nowhere)
    assert write().shape == (4, num_tokens)
    steps = {"cache": write, "none": partial(write, use_cache=False)}
    times = take_turns(steps, repetitions, f"decoding {num_tokens} tokens")
    torch.set_num_threads(threads)
    return ratio(times, "none", "cache")


def measure_caches(num_tokens: int, repetitions: int) -> dict[str, float]:
    """How many times as fast steps are as with a cache that concatenates, by kind of cache.

    One layer shaped like today's, with grouped heads and rotary positions, decodes so many tokens
    one by one. The median over rounds, in which the kinds take turns.
    """
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    window, batch = num_tokens // 4, 4
    options = {"num_kv_heads": NUM_KV_HEADS, "rotary": Rotary(D_MODEL // NUM_HEADS)}
    full = MultiHeadAttention(D_MODEL, NUM_HEADS, **options).eval()
    local = MultiHeadAttention(D_MODEL, NUM_HEADS, window=window, **options).eval()
    x = torch.randn(batch, num_tokens, D_MODEL)
    kinds: dict[str, tuple[MultiHeadAttention, Callable[[], KeyValueCache]]] = {
        "concatenated": (full, KeyValueCache),
        "allocated ahead": (full, lambda: KeyValueCache(max_len=num_tokens)),
        f"window of {window}, concatenated": (local, KeyValueCache),
        f"window of {window}, ring": (local, lambda: KeyValueCache(window=window)),
    }
    outs: dict[str, Tensor] = {}

    @torch.inference_mode()
    def decode(name: str) -> None:
        layer, new = kinds[name]
        cache = new()
        for t in range(num_tokens):
            outs[name] = layer(x[:, t : t + 1], is_causal=True, cache=cache)

    steps = {name: partial(decode, name) for name in kinds}
    times = take_turns(steps, repetitions, f"caches, {num_tokens} tokens")
    torch.set_num_threads(threads)
    pairs = list(zip(list(kinds)[::2], list(kinds)[1::2], strict=True))
    for reference, name in pairs:
        torch.testing.assert_close(outs[name], outs[reference])
    return {name: ratio(times, reference, name) for reference, name in pairs}


def main() -> None:
    """Measure, print Markdown, keep JSON."""
    options = read_options(__doc__, "attention")
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # or the profiler writes between our lines
    sizes = [(2, 64), (1, 128)] if options.quick else [(8, 128), (8, 512), (4, 1024)]
    repetitions = 3 if options.quick else 15
    lengths = [512, 1024, 2048] if options.quick else [512, 1024, 2048, 4096, 8192]
    num_tokens = 32 if options.quick else 256

    say(f"Forward and backward, d_model {D_MODEL}, {NUM_HEADS} heads")
    times = {size: measure_times(*size, repetitions, into_input=False) for size in sizes}
    say("The same, with the gradient of the input")
    deeper = {size: measure_times(*size, repetitions, into_input=True) for size in sizes}
    names = list(next(iter(times.values())))
    beside_bare = {
        name: {str(size): ratio(times[size], name, BARE) for size in sizes} for name in names
    }
    beside_torch = {str(size): ratio(times[size], TORCH, OURS) for size in sizes}
    deeper_torch = {str(size): ratio(deeper[size], TORCH, OURS) for size in sizes}
    beside_grouped = {str(size): ratio(times[size], GROUPED, BARE_GROUPED) for size in sizes}
    deeper_bare = {str(size): ratio(deeper[size], OURS, BARE) for size in sizes}
    say("Peak memory of forward and backward, d_model 128, 2 heads")
    peaks = measure_memory(lengths)
    exponents = {name: exponent(by_length) for name, by_length in peaks.items()}
    say("Greedy decoding, with a cache and without")
    decoding = measure_decoding(num_tokens, 1 if options.quick else 3)

    say("Kinds of caches")
    caches = measure_caches(128 if options.quick else 1024, 1 if options.quick else 5)

    print(f"\nTime relative to {BARE}, forward and backward, by (batch, seq_len):\n")
    rows = [
        [name, *(f"{r:.2f}" for r in by_size.values())] for name, by_size in beside_bare.items()
    ]
    print(table(["", *map(str, sizes)], rows))
    for what, ratios in (("", beside_torch), (", with the gradient of the input", deeper_torch)):
        speeds = ", ".join(f"{r:.2f} at {size}" for size, r in ratios.items())
        print(f"\nTimes as fast as {TORCH}{what}: {speeds}.")
    grouped = ", ".join(f"{r:.2f} at {size}" for size, r in beside_grouped.items())
    print(f"\nWith {NUM_KV_HEADS} key heads, time relative to SDPA with as many: {grouped}.")
    print("\nPeak memory relative to the shortest, by length, and the exponent that fits:\n")
    rows = [
        [
            name,
            *(f"{p / by_length[lengths[0]]:.1f}" for p in by_length.values()),
            f"{exponents[name]:.2f}",
        ]
        for name, by_length in peaks.items()
    ]
    print(table(["", *map(str, lengths), "exponent"], rows))
    print(f"\nWith a cache, decoding {num_tokens} tokens is {decoding:.1f} times as fast.")
    print("\nSteps with a cache, times as fast as with one that concatenates:", end=" ")
    print(", ".join(f"{name} {speed:.2f}" for name, speed in caches.items()), end=".\n")

    keep(
        options,
        repetitions,
        time_relative_to_bare_sdpa=beside_bare,
        times_as_fast_as_torch=beside_torch,
        with_gradient_of_input={
            "times_as_fast_as_torch": deeper_torch,
            "time_relative_to_bare_sdpa": deeper_bare,
        },
        grouped_relative_to_bare_sdpa=beside_grouped,
        peak_bytes=peaks,
        memory_exponent=exponents,
        decoding={"tokens": num_tokens, "times_as_fast_with_cache": decoding},
        caches_times_as_fast_as_concatenating=caches,
    )


if __name__ == "__main__":
    main()
