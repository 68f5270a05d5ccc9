# ---
# description: 把循环网络和注意力放在一起跑：串行步数，时间怎样随长度增长，参数一样多时的两个任务，以及训练前后的梯度。
# varies: true
# ---

# %% [markdown]
# # 实验：与 RNN 比较 {#rnn}
#
# [与 RNN 比较](../chapters/rnn.md)那一章数的是运算。在这个实验里，你来把模型跑起来。你会看到：
#
# - 必须串行的运算有多少，怎样随长度变化；
# - 在构建本页的机器上，时间怎样增长；
# - 两个任务，一个适合注意力，一个适合循环网络，都由参数差不多一样多的四个模型来学：普通的 RNN、带[门](../chapters/rnn.md#gradient)的 GRU 和 LSTM，还有注意力；
# - 从远处传来的梯度有多大，训练之前和训练之后。
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

torch.set_default_dtype(torch.float64)  # 这样你的机器也得到同样的数
torch.set_num_threads(1)  # 模型小，线程多了只会互相等
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
# 三条斜线，一条平线。门给每个词元添了运算；注意力的次数与长度无关，这里把投影也算上了。
#
# ## 时间与长度 {#time}
#
# 换成时间，这值多少？前向加反向，批次为 1，宽度 64。用的是 float64，宽度相同，参数却不一样多：RNN 有 $2d^2$ 个，注意力 $4d^2$ 个，LSTM $8d^2$ 个，偏置不算。几个模型在同一次运行里轮流上场，各取最快的一轮。这些数字属于构建本页的机器，换到你的机器上会不同。

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
# 循环网络是一小步接一小步：时间大致随长度成比例地增长。注意力只有几大步。起初，多几个词元几乎不费什么；后来平方就显出来了，长到一定程度，它会落在后面。这里只有一个核在干活；核多了，或者用上 GPU，注意力更能从中得益。
#
# ## 适合注意力的任务：找到做了记号的词元 {#find}
#
# 现在让它们学。一串随机的词元，从 0 到 7，其中一个做了记号，位置不定；读到末尾，说出它是哪一个。四个模型，宽度都挑过，让参数差不多一样多：

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
        if isinstance(out, tuple):  # 循环网络还会返回最后的状态
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
# 三个序列，各六个词元。做了记号的词元写成 8 加上它的值，一眼就能认出来；后面是要答的值，以及它离末尾有多远。

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
# 距离分成六段，每段一个数。注意力和 GRU，词元在哪里都找得到，它们的线叠在一起：`min(found["attention"] + found["GRU"]) > 0.95`。LSTM 还在路上。普通的 RNN 只是在猜，八个里对一个，就算词元很近也一样：`max(found["RNN"]) < 0.25`。
#
# 所以“循环网络健忘”这话并不准确。有了门，一个词元要记多久就能记多久。这个任务也确实适合注意力：它只要学会找记号，而到了提问的时候，每个词元都在手边。
#
# ## 适合循环网络的任务：几个里最后的那个 {#latest}
#
# 现在有四个词元做了记号，要答的是**最后**一个。循环网络只要把记着的改掉就行；注意力却同时看见四个记号，得凭位置判断哪个在最后。用 30 个词元训练，在 30 个和 60 个上测。

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
# 这一回，领先的是 GRU 和 LSTM，连普通的 RNN 也跟得上注意力，因为最后一个记号通常就在近处。长度加倍，它们照样管用，`latest["LSTM"][1] > 0.95`，因为每读一个词元，做的事都与总长无关；普通的那个略差一些。注意力学会的，是 30 个位置里谁在后面，换成 60 个就不灵了：`latest["attention"][1] < 0.6`。[关于位置的实验](positions.py#longer)里，另一个任务也是这样。
#
# ## 训练之前和之后的梯度 {#gradient}
#
# 回到第一个任务。答案在多大程度上取决于做了记号的词元，远近有没有差别？看梯度的范数就知道。先看没有训练过的模型：

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
# [和那一章里一样](../chapters/rnn.md#gradient)，在循环网络里，每过一个词元，传来的梯度就按比例缩小；在注意力里，从哪里传来都一样。再看第一个任务里训练好的模型：

# %%
after = {kind: felt(model, n, parts) for kind, model in finders.items()}
plot.lines(
    after, middles, x_label="distance", y_label="|gradient|, after", log_y=True, zh=chinese
)

# %% [markdown]
# 普通的 RNN 还在老地方：远处什么也传不过来，也就无从学起。GRU 和 LSTM 变了：`after["GRU"][-1] > 1e6 * before["GRU"][-1]`。一开始只有那么一点梯度，它们是怎么学会的？有些记号就在末尾附近，从那里是有梯度传来的。它们由此学会了把做了记号的词元记住；能隔着几个词元记住，也就能隔着许多个记住。注意力一开始就有近路，学会的是给它权重。
#
# ## 记住什么 {#take-away}
#
# - 必须串行的调用，循环网络都随长度增长，注意力不增长。这在时间上值多少，要看机器，也要看长度。
# - 一开始梯度消失，是障碍，但不是定局。在这里，门克服了它，普通的 RNN 没有。
# - 注意力擅长找；循环网络擅长随时更新，也擅长走得比训练时更远。
# - 两个小任务，各一个种子：够推翻一句口号，不够再立一句新的。
#
# ## 自己试试 {#try}
#
# 下载笔记本，一次只改一处：
#
# - 训练之前先打开 LSTM 的遗忘门：在 `train`{.text} 里，在 `torch.no_grad()` 之下，写上 `model.core.bias_ih_l0[10:20] = 3`{.text}。你会看到：每个词元它都找得到。
# - 只用远处的记号训练：只留下 `distance > 30`{.text} 的样本。你会看到：注意力不受影响；LSTM 只剩下猜，GRU 也差了许多。它们原来就是从近处的记号学起的。
#
# ## 接下来 {#next}
#
# 回到[与 RNN 比较](../chapters/rnn.md)那一章，或者去看[注意力的开销](cost.py)。
