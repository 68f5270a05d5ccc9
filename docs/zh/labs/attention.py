# ---
# description: 用你自己的输入画出每个头的热力图：训练好的模型里编码器、解码器和交叉注意力怎么看，各头的熵，去掉几个头会怎样，以及权重为什么不等于解释。
# ids: [T11]
# ---

# %% [markdown]
# # 实验：看见注意力 {#t11-attention}
#
# 这一次看的是一个学会了本事的模型：本站自带的翻译器。它一个字一个字地读“二百三十五”，一个词一个词地写出 two hundred thirty five；编码器和解码器各有两层，每处注意力四个头（[完整的模型](../chapters/transformer.md)）。在这个实验里，你会：
#
# - 用自己的输入、自己的句子，画出每一个头；
# - 量一量每个头看得有多集中；
# - 拿掉一些头，数一数坏了多少；
# - 看到权重为什么不等于解释。
#
# ## 换成你自己的输入 {#own}
#
# 下载笔记本，只改一行：`text = "二百三十五"`。这一页的文字说的还是这个数，图会换成你的。

# %%
import torch

from headwise.drawing import plot
from headwise.models import numerals, translator

text = "二百三十五"  # 十亿以下的数都行

text = numerals.to_chinese(numerals.parse_chinese(text))
model = translator.load().double()  # 这样在你的机器上也看不到舍入误差
src = translator.encode([text])
said = translator.say(model, [text])
tgt = translator.encode_words(said)
with torch.no_grad():
    logits, weights = model(src, tgt[:, :-1], need_weights=True)
words = [translator.TGT_TOKENS[token] for token in tgt[0]]
print(words)

# %% [markdown]
# 写上 `need_weights=True`，就会得到三个列表，每层一个张量：`weights.encoder`、`weights.decoder`，以及交叉注意力的 `weights.memory`。每个张量里，一个头占一张表：`weights.encoder[0].shape == (1, 4, 5, 5)`，轴依次是（文本，头，查询，键）。
#
# ## 编码器看原文 {#encoder}
#
# 每个字都能看见所有的字。一行是一个查询，加起来等于 1。想看第一层，就把 1 换成 0。

# %%
plot.heatmap(weights.encoder[1][0], list(text))

# %% [markdown]
# 在第 1 个头里，“五”几乎只看“十”：`weights.encoder[1][0, 0, 4, 3] > 0.99`。一个数字值多少，要看它的邻居，所以这一行说得通。大多数行讲不出这样的道理：权重散在好几个字上，而模型照样译得很好。
#
# ## 解码器往回看 {#decoder}
#
# 解码器的查询是已经写出的词，哪个词都看不见后面的词，所以每张表都是一个三角形：`torch.equal(weights.decoder[0], weights.decoder[0].tril())`。

# %%
plot.heatmap(weights.decoder[0][0], words[:-1])

# %% [markdown]
# 第 1 个头在每个词那里都看着起始词元，给它三分之二以上的权重：`weights.decoder[0][0, 0, :, 0].min() == 0.69`。看起来它像是闲着。[后面](#remove)把它拿掉，再看是不是这样。
#
# ## 解码器看原文 {#cross}
#
# 在交叉注意力里，查询来自解码器，键来自编码器。一个词的查询，写的是它的下一个词，所以每一行用它**写出**的词来命名。下面是两层的所有头：L2 H3 就是第 2 层第 3 个头。

# %%
heads = (1, 2, 3, 4)
names = [f"L{layer} H{head}" for layer in (1, 2) for head in heads]
both = torch.cat(weights.memory, dim=1)[0]  # 每个词一行，每个字一列
plot.heatmap(both, words[1:], list(text), names=names)

