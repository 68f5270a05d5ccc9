"""The detectors of positions, tried on code as other people write it, right and wrong."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from judged import Table, assert_caught, assert_five_of_either_kind, cases
from torch import Tensor, nn

from headwise.museum.positions import POSITIONS, weights_meet_their_own_layout

# X16: turn(x (batch, num_heads, seq_len, d_k))


def table_of(length: int, width: int, base: float = 10000.0) -> Tensor:
    inv_freq = 1.0 / (base ** (torch.arange(0, width, 2).float() / width))
    return torch.outer(torch.arange(length).float(), inv_freq)


def rotate_half(x: Tensor) -> Tensor:
    x1, x2 = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


def like_hugging_face(x: Tensor) -> Tensor:
    emb = torch.cat([table_of(x.size(-2), x.size(-1))] * 2, dim=-1)
    return x * emb.cos() + rotate_half(x) * emb.sin()


def like_llama(x: Tensor) -> Tensor:
    freqs = table_of(x.size(-2), x.size(-1))
    freqs_cis = torch.polar(torch.ones_like(freqs), freqs)
    x_ = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(x_ * freqs_cis).flatten(3).type_as(x)


def like_gptj(x: Tensor) -> Tensor:
    angles = table_of(x.size(-2), x.size(-1)).repeat_interleave(2, dim=-1)
    every_two = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)
    return x * angles.cos() + every_two * angles.sin()


def permuted_first(x: Tensor) -> Tensor:
    """Weights put in order for halves: the columns come out that way too."""
    return like_hugging_face(torch.cat((x[..., ::2], x[..., 1::2]), dim=-1))


def by_matrices(x: Tensor) -> Tensor:
    angles = table_of(x.size(-2), x.size(-1))
    out = torch.empty_like(x)
    for t in range(x.size(-2)):
        for i in range(x.size(-1) // 2):
            c, s = math.cos(angles[t, i]), math.sin(angles[t, i])
            out[..., t, 2 * i : 2 * i + 2] = x[..., t, 2 * i : 2 * i + 2] @ torch.tensor(
                [[c, s], [-s, c]]
            )
    return out


def numpy_pairs(x: Tensor) -> Any:
    z = x.numpy()[..., ::2] + 1j * x.numpy()[..., 1::2]
    z = z * np.exp(1j * table_of(x.size(-2), x.size(-1)).numpy())
    return np.stack((z.real, z.imag), axis=-1).reshape(x.shape)


RIGHT_TURNS: Table = {
    "complex numbers": like_llama,
    "every two": like_gptj,
    "permuted, then halves": permuted_first,
    "matrices": by_matrices,
    "numpy": numpy_pairs,
    "from another place on": lambda x: padded(like_llama)(x, 5),
    "halves for weights of halves": (like_hugging_face, {"layout": "halves"}),
    "bfloat16": lambda x: like_llama(x).bfloat16(),
}
WRONG_TURNS: Table = {
    "halves": like_hugging_face,
    "pairs for weights of halves": (like_llama, {"layout": "halves"}),
    "not at all": lambda x: x,
    "one rate for all": lambda x: by_one_rate(x),
    "rates backwards": lambda x: like_llama(x.flip(-1)).flip(-1),
    "along the heads": lambda x: like_llama(x.transpose(1, 2)).transpose(1, 2),
    "another base": lambda x: like_llama_of_base(x, 10.0),
    "twice": lambda x: like_llama(like_llama(x)),
    "the other way": lambda x: like_llama(x.flip(-2)).flip(-2),
    "sines forgotten": lambda x: x * table_of(x.size(-2), x.size(-1)).repeat(1, 2).cos(),
    "permuted and permuted back": lambda x: like_hugging_face(x)[..., [0, 4, 1, 5, 2, 6, 3, 7]],
}


def by_one_rate(x: Tensor) -> Tensor:
    angles = torch.arange(x.size(-2))[:, None].float()
    a, b = x[..., ::2], x[..., 1::2]
    turned = (a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos())
    return torch.stack(turned, dim=-1).flatten(-2)


def like_llama_of_base(x: Tensor, base: float) -> Tensor:
    freqs = table_of(x.size(-2), x.size(-1), base)
    z = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous())
    return torch.view_as_real(z * torch.polar(torch.ones_like(freqs), freqs)).flatten(3)


# X17: attend(q, k, v (batch, seq_len, d_model), num_heads)


def heads_of(x: Tensor, n: int) -> Tensor:
    return x.view(*x.shape[:2], n, -1).transpose(1, 2)


def merged(x: Tensor) -> Tensor:
    return x.transpose(1, 2).flatten(2)


def attend_with(
    turn_q: Callable[[Tensor], Tensor], turn_v: Callable[[Tensor], Tensor], **options: Any
) -> Callable[..., Tensor]:
    def attend(q: Tensor, k: Tensor, v: Tensor, n: int) -> Tensor:
        Q, K, V = turn_q(heads_of(q, n)), turn_q(heads_of(k, n)), turn_v(heads_of(v, n))
        return merged(F.scaled_dot_product_attention(Q, K, V, **options))

    return attend


def same(x: Tensor) -> Tensor:
    return x


def turned_before_the_split(turn: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    def attend(q: Tensor, k: Tensor, v: Tensor, n: int) -> Tensor:
        Q, K = (heads_of(turn(x[:, None])[:, 0], n) for x in (q, k))
        return merged(F.scaled_dot_product_attention(Q, K, heads_of(v, n)))

    return attend


def head_by_head(q: Tensor, k: Tensor, v: Tensor, n: int) -> Tensor:
    outs = []
    for a, b, c in zip(q.chunk(n, -1), k.chunk(n, -1), v.chunk(n, -1), strict=True):
        scores = like_gptj(a[:, None]) @ like_gptj(b[:, None]).mT / a.size(-1) ** 0.5
        outs.append((scores.softmax(-1) @ c[:, None])[:, 0])
    return torch.cat(outs, dim=-1)


def half_of_each_head(x: Tensor) -> Tensor:
    return torch.cat((like_hugging_face(x[..., :4]), x[..., 4:]), dim=-1)


def alibi(q: Tensor, k: Tensor, v: Tensor, n: int) -> Tensor:
    """Another way to count places, which turns nothing."""
    places = torch.arange(q.size(1)).float()
    bias = -(places[:, None] - places).clamp(min=0)
    Q, K, V = (heads_of(x, n) for x in (q, k, v))
    return merged(F.scaled_dot_product_attention(Q, K, V, attn_mask=bias))


RIGHT_ATTENDS: Table = {
    "halves": attend_with(like_hugging_face, same),
    "pairs": attend_with(like_llama, same),
    "causal": attend_with(like_gptj, same, is_causal=True),
    "head by head": head_by_head,
    "half of each head": attend_with(half_of_each_head, same),
    "ALiBi instead": alibi,
    "bfloat16": lambda *a: attend_with(like_llama, same)(*a).bfloat16(),
    "numpy": lambda *a: attend_with(like_llama, same)(*a).numpy(),
}
WRONG_ATTENDS: Table = {
    "values too": attend_with(like_hugging_face, like_hugging_face),
    "values too, causal": attend_with(like_llama, like_llama, is_causal=True),
    "before the split, pairs": turned_before_the_split(like_llama),
    "before the split, halves": turned_before_the_split(like_hugging_face),
    "values alone": attend_with(same, like_llama),
    "nothing": attend_with(same, same),
    "heads not merged back": lambda q, k, v, n: F.scaled_dot_product_attention(
        *(like_llama(heads_of(x, n)) for x in (q, k)), heads_of(v, n)
    ).reshape(q.shape),
    "added to the values": lambda q, k, v, n: attend_with(like_llama, same)(
        q, k, v + torch.arange(6.0)[:, None], n
    ),
    "zeros": lambda q, k, v, n: torch.zeros_like(q),
}

# X19: encode(x (batch, num_heads, seq_len, d_k), cached)


class Counting(nn.Module):
    """Keeps count by itself, which an encoding from the beginning resets."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = 0

    def forward(self, x: Tensor, cached: int) -> Tensor:
        self.seen = self.seen if cached else 0
        out = like_llama(F.pad(x, (0, 0, self.seen, 0)))[..., self.seen :, :]
        self.seen += x.size(-2)
        return out


