"""The detectors of masks, tried on code as other people write it, right and wrong."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headwise.museum.masks import MASKS, token_i_sees_i_plus_one

Table = dict[str, Callable[..., Any] | tuple[Callable[..., Any], str]]
"""Functions by name; one of another convention comes with it."""


def filled(scores: Tensor, shown: Tensor, value: float = -math.inf) -> Tensor:
    """What most of the code below comes to."""
    return scores.masked_fill(~shown, value).softmax(-1)


def numpy_softmax(scores: Any) -> Any:
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def through_pytorch(scores: Tensor, mask: Tensor) -> Tensor:
    """The weights that PyTorch's kernel uses: keys and values are the unit matrix."""
    unit = torch.eye(scores.size(-1)).expand(*scores.shape[:-2], -1, -1)
    return F.scaled_dot_product_attention(scores, unit, unit, attn_mask=mask, scale=1.0)


# X4: fold(mask (batch, query, key), num_heads)


def fold_by_loop(mask: Tensor, num_heads: int) -> Tensor:
    return torch.stack([one for one in mask for _ in range(num_heads)])


def fold_for_module(mask: Tensor, num_heads: int) -> Tensor:
    """nn.MultiheadAttention adds it: a float mask in (batch * num_heads, query, key)."""
    added = torch.zeros(mask.shape).masked_fill(mask.logical_not(), float("-inf"))
    return added.repeat_interleave(num_heads, dim=0)


RIGHT_FOLDS: Table = {
    "repeat_interleave": lambda m, h: torch.repeat_interleave(m, h, 0),
    "expand, reshape": lambda m, h: m[:, None].expand(-1, h, -1, -1).reshape(-1, *m.shape[1:]),
    "loop": fold_by_loop,
    "numpy": lambda m, h: np.repeat(m.numpy(), h, axis=0),
    "for nn.MultiheadAttention": fold_for_module,
    "einsum": lambda m, h: torch.einsum("bqk,h->bhqk", m.float(), torch.ones(h)).flatten(0, 1),
    "not folded yet": lambda m, h: m.unsqueeze(1).repeat(1, h, 1, 1),
    "True hides": (lambda m, h: m.repeat_interleave(h, 0), "True hides"),
    "1 shows": (lambda m, h: m.unsqueeze(1).tile(h, 1, 1).flatten(0, 1), "1 shows"),
    "added, bfloat16": (lambda m, h: m.bfloat16().repeat_interleave(h, 0), "-inf hides"),
}
WRONG_FOLDS: Table = {
    "repeat": lambda m, h: m.repeat(h, 1, 1),
    "tile": lambda m, h: torch.tile(m, (h, 1, 1)),
    "cat": lambda m, h: torch.cat([m] * h),
    "numpy tile": lambda m, h: np.tile(m.numpy(), (h, 1, 1)),
    "heads first": lambda m, h: m.expand(h, -1, -1, -1).reshape(-1, *m.shape[1:]),
    "first item for all": lambda m, h: m[:1].repeat(len(m) * h, 1, 1),
    "nothing hidden": lambda m, h: torch.ones(len(m) * h, *m.shape[1:]),
    "inverted on the way": lambda m, h: ~m.repeat_interleave(h, 0),
    "along the queries": lambda m, h: m.repeat_interleave(h, 1),
    "added, repeated": (lambda m, h: m.repeat(h, 1, 1), "-inf hides"),
}

# X5 and X7: weights(scores, mask), both (batch, num_heads, query, key)


def filled_in_place(scores: Tensor, mask: Tensor) -> Tensor:
    return F.softmax(scores.masked_fill_(mask, float("-inf")), dim=-1)


def extended(scores: Tensor, mask: Tensor) -> Tensor:
    return F.softmax(scores + (1.0 - mask) * torch.finfo(scores.dtype).min, dim=-1)


def renormalised(scores: Tensor, mask: Tensor) -> Tensor:
    kept = scores.exp() * mask
    return kept / kept.sum(-1, keepdim=True)


