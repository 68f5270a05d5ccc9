"""Caches allocated ahead and rings: they answer like a cache that keeps everything anew."""

import copy
import pickle
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from headwise import KeyValueCache, MultiHeadAttention
from headwise.layers import DecoderLayer, LayerCache
from headwise.rotary import Rotary
from headwise.transformer import Decoder

EXACT = {"rtol": 1e-10, "atol": 1e-10}
WINDOW, SINKS = 4, 2
KINDS: dict[str, Callable[[], KeyValueCache]] = {
    "growing": KeyValueCache,
    "ahead": lambda: KeyValueCache(max_len=16),
    "ring": lambda: KeyValueCache(window=WINDOW, sinks=SINKS),
    "wider ring": lambda: KeyValueCache(window=WINDOW + 1, sinks=SINKS, max_len=16),
}
every_kind = pytest.mark.parametrize("kind", KINDS)
in_place = pytest.mark.parametrize("kind", ["ahead", "ring"])
X = torch.randn(2, 16, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.fixture(autouse=True)
def no_gradients(request: pytest.FixtureRequest) -> Iterator[None]:
    """Where they are recorded, no cache writes in place, and most tests are about those that do."""
    with nullcontext() if "gradients" in request.node.name else torch.no_grad():
        yield


def make() -> MultiHeadAttention:
    torch.manual_seed(0)
    options: dict[str, Any] = {"num_kv_heads": 1, "rotary": Rotary(4), "alibi": True}
    return MultiHeadAttention(12, 3, window=WINDOW, sinks=SINKS, **options).double().eval()


def decode(module: MultiHeadAttention, cache: KeyValueCache, *lengths: int) -> Tensor:
    """The output for as many tokens of X as all lengths together, each in one call."""
    outs = []
    for n in lengths:
        start = cache.length
        outs.append(module(X[:, start : start + n], is_causal=True, cache=cache))
    return torch.cat(outs, dim=1)


@every_kind
@settings(max_examples=20)
@given(lengths=st.lists(st.integers(0, 9), min_size=1, max_size=8).filter(lambda n: sum(n) <= 16))
def test_cached_answer_is_the_uncached_one_whatever_the_steps(
    kind: str, lengths: list[int]
) -> None:
    """Beyond the window's length as well."""
    module, cache = make(), KINDS[kind]()
    total = sum(lengths)
    out = decode(module, cache, *lengths)
    torch.testing.assert_close(out, module(X[:, :total], is_causal=True), **EXACT)
    assert cache.length == total


@every_kind
@settings(max_examples=20)
@given(
    mask=st.lists(st.lists(st.booleans(), min_size=16, max_size=16), min_size=2, max_size=2),
    first=st.integers(1, 9),
)
def test_mask_covers_all_tokens_so_far_whatever_a_ring_holds(
    kind: str, mask: list[list[bool]], first: int
) -> None:
    module, cache, seen = make(), KINDS[kind](), torch.tensor(mask)[:, None, None]
    outs = [module(X[:, :first], mask=seen[..., :first], is_causal=True, cache=cache)]
    for t in range(first, 16):
        outs.append(module(X[:, t : t + 1], mask=seen[..., : t + 1], is_causal=True, cache=cache))
    expected = module(X, mask=seen, is_causal=True)
    torch.testing.assert_close(torch.cat(outs, dim=1), expected, **EXACT)


@pytest.mark.parametrize("kind", ["growing", "ahead"])
def test_positions_of_each_sentence_are_remembered(kind: str) -> None:
    """Sentences of unequal length, filled up in front: each answers as if it were alone."""
    module, cache = make(), KINDS[kind]()
    positions = torch.stack((torch.arange(16), torch.arange(16) - 5))
    mask = (positions >= 0)[:, None, None]
    outs = [
        module(
            X[:, start:end],
            mask=mask[..., :end],
            is_causal=True,
            cache=cache,
            positions=positions[:, start:end],
        )
        for start, end in ((0, 7), (7, 8), (8, 9), (9, 13), (13, 16))
    ]
    out = torch.cat(outs, dim=1)
    torch.testing.assert_close(out[:1], module(X[:1], is_causal=True), **EXACT)
    torch.testing.assert_close(out[1:, 5:], module(X[1:, 5:], is_causal=True), **EXACT)


def test_sentences_of_unequal_length_go_round_a_ring() -> None:
    module = make()
    module.sinks = 0
    cache = KeyValueCache(window=WINDOW)
    positions = torch.stack((torch.arange(16), torch.arange(16) - 5))
    mask = (positions >= 0)[:, None, None]
    outs = []
    for start, end in ((0, 7), *((t, t + 1) for t in range(7, 16))):
        options = {"mask": mask[..., :end], "positions": positions[:, start:end]}
        outs.append(module(X[:, start:end], is_causal=True, cache=cache, **options))
    out = torch.cat(outs, dim=1)
    torch.testing.assert_close(out[1:, 5:], module(X[1:, 5:], is_causal=True), **EXACT)


def test_sinks_in_a_ring_stand_at_one_place_for_all_sentences() -> None:
    module, cache = make(), KINDS["ring"]()
    positions = torch.stack((torch.arange(7), torch.arange(7) - 5))
    with pytest.raises(ValueError, match=r"positions: got shape \(2, 7\) with a ring"):
        module(X[:, :7], is_causal=True, cache=cache, positions=positions)
    assert cache.length == 0


# Memory


@in_place
def test_memory_is_allocated_once(kind: str) -> None:
    module, cache = make(), KINDS[kind]()
    decode(module, cache, 2)
    assert cache.K is not None
    place = cache.K.data_ptr()
    for _ in range(12):
        decode(module, cache, 1)
        assert cache.K.data_ptr() == place
    assert cache.K.size(2) == (14 if kind == "ahead" else WINDOW + SINKS)


def test_ring_holds_no_more_than_its_slots_after_a_long_prompt() -> None:
    module, cache = make(), KINDS["ring"]()
    decode(module, cache, 13)
    assert cache.K is not None and cache.K.size(2) == WINDOW + SINKS
    assert cache.K.untyped_storage().nbytes() == 2 * (WINDOW + SINKS) * 4 * 8


def test_gradients_pass_through_every_kind_of_cache() -> None:
    module, x = make(), X.clone().requires_grad_()
    (expected,) = torch.autograd.grad(module(x, is_causal=True).square().sum(), x)
    for make_cache in KINDS.values():
        cache = make_cache()
        outs = [module(part, is_causal=True, cache=cache) for part in x.split([5, 1, 4, 1, 5], 1)]
        (dx,) = torch.autograd.grad(torch.cat(outs, dim=1).square().sum(), x)
        torch.testing.assert_close(dx, expected, **EXACT)


@in_place
def test_cache_filled_in_inference_mode_goes_on_outside(kind: str) -> None:
    module, cache = make(), KINDS[kind]()
    with torch.inference_mode():
        first = decode(module, cache, 5, 1)
    out = torch.cat((first, decode(module, cache, 1, 4)), dim=1)
    torch.testing.assert_close(out, module(X[:, :11], is_causal=True), **EXACT)


@pytest.mark.no_cover  # a compiler reads our lines and runs none
@in_place
def test_step_with_a_cache_compiles_into_one_graph(kind: str) -> None:
    module, cache = make(), KINDS[kind]()
    decode(module, cache, 7)
    torch.compiler.reset()
    step = torch.compile(module, fullgraph=True, backend="eager")
    expected = module(X[:, :8], is_causal=True)[:, 7:]
    torch.testing.assert_close(step(X[:, 7:8], is_causal=True, cache=cache), expected, **EXACT)
    assert cache.length == 8


# Copies, and calls that fail


@every_kind
@pytest.mark.parametrize("filled", [3, 6, 9])
def test_copies_go_their_own_ways(kind: str, filled: int) -> None:
    """Both write the same positions, one after the other or in turns, with other numbers."""
    module, cache = make(), KINDS[kind]()
    decode(module, cache, filled)
    fork, other = cache.copy(), X.flip(0)
    for t in range(filled, 15):
        ours = module(X[:, t : t + 1], is_causal=True, cache=cache)
        theirs = module(other[:, t : t + 1], is_causal=True, cache=fork)
        mixed = torch.cat((X[:, :filled], other[:, filled : t + 1]), dim=1)
        torch.testing.assert_close(ours, module(X[:, : t + 1], is_causal=True)[:, -1:], **EXACT)
        torch.testing.assert_close(theirs, module(mixed, is_causal=True)[:, -1:], **EXACT)


@every_kind
def test_cache_goes_on_where_it_was_after_its_copy_went_ahead(kind: str) -> None:
    module, cache = make(), KINDS[kind]()
    decode(module, cache, 7)
    fork = cache.copy()
    for t in range(7, 12):
        module(X.flip(0)[:, t : t + 1], is_causal=True, cache=fork)
    torch.testing.assert_close(
        decode(module, cache, 1, 1, 1), module(X[:, :10], is_causal=True)[:, 7:], **EXACT
    )


@every_kind
@pytest.mark.parametrize("n", [1, 3])
def test_failed_call_is_as_if_it_had_not_been(kind: str, n: int) -> None:
    """It fails after the keys were written, in the last projection."""
    module, cache = make(), KINDS[kind]()
    decode(module, cache, 7)
    before = (cache.K, cache.V, cache.length)
    hook = module.W_o.register_forward_hook(lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        module(X.flip(0)[:, 7 : 7 + n], is_causal=True, cache=cache)
    hook.remove()
    assert cache.K is before[0] and cache.V is before[1] and cache.length == before[2]
    expected = module(X[:, :13], is_causal=True)[:, 7:]
    torch.testing.assert_close(decode(module, cache, 1, 4, 1), expected, **EXACT)


@every_kind
@pytest.mark.parametrize("way", [copy.deepcopy, lambda cache: pickle.loads(pickle.dumps(cache))])
def test_stored_cache_goes_on(kind: str, way: Callable[[Any], Any]) -> None:
    module, cache = make(), KINDS[kind]()
    decode(module, cache, 9)
    stored = way(cache)
    expected = module(X[:, :12], is_causal=True)[:, 9:]
    torch.testing.assert_close(decode(module, stored, 1, 2), expected, **EXACT)
    assert cache.length == 9


@every_kind
def test_rows_may_be_chosen_by_hand(kind: str) -> None:
    """As beam search does: each row of the batch goes on from another."""
    module, cache, rows = make(), KINDS[kind](), torch.tensor([1, 1])
    decode(module, cache, 9)
    assert cache.K is not None and cache.V is not None
    cache.K, cache.V = cache.K[rows], cache.V[rows]
    out = module(X[rows, 9:10], is_causal=True, cache=cache)
    torch.testing.assert_close(out, module(X[rows, :10], is_causal=True)[:, 9:], **EXACT)


@pytest.mark.parametrize("kind", ["growing", "ahead"])
def test_cache_may_be_cut_by_hand(kind: str) -> None:
    """As speculative decoding does with tokens that it takes back."""
    module, cache = make(), KINDS[kind]()
    decode(module, cache, 9)
    assert cache.K is not None and cache.V is not None
    cache.K, cache.V = cache.K[:, :, :5], cache.V[:, :, :5]
    expected = module(X[:, :8], is_causal=True)[:, 5:]
    torch.testing.assert_close(decode(module, cache, 1, 2), expected, **EXACT)


def test_decoder_copies_no_memory_at_a_step_and_keeps_all_or_nothing() -> None:
    torch.manual_seed(0)
    stack = Decoder([DecoderLayer(12, 3, dropout=0.0) for _ in range(2)]).double().eval()
    cache = [LayerCache(KeyValueCache(max_len=16)) for _ in stack.layers]
    outs = [stack(X[:, :5], X, cache=cache)]
    places = [part.own.K.data_ptr() for part in cache if part.own.K is not None]
    outs += [stack(X[:, t : t + 1], X, cache=cache) for t in range(5, 8)]
    assert places == [part.own.K.data_ptr() for part in cache if part.own.K is not None]
    hook = stack.layers[1].register_forward_hook(lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        stack(X.flip(0)[:, 8:9], X, cache=cache)
    hook.remove()
    assert [part.own.length for part in cache] == [8, 8]
    outs += [stack(X[:, t : t + 1], X, cache=cache) for t in range(8, 12)]
    torch.testing.assert_close(torch.cat(outs, dim=1), stack(X[:, :12], X), **EXACT)


def test_autocast_may_follow_upon_single_precision() -> None:
    module, cache, x = make().float(), KeyValueCache(max_len=16), X.float()
    module(x[:, :5], is_causal=True, cache=cache)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = module(x[:, 5:6], is_causal=True, cache=cache)
    expected = module(x[:, :6], is_causal=True)[:, 5:]
    torch.testing.assert_close(out.float(), expected, rtol=0.1, atol=0.1)


# What is refused


def test_cache_that_is_full_is_refused_and_stays() -> None:
    module, cache = make(), KeyValueCache(max_len=8)
    decode(module, cache, 7)
    with pytest.raises(ValueError, match="cache: got 9 positions, expected at most max_len = 8"):
        decode(module, cache, 2)
    assert cache.length == 7
    torch.testing.assert_close(
        decode(module, cache, 1), module(X[:, :8], is_causal=True)[:, 7:], **EXACT
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_len": 0}, "max_len: got 0, expected a whole number of at least 1"),
        ({"window": 0}, "window: got 0, expected a whole number of at least 1"),
        ({"sinks": 1}, "sinks: got 1 without a window, expected 0"),
        ({"fixed": True, "max_len": 3}, "max_len: got 3 for a fixed cache, expected None"),
        ({"fixed": True, "window": 3}, "window: got 3 for a fixed cache, expected None"),
    ],
)
def test_cache_that_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KeyValueCache(**options)


def test_ring_that_would_drop_what_the_layer_sees_is_refused() -> None:
    module = make()
    with pytest.raises(
        ValueError, match="cache: got window = 3 and sinks = 2, expected at least 4"
    ):
        module(X, is_causal=True, cache=KeyValueCache(window=3, sinks=2))
    with pytest.raises(ValueError, match="cache: got a ring, expected one that keeps all"):
        MultiHeadAttention(12, 3).double()(X, cache=KeyValueCache(window=3))


def test_ring_of_another_length_by_hand_is_refused() -> None:
    module, cache = make(), KINDS["ring"]()
    decode(module, cache, 9)
    assert cache.K is not None and cache.V is not None
    cache.K, cache.V = cache.K[:, :, :3], cache.V[:, :, :3]
    with pytest.raises(ValueError, match="cache: got one of 3 keys, expected the ring's 6"):
        decode(module, cache, 1)


def test_cache_takes_over_one_of_its_own_sort_alone() -> None:
    with pytest.raises(ValueError, match="other: got window=None, expected 4, as here"):
        KINDS["ring"]().update(KeyValueCache())


def test_keys_kept_by_hand_are_all_that_there_was() -> None:
    module, whole, cache = make(), KeyValueCache(), KINDS["ring"]()
    decode(module, whole, 9)
    assert whole.K is not None and whole.V is not None
    cache.keep(module, whole.K, whole.V)
    assert (cache.length, cache.K is not None and cache.K.size(2)) == (9, WINDOW + SINKS)
    expected = module(X[:, :11], is_causal=True)[:, 9:]
    torch.testing.assert_close(decode(module, cache, 1, 1), expected, **EXACT)
