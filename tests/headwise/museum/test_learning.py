"""The detectors of learning, tried on code as other people write it, right and wrong."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from judged import Table, assert_caught, assert_five_of_either_kind, cases
from torch import Tensor, nn

from headwise.museum.learning import LEARNING, one_matrix_reads_and_writes, prompt_costs_nothing

# X27: norm(x (batch, seq_len, d_model))


class LikeLlama(nn.Module):
    """As it stands in many repositories."""

    def __init__(self, dim: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(dim)), eps

    def forward(self, x: Tensor) -> Tensor:
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.eps)
        return y.type_as(x) * self.weight


def numpy_rms(x: Tensor) -> Any:
    y = x.numpy().astype(np.float64)
    return y / np.sqrt((y**2).mean(-1, keepdims=True) + 1e-6)


def scaled_first(x: Tensor) -> Tensor:
    """Half precision throughout, and small enough to square."""
    y = x / x.abs().amax(-1, keepdim=True)
    return y / y.pow(2).mean(-1, keepdim=True).sqrt()


RIGHT_NORMS: Table = {
    "as in Llama": LikeLlama(4),
    "numpy": numpy_rms,
    "a length of √d": lambda x: F.normalize(x.float(), dim=-1) * math.sqrt(x.size(-1)),
    "float64": lambda x: x.double() / x.double().square().mean(-1, keepdim=True).sqrt(),
    "scaled first": scaled_first,
    "vector_norm": lambda x: (
        x / (torch.linalg.vector_norm(x.float(), dim=-1, keepdim=True) / 2).to(x.dtype)
    ),
    "PyTorch's": lambda x: F.rms_norm(x.float(), (x.size(-1),)),
}
WRONG_NORMS: Table = {
    "squared in half": lambda x: x / x.pow(2).mean(-1, keepdim=True).sqrt(),
    "mean subtracted": lambda x: F.layer_norm(x.float(), (x.size(-1),)),
    "mean subtracted at the end": lambda x: (
        numpy_rms(x) - numpy_rms(x).mean(axis=-1, keepdims=True)
    ),
    "over the tokens": lambda x: x.float() / x.float().square().mean(1, keepdim=True).sqrt(),
    "over everything": lambda x: x.float() / x.float().square().mean().sqrt(),
    "sum for mean": lambda x: x.float() / x.float().square().sum(-1, keepdim=True).sqrt(),
    "no root": lambda x: x.float() / x.float().square().mean(-1, keepdim=True),
    "by the deviation": lambda x: x.float() / x.float().std(-1, keepdim=True),
    "not at all": nn.Identity(),
    "gain of the wrong sign": lambda x: -torch.from_numpy(numpy_rms(x)),
}

# X28: loss(logits (batch, seq_len, vocab), labels (batch, seq_len), pad)


def chosen(logits: Tensor, labels: Tensor) -> Tensor:
    return -logits.log_softmax(-1).gather(-1, labels[..., None])[..., 0]


def numpy_loss(logits: Tensor, labels: Tensor, pad: int) -> Any:
    costs, real = chosen(logits, labels).numpy(), (labels != pad).numpy()
    return (costs * real).sum() / real.sum()


def per_sentence(logits: Tensor, labels: Tensor, pad: int) -> Tensor:
    real = (labels != pad).float()
    return ((chosen(logits, labels) * real).sum(1) / real.sum(1)).mean()


def replaced(logits: Tensor, labels: Tensor, pad: int) -> Tensor:
    labels = labels.masked_fill(labels == pad, -100)
    return F.cross_entropy(logits.transpose(1, 2), labels)


RIGHT_LOSSES: Table = {
    "ignore_index": lambda x, y, pad: nn.CrossEntropyLoss(ignore_index=pad)(x.mT, y),
    "-100": replaced,
    "real ones picked": lambda x, y, pad: F.cross_entropy(x[y != pad], y[y != pad]),
    "masked mean": lambda x, y, pad: (chosen(x, y) * (y != pad)).sum() / (y != pad).sum(),
    "numpy": numpy_loss,
    "per sentence": per_sentence,
    "summed": lambda x, y, pad: F.cross_entropy(
        x.flatten(0, 1), y.flatten(), ignore_index=pad, reduction="sum"
    ),
    "smoothed labels": lambda x, y, pad: F.cross_entropy(
        x.mT, y, ignore_index=pad, label_smoothing=0.1
    ),
    "a number": lambda x, y, pad: float(replaced(x, y, pad)),
}
WRONG_LOSSES: Table = {
    "all of it": lambda x, y, pad: F.cross_entropy(x.mT, y),
    "masked, divided by all": lambda x, y, pad: (chosen(x, y) * (y != pad)).mean(),
    "-100 without replacing": lambda x, y, pad: F.cross_entropy(x.mT, y, ignore_index=-100),
    "another token ignored": lambda x, y, pad: F.cross_entropy(x.mT, y, ignore_index=1),
    "weights half": lambda x, y, pad: (
        (chosen(x, y) * (0.5 + 0.5 * (y != pad))).sum() / (y != pad).sum()
    ),
    "padding alone": lambda x, y, pad: chosen(x, y)[y == pad].mean(),
    "per sentence, all": lambda x, y, pad: chosen(x, y).mean(1).mean(),
    "constant": lambda x, y, pad: torch.tensor(1.0),
    "summed, all": lambda x, y, pad: chosen(x, y).sum(),
    "first half": lambda x, y, pad: chosen(x, y)[:, : x.size(1) // 2].mean(),
}

# X29: pair(prompt (n,), reply (m,)) -> inputs, labels


def in_lists(prompt: Tensor, reply: Tensor) -> tuple[list[int], list[int]]:
    tokens = prompt.tolist() + reply.tolist()
    return tokens[:-1], [-100] * (len(prompt) - 1) + reply.tolist()


def for_a_shifting_loss(prompt: Tensor, reply: Tensor) -> tuple[Tensor, Tensor]:
    tokens = torch.cat([prompt, reply])
    return tokens, torch.cat([torch.full_like(prompt, -100), reply])


def with_an_end(prompt: Tensor, reply: Tensor) -> tuple[Tensor, Tensor]:
    tokens = torch.cat([prompt, reply, torch.tensor([2])])
    labels = tokens[1:].clone()
    labels[: len(prompt) - 1] = -100
    return tokens[:-1], labels


def with_padding(prompt: Tensor, reply: Tensor) -> tuple[Tensor, Tensor]:
    inputs, labels = with_an_end(prompt, reply)
    return F.pad(inputs, (0, 3)), F.pad(labels, (0, 3), value=-100)


def masked_from(first: int) -> Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]:
    def pair(prompt: Tensor, reply: Tensor) -> tuple[Tensor, Tensor]:
        tokens = torch.cat([prompt, reply])
        labels = tokens[1:].clone()
        labels[: len(prompt) - 1 + first] = -100
        return tokens[:-1], labels

    return pair


RIGHT_PROMPTS: Table = {
    "lists": in_lists,
    "a loss that shifts": (for_a_shifting_loss, {"loss_shifts": True}),
    "an end": with_an_end,
    "padded": with_padding,
    "numpy": lambda p, r: tuple(np.array(x) for x in in_lists(p, r)),
    "zero is ignored": (
        lambda p, r: (in_lists(p, r)[0], [max(x, 0) for x in in_lists(p, r)[1]]),
        {"ignored": 0},
    ),
    "a start": lambda p, r: (
        torch.cat([torch.tensor([1]), p, r[:-1]]),
        torch.cat([torch.full_like(p, -100), r]),
    ),
    "int32": lambda p, r: tuple(x.int() for x in masked_from(0)(p, r)),
}
WRONG_PROMPTS: Table = {
    "prompt learned": lambda p, r: (torch.cat([p, r])[:-1], torch.cat([p, r])[1:]),
    "one too few masked": masked_from(-1),
    "first of the reply masked": masked_from(1),
    "reply masked": lambda p, r: (
        torch.cat([p, r])[:-1],
        torch.cat([p[1:], torch.full_like(r, -100)]),
    ),
    "all masked": masked_from(100),
    "not shifted": for_a_shifting_loss,
    "shifted twice": (masked_from(0), {"loss_shifts": True}),
    "zero, not named": lambda p, r: (in_lists(p, r)[0], [x % 100 for x in in_lists(p, r)[1]][::-1]),
    "inputs masked as well": lambda p, r: (in_lists(p, r)[1], in_lists(p, r)[1]),
    "the last one lost": lambda p, r: (in_lists(p, r)[0][:-1], in_lists(p, r)[1][:-1]),
}

# X30: build(vocab, d_model) -> the weights of the embedding and of the output layer


class Small(nn.Module):
    """As in many small models: tied in __init__, initialised by apply."""

    def __init__(self, vocab: int, d_model: int, tie: str, init: str) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocab, d_model)
        self.head = nn.Linear(d_model, vocab, bias=False)
        self.init = init
        if tie == "first":
            self.head.weight = self.embed.weight
        self.apply(self._init)
        if tie == "last":
            self.head.weight = self.embed.weight
        if tie == "embedding":
            self.embed.weight = self.head.weight

    def _init(self, module: nn.Module) -> None:
        if not isinstance(module, nn.Linear | nn.Embedding):
            return
        if self.init == "fill":
            nn.init.normal_(module.weight, std=0.02)
        elif self.init == "new":
            module.weight = nn.Parameter(torch.randn_like(module.weight) * 0.02)
        elif self.init == "data":
            module.weight.data = torch.zeros_like(module.weight)


def small(tie: str, init: str, then: Callable[[Small], Any] = lambda model: None) -> Any:
    def build(vocab: int, d_model: int) -> tuple[Tensor, Tensor]:
        model = Small(vocab, d_model, tie, init)
        model = then(model) or model
        return model.embed.weight, model.head.weight

    return build


def reloaded(model: Small) -> Small:
    other = Small(7, 4, "last", "fill")
    other.load_state_dict(model.state_dict())
    return other


def one_array(vocab: int, d_model: int) -> tuple[Any, Any]:
    table = np.random.rand(vocab, d_model)
    return table, table.T.T


def one_list(vocab: int, d_model: int) -> tuple[Any, Any]:
    table = [[0.5] * d_model for _ in range(vocab)]
    return table, table


def equal_copies(vocab: int, d_model: int) -> tuple[Tensor, Tensor]:
    table = torch.randn(vocab, d_model)
    return table, table.clone()


def head_replaced(model: Small) -> None:
    model.head = nn.Linear(4, 7, bias=False)


RIGHT_TIES: Table = {
    "tied first, filled later": small("first", "fill"),
    "tied last": small("last", "new"),
    "the other way round": small("embedding", "new"),
    "in another dtype": small("last", "fill", lambda model: model.half()),
    "loaded": small("last", "fill", reloaded),
    "one array": one_array,
    "one list": one_list,
    "data, all of it at once": small("first", "data"),
}
WRONG_TIES: Table = {
    "new parameters": small("first", "new"),
    "never tied": small("never", "fill"),
    "never tied, all zeros": small("never", "data"),
    "equal copies": equal_copies,
    "head replaced": small("last", "fill", head_replaced),
    "transposed": lambda v, d: (torch.ones(v, d), torch.ones(d, v)),
    "numpy copies": lambda v, d: (np.ones((v, d)), np.ones((v, d))),
    "lists": lambda v, d: (torch.ones(v, d), torch.ones(v, d).tolist()),
    "equal lists": lambda v, d: (torch.ones(v, d).tolist(), torch.ones(v, d).tolist()),
}

TABLES: dict[str, tuple[Table, Table]] = {
    "X27": (RIGHT_NORMS, WRONG_NORMS),
    "X28": (RIGHT_LOSSES, WRONG_LOSSES),
    "X29": (RIGHT_PROMPTS, WRONG_PROMPTS),
    "X30": (RIGHT_TIES, WRONG_TIES),
}


@pytest.mark.parametrize(("detector", "function"), cases(LEARNING, TABLES, 0))
def test_right_code_of_others_passes(
    detector: Callable[..., None], function: Callable[..., Any]
) -> None:
    detector(function)


@pytest.mark.parametrize(("detector", "function"), cases(LEARNING, TABLES, 1))
def test_wrong_code_of_others_is_caught(
    detector: Callable[..., None], function: Callable[..., Any]
) -> None:
    assert_caught(detector, function)


def test_each_detector_is_tried_on_five_of_either_kind() -> None:
    assert_five_of_either_kind(LEARNING, TABLES)


def test_loss_that_shifts_has_to_be_named() -> None:
    with pytest.raises(AssertionError, match="loss_shifts=False"):
        prompt_costs_nothing(for_a_shifting_loss)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"ignored": None}, TypeError),
        ({"ignored": 10**30}, ValueError),
        ({"loss_shifts": 1}, TypeError),
    ],
)
def test_options_of_another_kind_are_refused_by_name(
    options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error, match=f"{next(iter(options))}: got .*, expected"):
        prompt_costs_nothing(in_lists, **options)


def test_weights_that_cannot_be_changed_are_no_weights() -> None:
    with pytest.raises(AssertionError, match="build stopped with TypeError"):
        one_matrix_reads_and_writes(lambda v, d: (((1.0,) * d,) * v, ((1.0,) * d,) * v))
