# ---
# description: Recurrent networks and attention side by side – sequential steps, time over length, two tasks with equal parameters, and the gradient before and after training.
# varies: true
# ---

# %% [markdown]
# # Lab: against RNNs {#rnn}
#
# [The chapter against RNNs](../chapters/rnn.md) counts operations. In this lab you run the models. You will see
#
# - how many operations have to run one after another, over the length;
# - how the time grows, on the machine that built this page;
# - two tasks, one that suits attention and one that suits recurrent networks, each learned by four models with nearly the same number of parameters: a plain RNN, a GRU and an LSTM, which have [gates](../chapters/rnn.md#gradient), and attention;
# - how much of the gradient arrives from afar, before training and after it.
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

for name, counts in steps.items():
    print(f"{name:9}", *(f"{count:4}" for count in counts))
chinese = {
    "attention": "注意力",
    "steps in a row": "要排队的步数",
    "time (attention at n = 32: 1)": "时间（n = 32 的注意力为 1）",
    "distance": "距离",
    "share right": "正确率",
    "|gradient|, before": "|梯度|，训练前",
    "|gradient|, after": "|梯度|，训练后",
}
plot.lines(steps, lengths, x_label="n", y_label="steps in a row", zh=chinese)

# %% [markdown]
# Three straight lines and a flat one. Gates add operations to each token; attention's count doesn't depend on the length; it includes the projections here.
#
# ## Time over length {#time}
#
# What is that worth in time? Forward and backward, batch 1, width 64. The numbers are float64, and the widths are equal but the parameters aren't: biases aside, the RNN has $2d^2$, attention $4d^2$, the LSTM $8d^2$. All contenders take turns in one run, and each keeps its best round. The numbers are those of the machine that built this page; yours will differ.

# %%
import math
import statistics
import time

width = 64
torch.manual_seed(0)
rnn, lstm = (make(width, width, batch_first=True) for make in (nn.RNN, nn.LSTM))
attend = MultiHeadAttention(width, 4)
contenders = {
    "RNN": lambda x: rnn(x)[0],
    "LSTM": lambda x: lstm(x)[0],
    "attention": lambda x: attend(x),
}
lengths = [32, 64, 128, 256, 512]
best = {name: [math.inf] * len(lengths) for name in contenders}
for _ in range(5):
    for i, n in enumerate(lengths):
        x = torch.randn(1, n, width)
        for name, model in contenders.items():
            begin = time.perf_counter()
            model(x).sum().backward()
            best[name][i] = min(best[name][i], time.perf_counter() - begin)

logs = [math.log2(n) for n in lengths]
print("time beside attention", *(f"{f'n = {n}':>9}" for n in lengths))
for name in ("RNN", "LSTM"):
    ratios = [a / b for a, b in zip(best[name], best["attention"], strict=True)]
    print(f"{name:21}", *(f"{ratio:9.1f}" for ratio in ratios))
for name, times in best.items():
    slope = statistics.linear_regression(logs[-3:], [math.log2(t) for t in times[-3:]]).slope
    print(f"{name:9} from n = 128 on, twice the length: {2**slope:.1f} times the time")

# %%
relative = {name: [t / best["attention"][0] for t in times] for name, times in best.items()}
plot.lines(
    relative,
    logs,
    x_label="log₂ n",
    y_label="time (attention at n = 32: 1)",
    log_y=True,
    zh=chinese,
)

# %% [markdown]
# The recurrent networks do small steps one after the other: their time grows along with the length. Attention does a few large ones. At first more tokens cost it little; then the square makes itself felt, so that far enough out it falls behind. A single core is at work here. Attention benefits more from extra cores or a GPU.
#
# ## A task for attention: find the marked token {#find}
#
# Now let them learn. In a sequence of random tokens, from 0 to 7, one is marked, anywhere. At the end, name it. Four models, with the widths chosen so that all have nearly the same number of parameters:

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
print(tokens, wanted, distance)
for kind in widths:
    assert Reader(kind)(tokens).shape == (3, vocab)
    print(f"{kind:9} {sum(p.numel() for p in Reader(kind).parameters())} parameters")

# %% [markdown]
# Three sequences of six. A marked token is shown as 8 plus its value, so it is plain to see; next to it stand the value that is wanted, and how far from the end it is.

# %%
def train(kind, n, marks, steps):
    torch.manual_seed(0)
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
    tokens, wanted, distance = sample(3000, n, marks)
    right = (model(tokens).argmax(dim=-1) == wanted).double()
    part = (distance - 1) * parts // (n - 1)
    return [right[part == i].mean().item() for i in range(parts)]


n, parts = 60, 6
finders = {kind: train(kind, n, marks=1, steps=500) for kind in widths}
found = {kind: share_right(finders[kind], n, marks=1, parts=parts) for kind in widths}
for kind, shares in found.items():
    print(f"{kind:9}", *(f"{share:5.2f}" for share in shares))

