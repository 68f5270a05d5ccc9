"""Making masks, and converting them to and from every convention in use."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from headwise import MultiHeadAttention, causal_mask, combine, padding_mask
from headwise.attention import attention
from headwise.convert import convert
from headwise.masks import (
    from_additive,
    from_attention_mask,
    from_attn_mask,
    from_key_padding_mask,
    from_one_hides,
    from_sdpa,
    from_valid_lens,
    from_zero_hides,
    to_additive,
    to_attention_mask,
    to_attn_mask,
    to_key_padding_mask,
    to_one_hides,
    to_sdpa,
    to_valid_lens,
    to_zero_hides,
)
from headwise.variants import FoldedHeads, OneHides, ParameterOnly, SeparateInputs

BATCH, HEADS, QUERY, KEY, D_MODEL = 3, 2, 4, 5, 8


@st.composite
def masks(draw: st.DrawFn, *, heads: bool = True, queries: bool = True, axes: int = 4) -> Tensor:
    """Any of our masks; without heads or queries, those axes are 1."""
    low = [1, 1, 1, 1]
    high = [3, 3 if heads else 1, 4 if queries else 1, 4]
    shape = [draw(st.integers(a, b)) for a, b in zip(low, high, strict=True)][4 - axes :]
    count = int(torch.tensor(shape).prod())
    values = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    return torch.tensor(values).reshape(shape)


# Making


def test_causal_mask_is_the_lower_triangle() -> None:
    assert causal_mask(3).tolist() == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]


@given(seq_len=st.integers(0, 5), key_len=st.integers(0, 7))
def test_causal_mask_puts_the_last_query_at_the_last_key(seq_len: int, key_len: int) -> None:
    mask = causal_mask(seq_len, key_len)
    assert mask.shape == (seq_len, key_len)
    for i in range(seq_len):
        for j in range(key_len):
            assert mask[i, j] == (key_len - 1 - j >= seq_len - 1 - i)


@pytest.mark.parametrize(("seq_len", "key_len"), [(-1, 3), (3, -1), (-1, -1)])
def test_causal_mask_refuses_a_negative_length(seq_len: int, key_len: int) -> None:
    with pytest.raises(
        ValueError, match=r"(seq|key)_len: got -1, expected a whole number of at least 0"
    ):
        causal_mask(seq_len, key_len)


def test_causal_mask_is_made_on_the_device_asked_for() -> None:
    assert causal_mask(3, device="meta").device.type == "meta"


def test_padding_mask_shows_the_first_lengths_keys() -> None:
    mask = padding_mask(torch.tensor([2, 0, 3]), 4)
    assert mask.shape == (3, 1, 1, 4)
    assert mask[:, 0, 0].int().tolist() == [[1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0]]


def test_padding_mask_is_as_long_as_the_longest_by_default() -> None:
    assert padding_mask(torch.tensor([2, 3])).shape == (2, 1, 1, 3)
    assert padding_mask(torch.tensor([], dtype=torch.long)).shape == (0, 1, 1, 0)


@given(masks(), masks(axes=2))
def test_combined_mask_shows_what_all_show(first: Tensor, second: Tensor) -> None:
    second = second[:1, :1]
    combined = combine(None, first, None, second)
    assert combined is not None
    assert torch.equal(combined, first.logical_and(second))


def test_combining_nothing_hides_nothing() -> None:
    assert combine() is None
    assert combine(None, None) is None


# Round trips


@given(masks())
def test_round_trip_through_sdpa_and_additive_and_one_hides(mask: Tensor) -> None:
    assert torch.equal(from_sdpa(to_sdpa(mask)), mask)
    assert torch.equal(from_one_hides(to_one_hides(mask)), mask)
    assert torch.equal(from_zero_hides(to_zero_hides(mask)), mask)
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
        additive = to_additive(mask, dtype)
        assert additive.dtype == dtype
        assert torch.equal(from_additive(additive), mask)


@given(masks(), st.integers(1, 3))
def test_round_trip_through_attn_mask(mask: Tensor, num_heads: int) -> None:
    mask = mask[:, :1].expand(-1, num_heads, -1, -1)
    folded = to_attn_mask(mask, mask.shape)
    assert folded.shape == (mask.size(0) * num_heads, *mask.shape[2:])
    assert torch.equal(from_attn_mask(folded, num_heads), mask)


@given(masks(axes=2))
def test_round_trip_through_attn_mask_of_two_axes(mask: Tensor) -> None:
    flat = to_attn_mask(mask, (3, 2, *mask.shape))
    assert flat.shape == mask.shape
    assert torch.equal(from_attn_mask(flat, 2), mask)


@given(masks(heads=False, queries=False))
def test_round_trip_through_key_padding_mask_and_attention_mask(mask: Tensor) -> None:
    assert torch.equal(from_key_padding_mask(to_key_padding_mask(mask)), mask)
    assert torch.equal(from_attention_mask(to_attention_mask(mask)), mask)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=3))
def test_round_trip_through_valid_lens_of_batch_items(lengths: list[int]) -> None:
    valid_lens = torch.tensor(lengths)
    mask = from_valid_lens(valid_lens, 4)
    assert mask.shape == (len(lengths), 1, 1, 4)
    assert torch.equal(to_valid_lens(mask), valid_lens)


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=3))
def test_round_trip_through_valid_lens_of_queries(lengths: list[tuple[int, int, int]]) -> None:
    valid_lens = torch.tensor(lengths)
    mask = from_valid_lens(valid_lens, 4)
    assert mask.shape == (len(lengths), 1, 3, 4)
    assert torch.equal(to_valid_lens(mask), valid_lens)


@given(masks())
def test_what_converts_comes_back_and_the_rest_raises(mask: Tensor) -> None:
    """A converter never returns a mask that means something else."""
    shape = torch.Size((mask.size(0), 2, 3, mask.size(3)))
    for to, back in (
        (to_key_padding_mask, from_key_padding_mask),
        (to_attention_mask, from_attention_mask),
        (to_valid_lens, lambda lens: from_valid_lens(lens, mask.size(3))),
    ):
        try:
            converted = to(mask)
        except ValueError:
            continue
        assert torch.equal(*torch.broadcast_tensors(back(converted), mask)), shape


# Each convention means what its owner means by it


def inputs() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    query = torch.randn(BATCH, QUERY, D_MODEL, dtype=torch.float64, generator=generator)
    key = torch.randn(BATCH, KEY, D_MODEL, dtype=torch.float64, generator=generator)
    return query, key


def some_mask(*shape: int) -> Tensor:
    """A random mask in which each row sees the first key at least."""
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(2)) > 0.5
    mask[..., 0] = True
    return mask


def pair() -> tuple[MultiHeadAttention, nn.MultiheadAttention]:
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True, dtype=torch.float64)
    return convert(theirs, MultiHeadAttention(D_MODEL, HEADS).double()), theirs


def same(x: Tensor, y: Tensor) -> None:
    torch.testing.assert_close(x, y, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("shape", [(QUERY, KEY), (BATCH, HEADS, QUERY, KEY), (BATCH, 1, 1, KEY)])
def test_sdpa_and_additive_mean_what_sdpa_means(shape: tuple[int, ...]) -> None:
    Q, K, V = (torch.randn(BATCH, HEADS, n, 4, dtype=torch.float64) for n in (QUERY, KEY, KEY))
    mask = some_mask(*shape)
    out, _ = attention(Q, K, V, mask)
    same(F.scaled_dot_product_attention(Q, K, V, to_sdpa(mask)), out)
    same(F.scaled_dot_product_attention(Q, K, V, to_additive(mask, torch.float64)), out)


@pytest.mark.parametrize("shape", [(QUERY, KEY), (BATCH, HEADS, QUERY, KEY), (BATCH, 1, 1, KEY)])
def test_attn_mask_means_what_torch_means(shape: tuple[int, ...]) -> None:
    ours, theirs = pair()
    query, key = inputs()
    mask = some_mask(*shape)
    attn_mask = to_attn_mask(mask, (BATCH, HEADS, QUERY, KEY))
    same(ours(query, key, mask=mask), theirs(query, key, key, attn_mask=attn_mask)[0])


def test_key_padding_mask_means_what_torch_means() -> None:
    ours, theirs = pair()
    query, key = inputs()
    mask = some_mask(BATCH, 1, 1, KEY)
    key_padding_mask = to_key_padding_mask(mask)
    expected, _ = theirs(query, key, key, key_padding_mask=key_padding_mask)
    same(ours(query, key, mask=mask), expected)


def test_attention_mask_of_ones_and_zeros_shows_where_it_is_one() -> None:
    """As in Hugging Face's models: removing the keys with a 0 changes nothing."""
    ours, _ = pair()
    query, key = inputs()
    attention_mask = torch.tensor([[1, 1, 0, 1, 0]] * BATCH)
    out = ours(query, key, mask=from_attention_mask(attention_mask))
    same(out, ours(query, key[:, [0, 1, 3]]))


