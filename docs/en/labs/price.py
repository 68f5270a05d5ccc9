# ---
# description: Silent bugs put into a real language model, SmolLM2 – what each costs in loss per token, over six texts, and which of the broken models still know the capital of France.
# varies: true
# ---

# %% [markdown]
# # Lab: the price of a bug {#price}
#
# [The museum](../museum.md) shows wrong code that runs. How much does such a bug cost? That depends on the model, so in this lab you put each bug into a real one, SmolLM2, and measure. You will see
#
# - that a model can be badly broken and still answer "Paris";
# - that some bugs cost almost nothing, and others ruin the model;
# - that a window works if it keeps the first token, and fails if it doesn't;
# - why one text isn't enough to measure a price.
#
# It helps to know [RoPE](../questions/practice.md#q44-rope), [shared key heads](../questions/practice.md#q45-gqa) and [the cache](../chapters/transformer.md#cache). And you need the weights on your machine: `python -m headwise.models fetch smollm2`{.text} downloads them, 93 MB.
#
# ## A real decoder on one page {#decoder}
#
# SmolLM2 has 30 layers of 9 query heads, which share 3 heads of keys and values. All of its arithmetic fits into one function. Each argument after `prompt`{.text} is one decision that code for such a model has to get right, and its default is the right one. The first `prompt`{.text} tokens are read at once and the others one by one, as when a model writes: for right code that makes no difference, but for some bugs it does.

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
# This function gives the same logits as the library's own model, up to rounding.
#
# ## The bugs {#bugs}
#
# There are twelve of them, each in one argument. (The window that keeps the first token isn't really a bug; it's there for comparison.) Some show only while a model writes; for these, we treat the tokens after the prompt the way the bug does.

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
    "right": "right",
    "layout": "RoPE in halves, weights made for pairs",
    "values": "RoPE applied to V as well",
    "repeat": "keys shared with repeat",
    "restart": "positions restart at 0 at every step",
    "first key": "is_causal with a cache and one query",
    "window": "window of 16",
    "window, first": "window of 15, and the first token",
    "root d_model": "scores divided by √d_model",
    "no root": "scores not divided at all",
    "not itself": "a token doesn't see itself",
    "next": "a token sees the next one",
    "mean": "RMSNorm that subtracts the mean",
}

# %% [markdown]
# ## What they cost {#cost}
#
# We use six texts, four in English and two in Chinese. They were written for this lab, so the model can't have learned them by heart. In each text it has to predict 40 tokens, each from all that come before it, and the loss is the price it pays, per token, for not knowing the next one: being sure and right every time would cost 0, and guessing evenly among all tokens about 10.8. Before you look: which bug do you expect to cost the most, and which the least?

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
print(" loss      price   least    most")
for bug, each in price.items():
    print(f"{loss[bug]:5.2f} {each.mean():10.2f} {each.min():7.2f} {each.max():7.2f}  {called[bug]}")

# %% [markdown]
# The second column is the price, on average over the six texts; least and most give it for the cheapest and for the most expensive text.
#
# - **The order of sharing costs everything.** Six of the nine query heads look at the keys of another group, and the model does worse than somebody who guesses evenly: `loss["repeat"] > torch.tensor(model.vocab).log()`.
# - **The wrong layout of RoPE, and turned values,** raise no error, and they cost something in every single text: `min(price["layout"].min(), price["values"].min()) > 0.2`.
# - **Going wrong only while writing** costs in every text as well, although the prompt is read as it should be: `min(price["restart"].min(), price["first key"].min()) > 0.5`. In one of these bugs each new token is given the first position, in the other it sees only the first key.
# - **The scale** costs in either direction, and in every text: `min(price["root d_model"].min(), price["no root"].min()) > 0.5`. Divided too much, the weights are too even; not divided, too much falls on a single key.
# - **Subtracting the mean costs next to nothing:** `loss["mean"] < loss["right"] + 0.2`. The vectors inside this model have a mean close to 0, compared with their size, `off_centre < 0.05`, so subtracting it hardly changes them. You'd find that bug by comparing with a reference, not by looking at the loss.
# - **Not seeing itself** is cheap too, `loss["not itself"] < loss["right"] + 0.5`: what a token is still arrives through the residual connection.
# - **Seeing the next token** should make the loss fall, as the answer is in sight. In a model that was *trained* with that bug it does, as [the translator](translator.py#ablations) shows. This one never learned what to do with it, and the spread is wide: in some texts it helps, in others it hurts, `price["next"].min() < -1` and `price["next"].max() > 1`. Measured on a single text, this bug could pass for an improvement.
#
# ## The first token {#first}
#
# A window of 16 costs a lot. A window of 15 that also keeps the first token shows a query just as many keys, and costs hardly anything: `price["window"].mean() > 5 * price["window, first"].mean()`. Here is the loss along the text, eight tokens at a time.

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
# As long as the first token is in the window, nothing happens; once it has left, the loss jumps. Most likely that's not because of what the first token says. In [another model](cat.py#sink) we measured it: many heads put the weight that they have no use for on one token, since softmax has to put it somewhere. Without that place, it falls on words that it was never meant for.
#
# ## Which of them still say Paris? {#paris}
#
# Now let each broken model continue four prompts, greedily, with four tokens each. The texts are too short for a window to matter, so the two windows are left out.

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
# The right model says Paris, `answers["right"][0].startswith("Paris")`, and so does the one with RoPE in the wrong layout, `answers["layout"][0].startswith("Paris")`. If that prompt were your only test, you'd ship it. The bugs that begin when the model writes say Paris as well, `answers["first key"][0].startswith("Paris")`, because they read the prompt as they should; it's the tokens after it that go wrong. It also happens the other way round: not seeing itself was among the cheapest bugs, but that model can't name the capital, `not answers["not itself"][0].startswith("Paris")`. So neither a prompt nor the loss is enough by itself. A test that catches all of these compares numbers: the logits with those of a reference, text by text, on texts longer than any window, and with the tokens after the prompt read one by one.
#
# ## Try it {#try}
#
# Download the notebook and change one thing:
#
# - Put your own text of at least 41 tokens into `texts`{.text}. Expect other losses, but the same bugs among the most expensive.
# - Make the window 32. Expect it to be cheaper, since the first token now leaves it later.
# - Put several bugs in at once. Don't expect the prices to add up.
#
# ## Where next {#next}
#
# [Names translated](../reference/names.md) says which published weight goes where, and which layout it has. The wrong scale and the wrong mask are exhibits [X2](../museum/training.md#x2-scale) and [X8](../museum/masks.md#x8-diagonal).
