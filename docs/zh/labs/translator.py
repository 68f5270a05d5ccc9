# ---
# description: 从随机权重到一个会把中文数字译成英文的 Transformer：学习曲线、途中的错误、每个头在做什么、每个部件有什么用，都实测出来。
# ids: [T10]
# varies: true
# ---

# %% [markdown]
# # 实验：训练一个翻译器 {#t10}
#
# 这个实验训练[完整的 Transformer](../chapters/transformer.md)，任务很小，却是真正的翻译：把“二百三十五”译成 two hundred thirty five。你会看到：
#
# - 损失怎样下降，译文怎样变对，途中又犯哪些错；
# - 写出一个英文单词的时候，模型在看中文的哪个字；
# - 去掉一个头，或者去掉掩码、位置、缩放、残差连接，各会怎样。
#
# ## 任务 {#task}
#
# 模型读的是字，写的是词。这不是查字典：中文每四位一组，用“万”“亿”收尾；英文每三位一组。所以“二十”可能是 twenty，也可能是 two hundred，要看后面跟着什么。

# %%
import json

import torch

from headwise.drawing import plot
from headwise.models import numerals, translator
from headwise.layers import Residual
from headwise.multi_head import MultiHeadAttention
from headwise.models.translator_training import (
    RANGES,
    Training,
    accuracy,
    exact,
    fingerprint,
    held_out,
    held_out_numbers,
)

for n in (20, 105, 203_000, 10_000_020):
    print(n, numerals.to_chinese(n), numerals.to_english(n), sep="   ")
print(f"{len(translator.SRC_TOKENS)} 个字，{len(translator.TGT_TOKENS)} 个词")

# %% [markdown]
# 凭规则就能把 `numerals.LARGEST == 999_999_999` 以内的每个数写成一对中文和英文，不必收集数据。100 以上的数，每十个大约留出一个不学：留不留，看数的哈希值；训练从不抽到留出的数。下面是其中五个，后面还会遇到。

# %%
five = [105, 15_000, 111_111, 2_105_000, 520_000_005]
print(held_out(torch.tensor(five)).all().item())

# %% [markdown]
# ## 训练 {#training}
#
# 新建一个模型，编码器和解码器各两层，每个注意力四个头；然后每步学 128 个数。隔一阵停一下，翻译 300 个留出的数，数一数有多少个一词不差。

# %%
run = Training(seed=0)
tested = held_out_numbers(300, seed=2)
steps, right, diary = [], [], {}


def go_to(step):
    run.advance(step - len(run.losses))
    steps.append(step)
    right.append(exact(run.model, tested).double().mean().item())
    diary[step] = translator.say(run.model, [numerals.to_chinese(n) for n in five])


for step in (0, 20, 40, 60, 80, 100, 150, 200, 300, 400):
    go_to(step)

# %%
size = sum(p.numel() for p in run.model.parameters())
print(f"{size} 个参数")
print(f"{run.steps} 步里的第 {steps[-1]} 步：{right[-1]:.1%} 全对")

# %% [markdown]
# ### 边学边错 {#mistakes}
#
# 看看那五个数在其中几个时刻的译文：

# %%
for i, n in enumerate(five):
    print(numerals.to_chinese(n))
    for step in (0, 40, 100, 200, 400):
        said = diary[step][i]
        verdict = "对" if said == numerals.to_english(n) else "错"
        print(f"{step:6}   {verdict}   {said}")

# %% [markdown]
# 译文很快就有了数的样子，可离译对还差得远。五个数里，最先译对的是位数最少的：“一百零五”在两种语言里分组一样。其余四个就不一样了：“一万五千”不是 one thousand five hundred，也不是 ten thousand five，而是 fifteen thousand。同一个数字连着出现时，还得学会数清楚有几个。而且，译对了的也可能又译错，因为所有的译文共用一套权重，每一步训练都会改动它一点。
#
# ### 学到底 {#end}

