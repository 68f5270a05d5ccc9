"""Masks: how to make them, and how to get from every convention in use to ours and back.

Ours is boolean, True = may be seen, and broadcasts to (batch, num_heads, query, key). For each
convention X, to_X goes there from ours, and from_X comes back:

| X | where it is used | shape | hides with |
|---|---|---|---|
| sdpa | F.scaled_dot_product_attention, boolean | as ours | False |
| attn_mask | nn.MultiheadAttention | (query, key), (batch * num_heads, query, key) | True |
| key_padding_mask | nn.MultiheadAttention | (batch, key) | True |
| additive | added to the scores | as ours | -inf |
| attention_mask | Hugging Face's models | (batch, key) | 0 |
| valid_lens | d2l | (batch,), (batch, query) | any key from that number on |
| zero_hides | code that fills where mask == 0 | as ours, or (batch, query, key) | 0 |
| one_hides | code that adds mask * -1e9 | as ours | 1 |

A mask that the other convention cannot express raises a ValueError. To tell, one has to read the
mask: where its values cannot be read (torch.compile, torch.export, vmap, the meta device) that
check is left out, and the caller answers for the mask.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from headwise._check import (
    FLOATS,
    LONGEST,
    check_each,
    check_floating,
    check_lengths,
    check_numel,
    check_numeric,
    check_place,
    check_sizes,
    check_whole,
    show,
)
from headwise._check_tensors import (
    as_boolean,
    check_counts,
    check_device,
    check_mask,
    check_shape,
    check_tensor,
    check_values,
    may_hold,
)


def causal_mask(
    seq_len: int, key_len: int | None = None, *, device: torch.device | str | None = None
) -> Tensor:
    """A mask (seq_len, key_len) in which no query sees a later key.

    The last query stands at the last key, as when keys come from a cache; by default there are
    as many keys as queries.
    """
    key_len = seq_len if key_len is None else key_len
    check_lengths(seq_len=seq_len, key_len=key_len)
    check_place(device)
    visible = torch.ones(seq_len, key_len, dtype=torch.bool, device=device)
    return visible.tril(key_len - seq_len)  # (seq_len, key_len)


def padding_mask(lengths: Tensor, seq_len: int | None = None) -> Tensor:
    """A mask (batch, 1, 1, seq_len) in which the first lengths[b] keys of item b are seen.

    lengths is (batch,), in whole numbers; seq_len is the longest of them by default, and has to
    be given where that cannot be read, as in torch.export.
    """
    check_shape("lengths", lengths, ("batch",))
    seq_len = _longest(lengths) if seq_len is None else seq_len
    check_counts("lengths", lengths, seq_len=seq_len)
    keys = torch.arange(seq_len, device=lengths.device)  # (seq_len,)
    visible = keys < lengths.long()[:, None]  # (batch, seq_len)
    return visible[:, None, None, :]  # (batch, 1, 1, seq_len)


def combine(*masks: Tensor | None) -> Tensor | None:
    """What every one of the masks lets through; None lets everything through.

    Each has two axes, or as many as the others: (batch, 1, 1, key) and (batch, query, key) would
    meet with the batch on the heads.
    """
    combined = None
    for mask in masks:
        if mask is None:
            continue
        _check_boolean("masks", mask)
        if combined is None:
            combined = mask.clone()  # so that whoever changes the result changes no mask
            continue
        check_device("masks", mask, "the one before", combined)
        sizes = zip(reversed(mask.shape), reversed(combined.shape), strict=False)
        axes = {2, mask.dim(), combined.dim()}
        if len(axes) > 2 or any(m != n and 1 not in (m, n) for m, n in sizes):
            raise ValueError(
                f"masks: got shapes {show(combined.shape)} and {show(mask.shape)}, expected two "
                "that broadcast together, each of 2 axes or of as many as the other"
            )
        combined = combined & mask
    return combined


def to_sdpa(mask: Tensor) -> Tensor:
    """The boolean attn_mask of F.scaled_dot_product_attention: ours, as it stands."""
    _check_boolean("mask", mask)
    return mask


def from_sdpa(attn_mask: Tensor) -> Tensor:
    """Our mask from the boolean attn_mask of F.scaled_dot_product_attention: the same tensor."""
    _check_boolean("attn_mask", attn_mask)
    return attn_mask


def to_attn_mask(mask: Tensor, scores: Sequence[int]) -> Tensor:
    """The attn_mask of nn.MultiheadAttention for scores (batch, num_heads, query, key).

    Returns (query, key) where the mask has two axes, so is the same for every batch item
    and head, and otherwise (batch * num_heads, query, key).
    """
    check_each("scores", scores, object, expected="the sizes (batch, num_heads, query, key)")
    for size in scores:
        check_whole("scores", size, 0, LONGEST, "sizes")
    if len(scores) != 4:
        raise ValueError(
            f"scores: got {show(scores)}, expected the sizes (batch, num_heads, query, key)"
        )
    check_numel("scores", scores)
    check_mask(mask, scores, mask)
    batch, num_heads, query, key = scores
    if mask.dim() == 2:
        return ~mask.expand(query, key)
    mask = mask.expand(batch, num_heads, query, key)
    return ~mask.flatten(0, 1)  # (batch * num_heads, query, key)


def from_attn_mask(attn_mask: Tensor, num_heads: int) -> Tensor:
    """Our mask from the boolean attn_mask of nn.MultiheadAttention.

    (query, key) stays two axes; (batch * num_heads, query, key) becomes four.
    """
    _check_boolean("attn_mask", attn_mask)
    check_sizes(num_heads=num_heads)
    if attn_mask.dim() == 2:
        return ~attn_mask
    check_shape("attn_mask", attn_mask, ("batch * num_heads", "query", "key"))
    if len(attn_mask) % num_heads:
        raise ValueError(
            f"attn_mask: got shape {show(attn_mask.shape)}, expected a first axis of "
            f"batch * num_heads, with num_heads = {num_heads}"
        )
    folded, query, key = attn_mask.shape
    return ~attn_mask.reshape(folded // num_heads, num_heads, query, key)


def to_key_padding_mask(mask: Tensor) -> Tensor:
    """The key_padding_mask (batch, key) of nn.MultiheadAttention: True hides."""
    return ~_keys_alone(mask)


def from_key_padding_mask(key_padding_mask: Tensor) -> Tensor:
    """Our mask (batch, 1, 1, key) from the key_padding_mask of nn.MultiheadAttention."""
    _check_boolean("key_padding_mask", key_padding_mask)
    check_shape("key_padding_mask", key_padding_mask, ("batch", "key"))
    return ~key_padding_mask[:, None, None, :]  # (batch, 1, 1, key)


def to_additive(mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """A mask to add to the scores: 0 where a key is seen, -inf where it is not."""
    _check_boolean("mask", mask)
    check_floating("dtype", dtype)
    return torch.zeros_like(mask, dtype=dtype).masked_fill(~mask, -torch.inf)


def from_additive(additive: Tensor) -> Tensor:
    """Our mask from one that is added to the scores: 0 shows, -inf or the dtype's lowest hides.

    Other numbers are a bias rather than a mask, and raise a ValueError.
    """
    check_tensor("additive", additive)
    if additive.dtype not in FLOATS:
        raise ValueError(f"additive: got dtype {additive.dtype}, expected a floating one")
    _check_axes("additive", additive)
    hidden = additive <= torch.finfo(additive.dtype).min
    check_values("additive", additive, hidden | (additive == 0), "0 and -inf alone")
    return ~hidden


def to_attention_mask(mask: Tensor) -> Tensor:
    """The attention_mask (batch, key) of Hugging Face's models, in whole numbers: 0 hides."""
    return _keys_alone(mask).long()


