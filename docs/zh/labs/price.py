# ---
# description: 把不声不响的错误放进真实的语言模型 SmolLM2：每个错误让每个词元的损失增加多少，六段文本各差多少，坏掉的模型里还有哪些知道法国的首都。
# varies: true
# ---

# %% [markdown]
# # 实验：一个错误值多少钱 {#price}
#
# [博物馆](../museum.md)里陈列的是能运行的错误代码。这样的错误代价有多大？要看放在什么模型里。这个实验就把它们一个个放进真实的模型 SmolLM2，再测量。你会看到：
#
# - 模型可以坏得很厉害，却照样回答 Paris；
# - 有的错误几乎没有代价，有的能让模型彻底失灵；
# - 窗口只要留住第一个词元就行得通，不留就不行；
# - 为什么只用一段文本量不出代价。
#
# 最好先了解 [RoPE](../questions/practice.md#q44-rope)、[共用键头](../questions/practice.md#q45-gqa)和[缓存](../chapters/transformer.md#cache)。另外，权重要先放到你的机器上：`python -m headwise.models fetch smollm2`{.text} 会下载，共 93 MB。
#
# ## 一页写完的真实解码器 {#decoder}
#
# SmolLM2 有 30 层，每层 9 个查询头，共用 3 个头的键和值。它的全部运算一个函数就写得下。`prompt`{.text} 后面的每个参数，都是给这种模型写代码时必须做对的一个决定，默认值就是对的那个。前 `prompt`{.text} 个词元一次读完，后面的逐个读，跟模型往下写时一样：对正确的代码没有区别，对有些错误就有。

# %%
import torch
import torch.nn.functional as F

from headwise.drawing import plot
from headwise.heads import merge_heads, split_heads
from headwise.models import smollm2
from headwise.rotary import Rotary

torch.set_num_threads(1)
loaded = smollm2.load()
model = loaded.model


def counted(length, prompt):
    return torch.arange(length)  # (length,)


def causal(length, prompt):
    return torch.ones(length, length).tril().bool()  # (length, length)


def shared(x):
    return x.repeat_interleave(3, dim=1)


def logits_of(
    tokens,
    prompt,
    *,
    layout="pairs",
    turn_values=False,
    share=shared,
    positions=counted,
    sight=causal,
    root=8.0,
    norm=F.rms_norm,
):
    places, seen = positions(tokens.size(1), prompt), sight(tokens.size(1), prompt)
    turn = Rotary(64, theta=100_000.0, layout=layout)
    x = model.embedding(tokens)  # (batch, seq_len, 576)
    for block in model.blocks:
        own = block.attention
        h = norm(x, (576,), eps=1e-5) * block.norm_1.weight
        Q = turn(split_heads(own.W_q(h), 9), places)  # (batch, 9, seq_len, 64)
        K = turn(split_heads(own.W_k(h), 3), places)  # (batch, 3, seq_len, 64)
        V = split_heads(own.W_v(h), 3)  # (batch, 3, seq_len, 64)
        V = turn(V, places) if turn_values else V
        scores = Q @ share(K).mT / root  # (batch, 9, seq_len, seq_len)
        weights = scores.masked_fill(~seen, -torch.inf).softmax(-1)
        x = x + own.W_o(merge_heads(weights @ share(V)))
        h = norm(x, (576,), eps=1e-5) * block.norm_2.weight
        x = x + block.feed_forward(h)
    return model.W_vocab(norm(x, (576,), eps=1e-5) * model.norm.weight)


sample = torch.tensor([loaded.tokens.encode("The capital of France is Paris.")])
print((logits_of(sample, 1) - model(sample)).abs().max() < 1e-3)

# %% [markdown]
# 这个函数给出的 logits 与库里的模型一致，只差舍入误差。
#
# ## 错误 {#bugs}
#
# 一共十二个，每个只动一个参数。（留住第一个词元的那个窗口其实不算错误，是拿来对照的。）有的错误只在模型往下写的时候出现，这时提示之后的词元就按错误的方式处理。

# %%
def restarting(length, prompt):
    return torch.arange(length).where(torch.arange(length) < prompt, 0)


def first_key_alone(length, prompt):
    seen = causal(length, prompt)
    seen[prompt:, 1:] = False
    return seen


def window(size, first=0):
    def sight(length, prompt):
        near = causal(length, prompt).triu(1 - size)
        near[:, :first] = True
        return near & causal(length, prompt)

    return sight


def without_itself(length, prompt):
    seen = causal(length, prompt).tril(-1)
    seen[0, 0] = True
    return seen