def item_by_item(scores: Tensor, mask: Tensor) -> Tensor:
    weights = torch.zeros_like(scores)
    for place in np.ndindex(*scores.shape[:-1]):
        weights[place][mask[place]] = scores[place][mask[place]].softmax(-1)
    return weights


RIGHT_WEIGHTS: Table = {
    "fill where 0": lambda s, m: F.softmax(s.masked_fill(m == 0, float("-inf")), dim=-1),
    "fill with -1e9": lambda s, m: filled(s, m, -1e9),
    "PyTorch's kernel": through_pytorch,
    "numpy": lambda s, m: numpy_softmax(np.where(m, s, -np.inf)),
    "where, in float64": lambda s, m: torch.where(m, s, -1e6).double().softmax(-1),
    "bfloat16": lambda s, m: filled(s.bfloat16(), m),
    "float16": lambda s, m: filled(s.half(), m, torch.finfo(torch.float16).min),
    "renormalised": renormalised,
    "visible keys alone": item_by_item,
    "in place, True hides": (filled_in_place, "True hides"),
    "a negated kernel, True hides": (lambda s, m: through_pytorch(s, ~m), "True hides"),
    "subtracted from 1": (extended, "1 shows"),
    "times -1e9": (lambda s, m: (s + m * -1e9).softmax(-1), "1 hides"),
    "added": (lambda s, m: (s + m).softmax(-1), "-inf hides"),
    "added by the kernel": (through_pytorch, "-inf hides"),
    "-100, as in windows": (lambda s, m: (s - 100.0 * m).softmax(-1), "1 hides"),
}
WRONG_WEIGHTS: Table = {
    "fill with 0": lambda s, m: filled(s, m, 0.0),
    "fill with 1e-9": lambda s, m: filled(s, m, 1e-9),
    "times the scores": lambda s, m: (s * m).softmax(-1),
    "mask forgotten": lambda s, m: s.softmax(-1),
    "fill not taken": lambda s, m: (s.masked_fill(~m, -1e9), s.softmax(-1))[1],
    "True added": lambda s, m: (s + m).softmax(-1),
    "a little less": lambda s, m: (s - 2.0 * ~m).softmax(-1),
    "NaN": lambda s, m: (s + ~m * -math.inf).softmax(-1),
    "inverted": lambda s, m: filled(s, ~m),
    "inverted for the kernel": (through_pytorch, "True hides"),
    "inverted numpy": lambda s, m: numpy_softmax(np.where(m, -1e9, s)),
    "everything hidden": lambda s, m: torch.zeros_like(s),
    "added as if 1 showed": (lambda s, m: (s + m).softmax(-1), "1 shows"),
}
AFTER_SOFTMAX: Table = {
    "after softmax": lambda s, m: s.softmax(-1) * m,
    "after softmax, numpy": lambda s, m: numpy_softmax(s.numpy()) * m.numpy(),
    "after softmax, True hides": (lambda s, m: s.softmax(-1).masked_fill(m, 0.0), "True hides"),
}

# X6: weights(scores (batch, num_heads, query, key), mask (batch, query, key))


def folded_weights(scores: Tensor, mask: Tensor) -> Tensor:
    folded = mask.repeat_interleave(scores.size(1), dim=0)
    return filled(scores.flatten(0, 1), folded)


