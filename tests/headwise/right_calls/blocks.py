"""Right calls of the building blocks."""

import torch

from headwise import (
    alibi,
    attention,
    by_hand,
    feed_forward,
    flex,
    heads,
    masks,
    multi_head,
    positional,
    rotary,
    single_head,
    variants,
    windows,
)
from headwise.cache import KeyValueCache
from right_calls.call import (
    ANY_DTYPE,
    ANYWHERE,
    SEEN,
    SIZE,
    WHOLE,
    Call,
    K,
    Table,
    X,
    mha,
    of,
)

BIAS = torch.randn(3, 3)
ROWS = torch.randn(8, 3)
ANY_WEIGHT = {"weight": ANY_DTYPE | ANYWHERE | {"rank-1", "longer"}}
POSITIONS = torch.tensor([4, 0, 9])
PADDING = masks.padding_mask(torch.tensor([3, 2]))
MASK = torch.ones(2, 3, 3, dtype=torch.bool)
TENSORS = {"query": X, "key": X, "value": X}
ANY_VALUE = {"x": ANY_DTYPE | ANYWHERE}
ZERO_ONE = {"long", "double", "half"}


def self_attention() -> Call:
    layer, cache = mha(), KeyValueCache()
    layer(X[:, :2], cache=cache)
    arguments = {"query": X[:, 2:], "mask": SEEN[2:], "cache": cache}
    arguments |= {"is_causal": True, "need_weights": False, "positions": POSITIONS[2:]}
    return Call(layer, arguments)


def recall() -> Call:
    layer, cache = mha(), KeyValueCache()
    layer(X, cache=cache)
    arguments = {"layer": layer, "query": X, "key": X, "value": X}
    return Call(cache.recall, arguments)


def windowed() -> multi_head.MultiHeadAttention:
    return multi_head.MultiHeadAttention(8, 2, window=2, sinks=1, alibi=True)


def full_ring(layer: multi_head.MultiHeadAttention | None = None) -> KeyValueCache:
    cache = KeyValueCache(window=2, sinks=1)
    (layer or windowed())(torch.randn(2, 5, 8), is_causal=True, cache=cache)
    return cache


def step_round_a_ring() -> Call:
    layer = windowed()
    arguments = {"query": X[:, :1], "mask": torch.ones(1, 6, dtype=torch.bool), "is_causal": True}
    arguments |= {"cache": full_ring(layer), "positions": torch.tensor([5]), "need_weights": True}
    return Call(layer, arguments)


def recall_from_a_ring() -> Call:
    layer = windowed()
    arguments = {"layer": layer, "query": X, "key": X, "value": X, "positions": POSITIONS}
    return Call(full_ring(layer).recall, arguments)


def held(fixed: bool = False) -> KeyValueCache:
    cache = KeyValueCache(fixed=fixed)
    mha()(X, *([X.clone()] if fixed else []), cache=cache)
    return cache


