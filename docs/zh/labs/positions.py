# ---
# description: 把正弦编码拆开来看：平移为什么是旋转，相似程度怎样随距离变化，快的列和慢的列各有什么用，以及训练好的模型到了更长的序列上会怎样。
# ---

# %% [markdown]
# # 实验：位置 {#positions}
#
# [位置编码](../chapters/positional.md)那一章讲了正弦编码是什么。在这个实验里，你来把它拆开。你会看到：
#
# - 往后挪，就是让每一对列各自转过一个固定的角；一张随机向量的表没有这种性质；
# - 两个位置有多相似，怎样随距离变化；
# - 转得快的列知道什么，转得慢的列又知道什么；
# - 四个小模型，用 24 个词元训练，遇到 96 个会怎样。
#
# ## 往后挪就是转 {#turn}
#
# 每一对列都是圆上的一个点。往后挪 `k = 3` 个位置，量一量这个点转过了多大的角：十六对里挑四对，从三个地方出发。

# %%
import torch

from headwise.drawing import plot
from headwise.positional import LearnedPositions, SinusoidalPositions, frequencies, sinusoidal

torch.set_default_dtype(torch.float64)  # 这样你的机器也得到同样的数
torch.set_num_threads(1)  # 模型小，线程多了只会互相等
d_model, k = 32, 3
code = sinusoidal(512, d_model, dtype=torch.float64)  # (512, d_model)
circles = code.view(512, d_model // 2, 2)
angles = torch.atan2(circles[..., 0], circles[..., 1])  # (512, d_model / 2)

shown = [0, 2, 4, 8]
print("第几对  ", *(f"{i:7}" for i in shown))
for p in (0, 10, 500):
    turned = (angles[p + k] - angles[p]).remainder(2 * torch.pi)
    print(f"从 {p:3} 起", *(f"{turned[i]:7.4f}" for i in shown))
print("k · ω:   ", *(f"{k * w:7.4f}" for w in frequencies(d_model)[shown]))

# %% [markdown]
# 三行完全一样：转过的角取决于是哪一对、`k` 是多少，与从哪里出发无关。所以一个矩阵就能管住所有位置，它就是那一章里的 `shift_matrix`{.text}。
#
# 这有什么了不起？随便一张向量的表不行吗？用最小二乘拟合一个矩阵，让它把每个编码变成往后三个位置的编码。用前 200 个位置来拟合，再拿后 200 个来试。只取最快的八对列：最慢的那些，200 个位置里几乎不动，没有什么可拟合的。

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
called = {"sine": "正弦编码", "random": "随机向量"}
for (name, start), error in errors.items():
    print(f"从位置 {start:3} 起，误差 {error:.3f}   {called[name]}")

# %% [markdown]
# 对正弦编码，误差只剩舍入，没有拟合过的位置也一样：`max(errors["sine", 0], errors["sine", 200]) < 1e-9`。对随机向量，这个矩阵比全部填 0 强不了多少（填 0 的误差是 1），到了新的位置上，还不如填 0。“往前看三个”，用前者只要学一件事；用后者，每个位置都得另学一遍。
#
# ## 两个位置有多相似？ {#similarity}
#
# 分数是点积，那就让所有编码两两做点积。除以 `d_model / 2` 之后，对角线上都是 1。

# %%
places = [str(p) if p % 8 == 0 else "" for p in range(48)]
alike = (code @ code.T / (d_model / 2)).round(decimals=6)  # (512, 512)
plot.heatmap(alike[:48, :48], places, axes=("p", "q"), title="PE(p) · PE(q) ÷ (d_model / 2)")

# %% [markdown]
# 条纹与对角线平行：要紧的只是两个位置相距多远。再画成线，取三种宽度。

# %%
widths = {}
for width in (8, 32, 128):
    first = sinusoidal(61, width, dtype=torch.float64)
    widths[f"d_model = {width}"] = first @ first[0] / (width / 2)

y_label = "PE(p) · PE(q) ÷ (d_model / 2)"
plot.lines(widths, x_label="distance", y_label=y_label, zh={"distance": "距离"})

# %% [markdown]
# 线一开始降得很快，但不是一路往下：有的位置更远，反而更相似。宽一些的那两种也不会一直降到没有：在这么短的距离里，它们有许多列几乎不动。而且它分不清前后：`torch.allclose(alike[100, 95], alike[100, 105])`。模型要分清前后，得靠 $W_q$ 和 $W_k$ 先把编码转一转。
#
# ## 快的列和慢的列各知道什么 {#quick-slow}
#
# 给每个编码加一点噪声，再去找离它最近的、没有噪声的编码：原来是哪个位置？找的时候只用一部分列。一对列过 $2\pi / \omega$ 个位置转回原处，就按这个数给它们分组。

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
    "up to 20": "20 以内",
    "35 to 200": "35 至 200",
    "over 350": "350 以上",
    "all": "全部",
}
print(" 正中           差 50 以上  转一圈要多少个位置")
for name in groups:
    print(f"{exact[name]:5.2f} {far[name]:20.2f} ", called[name])

