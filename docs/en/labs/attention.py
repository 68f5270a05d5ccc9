# ---
# description: Heat maps of every head for your own input – encoder, decoder and cross-attention of a trained model, the entropy of heads, heads taken out, and why a weight is no explanation.
# ids: [T11]
# ---

# %% [markdown]
# # Lab: seeing attention {#t11-attention}
#
# In this lab you look at the weights of a model that has learned something: the translator that comes with this site. It reads 二百三十五 character by character and writes "two hundred thirty five" word by word, with two layers of four heads in the encoder and in the decoder ([the whole model](../chapters/transformer.md)). You will
#
# - draw every head for an input of your own, and for a sentence of your own;
# - measure how sharply each head looks;
# - take heads out, and count what breaks;
# - see why a weight isn't an explanation.
#
# ## Your own input {#own}
#
# Download the notebook and change one line: `text = "二百三十五"`. The text on this page will still be about that number, but the figures will show yours.

# %%
import torch

from headwise.drawing import plot
from headwise.models import numerals, translator

text = "二百三十五"  # any number below 十亿

text = numerals.to_chinese(numerals.parse_chinese(text))
model = translator.load().double()  # so that rounding stays out of sight
src = translator.encode([text])
said = translator.say(model, [text])
tgt = translator.encode_words(said)
with torch.no_grad():
    logits, weights = model(src, tgt[:, :-1], need_weights=True)
words = [translator.TGT_TOKENS[token] for token in tgt[0]]
print(words)

# %% [markdown]
# `need_weights=True` returns three lists with one tensor per layer: `weights.encoder`, `weights.decoder` and, for cross-attention, `weights.memory`. Each holds a table for every head: `weights.encoder[0].shape == (1, 4, 5, 5)`, with the axes (text, head, query, key).
#
# ## The encoder looks at the source {#encoder}
#
# Every character sees every character. Each row belongs to a query and sums to 1. To see the first layer, write 0 instead of 1.

# %%
plot.heatmap(weights.encoder[1][0], list(text))

# %% [markdown]
# In head 1, 五 looks at 十 and at hardly anything else: `weights.encoder[1][0, 0, 4, 3] > 0.99`. What a digit is worth depends on its neighbours, so such a row makes sense. Most rows don't tell such a story: they spread over several characters, and the model still translates well.
#
# ## The decoder looks back {#decoder}
#
# The decoder's queries are the words so far, and no word sees a later one. So each table is a triangle: `torch.equal(weights.decoder[0], weights.decoder[0].tril())`.

# %%
plot.heatmap(weights.decoder[0][0], words[:-1])

# %% [markdown]
# Head 1 looks at the start token from every word, with two thirds of its weight or more: `weights.decoder[0][0, 0, :, 0].min() == 0.69`. It looks as if it's doing nothing. [Below](#remove) you'll take it out, and see.
#
# ## The decoder looks at the source {#cross}
#
# In cross-attention the queries come from the decoder and the keys from the encoder. The query at one word writes the next word, so each row is named after the word that it **writes**. Here are both layers: L2 H3 is layer 2, head 3.

# %%
heads = (1, 2, 3, 4)
names = [f"L{layer} H{head}" for layer in (1, 2) for head in heads]
both = torch.cat(weights.memory, dim=1)[0]  # a row for each word, a column for each character
plot.heatmap(both, words[1:], list(text), names=names)

