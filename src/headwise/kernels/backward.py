"""The backward kernels: one for the gradient of Q, and one for those of K and V.

Both make the weights of a tile again, out of the scores and of the log of each row's sum. They are
two, so that no two programs ever add to the same number: one owns a tile of queries and goes
through the keys, the other owns a tile of keys and goes through the queries. dX stands for the
gradient of X, and pull is, for each query, the dot product of dout and out.
"""

import triton.language as tl

from headwise.kernels.modes import kernel
from headwise.kernels.tile import key_tiles, read, scores_of, write


@kernel
def backward_queries(  # type: ignore[no-untyped-def]
    Q,
    K,
    V,
    dout,
    logsumexp,
    pull,
    dQ,
    mask,
    mask_batch,
    mask_head,
    mask_query,
    mask_key,
    bias,
    bias_batch,
    bias_head,
    bias_query,
    bias_key,
    num_heads,
    group,
    query_len,
    key_len,
    d_k,
    d_v,
    window,
    sinks,
    TILE: tl.constexpr,
    D_K: tl.constexpr,
    D_V: tl.constexpr,
    SCALE: tl.constexpr,
    WIDE: tl.constexpr,
    HAS_MASK: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    IS_CAUSAL: tl.constexpr,
    HAS_WINDOW: tl.constexpr,
):
    """dQ, for one tile of queries."""
    tile = tl.program_id(0)
    head = tl.program_id(1).to(tl.int64)
    item = head // num_heads
    key_head = head // group

    Q += head * query_len * d_k
    K += key_head * key_len * d_k
    V += key_head * key_len * d_v
    dQ += head * query_len * d_k
    dout += head * query_len * d_v
    mask += item * mask_batch + head % num_heads * mask_head
    bias += item * bias_batch + head % num_heads * bias_head

    query = tile * TILE + tl.arange(0, TILE)
    width, value_width = tl.arange(0, D_K), tl.arange(0, D_V)
    Q_i = read(Q, query, width, query_len, d_k, WIDE) * SCALE
    dout_i = read(dout, query, value_width, query_len, d_v, WIDE)
    there = query < query_len
    logs = tl.load(logsumexp + head * query_len + query, mask=there, other=float("inf"))
    pull_i = tl.load(pull + head * query_len + query, mask=there, other=0.0)
    dQ_i = tl.full((TILE, D_K), 0.0, WIDE)

    far, near, end = key_tiles(tile, query_len, key_len, window, sinks, TILE, IS_CAUSAL, HAS_WINDOW)
    for turn in range(0, far + end - near):
        key = tl.where(turn < far, turn, turn - far + near) * TILE + tl.arange(0, TILE)
        K_j = read(K, key, width, key_len, d_k, WIDE)
        V_j = read(V, key, value_width, key_len, d_v, WIDE)
        scores = scores_of(
            *(Q_i, K_j, query, key, mask, mask_query, mask_key, bias, bias_query, bias_key),
            *(query_len, key_len, window, sinks, HAS_MASK, HAS_BIAS, IS_CAUSAL, HAS_WINDOW),
        )
        weights = tl.exp(scores - logs[:, None])
        dweights = tl.dot(dout_i, tl.trans(V_j), input_precision="ieee")
        # Softmax pulls every row's sum back to 1, so the row's own mean goes off again.
        dscores = weights * (dweights - pull_i[:, None])
        dQ_i += tl.dot(dscores, K_j, input_precision="ieee")
    write(dQ, query, width, query_len, d_k, dQ_i * SCALE)


@kernel
def backward_keys(  # type: ignore[no-untyped-def]
    Q,
    K,
    V,
    dout,
    logsumexp,
    pull,
    dK,
    dV,
    mask,
    mask_batch,
    mask_head,
    mask_query,
    mask_key,
    bias,
    bias_batch,
    bias_head,
    bias_query,
    bias_key,
    num_heads,
    group,
    query_len,
    key_len,
    d_k,
    d_v,
    window,
    sinks,
    TILE: tl.constexpr,
    D_K: tl.constexpr,
    D_V: tl.constexpr,
    SCALE: tl.constexpr,
    WIDE: tl.constexpr,
    HAS_MASK: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    IS_CAUSAL: tl.constexpr,
    HAS_WINDOW: tl.constexpr,
):
    """dK and dV, for one tile of keys, from all heads of queries that read it."""
    tile = tl.program_id(0)
    key_head = tl.program_id(1).to(tl.int64)

    K += key_head * key_len * d_k
    V += key_head * key_len * d_v
    dK += key_head * key_len * d_k
    dV += key_head * key_len * d_v

    key = tile * TILE + tl.arange(0, TILE)
    width, value_width = tl.arange(0, D_K), tl.arange(0, D_V)
    K_j = read(K, key, width, key_len, d_k, WIDE)
    V_j = read(V, key, value_width, key_len, d_v, WIDE)
    dK_j = tl.full((TILE, D_K), 0.0, WIDE)
    dV_j = tl.full((TILE, D_V), 0.0, WIDE)

    # The queries that may see something of this tile: from the first key on, up to a window
    # behind the last one, and without an end where there are sinks in it.
    begin, end = 0, (query_len + TILE - 1) // TILE
    if IS_CAUSAL:
        begin = tl.maximum(tile * TILE + query_len - key_len, 0) // TILE
        if HAS_WINDOW:
            last = tile * TILE + TILE - 1 + query_len - key_len + window
            near = tl.minimum(end, (tl.maximum(last, 0) + TILE - 1) // TILE)
            end = tl.where(tile * TILE < sinks, end, near)

    for one in range(0, group):
        head = key_head * group + one
        item = head // num_heads
        mask_head_start = mask + item * mask_batch + head % num_heads * mask_head
        bias_head_start = bias + item * bias_batch + head % num_heads * bias_head
        for turn in range(begin, end):
            query = turn * TILE + tl.arange(0, TILE)
            rows = head * query_len
            Q_i = read(Q + rows * d_k, query, width, query_len, d_k, WIDE) * SCALE
            dout_i = read(dout + rows * d_v, query, value_width, query_len, d_v, WIDE)
            there = query < query_len
            logs = tl.load(logsumexp + rows + query, mask=there, other=float("inf"))
            pull_i = tl.load(pull + rows + query, mask=there, other=0.0)
            scores = scores_of(
                *(Q_i, K_j, query, key, mask_head_start, mask_query, mask_key),
                *(bias_head_start, bias_query, bias_key, query_len, key_len, window, sinks),
                *(HAS_MASK, HAS_BIAS, IS_CAUSAL, HAS_WINDOW),
            )
            weights = tl.exp(scores - logs[:, None])
            dV_j += tl.dot(tl.trans(weights), dout_i, input_precision="ieee")
            dweights = tl.dot(dout_i, tl.trans(V_j), input_precision="ieee")
            dscores = weights * (dweights - pull_i[:, None])
            dK_j += tl.dot(tl.trans(dscores), Q_i, input_precision="ieee")
    write(dK, key, width, key_len, d_k, dK_j)
    write(dV, key, value_width, key_len, d_v, dV_j)
