# ---
# description: Recurrent networks and attention side by side – sequential steps, time over length, two tasks for models of nearly the same size, and the gradient before and after training.
# varies: true
# ---

# %% [markdown]
# # Lab: against RNNs {#rnn}
#
# [The chapter against RNNs](../chapters/rnn.md) counts operations. In this lab you run the models. You will see
#
# - how many calls have to run one after another, and how that depends on the length;
# - how the time grows with the length, on the machine that built this page;
# - two tasks, one that suits attention and one that suits recurrent networks, each learned by four models with nearly the same number of parameters: a plain RNN, a GRU and an LSTM, which have [gates](../chapters/rnn.md#gradient), and attention;
# - how much of the gradient comes back from far away, before training and after it.
#
# Each model is trained from three seeds, and you see all three results. The text says only what all three of them show.
#
# ## Sequential steps {#steps}
#
# PyTorch keeps the graph of what was computed from what. The longest path through it, from the last output back to the first token, is the number of calls that have to run one after another. (We count PyTorch's calls, views and transposes included; the steps that the hardware takes inside one call aren't counted.)

# %%
import functools

import torch
from torch import nn

from headwise import MultiHeadAttention
from headwise.drawing import plot

torch.set_default_dtype(torch.float64)  # so that your machine gets the same
torch.set_num_threads(1)  # for small models, more would wait for each other
torch.manual_seed(0)
d = 16


def longest_way(end, start):
    @functools.cache
    def ways(node):
        if getattr(node, "variable", None) is start:
            return 0
        found = [ways(earlier) for earlier, _ in node.next_functions if earlier is not None]
        return max((1 + n for n in found if n is not None), default=None)

    return ways(end.grad_fn)


mha = MultiHeadAttention(d, 2)
cells = {"RNN": nn.RNNCell(d, d), "GRU": nn.GRUCell(d, d), "LSTM": nn.LSTMCell(d, d)}
lengths = [4, 8, 16, 32, 48]
steps = {"RNN": [], "GRU": [], "LSTM": [], "attention": []}
for n in lengths:
    tokens = [torch.randn(1, d, requires_grad=True) for _ in range(n)]
    for name, cell in cells.items():
        state = None
        for x in tokens:
            state = cell(x, state)
        end = state[0] if name == "LSTM" else state
        steps[name].append(longest_way(end, tokens[0]))
    out = mha(torch.stack(tokens, dim=1), need_weights=True)[0]
    steps["attention"].append(longest_way(out[0, -1], tokens[0]))

# %%
names = {"RNN": "RNN", "GRU": "GRU", "LSTM": "LSTM", "attention": "attention"}
for name, counts in steps.items():
    print(*(f"{count:4}" for count in counts), "", names[name])
chinese = {
    "attention": "注意力",
    "sequential steps": "串行步数",
    "time (attention at n = 32: 1)": "时间（n = 32 的注意力为 1）",
    "distance": "距离",
    "share right": "正确率",
    "|gradient|, before": "|梯度|，训练前",
    "|gradient|, after": "|梯度|，训练后",
}
plot.lines(steps, lengths, x_label="n", y_label="sequential steps", zh=chinese)

# %% [markdown]
# You see three straight lines and a flat one. Gates make a line steeper, because they add operations at each token. Attention's line is flat: its count doesn't depend on the length. It starts rather high, because the projections are counted, too.
#
# ## Time and length {#time}
#
# What does that mean in time? We measure forward and backward, batch 1, width 64, in float32, as you would train. The widths are equal but the parameters aren't: biases aside, the RNN has $2d^2$, attention $4d^2$, the LSTM $8d^2$. All contenders take turns in one run, and each keeps its best round. As in [the lab on cost](cost.py#time), we read the processor's own time. The numbers are those of the machine that built this page; yours will differ.

# %%
import math
import statistics
import time