# %% [markdown]
# 有好几个头，每个词最看重的正是它所翻译的那个字，比如第 2 层的第 1 个头。这种对齐，谁也没有教过。再读 thirty 这一行，它翻译的是“三”和“十”两个字。第 2 层的第 3 个头看“三”，权重 `0.99`{of="both[6, 2, 2]"}；第 4 个头看“十”，权重 `0.89`{of="both[7, 2, 3]"}。多个头的用处就在这里：只有一行权重的话，就只能把两者混在一起（[为什么要分头](../questions/heads.md#q1-why-heads)）。
#
# ## 任何句子，任何模块 {#sentence}
#
# 这个翻译器只认得数字。要看普通的句子，得有一个用句子训练过的模型。不过，对任何 `MultiHeadAttention`，画法都一样，这里就拿一个什么都没学过的来画。

# %%
from torch import nn

from headwise import MultiHeadAttention


def untrained(tokens, num_heads=4, d_model=32):
    torch.manual_seed(0)
    vocabulary = sorted(set(tokens))
    ids = torch.tensor([[vocabulary.index(token) for token in tokens]])
    embed = nn.Embedding(len(vocabulary), d_model)
    X = embed(ids).double()  # (1, ..., d_model)
    return MultiHeadAttention(d_model, num_heads).double(), X


tokens = "the cat sat on the mat".split()
ours, X = untrained(tokens)
out, seen = ours(X, need_weights=True)
plot.heatmap(seen[0], tokens)

# %%
characters = list("猫坐在垫子上")
mha, Y = untrained(characters)
_, seen_too = mha(Y, need_weights=True)
plot.heatmap(seen_too[0], characters)

# %% [markdown]
# 这些表没有任何意义，看上去也是如此：平分的话每格是 1/6，所有的权重都在它上下，`0.05 < min(seen.min(), seen_too.min())`，`max(seen.max(), seen_too.max()) < 0.31`。不过有一点是真的：两个 the 得到的权重一样，`torch.allclose(seen[..., 0], seen[..., 4])`，因为没有位置编码，它们就是同一个向量。
#
# 如果你的模型用的是 `nn.MultiheadAttention`，就让它把各头分开给你；不说的话，它给的是平均值（[关于这个模块](../chapters/pytorch.md#weights)）。如果它在 `nn.TransformerEncoderLayer` 里面，就没法直接要：那一层调用注意力时写死了 `need_weights=False`{.text}。可以用两个钩子（PyTorch 在调用前后顺带运行的函数）代你去要。

# %%
from headwise.convert import convert

theirs = nn.MultiheadAttention(32, 4, batch_first=True).double()
convert(ours, theirs)
_, averaged = theirs(X, X, X)
_, by_head = theirs(X, X, X, average_attn_weights=False)
print(averaged.shape, torch.allclose(by_head, seen))


def ask(module, args, kwargs):
    return args, kwargs | {"need_weights": True, "average_attn_weights": False}


layer = nn.TransformerEncoderLayer(32, 4, batch_first=True)
encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).double().eval()
per_layer = []
for module in encoder.modules():
    if isinstance(module, nn.MultiheadAttention):
        module.register_forward_pre_hook(ask, with_kwargs=True)
        module.register_forward_hook(lambda module, args, out: per_layer.append(out[1]))
with torch.no_grad():
    encoder(X)
print([tuple(weights.shape) for weights in per_layer])
plot.heatmap(per_layer[1][0, 0], tokens)

# %% [markdown]
# 图上是 PyTorch 编码器第二层的一个头，同样没训练过；`by_head[0]` 也可以这样画，所有的头一起。整个 `by_head` 是 `(1, 4, 6, 6)`；`averaged` 是 `(1, 6, 6)`，头已经没有了。
#
# ## 一个头看得有多集中？ {#entropy}
#
# 这可以用熵来量。一行权重的熵是 $-\sum_j w_j \ln w_j$：全部权重落在一个键上时为 0，$n$ 个键平分时为 $\ln n$。取 500 个模型从没学过的数，对所有的行求平均。

# %%
from headwise.models.translator_training import exact, held_out_numbers

