# ---
# description: From random weights to a Transformer that translates Chinese numerals into English words – its curves, its mistakes, its heads, and what each part is good for, measured.
# ids: [T10]
# varies: true
# ---

# %% [markdown]
# # Lab: train the translator {#t10}
#
# In this lab you train [the whole Transformer](../chapters/transformer.md) on a task that is small and yet a translation: 二百三十五 becomes "two hundred thirty five". You will see
#
# - how the loss falls and the translations come right, and which mistakes the model makes on the way;
# - where the model looks in the Chinese while it writes a word of English;
# - what happens if you take away one of its heads, or the mask, the positions, the scaling or the residual connections.
#
# ## The task {#task}
#
# The model reads characters and writes words. A dictionary wouldn't be enough: Chinese groups digits by four, with 万 and 亿 at the end of a group, and English groups them by three. So 二十 may become "twenty" or "two hundred", depending on what follows.

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
print(f"{len(translator.SRC_TOKENS)} characters, {len(translator.TGT_TOKENS)} words")

# %% [markdown]
# A few rules can write every number up to `numerals.LARGEST == 999_999_999` in both languages, so we don't have to collect any data. From 100 on, about one number in ten is held out: a hash, a fixed scrambling of its digits, decides which, and training never draws such a number. Here are five of them; you'll meet them again.

# %%
five = [105, 15_000, 111_111, 2_105_000, 520_000_005]
print(held_out(torch.tensor(five)).all().item())

# %% [markdown]
# ## Training {#training}
#
# We start with a new model, with two layers on each side and four heads in every attention, and give it 128 numbers per step. Now and then we stop, let it translate 300 held-out numbers, and count how many are right to the last word.

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
print(f"{size} parameters")
print(f"after {steps[-1]} of {run.steps} steps: {right[-1]:.1%} right")

# %% [markdown]
# ### Mistakes while learning {#mistakes}
#
# Here are the five numbers at some of these moments:

# %%
for i, n in enumerate(five):
    print(numerals.to_chinese(n))
    for step in (0, 40, 100, 200, 400):
        said = diary[step][i]
        verdict = "right" if said == numerals.to_english(n) else "wrong"
        print(f"{step:6}   {verdict}   {said}")

# %% [markdown]
# The output sounds like a number long before it's the right one. Of these five, the shortest comes right first: both languages group 一百零五 in the same way. The other four are grouped differently: 一万五千 is neither "one thousand five hundred" nor "ten thousand five" but "fifteen thousand". If the same digit comes several times in a row, the model also has to learn to count. And a translation that's right can go wrong again, because all translations share the same weights, and every step changes them a little.
#
# ### To the end {#end}

# %%
for step in range(500, 801, 100):
    go_to(step)
    print(f"{step:5}   {right[-1]:.1%}")

# %% [markdown]
# From here on, training only polishes. The learning rate has been falling for most of the training; near the end, the steps are so small that the weights settle.

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
# A translation counts only if every word is right, so the share of right ones rises later than the loss falls.
#
# ## Numbers it has never seen {#unseen}
#
# Now for a larger test: 10 000 held-out numbers, and 1000 from each of three ranges in which the model hasn't seen a single number.

# %%
counts = accuracy(run.model, 10_000)
worst = min(int(hit) / int(of) for hit, _, of in map(str.split, counts.values()))

# %%
labels = ["held out", *(f"{r.start} to {r.stop - 1}" for r in RANGES)]
for label, count in zip(labels, counts.values(), strict=True):
    hit, _, of = count.split()
    print(f"{hit:>5} / {of:5}  {label}")

# %% [markdown]
# It does as well on the ranges as on the rest, `worst > 0.95`: it has met every digit in every place, just never in this combination.
#
# The library ships with weights that were trained in exactly this way. Are yours the same, bit for bit?

# %%
recipe = json.loads(translator.CHECKPOINT.with_suffix(".json").read_text())
print(fingerprint(run.model) == recipe["sha256"])

# %% [markdown]
# Don't worry if it says False. You get the same weights from the same seed only on the same kind of processor, with the same version of PyTorch. Another may round the last digit differently, and after a few hundred steps that's a different model, about as good.
#
# ## Where it looks {#alignment}
#
# From here on we use the shipped weights, so that your heads are the ones described here. Each row is a moment of writing, named after the word that is written then; it says how much the decoder looks at each character. This is the last layer's attention to the source:

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
# Nobody told the model which character goes with which word. And yet heads 2 and 3 look at each digit while the model writes that digit's word. In all four heads 千 lights up at "thousand", and in heads 1 and 4 百 lights up at "hundred".
#
# But what if there is no 百 for "hundred" to look at?


