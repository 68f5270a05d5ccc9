"""What all kernels do with a tile: read it from memory, and make its scores."""

import triton.language as tl

from headwise.kernels.modes import part


@part
def read(start, rows, columns, num_rows, num_columns, WIDE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Some rows of a matrix that begins at the address start, with zeros beyond its edges.

    A tile has a power of two of rows and of columns, so it may hang over the end of the matrix.
    Addresses there belong to somebody else: the mask keeps them from being read.
    """
    inside = (rows[:, None] < num_rows) & (columns[None, :] < num_columns)
    found = tl.load(start + rows[:, None] * num_columns + columns[None, :], mask=inside, other=0.0)
    # A faster kernel would multiply half precision as it is, and add up in single.
    return found.to(WIDE)


@part
def write(start, rows, columns, num_rows, num_columns, tile):  # type: ignore[no-untyped-def]
    """The other way round: a tile goes to some rows of a matrix."""
    inside = (rows[:, None] < num_rows) & (columns[None, :] < num_columns)
    where = start + rows[:, None] * num_columns + columns[None, :]
    tl.store(where, tile.to(start.dtype.element_ty), mask=inside)


@part
def scores_of(  # type: ignore[no-untyped-def]
    Q,
    K,
    query,
    key,
    mask,
    mask_query,
    mask_key,
    bias,
    bias_query,
    bias_key,
    query_len,
    key_len,
    window,
    sinks,
    HAS_MASK: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    IS_CAUSAL: tl.constexpr,
    HAS_WINDOW: tl.constexpr,
):
    """The scores of a tile of queries with a tile of keys, -inf where a query may not see a key.

    query and key are places. Those of a mask or a bias are apart by mask_query and mask_key; a
    distance of 0 serves all rows, or all columns, with the same numbers.
    """
    seen = (query[:, None] < query_len) & (key[None, :] < key_len)
    inside = seen
    if IS_CAUSAL:
        at = query + key_len - query_len  # the last query stands at the last key
        seen &= at[:, None] >= key[None, :]
        if HAS_WINDOW:
            seen &= (at[:, None] - key[None, :] < window) | (key[None, :] < sinks)
    if HAS_MASK:
        where = mask + query[:, None] * mask_query + key[None, :] * mask_key
        seen &= tl.load(where, mask=inside, other=0) != 0
    # Left alone, a GPU rounds float32 to 10 bits before it multiplies ("tf32").
    scores = tl.dot(Q, tl.trans(K), input_precision="ieee")
    if HAS_BIAS:
        where = bias + query[:, None] * bias_query + key[None, :] * bias_key
        scores += tl.load(where, mask=inside, other=0.0).to(scores.dtype)
    return tl.where(seen, scores, float("-inf"))


@part
def key_tiles(  # type: ignore[no-untyped-def]
    tile,
    query_len,
    key_len,
    window,
    sinks,
    TILE: tl.constexpr,
    IS_CAUSAL: tl.constexpr,
    HAS_WINDOW: tl.constexpr,
):
    """Which tiles of keys a tile of queries may see: `far` at the beginning, then near to end.

    The rest is hidden from all of these queries, and not even read.
    """
    far, near, end = 0, 0, (key_len + TILE - 1) // TILE
    if IS_CAUSAL:
        first = tile * TILE + key_len - query_len
        last = tl.minimum(tile * TILE + TILE, query_len) - 1 + key_len - query_len
        end = tl.minimum(end, (tl.maximum(last + 1, 0) + TILE - 1) // TILE)
        if HAS_WINDOW:
            far = tl.minimum((sinks + TILE - 1) // TILE, end)
            near = tl.maximum(tl.maximum(first - window + 1, 0) // TILE, far)
    return far, near, tl.maximum(end, near)