# %%
for step in range(500, 801, 100):
    go_to(step)
    print(f"{step:5}   {right[-1]:.1%}")

# %% [markdown]
# 剩下的就是慢慢打磨了。学习率在大部分时间里都在下降；到了末尾，步子已经很小，权重也就稳定下来。

# %%
for step in range(900, run.steps + 1, 100):
    go_to(step)

width = 20
means = torch.tensor(run.losses).view(-1, width).mean(dim=1)
at = list(range(width, run.steps + 1, width))
chinese = {"loss": "损失", "step": "步", "held out": "留出的数", "exact": "全对的比例"}
plot.lines({"loss": means}, at, x_label="step", y_label="loss", log_y=True, zh=chinese)

# %%
plot.lines({"held out": right}, steps, x_label="step", y_label="exact", zh=chinese)

# %% [markdown]
# 译文要每个词都对才算数，所以正确率的上升比损失的下降来得晚。
#
# ## 从没见过的数 {#unseen}
#
# 现在来一次大的测验：10 000 个留出的数；再从三个区间里各取 1000 个，这些区间里的数一个也没有学过。

# %%
counts = accuracy(run.model, 10_000)
worst = min(int(hit) / int(of) for hit, _, of in map(str.split, counts.values()))

# %%
labels = ["留出的数", *(f"{r.start} 至 {r.stop - 1}" for r in RANGES)]
for label, count in zip(labels, counts.values(), strict=True):
    hit, _, of = count.split()
    print(f"{hit:>5} / {of:5}  {label}")

# %% [markdown]
# 区间里的数译得和别的一样好，`worst > 0.95`：每个数字在每个位置上模型都见过，只是没见过它们这样凑在一起。
#
# 库里自带的权重就是这样训练出来的。你训练的和它逐位相同吗？

# %%
recipe = json.loads(translator.CHECKPOINT.with_suffix(".json").read_text())
print(fingerprint(run.model) == recipe["sha256"])

# %% [markdown]
# 打印的是 False 也不用担心：同样的种子，只有在同一类处理器上、用同一个版本的 PyTorch，才得到同样的权重。换一个，最后一位的舍入可能不同，几百步之后就成了另一个模型，好坏相当。
#
# ## 它在看哪里 {#alignment}
#
# 从这里起改用自带的权重，这样你看到的头就是这里说的头。每一行是写出一个词的时刻，行名就是那个词；这一行的数表示解码器看每个字看了多少。下面是最后一层对原文的注意力：

# %%
model = translator.load()


def look(text):
    """模型写出的词，以及写的时候的权重。"""
    src, tgt = translator.encode([text]), translator.encode_words(translator.say(model, [text]))
    with torch.no_grad():
        _, weights = model(src, tgt[:, :-1], need_weights=True)
    return [translator.TGT_TOKENS[token] for token in tgt[0, 1:]], weights


text = "三千五百二十四"
written, weights = look(text)
plot.heatmap(weights.memory[-1][0], written, list(text))

# %% [markdown]
# 没有人告诉过模型哪个字对哪个词。可是写一个数字时，第 2、3 个头就看着那个数字；写 thousand 时，四个头的“千”都亮起来；写 hundred 时，第 1 个头和第 4 个头的“百”亮起来。
#
# 如果 hundred 没有“百”可看呢？


# %%
def align(text):
    """每个词，以及最后一层各头合起来看得最多的字。"""
    written, weights = look(text)
    mean = weights.memory[-1][0].mean(dim=0)  # 每个词一行，每个字一列
    return [f"{word} ← {text[i]}" for word, i in zip(written, mean.argmax(dim=-1), strict=True)]


for text in ("三千五百二十四", "二十三万五千"):
    print(text, *align(text), sep="   ")

# %% [markdown]
# 那就看“万”。不过权重只说头在看哪里，结果是不是取决于它，要把它遮住才知道。那就轮流遮住每一个字，不让解码器看见，看看 hundred 的概率还剩多少：

