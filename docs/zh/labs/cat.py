# ---
# description: cat 到底在看什么：把公开的模型 MiniLM 放进我们自己的层里，一眼看遍 72 个头，切掉 [CLS] 这个注意力汇，看 bank 在 river 和 money 旁边怎么变，拿掉一些头，以及权重为什么不是解释。
# ids: [T23]
# ---

# %% [markdown]
# # 实验：“cat”在看什么？ {#t23-cat}
#
# 你也许在教程里读到过：在 the cat sat on the mat 这句话里，cat 对 sat 的权重是 0.4，对 mat 是 0.3。[这些数是编的](../mistakes/claims.md#m8-invented)。这个实验去问一个大家真在用的模型：all-MiniLM-L6-v2，它把英文句子变成向量，用来做搜索。它在本站自己的 `EncoderLayer`{.text} 里运行，一共六层，每层十二个头。在这个实验里，你会：
#
# - 把编的数和真的数放在一起；
# - 一眼看遍全部 72 个头，找出几个说得清分工的头；
# - 切掉那个收走了一半权重的词元；
# - 看 bank 在 river 旁边、在 money 旁边怎么变；
# - 把头一个个拿掉，直到相似的句子不再相似——至少你会这么以为。
#
# ## 模型，和你自己的句子 {#own}
#
# 权重要下载一次，84 MB：`python -m headwise.models fetch minilm`{.text}。它走你自己的 pip 和镜像，所以连不上模型站点也能用。然后只改一行：`sentence`。这个模型只懂英文。

# %%
import torch
import torch.nn.functional as F

from headwise.drawing import plot
from headwise.models import minilm

sentence = "the cat sat on the mat"

torch.set_grad_enabled(False)
model = minilm.load().double()  # 这样就看不到舍入误差
tokens = model.encode([sentence])
pieces = model.tokenizer.decode(tokens[0].tolist())
states, weights = model(tokens, need_weights=True)
seen = torch.stack(weights)[:, 0]  # (6, 12, 8, 8)
print(pieces)

# %% [markdown]
# 分词器在句首加上 `[CLS]`{.text}，在句尾加上 `[SEP]`{.text}。它们和别的词元一样：自己会看，也会被看。`seen` 里有 6 层、每层 12 个头，一个头一张表。
#
# ## 编的数和真的数 {#real}
#
# 下面是 cat 那一行：先是教程里的数，再是所有头的平均，然后是两个单独的头，它们分别最使劲地看 sat 和 mat。L2 H9 指第 2 层第 9 个头。

# %%
cat, sat, mat = (pieces.index(word) for word in ("cat", "sat", "mat"))
made_up = {1: "0.05", sat: "0.40", mat: "0.30"}
everyone = seen.mean(dim=(0, 1))[cat]
hardest = {}
for key in (sat, mat):
    layer, head = divmod(seen[:, :, cat, key].argmax().item(), 12)
    hardest[f"L{layer + 1} H{head + 1}"] = seen[layer, head, cat]

# %%
print("         编的   所有头    " + "  ".join(hardest))
for i, piece in enumerate(pieces):
    single = "".join(f"{row[i]:7.2f}" for row in hardest.values())
    print(f"{piece:7}{made_up.get(i, ''):>7}{everyone[i]:11.2f}{single}")

# %% [markdown]
# cat 手里的权重，将近三分之二落在 `[CLS]`{.text} 上，`everyone[0] == 0.64`；sat 和 mat 拿到的，不比句首的 the 多：`everyone[sat] == 0.05`，`everyone[mat] == 0.05`，`everyone[1] == 0.07`。不过各个头做的事不一样，这只是它们的平均。确实有一个头，对 sat 的权重比编的 0.4 还大，也有一个头看着 mat：`seen[1, 8, cat, sat] == 0.60`，`seen[5, 3, cat, mat] == 0.59`。那么，在 72 个头里的两个头上，这个故事到底还是对的？先看看这样的头在别处做些什么。
#
# ## 一眼看遍 72 个头 {#heads}
#
# 每个头里 cat 的那一行：一层一张图，一个头一行。

# %%
heads = [f"H{head}" for head in range(1, 13)]
layers = [f"L{layer}" for layer in range(1, 7)]
plot.heatmap(seen[:, :, cat], heads, pieces, names=layers, axes=("头", "cat →"))

# %% [markdown]
# 从第二层到第五层，左边那一列颜色都深。第一层的 H3 全看着 the，也就是 cat 前面的那个词元。要知道哪些头真有习惯，而不是碰巧一次，就拿 20 个句子来量：每个词发问时，有多少权重落在 `[CLS]`{.text}、落在 `[SEP]`{.text}、落在左边的词元、落在右边的词元、落在自己、落在句中别处的同一个词上。