class Table50(nn.Module):
    """A table of learned positions."""

    def __init__(self, last: int = 49) -> None:
        super().__init__()
        self.wpe, self.last = nn.Embedding(50, 8), last

    def forward(self, x: Tensor, cached: int) -> Tensor:
        places = torch.arange(cached, cached + x.size(-2)).clamp(max=self.last)
        return x + self.wpe(places)


def padded(turn: Callable[[Tensor], Tensor]) -> Callable[[Tensor, int], Tensor]:
    """A turn from the beginning, with the cached places in front, which are cut off again."""
    return lambda x, cached: turn(F.pad(x, (0, 0, cached, 0)))[..., cached:, :]


def sinusoidal(x: Tensor, start: float) -> Tensor:
    angles = (torch.arange(x.size(-2)) + start)[:, None] / 10.0 ** torch.arange(4)
    return x + torch.cat((angles.sin(), angles.cos()), dim=-1)


torch.manual_seed(0)
RIGHT_STEPS: Table = {
    "halves": padded(like_hugging_face),
    "pairs": padded(like_llama),
    "counts by itself": Counting(),
    "a table": Table50(),
    "sines, added": sinusoidal,
    "from one": lambda x, cached: sinusoidal(x, cached + 1),
    "numpy": lambda x, cached: x.numpy() + np.arange(cached, cached + x.size(-2))[:, None],
    "from the end": lambda x, cached: x - (torch.arange(x.size(-2)) + cached)[:, None],
}
WRONG_STEPS: Table = {
    "from zero": lambda x, cached: like_llama(x),
    "a table from zero": lambda x, cached: Table50()(x, 0) * 0 + sinusoidal(x, 0),
    "at the cache, all of them": lambda x, cached: sinusoidal(x, 0) * 0 + x + cached,
    "one too far": lambda x, cached: sinusoidal(x, cached + 1 if cached else 0),
    "one too few": lambda x, cached: sinusoidal(x, max(cached - 1, 0)),
    "counts calls": lambda x, cached: sinusoidal(x, 1 if cached else 0),
    "no places": lambda x, cached: x,
    "the end of the table": Table50(last=3),
    "numpy, from zero": lambda x, cached: x.numpy() + np.arange(x.size(-2))[:, None],
    "modulo": lambda x, cached: x + ((torch.arange(x.size(-2)) + cached) % 4)[:, None],
}

