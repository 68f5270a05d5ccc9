# ---
# description: 把循环网络和注意力放在一起跑：串行步数，时间怎样随长度增长，大小相近的模型做两个任务，以及训练前后的梯度。
# varies: true
# ---

# %% [markdown]
# # 实验：与 RNN 比较 {#rnn}
#
# [与 RNN 比较](../chapters/rnn.md)那一章数的是运算。在这个实验里，你来把模型跑起来。你会看到：
#
# - 必须串行的调用有多少，怎样随长度变化；
# - 在构建本页的机器上，时间怎样增长；
# - 两个任务，一个适合注意力，一个适合循环网络，都由参数差不多一样多的四个模型来学：普通的 RNN、带[门](../chapters/rnn.md#gradient)的 GRU 和 LSTM，还有注意力；
# - 从远处传来的梯度有多大，训练之前和训练之后。
#
# 每个模型都用三个种子各训练一遍，三个结果都列出来：只有三次都出现的，才写进正文。
#
# ## 串行步数 {#steps}
#
# PyTorch 把“什么由什么算出来”记成一张图。从最后一个输出沿着图走回第一个词元，最长的那条路上有多少次运算，就有多少次调用必须串行，一个接一个地做。（数的是 PyTorch 的调用，改变形状的也算；一次调用里面，硬件还要几步，这里不数。）

# %%
import functools

import torch
from torch import nn

from headwise import MultiHeadAttention
from headwise.drawing import plot

torch.set_default_dtype(torch.float64)  # 让你的机器得到同样的数
torch.set_num_threads(1)  # 模型小，线程多了反而互相等待
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
names = {"RNN": "RNN", "GRU": "GRU", "LSTM": "LSTM", "attention": "注意力"}
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
# 三条斜线，一条平线。有门的更陡，因为每个词元都多了几步运算。注意力是平的，次数与长度无关；起点不低，是因为把投影也算上了。
#
# ## 时间与长度 {#time}
#
# 换算成时间，能差多少？前向加反向，批次为 1，宽度 64，用平常训练时的 float32。宽度相同，参数却不一样多：RNN 有 $2d^2$ 个，注意力 $4d^2$ 个，LSTM $8d^2$ 个，偏置不算。几个模型在同一次运行里轮流上场，各取最快的一轮。和[开销实验](cost.py#time)里一样，读的是处理器时间。这些数字属于构建本页的机器，换到你的机器上会不同。

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
print("时间是注意力的几倍")
print(*(f"{f'n = {n}':>9}" for n in lengths))
for name in ("RNN", "LSTM"):
    ratios = [a / b for a, b in zip(best[name], best["attention"], strict=True)]
    print(*(f"{ratio:9.1f}" for ratio in ratios), "", names[name])
print("长度加倍，时间变成几倍")
for name, times in best.items():
    print(*(f"{b / a:9.1f}" for a, b in zip(times, times[1:])), " " * 10, names[name])
print("五轮的中位数是最快一轮的几倍")
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
# 循环网络是一小步接一小步，所以时间与长度成正比；启动还占着一部分时间的时候，涨得慢一些。注意力只有几大步。起初，多几个词元费不了多少；后来平方就显出来了，每次加倍都比上一次更贵。看第一张表就知道，LSTM 正在追上来：到头来，平方总会超过任何一条直线。（最后一张表说明一轮与一轮能差多少：比这还小的差别，不要当真。）
#
# 你可能以为 LSTM 最慢，毕竟它每个词元要做的最多。结果却不是：在 CPU 上，PyTorch 把 float32 的 LSTM 交给 oneDNN 库，一次调用就走完整个序列；RNN 和 GRU 没有这样的待遇，换成 float64，LSTM 也没有。步子照样串行，只是每一步便宜了许多。所以串行步数不等于时间：一个核的时候，要看实现得好不好；只有能同时做许多事的硬件（多核、GPU），串行步数才成为上限。
#
# ## 适合注意力的任务：找到做了记号的词元 {#find}
#
# 现在让它们学。一串随机的词元，从 0 到 7，其中一个做了记号，位置不定；读到末尾，说出它是哪一个。四个模型，宽度都挑过，让参数差不多一样多。你押哪一个？

# %%
import torch.nn.functional as F

from headwise.positional import SinusoidalPositions

vocab = 8
widths = {"RNN": 24, "GRU": 12, "LSTM": 10, "attention": d}


def sample(batch, n, marks):
    """一些做了记号的词元；最后一个记号的值；它离末尾多远。"""
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
        """由嵌入 (batch, n, d) 得到每个值的 logit。"""
        out = self.core(x)
        if isinstance(out, tuple):  # 循环网络还会返回最后的状态
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
    print(f"{size} 个参数", names[kind])

# %% [markdown]
# 三个序列，各六个词元。做了记号的词元写成 8 加上它的值，一眼就能认出来；序列后面，是各自要答的值，以及它们离末尾有多远。

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
    """答对的比例，距离等分成几段，每段一个。"""
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
print("三个种子各自的正确率")
for kind, shares in found.items():
    print(*(f"{share:5.2f}" for share in shares.mean(dim=1)), "", names[kind])

means = {kind: shares.mean(dim=0) for kind, shares in found.items()}
middles = [round((n - 1) * (i + 0.5) / parts) for i in range(parts)]
plot.lines(means, middles, x_label="distance", y_label="share right", zh=chinese)