width = 64
torch.manual_seed(0)
rnn, lstm = (make(width, width, batch_first=True).float() for make in (nn.RNN, nn.LSTM))
attend = MultiHeadAttention(width, 4).float()
contenders = {
    "RNN": lambda x: rnn(x)[0],
    "LSTM": lambda x: lstm(x)[0],
    "attention": lambda x: attend(x),
}
lengths = [32, 64, 128, 256, 512]
rounds = {name: [[] for _ in lengths] for name in contenders}
for _ in range(5):
    for i, n in enumerate(lengths):
        x, times = torch.randn(1, n, width, dtype=torch.float32), 4096 // n
        for name, model in contenders.items():
            begin = time.process_time()
            for _ in range(times):
                model(x).sum().backward()
            rounds[name][i].append((time.process_time() - begin) / times)
best = {name: [min(times) for times in many] for name, many in rounds.items()}

# %%
print("time beside attention")
print(*(f"{f'n = {n}':>9}" for n in lengths))
for name in ("RNN", "LSTM"):
    ratios = [a / b for a, b in zip(best[name], best["attention"], strict=True)]
    print(*(f"{ratio:9.1f}" for ratio in ratios), "", names[name])
print("twice the length: how many times the time")
for name, times in best.items():
    print(*(f"{b / a:9.1f}" for a, b in zip(times, times[1:])), " " * 10, names[name])
print("median of five rounds over the best")
for name, many in rounds.items():
    spread = [statistics.median(times) / min(times) for times in many]
    print(*(f"{ratio:9.1f}" for ratio in spread), "", names[name])

# %%
relative = {name: [t / best["attention"][0] for t in times] for name, times in best.items()}
plot.lines(
    relative,
    [math.log2(n) for n in lengths],
    x_label="log₂ n",
    y_label="time (attention at n = 32: 1)",
    log_y=True,
    zh=chinese,
)

# %% [markdown]
# The recurrent networks do small steps one after another, so their time grows in proportion to the length, or less, as long as starting up still takes its share. Attention does a few large steps. At first more tokens cost it little; then the square makes itself felt, and each doubling costs more than the one before. In the first table you can watch the LSTM catch up: in the end, a square overtakes every straight line. (The last table says how much rounds differ: don't read anything into differences smaller than that.)
#
# You might expect the LSTM to be the slowest, since it does the most at each token. It isn't: on the CPU, PyTorch hands a float32 LSTM over to the library oneDNN, where one call goes through the whole sequence. The RNN and the GRU don't get that, and nor does an LSTM in float64. The steps of this LSTM are just as sequential, but each of them is far cheaper. So the number of sequential steps isn't the time: on a single core it matters how well a step is implemented; the number of steps becomes the limit on hardware that can do many things at once, such as many cores or a GPU.
#
# ## A task for attention: find the marked token {#find}
#
# Now let them learn. In a sequence of random tokens, from 0 to 7, one is marked, anywhere; at the end, the model has to name it. There are four models, with widths chosen so that all have nearly the same number of parameters. Which of them would you bet on?

# %%
import torch.nn.functional as F

from headwise.positional import SinusoidalPositions

vocab = 8
widths = {"RNN": 24, "GRU": 12, "LSTM": 10, "attention": d}


def sample(batch, n, marks):
    """Tokens, of which some are marked; the value of the last one marked; how far back it is."""
    tokens = torch.randint(vocab, (batch, n))
    marked = torch.rand(batch, n - 1).argsort(dim=-1)[:, :marks]  # (batch, marks)
    last = marked.max(dim=-1).values
    wanted = tokens[torch.arange(batch), last]
    tokens = tokens.scatter_add(1, marked, torch.full_like(marked, vocab))
    return tokens, wanted, n - 1 - last