RIGHT_ITEMS: Table = {
    "unsqueeze(1)": lambda s, m: filled(s, m.unsqueeze(1)),
    "expanded": lambda s, m: filled(s, m[:, None].expand_as(s), -1e9),
    "folded": folded_weights,
    "PyTorch's kernel": lambda s, m: through_pytorch(s, m[:, None]),
    "numpy": lambda s, m: numpy_softmax(np.where(m[:, None], s, -np.inf)),
    "head by head": lambda s, m: torch.stack([filled(one, m) for one in s.unbind(1)], 1),
    "True hides": (lambda s, m: filled(s, ~m.unsqueeze(1)), "True hides"),
    "added, float16": (lambda s, m: (s + m[:, None]).half().softmax(-1), "-inf hides"),
    "1 shows": (lambda s, m: extended(s, m[:, None]), "1 shows"),
}
WRONG_ITEMS: Table = {
    "as it comes": lambda s, m: filled(s, m),
    "unsqueeze(0)": lambda s, m: filled(s, m.unsqueeze(0)),
    "unsqueeze(2)": lambda s, m: filled(s, m.unsqueeze(2)),
    "unsqueeze(3)": lambda s, m: filled(s, m.unsqueeze(3), -1e9),
    "PyTorch's kernel, as it comes": through_pytorch,
    "numpy": lambda s, m: numpy_softmax(np.where(m, s, -np.inf)),
    "folded by repeat": lambda s, m: filled(s.flatten(0, 1), m.repeat(3, 1, 1)),
    "first item for all": lambda s, m: filled(s, m[:1, None]),
    "queries and keys exchanged": lambda s, m: filled(s, m.mT[:, None], -1e9),
    "added, as it comes": (lambda s, m: (s + m).softmax(-1), "-inf hides"),
}

# X8: mask(seq_len)


def look_ahead(n: int) -> Any:
    return 1 - np.tril(np.ones((n, n)))


def lowest(n: int) -> Tensor:
    mask = torch.full((n, n), torch.finfo(torch.float32).min)
    return mask.masked_fill_(torch.arange(n) < torch.arange(1, n + 1).view(-1, 1), 0)[None, None]


def from_buffer(n: int) -> Tensor:
    return torch.tril(torch.ones(16, 16)).view(1, 1, 16, 16)[:, :, :n, :n]


RIGHT_CAUSAL: Table = {
    "nn.Transformer's own": nn.Transformer.generate_square_subsequent_mask,
    "nn.Transformer's, float16": lambda n: nn.Transformer.generate_square_subsequent_mask(
        n, dtype=torch.float16
    ),
    "tril": lambda n: torch.ones(n, n, dtype=torch.uint8).tril(),
    "a slice of a buffer": from_buffer,
    "triu == 0": lambda n: torch.triu(torch.ones(1, n, n), diagonal=1) == 0,
    "comparison": lambda n: torch.arange(n)[:, None] >= torch.arange(n),
    "numpy": lambda n: np.tri(n, dtype=bool),
    "numpy, whole numbers": lambda n: np.tril(np.ones((1, 1, n, n), dtype=np.int8)),
    "cumulated": lambda n: torch.eye(n).cumsum(0),
    "lowest number": lowest,
    "-inf, bfloat16": lambda n: torch.full((n, n), -torch.inf).bfloat16().triu(1),
    "nested lists": lambda n: [[int(j <= i) for j in range(n)] for i in range(n)],
    "nn.MultiheadAttention's": (lambda n: torch.ones(n, n).triu(1).bool(), "True hides"),
    "look-ahead mask": (look_ahead, "1 hides"),
    "numpy, True hides": (lambda n: np.triu(np.ones((n, n)), k=1).astype(bool), "True hides"),
    "-10000": (lambda n: torch.ones(n, n).triu(1) * -10000.0, "-inf hides"),
}
WRONG_CAUSAL: Table = {
    "without itself": lambda n: torch.ones(n, n).tril(-1),
    "the last keys": lambda n: torch.ones(n, n).tril().flip(1),
    "one too many": lambda n: torch.ones(n, n).tril(1).bool(),
    "the future": lambda n: torch.triu(torch.ones(n, n)),
    "True hides, not named": lambda n: torch.ones(n, n).triu(1).bool(),
    "True shows, named the other way": (lambda n: torch.ones(n, n).tril().bool(), "True hides"),
    "everything": lambda n: np.ones((n, n)),
    "nothing": lambda n: torch.zeros(n, n),
    "itself alone": torch.eye,
    "-inf on the diagonal": lambda n: torch.full((n, n), -torch.inf).triu(0),
    "-inf on the past": lambda n: torch.full((n, n), -torch.inf).tril(-1),
    "whole buffer": lambda n: torch.ones(16, 16).tril(),
    "a bias": lambda n: -(torch.arange(n)[:, None] - torch.arange(n)).abs().float(),
    "counts": lambda n: torch.ones(n, n).cumsum(-1),
}

