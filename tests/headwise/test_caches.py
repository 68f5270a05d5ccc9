"""A cache changes only when the whole call has succeeded, and survives being copied and stored."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from headwise import KeyValueCache, MultiHeadAttention
from headwise.layers import DecoderLayer, LayerCache
from headwise.transformer import Decoder, Transformer

X, MEMORY = torch.randn(2, 3, 8), torch.randn(2, 4, 8)
TGT = torch.tensor([[1, 3, 4], [1, 5, 6]])
HIDDEN = torch.ones(1, 4, dtype=torch.bool)


def layer() -> tuple[Callable[..., Tensor], list[LayerCache], list[Tensor]]:
    """One layer: how to call it, its cache, and its inputs, step by step."""
    one, cache = DecoderLayer(8, 2, dropout=0.0), LayerCache()

    def call(x: Tensor, memory: Any, memory_mask: Any = None) -> Tensor:
        return one(x, memory, None, memory_mask, cache=cache)

    return call, [cache], list(X.split(1, dim=1))


def decoder() -> tuple[Callable[..., Tensor], list[LayerCache], list[Tensor]]:
    stack = Decoder([DecoderLayer(8, 2, dropout=0.0) for _ in range(2)])
    cache = stack.new_cache()

    def call(x: Tensor, memory: Any, memory_mask: Any = None) -> Tensor:
        return stack(x, memory, None, memory_mask, cache=cache)

    return call, cache, list(X.split(1, dim=1))


def model() -> tuple[Callable[..., Tensor], list[LayerCache], list[Tensor]]:
    whole = Transformer(9, 9, d_model=8, num_heads=2, num_layers=2, dropout=0.0)
    cache = whole.decoder.new_cache()

    def call(tgt: Tensor, memory: Any, memory_mask: Any = None) -> Tensor:
        return whole.decode(tgt, memory, memory_mask, cache)

    return call, cache, [TGT[:, :1], TGT[:, :2], TGT]


every = pytest.mark.parametrize("make", [layer, decoder, model])
refusals = pytest.mark.parametrize(
    "wrong",
    [
        (None,),
        (MEMORY[..., :6],),
        (MEMORY[:1],),
        (MEMORY[:, :3],),  # the cache holds four
        (MEMORY.double(),),
        (MEMORY.to("meta"),),
        (MEMORY, HIDDEN[:, :3]),
        (MEMORY, HIDDEN.float()),
    ],
    ids=["None", "width", "batch", "length", "dtype", "device", "mask length", "mask dtype"],
)


def contents(cache: list[LayerCache]) -> list[Tensor | None]:
    return [x for part in cache for one in (part.own, part.memory) for x in (one.K, one.V)]


@every
@refusals
def test_refused_call_leaves_the_whole_cache_as_it_was(
    make: Callable[[], Any], wrong: tuple[Any, ...]
) -> None:
    torch.manual_seed(0)
    call, cache, steps = make()
    call(steps[0], MEMORY)
    before = contents(cache)
    with pytest.raises((ValueError, TypeError), match=r"memory|cache"):
        call(steps[1], *wrong)
    assert all(ours is theirs for ours, theirs in zip(contents(cache), before, strict=True))

    torch.manual_seed(0)
    again, _, _ = make()
    again(steps[0], MEMORY)
    torch.testing.assert_close(call(steps[1], MEMORY), again(steps[1], MEMORY))


def test_failure_in_the_last_layer_leaves_the_first_ones_cache_as_it_was() -> None:
    stack = Decoder([DecoderLayer(8, 2) for _ in range(2)])
    cache = stack.new_cache()
    stack(X, MEMORY, cache=cache)
    before = contents(cache)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    stack.layers[1].register_forward_hook(interrupt)
    with pytest.raises(KeyboardInterrupt):
        stack(X, MEMORY, cache=cache)
    assert all(ours is theirs for ours, theirs in zip(contents(cache), before, strict=True))


def test_failure_after_the_decoder_leaves_the_cache_as_it_was() -> None:
    whole = Transformer(9, 9, d_model=8, num_heads=2, num_layers=1)
    cache = whole.decoder.new_cache()
    whole.W_vocab.register_forward_hook(lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        whole.decode(TGT, MEMORY, None, cache)
    assert contents(cache) == [None] * 4


@pytest.mark.parametrize("call", [layer()[0], decoder()[0], model()[0]])
def test_decoder_without_a_memory_is_refused(call: Callable[..., Tensor]) -> None:
    """It would attend to itself, and to the future as well."""
    with pytest.raises(TypeError, match="memory: got None, expected a tensor"):
        call(TGT if call.__qualname__.startswith("model") else X, None)


def test_parts_of_a_cache_have_to_be_different_ones() -> None:
    stack = Decoder([DecoderLayer(8, 2) for _ in range(2)])
    for cache in ([LayerCache()] * 2, stack.new_cache() * 2):
        with pytest.raises(ValueError, match="cache: got parts of lengths"):
            stack(X, MEMORY, cache=cache)


# Copies


def filled() -> tuple[MultiHeadAttention, KeyValueCache]:
    torch.manual_seed(0)
    module, cache = MultiHeadAttention(8, 2).eval(), KeyValueCache()
    with torch.no_grad():
        module(X[:, :2], is_causal=True, cache=cache)
    return module, cache


COPIES: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda both: pickle.loads(pickle.dumps(both)),
}


@pytest.mark.parametrize("name", COPIES)
@pytest.mark.parametrize("together", [False, True])
def test_copied_cache_goes_on_where_the_first_one_was(name: str, together: bool) -> None:
    module, cache = filled()
    if together:
        other, forked = COPIES[name]((module, cache))
    else:
        other, forked = module, COPIES[name](cache)
    with torch.no_grad():
        out = other(X[:, 2:], is_causal=True, cache=forked)
        torch.testing.assert_close(out, module(X, is_causal=True)[:, 2:])
    assert (cache.length, forked.length) == (2, 3)


@pytest.mark.parametrize("name", COPIES)
def test_copied_cache_of_a_whole_decoder_goes_on(name: str) -> None:
    stack = Decoder([DecoderLayer(8, 2, dropout=0.0) for _ in range(2)]).eval()
    cache = stack.new_cache()
    with torch.no_grad():
        stack(X[:, :2], MEMORY, cache=cache)
        forked = COPIES[name](cache)
        out = stack(X[:, 2:], MEMORY, cache=forked)
        torch.testing.assert_close(out, stack(X, MEMORY)[:, 2:])


def test_copied_cache_is_refused_where_it_does_not_fit() -> None:
    _, cache = filled()
    with pytest.raises(ValueError, match=r"cache: got shape \(2, 2, 2, 4\)"):
        MultiHeadAttention(8, 4)(X, cache=copy.deepcopy(cache))


def test_copy_method_keeps_the_layer() -> None:
    module, cache = filled()
    with pytest.raises(ValueError, match="another layer filled"):
        copy.deepcopy(module)(X, cache=cache.copy())


def test_cache_takes_over_one_of_its_own_sort_alone() -> None:
    with pytest.raises(ValueError, match="other: got fixed=True, expected False"):
        KeyValueCache().update(KeyValueCache(fixed=True))
    with pytest.raises(ValueError, match="own: got fixed=True, expected False"):
        LayerCache(KeyValueCache(fixed=True))


def test_keys_and_values_may_be_reordered_by_hand() -> None:
    """As beam search does: each row of the batch goes on from another."""
    module, cache = filled()
    rows = torch.tensor([1, 1])
    assert cache.K is not None and cache.V is not None
    cache.K, cache.V = cache.K[rows], cache.V[rows]
    with torch.no_grad():
        out = module(X[rows, 2:], is_causal=True, cache=cache)
        torch.testing.assert_close(out, module(X[rows], is_causal=True)[:, 2:])


@pytest.mark.parametrize("K", [torch.zeros(2, 3), torch.zeros(2, 2, 3, 5), [1.0]])
def test_keys_by_hand_that_do_not_fit_are_refused(K: Any) -> None:
    module, cache = filled()
    cache.K = K
    with pytest.raises((ValueError, TypeError), match="cache: got"):
        module(X[:, 2:], cache=cache)


@pytest.mark.parametrize("shape", [(), (2,), (2, 4)])
def test_key_without_its_axes_is_refused_where_keys_are_kept(shape: tuple[int, ...]) -> None:
    module, cache = MultiHeadAttention(8, 2), KeyValueCache(fixed=True)
    module(X, MEMORY, cache=cache)
    with pytest.raises(ValueError, match=r"key: got shape .*, expected \(batch, length, width\)"):
        cache.recall(module, X, torch.ones(shape), MEMORY)


def test_fixed_cache_of_another_dtype_is_refused_by_its_name() -> None:
    module, cache = MultiHeadAttention(8, 2), KeyValueCache(fixed=True)
    module(X, MEMORY, cache=cache)
    module.double()
    with pytest.raises(ValueError, match=r"cache: got dtype torch.float32, expected torch.float64"):
        module(X.double(), MEMORY.double(), cache=cache)


def test_fixed_cache_refuses_another_key_of_the_same_shape() -> None:
    """It would answer with the old one: a second source through the cache of the first."""
    module, cache = MultiHeadAttention(8, 2), KeyValueCache(fixed=True)
    out = module(X, MEMORY, cache=cache)
    for key, value, named in (
        (MEMORY + 1, None, "key"),
        (MEMORY.flip(0), None, "key"),
        (MEMORY, MEMORY + 1, "value"),
    ):
        with pytest.raises(ValueError, match=f"cache: got one for another {named}, expected this"):
            module(X, key, value, cache=cache)
    torch.testing.assert_close(module(X, MEMORY.clone(), cache=cache), out)


def test_fixed_cache_by_hand_answers_for_itself() -> None:
    """As beam search does, where the memory is reordered with the keys."""
    module, cache, rows = MultiHeadAttention(8, 2), KeyValueCache(fixed=True), torch.tensor([1, 0])
    module(X, MEMORY, cache=cache)
    assert cache.K is not None and cache.V is not None
    cache.K, cache.V = cache.K[rows], cache.V[rows]
    torch.testing.assert_close(module(X, MEMORY[rows], cache=cache), module(X, MEMORY[rows]))


def test_decoder_refuses_the_cache_of_another_source() -> None:
    model = Transformer(9, 9, d_model=8, num_heads=2, num_layers=2).eval()
    cache, tgt = model.decoder.new_cache(), torch.tensor([[1, 2], [1, 3]])
    model.decode(tgt[:, :1], MEMORY, None, cache)
    with pytest.raises(ValueError, match="cache: got one for another key"):
        model.decode(tgt, MEMORY + 1, None, cache)
    assert [part.own.length for part in cache] == [1, 1]


@pytest.mark.parametrize("name", COPIES)
def test_copied_cache_leaves_the_gradient_behind(name: str) -> None:
    module, cache = MultiHeadAttention(8, 2), KeyValueCache()
    module(X, cache=cache)
    forked = COPIES[name](cache)
    assert cache.K is not None and cache.K.requires_grad and not forked.K.requires_grad
    torch.testing.assert_close(forked.K, cache.K.detach())


@pytest.mark.parametrize("lost", ["K", "V"])
def test_half_a_cache_is_refused(lost: str) -> None:
    module, cache = filled()
    setattr(cache, lost, None)
    with pytest.raises(TypeError, match="cache: got None, expected a tensor"):
        module(X[:, 2:], cache=cache)


@pytest.mark.parametrize("change", ["long", "double"])
def test_cache_keeps_what_its_layer_can_use_alone(change: str) -> None:
    K = torch.ones(2, 2, 3, 4)
    other = getattr(K, change)()
    with pytest.raises(ValueError, match="K: got dtype"):
        KeyValueCache().keep(MultiHeadAttention(8, 2), other, other)
    with pytest.raises(ValueError, match="V: got device meta"):
        KeyValueCache().keep(MultiHeadAttention(8, 2), K, K.to("meta"))


@pytest.mark.parametrize("part", [None, "x", KeyValueCache()])
def test_cache_of_a_layer_has_its_two_parts(part: Any) -> None:
    cache = LayerCache()
    cache.memory = part
    with pytest.raises((TypeError, ValueError), match=r"cache.memory: got .*, expected"):
        DecoderLayer(8, 2)(X, MEMORY, cache=cache)
    with pytest.raises((TypeError, ValueError), match=r"other.memory: got .*, expected"):
        LayerCache().update(cache)


@torch.no_grad()
def test_copy_keeps_what_was_replaced_by_hand() -> None:
    """Its K and V lie elsewhere than the memory that was allocated ahead."""
    torch.manual_seed(0)
    mha, x = MultiHeadAttention(8, 2), torch.randn(2, 3, 8)
    cache, other = KeyValueCache(max_len=6), KeyValueCache()
    mha(x, is_causal=True, cache=cache)
    assert cache.K is not None and cache.V is not None
    cache.K, cache.V = cache.K.flip(0), cache.V.flip(0)  # as beams that change places do
    cache = cache.copy()
    mha(x.flip(0), is_causal=True, cache=other)
    got, expected = (mha(x[:, :1], is_causal=True, cache=one) for one in (cache, other))
    torch.testing.assert_close(got, expected)