# %%
sentences = """the cat sat on the mat
a small boat crossed the lake before the storm
she put the letter into the drawer and locked it
the bread was still warm when we sat down
every winter the old bridge freezes over
my brother sold his bicycle to a neighbour
the teacher asked a question and nobody answered
two birds built a nest above our door
he reads the paper while the coffee gets cold
the train was late and the platform was full
after the rain the street smelled of dust
the doctor told her to sleep more
they painted the fence and then they painted the gate
a letter came and then another letter came
the dog chased the cat and the cat chased the mouse
we counted the stars until the stars were gone
the key is under the stone beside the gate
her garden has more weeds than flowers
nobody knew where the music came from
the baker opens his shop before the sun comes up""".splitlines()
many = model.encode(sentences)
many_seen = torch.stack(model(many, need_weights=True).weights, dim=1)  # (20, 6, 12, 13, 13)

place = torch.arange(many.size(1))
end = (many != model.pad).sum(dim=1) - 1  # (20,)
is_word = (place > 0) & (place < end[:, None])  # (20, 13)
asks = is_word[:, :, None]
both = asks & is_word[:, None]  # (20, 13, 13)
step = place - place[:, None]  # 从查询到键
same = many[:, :, None] == many[:, None]
habits = {
    "[CLS]": asks & (place == 0),
    "[SEP]": asks & (place == end[:, None, None]),
    "i − 1": both & (step == -1),
    "i + 1": both & (step == 1),
    "i": both & (step == 0),
    "=": both & same & (step != 0),
}
share = {}
for name, rule in habits.items():
    found = many_seen * rule[:, None, None]
    share[name] = found.sum(dim=(0, 3, 4)) / rule.any(dim=-1).sum()  # (6, 12)

# %%
told = {
    "[CLS]": "看 [CLS]",
    "[SEP]": "看 [SEP]",
    "i − 1": "看左边一个",
    "i + 1": "看右边一个",
    "i": "看自己",
    "=": "看别处的同一个词",
}
print("   所有头  最强的那个头")
for name, each in share.items():
    layer, head = divmod(each.argmax().item(), 12)
    print(f"{each.mean():9.2f}  L{layer + 1} H{head + 1:<3} {each.max():.2f}  {told[name]}")

# %% [markdown]
# 有一个头只做一件事：L1 H3 看左边一个词元，不管那里是什么，`share["i − 1"][0, 2] > 0.99`。而 L2 H9 看右边一个，`share["i + 1"][1, 8] == 0.67`。它正是给了 sat 0.60 的那个头。它看 sat，是因为 sat 就在下一个位置，不是因为猫会坐。在中间插一个词，再看看：

# %%
others = (
    "the cat sat on the mat",
    "the cat quickly sat on the mat",
    "the cat that you fed sat on the mat",
)
for other in others:
    ids = model.encode([other])
    words = model.tokenizer.decode(ids[0].tolist())
    row = model(ids, need_weights=True).weights[1][0, 8, words.index("cat")]
    top = row[1:-1].argsort(descending=True)[:2] + 1
    print({words[i]: round(row[i].item(), 2) for i in top.tolist()}, row[words.index("sat")] < 0.1)

# %% [markdown]
# 下一个位置换成 quickly 或 that，sat 得到的就不到 0.1：行末的 True 说的就是这个。要是只看过第一个句子，你就会以为找到了一个专看动词的头。
#
# `[SEP]`{.text} 和重复的词就没有这样的专职。没有哪个头把一半的权重给它们，各自最强的是 `share["[SEP]"].max() == 0.30` 和 `share["="].max() == 0.33`。`[CLS]`{.text} 就不同了。几乎每个头最爱做的，都是看它：在这张单子上，这是 `(torch.stack(list(share.values())).argmax(dim=0) == 0).sum() == 67` 个头最强的习惯；各个词给出的全部权重里，有一半落在 `[CLS]`{.text} 上，`share["[CLS]"].mean() == 0.50`。
#
# ## 注意力汇有什么用？ {#sink}
#
# 从各处收走权重的词元，叫注意力汇。`[CLS]`{.text} 在每个句子里都一样，模型为什么要花这么多权重去看它？常见的解释是：softmax 总要把整个 1 分出去，哪怕一个头没找到值得看的东西；这时有个放权重又不碍事的地方，就很方便。这里是不是这样呢？拿第一个句子来，比一比各个词元给出的值，看范数有多大，按层取各头的平均：

