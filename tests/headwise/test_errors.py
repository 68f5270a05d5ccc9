"""Wrong input raises a ValueError that names the argument, what came and what was expected."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor, nn

from headwise import (
    KeyValueCache,
    LinearHead,
    MultiHeadAttention,
    ParameterHead,
    causal_mask,
    combine,
    fold_heads,
    fused_attention,
    merge_heads,
    padding_mask,
    split_heads,
    unfold_heads,
)
from headwise._check import known_to_fit, show
from headwise._check_tensors import check_alike, check_mask, check_shape
from headwise.attention import attention
from headwise.masks import (
    from_additive,
    from_attention_mask,
    from_attn_mask,
    from_key_padding_mask,
    from_sdpa,
    from_valid_lens,
    to_additive,
    to_attn_mask,
    to_key_padding_mask,
    to_one_hides,
    to_sdpa,
    to_valid_lens,
    to_zero_hides,
)
from headwise.variants import FoldedHeads, MethodSteps, OneHides, ParameterOnly, SeparateInputs

MHA = MultiHeadAttention(8, 2)
X = torch.randn(2, 3, 8)
SEEN = torch.ones(2, 3, dtype=torch.bool)


def refused(call: Callable[[], object], *words: str) -> None:
    """Calling raises a ValueError in which each of the words stands."""
    with pytest.raises(ValueError) as error:
        call()
    for word in words:
        assert word in str(error.value)
    assert re.fullmatch(r"[\w, ]+: got .+, expected .+", str(error.value), re.DOTALL)


# Sizes


@pytest.mark.parametrize(
    ("make", "width"),
    [
        (lambda: MultiHeadAttention(10, 4), "d_model"),
        (lambda: SeparateInputs(10, 4), "d_model"),
        (lambda: MethodSteps(10, 4), "d_model"),
        (lambda: FoldedHeads(8, 8, 8, 10, 4, 0.0), "num_hiddens"),
        (lambda: OneHides(10, 4), "hidden_size"),
        (lambda: ParameterOnly(10, 4), "d_model"),
        (lambda: split_heads(torch.zeros(1, 1, 10), 4), "d_model"),
        (lambda: fold_heads(torch.zeros(1, 1, 10), 4), "d_model"),
        (lambda: unfold_heads(torch.zeros(10, 1, 2), 4), "batch * num_heads"),
    ],
)
def test_width_that_heads_do_not_divide_is_refused(make: Callable[[], object], width: str) -> None:
    refused(make, f"num_heads: got 4, expected a divisor of {width} = 10")


@pytest.mark.parametrize("size", [0, -2, 2.0, True])
@pytest.mark.parametrize("name", ["d_model", "num_heads", "d_k", "d_v", "key_dim", "value_dim"])
def test_size_that_is_no_positive_whole_number_is_refused(name: str, size: int) -> None:
    arguments = {"d_model": 8, "num_heads": 2} | {name: size}
    refused(
        lambda: MultiHeadAttention(**arguments),  # type: ignore[arg-type]
        f"{name}: got {size!r}",
        "expected a whole number of at least 1",
    )


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: SeparateInputs(0, 2), "d_model"),
        (lambda: SeparateInputs(8, 0), "num_heads"),
        (lambda: MethodSteps(-8, 2), "d_model"),
        (lambda: FoldedHeads(0, 8, 8, 8, 2, 0.0), "key_size"),
        (lambda: FoldedHeads(8, 0, 8, 8, 2, 0.0), "query_size"),
        (lambda: FoldedHeads(8, 8, 0, 8, 2, 0.0), "value_size"),
        (lambda: FoldedHeads(8, 8, 8, 0, 2, 0.0), "num_hiddens"),
        (lambda: OneHides(0, 2), "hidden_size"),
        (lambda: ParameterOnly(0, 2), "d_model"),
        (lambda: ParameterHead(0), "d_model"),
        (lambda: LinearHead(-1), "d_model"),
        (lambda: split_heads(X, 0), "num_heads"),
    ],
)
def test_size_below_one_is_refused_by_every_form(make: Callable[[], object], name: str) -> None:
    refused(make, f"{name}: got", "expected a whole number of at least 1")


@pytest.mark.parametrize("dropout", [-0.1, 1.5, float("nan")])
@pytest.mark.parametrize(
    "call",
    [
        lambda p: MultiHeadAttention(8, 2, dropout=p),
        lambda p: SeparateInputs(8, 2, p),
        lambda p: FoldedHeads(8, 8, 8, 8, 2, p),
        lambda p: attention(X, X, X, dropout=p),
        lambda p: fused_attention(X, X, X, dropout=p),
    ],
)
def test_dropout_that_is_no_probability_is_refused(
    call: Callable[[float], object], dropout: float
) -> None:
    refused(lambda: call(dropout), f"dropout: got {dropout!r}", "a probability from 0 to 1")


# Shapes


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: attention(X[0, 0], X, X), ("Q: got shape (8,)", "(..., query, d_k)")),
        (lambda: attention(X[..., :0], X, X), ("Q: got shape (2, 3, 0)",)),
        (lambda: attention(X.long(), X, X), ("Q: got shape (2, 3, 8) of torch.int64", "floats")),
        (lambda: attention(X, X[0], X), ("K: got shape (3, 8)", "(2, key, 8)")),
        (lambda: attention(X, X[..., :4], X), ("K: got shape (2, 3, 4)", "(2, key, 8)")),
        (lambda: attention(X, X, X[:, :2]), ("V: got shape (2, 2, 8)", "(2, 3, d_v)")),
        (lambda: fused_attention(X, X, X[:1]), ("V: got shape (1, 3, 8)", "(2, 3, d_v)")),
        (lambda: MHA(X[0]), ("query: got shape (3, 8)", "(batch, seq_len, 8)")),
        (lambda: MHA(X[..., :6]), ("query: got shape (2, 3, 6)", "(batch, seq_len, 8)")),
        (lambda: MHA(X, X[:1]), ("key: got shape (1, 3, 8)", "(2, key_len, 8)")),
        (lambda: MHA(X, X, X[:, :2]), ("value: got shape (2, 2, 8)", "(2, 3, 8)")),
        (
            lambda: MultiHeadAttention(8, 2, key_dim=5)(X),
            ("key: got shape (2, 3, 8)", "(2, key_len, 5)"),
        ),
        (lambda: split_heads(X[0], 2), ("x: got shape (3, 8)", "(batch, seq_len, d_model)")),
        (lambda: merge_heads(X), ("x: got shape (2, 3, 8)", "(batch, num_heads, seq_len, d_k)")),
        (lambda: unfold_heads(X[0], 2), ("x: got shape (3, 8)", "(batch * num_heads,")),
        (lambda: ParameterHead(6)(X), ("x: got shape (2, 3, 8)", "(batch, seq_len, 6)")),
        (lambda: LinearHead(6)(X), ("x: got shape (2, 3, 8)", "(batch, seq_len, 6)")),
        (lambda: ParameterOnly(6, 2)(X), ("x: got shape (2, 3, 8)", "(batch, seq_len, 6)")),
        (lambda: OneHides(6, 2)(X), ("hidden_state: got shape (2, 3, 8)",)),
        (lambda: SeparateInputs(8, 2)(X, X[:1], X), ("key: got shape (1, 3, 8)",)),
        (lambda: MethodSteps(8, 2)(X, X, X[:, 1:]), ("V: got shape (2, 2, 8)", "(2, 3, 8)")),
        (lambda: FoldedHeads(8, 8, 8, 8, 2, 0.0)(X[0], X, X, None), ("queries: got shape (3, 8)",)),
        (
            lambda: FoldedHeads(8, 8, 8, 8, 2, 0.0)(X, X, X[:, 1:], None),
            ("values: got shape (2, 2, 8)", "(2, 3, 8)"),
        ),
        (
            lambda: FoldedHeads(8, 8, 8, 8, 2, 0.0)(X, X, X, torch.ones(3)),
            ("valid_lens: got shape (3,)", "(2,) or (2, 3)"),
        ),
    ],
)
def test_shape_that_does_not_fit_is_refused(
    call: Callable[[], object], words: tuple[str, ...]
) -> None:
    refused(call, *words)


# Masks


@pytest.mark.parametrize(
    "mask",
    [torch.ones(3, 3), torch.ones(3, 3, dtype=torch.long), torch.zeros(3, 3) - torch.inf],
)
def test_mask_that_is_not_boolean_is_refused(mask: Tensor) -> None:
    refused(lambda: MHA(X, mask=mask), f"mask: got dtype {mask.dtype}", "expected torch.bool")
    refused(lambda: attention(X, X, X, mask), f"mask: got dtype {mask.dtype}")


@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (2, 1, 1, 4), (2, 3, 3, 3), (3, 1, 1, 3)])
@pytest.mark.parametrize("need_weights", [False, True])
def test_mask_that_does_not_broadcast_is_refused(
    shape: tuple[int, ...], need_weights: bool
) -> None:
    mask = torch.ones(shape, dtype=torch.bool)
    refused(
        lambda: MHA(X, mask=mask, need_weights=need_weights),
        f"mask: got shape {shape}",
        "broadcasts to (2, 2, 3, 3)",
    )


@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.parametrize("need_weights", [False, True])
def test_mask_without_a_head_axis_is_refused_whatever_the_batch(
    batch: int, need_weights: bool
) -> None:
    """(batch, query, key) against four axes: with two heads, batch 1 and 2 would run, wrongly."""
    x = torch.randn(batch, 3, 8)
    mask = torch.ones(batch, 3, 3, dtype=torch.bool)
    refused(
        lambda: MHA(x, mask=mask, need_weights=need_weights),
        f"mask: got shape ({batch}, 3, 3)",
        f"to broadcast to ({batch}, 2, 3, 3)",
        "[:, None]",
    )
    refused(lambda: MethodSteps(8, 2)(x, x, x, mask), f"mask: got shape ({batch}, 3, 3)")
    refused(lambda: ParameterOnly(8, 2)(x, mask), f"mask: got shape ({batch}, 3, 3)")
    refused(lambda: OneHides(8, 2)(x, ~mask), f"attention_mask: got shape ({batch}, 3, 3)")


@pytest.mark.parametrize("shape", [(), (3,), (1, 2, 1, 3, 3)])
def test_mask_with_other_axes_than_two_or_all_is_refused(shape: tuple[int, ...]) -> None:
    refused(lambda: MHA(X, mask=torch.ones(shape, dtype=torch.bool)), "mask: got shape")


def test_mask_with_a_head_axis_is_refused_where_there_is_none() -> None:
    mask = torch.ones(2, 1, 3, 3, dtype=torch.bool)
    refused(
        lambda: SeparateInputs(8, 2)(X, X, X, mask), "mask: got shape (2, 1, 3, 3)", "(2, 3, 3)"
    )
    refused(lambda: ParameterHead(8)(X, mask), "mask: got shape (2, 1, 3, 3)")


@pytest.mark.parametrize(
    "shapes",
    [((2, 1, 1, 3), (2, 3, 3)), ((2, 3, 3), (2, 1, 1, 3)), ((3, 3), (3, 4)), ((3, 3), (2, 3, 4))],
)
def test_masks_that_do_not_combine_in_one_way_are_refused(
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
) -> None:
    first, second = (torch.ones(shape, dtype=torch.bool) for shape in shapes)
    refused(lambda: combine(first, None, second), f"masks: got shapes {show(shapes[0])} and")


def test_combining_other_than_boolean_masks_of_one_device_is_refused() -> None:
    refused(lambda: combine(SEEN, SEEN.long()), "masks: got dtype torch.int64")
    refused(lambda: combine(SEEN, SEEN.to("meta")), "masks: got device meta", "expected cpu")
    refused(
        lambda: MHA(X, mask=torch.ones(3, 3), is_causal=True, need_weights=True),
        "mask: got dtype torch.float32",
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: causal_mask(-1), ("seq_len: got -1", "at least 0")),
        (lambda: causal_mask(2, -1), ("key_len: got -1", "at least 0")),
        (lambda: padding_mask(torch.ones(2, 2)), ("lengths: got shape (2, 2)", "(batch,)")),
        (lambda: to_sdpa(X), ("mask: got dtype torch.float32", "torch.bool")),
        (lambda: from_sdpa(X), ("attn_mask: got dtype torch.float32",)),
        (lambda: to_attn_mask(SEEN, (2, 3)), ("scores: got (2, 3)", "(batch, num_heads, query,")),
        (lambda: to_attn_mask(SEEN, (1, 1, 2, 4)), ("mask: got shape (2, 3)", "(1, 1, 2, 4)")),
        (lambda: from_attn_mask(X, 2), ("attn_mask: got dtype torch.float32",)),
        (lambda: from_attn_mask(SEEN[0], 2), ("attn_mask: got shape (3,)",)),
        (lambda: from_attn_mask(X > 0, 3), ("attn_mask: got shape (2, 3, 8)", "num_heads = 3")),
        (lambda: from_attn_mask(X > 0, 0), ("num_heads: got 0", "at least 1")),
        (lambda: to_key_padding_mask(SEEN), ("mask: got shape (2, 3)", "(batch, num_heads or 1,")),
        (lambda: from_key_padding_mask(X), ("key_padding_mask: got dtype torch.float32",)),
        (lambda: from_key_padding_mask(SEEN[0]), ("key_padding_mask: got shape (3,)",)),
        (lambda: to_additive(X), ("mask: got dtype torch.float32",)),
        (lambda: from_additive(SEEN), ("additive: got dtype torch.bool", "a floating one")),
        (lambda: from_attention_mask(SEEN[0]), ("attention_mask: got shape (3,)",)),
        (lambda: to_valid_lens(SEEN), ("mask: got shape (2, 3)",)),
        (lambda: from_valid_lens(X, 3), ("valid_lens: got shape (2, 3, 8)", "(batch, query)")),
        (lambda: to_zero_hides(X), ("mask: got dtype torch.float32",)),
        (lambda: to_one_hides(X), ("mask: got dtype torch.float32",)),
    ],
)
def test_converter_refuses_what_is_not_its_convention(
    call: Callable[[], object], words: tuple[str, ...]
) -> None:
    refused(call, *words)


# Devices and dtypes


def test_tensors_on_two_devices_are_refused() -> None:
    far, mask = X.to("meta"), torch.ones(3, 3, dtype=torch.bool)
    refused(lambda: attention(X, far, X), "K: got device meta", "expected cpu, as Q")
    refused(lambda: attention(X, X, far), "V: got device meta", "expected cpu, as Q")
    refused(lambda: fused_attention(X, X, X, mask.to("meta")), "mask: got device meta")
    refused(lambda: MHA(far), "query: got device meta", "as the weights")
    refused(lambda: MHA(X, far), "key: got device meta")
    refused(lambda: MHA(X, mask=mask.to("meta")), "mask: got device meta", "expected cpu")
    refused(lambda: LinearHead(8)(far), "x: got device meta")
    refused(lambda: ParameterHead(8)(far), "x: got device meta")
    refused(lambda: OneHides(8, 2)(far), "hidden_state: got device meta")
    form, lens = FoldedHeads(8, 8, 8, 8, 2, 0.0), torch.ones(2, device="meta")
    refused(lambda: form(X, X, X, lens), "valid_lens: got device meta", "as queries")
    refused(lambda: form(X, far, X, None), "keys: got device meta")


def test_tensors_of_two_dtypes_are_refused() -> None:
    refused(lambda: attention(X, X.double(), X), "K: got dtype torch.float64", "torch.float32")
    refused(lambda: MHA(X.double()), "query: got dtype torch.float64", "as the weights")
    refused(lambda: MHA(X, X, X.half()), "value: got dtype torch.float16")
    refused(lambda: MethodSteps(8, 2)(X, X.double(), X), "K: got dtype torch.float64")


def test_tensors_of_two_dtypes_are_refused_where_there_is_no_autocast() -> None:
    far = X.to("meta")
    refused(lambda: attention(far, far.double(), far), "K: got dtype torch.float64")
    refused(lambda: MultiHeadAttention(8, 2).to("meta")(far.double()), "query: got dtype")


def test_autocast_reconciles_dtypes_other_than_double() -> None:
    with torch.autocast("cpu", torch.bfloat16):
        assert MHA(X.half()).dtype == torch.bfloat16
        refused(lambda: MHA(X.double()), "query: got dtype torch.float64, expected torch.float32")
        refused(lambda: fused_attention(X, X.double(), X), "K: got dtype torch.float64")


def test_masks_are_made_and_used_on_a_device_without_values() -> None:
    module = MultiHeadAttention(8, 2).to("meta")
    mask = padding_mask(torch.tensor([3, 2], device="meta"), 3)
    assert module(X.to("meta"), mask=mask, is_causal=True).shape == (2, 3, 8)


# The cache


def filled(module: nn.Module = MHA, fixed: bool = False) -> KeyValueCache:
    cache = KeyValueCache(fixed=fixed)
    module(X, *([X.clone()] if fixed else []), cache=cache)
    return cache


@pytest.mark.parametrize(
    ("cache", "call", "words"),
    [
        (
            filled(),
            lambda cache: MHA(X[:1], cache=cache),
            ("got one of batch 2", "expected batch 1"),
        ),
        (
            filled(),
            lambda cache: MultiHeadAttention(8, 2)(X, cache=cache),
            ("got one that another layer filled", "expected this layer's own"),
        ),
        (
            filled(),
            lambda cache: MHA(X, X.clone(), cache=cache),
            ("got a growing one with a key of its own", "expected a fixed one"),
        ),
        (
            filled(fixed=True),
            lambda cache: MHA(X, cache=cache),
            ("got a fixed one for self-attention", "expected a growing one"),
        ),
        (
            filled(fixed=True),
            lambda cache: MHA(X, X[:, :2], cache=cache),
            ("got one of 3 keys", "expected the 2 of this key"),
        ),
        (
            filled(fixed=True),
            lambda cache: MHA(X[:1], X[:1].clone(), cache=cache),
            ("got one of batch 2", "expected batch 1"),
        ),
    ],
)
def test_cache_out_of_order_is_refused_and_stays_as_it_was(
    cache: KeyValueCache, call: Callable[[KeyValueCache], object], words: tuple[str, ...]
) -> None:
    before = (cache.K, cache.V)
    refused(lambda: call(cache), "cache: ", *words)
    assert (cache.K is before[0]) and (cache.V is before[1])


def test_cache_of_another_dtype_is_refused() -> None:
    module = MultiHeadAttention(8, 2)
    cache = filled(module)
    module.double()
    refused(lambda: module(X.double(), cache=cache), "cache: got dtype torch.float32")
    assert cache.length == 3


@pytest.mark.parametrize("need_weights", [False, True])
def test_call_that_fails_leaves_the_cache_as_it_was(need_weights: bool) -> None:
    short = torch.ones(3, 3, dtype=torch.bool)  # it would take (3, 6), cached keys included
    for cache, length in ((KeyValueCache(), 0), (filled(), 3)):
        mask = short[:, :2] if length == 0 else short
        refused(
            lambda mask=mask, cache=cache: MHA(  # type: ignore[misc]
                X, mask=mask, cache=cache, need_weights=need_weights
            ),
            "mask: got shape",
        )
        assert cache.length == length


def test_checks_that_are_left_out_are_left_out_in_one_thread_and_come_back() -> None:
    wrong = ("x", torch.ones(2), (3,))
    with pytest.raises(RuntimeError, match="stop"), known_to_fit():
        check_shape(*wrong)
        with ThreadPoolExecutor(1) as pool, pytest.raises(ValueError, match="got shape"):
            pool.submit(check_shape, *wrong).result()
        raise RuntimeError("stop")
    with pytest.raises(ValueError, match="got shape"):
        check_shape(*wrong)


def test_masks_and_dtypes_are_left_out_too() -> None:
    alike = ("x", torch.ones(2), "y", torch.ones(2, dtype=torch.int))
    mask = (torch.ones(2), (1, 1, 2, 2), torch.ones(2))
    with known_to_fit():
        check_alike(*alike)
        check_mask(*mask)
    with pytest.raises(ValueError, match="x: got dtype"):
        check_alike(*alike)
    with pytest.raises(ValueError, match="mask: got dtype"):
        check_mask(*mask)
