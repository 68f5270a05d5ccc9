"""Weights from any form of multi-head attention to any other, nn.MultiheadAttention included."""

from typing import NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from headwise._check import show
from headwise.multi_head import MultiHeadAttention
from headwise.single_head import LinearHead, ParameterHead
from headwise.variants import FoldedHeads, MethodSteps, OneHides, ParameterOnly, SeparateInputs

Target = TypeVar("Target", bound=nn.Module)


class Projection(NamedTuple):
    """One projection as nn.Linear keeps it: weight (out, in), and bias (out,) or None.

    Both are views of the module's own parameters, so that writing to them changes the module.
    """

    weight: Tensor
    bias: Tensor | None


@torch.no_grad()
def convert(source: nn.Module, target: Target) -> Target:
    """The target, in place, with the weights of the source: then both compute the same.

    Both are MultiHeadAttention, nn.MultiheadAttention, a class of headwise.variants or one of
    headwise.single_head. Weights take on the dtype and device of the target; dropout and mask
    conventions stay the target's own. What the target cannot hold raises a ValueError, and
    then nothing has been copied.
    """
    theirs, ours = projections(source), projections(target)
    if head_count(source) != head_count(target):
        raise ValueError(
            f"target: got num_heads = {head_count(target)}, "
            f"expected {head_count(source)}, as in source"
        )
    for name, new in theirs.items():
        old = ours[name]
        if old.weight.shape != new.weight.shape:
            raise ValueError(
                f"target: got {name} of shape {show(old.weight.shape)} (out, in), "
                f"expected {show(new.weight.shape)}, as in source"
            )
        if old.bias is None and new.bias is not None and new.bias.any():
            raise ValueError(
                f"target: got {name} without a bias, expected one, since the source's is not zero"
            )
    for name, new in theirs.items():
        ours[name].weight.copy_(new.weight)
        bias = ours[name].bias
        if bias is not None:
            bias.copy_(torch.zeros_like(bias) if new.bias is None else new.bias)
    return target


def projections(module: nn.Module) -> dict[str, Projection]:
    """The projections W_q, W_k, W_v and W_o of the module, all in one layout."""
    match module:
        case ParameterOnly() | ParameterHead():
            return {
                "W_q": Projection(module.W_q.T, module.b_q),
                "W_k": Projection(module.W_k.T, module.b_k),
                "W_v": Projection(module.W_v.T, module.b_v),
                "W_o": Projection(module.W_o.T, module.b_o),
            }
        case nn.MultiheadAttention():
            return _of_torch(module)
        case (
            MultiHeadAttention()
            | SeparateInputs()
            | MethodSteps()
            | FoldedHeads()
            | OneHides()
            | LinearHead()
        ):
            return {
                "W_q": Projection(module.W_q.weight, module.W_q.bias),
                "W_k": Projection(module.W_k.weight, module.W_k.bias),
                "W_v": Projection(module.W_v.weight, module.W_v.bias),
                "W_o": Projection(module.W_o.weight, module.W_o.bias),
            }
    raise ValueError(
        f"module: got {type(module).__name__}, expected nn.MultiheadAttention or an attention "
        "module of headwise"
    )


def head_count(module: nn.Module) -> int:
    """How many heads the module has; a single head is one."""
    return int(getattr(module, "num_heads", 1))


def _of_torch(module: nn.MultiheadAttention) -> dict[str, Projection]:
    if module.bias_k is not None or module.add_zero_attn:
        raise ValueError(
            "module: got nn.MultiheadAttention with add_bias_kv or add_zero_attn, expected one "
            "without: no other form has such a key"
        )
    if module.in_proj_weight is None:
        weights = [module.q_proj_weight, module.k_proj_weight, module.v_proj_weight]
    else:
        weights = list(module.in_proj_weight.chunk(3))
    biases = [None] * 3 if module.in_proj_bias is None else module.in_proj_bias.chunk(3)
    named = zip(("W_q", "W_k", "W_v"), weights, biases, strict=True)
    out = Projection(module.out_proj.weight, module.out_proj.bias)
    return {name: Projection(W, b) for name, W, b in named} | {"W_o": out}
