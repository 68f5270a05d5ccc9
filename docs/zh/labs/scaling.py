# ---
# description: 注意力为什么要除以 √d_k：实测点积有多分散，以及 softmax 之后会怎样。
# ---

# %% [markdown]
# # 实验：为什么是 √d_k {#scaling}
#
# 注意力的分数要除以 $\sqrt{d_k}$。看上去只是个细节，叫人忍不住想省掉它，看看会不会有人发觉。在这个实验里你就把它省掉，量一量会怎样。只想要[简短的回答](../questions/scores.md#q2-scaling)，问答里有；这里看图。
#
# ## 维数越多，点积越散 {#spread}
#
# 先看进入 softmax 的数。取许多随机的查询和键，其中的数均值为 0、方差为 1，维数 $d_k$ 取五种，求出点积。下面画的是其中三种。

# %%
import math

import torch

from headwise.drawing import plot

torch.manual_seed(0)
lengths = [4, 16, 64, 256, 1024]
dots = {d_k: (torch.randn(5000, d_k) * torch.randn(5000, d_k)).sum(dim=-1) for d_k in lengths}

plot.histogram({f"d_k = {d_k}": dots[d_k] for d_k in (4, 64, 256)}, x_label="q · k")

# %% [markdown]
# 三座山都以 0 为中心，维数越多，山就越宽：每多一维，和里就多一项，项数越多，往往离中心越远。宽多少呢？

# %%
for d_k in lengths:
    spread = dots[d_k].std().item()
    ratio = spread / d_k**0.5
    print(f"d_k {d_k:4}   标准差 {spread:5.1f}   标准差 / √d_k {ratio:.2f}")

# %% [markdown]
# 最后一列始终在 1 左右：标准差正是 $\sqrt{d_k}$。为什么是根号？点积是一个和，每一维贡献一项；各项的方差都一样，而互相独立的项，方差可以直接相加。所以与 $d_k$ 成正比的是方差，标准差是它的平方根。除以 $\sqrt{d_k}$ 之后，不论 $d_k$ 是多少，分数的标准差都一样。
#
# ## softmax 之后会怎样 {#softmax}
#
# softmax 反正会把分数变成概率，山宽不宽有关系吗？有。给一个查询八个键，看八个权重中最大的那个，对 2000 个查询取平均。假如所有的键都一样，它是 `1 / 8 == 0.125`；假如一个键拿走全部，它是 1。

# %%
num_keys, trials = 8, 2000
largest = {"q · k": [], "q · k / √d_k": []}
for d_k in lengths:
    q = torch.randn(trials, 1, d_k)
    K = torch.randn(trials, num_keys, d_k)
    scores = (q @ K.transpose(-2, -1)).squeeze(1)  # (trials, num_keys)
    for name, scaled in zip(largest, (scores, scores / d_k**0.5), strict=True):
        weights = torch.softmax(scaled, dim=-1)
        largest[name].append(weights.max(dim=-1).values.mean().item())

at = [math.log2(d_k) for d_k in lengths]
plot.lines(largest, at, x_label="log₂ d_k", y_label="max weight", zh={"max weight": "最大权重"})

# %% [markdown]
# 不缩放时，到 $d_k = 1024$，模型还什么都没学，就有一个键几乎占了全部权重。缩放之后，线是平的。

# %%
for d_k, unscaled, scaled in zip(lengths, *largest.values(), strict=True):
    print(f"d_k {d_k:4}   不缩放 {unscaled:.2f}   缩放 {scaled:.2f}")

# %% [markdown]
# ## 再看梯度 {#gradient}
#
# 训练能补救吗？那要有梯度，而接近 1 的权重几乎动不了。最大的权重 $w$ 对它自己的分数求导，等于 $w(1 - w)$，在 $w = 1$ 处为 0。用自动求导测出来，同样取平均：

# %%
slopes = {"q · k": [], "q · k / √d_k": []}
for d_k in lengths:
    q = torch.randn(trials, 1, d_k)
    K = torch.randn(trials, num_keys, d_k)
    dot = (q @ K.transpose(-2, -1)).squeeze(1)  # (trials, num_keys)
    for name, scores in zip(slopes, (dot, dot / d_k**0.5), strict=True):
        scores = scores.requires_grad_()
        torch.softmax(scores, dim=-1).max(dim=-1).values.sum().backward()
        slopes[name].append(scores.grad.abs().max(dim=-1).values.mean().item())
        scores.grad = None

plot.lines(slopes, at, x_label="log₂ d_k", y_label="|gradient|", zh={"|gradient|": "|梯度|"})

# %% [markdown]
# 不缩放的线落向 0，缩放后的线保持原来的高度。到了最右端，不缩放的梯度剩下不到十分之一，`slopes["q · k"][-1] < 0.1 * slopes["q · k / √d_k"][-1]`，而 $W_q$ 和 $W_k$ 的梯度正是从分数传来的。所以在那里，训练还没开始，大多数查询就已经认准了一个键，又几乎没有梯度能让它们改主意。（这里只看穿过 softmax 的这一步。除法本身也会让传到查询的梯度变小，所以图上差多少，不等于学习速度差多少。）
#
# ## 自己试试 {#try}
#
# 下载笔记本，一次只改一处：
#
# - 把查询和键里的数，方差从 1 换成 4，写成 `2 * torch.randn(5000, 64)` 这样。你会看到：第一张表的最后一列变成四倍，因为除以这个根号，前提是方差为 1。
# - 把 8 个键换成 512 个。你会看到：缩放的，权重变小了，因为分的键多了；不缩放的，维数多的时候，照样是一个键拿走大半。
# - 把除以 $\sqrt{d_k}$ 换成除以 $d_k$。你会看到相反的毛病：维数多的时候，八个权重几乎相等，查询就没法挑了。
#
# ## 接下来 {#next}
#
# 回到[自注意力](../chapters/attention.md)，或者看看[关于分数的问题](../questions/scores.md)。
