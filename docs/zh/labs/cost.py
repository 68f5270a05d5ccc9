# ---
# description: 注意力的开销怎样随长度增长：内存与时间，逐行写出来的与融合内核的，并用测量结果拟合出指数。
# varies: true
# ---

# %% [markdown]
# # 实验：注意力的开销 {#cost}
#
# 都说“注意力是平方级的”。可是什么按平方增长？内存，时间，还是两者都是？在这个实验里，你来测内存和时间怎样随长度 $n$ 增长，一边是[逐行写出来的](../chapters/attention.md#code)注意力，一边是 PyTorch 的融合内核，两者输出相同。你会看到：
#
# - 内存，逐行写出来的按 $n^2$ 增长，融合内核按 $n$ 增长；
# - 时间，两个都大致按 $n^2$ 增长，只是快慢不同；
# - 头的个数与此有什么关系。
#
# ## 怎样找出指数 {#exponent}
#
# 如果开销是 $c \cdot n^p$，它的对数就是 $\log c + p \log n$：一条斜率为 $p$ 的直线。所以两根轴都取对数，用一条直线去拟合这些点。一条直线总能拟合出来，哪怕点并不在直线上；所以也把每加倍一次的指数单独列出来，看它们是不是差不多。

# %%
import math
import os
import statistics

os.environ["KINETO_LOG_LEVEL"] = "99"  # 否则性能分析器会在输出里插话

import torch

from headwise.attention import attention, fused_attention
from headwise.drawing import plot

torch.set_num_threads(1)  # 融合内核给每个线程留一块草稿空间
lengths = [128, 256, 512, 1024, 2048]
logs = [math.log2(n) for n in lengths]


def exponent(costs):
    return statistics.linear_regression(logs, [math.log2(cost) for cost in costs]).slope


def slopes(costs):
    """从每个长度到它的两倍，指数是多少。"""
    return [math.log2(b / a) for a, b in zip(costs, costs[1:])]


cubes = [7 * n**3 for n in lengths]
print(f"{exponent(cubes):.2f}", *(f"{slope:.2f}" for slope in slopes(cubes)))

# %% [markdown]
# 它找出了 $7 n^3$ 里的 3，可以放心用。现在轮到注意力：四个头，每个宽 32，前向加反向。


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
# ## 内存 {#memory}
#
# PyTorch 的性能分析器会报告每一次内存的申请和归还。按先后顺序累加起来，记下最高的水位，就像墙上留下的水痕。

# %%
from torch.profiler import ProfilerActivity, profile


def peak_bytes(way, tensors):
    """除输入以外，前向加反向最多同时占用多少内存。"""
    way(*tensors).sum().backward()  # 只准备一次的东西不算在内
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
called = {"written out": "逐行写出", "fused": "融合内核"}
print("n        ", *(f"{n:7}" for n in lengths))
for name, costs in peaks.items():
    print("MiB      ", *(f"{cost / 2**20:7.2f}" for cost in costs), "", called[name])
for name, costs in peaks.items():
    local = " ".join(f"{slope:7.2f}" for slope in slopes(costs))
    print(f"指数      {' ' * 7} {local}  {called[name]}，拟合 {exponent(costs):.2f}")

# %%
mebibytes = {name: [cost / 2**20 for cost in costs] for name, costs in peaks.items()}
chinese = {
    "written out": "逐行写出",
    "fused": "融合内核",
    "time (fused at n = 128: 1)": "时间（n = 128 的融合内核为 1）",
}
plot.lines(mebibytes, logs, x_label="log₂ n", y_label="MiB", log_y=True, zh=chinese)

# %% [markdown]
# 逐行写出来的，长度加倍，内存变成将近四倍。占地方的是一张张 $n \times n$ 的表，最多的时候在反向传播里：权重、权重的梯度、分数的梯度（分数本身那时已经不在了）。四个头，每个头 $n \times n$ 个数，每个数四字节。

# %%
table = 4 * 2048**2 * 4
held = peaks["written out"][-1] / table
print(f"每张 {table / 2**20:.0f} MiB，峰值时有 {held:.2f} 张")

# %% [markdown]
# 峰值时有三张表，`round(held) == 3`，几乎就是全部了。融合内核连一张也不保存。它分块处理键，为每个查询记着到目前为止的最大分数、指数之和与输出，反向时再把权重算一遍。所以它的内存只随 $n$ 增长。（单个的指数忽高忽低，是因为其中有一部分是草稿空间：内核换用更大的块时，它会跳上去一次，之后就不变了。）
#
# ## 时间 {#time}
#
# 分块算，并不会少做乘法：每个查询还是要与每个键相乘。那么时间也一样多吗？两者在同一次运行里轮流上场，各取四轮里最快的一轮。读的是处理器时间 `time.process_time`：处理器被别的程序占用的时候，它不走。序列短的时候，一次的时间太短，量不准，所以一轮里连做许多次，再除以次数。这些数字属于构建本页的机器，换到你的机器上会不同。

