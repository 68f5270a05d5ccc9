"""What the tiled paths share: how they are checked, and how they become operators of PyTorch.

As an operator of its own, a loop over tiles is one node to torch.export and torch.compile, for
every length; autograd calls its second half, and vmap gives it a larger batch.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from headwise._check import FLOATS, LONGEST, check_flags, check_sizes, check_window, show
from headwise._check_tensors import check_alike, check_device, check_mask, check_shape, check_tensor

Forward = Callable[..., tuple[Tensor, Tensor]]
Backward = Callable[..., tuple[Tensor, Tensor, Tensor]]


def check_tiled(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    is_causal: bool,
    window: int | None,
    sinks: int,
    tile: int,
) -> tuple[Tensor | None, Tensor | None]:
    """The mask and the bias, now with four axes, of a call in which everything fits together."""
    check_shape("Q", Q, ("batch", "num_heads", "query", "d_k"))
    batch, num_heads, query, d_k = Q.shape
    if Q.dtype not in FLOATS or 0 in (num_heads, d_k):
        raise ValueError(
            f"Q: got shape {show(Q.shape)} of {Q.dtype}, "
            "expected (batch, num_heads, query, d_k) of floats"
        )
    check_shape("K", K, (batch, "num_kv_heads", "key", d_k))
    check_shape("V", V, (batch, K.size(1), K.size(2), "d_v"))
    check_alike("K", K, "Q", Q)
    check_alike("V", V, "Q", Q)
    if K.size(1) == 0 or num_heads % K.size(1):
        raise ValueError(
            f"K: got {K.size(1)} heads, expected a divisor of the num_heads = {num_heads} of Q"
        )
    scores = (batch, num_heads, query, K.size(2))
    if mask is not None:
        check_mask(mask, scores, Q)
    if bias is not None:
        check_bias(bias, scores, Q)
    check_flags(is_causal=is_causal)
    check_window(window, sinks)
    if window is not None and not is_causal:
        raise ValueError(f"window: got {window} without is_causal, expected both or neither")
    check_sizes(tile=tile, most=LONGEST)
    return tuple(x if x is None or x.dim() == 4 else x[None, None] for x in (mask, bias))  # type: ignore[return-value]


def check_bias(bias: Tensor, scores: tuple[int, ...], like: Tensor) -> None:
    """The bias is of fixed numbers and broadcasts to the scores in one way only, as a mask does."""
    check_tensor("bias", bias)
    if bias.dtype not in FLOATS:
        raise ValueError(f"bias: got dtype {bias.dtype}, expected floats; a mask goes into mask")
    check_device("bias", bias, "Q", like)
    check_mask(bias.detach().to("meta").bool(), scores, like.to("meta"), name="bias")
    if bias.requires_grad and torch.is_grad_enabled():
        raise ValueError("bias: got one that asks for a gradient, expected one of fixed numbers")


def as_operator(name: str, forward: Forward, backward: Backward) -> Forward:
    """`forward` as an operator headwise::name, whose gradient is `backward`.

    forward(Q, K, V, mask, bias, is_causal, window, sinks, tile) gives out and the log of each
    row's sum; backward(dout, out, logsumexp, and the same again) the gradients of Q, K and V.
    """
    ahead = torch.library.custom_op(f"headwise::{name}", forward, mutates_args=())
    back = torch.library.custom_op(f"headwise::{name}_backward", backward, mutates_args=())

    def fake_ahead(Q: Tensor, K: Tensor, V: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
        wide = torch.promote_types(Q.dtype, torch.float32)
        return Q.new_empty(*Q.shape[:3], V.size(3)), Q.new_empty(Q.shape[:3], dtype=wide)

    def fake_back(
        dout: Tensor, out: Tensor, logsumexp: Tensor, Q: Tensor, K: Tensor, V: Tensor, *_: Any
    ) -> tuple[Tensor, Tensor, Tensor]:
        return Q.new_empty(Q.shape), K.new_empty(K.shape), V.new_empty(V.shape)

    def keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.save_for_backward(*inputs[:5], *output)
        ctx.options = inputs[5:]

    def differentiate(ctx: Any, dout: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        *inputs, out, logsumexp = ctx.saved_tensors
        gradients = back(dout, out, logsumexp, *inputs, *ctx.options)
        return (*gradients, *[None] * (2 + len(ctx.options)))

    def many(operator: Callable[..., Any]) -> Callable[..., Any]:
        def apply(info: Any, in_dims: tuple[Any, ...], *inputs: Any) -> tuple[Any, Any]:
            n = info.batch_size
            made = operator(*_folded(n, in_dims, inputs))
            apart = tuple(x.unflatten(0, (n, x.size(0) // n)) for x in made)
            return apart, (0,) * len(apart)

        return apply

    ahead.register_fake(fake_ahead)
    back.register_fake(fake_back)
    ahead.register_autograd(differentiate, setup_context=keep)
    ahead.register_vmap(many(ahead))
    back.register_vmap(many(back))
    return ahead


def _folded(n: int, in_dims: tuple[Any, ...], inputs: tuple[Any, ...]) -> list[Any]:
    """The inputs with the axis that vmap hides folded into the batch, in which all then agree."""
    apart = [
        x
        if not isinstance(x, Tensor)
        else x.expand(n, *x.shape)
        if dim is None
        else x.movedim(dim, 0)
        for x, dim in zip(inputs, in_dims, strict=True)
    ]
    batch = max(x.size(1) for x in apart if isinstance(x, Tensor))  # a mask may have 1 there
    return [
        x.expand(n, batch, *x.shape[2:]).flatten(0, 1) if isinstance(x, Tensor) else x
        for x in apart
    ]
