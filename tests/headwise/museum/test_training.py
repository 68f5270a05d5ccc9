"""The detectors of training, tried on code as other people write it, right and wrong."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headwise.museum.training import (
    TRAINING,
    order_makes_a_difference,
    residual_alone_predicts_nothing,
)

# X2: scores(Q (batch, num_heads, query, d_k), K (batch, num_heads, key, d_k))


def scaled_in_quarters(Q: Tensor, K: Tensor) -> Tensor:
    root = Q.size(-1) ** -0.25
    return (Q * root) @ (K * root).transpose(-1, -2)


def scaled_by_baddbmm(Q: Tensor, K: Tensor) -> Tensor:
    q, k = Q.flatten(0, 1), K.flatten(0, 1).transpose(1, 2)
    empty = torch.empty(q.size(0), q.size(1), k.size(2))
    return torch.baddbmm(empty, q, k, beta=0, alpha=1 / math.sqrt(Q.size(-1)))


def scaled_numpy(Q: Tensor, K: Tensor) -> Any:
    return np.matmul(Q.numpy(), np.swapaxes(K.numpy(), -1, -2)) / np.sqrt(Q.shape[-1])


def product(Q: Tensor, K: Tensor) -> Tensor:
    return Q @ K.mT


RIGHT_SCALES = {
    "divided": lambda Q, K: product(Q, K) / math.sqrt(K.size(-1)),
    "queries first": lambda Q, K: product(Q * Q.size(-1) ** -0.5, K),
    "a quarter power on both": scaled_in_quarters,
    "baddbmm, folded": scaled_by_baddbmm,
    "numpy": scaled_numpy,
    "einsum": lambda Q, K: torch.einsum("bhqd,bhkd->bhqk", Q, K).div(Q.shape[-1] ** 0.5),
    "bfloat16": lambda Q, K: product(Q.bfloat16(), K.bfloat16()) * Q.size(-1) ** -0.5,
    "float64": lambda Q, K: product(Q.double(), K.double()) / Q.size(-1) ** 0.5,
}
WRONG_SCALES = {
    "not at all": product,
    "√d_model": lambda Q, K: product(Q, K) / math.sqrt(Q.size(1) * Q.size(-1)),
    "d_k without its root": lambda Q, K: product(Q, K) / Q.size(-1),
    "√seq_len": lambda Q, K: product(Q, K) / math.sqrt(Q.size(-2)),
    "√num_heads": lambda Q, K: product(Q, K) / math.sqrt(Q.size(1)),
    "multiplied": lambda Q, K: product(Q, K) * math.sqrt(Q.size(-1)),
    "twice": lambda Q, K: product(Q / Q.size(-1) ** 0.5, K / Q.size(-1) ** 0.5),
    "for one width only": lambda Q, K: product(Q, K) / 4.0,
    "numpy, by the mean": lambda Q, K: np.mean(Q.numpy()[..., None, :] * K.numpy()[:, :, None], -1),
    "cosines": lambda Q, K: product(F.normalize(Q, dim=-1), F.normalize(K, dim=-1)),
}

# X9: embed(x (batch, seq_len, d_model))


class SineCode(nn.Module):
    """As most tutorials have it: a buffer, added, then dropout."""

    def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 50) -> None:
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(x + self.pe[:, : x.size(1)])


class SineCodeThatForgets(SineCode):
    """Adds, and returns what it was given, after dropout."""

    def forward(self, x: Tensor) -> Tensor:
        x + self.pe[:, : x.size(1)]
        return self.dropout(x)


class LearnedCode(nn.Module):
    """A table of positions, small at first."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.wpe = nn.Embedding(50, d_model)
        nn.init.normal_(self.wpe.weight, std=0.02)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.wpe(torch.arange(x.size(1)))


class SequenceFirst(SineCode):
    """Right for (seq_len, batch, d_model), and only for that."""

    def forward(self, x: Tensor) -> Tensor:
        return x + self.pe[0, : x.size(0), None]


def rotary(x: Tensor) -> Tensor:
    angles = torch.arange(x.size(1))[:, None] * torch.tensor([1.0, 0.1, 0.01])
    one, other = x.chunk(2, dim=-1)
    turned = (
        one * angles.cos() - other * angles.sin(),
        one * angles.sin() + other * angles.cos(),
    )
    return torch.cat(turned, dim=-1)


def numpy_code(x: Tensor) -> Any:
    places = np.arange(x.shape[1])[:, None] / 10.0 ** np.arange(x.shape[2])
    return x.numpy() + np.sin(places)


def concatenated(x: Tensor) -> Tensor:
    return torch.cat([x, torch.eye(x.size(1))[None]], dim=-1)


