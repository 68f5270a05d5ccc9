# ---
# description: What attention costs as the text gets longer – memory and time, written out and through the fused kernel, with the exponents fitted to the measurements.
# varies: true
# ---

# %% [markdown]
# # Lab: what attention costs {#cost}
#
# "Attention is quadratic", people say. But what is? The memory, the time, or both? In this lab you measure how memory and time grow with the length $n$, for the attention that is [written out](../chapters/attention.md#code) and for PyTorch's fused kernel, which gives the same output. You will see
#
# - that the memory of the written-out attention grows like $n^2$ and that of the fused kernel like $n$;
# - that the time of both grows roughly like $n^2$, though one is faster than the other;
# - what the number of heads has to do with it.
#
# ## How to find an exponent {#exponent}
#
# If a cost is $c \cdot n^p$, its logarithm is $\log c + p \log n$: a straight line with slope $p$. So draw both axes as logarithms, and fit a line through the points. You can always fit a line, even if the points aren't on one; so look at the exponent of each doubling, too, and see whether they agree.

# %%
import math
import os
import statistics

os.environ["KINETO_LOG_LEVEL"] = "99"  # or the profiler writes between our lines

import torch

from headwise.attention import attention, fused_attention
from headwise.drawing import plot

torch.set_num_threads(1)  # the fused kernel has a scratch space for each thread
lengths = [128, 256, 512, 1024, 2048]
logs = [math.log2(n) for n in lengths]


def exponent(costs):
    return statistics.linear_regression(logs, [math.log2(cost) for cost in costs]).slope


def slopes(costs):
    """The exponent from each length to twice that length."""
    return [math.log2(b / a) for a, b in zip(costs, costs[1:])]


cubes = [7 * n**3 for n in lengths]
print(f"{exponent(cubes):.2f}", *(f"{slope:.2f}" for slope in slopes(cubes)))

# %% [markdown]
# It finds the 3 in $7 n^3$, so you can trust it. Now for attention: four heads of width 32, forward and backward.


# %%
def written_out(Q, K, V):
    return attention(Q, K, V)[0]


def inputs(n, num_heads=4, d_k=32):
    torch.manual_seed(0)
    shape = (1, num_heads, n, d_k)
    return [torch.randn(shape, dtype=torch.float32, requires_grad=True) for _ in range(3)]


ways = {"written out": written_out, "fused": fused_attention}
Q, K, V = inputs(128)
print(torch.allclose(written_out(Q, K, V), fused_attention(Q, K, V), atol=1e-6))

# %% [markdown]
# ## Memory {#memory}
#
# PyTorch's profiler reports each piece of memory that is allocated and freed. We add them up in order, and keep the highest level, like the high-water mark on a wall.

# %%
from torch.profiler import ProfilerActivity, profile


def peak_bytes(way, tensors):
    """The most memory that forward and backward had in use at one time, beyond the inputs."""
    way(*tensors).sum().backward()  # what is set up once and for all is not counted
    for tensor in tensors:
        tensor.grad = None
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        way(*tensors).sum().backward()
    events = profiler.profiler.kineto_results.events()
    live = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        if event.name() == "[memory]":
            live += event.nbytes()
            peak = max(peak, live)
    return peak


peaks = {name: [peak_bytes(way, inputs(n)) for n in lengths] for name, way in ways.items()}

# %%
called = {"written out": "written out", "fused": "fused"}
print("n        ", *(f"{n:7}" for n in lengths))
for name, costs in peaks.items():
    print("MiB      ", *(f"{cost / 2**20:7.2f}" for cost in costs), "", called[name])
for name, costs in peaks.items():
    local = " ".join(f"{slope:7.2f}" for slope in slopes(costs))
    print(f"exponent  {' ' * 7} {local}  {called[name]}, fitted {exponent(costs):.2f}")

# %%
mebibytes = {name: [cost / 2**20 for cost in costs] for name, costs in peaks.items()}
chinese = {
    "written out": "逐行写出",
    "fused": "融合内核",
    "time (fused at n = 128: 1)": "时间（n = 128 的融合内核为 1）",
}
plot.lines(mebibytes, logs, x_label="log₂ n", y_label="MiB", log_y=True, zh=chinese)

# %% [markdown]
# Written out, twice the length takes nearly four times the memory. The memory goes into tables of $n \times n$, and the peak is in the backward pass: the weights, their gradient, and the gradient of the scores (the scores themselves are gone by then). Four heads of $n \times n$ numbers, four bytes each.

# %%
table = 4 * 2048**2 * 4
held = peaks["written out"][-1] / table
print(f"{table / 2**20:.0f} MiB each, and the peak holds {held:.2f} of them")

