"""Multi-head attention in PyTorch: the code behind the pages."""

from headwise.attention import fused_attention
from headwise.cache import KeyValueCache
from headwise.heads import fold_heads, merge_heads, split_heads, unfold_heads
from headwise.masks import causal_mask, combine, padding_mask
from headwise.multi_head import MultiHeadAttention
from headwise.single_head import LinearHead, ParameterHead

__all__ = [
    "KeyValueCache",
    "LinearHead",
    "MultiHeadAttention",
    "ParameterHead",
    "causal_mask",
    "combine",
    "fold_heads",
    "fused_attention",
    "merge_heads",
    "padding_mask",
    "split_heads",
    "unfold_heads",
]
