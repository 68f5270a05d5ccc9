# ---
# description: Trained on 24 tokens, read up to 192 – sine code, learned positions, RoPE, interpolation, ALiBi, and windows with and without sinks, each from three seeds; and where a kept first token does harm.
# ---

# %% [markdown]
# # Lab: longer than trained {#longer}
#
# [The chapter on longer contexts](../chapters/windows.md) says what breaks beyond the trained length, and what mends it. In this lab you put all of it to the test, with small models, so that everything runs on your machine while you wait. You will see
#
# - which kinds of positions hold at eight times the trained length, and which don't;
# - that "holds" isn't the same as "sees": how far back each of them really looks;
# - that a sink, the first token kept beside a window, can do harm, and how to count positions so that it doesn't.
#
# ## The task {#task}
#
# As in the chapter, a text is made of letters and digits, and at every token the model has to name the last digit so far. A model is one layer of attention.

# %%
import torch
import torch.nn.functional as F
from torch import nn

from headwise import MultiHeadAttention
from headwise.drawing import plot
from headwise.positional import LearnedPositions, SinusoidalPositions
from headwise.rotary import Rotary

torch.set_default_dtype(torch.float64)  # so that your machine gets the same
torch.set_num_threads(1)  # for small models, more would wait for each other
trained, lengths = 24, (24, 48, 96, 192)


def texts(batch, length, digits=0.2):
    """Tokens, the last digit so far, and how far back it is."""
    tokens, letter = torch.randint(10, (batch, length)), torch.rand(batch, length) >= digits
    letter[:, 0] = False  # so that there's always a digit
    last = torch.where(letter, 0, torch.arange(length)).cummax(dim=1).values
    return tokens + 10 * letter, tokens.gather(1, last), torch.arange(length) - last


class Reader(nn.Module):
    def __init__(self, positions=None, **options):
        super().__init__()
        self.embed, self.W_vocab = nn.Embedding(20, 32), nn.Linear(32, 10)
        self.positions, self.attention = positions, MultiHeadAttention(32, 4, **options)

    def forward(self, tokens):
        x = self.embed(tokens)
        if self.positions is not None:
            x = self.positions(x)
        return self.W_vocab(x + self.attention(x, is_causal=True))