# %%
text = "二十三万五千"
src, tgt = translator.encode([text]), translator.encode_words(translator.say(model, [text]))
with torch.no_grad():
    memory = model.encoder(model.embed_src(src))
    hidden = ~torch.eye(len(text), dtype=torch.bool)[:, None, None]  # (6, 1, 1, 6)
    logits = model.decode(tgt[:, :-1].expand(6, -1), memory.expand(6, -1, -1), hidden)
hundred = torch.softmax(logits, dim=-1)[:, 1, translator.TGT_TOKENS.index("hundred")]  # (6,)

# %%
for character, left in zip(text, hundred, strict=True):
    print(f"遮住“{character}”：hundred 的概率 {left:.2f}")

# %% [markdown]
# 遮住“万”，概率掉下去一大半，`hundred[3] < 0.5`；遮住别的字，几乎不变，`min(hundred[:3].min(), hundred[4:].min()) > 0.95`。所以在这里，头看着哪里，结果就取决于哪里。概率没有掉到 0，也许是因为编码器已经把“万”混进了旁边几个字的向量里，解码器照样能读到一些。
#
# ## 每个头在做什么 {#heads}
#
# 取所有像“三千五百二十四”这样的数：四位，每位从 2 到 9。它们的词和字总在相同的位置上，权重可以直接平均。对看原文的每个头，问这样几件事：写数字的词时，看那个数字看了多少？看数字后面的单位看了多少？写单位的词时，看那个单位看了多少？

# %%
numbers = [n for n in range(2222, 10_000) if not {"0", "1"} & set(str(n))]
src = translator.encode([numerals.to_chinese(n) for n in numbers])
tgt = translator.encode_words([numerals.to_english(n) for n in numbers])
with torch.no_grad():
    _, weights = model(src, tgt[:, :-1], need_weights=True)

looks = []
for layer, seen in enumerate(weights.memory, 1):
    for head, mean in enumerate(seen.mean(dim=0), 1):
        at_digit = mean[[0, 2, 4, 5], [0, 2, 4, 6]].mean()
        at_unit = mean[[0, 2, 4], [1, 3, 5]].mean()
        unit = mean[[1, 3], [1, 3]].mean()
        looks.append((layer, head, at_digit, at_unit, unit))

# %%
print("                写数字的词      写数字的词      写单位的词")
print("                看数字          看它的单位      看单位")
for layer, head, at_digit, at_unit, unit in looks:
    shares = f"{at_digit:8.2f} {at_unit:15.2f} {unit:15.2f}"
    print(f"第 {layer} 层第 {head} 个头 {shares}")

# %% [markdown]
# 最后一层的第 2、3 个头看数字。第 4 个头，还有第一层的第 1 个头，看数字后面的单位：“五”该写成 five 还是 fifty，要到那里去读。一行加起来不必是 1：最后一个数字后面没有单位，几列是对不同的词取的平均。
#
# 再看那些只看自己这一边的头。每一列是一个距离，最后一列是句首的词元。（第一个词元也可能恰好是前一个，那就重复算了。）

# %%
for name, layers in (("编码器", weights.encoder), ("解码器", weights.decoder)):
    print(name, "           前两个      前一个        自己      后一个      第一个")
    for layer, seen in enumerate(layers, 1):
        for head, mean in enumerate(seen.mean(dim=0), 1):
            near = [mean.diagonal(offset).sum() / len(mean) for offset in (-2, -1, 0, 1)]
            shown = "  ".join(f"{share:10.2f}" for share in (*near, mean[:, 0].mean()))
            print(f"第 {layer} 层第 {head} 个头{shown}")

# %% [markdown]
# 编码器的头左右两边都看。解码器的头不能往后看：“后一个”这一列都是 0，这正是因果掩码的要求。它们看的是当前的词、前一个词，还有开头的词元 `<bos>`{.text}。
#
# ## 去掉一个头 {#without-head}
#
# 看着某处，不等于离不开它。那就轮流去掉每个头：在它的输出进入 $W_o$ 的地方填上零，再数一遍。

