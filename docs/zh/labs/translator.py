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
    Training,
    accuracy,
    exact,
    fingerprint,
    held_out,
    held_out_numbers,
)

for n in (20, 105, 203_000, 10_000_020):
    print(n, numerals.to_chinese(n), numerals.to_english(n), sep="   ")
print(len(translator.SRC_TOKENS), "characters,", len(translator.TGT_TOKENS), "words")

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
print(sum(p.numel() for p in run.model.parameters()), "parameters")
print(f"after {steps[-1]} of {run.steps} steps: {right[-1]:.1%} right")

# %% [markdown]
# ### 边学边错 {#mistakes}
#
# 看看那五个数在其中几个时刻的译文：

# %%
for i, n in enumerate(five):
    print(numerals.to_chinese(n))
    for step in (0, 40, 100, 200, 400):
        said = diary[step][i]
        print(f"{step:6}   {'right' if said == numerals.to_english(n) else 'wrong'}   {said}")

# %% [markdown]
# 译文早早就像个数了，离对还远得很。短的数最先译对。最费时间的是中文和英文分组不同的地方：“一万五千”不是 one thousand five hundred，也不是 ten thousand five，而是 fifteen thousand。还有，同一个数字连着出现时，得数清楚有几个。
#
# ### 学到底 {#end}

# %%
for step in range(500, 801, 100):
    go_to(step)
    print(f"{step:5}   {right[-1]:.1%}")

# %% [markdown]
# 剩下的是打磨。学习率在大部分时间里都在下降；到了末尾，步子小得让权重安定下来。

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
# 现在数个大的：10 000 个留出的数；再从三个区间里各取 1000 个，这些区间里的数一个也没有学过。

# %%
counts = accuracy(run.model, 10_000)
for name, count in counts.items():
    print(f"{name:24} {count}")
worst = min(int(right) / int(of) for right, _, of in map(str.split, counts.values()))

# %% [markdown]
# 区间里的数译得和别的一样好，`worst > 0.95`：每个数字在每个位置上模型都见过，只是没见过它们这样凑在一起。
#
# 库里自带的权重就是这样训练出来的。你训练的和它逐位相同吗？

# %%
recipe = json.loads(translator.CHECKPOINT.with_suffix(".json").read_text())
print(fingerprint(run.model) == recipe["sha256"])

# %% [markdown]
# 同样的种子，在同一类处理器上得到同样的权重。换一类处理器，最后一位的舍入可能不同，几百步之后就成了另一个模型，好坏相当。
#
# ## 它在看哪里 {#alignment}
#
# 从这里起改用自带的权重，这样你看到的头就是这里说的头。每一行是写出一个词的时刻，行名就是那个词；这一行的数表示解码器看每个字看了多少。下面是最后一层对原文的注意力：

# %%
model = translator.load()


def look(text):
    """The words that the model writes, and its weights while it does."""
    src, tgt = translator.encode([text]), translator.encode_words(translator.say(model, [text]))
    with torch.no_grad():
        _, weights = model(src, tgt[:, :-1], need_weights=True)
    return [translator.TGT_TOKENS[token] for token in tgt[0, 1:]], weights


text = "三千五百二十四"
written, weights = look(text)
plot.heatmap(weights.memory[-1][0], written, list(text))

# %% [markdown]
# 没有人告诉过模型哪个字对哪个词。可是写一个数字时，它就看着那个数字；写 thousand 时“千”亮起来，写 hundred 时，第 1 个头和第 4 个头的“百”亮起来。
#
# 如果 hundred 没有“百”可看呢？

# %%
def align(text):
    """Each word, with the character that the last layer's heads together look at most."""
    written, weights = look(text)
    mean = weights.memory[-1][0].mean(dim=0)  # 每个词一行，每个字一列
    return [f"{word} ← {text[i]}" for word, i in zip(written, mean.argmax(dim=-1), strict=True)]


for text in ("三千五百二十四", "二十三万五千"):
    print(text, *align(text), sep="   ")

# %% [markdown]
# 那就看“万”。按数词的规则，“二十三万”里的 hundred 正是由“万”而来。不过这是权重的最大值，说的是头在看哪里；结果是不是取决于它，要把它遮住才知道。
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

print("               digit's word    digit's word    unit's word")
print("               at the digit    at its unit     at the unit")
for layer, seen in enumerate(weights.memory, 1):
    for head, mean in enumerate(seen.mean(dim=0), 1):
        at_digit = mean[[0, 2, 4, 5], [0, 2, 4, 6]].mean()
        at_unit = mean[[0, 2, 4], [1, 3, 5]].mean()
        unit = mean[[1, 3], [1, 3]].mean()
        print(f"layer {layer} head {head}   {at_digit:8.2f} {at_unit:15.2f} {unit:15.2f}")

# %% [markdown]
# 最后一层的第 2、3 个头看数字。第 4 个头，还有第一层的第 1 个头，看数字后面的单位：“五”该写成 five 还是 fifty，要到那里去读。一行加起来不必是 1：最后一个数字后面没有单位，几列是对不同的词取的平均。
#
# 再看那些只看自己这一边的头，按所看之处的远近来分；第一个位置也可能恰好是前一个，那就又算了一遍：

# %%
for name, layers in (("encoder", weights.encoder), ("decoder", weights.decoder)):
    heads = ("two before", "one before", "itself", "one after", "first")
    print(f"{name:14}", "  ".join(f"{head:>10}" for head in heads))
    for layer, seen in enumerate(layers, 1):
        for head, mean in enumerate(seen.mean(dim=0), 1):
            near = [mean.diagonal(offset).sum() / len(mean) for offset in (-2, -1, 0, 1)]
            shown = "  ".join(f"{share:10.2f}" for share in (*near, mean[:, 0].mean()))
            print(f"layer {layer} head {head} {shown}")

