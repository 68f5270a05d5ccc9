"""How the numeral translator is trained: on which numbers, how it is tested, and the steps."""

import copy
import hashlib
import json
import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headwise._check import check_flags, check_kind, check_sizes, check_whole
from headwise._check_tensors import check_integers, check_range, check_readable, check_shape
from headwise.models._files import alone, check_out, write_whole
from headwise.models.numerals import LARGEST, to_chinese, to_english
from headwise.models.translator import (
    MODEL,
    PAD,
    check_translator,
    encode,
    encode_words,
    new_model,
    say,
)
from headwise.transformer import Transformer

MOST = 1_000_000  # numbers at a time, and steps
MOST_SEED = 2**40  # seeds of steps are a million times as large
RANGES = (range(60_000, 70_000), range(4_000_000, 5_000_000), range(370_000_000, 380_000_000))


def in_ranges(numbers: Tensor) -> Tensor:
    """Which numbers lie in RANGES, of which none is learned from: (count,), boolean."""
    numbers = _checked(numbers)
    inside = torch.zeros_like(numbers, dtype=torch.bool)
    for held in RANGES:
        inside |= (numbers >= held.start) & (numbers < held.stop)
    return inside


def held_out(numbers: Tensor) -> Tensor:
    """Which numbers are for testing alone, one in ten: (count,), boolean.

    A fixed hash of the number decides, so that no training, long or short, has ever seen one.
    Those below 100 are all learned from: 零 is the only numeral in which "zero" can be met.
    """
    numbers = _checked(numbers)
    scattered = numbers * 2_654_435_761 % 2**32 // 2**16
    return (numbers >= 100) & (scattered % 10 == 0) & ~in_ranges(numbers)


def draw(count: int, generator: torch.Generator) -> Tensor:
    """Random numbers (count,): up to 1, 2, … or 9 digits alike, and in half of them many zeros.

    Drawn evenly from 0 to 999,999,999, nine in ten would have nine digits, and few a long gap.
    """
    check_sizes(count=count, most=10 * MOST)
    check_kind("generator", generator, torch.Generator)
    digits = torch.randint(10, (count, 9), generator=generator)
    length = torch.randint(1, 10, (count, 1), generator=generator)
    sparse = torch.rand(count, 1, generator=generator) < 0.5
    dropped = sparse & (torch.rand(count, 9, generator=generator) < 0.4)
    place = torch.arange(9)
    return (digits * ~dropped * (place < length) * 10**place).sum(dim=1)  # (count,)


