# ---
# description: The sine code under the microscope – shifts as rotations, similarity over distance, what quick and slow columns are good for, and what a trained model does beyond the length it was trained on.
# ---

# %% [markdown]
# # Lab: positions {#positions}
#
# [The chapter on positional encoding](../chapters/positional.md) says what the sine code is. In this lab you take it apart. You will see
#
# - that moving on turns each pair of columns by an angle of its own, and that a table of random vectors does nothing of the kind;
# - how alike two positions are, depending on their distance;
# - what you can read off the quick columns, and what off the slow ones;
# - how four small models, trained on 24 tokens, cope with 96.
#
# ## Moving on is turning {#turn}
#
# Each pair of columns is a point on a circle. Move on by `k = 3` positions, and measure by which angle the point has turned: for four of the sixteen pairs, from three places.

# %%
import torch

from headwise.drawing import plot
from headwise.positional import LearnedPositions, SinusoidalPositions, frequencies, sinusoidal

torch.set_default_dtype(torch.float64)  # so that your machine gets the same
torch.set_num_threads(1)  # for small models, more would wait for each other
d_model, k = 32, 3
code = sinusoidal(512, d_model, dtype=torch.float64)  # (512, d_model)
circles = code.view(512, d_model // 2, 2)
angles = torch.atan2(circles[..., 0], circles[..., 1])  # (512, d_model / 2)

shown = [0, 2, 4, 8]
print("pair     ", *(f"{i:7}" for i in shown))
for p in (0, 10, 500):
    turned = (angles[p + k] - angles[p]).remainder(2 * torch.pi)
    print(f"from {p:3}:", *(f"{turned[i]:7.4f}" for i in shown))
print("k · ω:   ", *(f"{k * w:7.4f}" for w in frequencies(d_model)[shown]))

# %% [markdown]
# The three rows are the same: the angle depends on the pair and on `k`, not on where you start. So a single matrix works for all positions: it's `shift_matrix`{.text} from the chapter.
#
# Is that anything special, or would any table of vectors do? Let's fit a matrix, by least squares, that turns each code into the code three positions later. We fit it on the first 200 positions and then try it on the next 200. We use the eight quickest pairs, because the slowest hardly move within 200 positions, so there's nothing to fit.

# %%
torch.manual_seed(0)
errors = {}
for name, table in (("sine", code[:400, :16]), ("random", torch.randn(400, 16))):
    fitted = torch.linalg.lstsq(table[: 200 - k], table[k:200]).solution  # (16, 16)
    for part in (slice(0, 200 - k), slice(200, 400 - k)):
        wanted = table[part.start + k : part.stop + k]
        error = ((table[part] @ fitted - wanted).norm() / wanted.norm()).item()
        errors[name, part.start] = error

# %%
called = {"sine": "sine", "random": "random"}
for (name, start), error in errors.items():
    print(f"from position {start:3} on, error {error:.3f}   {called[name]}")

# %% [markdown]
# For the sine code, only rounding errors are left, even on positions that the fit has never seen: `max(errors["sine", 0], errors["sine", 200]) < 1e-9`. For random vectors, the matrix is hardly any better than answering with zeros, which would give an error of 1; on the new positions it's even worse. So with the sine code, a model has to learn "three back" only once; with random vectors, it would have to learn it again at every position.
#
# ## How alike are two positions? {#similarity}
#
# A score is a dot product, so let's take the dot product of every code with every other. We divide by `d_model / 2`, which makes the diagonal 1.

# %%
places = [str(p) if p % 8 == 0 else "" for p in range(48)]
alike = (code @ code.T / (d_model / 2)).round(decimals=6)  # (512, 512)
plot.heatmap(alike[:48, :48], places, axes=("p", "q"), title="PE(p) · PE(q) ÷ (d_model / 2)")

# %% [markdown]
# You see stripes along the diagonal: all that counts is how far apart two positions are. Here is the same as a line, for three widths.

# %%
widths = {}
for width in (8, 32, 128):
    first = sinusoidal(61, width, dtype=torch.float64)
    widths[f"d_model = {width}"] = first @ first[0] / (width / 2)

y_label = "PE(p) · PE(q) ÷ (d_model / 2)"
plot.lines(widths, x_label="distance", y_label=y_label, zh={"distance": "距离"})

# %% [markdown]
# The line falls quickly at first, but not evenly: here and there, a position farther away is more alike than a nearer one. The two wider codes don't fall to nothing either, because many of their columns hardly move over such a distance. And it can't tell before from after: `torch.allclose(alike[100, 95], alike[100, 105])`. If a model needs to tell them apart, $W_q$ and $W_k$ have to turn the code first.
#
# ## What quick and slow columns know {#quick-slow}
#
# Add a little noise to each code, then look for the nearest clean one: which position was it? We do this with only some of the columns at a time. A pair of columns comes round after $2\pi / \omega$ positions, and that's how we group them.

# %%
torch.manual_seed(0)
disturbed = code + 0.2 * torch.randn(512, d_model)
groups = {
    "up to 20": slice(0, 6),
    "35 to 200": slice(6, 14),
    "over 350": slice(14, 32),
    "all": slice(0, 32),
}
exact, far = {}, {}
for name, columns in groups.items():
    nearest = torch.cdist(disturbed[:, columns], code[:, columns]).argmin(dim=-1)  # (512,)
    off = (nearest - torch.arange(512)).abs()
    exact[name] = (off == 0).double().mean().item()
    far[name] = (off > 50).double().mean().item()

# %%
called = {
    "up to 20": "up to 20",
    "35 to 200": "35 to 200",
    "over 350": "over 350",
    "all": "all",
}
print("exact  off by more than 50  comes round after")
for name in groups:
    print(f"{exact[name]:5.2f} {far[name]:20.2f} ", called[name])

# %% [markdown]
# The quick columns either hit the position exactly or miss it by a wide margin, because they come round again and again: `far["up to 20"] > 0.1`. The slow ones are never far off, and almost never exact: `far["over 350"] == 0` and `exact["over 350"] < 0.1`. Together they are nearly always right, `exact["all"] > 0.95`. The digits of a number work the same way: the last digit changes at every step, but it doesn't tell you how large the number is.
#
# ## Beyond the length of training {#longer}
#
# Now a task in which position is everything: name the token three places back. The model has a single layer. We train it on sequences of 24 tokens, and test it on 96.

# %%
import torch.nn.functional as F
from torch import nn

from headwise.layers import EncoderLayer

vocab, trained, longest = 10, 24, 96


class LookBack(nn.Module):
    def __init__(self, positions):
        super().__init__()
        self.embed = nn.Embedding(vocab, d_model)
        self.positions = positions
        self.layer = EncoderLayer(d_model, 4, dropout=0.0, norm_first=True)
        self.out = nn.Linear(d_model, vocab)

    def forward(self, tokens, start=0):
        x = self.embed(tokens)  # (batch, seq_len, d_model)
        if self.positions is not None:
            x = self.positions(x, start)
        return self.out(self.layer(x))  # (batch, seq_len, vocab)


def train(model, largest_start):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(300):
        tokens = torch.randint(vocab, (8, trained))
        start = int(torch.randint(largest_start + 1, ()))
        logits = model(tokens, start)[:, k:].flatten(0, 1)
        loss = F.cross_entropy(logits, tokens[:, :-k].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def share_right(model, seq_len):
    """How often the model is right at each position from k on."""
    tokens = torch.randint(vocab, (200, seq_len))
    found = model(tokens).argmax(dim=-1)
    return (found[:, k:] == tokens[:, :-k]).double().mean(dim=0)


print(LookBack(SinusoidalPositions())(torch.randint(vocab, (8, trained))).shape)

# %% [markdown]
# The output is logits: at every position of the 8 sequences, one for each of ten tokens. We compare four models: without positions; with a learned table, which has a row for each of the 96 positions; with the sine code; and with the sine code again, but in training each batch starts at a random position, so that the model gets to see all 96. Each of them is trained from three seeds. Which one would you bet on?

# %%
kinds = {
    "none": (lambda: None, 0),
    "learned": (lambda: LearnedPositions(longest, d_model), 0),
    "sine": (SinusoidalPositions, 0),
    "sine, random start": (SinusoidalPositions, longest - trained),
}
short, right = {}, {}
for name, (make, largest_start) in kinds.items():
    rows = []
    for seed in (0, 1, 2):
        torch.manual_seed(seed)
        model = LookBack(make())
        train(model, largest_start)
        rows.append((share_right(model, trained), share_right(model, longest)))
    short[name], right[name] = map(torch.stack, zip(*rows))  # one row for each seed
inside = {name: shares[:, : trained - k].mean(dim=1) for name, shares in right.items()}
beyond = {name: shares[:, trained - k :].mean(dim=1) for name, shares in right.items()}

# %%
called = {
    "none": "none",
    "learned": "learned",
    "sine": "sine",
    "sine, random start": "sine, random start",
}
print("    24 tokens         96: first 24        96: the rest")
for name in kinds:
    seen = (short[name].mean(dim=1), inside[name], beyond[name])
    print("   ".join(" ".join(f"{share:5.2f}" for share in row) for row in seen), "", called[name])

# %%
window = 6
means = {
    name: shares.mean(dim=0)[:90].view(-1, window).mean(dim=-1) for name, shares in right.items()
}
middles = [k + window * (i + 0.5) for i in range(90 // window)]
plot.lines(
    means,
    middles,
    x_label="position (training ends at 23)",
    y_label="share right",
    zh={
        "position (training ends at 23)": "位置（训练到 23 为止）",
        "share right": "正确率",
        "none": "没有位置",
        "learned": "可学习的表",
        "sine": "正弦编码",
        "sine, random start": "正弦编码，随机起点",
    },
)

# %% [markdown]
# Each column has three numbers, one for each seed; the plot shows their mean.
#
# - **None**: about one in five on 24 tokens, fewer on 96. Guessing would be one in ten. All that this model can know is which tokens there are, and how often.
# - **Learned**: nearly always right on 24 tokens; as soon as it reaches rows of its table that training never touched, it guesses.
# - **Sine**: nearly always right on 24 tokens, `short["sine"].mean(dim=1).min() > 0.95`. Beyond, it falls just as steeply with each seed, `beyond["sine"].max() < 0.4`, though the code is defined everywhere and one rotation would do. What training found works for 24 positions only. It even loses some of the first 24, `inside["sine"].max() < short["sine"].mean(dim=1).min()`, presumably because now there are keys that it never learned to ignore. (The learned table keeps its first 24. It has such keys, too, but the rows that training never touched are still random vectors, unlike anything that its queries look for.) In the plot it recovers a little around 66, and it does so with each seed: `right["sine"][:, 60:66].mean(dim=1).min() > 0.3`. We don't know why. One guess is that the quickest columns have come round to a position that it knows; but then it should recover earlier, too, and it doesn't.
# - **Sine, random start**: the best of the four beyond 24, with each seed, though it's not always right. It has met every position, but never a sequence of 96 tokens, in which more keys compete for each query's weight.
#
# ## What to take away {#take-away}
#
# - A shift is a rotation, and one matrix can learn it. That it **can** doesn't mean that training finds it.
# - Quick columns tell neighbours apart, slow ones tell regions apart, and you need both.
# - A model knows the positions that it was trained on. If you need it to work at some length, train and test it at that length.
#
# ## Try it yourself {#try}
#
# Download the notebook and change one thing at a time:
#
# - Train with half as many tokens, 12 instead of 24. Expect the sine code to break down earlier, and a random start to help much less: 96 tokens are now eight times as many as it has met at once.
# - Hide the later tokens, with `self.layer(x, is_causal=True)`{.text}. Expect all models with positions to get their first 24 right: later keys can no longer interfere. The model without positions gets a little better too, since the first tokens now have fewer to choose from. Whether it helps the model with the random start beyond 24 is hard to say: the seeds differ by more.
#
# ## Where next {#next}
#
# Back to [positional encoding](../chapters/positional.md), or on to [the lab against RNNs](rnn.py), where some models know the order without being told.