bugs = {
    "right": {},
    "layout": {"layout": "halves"},
    "values": {"turn_values": True},
    "repeat": {"share": lambda x: x.repeat(1, 3, 1, 1)},
    "restart": {"positions": restarting},
    "first key": {"sight": first_key_alone},
    "window": {"sight": window(16)},
    "window, first": {"sight": window(15, first=1)},
    "root d_model": {"root": 24.0},
    "no root": {"root": 1.0},
    "not itself": {"sight": without_itself},
    "next": {"sight": lambda length, prompt: torch.ones(length, length).tril(1).bool()},
    "mean": {"norm": F.layer_norm},
}

# %%
called = {
    "right": "正确",
    "layout": "权重按相邻成对，RoPE 却按前后两半",
    "values": "V 也用 RoPE 转了",
    "repeat": "用 repeat 共用键",
    "restart": "每一步位置都从 0 数起",
    "first key": "有缓存、只有一个查询，却用 is_causal",
    "window": "16 个词元的窗口",
    "window, first": "15 个词元的窗口，加上第一个词元",
    "root d_model": "分数除以 √d_model",
    "no root": "分数完全没有除",
    "not itself": "词元看不到自己",
    "next": "词元看得到下一个",
    "mean": "RMSNorm 减去了均值",
}

# %% [markdown]
# ## 各要花多少 {#cost}
#
# 六段文本，四段英文，两段中文，都是为这个实验写的，所以模型不可能背过。每段要预测 40 个词元，每个都根据它前面的全部词元；损失是模型因为不知道下一个词元，平均每个词元付出的代价：每次都猜对、而且有十足的把握，是 0；在所有词元里均匀乱猜约是 10.8。先猜一猜：哪个错误代价最高，哪个最低？

# %%
texts = [
    "A kettle is a simple machine. You fill it with water, switch it on, and wait. After a few minutes the water begins to boil, steam rises from the spout, and the switch turns itself off. Then you pour the hot water over the tea.",
    "The old lighthouse keeper climbed the stairs every evening. He cleaned the glass, filled the lamp with oil and lit it before the sun went down. Ships far out at sea could then see the rocks and turn away in time, even in heavy rain.",
    "To reverse a list in Python, you can use a slice with a step of minus one, or call the method reverse, which changes the list in place. The first way makes a copy, so the original stays as it was, and both are fast.",
    "Dear Anna, thank you for your letter and for the photographs of the garden. The roses look wonderful this year. We are all well here, although it has rained for three weeks and the children are bored. We hope to visit you in August.",
    "春天来了，天气一天比一天暖和。公园里的花都开了，孩子们在草地上跑来跑去。老人坐在长椅上晒太阳。",
    "今天早上我起得很晚，没有吃早饭就去上班了。路上下着大雨，公共汽车上人很多。到了办公室，我先喝了一杯热茶。",
]
batch = torch.tensor([loaded.tokens.encode(text)[:41] for text in texts])  # (6, 41)
losses = {}
for bug, change in bugs.items():
    logits = logits_of(batch[:, :-1], 8, **change)  # (6, 40, 49152)
    each = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten(), reduction="none")
    losses[bug] = each.view(6, 40)
loss = {bug: each.mean().item() for bug, each in losses.items()}
price = {bug: (each - losses["right"]).mean(dim=1) for bug, each in losses.items()}

x = model.embedding(batch)  # (6, 41, 576)
for block in model.blocks[:10]:
    x = block(x)
off_centre = (x.mean(-1).abs() / x.square().mean(-1).sqrt()).mean().item()

# %%
print(" 损失       代价    最少    最多")
for bug, each in price.items():
    print(f"{loss[bug]:5.2f} {each.mean():10.2f} {each.min():7.2f} {each.max():7.2f}  {called[bug]}")