def training_numbers(count: int, seed: int) -> Tensor:
    """Numbers to learn from, (count,): neither held out nor in a held-out range."""
    count, generator = _draw_of(count, seed)
    numbers = torch.empty(0, dtype=torch.long)
    while len(numbers) < count:
        more = draw(count + count // 4, generator)
        numbers = torch.cat((numbers, more[~held_out(more) & ~in_ranges(more)]))
    return numbers[:count]  # (count,)


def held_out_numbers(count: int, seed: int) -> Tensor:
    """Numbers for testing, all different and none ever learned from: (count,)."""
    count, generator = _draw_of(count, seed)
    found: dict[int, None] = {}
    while len(found) < count:
        more = draw(10 * count, generator)
        found |= dict.fromkeys(more[held_out(more)].tolist())
    return torch.tensor(list(found)[:count])  # (count,)


def range_numbers(count: int, seed: int) -> Tensor:
    """Numbers from the held-out ranges, as many from each: (len(RANGES), count)."""
    count, generator = _draw_of(count, seed)
    rows = [torch.randint(r.start, r.stop, (count,), generator=generator) for r in RANGES]
    return torch.stack(rows)  # (3, count)


def exact(model: Transformer, numbers: Tensor, *, use_cache: bool = True) -> Tensor:
    """Which numbers the model translates without a single mistake: (count,), boolean."""
    check_translator(model)
    check_flags(use_cache=use_cache)
    check_readable("numbers", numbers)
    numbers = _checked(numbers)
    right: list[bool] = []
    with one_thread():
        for start in range(0, len(numbers), 500):
            part = numbers[start : start + 500].tolist()
            said = say(model, [to_chinese(n) for n in part], use_cache=use_cache)
            right += [one == to_english(n) for n, one in zip(part, said, strict=True)]
    return torch.tensor(right, dtype=torch.bool)


def accuracy(model: Transformer, count: int) -> dict[str, str]:
    """How many of so many unseen numbers are right, and of a tenth as many in each range."""
    check_translator(model)
    check_sizes(count=count, most=MOST)
    groups = {"held out": held_out_numbers(count, seed=1)}
    for held, numbers in zip(RANGES, range_numbers(max(1, count // 10), seed=1), strict=True):
        groups[f"{held.start} to {held.stop - 1}"] = numbers
    return {
        name: f"{int(exact(model, numbers).sum())} of {len(numbers)}"
        for name, numbers in groups.items()
    }


def fingerprint(model: Transformer) -> str:
    """A hash of all weights: the same for two models if they agree bit by bit."""
    check_kind("model", model, nn.Module)
    digest = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        check_readable("model", tensor)
        numbers = tensor.cpu().contiguous().view(-1).view(torch.uint8)  # NumPy has no bfloat16
        digest.update(name.encode() + numbers.numpy().tobytes())
    return digest.hexdigest()


_inside: list[int] = []  # how many threads PyTorch had when each of those in one_thread came
_lock = threading.Lock()


@contextmanager
def one_thread() -> Iterator[None]:
    """PyTorch on a single thread: sums in one order, and more would not pay at these sizes."""
    with _lock:
        _inside.append(_inside[0] if _inside else torch.get_num_threads())
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _lock:
            torch.set_num_threads(_inside.pop())


def _checked(numbers: Tensor) -> Tensor:
    """The numbers in a dtype that holds their products as well."""
    check_shape("numbers", numbers, ("count",))
    check_integers("numbers", numbers)
    check_range("numbers", numbers, 0, LARGEST)
    return numbers.long()


def _draw_of(count: int, seed: int) -> tuple[int, torch.Generator]:
    """How many numbers to draw, and what to draw them from."""
    check_sizes(count=count, most=MOST)
    check_whole("seed", seed, 0, 2**63 - 1)
    return int(count), torch.Generator().manual_seed(int(seed))


STEPS, BATCH, LEARNING_RATE = 1200, 128, 3e-3


def learning_rate(step: int, steps: int) -> float:
    """How far to go at this step of so many: up in the first tenth, then down along a cosine."""
    check_sizes(steps=steps)
    check_whole("step", step, 0, steps - 1)
    rising = max(1, steps // 10)
    done = (step - rising) / max(1, steps - rising)
    share = (step + 1) / rising if step < rising else (1 + math.cos(math.pi * done)) / 2
    return LEARNING_RATE * share


class Training:
    """A model on its way: the same seed and number of steps give the same weights, bit by bit.

    Args:
        model: what to train, a new model by default.
        seed: decides the new model's weights, and the numbers of each step.
        steps: how many there are in all; the learning rate follows from it.
    """

    def __init__(
        self, model: Transformer | None = None, *, seed: int = 0, steps: int = STEPS
    ) -> None:
        check_sizes(steps=steps, most=MOST)
        check_whole("seed", seed, 0, MOST_SEED)
        if model is not None:
            check_translator(model)
        self.model = new_model(seed) if model is None else model
        self.seed, self.steps = int(seed), int(steps)
        self.losses: list[float] = []
        self.seconds = 0.0  # of work, whatever else the machine does
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.98), fused=True
        )

    def advance(self, count: int) -> None:
        """Take so many steps, or as many as are left; `losses` grows by one number a step."""
        check_whole("count", count, 0, MOST)
        self.model.train()
        began = time.process_time()
        with one_thread():
            for _ in range(min(count, self.steps - len(self.losses))):
                self.losses.append(self._step(len(self.losses)))
        self.seconds += time.process_time() - began

    def _step(self, step: int) -> float:
        # The step alone decides the numbers, so that nothing random has to be saved.
        numbers = training_numbers(BATCH, self.seed * 1_000_003 + step).tolist()
        device = self.model.src_embedding.weight.device
        src = encode([to_chinese(n) for n in numbers]).to(device)  # (batch, src_len)
        tgt = encode_words([to_english(n) for n in numbers]).to(device)  # (batch, tgt_len)

        logits = self.model(src, tgt[:, :-1])  # (batch, new_len, tgt_vocab)
        loss = F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=PAD)
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.param_groups[0]["lr"] = learning_rate(step, self.steps)
        self.optimizer.step()
        return loss.item()

    def state_dict(self) -> dict[str, Any]:
        """Everything that `load_state_dict` needs to go on as if nothing had happened."""
        return {
            "seed": self.seed,
            "steps": self.steps,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "losses": self.losses,
            "seconds": self.seconds,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from where `state_dict` was called, in a training of the same seed and steps."""
        check_kind("state", state, dict, expected="what state_dict gave")
        for name, value in (("seed", self.seed), ("steps", self.steps)):
            began = state.get(name)
            if isinstance(began, int) and began != value:
                raise ValueError(f"{name}: got {value}, expected {began}, as in state")
        before = copy.deepcopy(self.state_dict())
        try:
            self._go_on_from(state)
        except Exception as error:  # what comes from a file may be wrong in any way
            self._go_on_from(before)
            raise ValueError("state: got a broken one, expected what state_dict gave") from error

    def _go_on_from(self, state: dict[str, Any]) -> None:
        if state.keys() != self.state_dict().keys():
            raise ValueError("other entries")
        if type(state["seed"]) is not int or type(state["steps"]) is not int:
            raise TypeError("seed and steps are whole numbers")
        losses, seconds = list(state["losses"]), state["seconds"]
        if {type(number) for number in (*losses, seconds)} != {float}:
            raise TypeError("losses and seconds are floats")
        if len(losses) > self.steps or not 0 <= seconds < math.inf:
            raise ValueError("more losses than steps, or a time that cannot be")
        for name, weight in self.model.state_dict().items():
            _check_like(state["model"][name], weight)
        _check_optimizer(state["optimizer"], self.optimizer, len(losses))
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.losses, self.seconds = losses, seconds


def _check_optimizer(state: dict[str, Any], optimizer: torch.optim.Optimizer, steps: int) -> None:
    """The state is that of such an optimizer after so many steps with each parameter."""
    (group,), (own,) = state["param_groups"], optimizer.state_dict()["param_groups"]
    if group | {"lr": 0.0} != own | {"lr": 0.0} or not 0 <= group["lr"] <= LEARNING_RATE:
        raise ValueError("another optimizer")
    if bool(state["state"]) is not bool(steps):
        raise ValueError("averages without steps, or steps without averages")
    for i, averages in state["state"].items():
        weight = optimizer.param_groups[0]["params"][i]
        _check_like(averages["exp_avg"], weight)
        _check_like(averages["exp_avg_sq"], weight)
        if averages["step"].item() != steps or averages["exp_avg_sq"].min() < 0:
            raise ValueError("other steps, or averages that cannot be")


def _check_like(x: Tensor, weight: Tensor) -> None:
    """x could be a weight, or an average of its gradients."""
    check_shape("tensor", x, weight.shape)
    if x.dtype != weight.dtype or not x.isfinite().all():
        raise ValueError("another dtype, or numbers that are not finite")


def train(out: str | Path, *, seed: int, steps: int, count: int, resume: bool) -> None:
    """Train a new translator into a file, and write beside it how that was done.

    What has been reached is kept in a third file, so that after an interruption `resume` goes on
    from there, to the same weights. At the end it is tested on `count` unseen numbers. Wrong
    input, and another training into the same file, are refused before the work begins.
    """
    check_sizes(count=count, most=MOST)
    check_flags(resume=resume)
    path = check_out(out)
    training = Training(seed=seed, steps=steps)
    with alone(path):
        _train(training, path, count, resume)


def _train(training: Training, path: Path, count: int, resume: bool) -> None:
    kept, steps = path.with_suffix(".part"), training.steps
    if resume:
        _load(training, kept)
    watched = held_out_numbers(500, seed=0)
    try:
        _save(training.state_dict(), kept)
        while len(training.losses) < steps:
            training.advance(20)
            _save(training.state_dict(), kept)
            done = len(training.losses)
            bar = f"[{'#' * (20 * done // steps):.<20}] {done}/{steps}"
            print(f"\r{bar}, loss {training.losses[-1]:.4f}", end="", flush=True)
            if done % 100 == 0 or done == steps:
                print(f", exact {exact(training.model, watched).double().mean().item():.1%}")
    except KeyboardInterrupt:
        print(f"\nstopped; --resume goes on from {kept}")
        raise
    _save(training.model.state_dict(), path)
    text = json.dumps(recipe(training, count), indent=2) + "\n"
    write_whole(path.with_suffix(".json"), lambda file: file.write(text.encode()))
    kept.unlink()
    print(f"wrote {path}, and {path.with_suffix('.json')} beside it")


def _load(training: Training, kept: Path) -> None:
    """Let the training go on from a file."""
    try:
        state = torch.load(kept, weights_only=True)
    except Exception as error:  # what is no such file may fail in any way
        raise ValueError(f"resume: got {kept}, expected what a training has left") from error
    try:
        training.load_state_dict(state)
    except (TypeError, ValueError) as error:
        if str(error).startswith("state: "):
            raise ValueError(f"resume: got {kept}, expected what a training has left") from error
        raise


def _save(state: dict[str, Any], path: Path) -> None:
    write_whole(path, lambda file: torch.save(state, file))


def recipe(training: Training, count: int) -> dict[str, Any]:
    """How these weights were made, how good they are, and what they hash to."""
    check_kind("training", training, Training)
    return {
        "seed": training.seed,
        "steps": training.steps,
        "batch": BATCH,
        "learning_rate": LEARNING_RATE,
        "model": MODEL,
        "torch": torch.__version__,
        "seconds": round(training.seconds),
        "cores": 1,
        "exact": accuracy(training.model, count),
        "sha256": fingerprint(training.model),
    }