numbers = held_out_numbers(500, seed=1)
texts = [numerals.to_chinese(n) for n in numbers.tolist()]
right_words = [numerals.to_english(n) for n in numbers.tolist()]
sources = translator.encode(texts)
targets = translator.encode_words(right_words)[:, :-1]
with torch.no_grad():
    _, many = model(sources, targets, need_weights=True)

reads = sources != translator.PAD
writes = (targets != translator.PAD) & (targets != translator.EOS)
queries = {"encoder": reads, "decoder": writes, "memory": writes}
entropy = {}
uniform = {}
for kind, real in queries.items():
    for layer, w in enumerate(getattr(many, kind), start=1):
        each = torch.special.entr(w).sum(dim=-1)  # (500, 4, ...)
        for head in heads:
            entropy[kind, layer, head] = each[:, head - 1][real].mean().item()
        uniform[kind, layer] = (w > 0).sum(dim=-1).double().log()[:, 0][real].mean()

# %%
called = {"encoder": "编码器", "decoder": "解码器", "memory": "交叉注意力"}
print(" 头 1    头 2    头 3    头 4    平分")
for (kind, layer), even in uniform.items():
    row = "  ".join(f"{entropy[kind, layer, head]:6.2f}" for head in heads)
    print(f"{row}   {even:6.2f}  {called[kind]}，第 {layer} 层")

# %% [markdown]
# 最后一列是权重完全平分时的熵。编码器四处张望，第一层尤其如此。交叉注意力大多只看一两个字：所有头里最集中的，是它第 2 层的第 3 个头，`min(entropy, key=entropy.get) == ("memory", 2, 3)`。在这个模型的三处注意力里，平均而言第二层都比第一层集中；这是一次训练的结果，换一个种子未必如此。
#
# ## 哪些头可以拿掉？ {#remove}
#
# 注意力的输出[是各头之和](../chapters/multi_head.md#sum)。要拿掉一个头，把 $W_o$ 里属于它的那一块置零即可；`nn.Linear` 里的矩阵是转置着存的，所以这一块是几列。然后让模型把 500 个数重新译一遍，数数还有多少个一字不差。

# %%
import copy

MODULES = {
    "encoder": "attention",
    "decoder": "self_attention",
    "memory": "cross_attention",
}


def right_without(*heads):
    lesser = copy.deepcopy(model)
    for kind, layer, head in heads:
        part = lesser.encoder if kind == "encoder" else lesser.decoder
        mha = getattr(part.layers[layer - 1], MODULES[kind])
        mha.W_o.weight.data[:, (head - 1) * mha.d_v : head * mha.d_v] = 0
    return exact(lesser, numbers).sum().item()


right = {head: right_without(head) for head in entropy}
whole = right_without()

# %%
print(f"所有的头都在：{whole}")
print("去掉头 1    头 2    头 3    头 4")
for kind, layer in uniform:
    row = "".join(f"{right[kind, layer, head]:8}" for head in heads)
    print(f"{row}   {called[kind]}，第 {layer} 层")

# %% [markdown]
# 24 个头里有一半，单独拿掉时模型最多错两个数：`sum(count >= 498 for count in right.values()) == 12`。（500 个里错两个，放到所有的数上，错的比例仍可能高达 1.4%，所以“少了也没关系”只是说：在这个样本上看不出来。）解码器第 2 层的四个头全在其中，尽管它们看得很集中。而那个盯着起始词元、像是闲着的头，少了它却要错 `500 - right["decoder", 1, 1] == 41` 个数。一个头在某个输入上怎么看，说明不了它在别的输入上做什么。
#
# 那么，把这些少了也没关系的头一起拿掉：

# %%
order = sorted(right, key=right.get, reverse=True)
together = {n: right_without(*order[:n]) for n in (1, 2, 3, 4, 6, 8, 12)}

# %%
print(f"前 12 个单独去掉：至少对 {right[order[11]]} 个")
for n, count in together.items():
    print(f"前 {n:2} 个一起去掉：{count}")