torch.manual_seed(0)
RIGHT_CODES = {
    "a tutorial's module, dropout on": SineCode(6),
    "a table": LearnedCode(6),
    "rotary": rotary,
    "numpy": numpy_code,
    "side by side": concatenated,
    "in place": lambda x: x.add_(torch.arange(8.0)[:, None]),
    "scaled, in bfloat16": lambda x: SineCode(6, 0)(x * math.sqrt(6)).bfloat16(),
    "sequence first": lambda x: SequenceFirst(6)(x.transpose(0, 1)).transpose(0, 1),
}
WRONG_CODES = {
    "lost, dropout on": SineCodeThatForgets(6),
    "the first position for all": lambda x: x + SineCode(6).pe[:, :1],
    "position 0 alone": lambda x: torch.cat([x[:, :1] + 1, x[:, 1:]], dim=1),
    "every second position": lambda x: x + (torch.arange(8.0) % 2)[:, None],
    "along the columns": lambda x: x + torch.arange(6.0),
    "by the batch": SequenceFirst(6),
    "whole numbers divided away": lambda x: x + (torch.arange(8) // 10000)[:, None],
    "numpy, not taken": lambda x: (np.add(x.numpy(), numpy_code(x)), x.numpy())[1],
    "nothing": nn.Identity(),
    "from both ends": lambda x: x + torch.arange(-3.5, 4).abs()[:, None],
}

# X12: drop(weights, training)


class Dropped(nn.Module):
    """A module that is told by its flag."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Dropout(0.1)

    def forward(self, weights: Tensor, training: bool) -> Tensor:
        return self.layer.train(training)(weights)


def inverted_by_hand(weights: Tensor, training: bool) -> Tensor:
    if not training:
        return weights
    return weights * torch.bernoulli(torch.full_like(weights, 0.9)) / 0.9


def with_one_mask_for_ever(weights: Tensor, training: bool) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return weights * (torch.rand(weights.shape, generator=generator) > 0.1) / 0.9


RIGHT_DROPS = {
    "F.dropout": lambda w, training: F.dropout(w, p=0.1, training=training),
    "a module": Dropped(),
    "in place": lambda w, training: F.dropout(w, 0.5, training, inplace=True),
    "by hand": inverted_by_hand,
    "scaled in evaluation": lambda w, training: w * np.random.rand() if training else w * 0.9,
    "numpy": lambda w, training: w.numpy() * (np.random.rand(64, 64) > 0.1 if training else 1),
    "probability 0": lambda w, training: F.dropout(w, p=0.1 if training else 0.0),
    "float16": lambda w, training: F.dropout(w.half(), 0.1, training),
}
WRONG_DROPS = {
    "default": lambda w, training: F.dropout(w, 0.1),
    "new module": lambda w, training: nn.Dropout(0.1)(w),
    "hardly any": lambda w, training: F.dropout(w, 0.01),
    "inverted flag": lambda w, training: F.dropout(w, 0.1, training=not training),
    "numpy": lambda w, training: w.numpy() * (np.random.rand(64, 64) > 0.5),
    "the same mask for ever": with_one_mask_for_ever,
    "alpha dropout": lambda w, training: F.alpha_dropout(w, 0.1, training=True),
    "noise": lambda w, training: w + torch.randn(64, 64) * 0.01,
}

# X15: pair(tokens (batch, seq_len)) -> inputs, labels


def with_start(tokens: Tensor) -> tuple[Tensor, Tensor]:
    start = torch.full((len(tokens), 1), 1000)
    return torch.cat([start, tokens[:, :-1]], dim=1), tokens


def shifted_right(tokens: Tensor) -> tuple[Tensor, Tensor]:
    inputs = tokens.new_zeros(tokens.shape)
    inputs[:, 1:] = tokens[:, :-1].clone()
    inputs[:, 0] = 0
    return inputs, tokens


def from_a_stream(tokens: Tensor) -> list[Tensor]:
    data, block = tokens.flatten(), 5
    starts = torch.randint(len(data) - block, (4,))
    x = torch.stack([data[i : i + block] for i in starts])
    y = torch.stack([data[i + 1 : i + 1 + block] for i in starts])
    return [x, y]


def with_ignored_prompt(tokens: Tensor) -> tuple[Tensor, Tensor]:
    labels = tokens[:, 1:].clone()
    labels[:, :3] = -100
    return tokens[:, :-1], labels


RIGHT_PAIRS = {
    "slices": lambda t: (t[:, :-1], t[:, 1:]),
    "a token for the start": with_start,
    "shifted right": shifted_right,
    "blocks of a stream": from_a_stream,
    "ignored prompt": with_ignored_prompt,
    "numpy": lambda t: np.stack([t.numpy()[:, :-1], t.numpy()[:, 1:]]),
    "labels flattened": lambda t: (t[:, :-1].contiguous(), t[:, 1:].reshape(-1)),
    "time first, int32": lambda t: (t.T[:-1].int(), t.T[1:].int()),
    "a token for the end": lambda t: (t, F.pad(t[:, 1:], (0, 1), value=50256)),
}
WRONG_PAIRS = {
    "the same twice": lambda t: (t, t),
    "shifted both": lambda t: (t[:, 1:], t[:, 1:]),
    "the wrong way": lambda t: (t[:, 1:], t[:, :-1]),
    "twice": lambda t: (t[:, :-2], t[:, 2:]),
    "rolled round": lambda t: (t, t.roll(-1, dims=1)),
    "numpy, rolled the wrong way": lambda t: (t.numpy(), np.roll(t.numpy(), 1, axis=1)),
    "along the batch": lambda t: (t[:-1], t[1:]),
    "start before both": lambda t: (with_start(t)[0], with_start(t)[0]),
    "all ignored": lambda t: (t, torch.full_like(t, -100)),
    "of two lengths": lambda t: (t, t[:, 1:]),
}

TABLES: dict[str, tuple[dict[str, Callable[..., Any]], dict[str, Callable[..., Any]]]] = {
    "X2": (RIGHT_SCALES, WRONG_SCALES),
    "X9": (RIGHT_CODES, WRONG_CODES),
    "X12": (RIGHT_DROPS, WRONG_DROPS),
    "X15": (RIGHT_PAIRS, WRONG_PAIRS),
}
RIGHT, WRONG = (
    [
        pytest.param(exhibit.detector, function, id=f"{exhibit.id}, {name}")
        for exhibit in TRAINING
        for name, function in TABLES[exhibit.id][side].items()
    ]
    for side in (0, 1)
)


@pytest.mark.parametrize(("detector", "function"), RIGHT)
def test_right_code_of_others_passes(
    detector: Callable[..., None], function: Callable[..., Any]
) -> None:
    detector(function)


@pytest.mark.parametrize(("detector", "function"), WRONG)
def test_wrong_code_of_others_is_caught(
    detector: Callable[..., None], function: Callable[..., Any]
) -> None:
    with pytest.raises(AssertionError, match=r"\w+ \w+") as caught:
        detector(function)
    assert "stopped with" not in str(caught.value)


def test_each_detector_is_tried_on_five_of_either_kind() -> None:
    assert all(len(table) >= 5 for tables in TABLES.values() for table in tables)


def test_module_is_judged_in_evaluation_and_stays_in_training() -> None:
    code = nn.Sequential(LearnedCode(6).eval(), SineCode(6))
    order_makes_a_difference(code)
    assert [part.training for part in (code, *code)] == [True, False, True]
    with pytest.raises(AssertionError):
        order_makes_a_difference(forgetful := SineCodeThatForgets(6))
    assert forgetful.training and forgetful.dropout.training


def test_dropout_that_cannot_be_switched_off_is_named() -> None:
    code = SineCode(6)
    with pytest.raises(AssertionError, match="two results: switch dropout off"):
        order_makes_a_difference(lambda x: code(x))


def collated(tokens: Tensor) -> tuple[Tensor, Tensor]:
    """As Hugging Face's models want it: they move the labels on themselves."""
    return tokens, tokens.clone()


def test_labels_that_the_loss_shifts_are_right_once_named() -> None:
    residual_alone_predicts_nothing(collated, loss_shifts=True)
    with pytest.raises(AssertionError, match="loss_shifts=False"):
        residual_alone_predicts_nothing(collated)
    with pytest.raises(AssertionError, match="loss_shifts=True"):
        residual_alone_predicts_nothing(lambda t: (t[:, :-1], t[:, 1:]), loss_shifts=True)


@pytest.mark.parametrize("vocabulary", [3, 4, 10, 256, 50257])
def test_any_vocabulary_will_do(vocabulary: int) -> None:
    def within(tokens: Tensor) -> tuple[Tensor, Tensor]:
        assert tokens.max() < vocabulary
        return tokens[:, :-1], tokens[:, 1:]

    residual_alone_predicts_nothing(within, vocabulary=vocabulary)
    with pytest.raises(AssertionError, match="where the input is token"):
        residual_alone_predicts_nothing(collated, vocabulary=vocabulary)


def test_vocabulary_without_two_tokens_is_refused() -> None:
    with pytest.raises(ValueError, match="vocabulary: got 2, expected a whole number of at"):
        residual_alone_predicts_nothing(collated, vocabulary=2)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"vocabulary": None}, TypeError),
        ({"vocabulary": "9"}, TypeError),
        ({"vocabulary": 10**30}, ValueError),
        ({"loss_shifts": 1}, TypeError),
    ],
)
def test_options_of_another_kind_are_refused_by_name(
    options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error, match=f"{next(iter(options))}: got .*, expected"):
        residual_alone_predicts_nothing(collated, **options)