def from_attention_mask(attention_mask: Tensor) -> Tensor:
    """Our mask (batch, 1, 1, key) from an attention_mask (batch, key) in which 0 hides."""
    check_shape("attention_mask", attention_mask, ("batch", "key"))
    return as_boolean("attention_mask", attention_mask)[:, None, None, :]  # (batch, 1, 1, key)


def to_valid_lens(mask: Tensor) -> Tensor:
    """How many leading keys are seen: (batch,), or (batch, query) where queries may differ.

    The number of axes follows the query axis of the mask: with a single one, it is (batch,).
    """
    rows = _same_for_all_heads(mask)  # (batch, query, key)
    lens = rows.sum(dim=-1)  # (batch, query)
    leading = torch.arange(rows.size(-1), device=rows.device) < lens[..., None]
    if not may_hold(rows == leading):
        raise ValueError(
            "mask: got one that shows a key behind a hidden one, expected leading keys alone; "
            "valid_lens cannot express it"
        )
    return lens[:, 0] if lens.size(1) == 1 else lens


def from_valid_lens(valid_lens: Tensor, key_len: int) -> Tensor:
    """Our mask from valid_lens: (batch,) gives (batch, 1, 1, key_len), (batch, query) gives
    (batch, 1, query, key_len). The lengths are whole numbers from 0 to key_len.
    """
    check_tensor("valid_lens", valid_lens)
    if valid_lens.dim() not in (1, 2):
        raise ValueError(
            f"valid_lens: got shape {show(valid_lens.shape)}, expected (batch,) or (batch, query)"
        )
    check_counts("valid_lens", valid_lens, key_len=key_len)
    lens = valid_lens[:, None] if valid_lens.dim() == 1 else valid_lens
    keys = torch.arange(key_len, device=valid_lens.device)
    return keys < lens.long()[:, None, :, None]  # (batch, 1, query, key_len)


