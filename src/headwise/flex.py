"""FlexAttention: our masks and biases as the functions that PyTorch's flex_attention takes.

A mask_mod(batch, head, query, key) says of one pair whether it may be seen, and a
score_mod(score, batch, head, query, key) what becomes of its score; PyTorch compiles them into a
kernel, so that no tensor (query, key) is ever made. What goes on is the same in both worlds:

| | ours | FlexAttention |
|---|---|---|
| any mask | a boolean tensor | to_mask_mod, from_mask_mod |
| any bias | a tensor to add to the scores | to_score_mod, from_score_mod |
| causal | causal_mask, is_causal | causal |
| sliding window | window_mask, window | sliding |
| ALiBi | alibi_bias, alibi | alibi |
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.attention import flex_attention as torch_flex

from headwise._check import (
    LARGEST_OF_FLOATS,
    LONGEST,
    check_callable,
    check_each,
    check_floating,
    check_numel,
    check_place,
    check_sizes,
    check_whole,
    check_window,
    show,
)
from headwise._check_tensors import check_floats, check_tensor
from headwise._tiled_op import check_tiled
from headwise.alibi import slopes
from headwise.masks import to_sdpa

MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
ScoreMod = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


def flex_attention(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    mask: Tensor | None = None,
    *,
    bias: Tensor | None = None,
    is_causal: bool = False,
    window: int | None = None,
    sinks: int = 0,
) -> Tensor:
    """The same output as `fused_attention`, through PyTorch's FlexAttention, (..., query, d_v).

    Q is (batch, num_heads, query, d_k), K (batch, num_kv_heads, key, d_k), V (batch, num_kv_heads,
    key, d_v). On the CPU PyTorch runs it unfused, with scores (query, key) in memory and without
    gradients: it is for GPUs, and torch.compile.
    """
    mask, bias = check_tiled(Q, K, V, mask, bias, is_causal, window, sinks, 1)
    batch, num_heads, query, key = *Q.shape[:3], K.size(2)
    mods = [] if mask is None else [to_mask_mod(mask)]
    if window is not None:
        mods.append(sliding(window, sinks, earlier=key - query))
    elif is_causal:
        mods.append(causal(earlier=key - query))
    blocks = None
    if mods:
        seen = torch_flex.and_masks(*mods)
        blocks = torch_flex.create_block_mask(seen, batch, num_heads, query, key, Q.device)
    score_mod = None if bias is None else to_score_mod(bias)
    grouped = K.size(1) != num_heads
    out: Tensor = torch_flex.flex_attention(Q, K, V, score_mod, blocks, enable_gqa=grouped)
    return out


def causal(*, earlier: int = 0) -> MaskMod:
    """No query sees a later key; so many keys lie before the first query, as in a cache."""
    _check_earlier(earlier)
    return lambda batch, head, query, key: key <= query + earlier


def sliding(window: int, sinks: int = 0, *, earlier: int = 0) -> MaskMod:
    """Each query sees `window` keys, its own the last, and the first `sinks`: `window_mask`."""
    check_sizes(window=window, most=LONGEST)
    check_window(window, sinks)
    _check_earlier(earlier)

    def visible(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        distance = query + earlier - key
        return (distance >= 0) & ((distance < window) | (key < sinks))

    return visible


def alibi(
    num_heads: int, *, earlier: int = 0, device: torch.device | str | None = None
) -> ScoreMod:
    """Scores that sink with distance, each head's at its own pace: `alibi_bias`."""
    check_place(device)
    slope = slopes(num_heads, device=device)
    _check_earlier(earlier)

    def lowered(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return score - (slope[head] * (query + earlier - key).abs()).to(score.dtype)

    return lowered


def to_mask_mod(mask: Tensor) -> MaskMod:
    """The mask, with two axes or four, as a mask_mod."""
    full = _four_axes("mask", to_sdpa(mask))
    return lambda batch, head, query, key: _look_up(full, batch, head, query, key)


def from_mask_mod(
    mask_mod: MaskMod, scores: Sequence[int], *, device: torch.device | str | None = None
) -> Tensor:
    """The mask (batch, num_heads, query, key) of a mask_mod for scores of these sizes."""
    check_callable("mask_mod", mask_mod)
    _check_scores(scores, device)
    places = [torch.arange(size, device=device) for size in scores]
    return _for_all_pairs(mask_mod, takes_scores=False)(*places)


def to_score_mod(bias: Tensor) -> ScoreMod:
    """The bias, with two axes or four, as a score_mod."""
    full = _four_axes("bias", bias)
    check_floats("bias", full)

    def added(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return score + _look_up(full, batch, head, query, key).to(score.dtype)

    return added


def from_score_mod(
    score_mod: ScoreMod,
    scores: Sequence[int],
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
) -> Tensor:
    """What a score_mod adds to scores of 0, as a bias (batch, num_heads, query, key)."""
    check_callable("score_mod", score_mod)
    check_floating("dtype", dtype)
    _check_scores(scores, device)
    nothing = torch.zeros(tuple(scores), dtype=dtype, device=device)
    places = [torch.arange(size, device=device) for size in scores]
    return _for_all_pairs(score_mod, takes_scores=True)(nothing, *places)


def _for_all_pairs(mod: Callable[..., Tensor], *, takes_scores: bool) -> Callable[..., Tensor]:
    """A function of one pair as a function of all: (batch, num_heads, query, key)."""
    with_scores = (0,) if takes_scores else ()
    for axis in reversed(range(4)):  # the key is the innermost axis, and vmapped first
        places = tuple(0 if i == axis else None for i in range(4))
        mod = torch.vmap(mod, in_dims=(*with_scores, *places))
    return mod


def _four_axes(name: str, x: Tensor) -> Tensor:
    """(query, key) as (1, 1, query, key); four axes stay."""
    check_tensor(name, x)
    if x.dim() not in (2, 4):
        raise ValueError(
            f"{name}: got shape {show(x.shape)}, expected (query, key) or "
            "(batch, num_heads, query, key)"
        )
    return x if x.dim() == 4 else x[None, None]


def _look_up(x: Tensor, *place: Tensor) -> Tensor:
    """One number of x, which is the same all along an axis of size 1."""
    return x[tuple(i if size > 1 else i * 0 for i, size in zip(place, x.shape, strict=True))]


def _check_earlier(earlier: int) -> None:
    check_whole("earlier", earlier, -LONGEST, LONGEST)


def _check_scores(scores: Sequence[int], device: torch.device | str | None) -> None:
    """The sizes of scores that can be had."""
    expected = "the sizes (batch, num_heads, query, key)"
    check_each("scores", scores, object, expected=expected)
    for size in scores:
        check_whole("scores", size, 0, LONGEST, "sizes")
    if len(scores) != 4:
        raise ValueError(f"scores: got {show(scores)}, expected {expected}")
    check_numel("scores", scores, LARGEST_OF_FLOATS)
    check_place(device)