@pytest.mark.parametrize("shape", [(BATCH,), (BATCH, QUERY)])
def test_valid_lens_mean_what_the_folded_form_means(shape: tuple[int, ...]) -> None:
    ours, _ = pair()
    folded = convert(
        ours, FoldedHeads(D_MODEL, D_MODEL, D_MODEL, D_MODEL, HEADS, 0.0, bias=True).double()
    )
    query, key = inputs()
    valid_lens = torch.randint(0, KEY + 1, shape, generator=torch.Generator().manual_seed(0))
    out = folded(query, key, key, valid_lens)
    same(out, ours(query, key, mask=from_valid_lens(valid_lens, KEY)))
    item, i = 1, 2
    n = int(valid_lens[item] if valid_lens.dim() == 1 else valid_lens[item, i])
    alone = ours(query[item : item + 1, i : i + 1], key[item : item + 1, :n])
    same(out[item, i], alone[0, 0])


def test_zero_hides_means_what_the_forms_that_fill_where_zero_mean() -> None:
    query, _ = inputs()
    zero_hides = torch.tril(torch.ones(BATCH, QUERY, QUERY))
    zero_hides[1, :, 1] = 0
    source = SeparateInputs(D_MODEL, HEADS).double().eval()
    ours = convert(source, MultiHeadAttention(D_MODEL, HEADS).double())
    mask = from_zero_hides(zero_hides)
    assert mask.shape == (BATCH, 1, QUERY, QUERY)
    same(source(query, query, query, zero_hides), ours(query, mask=mask))
    form = convert(source, ParameterOnly(D_MODEL, HEADS).double())
    same(form(query, to_zero_hides(mask))[0], ours(query, mask=mask))