# %% [markdown]
# 这 12 个头，每一个都可有可无，合起来却缺不得。看来少了一个，别的头就会顶上，像同事之间代班。所以，从“没有它也没变化”推不出“这个头什么也没做”。
#
# ## 权重为什么不等于解释 {#explanation}
#
# **换一组权重，输出照旧。** 权重只通过 `weights @ V`{.text} 起作用，没有别的途径。只要键的个数比一个值里的数至少多两个，同一个结果就对应着许多组权重。随机取一个查询和八个键，禁掉它最关注的那个键，再问：其余七个键上，有没有一组权重给出同样的输出？

# %%
from headwise.attention import attention


def without_favourite(w, V):
    """另一组权重：输出相同，最受关注的键上没有。"""
    rest = torch.arange(len(w)) != w.argmax()
    A = torch.cat((V.T, torch.ones(1, len(w))))
    even = rest / rest.sum()
    found = torch.zeros_like(w)
    found[rest] = torch.linalg.pinv(A[:, rest]) @ (A @ (w - even))
    return found + even


torch.set_default_dtype(torch.float64)
torch.manual_seed(256)
num_keys, d_k = 8, 4
q = 2 * torch.randn(1, d_k)
K, V = torch.randn(2, num_keys, d_k)
_, w = attention(q, K, V)
other = without_favourite(w[0], V)
print((w[0] @ V).numpy().round(4), (other @ V).numpy().round(4))
plot.heatmap(torch.stack((w[0], other)), ["w", "w′"], list("01234567"))

# %% [markdown]
# 第一行说“主要看键 3”，第二行说“根本不看键 3”，模型却分不出来：`torch.allclose(w[0] @ V, other @ V)`。两行都没有负数，加起来都是 1，都可以当权重。这不是随便取的一次：第二行常常要用到负数，所以我们挑了一个碰巧没有负数的随机种子。不挑的话，这样的运气有多常见？


# %%
def share_lucky(num_keys, d_k):
    lucky = 0
    for _ in range(200):
        q = 2 * torch.randn(1, d_k)
        K, V = torch.randn(2, num_keys, d_k)
        _, w = attention(q, K, V)
        lucky += (without_favourite(w[0], V) >= 0).all().item()
    return lucky / 200


longer = {num_keys: share_lucky(num_keys, 4) for num_keys in (8, 16, 32, 64)}
wider = {d_k: share_lucky(16 * d_k, d_k) for d_k in (4, 8, 16)}

# %%
print("值宽 4，键越来越多")
for num_keys, share in longer.items():
    print(f"{num_keys:3} 个键：{share:.2f}")
print("值越来越宽，键是宽度的 16 倍")
for d_k, share in wider.items():
    print(f"{16 * d_k:3} 个键，宽 {d_k:2}：{share:.2f}")

# %% [markdown]
# 一个值有四个数时，键多比键少更常碰上，`longer[64] > longer[8]`，而且这些只是下限，因为每次只试了一个候选，就是最接近平分的那一个。但不能照搬到真实的模型上：值越宽，这样数出来的就越少，哪怕键也按比例增加，`wider[16] < wider[4]`。
#
# **权重只说头在看哪里，不说结果取决于哪里。** 在上面第 2 层的第 2 个头里，写 five 的查询和结束这个数的查询都看着“五”，`both[5, 3:, 4].min() == 0.99`。它们从这个头得到的几乎是同一个值，写出的却是不同的词。
#
# 结果取不取决于某个字，可以量出来：把这个字对解码器遮住，看写出的那个词的概率下降多少。左边是权重 $w$，对八个头取了平均；右边是下降的幅度 $\Delta P$。