# X21: places(real (batch, seq_len))


def like_generate(mask: Tensor) -> Tensor:
    position_ids = mask.long().cumsum(-1) - 1
    return position_ids.masked_fill(mask == 0, 1)


def by_loop(mask: Tensor) -> list[list[int]]:
    rows = []
    for row in mask.tolist():
        place, out = 0, []
        for real in row:
            out.append(place if real else 0)
            place += bool(real)
        rows.append(out)
    return rows


RIGHT_PLACES: Table = {
    "as for generating": like_generate,
    "a loop": by_loop,
    "minus the padding": lambda m: torch.arange(6) - (~m).sum(1, keepdim=True),
    "numpy": lambda m: np.maximum(np.cumsum(m.numpy(), axis=1) - 1, 0),
    "from two": lambda m: m.long().cumsum(1) + 1,
    "argmax of the first": lambda m: (torch.arange(6) - m.int().argmax(1, keepdim=True)).clamp(0),
    "float": lambda m: m.float().cumsum(1) - 1,
    "key_padding_mask": (lambda m: (~m).long().cumsum(1) - 1, {"convention": "True hides"}),
    "attention_mask": (like_generate, {"convention": "1 shows"}),
}
WRONG_PLACES: Table = {
    "from the pad": lambda m: torch.arange(6).repeat(len(m), 1),
    "by the mask": lambda m: torch.arange(6) * m,
    "numpy": lambda m: np.tile(np.arange(6), (3, 1)),
    "the longest for all": lambda m: torch.arange(6) - (~m).sum(1).max() + 0 * m.long(),
    "padding counted": lambda m: (~m).long().cumsum(1),
    "backwards": lambda m: m.long().flip(1).cumsum(1).flip(1),
    "all at zero": lambda m: torch.zeros_like(m, dtype=torch.long),
    "along the batch": lambda m: m.long().cumsum(0) - 1,
    "clamped at two": lambda m: (m.long().cumsum(1) - 1).clamp(0, 2),
    "True hides, not named": lambda m: (~m).long().cumsum(1) - 1,
}