# %% [markdown]
# 第二列就是代价，是六段文本的平均；“最少”和“最多”是代价最低和最高的那段文本。
#
# - **共用的次序弄错，模型就彻底失灵了。** 九个查询头里有六个看的是别组的键，模型还不如均匀乱猜：`loss["repeat"] > torch.tensor(model.vocab).log()`。
# - **RoPE 的排列方式错了，或者连 V 也转了**，都不报错，而每一段文本都要多付：`min(price["layout"].min(), price["values"].min()) > 0.2`。
# - **只在往下写时出错**，每一段文本也都要多付，尽管提示读得没错：`min(price["restart"].min(), price["first key"].min()) > 0.5`。这样的错误有两种：一种让新词元都站在第一个位置上，一种让它只看得到第一个键。
# - **缩放**无论偏哪一边都要多付，而且每段文本都是：`min(price["root d_model"].min(), price["no root"].min()) > 0.5`。除得太多，权重太平均；完全不除，权重又太集中在一个键上。
# - **减去均值，几乎没有代价：** `loss["mean"] < loss["right"] + 0.2`。这个模型内部的向量，均值与大小相比接近 0，`off_centre < 0.05`，减掉它几乎没有变化。这样的错误要拿参考实现对比才找得到，光看损失看不出来。
# - **看不到自己**，代价也很小，`loss["not itself"] < loss["right"] + 0.5`：词元自己是什么，还能从残差连接传过来。
# - **看到下一个词元**，答案就在眼前，损失理应下降。如果模型**训练**时就带着这个错误，确实如此，[翻译器](translator.py#ablations)就是例子。可这个模型从没学过怎么用它，各段文本相差悬殊：有的变好，有的变坏，`price["next"].min() < -1`，`price["next"].max() > 1`。只用一段文本去量，这个错误可能会被当成改进。
#
# ## 第一个词元 {#first}
#
# 16 个词元的窗口代价很高；15 个再加上第一个词元，看得到的键一样多，却几乎没有代价：`price["window"].mean() > 5 * price["window, first"].mean()`。下面是损失沿着文本的变化，每八个词元算一次平均。

# %%
parts = {bug: losses[bug].unflatten(1, (5, 8)).mean(dim=(0, 2)) for bug in losses}

# %%
plot.lines(
    {bug: parts[bug] for bug in ("right", "window", "window, first")},
    [4, 12, 20, 28, 36],
    x_label="tokens so far",
    y_label="loss per token",
    zh={
        "right": "正确",
        "window": "窗口",
        "window, first": "窗口加第一个词元",
        "tokens so far": "已读的词元数",
        "loss per token": "每个词元的损失",
    },
)

# %% [markdown]
# 第一个词元还在窗口里的时候，什么事也没有；它一离开，损失就猛涨。重要的多半不是第一个词元的内容。[另一个模型](cat.py#sink)我们量过：许多头把用不上的权重都放在同一个词元上，因为 softmax 总得把权重放到某个地方。没有了这个去处，权重就落到了不该落的词上。
#
# ## 还有哪些会说 Paris？ {#paris}
#
# 现在让每个坏掉的模型接着四个提示往下写，用贪心的办法，各写四个词元。这么短的文本，窗口不起作用，所以两个窗口就不写了。

# %%
prompts = ["The capital of France is", "The opposite of hot is", "The sun rises in the", "你好，"]
start = torch.tensor([loaded.tokens.encode(prompt) for prompt in prompts])  # (4, 5)
answers = {}
for bug in [bug for bug in bugs if "window" not in bug]:
    written = start
    for _ in range(4):
        best = logits_of(written, 5, **bugs[bug])[:, -1].argmax(-1)  # (4,)
        written = torch.cat((written, best[:, None]), dim=1)
    texts_now = [loaded.tokens.decode(row[5:]).decode("utf-8", "replace") for row in written.tolist()]
    answers[bug] = [" ".join(text.split()) for text in texts_now]

# %%
for bug, (paris, hot, sun, hello) in answers.items():
    print(called[bug])
    print(f"    {paris} | {hot} | {sun} | {hello}")

# %% [markdown]
# 正确的模型会说 Paris，`answers["right"][0].startswith("Paris")`，RoPE 排列方式错了的模型也一样，`answers["layout"][0].startswith("Paris")`。要是你只拿这一个提示来测，这个错误就混过去，跟着上线了。往下写时才出现的错误，也会先说 Paris，`answers["first key"][0].startswith("Paris")`，因为提示它们读得没错，错的是后面的词元。反过来的情形也有：看不到自己，是代价最小的错误之一，可是那个模型说不出首都，`not answers["not itself"][0].startswith("Paris")`。所以光看一个提示不够，光看损失也不够。这些错误都抓得住的测试，要比较数值：一段一段文本地，拿 logits 跟参考实现比；文本要比窗口长，提示之后的词元要逐个读入。
#
# ## 动手试试 {#try}
#
# 下载笔记本，改动一处：
#
# - 把你自己的文本放进 `texts`{.text}，至少要有 41 个词元。损失会变，但代价最高的还是那几个错误。
# - 把窗口改成 32。代价应该变低，因为第一个词元离开得更晚。
# - 同时放进几个错误。别指望代价能直接相加。
#
# ## 接下来 {#next}
#
# [名字对照](../reference/names.md)说明发布的每个权重该放到哪里、用的是哪种排列方式。错误的缩放和错误的掩码是展品 [X2](../museum/training.md#x2-scale) 和 [X8](../museum/masks.md#x8-diagonal)。
