"""Four bugs that make a model of today learn something else."""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headwise._check import FARTHEST, check_flags, check_whole
from headwise.museum.detecting import answer, answers, as_tensor, call
from headwise.museum.exhibit import Exhibit

# X27: RMSNorm that subtracts the mean, or squares in half precision


def rms_norm_as_it_comes(x: Tensor) -> Tensor:
    """Meant to bring every vector to a root mean square of 1."""
    return x / (x.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt()


def rms_norm_in_single(x: Tensor) -> Tensor:
    """Right: squares in single precision, since 256² does not fit into half precision."""
    wide = x.float()
    return (wide / (wide.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt()).to(x.dtype)


def norm_only_scales(norm: Callable[[Tensor], Any]) -> None:
    """What comes out must be what went in, times one factor a vector, with mean square 1.

    Vectors of half precision and of numbers in the hundreds are among them.
    """
    plain = torch.arange(24.0).view(2, 3, 4).sin() + 1  # of mean 1
    for x in (plain, 300 * plain, (300 * plain).half()):
        kind = f"{str(x.dtype)[6:]} up to {x.max():.0f}"
        found = answer("norm", norm, x.clone(), shape=(2, 3, 4))
        square = found.pow(2).mean(-1)
        worst = square.flatten()[(square - 1).abs().argmax()].item()
        assert abs(worst - 1) < 0.05, f"of {kind}, a vector gets the mean square {worst:.2f}, not 1"
        likeness = F.cosine_similarity(found, x.double(), dim=-1).min().item()
        assert likeness > 0.999, (
            f"of {kind}, a vector turns: its cosine to itself is {likeness:.2f}"
        )


# X28: loss over padding


def loss_over_everything(logits: Tensor, labels: Tensor, pad: int) -> Tensor:
    """Meant to average what the real tokens cost."""
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


def loss_over_tokens(logits: Tensor, labels: Tensor, pad: int) -> Tensor:
    """Right: leaves the padding out, of the sum and of the count."""
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad)


def padding_costs_nothing(loss: Callable[[Tensor, Tensor, int], Any]) -> None:
    """More padding, and what is predicted there, must leave the loss as it is; words must count.

    loss takes logits (batch, seq_len, vocab), labels (batch, seq_len) and the label of padding.
    """
    labels = torch.tensor([[1, 2, 3, 4], [3, 1, 0, 0]])
    logits = torch.arange(48.0).view(2, 4, 6).mul(1.7).sin() * 2
    sure = logits.clone()
    sure[1, 2:, 5] = 9.0
    longer = torch.cat((logits, logits[:, :3]), dim=1), F.pad(labels, (0, 3))
    cost = _number("loss", loss, logits.clone(), labels.clone(), 0)
    for what, wrong in (
        ("other predictions at the padding", _number("loss", loss, sure, labels.clone(), 0)),
        ("three more pads", _number("loss", loss, *longer, 0)),
    ):
        same = math.isclose(cost, wrong, rel_tol=0.02)
        assert same, f"{what} change the loss from {cost:.2f} to {wrong:.2f}"
    other = logits.clone()
    other[0, 0, 1] += 5.0
    better = _number("loss", loss, other, labels.clone(), 0)
    assert better < 0.99 * cost, (
        f"a better prediction changes the loss from {cost:.2f} to {better:.2f}"
    )


def _number(name: str, function: Callable[..., Any], *inputs: Any) -> float:
    """The one number that the function returns."""
    found = as_tensor(name, call(name, function, *inputs))
    assert found.numel() == 1, f"{name} returned {found.numel()} numbers, expected one"
    return found.item()


# X29: a prompt in the loss


def prompt_in_the_loss(prompt: Tensor, reply: Tensor) -> tuple[Tensor, Tensor]:
    """Meant to teach a model to reply to a prompt."""
    tokens = torch.cat((prompt, reply))
    return tokens[:-1], tokens[1:]


def reply_in_the_loss(prompt: Tensor, reply: Tensor) -> tuple[Tensor, Tensor]:
    """Right: the prompt's labels are -100, which cross-entropy leaves out."""
    tokens = torch.cat((prompt, reply))
    labels = tokens.clone()
    labels[: len(prompt)] = -100
    return tokens[:-1], labels[1:]


def prompt_costs_nothing(
    pair: Callable[[Tensor, Tensor], Any], *, ignored: int = -100, loss_shifts: bool = False
) -> None:
    """Of the labels, those of the reply must all be learned, and none of the prompt.

    pair takes the tokens of a prompt and of its reply, and returns inputs and labels. loss_shifts
    says that the loss moves the labels on by one. Other ids, as for the end, are not judged.
    """
    check_whole("ignored", ignored, -FARTHEST, FARTHEST)
    check_flags(loss_shifts=loss_shifts)
    prompt, reply = torch.arange(20, 25), torch.arange(25, 29)
    inputs, labels = answers("pair", pair, prompt, reply)
    if loss_shifts:
        inputs, labels = inputs[:-1], labels[1:]
    read = {label: token for token, label in zip(inputs.tolist(), labels.tolist(), strict=True)}
    learned = [int(label) for label in labels.tolist() if label != ignored and 20 <= label < 29]
    assert learned == reply.tolist(), (
        f"of the prompt {prompt.tolist()} and the reply {reply.tolist()}, the labels hold "
        f"{learned} ({loss_shifts=})"
    )
    for label in learned:
        assert read[label] == label - 1, (
            f"where the input is token {read[label]:.0f}, the label is {label} ({loss_shifts=})"
        )


# X30: weight tying broken by a later initialisation


def tied_then_initialised(vocab: int, d_model: int) -> tuple[Tensor, Tensor]:
    """Meant to use the same matrix for reading words and for writing them."""
    embedding, output = nn.Embedding(vocab, d_model), nn.Linear(d_model, vocab, bias=False)
    output.weight = embedding.weight
    output.weight = nn.Parameter(torch.randn(vocab, d_model) * 0.02)
    return embedding.weight.detach(), output.weight.detach()


def initialised_then_tied(vocab: int, d_model: int) -> tuple[Tensor, Tensor]:
    """Right: initialises first, by filling the matrix, and ties last."""
    embedding, output = nn.Embedding(vocab, d_model), nn.Linear(d_model, vocab, bias=False)
    nn.init.normal_(embedding.weight, std=0.02)
    output.weight = embedding.weight
    return embedding.weight.detach(), output.weight.detach()


def one_matrix_reads_and_writes(build: Callable[[int, int], Any]) -> None:
    """Both matrices must hold the same numbers, and change together when one is changed.

    build takes the number of words and d_model, and returns the weights of the embedding and of
    the output layer, (vocab, d_model) both.
    """
    returned = call("build", build, 7, 4)
    answers("build", lambda: returned)  # two, of one size
    for matrix in returned:
        answer("build", lambda matrix=matrix: matrix, shape=(7, 4))
    embedding, output = returned

    def differ() -> bool:
        return not as_tensor("build", embedding).equal(as_tensor("build", output))

    def fill(value: float) -> None:
        embedding[:] = [[value] * 4 for _ in range(7)] if isinstance(embedding, list) else value

    assert not differ(), "the output layer holds other numbers than the embedding"
    for value in (1.0, 2.0):  # one of which is not there already
        with torch.no_grad():
            call("build", fill, value)
        assert not differ(), "the output layer does not change together with the embedding"


LEARNING = (
    Exhibit("X27", rms_norm_as_it_comes, rms_norm_in_single, norm_only_scales),
    Exhibit("X28", loss_over_everything, loss_over_tokens, padding_costs_nothing),
    Exhibit("X29", prompt_in_the_loss, reply_in_the_loss, prompt_costs_nothing),
    Exhibit("X30", tied_then_initialised, initialised_then_tied, one_matrix_reads_and_writes),
)