# %% [markdown]
# Three tables at the peak, `round(held) == 3`, and hardly anything else. The fused kernel never holds even one. It goes through the keys in blocks, keeps for each query the highest score, the sum of the exponentials and the output so far, and in the backward pass computes the weights once more. So its memory grows with $n$ only. (The single exponents waver because part of it is scratch space: it jumps when the kernel goes over to larger blocks, and then stays as it is.)
#
# ## Time {#time}
#
# Computing the scores block by block doesn't save any multiplications: each query still meets each key. So does it take just as long? Both take turns in one run, and of each we keep the best of four rounds. We read the processor's own time, `time.process_time`, which stops while other programs have the processor. A short sequence is over too quickly to be timed well, so a round repeats it many times and divides. The numbers are those of the machine that built this page; yours will differ.

# %%
import time

rounds = {name: [[] for _ in lengths] for name in ways}
for _ in range(4):
    for i, n in enumerate(lengths):
        tensors, times = inputs(n), (lengths[-1] // n) ** 2  # short ones many times in a row
        for name, way in ways.items():
            begin = time.process_time()
            for _ in range(times):
                way(*tensors).sum().backward()
            rounds[name][i].append((time.process_time() - begin) / times)
best = {name: [min(times) for times in many] for name, many in rounds.items()}

# %%
ratios = [a / b for a, b in zip(best["written out"], best["fused"], strict=True)]
print("n        ", *(f"{n:7}" for n in lengths))
print("ratio    ", *(f"{ratio:7.1f}" for ratio in ratios), "written out / fused")
for name, times in best.items():
    local = " ".join(f"{slope:7.2f}" for slope in slopes(times))
    print(f"exponent  {' ' * 7} {local}  {called[name]}, fitted {exponent(times):.2f}")
for name, many in rounds.items():
    spread = [max(times) / min(times) for times in many]
    print("slow/best", *(f"{ratio:7.1f}" for ratio in spread), "", called[name])

# %%
relative = {name: [t / best["fused"][0] for t in times] for name, times in best.items()}
plot.lines(
    relative,
    logs,
    x_label="log₂ n",
    y_label="time (fused at n = 128: 1)",
    log_y=True,
    zh=chinese,
)

# %% [markdown]
# Each query meets each key, so the multiplications grow like $n^2$. The time roughly follows, but not in a straight line, as the exponents of the doublings show. Short sequences spend part of their time on starting up, which pulls the exponent down. And once the tables no longer fit into the fast memory beside the processor, the written-out way presumably pays extra, which pushes its exponent up. The fitted exponent is no more than an average of these, and its decimals mean little. The last two rows say how much rounds differ; differences smaller than that mean nothing either.
#
# So they don't take equally long. On the longest sequences here, the written-out way is clearly slower: each step writes a whole table to memory, and the next one reads it back. On shorter ones, how much they differ depends on the machine.
#
# ## Heads {#heads}
#
# Keep the whole width at 128 and cut it into more and more heads. $Q$, $K$ and $V$ hold as many numbers as before. But each head has a table of weights of its own, so there are more and more tables.

# %%
counts = [1, 2, 4, 8, 16]
heads = {name: [] for name in ways}
for num_heads in counts:
    for name, way in ways.items():
        tensors = inputs(512, num_heads, 128 // num_heads)
        heads[name].append(peak_bytes(way, tensors) / 2**20)

# %%
print(*(f"{count:6}" for count in counts), " heads")
for name, costs in heads.items():
    print(*(f"{cost:6.2f}" for cost in costs), "MiB ", called[name])

# %% [markdown]
# Written out, the peak nearly doubles whenever the heads double; for the fused kernel it stays where it was, `max(heads["fused"]) < 1.1 * min(heads["fused"])`. Splitting into heads adds [no parameters](../chapters/multi_head.md#count), but if you keep the weights, you pay for each head in memory.
#
# ## What to take away {#take-away}
#
# - What grows like the square: the time of both, and the memory of the one that keeps the weights.
# - The fused kernel saves memory by recomputing the weights instead of keeping them. The output is the same.
# - You need the table only if you want to look at the weights. That's why [`MultiHeadAttention`](../chapters/multi_head.md#module) computes it only when asked.
#
# ## Try it yourself {#try}
#
# Download the notebook and change one thing at a time:
#
# - Measure `fused_attention` with `is_causal=True`{of="torch.allclose(fused_attention(Q, K, V, _), attention(Q, K, V, torch.ones(128, 128).tril().bool())[0], atol=1e-6)"}, then with a `causal_mask` of size $n$ as its mask. Expect the same memory and less time from the first, because it can skip the hidden part. With the second, the exponent of the memory rises: the mask is itself a table of $n \times n$.
# - Measure the forward pass alone, under `torch.no_grad()`. Expect fewer tables for the written-out way, and the same exponent.
#
# ## Where next {#next}
#
# [Why the scores are scaled](scaling.py) is another thing you can measure. How many multiplications there are, and from which length on the square dominates, is in [the chapter against RNNs](../chapters/rnn.md#cost).