# %% [markdown]
# 快的列要么正中，要么差得很远，因为它们转了一圈又一圈：`far["up to 20"] > 0.1`。慢的列从不差得太远，也几乎从不正中：`far["over 350"] == 0`，`exact["over 350"] < 0.1`。合在一起，几乎总是对的，`exact["all"] > 0.95`。数字也是这样：个位每一步都变，却看不出这个数有多大。
#
# ## 比训练时更长 {#longer}
#
# 现在换一个全靠位置的任务：说出往前第三个词元是什么。模型只有一层，用 24 个词元的序列训练，用 96 个词元的序列来测。

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
    """从第 k 个位置起，每个位置上答对的比例。"""
    tokens = torch.randint(vocab, (200, seq_len))
    found = model(tokens).argmax(dim=-1)
    return (found[:, k:] == tokens[:, :-k]).double().mean(dim=0)


print(LookBack(SinusoidalPositions())(torch.randint(vocab, (8, trained))).shape)

# %% [markdown]
# 输出是 logits：8 个序列的每个位置上，十个词元各一个。现在来四个模型：没有位置；可学习的表，96 个位置每个一行；正弦编码；还是正弦编码，但训练时每一批都从一个随机的位置开始，这样 96 个位置模型全都见过。每个都从三个种子各训练一遍。你押哪一个？

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
    short[name], right[name] = map(torch.stack, zip(*rows))  # 每个种子一行
inside = {name: shares[:, : trained - k].mean(dim=1) for name, shares in right.items()}
beyond = {name: shares[:, trained - k :].mean(dim=1) for name, shares in right.items()}

# %%
called = {
    "none": "没有位置",
    "learned": "可学习的表",
    "sine": "正弦编码",
    "sine, random start": "正弦编码，随机起点",
}
print("    24 个词元         96 个：前 24 个      96 个：其余")
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
# 每栏三个数，每个种子一个；图上是它们的平均。
#
# - **没有位置**：24 个词元时大约五个里对一个，96 个时更少。纯猜是十个里对一个；它能知道的，只有序列里有哪些词元、各有几个。
# - **可学习的表**：24 个词元几乎全对；一碰到表里没有训练过的行，就只能猜。
# - **正弦编码**：24 个词元几乎全对，`short["sine"].mean(dim=1).min() > 0.95`。再往后，每个种子都跌得一样陡，`beyond["sine"].max() < 0.4`，尽管编码处处有定义，一个旋转就够用。训练找到的东西只对这 24 个位置管用。就连前 24 个也错了一些，`inside["sine"].max() < short["sine"].mean(dim=1).min()`，多半是因为多出来的那些键，它从没学过要避开。（可学习的表没有丢掉前 24 个。它也多出了这样的键，可是没训练过的那些行还是随机向量，和它的查询要找的东西一点也不像。）图上在 66 附近又回升了，每个种子都有：`right["sine"][:, 60:66].mean(dim=1).min() > 0.3`。为什么，我们不知道。最快的几对列在那里差不多又转回了某个见过的位置，这是一种猜想；可是照这个猜想，更早一些就该回升，而那里并没有。
# - **正弦编码，随机起点**：在 24 之后，它是四个里最好的，每个种子都是，但也不是全对。每个位置它都见过；可是 96 个词元的序列它没见过，那里有更多的键来争每个查询的权重。
#
# ## 小结 {#take-away}
#
# - 平移就是旋转，一个矩阵就学得会。**学得会**，不等于训练一定能找到。
# - 快的列分得清邻居，慢的列分得清在哪一段，缺一不可。
# - 模型认得的，是训练过的位置。要在多长的序列上用，就在多长的序列上训练和测试。
#
# ## 自己试试 {#try}
#
# 下载笔记本，一次只改一处：
#
# - 把训练用的词元减半，从 24 个换成 12 个。你会看到：正弦编码更早失灵；随机起点的帮助也小多了，因为 96 个词元是它一次见过的八倍。
# - 把后面的词元遮住：`self.layer(x, is_causal=True)`{.text}。你会看到：有位置的模型，前 24 个全都对了，因为后面的键不再来捣乱。没有位置的模型也好了一点，因为排在前面的词元，可挑的少了。至于随机起点的那个，24 之后是不是也更好，就不好说了：种子之间差得更多。
#
# ## 接下来 {#next}
#
# 回到[位置编码](../chapters/positional.md)，或者去看[与 RNN 比较的实验](rnn.py)：那里有的模型不用人告诉，就知道顺序。