middles = [round((n - 1) * (i + 0.5) / parts) for i in range(parts)]
plot.lines(found, middles, x_label="distance", y_label="share right", zh=chinese)

# %% [markdown]
# The distances are cut into six parts, and there is a number for each. Attention and the GRU find the token wherever it stands, so that their lines lie on one another: `min(found["attention"] + found["GRU"]) > 0.95`. The LSTM is on its way. The plain RNN guesses, one in eight, even where the token is near: `max(found["RNN"]) < 0.25`.
#
# So "recurrent networks forget" does not describe it. With gates they can keep a token for as long as it takes. And the task suits attention: what it has to learn is to look for the mark, and it has every token at hand when the question comes.
#
# ## A task for recurrent networks: the latest of several {#latest}
#
# Now four tokens are marked, and the answer is the **latest** of them. A recurrent network overwrites what it has kept; attention sees four marks at once and has to work out from the positions which is the last. Trained on 30 tokens, tested on 30 and on 60.

# %%
n = 30
keepers = {kind: train(kind, n, marks=4, steps=500) for kind in widths}
latest = {
    kind: [share_right(model, length, marks=4, parts=1)[0] for length in (n, 2 * n)]
    for kind, model in keepers.items()
}
for kind, (of_30, of_60) in latest.items():
    print(f"{kind:9} of 30: {of_30:.2f}   of 60: {of_60:.2f}")

# %% [markdown]
# Here the GRU and the LSTM are ahead, and even the plain RNN keeps up with attention, as the latest mark is usually near. At twice the length they go on working, `latest["LSTM"][1] > 0.95`, because what they do at each token does not depend on how many there are; the plain one does a little less well. Attention has learned which of 30 positions comes later, and that does not carry over to 60: `latest["attention"][1] < 0.6`. [The lab on positions](positions.py#longer) shows the same in another task.
#
# ## The gradient, before training and after {#gradient}
#
# Back to the first task. How strongly does the answer depend on the marked token, over the distance? The norm of the gradient tells us. First for models that have not been trained:

# %%
def felt(model, n, parts):
    """How strongly the answer depends on the marked token, for distances cut into equal parts."""
    torch.manual_seed(2)
    tokens, wanted, distance = sample(1000, n, 1)
    x = model.embed(tokens).detach().requires_grad_()
    model.read(x).gather(1, wanted[:, None]).sum().backward()
    norms = x.grad.norm(dim=-1)[torch.arange(1000), n - 1 - distance]  # (1000,)
    part = (distance - 1) * parts // (n - 1)
    return [norms[part == i].mean().item() for i in range(parts)]


n = 60
torch.manual_seed(0)
before = {kind: felt(Reader(kind), n, parts) for kind in widths}
plot.lines(
    before, middles, x_label="distance", y_label="|gradient|, before", log_y=True, zh=chinese
)

# %% [markdown]
# [As in the chapter](../chapters/rnn.md#gradient), what arrives in the recurrent networks shrinks by a factor at every token, and in attention it is the same from everywhere. Now the models from the first task, which have been trained:

# %%
after = {kind: felt(model, n, parts) for kind, model in finders.items()}
plot.lines(
    after, middles, x_label="distance", y_label="|gradient|, after", log_y=True, zh=chinese
)

# %% [markdown]
# The plain RNN is where it was: nothing arrives from afar, so there was nothing to learn from. The GRU and the LSTM have changed: `after["GRU"][-1] > 1e6 * before["GRU"][-1]`. How could they learn it, with so little to start from? Some of the marks stood near the end, and from there a gradient did arrive. It taught them to keep a marked token, and what is kept for a few tokens can be kept for many. Attention had the short way from the start, and has learned to give it weight.
#
# ## What to take away {#take-away}
#
# - The number of sequential calls grows with the length for every recurrent network, and doesn't grow for attention. What that is worth in time depends on the machine and on the length.
# - A vanishing gradient at the start is an obstacle, but not the end. Gates overcome it here; the plain RNN does not.
# - Attention is good at finding. Recurrent networks are good at keeping up to date, and at going on for longer than they were trained.
# - Two small tasks, one seed each: enough to refute a slogan, too little to make a new one.
#
# ## Try it yourself {#try}
#
# Download the notebook and change one thing at a time:
#
# - Open the LSTM's forget gate before training: in `train`{.text}, under `torch.no_grad()`, write `model.core.bias_ih_l0[10:20] = 3`{.text}. Expect it to find every token.
# - Train on far marks only: keep the samples with `distance > 30`{.text}. Expect attention not to mind. The LSTM is left guessing, and the GRU does far worse: the near marks were what they learned from.
#
# ## Where next {#next}
#
# Back to [the chapter against RNNs](../chapters/rnn.md), or on to [what attention costs](cost.py).
