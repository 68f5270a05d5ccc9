# ---
# description: Why attention divides by √d_k – the spread of dot products, and what softmax makes of it, measured.
# ---

# %% [markdown]
# # Lab: why √d_k {#scaling}
#
# Attention divides its scores by $\sqrt{d_k}$. It looks like a detail, the kind of thing you'd leave out to see whether anybody notices. In this lab you leave it out, and measure what happens. If you want only [the short answer](../questions/scores.md#q2-scaling), it's among the questions; here are the pictures.
#
# ## Dot products spread with the number of dimensions {#spread}
#
# Let's start with the numbers that go into softmax. Take many random queries and keys, with numbers of mean 0 and variance 1, and compute their dot products, for five values of $d_k$, the number of dimensions. Here are the histograms of three of them.

# %%
import math

import torch

from headwise.drawing import plot

torch.manual_seed(0)
lengths = [4, 16, 64, 256, 1024]
dots = {d_k: (torch.randn(5000, d_k) * torch.randn(5000, d_k)).sum(dim=-1) for d_k in lengths}

plot.histogram({f"d_k = {d_k}": dots[d_k] for d_k in (4, 64, 256)}, x_label="q · k")

# %% [markdown]
# You see three hills, all centred on 0. The more dimensions, the wider the hill: each dimension adds a term to the sum, and the more terms, the further from the centre it tends to end up. How much wider?

# %%
for d_k in lengths:
    spread = dots[d_k].std().item()
    ratio = spread / d_k**0.5
    print(f"d_k {d_k:4}   std {spread:5.1f}   std / √d_k {ratio:.2f}")

# %% [markdown]
# The last column stays close to 1: the standard deviation is $\sqrt{d_k}$. Why a root? A dot product is a sum with one term for each dimension. Each term has the same variance, and the variances of independent terms add up, so it's the variance that grows like $d_k$; the standard deviation is its root. After dividing by $\sqrt{d_k}$, the scores have the same standard deviation for every $d_k$.
#
# ## What softmax makes of it {#softmax}
#
# Does the width of the hill matter, if softmax turns the scores into probabilities anyway? It does. Give one query eight keys, and look at the largest of its eight weights, averaged over 2000 queries. If all keys were alike, it would be `1 / 8 == 0.125`; if one key takes everything, it's 1.

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
# Without the division, at $d_k = 1024$ a single key gets nearly all the weight, before the model has learned anything. With it, the line is flat.

# %%
for d_k, unscaled, scaled in zip(lengths, *largest.values(), strict=True):
    print(f"d_k {d_k:4}   unscaled {unscaled:.2f}   scaled {scaled:.2f}")

# %% [markdown]
# ## And the gradient {#gradient}
#
# Could training repair it? For that it needs a gradient, and a weight close to 1 can hardly move. The derivative of the largest weight $w$ with respect to its own score is $w(1 - w)$, which is 0 at $w = 1$. Measured by autograd, averaged as before:

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
# The unscaled line falls towards 0, and the scaled line keeps its height. At the right end, less than a tenth of the gradient is left without the division, `slopes["q · k"][-1] < 0.1 * slopes["q · k / √d_k"][-1]`, and it's through the scores that $W_q$ and $W_k$ get theirs. So there, most queries have settled on a key before training begins, and get hardly any gradient that could change that. (We look only at the step through softmax. The division itself also makes the gradient that goes on to the query smaller, so don't read the distance between the lines as a difference in speed.)
#
# ## Try it yourself {#try}
#
# Download the notebook and change one thing at a time:
#
# - Give the numbers of queries and keys a variance of 4 instead of 1, as in `2 * torch.randn(5000, 64)`. Expect the last column of the first table to be four times as large: the root assumes a variance of 1.
# - Take 512 keys instead of 8. Expect the scaled weights to get smaller, since more keys share them. Unscaled, with many dimensions, a single key still takes most of the weight.
# - Divide by $d_k$ instead of $\sqrt{d_k}$. Expect the opposite fault: with many dimensions, all eight weights become nearly equal, so the query can't choose.
#
# ## Where next {#next}
#
# Back to [self-attention](../chapters/attention.md), or to [the questions about scores](../questions/scores.md).