# %% [markdown]
# 距离分成四段；图上是各个种子的平均。注意力和 GRU，不论哪个种子、不论远近都找得到，它们的线叠在一起：`min(found["attention"].min(), found["GRU"].min()) > 0.95`。LSTM 在这点时间里能学到多少，要看种子。普通的 RNN，哪个种子都没学会，就算词元很近也一样：`found["RNN"].max() < 0.4`，而瞎猜是八个里对一个。
#
# 所以“循环网络健忘”这话并不准确：有了门，就能把一个词元从头记到尾，这里的 GRU 就做到了。这个任务也确实适合注意力：它只要学会找记号，而到了提问的时候，每个词元都在手边。
#
# ## 适合循环网络的任务：几个里最后的那个 {#latest}
#
# 现在有四个词元做了记号，要答的是**最后**一个。循环网络只要把记着的改掉就行。注意力却同时看见四个记号，得凭位置判断哪个在最后。我们用 20 个词元训练，在 20 个和 40 个上测。

# %%
n = 20
latest = {}
for kind in widths:
    keepers = [train(kind, n, 4, 300, seed) for seed in seeds]
    rows = [[share_right(model, k, 4, 1).item() for model in keepers] for k in (n, 2 * n)]
    latest[kind] = torch.tensor(rows)  # (2, 3)

# %%
print("      20 个词元            40 个词元")
for kind, (short, long) in latest.items():
    one, two = (" ".join(f"{share:5.2f}" for share in shares) for shares in (short, long))
    print(one, "  ", two, "", names[kind])

# %% [markdown]
# 20 个词元时，四个模型都几乎全对，每个种子都是：`min(shares[0].min() for shares in latest.values()) > 0.9`。长度加倍，三个循环网络照样管用，`min(latest[kind][1].min() for kind in ("RNN", "GRU", "LSTM")) > 0.9`，因为每读一个词元，做的事都与总长无关；连第一个任务里没学会的普通 RNN 也行，因为最后一个记号通常就在近处。这个注意力学会的，是 20 个位置里谁在后面，换成 40 个就不灵了：`latest["attention"][1].max() < 0.8`。它只有一层，没有前馈网络，位置用的是绝对的正弦编码；换一种注意力，结果可能不同。[关于位置的实验](positions.py#longer)里，另一个任务也是这样。
#
# ## 训练之前和之后的梯度 {#gradient}
#
# 回到第一个任务。答案在多大程度上取决于做了记号的词元，远近有没有差别？看梯度的范数就知道。训练会让 logits 整体变大，梯度也跟着变大，所以每个模型都以最近的一段为 1，只比远近。先看没有训练过的模型：

# %%
def felt(model, n, parts):
    """答案在多大程度上取决于做了记号的词元，距离等分成几段，最近的一段为 1。"""
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
# [和那一章里一样](../chapters/rnn.md#gradient)，在循环网络里，每过一个词元，传来的梯度就按比例缩小；在注意力里，从哪里传来都差不多。再看第一个任务里训练好的模型，还有最远的一段在每个种子下是多少：

# %%
means = {kind: rows.mean(dim=0) for kind, rows in after.items()}
plot.lines(means, middles, x_label="distance", y_label="|gradient|, after", log_y=True, zh=chinese)

# %%
print("最远的一段：训练前，训练后")
for kind in widths:
    one, two = (" ".join(f"{x:7.0e}" for x in rows[:, -1]) for rows in (before[kind], after[kind]))
    print(one, "  ", two, "", names[kind])

# %% [markdown]
# GRU 和 LSTM 变了，每个种子都是：最远的一段至少大了一千倍，`min((after[kind] / before[kind])[:, -1].min() for kind in ("GRU", "LSTM")) > 1000`。一开始只有那么一点梯度，它们是怎么学会的？有些记号就在末尾附近，从那里是有梯度传来的。一种说得通的解释是：它们由此学会了把做了记号的词元记住；能隔着几个词元记住，也就能隔着许多个记住。（“自己试试”的最后一项可以检验它。）普通的 RNN 从远处得到的大多仍然很少（有一个种子大一些，也没有学会）。注意力一开始就有近路。
#
# ## 小结 {#take-away}
#
# - 序列越长，这几种循环网络必须串行的调用就越多，注意力却不会。换算成时间能差多少，要看机器，也要看长度。
# - 一开始梯度消失，是障碍，但不是定局。在这里，GRU 每个种子都克服了它，LSTM 克服了一部分，普通的 RNN 没有。
# - 两个小任务，排不出简单的高下：这里的注意力不论远近都找得到，却不会把“谁在后面”用到更长的序列上；普通的 RNN 正好相反；GRU 都做得到。
# - 每个模型三个种子，都很小，训练得也短：够推翻一句口号，不够再立一句新的。
#
# ## 自己试试 {#try}
#
# 下载笔记本，一次只改一处：
#
# - 关掉 oneDNN 再测时间：把测时间的循环放进 `with torch.backends.mkldnn.flags(enabled=False):`{.text}。你会看到：LSTM 慢了许多，落在 RNN 后面。
# - 训练之前先打开 LSTM 的遗忘门：在 `train`{.text} 里，如果是 LSTM，就在 `torch.no_grad()` 之下写上 `model.core.bias_ih_l0[10:20] = 3`{.text}。你会看到：不论哪个种子，它找到的都多了。
# - 只用远处的记号训练：只留下 `distance > 20`{.text} 的样本。你会看到：注意力不受影响；LSTM 和 GRU 差了许多。它们原来就是从近处的记号学起的。
#
# ## 接下来 {#next}
#
# 回到[与 RNN 比较](../chapters/rnn.md)那一章，或者去看[注意力的开销](cost.py)。