# %% [markdown]
# 编码器的头把目光分给左右两边的邻居。解码器的头不能往后看：one after 一列都是 0，这正是因果掩码的要求。它们看的是当前的词、前一个词，还有开头的词元 `<bos>`{.text}。
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
    """The share of right translations while these heads give nothing."""
    keep = torch.ones(attention.num_heads, attention.d_v)
    keep[heads] = 0
    hook = attention.W_o.register_forward_pre_hook(lambda module, args: (args[0] * keep.flatten(),))
    share = exact(model, tested).double().mean().item()
    hook.remove()
    return share


print(f"all heads there: {exact(model, tested).double().mean().item():.1%}")
print(f"{'without head':26}", "".join(f"{h:>9}" for h in (1, 2, 3, 4, "all four")))
for name, attentions in parts.items():
    for layer, attention in enumerate(attentions, 1):
        shares = [without(attention, heads) for heads in (0, 1, 2, 3, [0, 1, 2, 3])]
        print(f"{name:18} layer {layer}", "".join(f"{share:9.1%}" for share in shares))

# %% [markdown]
# 单独去掉一个头，大多数情况下几乎看不出来：别的头知道得差不多。最后一列就不同了。任何一层没了对原文的注意力，或者第一层没了对已写的词的注意力，解码器就不知所措；编码器去掉一层，倒还有一半以上的译文是对的。
#
# ## 去掉一个部件 {#ablations}
#
# 因果掩码、位置、缩放、残差连接各有什么用？分别去掉它们来训练。完整的训练是 `run.steps == 1200` 步，这里只走 300 步，再和走了同样步数的原模型比较。先看掩码：用一个钩子（PyTorch 在调用模块之前顺带运行的函数）告诉解码器的自注意力，它不是因果的。

# %%
def untouched(model):
    pass


def no_causal_mask(model):
    def see_all(module, args, kwargs):
        return args, kwargs | {"is_causal": False}

    for layer in model.decoder.layers:
        layer.self_attention.register_forward_pre_hook(see_all, with_kwargs=True)


results = {}


def compare(change):
    model = translator.new_model(seed=0)
    change(model)
    short = Training(model, steps=300)
    short.advance(300)
    loss = sum(short.losses[-20:]) / 20
    share = exact(model, tested).double().mean().item()
    said = translator.say(model, ["二百三十五"])[0]
    print(f"{change.__name__:16} loss {loss:.4f}   right {share:6.1%}   二百三十五: {said}")
    results[change.__name__] = loss, share


compare(untouched)
compare(no_causal_mask)

# %% [markdown]
# 没有掩码，损失更低，`results["no_causal_mask"][0] < results["untouched"][0]`，模型却毫无用处：`results["no_causal_mask"][1] < 0.05`。训练时它看得见下一个词，抄下来就行；翻译时没有下一个词可抄。
#
# 再看其余几样。去掉位置：位置编码算好了，却不用。

# %%
def no_positions(model):
    for positions in (model.src_positions, model.tgt_positions):
        positions.register_forward_hook(lambda module, args, output: args[0])


compare(no_positions)

# %% [markdown]
# 模型知道有哪些字，不知道它们的顺序，于是写出对的数字，放在错的位置上，`results["no_positions"][1] < 0.5 < results["untouched"][1]`。
#
# 去掉缩放：分数要除以 $\sqrt{d_k}$，就先把查询放大同样的倍数。

# %%
def no_scaling(model):
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            root = module.d_k**0.5
            module.W_q.register_forward_hook(lambda layer, args, Q, root=root: Q * root)


compare(no_scaling)

# %% [markdown]
# 也学得会，只是慢一些：`results["no_scaling"][0] > results["untouched"][0]`。这里的 $d_k$ 只有 16；[向量越长，缩放越要紧](scaling.py#spread)。
#
# 去掉残差连接：子层只给出它的改动。

# %%
def no_residual(model):
    for module in model.modules():
        if isinstance(module, Residual):
            module.leave = lambda x, change: change


compare(no_residual)

# %% [markdown]
# 这么点时间里几乎什么也没学到，`results["no_residual"][1] < 0.05`，只会重复一个词。一个字是什么，很难传到上面的层；梯度也[很难传到下面的层](../chapters/layers.md)。
#
# ## 自己试试 {#try}
#
# - 在命令行里训练一个你自己的模型：`python -m headwise.models.translator train --seed 1`{.text}。用 Ctrl-C 打断，再用 `--resume`{.text} 接着训练，得到的权重逐位相同。
# - 把四个头换成一个头（`translator.MODEL`），训练 300 步来比较。差别会比你想的小：参数一个不少，而对这个任务，我们试下来，一个宽的头学得差不多一样好。
# - 把整个“七亿”也留出来：在 `src/headwise/models/translator_training.py` 的区间里加上 `range(700_000_000, 800_000_000)`，再训练。这样模型从没见过“亿”前面的“七”。我们试下来，这样的数它照样全都译对了：单知道“七”、单知道“亿”，就够了。
# - 试试口语里的说法：`python -m headwise.models.translator translate 两万五`{.text}。它会拒绝，并说明理由。为什么让模型去猜不是个好主意？
#
# ## 接下来 {#next}
#
# 回到[完整的 Transformer](../chapters/transformer.md)、[掩码](../chapters/masks.md)，或者去看关于 [√d_k](scaling.py) 的实验。