# %%
V = [layer.attention.W_v(x) for layer, x in zip(model.layers, states)]
length = torch.stack([v[0].view(-1, 12, 32).norm(dim=-1).mean(dim=1) for v in V])  # (6, 8)

# %%
print("   层   [CLS]     词")
for layer, row in enumerate(length, start=1):
    print(f"{layer:5}{row[0]:8.2f}{row[1:-1].mean():8.2f}")

# %% [markdown]
# 从第二层起，`[CLS]`{.text} 的值，范数比词的小得多：`(length[1:, 0] < length[1:, 1:-1].mean(dim=1) / 9).all()`。所以落在那里的权重几乎取不回东西，等于这个头在说“这里没有我要的”。
#
# 这可以用两种办法检验。一种是把 `[CLS]`{.text} 的值设为零，权重不动；另一种是切掉它，谁也不许看它，权重只能去别处。然后把句子的向量和原来的比一比（看夹角的余弦：1 表示方向相同）。作为对照，对 `[SEP]`{.text} 和各个词也这样做。


# %%
def embed(tokens, mask=None, without_value=None):
    """句子的向量；每句可以有一个位置的值是零。"""

    def hook(module, args, out):
        return out if without_value is None else out * ~without_value[..., None]

    hooks = [layer.attention.W_v.register_forward_hook(hook) for layer in model.layers]
    vectors = model.pool(model(tokens, mask), tokens)
    for handle in hooks:
        handle.remove()
    return vectors


whole = embed(many)
zeroed, cut = {}, {}
targets = {"[CLS]": (place == 0).expand_as(many), "[SEP]": place == end[:, None]}
for i in range(1, 7):
    targets[i] = (place == i) & is_word
for name, at in targets.items():
    zeroed[name] = (embed(many, without_value=at) * whole).sum(dim=1).mean().item()
    cut[name] = (embed(many, ~at[:, None, None]) * whole).sum(dim=1).mean().item()

# %%
print("              值设为 0    切掉键")
for name in ("[CLS]", "[SEP]"):
    print(f"{name:10}{zeroed[name]:14.3f}{cut[name]:11.3f}")
means = [sum(by[i] for i in range(1, 7)) / 6 for by in (zeroed, cut)]
print(f"一个词    {means[0]:14.3f}{means[1]:11.3f}")

# %% [markdown]
# `[CLS]`{.text} 说了什么，几乎无所谓，`zeroed["[CLS]"] > 0.99`；词说了什么，关系大一些。但 `[CLS]`{.text} 在 softmax 里占的那个位置，比这里的什么都重要：一切掉，向量就偏离了原来的方向，`cut["[CLS]"] == 0.64`。原因多半是：本来没什么可取的头，现在不得不取点什么。所以，注意力汇上的权重大，不等于那里的内容重要；给训练时没有窗口的模型加滑动窗口，也不该把它丢掉（[留住第一个词元的窗口](../questions/practice.md#q57-sinks)）。
#
# ## bank 在 river 旁边，在 money 旁边 {#bank}
#
# 在嵌入表里，bank 只有一个向量。每一层都往上加一点从别的词取来的东西。想看看结果怎样，就两种意思各取四个句子，挑出 bank 在每一层之后的向量，在同一义项之间、不同义项之间比一比。

# %%
kinds = {
    "river": [
        "we sat on the bank of the river",
        "the river rose over its bank",
        "the river bank was covered in mud",
        "fishermen stood on the bank of the river",
    ],
    "money": [
        "she keeps her money in the bank",
        "the bank lent him money",
        "he took the money to the bank",
        "the bank counted the money",
    ],
}
banks, looks = [], {}
for kind, group in kinds.items():
    looks[kind] = torch.zeros(6, 12, dtype=torch.float64)
    for one in group:
        ids = model.encode([one])
        words = model.tokenizer.decode(ids[0].tolist())
        bank, beside = words.index("bank"), words.index(kind)
        some = model(ids, need_weights=True)
        banks.append(torch.stack([x[0, bank] for x in some.states]))
        looks[kind] += torch.stack(some.weights)[:, 0, :, bank, beside] / len(group)
directions = F.normalize(torch.stack(banks), dim=-1).transpose(0, 1)  # (7, 8, 384)
alike = directions @ directions.transpose(-2, -1)  # (7, 8, 8)
group = torch.arange(8) // 4
across = group[:, None] != group
within = ~across & ~torch.eye(8, dtype=torch.bool)
by_layer = {"within": alike[:, within].mean(dim=1), "across": alike[:, across].mean(dim=1)}
plot.lines(
    by_layer,
    x_label="layer",
    y_label="cosine",
    zh={"within": "同一义项", "across": "不同义项", "layer": "层", "cosine": "余弦"},
)