# %% [markdown]
# In several heads, each word looks most at the character that it translates, as in head 1 of the second layer. Nobody taught the model this alignment. Now read the row of "thirty", which translates two characters, 三 and 十. Head 3 of the second layer looks at 三 with `0.99`{of="both[6, 2, 2]"}, head 4 at 十 with `0.89`{of="both[7, 2, 3]"}. This is what several heads make possible: a single row of weights would have to blend the two ([why heads](../questions/heads.md#q1-why-heads)).
#
# ## Any sentence, any module {#sentence}
#
# The translator knows only numerals. For an ordinary sentence you need a model that was trained on sentences. But you can draw any `MultiHeadAttention` in the same way. Here is one that hasn't been trained at all.

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
# These tables mean nothing, and it shows: equal weights would be 1/6 each, and all of these lie around it, `0.05 < min(seen.min(), seen_too.min())` and `max(seen.max(), seen_too.max()) < 0.31`. There is one thing you can read from them, though: both "the" get the same weights, `torch.allclose(seen[..., 0], seen[..., 4])`, because without a positional encoding they are the same vector.
#
# If your model uses `nn.MultiheadAttention`, ask it for each head separately; otherwise it returns the average ([more on that module](../chapters/pytorch.md#weights)). Inside `nn.TransformerEncoderLayer` you can't ask: the layer calls its attention with `need_weights=False`{.text}. Two hooks (functions that PyTorch runs before and after a call) can ask for you.

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
# The heat map shows one head in the second layer of PyTorch's encoder, also untrained; you can draw `by_head[0]` in the same way, with all its heads. All of `by_head` is `(1, 4, 6, 6)`; `averaged` is `(1, 6, 6)`, and the heads are gone.
#
# ## How sharply does a head look? {#entropy}
#
# The entropy of a row, $-\sum_j w_j \ln w_j$, puts a number on that: it is 0 if one key has all the weight, and $\ln n$ if $n$ keys share it evenly. We take 500 numbers that the model never learned from, and average over all rows.

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
called = {"encoder": "encoder", "decoder": "decoder", "memory": "cross-attention"}
print("head 1  head 2  head 3  head 4  uniform")
for (kind, layer), even in uniform.items():
    row = "  ".join(f"{entropy[kind, layer, head]:6.2f}" for head in heads)
    print(f"{row}   {even:6.2f}  {called[kind]}, layer {layer}")

# %% [markdown]
# The last column is what you'd get if the weights were spread evenly. The encoder's heads spread theirs widely, most of all in the first layer. Those of cross-attention mostly look at one or two characters: the sharpest of all is head 3 of its second layer, `min(entropy, key=entropy.get) == ("memory", 2, 3)`. In all three attentions, the second layer is sharper on average than the first. But that's a single training, and with another seed it may be different.
#
# ## Which heads can be removed? {#remove}
#
# The output of attention [is a sum over heads](../chapters/multi_head.md#sum). To take a head out, set its part of $W_o$ to zero; `nn.Linear` stores the matrix transposed, so that part is a block of columns. Then let the model translate the 500 numbers again, and count how many it still gets exactly right.

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
print(f"with all heads: {whole}")
print("without 1       2       3       4")
for kind, layer in uniform:
    row = "".join(f"{right[kind, layer, head]:8}" for head in heads)
    print(f"{row}   {called[kind]}, layer {layer}")

# %% [markdown]
# Half of the 24 heads can go, one at a time, and the model gets at most two numbers wrong: `sum(count >= 498 for count in right.values()) == 12`. (If two are wrong in a sample of 500, the rate among all numbers can still be as high as 1.4%. So "nobody missed it" only means that you don't see it in this sample.) All four heads of the second decoder layer are among them, though they look sharply. But without the head that seemed to do nothing but look at the start token, `500 - right["decoder", 1, 1] == 41` numbers go wrong. Where a head looks on one input doesn't tell you what it does on others.
#
# So what happens if we remove all the heads that nobody missed, together?

# %%
order = sorted(right, key=right.get, reverse=True)
together = {n: right_without(*order[:n]) for n in (1, 2, 3, 4, 6, 8, 12)}

# %%
print(f"each of the first 12 alone: {right[order[11]]} or more")
for n, count in together.items():
    print(f"the first {n:2} together: {count}")

# %% [markdown]
# You can do without each of these twelve heads, but not without all of them. It looks as if the others fill in while one is missing, like colleagues. So "this head does nothing" doesn't follow from "without it nothing changes".
#
# ## Why a weight is not an explanation {#explanation}
#
# **Other weights, same output.** The weights act only through `weights @ V`{.text}. If there are at least two keys more than a value has numbers, many different rows of weights give the same result. Take a random query with eight keys, forbid the key that it looks at most, and look for weights on the other seven that give the same output.

# %%
from headwise.attention import attention


def without_favourite(w, V):
    """Other weights, with the same output and none on the favourite key."""
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
# The first row says "mostly key 3", the second says "not key 3 at all", and the model can't tell them apart: `torch.allclose(w[0] @ V, other @ V)`. Neither has a negative number and both sum to 1, so both could be weights. This isn't just any draw: the second row often needs negative numbers, so we looked for a seed with which it doesn't. How often would you be that lucky without looking?


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
print("values of width 4, more and more keys")
for num_keys, share in longer.items():
    print(f"{num_keys:3} keys: {share:.2f}")
print("wider and wider values, 16 keys for each number in them")
for d_k, share in wider.items():
    print(f"{16 * d_k:3} keys, width {d_k:2}: {share:.2f}")