RIGHT: Table = {
    "attention.attention": lambda: Call(
        attention.attention,
        {"Q": X, "K": X, "V": X, "mask": SEEN, "bias": BIAS, "dropout": 0.0},
        {"V": {"longer"}, "mask": {"rank+1"}, "bias": {"rank+1", "double", "half"}},
    ),
    "attention.fused_attention": lambda: Call(
        attention.fused_attention,
        {"Q": X, "K": X, "V": X, "mask": SEEN, "bias": BIAS, "dropout": 0.0, "is_causal": True},
        {"V": {"longer"}, "mask": {"rank+1"}, "bias": {"rank+1", "double", "half"}},
    ),
    "by_hand.by_hand": lambda: Call(
        by_hand.by_hand,
        {"X": X[0], "W_q": ROWS, "W_k": ROWS, "W_v": ROWS},
        {"W_v": {"longer"}},
    ),
    "feed_forward.FeedForward": lambda: Call(
        feed_forward.FeedForward,
        {"d_model": 8, "d_ff": 16, "dropout": 0.1, "activation": "relu", "bias": True},
    ),
    "feed_forward.FeedForward.forward": lambda: of(feed_forward.FeedForward(8), x=X),
    "heads.split_heads": lambda: Call(heads.split_heads, {"x": X, "num_heads": 2}, ANY_VALUE),
    "heads.merge_heads": lambda: Call(
        heads.merge_heads, {"x": K}, {"x": ANY_DTYPE | ANYWHERE | {"longer"}}
    ),
    "heads.share_heads": lambda: Call(
        heads.share_heads, {"x": K, "num_heads": 4}, {"x": ANY_DTYPE | ANYWHERE | {"longer"}}
    ),
    "heads.fold_heads": lambda: Call(heads.fold_heads, {"x": X, "num_heads": 2}, ANY_VALUE),
    "heads.unfold_heads": lambda: Call(
        heads.unfold_heads, {"x": X, "num_heads": 2}, {"x": ANY_DTYPE | ANYWHERE | {"longer"}}
    ),
    "masks.causal_mask": lambda: Call(
        masks.causal_mask, {"seq_len": 3, "key_len": 4, "device": "cpu"}
    ),
    "masks.padding_mask": lambda: Call(
        masks.padding_mask,
        {"lengths": torch.tensor([3, 2]), "seq_len": 3},
        {"lengths": {"meta", "longer"}},
    ),
    "masks.combine": lambda: Call(masks.combine, {"*": (SEEN, PADDING)}),
    "masks.to_sdpa": lambda: Call(masks.to_sdpa, {"mask": SEEN}, {"mask": WHOLE | ANYWHERE}),
    "masks.from_sdpa": lambda: Call(
        masks.from_sdpa, {"attn_mask": SEEN}, {"attn_mask": WHOLE | ANYWHERE}
    ),
    "masks.to_attn_mask": lambda: Call(
        masks.to_attn_mask, {"mask": PADDING, "scores": (2, 2, 3, 3)}, {"mask": ANYWHERE}
    ),
    "masks.from_attn_mask": lambda: Call(
        masks.from_attn_mask,
        {"attn_mask": X > 0, "num_heads": 2},
        {"attn_mask": ANYWHERE | {"longer", "rank-1"}},
    ),
    "masks.to_key_padding_mask": lambda: Call(
        masks.to_key_padding_mask, {"mask": PADDING}, {"mask": ANYWHERE | {"longer"}}
    ),
    "masks.from_key_padding_mask": lambda: Call(
        masks.from_key_padding_mask,
        {"key_padding_mask": SEEN},
        {"key_padding_mask": ANYWHERE | {"longer"}},
    ),
    "masks.to_additive": lambda: Call(
        masks.to_additive, {"mask": SEEN, "dtype": torch.float32}, {"mask": WHOLE | ANYWHERE}
    ),
    "masks.from_additive": lambda: Call(
        masks.from_additive,
        {"additive": torch.zeros(3, 3)},
        {"additive": WHOLE | ANYWHERE | {"double", "half"}},
    ),
    "masks.to_attention_mask": lambda: Call(
        masks.to_attention_mask, {"mask": PADDING}, {"mask": ANYWHERE | {"longer"}}
    ),
    "masks.from_attention_mask": lambda: Call(
        masks.from_attention_mask,
        {"attention_mask": SEEN.long()},
        {"attention_mask": ANYWHERE | {"longer", "bool", "double", "half"}},
    ),
    "masks.to_valid_lens": lambda: Call(masks.to_valid_lens, {"mask": PADDING}, {"mask": ANYWHERE}),
    "masks.from_valid_lens": lambda: Call(
        masks.from_valid_lens,
        {"valid_lens": torch.tensor([3, 2]), "key_len": 3},
        {"valid_lens": ANYWHERE | {"rank+1", "longer"}},
    ),
    "masks.to_zero_hides": lambda: Call(
        masks.to_zero_hides, {"mask": SEEN, "dtype": torch.long}, {"mask": WHOLE | ANYWHERE}
    ),
    "masks.from_zero_hides": lambda: Call(
        masks.from_zero_hides,
        {"zero_hides": SEEN.long()},
        {"zero_hides": WHOLE | ANYWHERE | {"bool", "double", "half"}},
    ),
    "masks.to_one_hides": lambda: Call(
        masks.to_one_hides, {"mask": SEEN, "dtype": torch.long}, {"mask": WHOLE | ANYWHERE}
    ),
    "masks.from_one_hides": lambda: Call(
        masks.from_one_hides,
        {"one_hides": SEEN.long()},
        {"one_hides": WHOLE | ANYWHERE | {"bool", "double", "half"}},
    ),
    "cache.KeyValueCache": lambda: Call(
        KeyValueCache, {"fixed": False, "max_len": 9, "window": 4, "sinks": 1}
    ),
    "cache.KeyValueCache.copy": lambda: Call(held().copy, {}),
    "cache.KeyValueCache.keep": lambda: Call(
        held().keep,
        {"layer": mha(), "K": K, "V": K, "positions": POSITIONS},
        {"K": ANY_DTYPE | ANYWHERE, "V": ANY_DTYPE | ANYWHERE},
    ),
    "cache.KeyValueCache.recall": recall,
    "cache.KeyValueCache.update": lambda: Call(held().update, {"other": held()}),
    "multi_head.MultiHeadAttention": lambda: Call(
        multi_head.MultiHeadAttention,
        {**SIZE, "num_kv_heads": 1, "d_k": 4, "d_v": 4, "key_dim": 8, "value_dim": 8, "bias": True}
        | {"dropout": 0.1, "rotary": rotary.Rotary(4), "alibi": True, "window": 3, "sinks": 1}
        | {"learned_sink": True, "qk_norm": True},
    ),
    "multi_head.MultiHeadAttention.forward": self_attention,
    "multi_head.MultiHeadAttention.project_keys": lambda: of(
        mha(), "project_keys", key=X, value=X, positions=POSITIONS
    ),
    "multi_head.MultiHeadAttention.project_queries": lambda: of(
        mha(), "project_queries", query=X, positions=POSITIONS
    ),
    "positional.LearnedPositions": lambda: Call(
        positional.LearnedPositions, {"max_len": 7, "d_model": 8}
    ),
    "positional.LearnedPositions.forward": lambda: of(
        positional.LearnedPositions(7, 8), x=X, start=2
    ),
    "positional.SinusoidalPositions": lambda: Call(positional.SinusoidalPositions, {}),
    "positional.SinusoidalPositions.forward": lambda: of(
        positional.SinusoidalPositions(),
        x=X,
        start=2,
        free={"x": ANYWHERE | {"double", "half", "longer"}},
    ),
    "positional.frequencies": lambda: Call(
        positional.frequencies, {"d_model": 8, "dtype": torch.float32, "device": "cpu"}
    ),
    "positional.shift_matrix": lambda: Call(
        positional.shift_matrix, {"k": 2, "d_model": 8, "dtype": torch.float64}, {"k": {"negative"}}
    ),
    "positional.sinusoidal": lambda: Call(
        positional.sinusoidal,
        {"seq_len": 3, "d_model": 8, "start": 2, "dtype": torch.float32, "device": "cpu"},
    ),
    "single_head.LinearHead": lambda: Call(single_head.LinearHead, {"d_model": 8}),
    "single_head.LinearHead.forward": lambda: of(
        single_head.LinearHead(8), x=X, mask=SEEN, free={"mask": {"rank+1"}}
    ),
    "single_head.ParameterHead": lambda: Call(single_head.ParameterHead, {"d_model": 8}),
    "single_head.ParameterHead.forward": lambda: of(
        single_head.ParameterHead(8), x=X, mask=SEEN, free={"mask": {"rank+1"}}
    ),
    "variants.SeparateInputs": lambda: Call(variants.SeparateInputs, {**SIZE, "dropout": 0.1}),
    "variants.SeparateInputs.forward": lambda: of(
        variants.SeparateInputs(8, 2), **TENSORS, mask=MASK, free={"mask": ZERO_ONE}
    ),
    "variants.MethodSteps": lambda: Call(variants.MethodSteps, SIZE),
    "variants.MethodSteps.forward": lambda: of(
        variants.MethodSteps(8, 2), Q=X, K=X, V=X, mask=SEEN, free={"mask": ZERO_ONE}
    ),
    "variants.MethodSteps.split_heads": lambda: of(
        variants.MethodSteps(8, 2), "split_heads", x=X, free=ANY_VALUE
    ),
    "variants.MethodSteps.combine_heads": lambda: of(
        variants.MethodSteps(8, 2), "combine_heads", x=K, free=ANY_VALUE
    ),
    "variants.MethodSteps.scaled_dot_product_attention": lambda: of(
        variants.MethodSteps(8, 2),
        "scaled_dot_product_attention",
        Q=K,
        K=K,
        V=K,
        mask=SEEN,
        free={"V": {"longer"}, "mask": ZERO_ONE},
    ),
    "variants.FoldedHeads": lambda: Call(
        variants.FoldedHeads,
        {"key_size": 8, "query_size": 8, "value_size": 8, "num_hiddens": 8}
        | {"num_heads": 2, "dropout": 0.1, "bias": False},
    ),
    "variants.FoldedHeads.forward": lambda: of(
        variants.FoldedHeads(8, 8, 8, 8, 2, 0.1),
        queries=X,
        keys=X,
        values=X,
        valid_lens=torch.tensor([3, 2]),
    ),
    "variants.OneHides": lambda: Call(variants.OneHides, {"hidden_size": 8, "num_heads": 2}),
    "variants.OneHides.forward": lambda: of(
        variants.OneHides(8, 2),
        hidden_state=X,
        attention_mask=~SEEN,
        free={"attention_mask": ZERO_ONE},
    ),
    "variants.OneHides.split_head": lambda: of(
        variants.OneHides(8, 2), "split_head", x=X, free=ANY_VALUE
    ),
    "variants.ParameterOnly": lambda: Call(variants.ParameterOnly, SIZE),
    "variants.ParameterOnly.forward": lambda: of(
        variants.ParameterOnly(8, 2), x=X, mask=SEEN, free={"mask": ZERO_ONE}
    ),
    "multi_head.MultiHeadAttention.forward, three inputs": lambda: of(
        mha(), query=X, key=X.clone(), value=X.clone(), mask=SEEN
    ),
    "rotary.Rotary": lambda: Call(
        rotary.Rotary,
        {"d_k": 4, "theta": 10_000.0, "layout": "pairs", "scale": 2.0, "rotary_dim": 2},
    ),
    "rotary.Rotary.forward": lambda: of(
        rotary.Rotary(4), x=K, positions=POSITIONS, free={"x": {"double", "half"}}
    ),
    "rotary.halves_to_pairs": lambda: Call(
        rotary.halves_to_pairs, {"weight": ROWS, "num_heads": 2, "rotary_dim": 2}, ANY_WEIGHT
    ),
    "rotary.pairs_to_halves": lambda: Call(
        rotary.pairs_to_halves, {"weight": ROWS, "num_heads": 2, "rotary_dim": 2}, ANY_WEIGHT
    ),
    "alibi.slopes": lambda: Call(alibi.slopes, {"num_heads": 6, "device": "cpu"}),
    "alibi.alibi_bias": lambda: Call(
        alibi.alibi_bias,
        {"num_heads": 6, "queries": POSITIONS, "keys": POSITIONS},
        {"queries": {"longer"}, "keys": {"longer"}},
    ),
    "windows.window_mask": lambda: Call(
        windows.window_mask,
        {"seq_len": 3, "key_len": 4, "window": 2, "sinks": 1, "device": "cpu"},
    ),
    "windows.near": lambda: Call(
        windows.near,
        {"queries": POSITIONS, "keys": POSITIONS, "window": 2, "sinks": 1},
        {"queries": {"longer"}, "keys": {"longer"}},
    ),
    "windows.distances": lambda: Call(
        windows.distances,
        {"queries": POSITIONS, "keys": POSITIONS},
        {"queries": {"longer"}, "keys": {"longer"}},
    ),
    "cache.KeyValueCache.held": lambda: Call(full_ring().held, {"seq_len": 2}),
    "cache.KeyValueCache.recall, ring": recall_from_a_ring,
    "multi_head.MultiHeadAttention.forward, ring": step_round_a_ring,
    "flex.flex_attention": lambda: Call(
        flex.flex_attention,
        {"Q": K, "K": K, "V": K, "mask": SEEN, "bias": BIAS, "is_causal": True}
        | {"window": 2, "sinks": 1},
        {"V": {"longer"}, "bias": {"double", "half"}},
    ),
    "flex.causal": lambda: Call(flex.causal, {"earlier": 2}, {"earlier": {"negative"}}),
    "flex.sliding": lambda: Call(
        flex.sliding, {"window": 2, "sinks": 1, "earlier": 2}, {"earlier": {"negative"}}
    ),
    "flex.alibi": lambda: Call(
        flex.alibi, {"num_heads": 2, "earlier": 2, "device": "cpu"}, {"earlier": {"negative"}}
    ),
    "flex.to_mask_mod": lambda: Call(
        flex.to_mask_mod, {"mask": SEEN}, {"mask": ANYWHERE | {"longer"}}
    ),
    "flex.to_score_mod": lambda: Call(
        flex.to_score_mod, {"bias": BIAS}, {"bias": ANYWHERE | {"longer", "double", "half"}}
    ),
    "flex.from_mask_mod": lambda: Call(
        flex.from_mask_mod,
        {"mask_mod": flex.causal(), "scores": (2, 2, 3, 3), "device": "cpu"},
    ),
    "flex.from_score_mod": lambda: Call(
        flex.from_score_mod,
        {"score_mod": flex.alibi(2), "scores": (2, 2, 3, 3)}
        | {"dtype": torch.float32, "device": "cpu"},
    ),
}
