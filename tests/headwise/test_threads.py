"""A module in use by several threads gives the right numbers and keeps its mode."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor, nn

from headwise import KeyValueCache, MultiHeadAttention
from headwise._eval_mode import without_dropout
from headwise.models import translator
from headwise.models.translator_training import one_thread
from headwise.transformer import Transformer

SRC = torch.randint(3, 9, (4, 6), generator=torch.Generator().manual_seed(0))


def model(**options: float) -> Transformer:
    torch.manual_seed(0)
    return Transformer(9, 9, d_model=8, num_heads=2, num_layers=2, **options)  # type: ignore[arg-type]


def at_once(run: Callable[[], object], times: int = 8) -> list[object]:
    """What several threads get that start together."""
    start = threading.Barrier(times)

    def one() -> object:
        start.wait()
        return run()

    with ThreadPoolExecutor(times) as pool:
        return [future.result() for future in [pool.submit(one) for _ in range(times)]]


def test_generation_never_changes_the_mode_of_any_part() -> None:
    transformer, modes = model(dropout=0.5), set()
    transformer.decoder.layers[1].eval()
    before = [part.training for part in transformer.modules()]

    def look(*_: object) -> None:
        modes.add(tuple(part.training for part in transformer.modules()))

    transformer.W_vocab.register_forward_hook(look)
    transformer.generate(SRC, 5, 1, 2)
    assert modes == {tuple(before)}


def test_threads_that_generate_agree_and_leave_the_model_in_training() -> None:
    transformer = model(dropout=0.5)
    expected = transformer.generate(SRC, 12, 1, -1)
    for tokens in at_once(lambda: transformer.generate(SRC, 12, 1, -1)):
        assert isinstance(tokens, Tensor) and torch.equal(tokens, expected)
    assert all(part.training for part in transformer.modules())


def test_dropout_of_training_stays_on_while_another_thread_generates() -> None:
    transformer, done = model(dropout=1.0), threading.Event()
    logits = []

    def train() -> None:
        while not done.is_set():
            logits.append(transformer(SRC, SRC).detach())

    thread = threading.Thread(target=train)
    thread.start()
    try:
        for _ in range(5):
            transformer.generate(SRC, 8, 1, -1)
    finally:
        done.set()
        thread.join()
    # With everything dropped, what is left are the norms' biases: zeros.
    assert logits and not any(one.any() for one in logits)


def test_attention_in_several_threads_gives_the_same_numbers() -> None:
    module, x = MultiHeadAttention(8, 2).eval(), torch.randn(2, 6, 8)

    def decode() -> Tensor:
        cache = KeyValueCache()
        steps = [module(t, is_causal=True, cache=cache) for t in x.split(1, dim=1)]
        return torch.cat(steps, dim=1)

    for out in at_once(decode):
        torch.testing.assert_close(out, module(x, is_causal=True))


def test_eval_twin_shares_everything_but_the_mode() -> None:
    transformer = model()
    twin = without_dropout(transformer)
    assert twin is not transformer
    assert not any(part.training for part in twin.modules())
    pairs = zip(twin.parameters(), transformer.parameters(), strict=True)
    assert all(ours is theirs for ours, theirs in pairs)
    assert without_dropout(twin) is twin


def test_eval_twin_of_a_compiled_or_an_empty_part_works() -> None:
    holder = nn.Module()
    holder.inner = torch.compile(nn.Sequential(nn.Linear(2, 2), nn.Dropout(1.0)), backend="eager")
    holder.register_module("nothing", None)
    twin = without_dropout(holder)
    assert twin.inner(torch.ones(1, 2)).any() and twin.nothing is None
    assert holder.inner.training


def test_eval_twin_of_a_parametrized_part_works() -> None:
    transformer = model(dropout=0.5)
    nn.utils.parametrizations.weight_norm(transformer.W_vocab)
    assert transformer.generate(SRC, 3, 1, 2).shape[0] == 4
    assert transformer.W_vocab.training


@pytest.mark.parametrize("times", [2, 6])
def test_number_of_threads_is_restored_whoever_leaves_last(times: int) -> None:
    before = 2
    torch.set_num_threads(before)
    inside, leave = threading.Barrier(times + 1), threading.Event()

    def one() -> None:
        with one_thread():
            inside.wait()
            leave.wait()

    threads = [threading.Thread(target=one) for _ in range(times)]
    for thread in threads:
        thread.start()
    with one_thread():
        inside.wait()
    leave.set()
    for thread in threads:
        thread.join()
    assert torch.get_num_threads() == before
    seen: list[int] = []
    late = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    late.start()
    late.join()
    assert seen == [before]


def test_loading_draws_no_random_numbers_and_translates_in_every_thread() -> None:
    state = torch.get_rng_state()
    for words in at_once(lambda: translator.translate(["三百零五"]), times=4):
        assert words == ["three hundred five"]
    assert torch.equal(torch.get_rng_state(), state)