# %%
def align(text):
    """Each word, with the character that the last layer's heads together look at most."""
    written, weights = look(text)
    mean = weights.memory[-1][0].mean(dim=0)  # a row for each word, a column for each character
    return [f"{word} ← {text[i]}" for word, i in zip(written, mean.argmax(dim=-1), strict=True)]


for text in ("三千五百二十四", "二十三万五千"):
    print(text, *align(text), sep="   ")

# %% [markdown]
# Then it looks at 万. But a weight only says where the heads look; to find out whether the result depends on it, you have to hide it. So let's hide each character from the decoder in turn, and see how much of the probability of "hundred" is left:

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
    print(f"without {character}: probability of hundred {left:.2f}")

# %% [markdown]
# Without 万 most of the probability is gone, `hundred[3] < 0.5`; without any other character it hardly changes, `min(hundred[:3].min(), hundred[4:].min()) > 0.95`. So here the heads look where the result comes from. The probability doesn't drop to 0, perhaps because the encoder has already mixed 万 into the vectors of its neighbours, where the decoder can still read some of it.
#
# ## What each head does {#heads}
#
# Take all numbers like 三千五百二十四, with four digits from 2 to 9. Their words and characters are always in the same places, so we can average the weights. For each head of the attention to the source, we ask: how much does it look at the digit while it writes that digit's word, how much at the unit behind the digit, and how much at the unit while it writes the unit's word?

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
print("               digit's word    digit's word    unit's word")
print("               at the digit    at its unit     at the unit")
for layer, head, at_digit, at_unit, unit in looks:
    shares = f"{at_digit:8.2f} {at_unit:15.2f} {unit:15.2f}"
    print(f"layer {layer} head {head}   {shares}")

# %% [markdown]
# In the last layer, heads 2 and 3 look at the digit. Head 4, and head 1 of the first layer, look at the unit behind it, which decides whether 五 becomes "five" or "fifty". A row needn't sum to 1: the last digit has no unit behind it, so the columns are averages over different words.
#
# Now the heads that look at their own side. Each column is a distance, and the last one is the very first token. (That may also be the one before; then it's counted again.)

# %%
for name, layers in (("encoder", weights.encoder), ("decoder", weights.decoder)):
    print(name, "       two before  one before      itself   one after       first")
    for layer, seen in enumerate(layers, 1):
        for head, mean in enumerate(seen.mean(dim=0), 1):
            near = [mean.diagonal(offset).sum() / len(mean) for offset in (-2, -1, 0, 1)]
            shown = "  ".join(f"{share:10.2f}" for share in (*near, mean[:, 0].mean()))
            print(f"layer {layer} head {head}  {shown}")

# %% [markdown]
# The encoder's heads look in both directions. The decoder's heads can't look ahead: "one after" is 0, because of the causal mask. Instead they look at the current word, at the one before, and at the first token, `<bos>`{.text}.
#
# ## Without one head {#without-head}
#
# That a head looks somewhere doesn't mean that it's needed. So let's remove each head in turn: we put zeros where its output enters $W_o$, and count again.

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


whole = exact(model, tested).double().mean().item()
shares = {
    (name, layer): [without(attention, heads) for heads in (0, 1, 2, 3, [0, 1, 2, 3])]
    for name, attentions in parts.items()
    for layer, attention in enumerate(attentions, 1)
}

# %%
names = {
    "encoder": "encoder",
    "decoder, own words": "decoder, own words",
    "decoder, source": "decoder, source",
}
print(f"all heads there: {whole:.1%}")
print("without head 1   head 2   head 3   head 4  all four")
for (name, layer), row in shares.items():
    numbers = "".join(f"{share:10.1%}" for share in row)
    print(f"   {numbers}  {names[name]}, layer {layer}")