def test_one_hides_means_what_the_form_of_that_name_means() -> None:
    ours, _ = pair()
    form = convert(ours, OneHides(D_MODEL, HEADS).double())
    query, _ = inputs()
    one_hides = torch.triu(torch.ones(QUERY, QUERY), diagonal=1)
    same(form(query, one_hides), ours(query, mask=from_one_hides(one_hides)))
    same(form(query, one_hides)[:, 0], ours(query[:, :1])[:, 0])


# What cannot be said raises


def test_keys_behind_a_hidden_one_cannot_be_valid_lens() -> None:
    with pytest.raises(ValueError, match="valid_lens cannot express it"):
        to_valid_lens(torch.tensor([[[[True, False, True]]]]))


@pytest.mark.parametrize("to", [to_key_padding_mask, to_attention_mask])
def test_queries_that_differ_cannot_be_a_mask_of_keys(to: object) -> None:
    assert callable(to)
    with pytest.raises(ValueError, match="queries differ"):
        to(causal_mask(3)[None, None])


@pytest.mark.parametrize("to", [to_key_padding_mask, to_attention_mask, to_valid_lens])
def test_heads_that_differ_cannot_be_a_mask_without_heads(to: object) -> None:
    assert callable(to)
    with pytest.raises(ValueError, match="heads differ"):
        to(torch.tensor([True, False]).reshape(1, 2, 1, 1))


@pytest.mark.parametrize("bias", [-1.0, 0.5, float("nan"), float("inf")])
def test_a_bias_on_the_scores_is_not_a_mask(bias: float) -> None:
    with pytest.raises(ValueError, match=r"additive: got .* expected 0 and -inf alone"):
        from_additive(torch.tensor([[0.0, bias]]))


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str
)
def test_the_lowest_number_of_a_dtype_hides(dtype: torch.dtype) -> None:
    additive = torch.tensor([[0.0, torch.finfo(dtype).min, -torch.inf]], dtype=dtype)
    assert from_additive(additive).tolist() == [[True, False, False]]


def test_numbers_other_than_zero_and_one_are_not_a_mask() -> None:
    with pytest.raises(ValueError, match=r"attention_mask: got -1 in it, expected 0 and 1 alone"):
        from_attention_mask(torch.tensor([[1, -1]]))
    with pytest.raises(ValueError, match=r"zero_hides: got 2\.0 in it"):
        from_zero_hides(torch.tensor([2.0]))
    with pytest.raises(ValueError, match=r"one_hides: got 2\.0 in it"):
        from_one_hides(torch.tensor([2.0]))


@pytest.mark.parametrize("lengths", [[3, -1], [3, 5]])
def test_lengths_outside_the_sequence_are_refused(lengths: list[int]) -> None:
    with pytest.raises(ValueError, match=r"lengths: got (-1|5) in it, expected 0 to 4"):
        padding_mask(torch.tensor(lengths), 4)