# %% [markdown]
# 在 0 处，还没有经过注意力，差别只来自位置：`by_layer["within"][0] - by_layer["across"][0] < 0.02`。第一层之后，两种意思就分开了；最后一层之后，每个 bank 离同义项的每个 bank，都比离另一义项的任何一个更近：`alike[6, within].min() > alike[6, across].max()`。这个差别是哪个头取来的？在 L1 H5 里，bank 使劲看着 river，可是没有哪个头这样看 money：

# %%
for kind, each in looks.items():
    top = each.flatten().argsort(descending=True)[:3].tolist()
    named = [f"L{i // 12 + 1} H{i % 12 + 1} {each.flatten()[i]:.2f}" for i in top]
    print(f"{kind}: {each.mean():.2f}; {', '.join(named)}")

# %% [markdown]
# 分号前面的数是所有头的平均。在这八个句子里，bank 是哪个意思，看它的向量一清二楚；在权重里，river 那边看得出来，money 那边几乎看不出来，尽管向量把两边都学到了（[从权重里能读出什么](../questions/practice.md#q58-meaning)）。
#
# ## 哪些头可以去掉？ {#remove}
#
# 意思相同的句子，向量应该相近，别的句子不该。这里有 12 对。好的模型会让每个句子离和它成对的句子最近。

# %%
pairs = """the cat slept on the sofa | a cat was asleep on the couch
he bought a new car last week | last week he purchased a new automobile
the children are playing in the garden | kids play outside in the yard
the meeting was moved to Friday | they postponed the meeting until Friday
the train arrived an hour late | the train was delayed by sixty minutes
it rained all day | there was rain from morning to night
the doctor gave him medicine | he got some pills from the physician
the film was boring | the movie was not interesting at all
they climbed the mountain in the morning | in the morning they went up the mountain
the shop closes at six | at six o'clock the store shuts
the river flooded the village | the village was under water after the river rose
he forgot his password | he does not remember the password""".splitlines()
twins = [pair.split(" | ")[i] for i in (0, 1) for pair in pairs]
twin_tokens = model.encode(twins)
twin_states = model(twin_tokens, need_weights=True).states
is_real = (twin_tokens != model.pad)[:, None, None]


def vectors_without(*removed, rows=slice(24)):
    """句子的向量，其中几个头在 W_o 里的部分设为零。"""
    first = min((layer for layer, _ in removed), default=0)
    kept = [layer.attention.W_o.weight.clone() for layer in model.layers]
    for layer, head in removed:
        model.layers[layer].attention.W_o.weight[:, 32 * head : 32 * (head + 1)] = 0
    x = twin_states[first][rows]
    for layer in model.layers[first:]:
        x = layer(x, is_real[rows])
    for layer, weight in zip(model.layers, kept):
        layer.attention.W_o.weight.copy_(weight)
    return model.pool(x, twin_tokens[rows])


def judge(vectors):
    """有几个找到成对的句子，成对的有多相似，不相干的有多相似。"""
    table = vectors[:12] @ vectors[12:].T  # (12, 12)
    own = torch.arange(12)
    found = (table.argmax(dim=0) == own).sum() + (table.argmax(dim=1) == own).sum()
    strangers = table[~torch.eye(12, dtype=torch.bool)]
    return found.item(), table.diag().mean().item(), strangers.mean().item()


right = vectors_without()
every = [(layer, head) for layer in range(6) for head in range(12)]
half = slice(12)  # 每对的第一句
alone = [vectors_without(one, rows=half) for one in every]
stays = (torch.stack(alone) * right[half]).sum(dim=-1).mean(dim=-1)  # (72,)
order = [every[i] for i in stays.argsort(descending=True).tolist()]
after = {n: judge(vectors_without(*order[:n])) for n in range(0, 73, 12)}

# %%
plot.heatmap(1 - stays.view(6, 12), layers, heads, axes=("层", "头"), title="1 − cos")

# %% [markdown]
# 这张图是拿掉一个头之后，向量转过了多少，取每对的第一句来平均。前五层几乎没有感觉：`1 - stays.view(6, 12)[:5].min() < 0.01`。最后一层的每个头，都比前面的头平均要紧好几倍，`(1 - stays.view(6, 12)[5]).min() > 4 * (1 - stays.view(6, 12)[:5]).mean()`，也许是因为后面没有层可以弥补了。现在把头真的一个个拿掉，最不要紧的先走：

# %%
print("拿掉几个头   找到成对的    成对的相似     不相干的相似")
for n, (found, twin, stranger) in after.items():
    print(f"{n:10}{found:11} / 24{twin:14.2f}{stranger:18.2f}")