# X13: weights(scores (batch, num_heads, query, key), real (batch, key))


def by_length(scores: Tensor, real: Tensor) -> Tensor:
    valid_lens = real.sum(-1).repeat_interleave(scores[0, :, :, 0].numel())
    flat = scores.reshape(-1, scores.size(-1))
    flat[torch.arange(flat.size(1)) >= valid_lens[:, None]] = -1e6
    return F.softmax(flat.reshape(scores.shape), dim=-1)


def causal_too(scores: Tensor, real: Tensor) -> Tensor:
    return filled(scores, real[:, None, None] & torch.ones(4, 4).tril().bool())


def both_ways(scores: Tensor, real: Tensor) -> Tensor:
    return filled(scores, real[:, None, :, None] & real[:, None, None, :])


def first_query_only(scores: Tensor, real: Tensor) -> Tensor:
    weights = scores.softmax(-1)
    weights[:, :, :1] = filled(scores[:, :, :1], real[:, None, None])
    return weights


RIGHT_PADDING: Table = {
    "unsqueezed twice": lambda s, r: filled(s, r.unsqueeze(1).unsqueeze(2)),
    "by lengths": by_length,
    "causal too": causal_too,
    "rows as well": both_ways,
    "PyTorch's kernel": lambda s, r: through_pytorch(s, r[:, None, None]),
    "numpy": lambda s, r: numpy_softmax(np.where(r[:, None, None], s, -1e9)),
    "key_padding_mask": (lambda s, r: filled(s, ~r.view(2, 1, 1, 4)), "True hides"),
    "attention_mask": (lambda s, r: extended(s, r[:, None, None]), "1 shows"),
    "added, float64": (lambda s, r: (s + r[:, None, None]).double().softmax(-1), "-inf hides"),
}
WRONG_PADDING: Table = {
    "on rows": lambda s, r: filled(s, r[:, None, :, None], -1e9),
    "first query only": first_query_only,
    "first head only": lambda s, r: torch.cat(
        [filled(s[:, :1], r[:, None, None]), s[:, 1:].softmax(-1)], dim=1
    ),
    "first item for all": lambda s, r: filled(s, r[0]),
    "inverted": lambda s, r: filled(s, ~r[:, None, None]),
    "after softmax": lambda s, r: s.softmax(-1) * r[:, None, None],
    "numpy, on rows": lambda s, r: numpy_softmax(np.where(r[:, None, :, None], s, -1e9)),
    "times the scores": lambda s, r: (s * r[:, None, None]).softmax(-1),
    "True hides, not named": lambda s, r: s.masked_fill(r[:, None, None], -1e9).softmax(-1),
    "NaN": lambda s, r: torch.full_like(s, math.nan),
}

# X14: weights(scores, mask), both (batch, num_heads, query, key), one row all hidden


def visible_rows(scores: Tensor, mask: Tensor) -> Tensor:
    return torch.where(mask.any(-1, keepdim=True), filled(scores, mask), 0.0)


def numpy_sums(scores: Tensor, mask: Tensor) -> Any:
    kept = np.exp(scores.numpy()) * mask.numpy()
    return kept / np.maximum(kept.sum(-1, keepdims=True), 1e-9)


def with_nothing_as_a_key(scores: Tensor, mask: Tensor) -> Tensor:
    """A key of score -1e4 that is always there, and is dropped at the end."""
    padded = F.pad(scores.masked_fill(~mask, -math.inf), (0, 1), value=-1e4)
    return padded.softmax(-1)[..., :-1]