# %% [markdown]
# You can remove most heads, one at a time, and hardly see a difference: the others seem to know nearly the same. The last column is another matter. If either layer can't look at the source, or if the first layer can't look at the words written so far, the decoder is lost. If one of the encoder's layers loses its attention, or if the decoder's second layer can't look at the words so far, more than half of the translations are still right. Below, the trained model from this site is at work; switch its heads off by hand. Which numbers does it get wrong first?
#
# <div class="instrument" data-instrument="translator" data-button="Switch heads off" markdown>
#
# ![Where the translator looks while it writes: the last layer's cross-attention, mean over its heads](../figures/gaze.svg)
#
# </div>
#
# ## Without one part {#ablations}
#
# What are the causal mask, the positions, the scaling and the residual connections good for? Guess which of them the model can best do without. Then let's train without each. A single training proves little, so we train each from three seeds; to keep the wait short, the model is a small one (one layer, width 32), the numbers have at most four digits, and a training takes 120 steps. First the mask: a hook, a function that PyTorch calls before the module, tells the decoder's self-attention that it isn't causal.

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
    """Train a small model with a change: its loss over the last 20 steps, its share of right translations, and what it makes of 235."""
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


torch.set_default_dtype(torch.float64)  # so that your machine gets the same
torch.set_num_threads(1)
results, said = {}, {}
compare(untouched)
compare(no_causal_mask)


# %%
def show(change):
    loss, share = ("  ".join(f"{x:.3f}" for x in row) for row in results[change])
    print(f"loss {loss}    right {share}   {change.__name__}")
    print(*said[change], sep=" / ")


show(untouched)
show(no_causal_mask)

# %% [markdown]
# Each row has three losses and three shares, one for each seed; below it you see what the three models make of 二百三十五. Without the mask the loss gets low as well, `results[no_causal_mask][0].max() < 0.1`; from the loss alone you'd think that it has learned the task. But it gets hardly any number right: `results[no_causal_mask][1].max() < 0.05`. While training it could see the next word, and copied it; while translating there is no next word to copy.
#
# Now the others. Without positions means that the positional encoding is computed and thrown away:


# %%
def no_positions(model):
    for positions in (model.src_positions, model.tgt_positions):
        positions.register_forward_hook(lambda module, args, output: args[0])


compare(no_positions)

# %%
show(no_positions)

# %% [markdown]
# The model knows which characters there are, but not in which order, so it often writes the right digits in the wrong places. All three seeds are far behind: `results[no_positions][1].max() < 0.5 < results[untouched][1].min()`.
#
# To undo the scaling, we multiply the queries by the $\sqrt{d_k}$ that the scores are divided by:


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
# It learns, but more slowly: all three losses are above those of the untouched model, `results[no_scaling][0].min() > results[untouched][0].max()`. (The shares of right translations overlap, so they show no difference.) In this model $d_k$ is only 8, and training can make $W_q$ smaller to compensate; [the more dimensions, the more it matters](scaling.py#spread).
#
# Without residual connections, a sublayer outputs only its change, without its input:


# %%
def no_residual(model):
    for module in model.modules():
        if isinstance(module, Residual):
            module.leave = lambda x, change: change


compare(no_residual)

# %%
show(no_residual)

# %% [markdown]
# All three seeds are behind, `results[no_residual][1].max() < results[untouched][1].min()`, although this model has only one layer. In deep stacks [much more depends on them](../chapters/layers.md#residual): without residual connections, all that the model knows of a character has to pass through every sublayer on its way up, and the gradient has to pass through every sublayer on its way down.
#
# ## Try it yourself {#try}
#
# - Train a model of your own on the command line: `python -m headwise.models.translator train --seed 1`{.text}. Stop it with Ctrl-C and continue with `--resume`{.text}: the weights come out the same, to the last bit.
# - Use one head instead of four in `trained`{.text}, and train from several seeds. The number of parameters stays the same. Is the difference larger than that between seeds?
# - Leave out all of 七亿: add `range(700_000_000, 800_000_000)` to the ranges in `src/headwise/models/translator_training.py` and train. The model then never meets 七 before 亿. In our trial it still got every such number right: what it had learned about 七 and about 亿 was enough.
# - Try a form that people use in speech: `python -m headwise.models.translator translate 两万五`{.text}. It's refused, with a reason. Why would it be a bad idea to let the model guess?
#
# ## Where next {#next}
#
# Back to [the whole Transformer](../chapters/transformer.md), to [masks](../chapters/masks.md), or to the lab on [√d_k](scaling.py).