# %% [markdown]
# 相似的句子始终相似。拿掉一半的头，几乎没什么事；就算完全没有注意力，24 个句子仍然都能找到和自己成对的那句，`after[72][0] == 24`。光看这个数，就能“证明”一个头都不需要。它真正说明的是题目太容易：光凭用了哪些词，就能认出这些句子。不过看看最后一列：没有注意力，毫不相干的句子看起来也相似，`after[0][2] == 0.10`，`after[72][2] == 0.44`。所以，在说什么可以去掉之前，先看看什么都没有的模型能得几分。
#
# ## 权重为什么仍然不是解释 {#explanation}
#
# 来检验一下：一个词元从所有头、所有发问的词那里得到的权重，能不能说明句子的向量有多依赖它？把 20 个句子里的词元一个一个藏起来，不让别的词元看见，看向量转过多少。

# %%
got, turned, names = [], [], []
for i, one in enumerate(sentences):
    ids = model.encode([one])
    n = ids.size(1)
    table = many_seen[i].mean(dim=(0, 1))[:n, :n]
    others = ~torch.eye(n, dtype=torch.bool)
    got += ((table * others).sum(dim=0) / (n - 1)).tolist()
    rows = ids.expand(n, -1)  # 每藏一个词元，用一份
    hidden = model.pool(model(rows, others[:, None, None]), rows)
    turned += (1 - hidden @ whole[i]).tolist()
    names += model.tokenizer.decode(ids[0].tolist())
got, turned = torch.tensor(got), torch.tensor(turned)
of_words = torch.tensor([name not in ("[CLS]", "[SEP]") for name in names])
ranks = torch.stack((got, turned))[:, of_words].argsort(dim=1).argsort(dim=1).double()
agreement = torch.corrcoef(ranks)[0, 1].item()
ends = torch.tensor([name == "[SEP]" for name in names])

# %%
print("第一个句子里的词元     权重   转过多少")
for i in range(8):
    print(f"{names[i]:>21}{got[i]:9.2f}{turned[i]:9.2f}")
print(f"所有句子里的词，名次的相关系数：{agreement:.2f}")

# %% [markdown]
# 在词与词之间，72 个头的平均是个不错的线索：名次大体一致，`agreement == 0.83`。但 sat 得到的权重和 cat 差不多，作用却小得多，`turned[2] / turned[3] > 6`。`[SEP]`{.text} 得到的比词的平均还多，`got[ends].mean() > got[of_words].mean()`，藏起来却几乎没有影响，`turned[ends].mean() < 0.01`。`[CLS]`{.text} 得到的最多，藏起来之后向量转得也最多。但这不是因为它说了什么（你已经看到，它几乎什么也没说），而是因为少了注意力汇。至于那个关于 sat 的故事，只看一个头像是真的，多一个词就散了。
#
# 那什么才算解释？改输入、切掉一个键、把一个值设为零、拿掉一个头，再量最后出来的东西变了多少，每次都要有对照。[“看见注意力”那个实验](attention.py#explanation)对一个翻译模型就是这样做的。
#
# ## 记住什么 {#take-away}
#
# - “对 sat 的权重是 0.4”这样的数，不知道是哪个模型、哪一层、哪个头，就什么也没说；在这个模型里，所有头的平均是 0.05。
# - 在这个模型里，各个词有一半的权重落在注意力汇上，而它的值从第二层起就很小。可以理解成“这里没有我要的”。
# - 一行权重再引人注目，背后也可能只是个平淡的习惯，比如看右边一个。换个句子试一试。
# - 拿掉点什么，结果也没变坏？先全部拿掉试试，看你的测验还给几分。
#
# ## 自己试试 {#try}
#
# - 把 `sentence` 改成“on the mat sat the cat”。猜一猜，这时 L2 H9 会从 cat 看向哪里？下一个词元是 `[SEP]`{.text}，所以你会看到：权重分给了它、`[CLS]`{.text} 和 cat 自己。可是 L6 H4 照样看着 mat，不管它在哪里：一行权重引人注目，不都是因为位置。
# - 每次只在一层里切掉 `[CLS]`{.text}（像 `vectors_without` 那样自己调用各层）。在哪一层伤得最重？
# - 比较你自己的句子：`python -m headwise.models.minilm similar "..." "..."`{.text}。你会发现，nobody came 和 everybody came 近得让人不放心。
#
# ## 接下来 {#next}
#
# 这里每个头背后的代码，见[多头注意力](../chapters/multi_head.md)；头以外的部分，见[各层](../chapters/layers.md)。