# %%
import time

rounds = {name: [[] for _ in lengths] for name in ways}
for _ in range(4):
    for i, n in enumerate(lengths):
        tensors, times = inputs(n), (lengths[-1] // n) ** 2  # 短的连做许多次
        for name, way in ways.items():
            begin = time.process_time()
            for _ in range(times):
                way(*tensors).sum().backward()
            rounds[name][i].append((time.process_time() - begin) / times)
best = {name: [min(times) for times in many] for name, many in rounds.items()}

# %%
ratios = [a / b for a, b in zip(best["written out"], best["fused"], strict=True)]
print("n        ", *(f"{n:7}" for n in lengths))
print("倍数     ", *(f"{ratio:7.1f}" for ratio in ratios), "逐行写出 / 融合内核")
for name, times in best.items():
    local = " ".join(f"{slope:7.2f}" for slope in slopes(times))
    print(f"指数      {' ' * 7} {local}  {called[name]}，拟合 {exponent(times):.2f}")
for name, many in rounds.items():
    spread = [max(times) / min(times) for times in many]
    print("慢 / 快  ", *(f"{ratio:7.1f}" for ratio in spread), "", called[name])

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
# 每个查询都要与每个键相乘，乘法按 $n^2$ 增长；时间大致跟着走，但不是一条直线，看每次加倍的指数就知道。序列短的时候，有一部分时间花在启动上，把指数拉低。等到表大得处理器里又小又快的存储装不下，逐行写出来的多半又要多花一些，把它的指数抬高。所以拟合出来的那一个数，只是这些指数的平均，小数点后面的不要当真。最后两行说明一轮与一轮能差多少，比这还小的差别，也不要当真。
#
# 所以时间并不一样多。在这里，序列最长的时候，逐行写出来的明显更慢：每一步都把整张表写进内存，下一步再读回来。短一些的时候，两者差多少就要看机器了。
#
# ## 头 {#heads}
#
# 总宽度保持 128 不变，切成越来越多的头。$Q$、$K$、$V$ 里的数还是那么多，权重的表却不是，因为每个头都有自己的一张。

# %%
counts = [1, 2, 4, 8, 16]
heads = {name: [] for name in ways}
for num_heads in counts:
    for name, way in ways.items():
        tensors = inputs(512, num_heads, 128 // num_heads)
        heads[name].append(peak_bytes(way, tensors) / 2**20)

# %%
print(*(f"{count:6}" for count in counts), "个头")
for name, costs in heads.items():
    print(*(f"{cost:6.2f}" for cost in costs), "MiB ", called[name])

# %% [markdown]
# 逐行写出来的，头加倍，峰值也几乎加倍；融合内核则停在原处，`max(heads["fused"]) < 1.1 * min(heads["fused"])`。分成多个头[不增加参数](../chapters/multi_head.md#count)，但要是得把权重留下来，就要多占内存了。
#
# ## 小结 {#take-away}
#
# - 随长度按平方增长的，是两者的时间，以及保留权重的那一个的内存。
# - 融合内核省内存的办法，是不保存，要用时再算一遍。输出一样。
# - 只有想看权重的时候，才需要那张表。所以 [`MultiHeadAttention`](../chapters/multi_head.md#module) 只在有人要看时才把它写出来。
#
# ## 自己试试 {#try}
#
# 下载笔记本，一次只改一处：
#
# - 给 `fused_attention` 加上 `is_causal=True`{of="torch.allclose(fused_attention(Q, K, V, _), attention(Q, K, V, torch.ones(128, 128).tril().bool())[0], atol=1e-6)"} 再测；然后改成传入一个大小为 $n$ 的 `causal_mask`。你会看到：前者内存不变，时间少一些，因为被遮住的部分可以跳过；后者的内存指数会升高，因为掩码本身就是一张 $n \times n$ 的表。
# - 只测前向，放在 `torch.no_grad()` 里。你会看到：逐行写出来的，表少了，指数不变。
#
# ## 接下来 {#next}
#
# [分数为什么要缩放](scaling.py)也可以亲手测一测。一共有多少次乘法，从多长开始平方那一项说了算，见[与 RNN 比较](../chapters/rnn.md#cost)那一章。