# %%
parts = {
    "encoder": [layer.attention for layer in model.encoder.layers],
    "decoder, own words": [layer.self_attention for layer in model.decoder.layers],
    "decoder, source": [layer.cross_attention for layer in model.decoder.layers],
}


def without(attention, heads):
    """这些头什么也不给的时候，译对的比例。"""
    keep = torch.ones(attention.num_heads, attention.d_v)
    keep[heads] = 0
    hook = attention.W_o.register_forward_pre_hook(lambda module, args: (args[0] * keep.flatten(),))
    share = exact(model, tested).double().mean().item()
    hook.remove()
    return share


whole = exact(model, tested).double().mean().item()
shares = {
    (name, layer): [without(attention, heads) for heads in (0, 1, 2, 3, [0, 1, 2, 3])]
    for name, attentions in parts.items()
    for layer, attention in enumerate(attentions, 1)
}

# %%
names = {
    "encoder": "编码器",
    "decoder, own words": "解码器看已写的词",
    "decoder, source": "解码器看原文",
}
print(f"所有的头都在：{whole:.1%}")
print("  去掉第 1 个   第 2 个   第 3 个   第 4 个  四个全去")
for (name, layer), row in shares.items():
    numbers = "".join(f"{share:10.1%}" for share in row)
    print(f"   {numbers}  {names[name]}，第 {layer} 层")

# %% [markdown]
# 单独去掉一个头，大多数情况下几乎看不出来：别的头似乎知道得差不多。最后一列就不同了。任何一层没了对原文的注意力，或者第一层没了对已写的词的注意力，解码器就不知所措；编码器的一层没了注意力，或者解码器第二层没了对已写的词的注意力，倒还有一半以上的译文是对的。下面是本站训练好的模型，亲手关掉几个头试试：哪些数最先出错？
#
# <div class="instrument" data-instrument="translator" data-button="关掉几个头" markdown>
#
# ![翻译器写每个词时看着哪些字：最后一层的交叉注意力，对各个头求过平均](../figures/gaze.svg)
#
# </div>
#
# ## 去掉一个部件 {#ablations}
#
# 因果掩码、位置、缩放、残差连接各有什么用？先猜一猜，少了哪一样最不要紧，再分别去掉它们来训练。一次训练说明不了什么，所以每种都从三个种子各训练一遍；为了不用等太久，模型换成小的（一层，宽 32），数也只到四位，每次 120 步。先看掩码：用一个钩子（PyTorch 在调用模块之前顺带运行的函数）告诉解码器的自注意力，它不是因果的。

# %%
import torch.nn.functional as F

from headwise.transformer import Transformer

small = torch.arange(10_000)
learned, asked = small[~held_out(small)], small[held_out(small)][::5]
sources = translator.encode([numerals.to_chinese(n) for n in small.tolist()])
targets = translator.encode_words([numerals.to_english(n) for n in small.tolist()])
vocabularies = len(translator.SRC_TOKENS), len(translator.TGT_TOKENS)


def untouched(model):
    pass


def no_causal_mask(model):
    def see_all(module, args, kwargs):
        return args, kwargs | {"is_causal": False}

    for layer in model.decoder.layers:
        layer.self_attention.register_forward_pre_hook(see_all, with_kwargs=True)


