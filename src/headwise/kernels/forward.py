"""The forward kernel: one program for each tile of queries of each head."""

import triton.language as tl

from headwise.kernels.modes import kernel, row_max, row_sum
from headwise.kernels.tile import key_tiles, read, scores_of, write


@kernel
def forward(  # type: ignore[no-untyped-def]
    Q,
    K,
    V,
    out,
    logsumexp,
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
    """out and the log of each row's sum, for one tile of queries.

    What is written small comes from the caller; what is written large is known when the kernel is
    compiled, as the sizes of tiles have to be. A tensor arrives as the address of its first number.
    """
    # Every program runs these same lines. These two numbers tell it which one it is.
    tile = tl.program_id(0)
    head = tl.program_id(1).to(tl.int64)  # counted through the batch; addresses outgrow 32 bits
    item = head // num_heads
    key_head = head // group  # the batch included: group divides num_heads

    Q += head * query_len * d_k
    K += key_head * key_len * d_k
    V += key_head * key_len * d_v
    out += head * query_len * d_v
    logsumexp += head * query_len
    mask += item * mask_batch + head % num_heads * mask_head
    bias += item * bias_batch + head % num_heads * bias_head

    query = tile * TILE + tl.arange(0, TILE)
    width, value_width = tl.arange(0, D_K), tl.arange(0, D_V)
    Q_i = read(Q, query, width, query_len, d_k, WIDE) * SCALE

    # All that this program remembers, in the fast memory next to it, while keys pass by.
    highest = tl.full((TILE,), float("-inf"), WIDE)
    total = tl.full((TILE,), 0.0, WIDE)
    gathered = tl.full((TILE, D_V), 0.0, WIDE)

    far, near, end = key_tiles(tile, query_len, key_len, window, sinks, TILE, IS_CAUSAL, HAS_WINDOW)
    for turn in range(0, far + end - near):
        key = tl.where(turn < far, turn, turn - far + near) * TILE + tl.arange(0, TILE)
        K_j = read(K, key, width, key_len, d_k, WIDE)
        V_j = read(V, key, value_width, key_len, d_v, WIDE)
        scores = scores_of(
            *(Q_i, K_j, query, key, mask, mask_query, mask_key, bias, bias_query, bias_key),
            *(query_len, key_len, window, sinks, HAS_MASK, HAS_BIAS, IS_CAUSAL, HAS_WINDOW),
        )
        higher = tl.maximum(highest, row_max(scores, 1))
        # A row that has seen nothing is still at -inf, and -inf - -inf would be NaN.
        against = tl.where(higher == float("-inf"), 0.0, higher)
        shares = tl.exp(scores - against[:, None])
        # What was gathered stood against a lower maximum, so it shrinks to fit the new one.
        shrink = tl.exp(highest - against)
        total = total * shrink + row_sum(shares, 1)
        gathered = gathered * shrink[:, None] + tl.dot(shares, V_j, input_precision="ieee")
        highest = higher

    nothing = total == 0
    result = gathered / tl.where(nothing, 1.0, total)[:, None]
    write(out, query, value_width, query_len, d_v, result)
    # From this one number a row, backward gets the weights again; exp(score - inf) is 0.
    logs = tl.where(nothing, float("inf"), highest + tl.log(tl.where(nothing, 1.0, total)))
    tl.store(logsumexp + query, logs, mask=query < query_len)