RIGHT_ROWS: Table = {
    "nan_to_num": lambda s, m: filled(s, m).nan_to_num(0.0),
    "PyTorch's kernel": through_pytorch,
    "visible rows alone": visible_rows,
    "numpy": numpy_sums,
    "filled twice, bfloat16": lambda s, m: filled(s.bfloat16(), m, -1e9).masked_fill(~m, 0),
    "times the mask": lambda s, m: filled(s, m, -1e9) * m,
    "one more key": with_nothing_as_a_key,
    "key by key": item_by_item,
    "True hides": (lambda s, m: filled(s, ~m, -1e9).masked_fill(m, 0.0), "True hides"),
    "1 shows": (lambda s, m: extended(s, m) * m, "1 shows"),
    "added": (lambda s, m: (s + m).softmax(-1).nan_to_num(), "-inf hides"),
}
WRONG_ROWS: Table = {
    "-1e9": lambda s, m: filled(s, m, -1e9),
    "-inf": lambda s, m: filled(s, m),
    "lowest number": lambda s, m: filled(s, m, torch.finfo(s.dtype).min),
    "numpy": lambda s, m: numpy_softmax(np.where(m, s, -1e9)),
    "added by the kernel": (
        lambda s, m: through_pytorch(s, m.clamp(min=torch.finfo(s.dtype).min)),
        "-inf hides",
    ),
    "first key as a way out": lambda s, m: filled(s, m | (torch.arange(4) == 0)),
    "nothing hidden": lambda s, m: s.softmax(-1),
    "all zeros": lambda s, m: torch.zeros_like(s),
    "after softmax": lambda s, m: s.softmax(-1) * m,
    "-1e4, float16": lambda s, m: filled(s.half(), m, -1e4),
}

TABLES: dict[str, tuple[Table, Table]] = {
    "X4": (RIGHT_FOLDS, WRONG_FOLDS),
    "X5": (RIGHT_WEIGHTS, WRONG_WEIGHTS),
    "X6": (RIGHT_ITEMS, WRONG_ITEMS),
    "X7": (RIGHT_WEIGHTS, WRONG_WEIGHTS | AFTER_SOFTMAX),
    "X8": (RIGHT_CAUSAL, WRONG_CAUSAL),
    "X13": (RIGHT_PADDING, WRONG_PADDING),
    "X14": (RIGHT_ROWS, WRONG_ROWS),
}


def cases(side: int) -> list[Any]:
    found = []
    for exhibit in MASKS:
        for name, entry in TABLES[exhibit.id][side].items():
            function, convention = entry if isinstance(entry, tuple) else (entry, "True shows")
            detector = partial(exhibit.detector, convention=convention)
            found.append(pytest.param(detector, function, id=f"{exhibit.id}, {name}"))
    return found


@pytest.mark.parametrize(("detector", "function"), cases(0))
def test_right_code_of_others_passes(
    detector: Callable[..., None], function: Callable[..., Any]
) -> None:
    detector(function)


@pytest.mark.parametrize(("detector", "function"), cases(1))
def test_wrong_code_of_others_is_caught(
    detector: Callable[..., None], function: Callable[..., Any]
) -> None:
    with pytest.raises(AssertionError, match=r"\w+ \w+") as caught:
        detector(function)
    assert "stopped with" not in str(caught.value)


def test_each_detector_is_tried_on_five_of_either_kind() -> None:
    assert all(len(table) >= 5 for tables in TABLES.values() for table in tables)


def test_message_says_which_convention_was_expected() -> None:
    with pytest.raises(AssertionError, match=r"token 0 sees tokens \[1, 2, .*where True shows"):
        token_i_sees_i_plus_one(lambda n: torch.ones(n, n).triu(1).bool())


def test_unknown_convention_is_refused_before_the_code_is_asked() -> None:
    with pytest.raises(ValueError, match="convention: got 'true', expected one of True shows"):
        token_i_sees_i_plus_one(lambda n: 0, convention="true")  # type: ignore[arg-type]