def trained(change, seed, steps=120):
    """训练一个改动过的小模型；最后 20 步的平均损失，答对的比例，以及它怎么译 235。"""
    torch.manual_seed(seed)
    model = Transformer(
        *vocabularies, d_model=32, num_heads=4, num_layers=1, dropout=0.0, norm_first=True
    )
    change(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(steps):
        batch = learned[torch.randint(len(learned), (32,))]
        tgt = targets[batch]
        logits = model(sources[batch], tgt[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    share = exact(model, asked).double().mean().item()
    return sum(losses[-20:]) / 20, share, translator.say(model, ["二百三十五"])[0]


def compare(change):
    rows = [trained(change, seed) for seed in (0, 1, 2)]
    results[change] = torch.tensor([row[:2] for row in rows]).T  # (2, 3)
    said[change] = [row[2] for row in rows]


torch.set_default_dtype(torch.float64)  # 让你的机器得到同样的结果
torch.set_num_threads(1)
results, said = {}, {}
compare(untouched)
compare(no_causal_mask)


# %%
def show(change):
    loss, share = ("  ".join(f"{x:.3f}" for x in row) for row in results[change])
    print(f"损失 {loss}    答对 {share}   {change.__name__}")
    print(*said[change], sep=" / ")


show(untouched)
show(no_causal_mask)

# %% [markdown]
# 每行三个损失、三个比例，三个种子各一个；下面是三个模型怎么译“二百三十五”。没有掩码，损失也降得很低，`results[no_causal_mask][0].max() < 0.1`，只看损失，你会以为它学会了。可是它几乎一个数也译不对：`results[no_causal_mask][1].max() < 0.05`。训练时它看得见下一个词，抄下来就行；翻译时没有下一个词可抄。
#
# 再看其余几样。去掉位置：位置编码算好了，却不用。


# %%
def no_positions(model):
    for positions in (model.src_positions, model.tgt_positions):
        positions.register_forward_hook(lambda module, args, output: args[0])


compare(no_positions)

# %%
show(no_positions)

# %% [markdown]
# 模型知道有哪些字，不知道它们的顺序，于是常常写出对的数字，却放在错的位置上。三个种子都远远落后：`results[no_positions][1].max() < 0.5 < results[untouched][1].min()`。
#
# 去掉缩放：分数要除以 $\sqrt{d_k}$，就先把查询放大同样的倍数。


# %%
def no_scaling(model):
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            root = module.d_k**0.5
            module.W_q.register_forward_hook(lambda layer, args, Q, root=root: Q * root)


compare(no_scaling)

# %%
show(no_scaling)

# %% [markdown]
# 也学得会，只是慢一些：三个损失都比原来的高，`results[no_scaling][0].min() > results[untouched][0].max()`。（答对的比例互相交叠，看不出差别。）这里的 $d_k$ 只有 8，训练也能把 $W_q$ 调小一些；[维数越多，缩放越要紧](scaling.py#spread)。
#
# 去掉残差连接：子层只给出它的改动。


# %%
def no_residual(model):
    for module in model.modules():
        if isinstance(module, Residual):
            module.leave = lambda x, change: change


compare(no_residual)

# %%
show(no_residual)

# %% [markdown]
# 三个种子都落在后面，`results[no_residual][1].max() < results[untouched][1].min()`，而这个模型才一层。叠得深了，[更是少不了它](../chapters/layers.md#residual)：没有残差连接，关于一个字的一切，都只能穿过每一个子层传上去，梯度也只能这样传下来。
#
# ## 自己试试 {#try}
#
# - 在命令行里训练一个你自己的模型：`python -m headwise.models.translator train --seed 1`{.text}。用 Ctrl-C 打断，再用 `--resume`{.text} 接着训练，得到的权重逐位相同。
# - 在 `trained`{.text} 里把四个头换成一个头，从几个种子各训练一遍。参数一个不少。差别比种子之间的更大吗？
# - 把整个“七亿”也留出来：在 `src/headwise/models/translator_training.py` 的区间里加上 `range(700_000_000, 800_000_000)`，再训练。这样模型从没见过“亿”前面的“七”。我们试下来，这样的数它照样全都译对了：单知道“七”、单知道“亿”，就够了。
# - 试试口语里的说法：`python -m headwise.models.translator translate 两万五`{.text}。它会拒绝，并说明理由。为什么让模型去猜不是个好主意？
#
# ## 接下来 {#next}
#
# 回到[完整的 Transformer](../chapters/transformer.md)、[掩码](../chapters/masks.md)，或者去看关于 [√d_k](scaling.py) 的实验。