# X25: bias(num_heads, seq_len)


def slopes_by_the_paper(n: int) -> list[float]:
    start = 2 ** (-(2 ** -(math.log2(n) - 3)))
    return [start * start**i for i in range(n)]


def distances(seq_len: int) -> Tensor:
    return torch.arange(seq_len)[None] - torch.arange(seq_len)[:, None]


def paper(n: int, seq_len: int) -> Tensor:
    return torch.tensor(slopes_by_the_paper(n))[:, None, None] * distances(seq_len)


def loops(n: int, seq_len: int) -> list[list[list[float]]]:
    return [
        [[-(0.5 ** (h + 1)) * abs(i - j) for j in range(seq_len)] for i in range(seq_len)]
        for h in range(n)
    ]


RIGHT_BIASES: Table = {
    "the paper's slopes": paper,
    "loops": loops,
    "keys alone": lambda n, s: (
        torch.tensor(slopes_by_the_paper(n))[:, None, None] * torch.arange(s)
    ).expand(-1, s, -1),
    "causal in the same breath": lambda n, s: paper(n, s).masked_fill(
        distances(s) > 0, float("-inf")
    ),
    "numpy": lambda n, s: (
        -np.abs(distances(s).numpy()) * np.array(slopes_by_the_paper(n))[:, None, None]
    ),
    "both ways": lambda n, s: -paper(n, s).abs(),
    "one more axis": lambda n, s: paper(n, s)[None],
    "bfloat16": lambda n, s: paper(n, s).bfloat16(),
}
WRONG_BIASES: Table = {
    "sign turned round": lambda n, s: -paper(n, s),
    "slope and sign": lambda n, s: paper(n, s).abs(),
    "one slope for all": lambda n, s: (0.5 * distances(s)).expand(n, -1, -1),
    "heads backwards": lambda n, s: paper(n, s).flip(0),
    "squared": lambda n, s: -paper(n, s).square(),
    "queries in place of keys": lambda n, s: paper(n, s).mT,
    "nothing": lambda n, s: torch.zeros(n, s, s),
    "slopes by seq_len": lambda n, s: paper(n, s) * n / s,
    "numpy, sign": lambda n, s: np.abs(paper(n, s).numpy()),
    "logarithm": lambda n, s: -torch.log1p(paper(n, s).abs()),
}

TABLES: dict[str, tuple[Table, Table]] = {
    "X16": (RIGHT_TURNS, WRONG_TURNS),
    "X17": (RIGHT_ATTENDS, WRONG_ATTENDS),
    "X19": (RIGHT_STEPS, WRONG_STEPS),
    "X21": (RIGHT_PLACES, WRONG_PLACES),
    "X25": (RIGHT_BIASES, WRONG_BIASES),
}


@pytest.mark.parametrize(("detector", "function"), cases(POSITIONS, TABLES, 0))
def test_right_code_of_others_passes(
    detector: Callable[..., None], function: Callable[..., Any]
) -> None:
    detector(function)


@pytest.mark.parametrize(("detector", "function"), cases(POSITIONS, TABLES, 1))
def test_wrong_code_of_others_is_caught(
    detector: Callable[..., None], function: Callable[..., Any]
) -> None:
    assert_caught(detector, function)


def test_each_detector_is_tried_on_five_of_either_kind() -> None:
    assert_five_of_either_kind(POSITIONS, TABLES)


def test_unknown_layout_is_refused() -> None:
    with pytest.raises(ValueError, match="layout: got 'thirds', expected 'pairs' or 'halves'"):
        weights_meet_their_own_layout(like_llama, layout="thirds")  # type: ignore[arg-type]