# %%
@torch.no_grad()
def weight_and_drop(text):
    src = translator.encode([text])
    tgt = translator.encode_words(translator.say(model, [text]))
    tgt, written = tgt[:, :-1], tgt[0, 1:]
    logits, weights = model(src, tgt, need_weights=True)
    weight = torch.cat(weights.memory, dim=1)[0].mean(dim=0)

    n = src.size(1)  # 一个批次，每一行遮住一个不同的字
    memory = model.encoder(model.embed_src(src)).expand(n, -1, -1)
    mask = ~torch.eye(n, dtype=torch.bool)[:, None, None]  # (n, 1, 1, n)
    hidden = model.decode(tgt.expand(n, -1), memory, mask)
    P = torch.softmax(torch.cat((logits, hidden)), dim=-1)
    P = P[:, range(len(written)), written]  # (n + 1, ...)
    drop = (P[:1] - P[1:]).T  # 每个词一行，每个遮住的字一列
    return weight, drop.clamp(min=0)


weight, drop = weight_and_drop(text)
plot.heatmap(
    torch.stack((weight, drop)),
    words[1:],
    list(text),
    names=["w", "ΔP"],
    title=f"{text} → {said[0]}",
)

# %% [markdown]
# 对写出的词来说，最大的那些数是一致的，但请比较小一些的。写 hundred 的查询看“二”，写 thirty 的查询看“十”，两者差不多：`weight[1, 0] == 0.22`，`weight[2, 3] == 0.25`。遮住“二”，hundred 几乎不受影响；遮住“十”，thirty 就几乎没了：`drop[1, 0] < 0.001`，`drop[2, 3] > 0.99`。而结束这个数的那一行，看得最多的是“五”，`weight[4, 4] == 0.46`，却并不需要它：`drop[4, 4] < 0.001`。
#
# 换成一百个数。写出的词与原文的字，两两配成对，按权重分组；右边的列是每一组里，概率几乎不降的占多少，降了很多的占多少：

# %%
pairs = [torch.stack(weight_and_drop(one)).flatten(1) for one in texts[:100]]
weight_of, drop_of = torch.cat(pairs, dim=1)

# %%
print("权重       多少对   下降不到 0.01    下降 0.5 以上")
for low, high in ((0.0, 0.1), (0.1, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 1.0)):
    here = drop_of[(weight_of >= low) & (weight_of < high)]
    none, much = (here < 0.01).double().mean(), (here > 0.5).double().mean()
    print(f"{low:3} – {high:3} {len(here):8} {none:17.2f} {much:16.2f}")

# %% [markdown]
# 可见在这个模型里，平均之后的权重是个不错的提示：低于 0.1，写出的词几乎不取决于那个字；高于 0.5，多半取决于它；介于两者之间，就说明不了什么。权重可以告诉你该去哪里找解释，至于是不是解释，遮住试过才知道。
#
# ## 小结 {#take-away}
#
# - 按头来画权重，轴上写词元，用训练过的模型。取了平均，就分不出头；没有训练，就没什么可看。
# - 在交叉注意力里，一行属于**写出**的那个词，也就是查询所属的词的下一个。
# - 看得集中的头未必重要，像是闲着的头未必没用。头与头可以互相顶替。
# - 权重说的是头在看哪里。结果取决于哪里，要另外去量。
#
# ## 自己试试 {#try}
#
# - 把 `text` 改成“三万零四百零七”。中文按万计数，英文按千计数，所以“三万”是 thirty thousand。除了“三”，thirty 还取决于哪个字？应该是“万”：遮住它，概率就全没了。
# - 拿掉一层里的全部四个头：`right_without(*(("memory", 1, head) for head in (1, 2, 3, 4)))`{.text}。两层交叉注意力，去掉哪一层，500 个里还对的都不到 60 个；去掉编码器第一层的注意力，还有大约 400 个。
#
# ## 接下来 {#next}
#
# 这里每张表背后的代码，都在[多头注意力](../chapters/multi_head.md)里。这样的模型怎样搭起来、怎样训练，见[完整的 Transformer](../chapters/transformer.md)。