def test_padding_mask_compiles_with_a_given_length() -> None:
    compiled = torch.compile(padding_mask, fullgraph=True, backend="eager")
    lengths = torch.tensor([2, 4])
    assert torch.equal(compiled(lengths, 4), padding_mask(lengths, 4))


# Lengths


@pytest.mark.parametrize(
    ("dtype", "length", "seq_len"),
    [
        *((torch.uint8, 200, 300), (torch.int8, 5, 200), (torch.int8, 100, 128)),
        *((torch.int16, 5, 40_000), (torch.uint16, 5, 70_000), (torch.int32, 5, 9)),
    ],
)
def test_lengths_of_a_narrow_dtype_count_as_far_as_they_should(
    dtype: torch.dtype, length: int, seq_len: int
) -> None:
    mask = padding_mask(torch.tensor([length], dtype=dtype), seq_len)
    assert mask.shape == (1, 1, 1, seq_len)
    assert mask.sum() == length
    assert torch.equal(from_valid_lens(torch.tensor([length], dtype=dtype), seq_len), mask)


@pytest.mark.parametrize(
    ("lens", "found"),
    [
        ([1.5, 2.0], "got dtype torch.float32"),
        ([float("nan"), 2.0], "got dtype torch.float32"),
        ([True, False], "got dtype torch.bool"),
        ([-1, 2], "got -1 in it, expected 0 to 3"),
        ([9, 2], "got 9 in it, expected 0 to 3"),
    ],
)
def test_lengths_are_whole_numbers_that_fit(lens: list[float], found: str) -> None:
    with pytest.raises(ValueError, match=f"lengths: {found}"):
        padding_mask(torch.tensor(lens), 3)
    with pytest.raises(ValueError, match=f"valid_lens: {found}"):
        from_valid_lens(torch.tensor(lens), 3)
    x = torch.randn(2, 3, 8)
    with pytest.raises(ValueError, match=f"valid_lens: {found}"):
        FoldedHeads(8, 8, 8, 8, 2, 0.0)(x, x, x, torch.tensor(lens))


@pytest.mark.parametrize("seq_len", [2.5, -1])
def test_length_of_a_sequence_is_a_whole_number(seq_len: int) -> None:
    with pytest.raises(ValueError, match=f"seq_len: got {seq_len}, expected a whole number"):
        padding_mask(torch.tensor([1, 2]), seq_len)


def test_longest_length_that_cannot_be_read_has_to_be_given() -> None:
    for lengths in (torch.tensor([1, 2], device="meta"), torch.tensor([[1, 2]])):
        run = padding_mask if lengths.is_meta else torch.vmap(padding_mask)
        with pytest.raises(ValueError, match="seq_len: got None, expected a length"):
            run(lengths)


@pytest.mark.parametrize("device", ["nowhere", "cuda:99"])
def test_device_that_is_not_there_is_refused(device: str) -> None:
    with pytest.raises(ValueError, match=f"device: got {device}, expected one of this machine"):
        causal_mask(3, device=device)


# Edges


def test_combining_makes_a_mask_of_its_own() -> None:
    mask = causal_mask(3)
    for combined in (combine(mask), combine(mask, None), combine(None, mask)):
        assert combined is not None
        combined.fill_(False)
    assert mask.any()


def test_mask_without_queries_or_heads_hides_nothing_from_them() -> None:
    for shape in ((2, 1, 0, 3), (2, 0, 1, 3), (2, 0, 0, 3)):
        mask = torch.ones(shape, dtype=torch.bool)
        assert torch.equal(to_key_padding_mask(mask), torch.zeros(2, 3, dtype=torch.bool))
    assert to_valid_lens(torch.ones(2, 1, 0, 3, dtype=torch.bool)).shape == (2, 0)


@pytest.mark.parametrize("dtype", [torch.bool, torch.long, torch.complex64])
def test_additive_mask_is_of_floats(dtype: torch.dtype) -> None:
    with pytest.raises(ValueError, match=f"dtype: got {dtype}, expected a floating torch.dtype"):
        to_additive(causal_mask(3), dtype)


def test_mask_of_complex_numbers_is_refused() -> None:
    with pytest.raises(ValueError, match=r"zero_hides: got torch.complex64"):
        from_zero_hides(torch.ones(3, 3, dtype=torch.complex64))


def test_convention_is_not_judged_where_it_cannot_be_read() -> None:
    """On the meta device there is a shape and nothing else."""
    mask = torch.ones(2, 1, 3, 3, dtype=torch.bool, device="meta")
    assert to_key_padding_mask(mask).shape == (2, 3)
    assert to_valid_lens(mask).shape == (2, 3)