def train(model):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(200):
        tokens, wanted, _ = texts(16, trained)
        loss = F.cross_entropy(model(tokens).flatten(0, 1), wanted.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def share_right(model, length):
    """How often the model is right in the last eight places."""
    tokens, wanted, _ = texts(100, length)
    return (model(tokens).argmax(-1) == wanted)[:, -8:].double().mean().item()

# %%
torch.manual_seed(3)
tokens, wanted, _ = texts(1, 12)
print("tokens", tokens[0].tolist())
print("wanted", wanted[0].tolist())

# %% [markdown]
# ## Up to eight times the length {#lengths}
#
# Five kinds of models, three seeds each, all trained on 24 tokens. The learned table has a row for each of the 192 positions, so it can be asked at all of them. The rotary model is measured a second time with its positions divided by as much as the text is longer: that's position interpolation, without any further training.

# %%
kinds = {
    "sine": lambda: Reader(SinusoidalPositions()),
    "learned": lambda: Reader(LearnedPositions(lengths[-1], 32)),
    "rotary": lambda: Reader(rotary=Rotary(8)),
    "ALiBi": lambda: Reader(alibi=True),
    "window of 16": lambda: Reader(rotary=Rotary(8), window=16),
}
models, found = {}, {}
for name, make in kinds.items():
    for seed in range(3):
        torch.manual_seed(seed)
        models[name, seed] = model = make()
        train(model)
        found.setdefault(name, []).append([share_right(model, length) for length in lengths])
for seed in range(3):
    torch.manual_seed(seed)
    model, row = models["rotary", seed], []
    for length in lengths:
        model.attention.rotary.scale = length / trained
        row.append(share_right(model, length))
    model.attention.rotary.scale = 1.0
    found.setdefault("interpolated", []).append(row)

# %%
called = {
    "sine": "sine",
    "learned": "learned",
    "rotary": "rotary",
    "ALiBi": "ALiBi",
    "window of 16": "rotary, window of 16",
    "interpolated": "rotary, interpolated",
}
print(*(f"{length:14} tokens" for length in lengths))
for name, rows in found.items():
    columns = (" ".join(f"{share:6.2f}" for share in sorted(one)) for one in zip(*rows))
    print(" ".join(columns), "", called[name])

# %%
means = {name: torch.tensor(found[name]).mean(dim=0) for name in ("rotary", "interpolated", "ALiBi", "window of 16")}
plot.lines(
    means,
    lengths,
    x_label="tokens (24 in training)",
    y_label="share right",
    zh={
        "rotary": "旋转位置",
        "interpolated": "旋转位置，插值",
        "window of 16": "窗口 16",
        "tokens (24 in training)": "词元数（训练时为 24）",
        "share right": "正确率",
    },
)

# %% [markdown]
# In each column the three seeds are sorted. Sine code, learned positions and plain rotary positions break down at twice the length already, with each seed: `max(row[1] for kind in ("sine", "learned", "rotary") for row in found[kind]) < 0.7`. Interpolation goes a good way, and gets worse the further it's stretched. ALiBi and the window hold; where their seeds overlap, neither is better.
#
# ## How far back do they look? {#reach}
#
# The last digit is nearly always near, since one token in five is a digit. Let's make digits rare, one in twenty, in texts of 96 tokens, and sort the answers by how far back the digit lies.

# %%
steps, reach = (0, 8, 16, 24, 32, 40), {}
for name in ("rotary", "interpolated", "ALiBi", "window of 16"):
    for seed in range(3):
        model = models["rotary" if name == "interpolated" else name, seed]
        if name == "interpolated":
            model.attention.rotary.scale = 96 / trained
        torch.manual_seed(9)
        tokens, wanted, back = texts(100, 96, digits=0.05)
        with torch.no_grad():
            right = model(tokens).argmax(-1) == wanted
        if name == "interpolated":
            model.attention.rotary.scale = 1.0
        row = [right[(back >= a) & (back < b)] for a, b in zip(steps, steps[1:])]
        reach.setdefault(name, []).append([part.double().mean().item() for part in row])

# %%
called = {
    "rotary": "rotary",
    "interpolated": "rotary, interpolated",
    "ALiBi": "ALiBi",
    "window of 16": "window of 16",
}
print(*(f"       {a:2} to {b - 1:2} back   " for a, b in zip(steps, steps[1:])))
for name, rows in reach.items():
    columns = ("  ".join(f"{share:5.2f}" for share in sorted(one)) for one in zip(*rows))
    print("   ".join(columns), "", called[name])

# %% [markdown]
# The window is all but perfect inside, `min(row[1] for row in reach["window of 16"]) > 0.95`, and blind outside, `max(row[2] for row in reach["window of 16"]) < 0.2`, as it should be. ALiBi has no edge, but the farther back the digit, the less of it comes through; where no training example ever had to look, little does. So a text may be as long as you like, and still neither of them sees far. Interpolation does, in this task: `min(row[4] for row in reach["interpolated"]) > 0.9`, since it makes what's far look near. Otherwise, if you need what lies far back, train on it.
#
# ## A sink, and how to count {#sinks}
#
# A window that keeps the first token [saved a real model](price.py#first). Put it on the rotary models here, which were trained without a window: first a plain window of 16, then one of 15 that keeps the first token. The third way keeps the first token, too, but counts positions inside the window, as if the 16 tokens that are left were the whole text.

# %%
@torch.no_grad()
def share_counted_inside(model, length):
    """As above, but the model reads the first token and the last 15 as one text of 16."""
    right = []
    tokens, wanted, _ = texts(100, length)
    for end in range(length - 8, length):
        kept = torch.cat((tokens[:, :1], tokens[:, end - 14 : end + 1]), dim=1)
        right.append(model(kept)[:, -1].argmax(-1) == wanted[:, end])
    return torch.stack(right).double().mean().item()

# %%
sinks = {"window": [], "first": [], "inside": []}
for seed in range(3):
    torch.manual_seed(seed)
    model = models["rotary", seed]
    attention = model.attention
    sinks["inside"].append([share_counted_inside(model, length) for length in lengths])
    for name, window, kept in (("window", 16, 0), ("first", 15, 1)):
        attention.window, attention.sinks = window, kept
        sinks[name].append([share_right(model, length) for length in lengths])
    attention.window, attention.sinks = None, 0

# %%
called = {
    "window": "window of 16",
    "first": "window of 15, and the first token",
    "inside": "the same, counted inside the window",
}
print(*(f"{length:14} tokens" for length in lengths))
for name, rows in sinks.items():
    columns = (" ".join(f"{share:6.2f}" for share in sorted(one)) for one in zip(*rows))
    print(" ".join(columns), "", called[name])

# %% [markdown]
# Here the kept token does harm, at 48 tokens and at 192, with each seed: `max(row[3] for row in sinks["first"]) < 0.6`. Its distance grows with the text, and soon it's one that the model never had in training: the same trouble as before, with a single key. (At 96 tokens all goes well: what score an untrained distance gets is a matter of luck.) Counted inside the window, no distance is new, and the harm is gone, `min(row[3] for row in sinks["inside"]) > 0.9`.
#
# Why did it help the real model, then? That text was much shorter than what SmolLM2 was trained on, so no distance was new, and its heads had weight to put somewhere. The little models don't need that: counted inside the window, they're no better with the first token than without. So whether a model needs its first token depends on the model. But once text has been dropped, you always have to count right.
#
# ## What to take away {#take-away}
#
# - What broke these models was positions and distances that they never had in training, not the length of the text as such.
# - Every repair keeps the model near the distances that it knows. The window and ALiBi don't make it see far; interpolation can.
# - If you keep a sink beside a window, count positions inside the window.
#
# ## Try it yourself {#try}
#
# Download the notebook and change one thing at a time:
#
# - Narrow the window from 16 to 8. Expect it to be right less often, and equally often at every length.
# - Train on 48 tokens. Expect the learned table to hold up to 48, and no further.
#
# ## Where next {#next}
#
# Back to [longer contexts](../chapters/windows.md), or on to [the price of a bug](price.py#first), where the window is put on a real model.