# %% [markdown]
# With values of four numbers, it happens more often with many keys than with few, `longer[64] > longer[8]`, and these are lower bounds, because we try only one candidate each time, the one closest to even. But don't carry these rates over to real models: the wider the values, the less often this count finds one, even if the keys increase in proportion, `wider[16] < wider[4]`.
#
# **A weight says where a head looks, not what depends on it.** In head 2 of the second layer above, the query that writes "five" and the one that ends the number both look at 五, `both[5, 3:, 4].min() == 0.99`. From this head they receive nearly the same value, and they write different words.
#
# You can measure what depends on a character: hide it from the decoder, and see how far the probability of the written word drops. On the left are the weights $w$, averaged over the eight heads; on the right is the drop $\Delta P$.


# %%
@torch.no_grad()
def weight_and_drop(text):
    src = translator.encode([text])
    tgt = translator.encode_words(translator.say(model, [text]))
    tgt, written = tgt[:, :-1], tgt[0, 1:]
    logits, weights = model(src, tgt, need_weights=True)
    weight = torch.cat(weights.memory, dim=1)[0].mean(dim=0)

    n = src.size(1)  # a batch with another character hidden in each row
    memory = model.encoder(model.embed_src(src)).expand(n, -1, -1)
    mask = ~torch.eye(n, dtype=torch.bool)[:, None, None]  # (n, 1, 1, n)
    hidden = model.decode(tgt.expand(n, -1), memory, mask)
    P = torch.softmax(torch.cat((logits, hidden)), dim=-1)
    P = P[:, range(len(written)), written]  # (n + 1, ...)
    drop = (P[:1] - P[1:]).T  # a row for each word, a column for each hidden character
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
# For the words, the largest numbers agree, but compare the smaller ones. The query that writes "hundred" looks at 二 about as much as the query that writes "thirty" looks at 十: `weight[1, 0] == 0.22` and `weight[2, 3] == 0.25`. Hide 二, and next to nothing happens to "hundred"; hide 十, and hardly anything is left of "thirty": `drop[1, 0] < 0.001` and `drop[2, 3] > 0.99`. And the end of the number looks at 五 most, `weight[4, 4] == 0.46`, without needing it: `drop[4, 4] < 0.001`.
#
# Here is the same for a hundred numbers. A pair is a written word and a character of the source. The pairs are sorted by weight, and the columns on the right say for which share of them the probability hardly drops, and for which it drops a lot:

# %%
pairs = [torch.stack(weight_and_drop(one)).flatten(1) for one in texts[:100]]
weight_of, drop_of = torch.cat(pairs, dim=1)

# %%
print("weight      pairs   drop below 0.01   drop above 0.5")
for low, high in ((0.0, 0.1), (0.1, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 1.0)):
    here = drop_of[(weight_of >= low) & (weight_of < high)]
    none, much = (here < 0.01).double().mean(), (here > 0.5).double().mean()
    print(f"{low:3} – {high:3} {len(here):8} {none:17.2f} {much:16.2f}")

# %% [markdown]
# So in this model the averaged weights are a good hint: below 0.1, the word hardly ever depends on the character; above 0.5, it mostly does. In between, they tell you little. Let the weights suggest where to look for an explanation, then hide the character and find out.
#
# ## What to take away {#take-away}
#
# - Draw weights per head, with the tokens on the axes, for a trained model. An average hides the heads, and an untrained model has nothing to show.
# - In cross-attention, a row belongs to the word that is **written**, which comes right after the word that the query belongs to.
# - A head that looks sharply may not matter, and one that seems idle may. Heads fill in for each other.
# - A weight says where a head looks. To know what depends on it, measure that separately.
#
# ## Try it yourself {#try}
#
# - Set `text` to 三万零四百零七. Chinese counts in ten thousands, English in thousands, so 三万 is "thirty thousand". Which character does "thirty" depend on, besides 三? Expect 万: hide it, and all of the probability is gone.
# - Remove all four heads of a layer, `right_without(*(("memory", 1, head) for head in (1, 2, 3, 4)))`{.text}. Without one of the two layers of cross-attention expect fewer than 60 of 500; without the first layer of the encoder's attention, about 400.
#
# ## Where next {#next}
#
# [Multi-head attention](../chapters/multi_head.md) has the code behind every table here, and [the whole Transformer](../chapters/transformer.md) shows how to put such a model together and train it.