class Reader(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.embed = nn.Embedding(2 * vocab, d)
        if kind == "attention":
            self.core = nn.Sequential(SinusoidalPositions(), MultiHeadAttention(d, 2))
        else:
            self.core = getattr(nn, kind)(d, widths[kind], batch_first=True)
        self.out = nn.Linear(widths[kind], vocab)

    def read(self, x):
        """One logit for each value, from embeddings (batch, n, d)."""
        out = self.core(x)
        if isinstance(out, tuple):  # a recurrent network also returns its last state
            out = out[0]
        return self.out(out[:, -1])  # (batch, vocab)

    def forward(self, tokens):
        return self.read(self.embed(tokens))


torch.manual_seed(0)
tokens, wanted, distance = sample(batch=3, n=6, marks=1)
sizes = {kind: sum(p.numel() for p in Reader(kind).parameters()) for kind in widths}
assert all(Reader(kind)(tokens).shape == (3, vocab) for kind in widths)
print(tokens, wanted, distance)

# %%
for kind, size in sizes.items():
    print(f"{size} parameters", names[kind])

# %% [markdown]
# You see three sequences of six tokens. A marked token is shown as 8 plus its value, so it's easy to spot. Behind the sequences are the wanted values, and their distances from the end.

# %%
seeds = (0, 1, 2)


def train(kind, n, marks, steps, seed):
    torch.manual_seed(seed)
    model = Reader(kind)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        tokens, wanted, _ = sample(32, n, marks)
        loss = F.cross_entropy(model(tokens), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


@torch.no_grad()
def share_right(model, n, marks, parts):
    """How often the model is right, for distances cut into equal parts."""
    torch.manual_seed(1)
    tokens, wanted, distance = sample(2000, n, marks)
    right = (model(tokens).argmax(dim=-1) == wanted).double()
    part = (distance - 1) * parts // (n - 1)
    return torch.stack([right[part == i].mean() for i in range(parts)])  # (parts,)


n, parts = 40, 4
finders = {kind: [train(kind, n, 1, 350, seed) for seed in seeds] for kind in widths}
found = {
    kind: torch.stack([share_right(model, n, 1, parts) for model in models])  # (3, parts)
    for kind, models in finders.items()
}

# %%
print("share right, seed by seed")
for kind, shares in found.items():
    print(*(f"{share:5.2f}" for share in shares.mean(dim=1)), "", names[kind])

means = {kind: shares.mean(dim=0) for kind, shares in found.items()}
middles = [round((n - 1) * (i + 0.5) / parts) for i in range(parts)]
plot.lines(means, middles, x_label="distance", y_label="share right", zh=chinese)

# %% [markdown]
# The distances are cut into four parts; the plot shows the mean over the seeds. Attention and the GRU find the token wherever it is, with each of the seeds, so their lines coincide: `min(found["attention"].min(), found["GRU"].min()) > 0.95`. How far the LSTM gets in this time depends on the seed. The plain RNN hasn't learned it with any of the seeds, not even for a token that's near: `found["RNN"].max() < 0.4`, where guessing would be right one in eight times.
#
# So "recurrent networks forget" isn't the whole truth: with gates, a network can keep a token from the first place to the last, as the GRU does here. And the task does suit attention: all it has to learn is to look for the mark, and it has every token at hand when the question comes.
#
# ## A task for recurrent networks: the latest of several {#latest}
#
# Now four tokens are marked, and the answer is the **latest** of them. A recurrent network only has to overwrite what it has kept. Attention sees four marks at once, and has to work out from the positions which is the last. We train on 20 tokens, and test on 20 and on 40.

# %%
n = 20
latest = {}
for kind in widths:
    keepers = [train(kind, n, 4, 300, seed) for seed in seeds]
    rows = [[share_right(model, k, 4, 1).item() for model in keepers] for k in (n, 2 * n)]
    latest[kind] = torch.tensor(rows)  # (2, 3)

# %%
print("       20 tokens            40 tokens")
for kind, (short, long) in latest.items():
    one, two = (" ".join(f"{share:5.2f}" for share in shares) for shares in (short, long))
    print(one, "  ", two, "", names[kind])

# %% [markdown]
# On 20 tokens all four models are right nearly always, with each seed: `min(shares[0].min() for shares in latest.values()) > 0.9`. At twice the length the three recurrent networks go on working, `min(latest[kind][1].min() for kind in ("RNN", "GRU", "LSTM")) > 0.9`, because the work at each token doesn't depend on how many there are. Even the plain RNN does, although it didn't learn the first task: here the mark that counts is usually near. This attention has learned which of 20 positions comes later, and that doesn't carry over to 40: `latest["attention"][1].max() < 0.8`. It has a single layer, no feed-forward network, and absolute sine positions; another kind of attention may do better. [The lab on positions](positions.py#longer) shows the same in another task.
#
# ## The gradient, before training and after {#gradient}
#
# Back to the first task. How strongly does the answer depend on the marked token, near or far? The norm of the gradient tells us. Training makes the logits larger, and the gradients with them, so we take each model's nearest part as 1 and compare only near and far. First for models that have not been trained:

# %%
def felt(model, n, parts):
    """How strongly the answer depends on the marked token, by distance, with the nearest part as 1."""
    torch.manual_seed(2)
    tokens, wanted, distance = sample(500, n, 1)
    x = model.embed(tokens).detach().requires_grad_()
    model.read(x).gather(1, wanted[:, None]).sum().backward()
    norms = x.grad.norm(dim=-1)[torch.arange(500), n - 1 - distance]  # (500,)
    part = (distance - 1) * parts // (n - 1)
    means = torch.stack([norms[part == i].mean() for i in range(parts)])
    return means / means[0]  # (parts,)


n = 40
before, after = {}, {}
for kind, models in finders.items():
    new = []
    for seed in seeds:
        torch.manual_seed(seed)
        new.append(felt(Reader(kind), n, parts))
    before[kind] = torch.stack(new)  # (3, parts)
    after[kind] = torch.stack([felt(model, n, parts) for model in models])  # (3, parts)

means = {kind: rows.mean(dim=0) for kind, rows in before.items()}
plot.lines(means, middles, x_label="distance", y_label="|gradient|, before", log_y=True, zh=chinese)

# %% [markdown]
# [As in the chapter](../chapters/rnn.md#gradient), in the recurrent networks the gradient shrinks by a factor at every token, and in attention it's nearly the same from everywhere. Now the models from the first task, which have been trained, and the farthest part for each seed:

# %%
means = {kind: rows.mean(dim=0) for kind, rows in after.items()}
plot.lines(means, middles, x_label="distance", y_label="|gradient|, after", log_y=True, zh=chinese)

# %%
print("farthest part: before, after")
for kind in widths:
    one, two = (" ".join(f"{x:7.0e}" for x in rows[:, -1]) for rows in (before[kind], after[kind]))
    print(one, "  ", two, "", names[kind])

# %% [markdown]
# The GRU and the LSTM have changed, with each seed: the farthest part is at least a thousand times what it was, `min((after[kind] / before[kind])[:, -1].min() for kind in ("GRU", "LSTM")) > 1000`. How could they learn it, with so little to start from? Some of the marks were near the end, and from there a gradient did arrive. A plausible reading: it taught them to keep a marked token, and a token that is kept for a few steps can be kept for many. (The last item of "Try it yourself" tests it.) The plain RNN mostly still gets very little from far back (with one seed it's more, and that one hasn't learned the task either). Attention had the short path from the start.
#
# ## What to take away {#take-away}
#
# - Each of these recurrent networks needs more sequential calls, the longer the sequence; attention doesn't. How much time that costs depends on the machine and on the length.
# - A vanishing gradient at the start is an obstacle, but not the end. Here the GRU gets over it with each seed, and the LSTM in part, but the plain RNN doesn't.
# - Two small tasks, and no simple ranking: this attention finds a token at any distance, but doesn't carry "which one is later" over to longer sequences. With the plain RNN it's the other way round, and the GRU manages both.
# - Each model has three seeds, is tiny and is trained briefly: enough to refute a slogan, too little to make a new one.
#
# ## Try it yourself {#try}
#
# Download the notebook and change one thing at a time:
#
# - Time it without oneDNN: put the timing loop under `with torch.backends.mkldnn.flags(enabled=False):`{.text}. Expect the LSTM to be far slower, behind the RNN.
# - Open the LSTM's forget gate before training: in `train`{.text}, if the kind is LSTM, write `model.core.bias_ih_l0[10:20] = 3`{.text} under `torch.no_grad()`. Expect it to find more with each seed.
# - Train on far marks only: keep the samples with `distance > 20`{.text}. Expect attention not to mind, and the LSTM and the GRU to do far worse: the near marks were what they learned from.
#
# ## Where next {#next}
#
# Back to [the chapter against RNNs](../chapters/rnn.md), or on to [what attention costs](cost.py).
