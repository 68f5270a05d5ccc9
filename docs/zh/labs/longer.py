# ---
# description: 用 24 个词元训练，一直读到 192 个：正弦编码、可学习的位置、RoPE、插值、ALiBi，以及有无注意力汇的窗口，各用三个种子；还有留住第一个词元在哪里会有害。
# ---

# %% [markdown]
# # 实验：比训练时更长 {#longer}
#
# [更长的上下文](../chapters/windows.md)那一章讲了超出训练长度会坏在哪里，怎样补救。在这个实验里，你用小模型把它们都试一遍，在自己的机器上稍等片刻就能跑完。你会看到：
#
# - 到训练长度的八倍，哪些位置的做法守得住，哪些守不住；
# - “守得住”不等于“看得见”：它们各自真正能往回看多远；
# - 注意力汇，也就是在窗口之外留住的第一个词元，有时反而有害；怎样数位置，才不会有害。
#
# ## 任务 {#task}
#
# 和那一章一样，文本由字母和数字组成，模型在每个词元处都要说出到目前为止最近的那个数字。一个模型就是一层注意力。

# %%
import torch
import torch.nn.functional as F
from torch import nn

from headwise import MultiHeadAttention
from headwise.drawing import plot
from headwise.positional import LearnedPositions, SinusoidalPositions
from headwise.rotary import Rotary

torch.set_default_dtype(torch.float64)  # 这样你的机器也得到同样的数
torch.set_num_threads(1)  # 模型小，线程多了只会互相等
trained, lengths = 24, (24, 48, 96, 192)


def texts(batch, length, digits=0.2):
    """词元、到目前为止最近的数字，以及它在往回多远的地方。"""
    tokens, letter = torch.randint(10, (batch, length)), torch.rand(batch, length) >= digits
    letter[:, 0] = False  # 这样总有一个数字
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
    """模型在最后八个位置上答对的比例。"""
    tokens, wanted, _ = texts(100, length)
    return (model(tokens).argmax(-1) == wanted)[:, -8:].double().mean().item()

# %%
torch.manual_seed(3)
tokens, wanted, _ = texts(1, 12)
print("词元", tokens[0].tolist())
print("答案", wanted[0].tolist())

# %% [markdown]
# ## 一直到八倍的长度 {#lengths}
#
# 五种模型，各用三个种子，都用 24 个词元训练。可学习的表为 192 个位置各备了一行，所以每个位置都能用。旋转位置的模型再量一次：文本长了多少倍，位置就除以多少，这就是位置插值，不再训练。

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
    "sine": "正弦编码",
    "learned": "可学习的位置",
    "rotary": "旋转位置",
    "ALiBi": "ALiBi",
    "window of 16": "旋转位置，窗口 16",
    "interpolated": "旋转位置，插值",
}
print(*(f"{length:14} 个词元" for length in lengths))
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
# 每一栏里，三个种子从低到高排列。正弦编码、可学习的位置和单纯的旋转位置，到两倍长度就已经垮了，每个种子都一样：`max(row[1] for kind in ("sine", "learned", "rotary") for row in found[kind]) < 0.7`。插值能撑很远，但拉得越长越差。ALiBi 和窗口守得住；种子的结果重叠的地方，没有谁更好。
#
# ## 它们能往回看多远？ {#reach}
#
# 每五个词元就有一个数字，所以最近的数字几乎总在近处。现在让数字变得稀少，二十个里才有一个，文本长 96 个词元，再按数字在往回多远的地方给答案分组。

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
    "rotary": "旋转位置",
    "interpolated": "旋转位置，插值",
    "ALiBi": "ALiBi",
    "window of 16": "窗口 16",
}
print(*(f"     往回 {a:2} 到 {b - 1:2}   " for a, b in zip(steps, steps[1:])))
for name, rows in reach.items():
    columns = ("  ".join(f"{share:5.2f}" for share in sorted(one)) for one in zip(*rows))
    print("   ".join(columns), "", called[name])

# %% [markdown]
# 窗口里面近乎完美，`min(row[1] for row in reach["window of 16"]) > 0.95`，外面什么也看不见，`max(row[2] for row in reach["window of 16"]) < 0.2`，本该如此。ALiBi 没有边界，但数字离得越远，传过来的越少；训练时从来不必看那么远的地方，就几乎传不过来了。所以文本可以要多长有多长，它们还是都看不远。插值在这个任务里看得远：`min(row[4] for row in reach["interpolated"]) > 0.9`，因为它让远处看上去像近处。不用插值，又需要远处的东西，就得在那么长的文本上训练。
#
# ## 注意力汇，以及怎样数位置 {#sinks}
#
# 留住第一个词元的窗口[救过一个真实的模型](price.py#first)。把它装到这里的旋转位置模型上，它们训练时没有窗口：先用宽为 16 的普通窗口，再用宽为 15、外加第一个词元的窗口。第三种做法也留住第一个词元，但是在窗口里面数位置，好像留下的 16 个词元就是整篇文本。

# %%
@torch.no_grad()
def share_counted_inside(model, length):
    """同上，但模型把第一个词元和最后 15 个当成一篇 16 个词元的文本来读。"""
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
    "window": "窗口 16",
    "first": "窗口 15，外加第一个词元",
    "inside": "同上，在窗口里面数位置",
}
print(*(f"{length:14} 个词元" for length in lengths))
for name, rows in sinks.items():
    columns = (" ".join(f"{share:6.2f}" for share in sorted(one)) for one in zip(*rows))
    print(" ".join(columns), "", called[name])

# %% [markdown]
# 在这里，留住的词元反而有害：长度为 48 和 192 时，每个种子都是如此：`max(row[3] for row in sinks["first"]) < 0.6`。它的距离随着文本变长，很快就成了模型训练时从没见过的距离：还是前面那个毛病，只不过出在一个键上。（长度为 96 时一切正常：没训练过的距离得几分，全凭运气。）在窗口里面数，就没有新的距离，害处也没有了，`min(row[3] for row in sinks["inside"]) > 0.9`。
#
# 那么它为什么救得了真实的模型？那段文本比 SmolLM2 训练时见过的短得多，没有新的距离，而它的头又有权重要找地方放。这里的小模型不需要：在窗口里面数，有没有第一个词元，它们都一样好。所以，需不需要第一个词元，要看模型。但只要丢掉了文本，位置就必须数对。
#
# ## 记住什么 {#take-away}
#
# - 弄坏这些模型的，是训练时从没见过的位置和距离，不是文本长这件事本身。
# - 每种补救都让模型留在它认识的距离附近。窗口和 ALiBi 不会让它看得远，插值可以。
# - 在窗口之外留注意力汇，就要在窗口里面数位置。
#
# ## 自己试一试 {#try}
#
# 下载这个笔记本，每次改一处：
#
# - 把窗口从 16 收窄到 8。预计它答对得少一些，但每个长度上一样多。
# - 用 48 个词元训练。预计可学习的表能撑到 48，再长就不行。
#
# ## 接下来 {#next}
#
# 回到[更长的上下文](../chapters/windows.md)，或者接着看[错误的代价](price.py#first)，那里把窗口装到了真实的模型上。