def to_zero_hides(mask: Tensor, dtype: torch.dtype = torch.long) -> Tensor:
    """A mask of the same shape in which 0 hides and 1 shows."""
    _check_boolean("mask", mask)
    check_numeric("dtype", dtype)
    return mask.to(dtype)


def from_zero_hides(zero_hides: Tensor) -> Tensor:
    """Our mask from one in which 0 hides; (batch, query, key) gets an axis for the heads."""
    mask = as_boolean("zero_hides", zero_hides)
    _check_axes("zero_hides", mask)
    return mask[:, None] if mask.dim() == 3 else mask


def to_one_hides(mask: Tensor, dtype: torch.dtype = torch.long) -> Tensor:
    """A mask of the same shape in which 1 hides and 0 shows."""
    _check_boolean("mask", mask)
    check_numeric("dtype", dtype)
    return (~mask).to(dtype)


def from_one_hides(one_hides: Tensor) -> Tensor:
    """Our mask from one of the same shape in which 1 hides and 0 shows."""
    mask = ~as_boolean("one_hides", one_hides)
    _check_axes("one_hides", mask)
    return mask


def _check_boolean(name: str, mask: Tensor) -> None:
    check_tensor(name, mask)
    if mask.dtype != torch.bool:
        raise ValueError(f"{name}: got dtype {mask.dtype}, expected torch.bool")
    _check_axes(name, mask)


def _check_axes(name: str, mask: Tensor) -> None:
    """The mask has an axis for queries and one for keys, each of which may be of size 1."""
    if mask.dim() < 2:
        raise ValueError(f"{name}: got shape {show(mask.shape)}, expected (..., query, key)")


def _longest(lengths: Tensor) -> int:
    """The longest of the lengths, 0 if there is none."""
    try:
        return max(0, int(lengths.max())) if len(lengths) else 0
    except RuntimeError:  # they have no values: on the meta device, under vmap, in an export
        raise ValueError(
            "seq_len: got None, expected a length, as `lengths` cannot be read here"
        ) from None


def _same_for_all_heads(mask: Tensor) -> Tensor:
    """The mask without its head axis, (batch, query, key)."""
    _check_boolean("mask", mask)
    if mask.dim() != 4:
        raise ValueError(
            f"mask: got shape {show(mask.shape)}, expected (batch, num_heads or 1, query or 1, key)"
        )
    rows = mask.all(dim=1)  # (batch, query, key)
    if not may_hold(mask == rows[:, None]):
        raise ValueError(
            f"mask: got one of shape {show(mask.shape)} in which heads differ, expected all alike; "
            "the other convention has no axis for heads"
        )
    return rows


def _keys_alone(mask: Tensor) -> Tensor:
    """The mask without its head and query axes, (batch, key)."""
    rows = _same_for_all_heads(mask)
    keys = rows.all(dim=1)  # (batch, key)
    if not may_hold(rows == keys[:, None]):
        raise ValueError(
            f"mask: got one of shape {show(mask.shape)} in which queries differ, expected all "
            "alike; the other convention has no axis for queries"
        )
    return keys
