"""A claim is judged with its subject: right prose passes, and the same with another value fails."""

import pytest
from sample_site import Site

BLOCK = """
```python
import torch
import torch.nn.functional as F
from torch import nn

batch, seq_len, d_model, num_heads = 2, 5, 12, 3
d_k = d_model // num_heads
torch.manual_seed(0)
x = torch.randn(batch, seq_len, d_model)
Q = torch.ones(5, 8)
K = torch.ones(6, 8)
mask = torch.tensor([True, True, False])
layer = nn.Linear(d_model, 2 * d_model, bias=False)
weights = F.softmax(torch.zeros(2, 3, 4), dim=-1)
third = 1 / 3
mode = "mean"
steps = [3, 1, 2]
print(round(third, 3))
```

<!--pytest-codeblocks:expected-output-->
```text
0.333
```

"""
LINE = BLOCK.count("\n")

# Each sentence is right as it stands, and false with its last word put in place of the one before.
ENGLISH = [
    ("`x` has shape `{}`.", "(2, 5, 12)", "(5, 8)"),
    ("`x.shape` is `{}`.", "(2, 5, 12)", "(2, 3, 4)"),
    ("`Q @ K.T` has the shape `{}`.", "(5, 6)", "(6, 8)"),
    ("Then `K.T` has shape `{}`.", "(8, 6)", "(6, 8)"),
    ("Both `Q` and `Q * 2` have shape `{}`.", "(5, 8)", "(6, 8)"),
    ("`x` now has shape `{}`.", "(batch, seq_len, d_model)", "(batch, d_model, seq_len)"),
    ("Take `Q`, of shape `{}`, and transpose it.", "(5, 8)", "(6, 8)"),
    ("Take `Q` (shape `{}`) and transpose it.", "(5, 8)", "(8, 5)"),
    ("`F.relu(K)` returns a tensor of shape `{}`.", "(6, 8)", "(5, 8)"),
    ("The shape of `K` is `{}`.", "(6, 8)", "(5, 8)"),
    ("The tensor `Q` becomes `{}`.", "(5, 8)", "(6, 8)"),
    ("The weights have the shape `{}`.", "(2, 3, 4)", "(2, 5, 12)"),
    ("In `layer.weight`, `{}`, each row is an output.", "(24, 12)", "(12, 24)"),
    ("`{}` is the shape of `K`.", "(6, 8)", "(5, 8)"),
    ("Multiply by the `{}` matrix `Q`.", "(5, 8)", "(6, 8)"),
    ("`x.view(batch, seq_len, num_heads, d_k)` is `{}`.", "(2, 5, 3, 4)", "(2, 3, 5, 4)"),
    ("`x[:, 0]` gives `{}`.", "(batch, d_model)", "(batch, seq_len)"),
    ("`d_k` is `{}`.", "4", "3"),
    ("Here `num_heads` equals `{}`.", "3", "4"),
    ("`weights[0, 0]` is `0.25`, and its sum, `weights[0, 0].sum()`, is `{}`.", "1.0", "0.8"),
    ("`third` comes out as `{}`.", "0.33", "0.42"),
    ("`steps` is `{}`.", "[3, 1, 2]", "[1, 2, 3]"),
    ("`mask.tolist()` returns `{}`.", "[True, True, False]", "[True, False, False]"),
    ("`torch.equal(x, x)` is `{}`.", "True", "False"),
    ("`mask[2]` is `{}`.", "False", "True"),
    ("`layer.bias` is `{}`.", "None", "True"),
    ("`x.requires_grad` is `{}`.", "False", "True"),
    ("`mask.dtype` is `{}`.", "torch.bool", "torch.float32"),
    ("`mode` is `{}`.", '"mean"', '"sum"'),
    ("`layer` is an `{}`.", "nn.Linear", "nn.Conv1d"),
    ("`x.shape` is a `{}`.", "tuple", "dict"),
    ("Softmax runs over the keys, with `{}`.", "dim=-1", "dim=0"),
    ("A layer with `{}` has no offset.", "bias=False", "bias=True"),
    ("By default `nn.Linear` has `{}`.", "bias=True", "bias=None"),
    ("So `{}`.", "d_k = 4", "d_k = 3"),
    ("Since `{}`, each head is narrow.", "d_k == 4", "d_k == 5"),
    ("Both are the same: `{}`.", "torch.equal(Q, Q)", "torch.equal(Q, Q + 1)"),
    ("All of them are one: `{}`.", "(Q == 1).all()", "(Q == 2).all()"),
    ("The largest is `{}`{{of=weights.max()}}.", "0.25", "0.75"),
    ("The widths are `{}`, `5` and `12`{{of=x.shape}}.", "2", "3"),
    ('Pass `{}`{{of="(F.softmax(x, _)[0, 0].sum() - 1).abs() < 1e-5"}}.', "dim=-1", "dim=0"),
    ("The first key is seen, so `mask[0]` is `{}`.", "True", "False"),
    ("`Q` and `K` have shapes `(5, 8)` and `{}`.", "(6, 8)", "(5, 8)"),
    ("`d_k` is not `{}`.", "3", "4"),
    ("`len(steps)` gives `{}`.", "3", "2"),
    ("`x.ndim` is `{}`.", "3", "2"),
    ("`x.numel()` is `{}`.", "batch * seq_len * d_model", "batch * d_model"),
    ("`Q.tolist()[0][0]` prints `{}`.", "1.0", "0.96"),
    ("| `Q` | `{}` | the queries |", "(5, 8)", "(6, 8)"),
    ("| `d_k`, `len(mask) + 1` | `{}` | four |", "4", "3"),
    ("`Q` still measures `{}`.", "(5, 8)", "(6, 8)"),
    ("You get `{}` from `Q @ K.T`.", "(5, 6)", "(6, 8)"),
    ("A `{}` tensor such as `Q` is small.", "(5, 8)", "(6, 8)"),
    ("`Q`'s shape is `{}`, and `K`'s is `(6, 8)`.", "(5, 8)", "(8, 5)"),
    ("`d_k` isn't `{}`.", "3", "4"),
    ("`third` is about `{}`.", "0.33", "0.25"),
    ("`third` rounds to `{}`.", "0.33", "0.25"),
    ("`d_k` is less than `{}`.", "5", "4"),
    ("`num_heads` is no more than `{}`.", "d_k", "batch"),
    ("`d_model` exceeds `{}`.", "seq_len", "2 * d_model"),
    ("The length of `steps` is `{}`.", "3", "2"),
    ("The sum of `mask` is `{}`.", "2", "3"),
    ("The dtype of `mask` is `{}`.", "torch.bool", "torch.float32"),
    ("`mask` has dtype `{}`.", "torch.bool", "torch.float32"),
    ("`layer` is of type `{}`.", "nn.Linear", "nn.Conv1d"),
    ("If you pass `bias=False`, `layer.bias` is `None`, not `{}`.", "0", "None"),
    ("`d_k` times `num_heads` is `d_model`, and `d_model` is `{}`.", "12", "24"),
    ("`nn.Linear` takes `{}` unless you say otherwise.", "bias=True", "bias=False"),
    ("`Q @ K` raises a `{}`.", "RuntimeError", "ValueError"),
    ("`{}` is false.", "torch.equal(Q, Q + 1)", "torch.equal(Q, Q)"),
]
CHINESE = [
    ("`x` 的形状是 `{}`。", "(2, 5, 12)", "(5, 8)"),
    ("`x.shape` 是 `{}`。", "(2, 5, 12)", "(2, 3, 4)"),
    ("`Q @ K.T` 的形状为 `{}`。", "(5, 6)", "(6, 8)"),
    ("转置之后，`K.T` 的形状变成 `{}`。", "(8, 6)", "(6, 8)"),
    ("`Q` 和 `Q * 2` 的形状都是 `{}`。", "(5, 8)", "(6, 8)"),
    ("`x` 现在是 `{}`。", "(batch, seq_len, d_model)", "(batch, d_model, seq_len)"),
    ("取 `Q`，形状为 `{}`，再转置。", "(5, 8)", "(6, 8)"),
    ("取 `Q`（形状 `{}`）再转置。", "(5, 8)", "(8, 5)"),
    ("`F.relu(K)` 返回形状 `{}`。", "(6, 8)", "(5, 8)"),
    ("形状为 `{}` 的 `K` 有六行。", "(6, 8)", "(5, 8)"),
    ("`{}` 的张量 `Q` 有五行。", "(5, 8)", "(6, 8)"),
    ("`weights` 的形状仍然是 `{}`。", "(2, 3, 4)", "(2, 5, 12)"),
    ("`layer.weight` 也就是 `{}`。", "(24, 12)", "(12, 24)"),
    ("`x.view(batch, seq_len, num_heads, d_k)` 得到 `{}`。", "(2, 5, 3, 4)", "(2, 3, 5, 4)"),
    ("`x[:, 0]` 给出 `{}`。", "(batch, d_model)", "(batch, seq_len)"),
    ("`d_k` 是 `{}`。", "4", "3"),
    ("这里 `num_heads` 等于 `{}`。", "3", "4"),
    ("`weights[0, 0].sum()` 正好是 `{}`。", "1.0", "0.8"),
    ("`third` 打印出 `{}`。", "0.33", "0.42"),
    ("`steps` 是 `{}`。", "[3, 1, 2]", "[1, 2, 3]"),
    ("`mask.tolist()` 返回 `{}`。", "[True, True, False]", "[True, False, False]"),
    ("`torch.equal(x, x)` 是 `{}`。", "True", "False"),
    ("`mask[2]` 为 `{}`。", "False", "True"),
    ("`layer.bias` 是 `{}`。", "None", "True"),
    ("`x.requires_grad` 为 `{}`。", "False", "True"),
    ("`mask.dtype` 是 `{}`。", "torch.bool", "torch.float32"),
    ("`mode` 是 `{}`。", '"mean"', '"sum"'),
    ("`layer` 是一个 `{}`。", "nn.Linear", "nn.Conv1d"),
    ("`x.shape` 是一个 `{}`。", "tuple", "dict"),
    ("softmax 沿着键做，也就是 `{}`。", "dim=-1", "dim=0"),
    ("写上 `{}`，就没有偏置。", "bias=False", "bias=True"),
    ("`nn.Linear` 默认 `{}`。", "bias=True", "bias=None"),
    ("所以 `{}`。", "d_k = 4", "d_k = 3"),
    ("因为 `{}`，每个头都很窄。", "d_k == 4", "d_k == 5"),
    ("两者相同：`{}`。", "torch.equal(Q, Q)", "torch.equal(Q, Q + 1)"),
    ("每一个都是 1：`{}`。", "(Q == 1).all()", "(Q == 2).all()"),
    ("最大的是 `{}`{{of=weights.max()}}。", "0.25", "0.75"),
    ("三个轴的长度是 `{}`、`5` 和 `12`{{of=x.shape}}。", "2", "3"),
    ('传入 `{}`{{of="(F.softmax(x, _)[0, 0].sum() - 1).abs() < 1e-5"}}。', "dim=-1", "dim=0"),
    ("看得见的是真，所以 `mask[0]` 是 `{}`。", "True", "False"),
    ("`Q` 和 `K` 的形状分别是 `(5, 8)` 和 `{}`。", "(6, 8)", "(5, 8)"),
    ("`d_k` 不是 `{}`。", "3", "4"),
    ("`len(steps)` 给出 `{}`。", "3", "2"),
    ("`x.ndim` 就是 `{}`。", "3", "2"),
    ("`x.numel()` 等于 `{}`。", "batch * seq_len * d_model", "batch * d_model"),
    ("`Q.tolist()[0][0]` 是 `{}`。", "1.0", "0.96"),
    ("| `Q` | `{}` | 查询 |", "(5, 8)", "(6, 8)"),
    ("| `d_k`、`len(mask) + 1` | `{}` | 四 |", "4", "3"),
    ("只有 `{}` 时才有三个头。", "num_heads == 3", "num_heads == 4"),
    ("`mask.sum()` 得到 `{}`。", "2", "3"),
    ("由 `Q @ K.T` 得到 `{}`。", "(5, 6)", "(6, 8)"),
    ("形状 `{}` 属于 `Q`。", "(5, 8)", "(6, 8)"),
    ("`num_heads` 设为 `{}`。", "3", "4"),
    ("`third` 约为 `{}`。", "0.33", "0.25"),
    ("`third` 大约是 `{}`。", "0.33", "0.25"),
    ("`d_k` 小于 `{}`。", "5", "4"),
    ("`num_heads` 不超过 `{}`。", "d_k", "batch"),
    ("`d_model` 大于 `{}`。", "seq_len", "2 * d_model"),
    ("`steps` 的长度是 `{}`。", "3", "2"),
    ("`mask` 的和是 `{}`。", "2", "3"),
    ("`mask` 的 dtype 是 `{}`。", "torch.bool", "torch.float32"),
    ("`mask` 的类型是 `{}`。", "torch.bool", "torch.float32"),
    ("`layer` 属于 `{}`。", "nn.Linear", "nn.Conv1d"),
    ("传入 `bias=False`，`layer.bias` 就是 `None`，而不是 `{}`。", "0", "None"),
    ("`d_k` 乘以 `num_heads` 等于 `d_model`，而 `d_model` 是 `{}`。", "12", "24"),
    ("除非另外说明，`nn.Linear` 用 `{}`。", "bias=True", "bias=False"),
    ("`Q @ K` 会抛出 `{}`。", "RuntimeError", "ValueError"),
    ("`{}` 为假。", "torch.equal(Q, Q + 1)", "torch.equal(Q, Q)"),
    ("`Q.max()` 的值接近 `{}`。", "1.0", "0.9"),
    ("`len(steps)` 至少是 `{}`。", "3", "4"),
]


@pytest.mark.parametrize("sentences", [ENGLISH, CHINESE], ids=["English", "Chinese"])
def test_right_prose_is_no_alarm(site: Site, sentences: list[tuple[str, str, str]]) -> None:
    assert len(sentences) == 70
    page = BLOCK + "\n\n".join(one.format(right) for one, right, _ in sentences) + "\n"
    assert [str(finding) for finding in site.page(page)] == []


@pytest.mark.parametrize("sentences", [ENGLISH, CHINESE], ids=["English", "Chinese"])
def test_another_value_of_the_same_page_is_caught(
    site: Site, sentences: list[tuple[str, str, str]]
) -> None:
    page = BLOCK + "\n\n".join(one.format(wrong) for one, _, wrong in sentences) + "\n"
    found = {finding.line for finding in site.page(page)}
    wanted = {LINE + 2 * n: one.format(wrong) for n, (one, _, wrong) in enumerate(sentences)}
    assert [text for line, text in wanted.items() if line not in found] == []
