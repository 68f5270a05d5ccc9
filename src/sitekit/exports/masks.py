"""Masks: made, combined, in other conventions, and applied, rightly and wrongly."""

from __future__ import annotations

from torch import Tensor

from headwise import masks, windows
from headwise.museum import masks as museum
from sitekit.graph_inputs import Floats, Integers, Mask, Number
from sitekit.graphs import Program


def window_mask(seq_len: int, window: int) -> Tensor:
    """The library's, with the window by place."""
    return windows.window_mask(seq_len, window=window)


def left_padding_mask(lengths: Tensor, seq_len: int) -> Tensor:
    """Padding that comes first, as where sentences are continued."""
    return masks.padding_mask(lengths, seq_len).flip(-1)


def attn_mask(mask: Tensor, num_heads: int) -> Tensor:
    """For nn.MultiheadAttention, from a mask of all four axes."""
    batch, _, query, key = mask.shape
    return masks.to_attn_mask(mask, (batch, num_heads, query, key))


_LENGTHS = {"lengths": Integers("batch", least=0, most="seq_len"), "seq_len": Number("seq_len")}
_FULL = {"mask": Mask("batch", 1, "query", "key")}
_KEYS = {"mask": Mask("batch", 1, 1, "key")}
_SCORES = {
    "scores": Floats("batch", "heads", "query", "key"),
    "mask": Mask("batch", "heads", "query", "key"),
}

PROGRAMS = {
    "causal_mask": Program(masks.causal_mask, {"seq_len": Number("seq_len")}),
    "window_mask": Program(window_mask, {"seq_len": Number("seq_len"), "window": Number("window")}),
    "padding_mask": Program(masks.padding_mask, _LENGTHS),
    "left_padding_mask": Program(left_padding_mask, _LENGTHS),
    "combine": Program(masks.combine, {"a": Mask("batch", 1, 1, "key"), "b": Mask("query", "key")}),
    "to_additive": Program(masks.to_additive, {"mask": Mask("batch", 1, "query", "key")}),
    "to_attn_mask": Program(attn_mask, {**_FULL, "num_heads": Number("heads")}),
    "to_key_padding_mask": Program(masks.to_key_padding_mask, _KEYS),
    "to_attention_mask": Program(masks.to_attention_mask, _KEYS),
    "fill_inf": Program(museum.hide_where_false, _SCORES),
    "fill_1e9": Program(museum.hidden_row_becomes_uniform, _SCORES),
    "fill_min": Program(museum.hidden_row_becomes_zero, _SCORES),
    "mask_after": Program(museum.mask_after_softmax, _SCORES),
    "mask_meets_heads": Program(
        museum.mask_meets_heads,
        {
            "scores": Floats("batch", "batch", "query", "key"),
            "mask": Mask("batch", "query", "key"),
        },
    ),
}
