"""Weights from any form of multi-head attention to any other, nn.MultiheadAttention included."""

from typing import NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch._subclasses import FakeTensor

from headwise._check import check_kind, show
from headwise.multi_head import MultiHeadAttention
from headwise.single_head import LinearHead, ParameterHead
from headwise.variants import FoldedHeads, MethodSteps, OneHides, ParameterOnly, SeparateInputs

LINEAR = (MultiHeadAttention, SeparateInputs, MethodSteps, FoldedHeads, OneHides, LinearHead)
BARE = (ParameterOnly, ParameterHead)  # parameters without nn.Linear around them
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
    conventions stay the target's own. Options of MultiHeadAttention that no other form has, from
    num_kv_heads to qk_norm, raise a ValueError, and so does what the target cannot hold; then
    nothing has been copied. Weights are read on the way, so both sides need to have values.
    """
    for name, module in (("source", source), ("target", target)):
        _check_plain(name, module)
    theirs, ours = _projections("source", source), _projections("target", target)
    _check_writable(target, theirs, ours)
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
        for x, into in zip(new, old, strict=True):
            if x is not None and into is not None and not _fits(x, into.dtype):
                raise ValueError(
                    f"target: got {name} of {into.dtype}, expected one that holds the source's "
                    f"{x.abs().max():.3g}"
                )
    for name, new in theirs.items():
        ours[name].weight.copy_(new.weight)
        bias = ours[name].bias
        if bias is not None:
            bias.copy_(torch.zeros_like(bias) if new.bias is None else new.bias)
    return target


def projections(module: nn.Module) -> dict[str, Projection]:
    """The projections W_q, W_k, W_v and W_o of the module, all in one layout."""
    return _projections("module", module)


def head_count(module: nn.Module) -> int:
    """How many heads the module has; a single head is one."""
    _check_form("module", module)
    return int(getattr(module, "num_heads", 1))


def _fits(x: Tensor, dtype: torch.dtype) -> bool:
    """Whether no number of x becomes infinite in this dtype."""
    return bool((x.to(dtype).isfinite() == x.isfinite()).all())


def _projections(name: str, module: nn.Module) -> dict[str, Projection]:
    _check_form(name, module)
    if isinstance(module, nn.MultiheadAttention):
        return _of_torch(name, module)
    found = {}
    for letter in "qkvo":
        layer = getattr(module, f"W_{letter}")
        if isinstance(module, BARE):
            found[f"W_{letter}"] = Projection(layer.T, getattr(module, f"b_{letter}"))
        else:
            found[f"W_{letter}"] = _of_linear(name, f"W_{letter}", layer)
    return found


def _of_linear(name: str, letter: str, layer: nn.Module) -> Projection:
    if not isinstance(layer, nn.Linear):
        raise ValueError(f"{name}: got {type(layer).__name__} for {letter}, expected nn.Linear")
    return Projection(layer.weight, layer.bias)


def _check_form(name: str, module: nn.Module) -> None:
    expected = "nn.MultiheadAttention or an attention module of headwise"
    check_kind(name, module, nn.Module, expected=expected)
    if not isinstance(module, (nn.MultiheadAttention, *LINEAR, *BARE)):
        raise ValueError(f"{name}: got {type(module).__name__}, expected {expected}")


def _check_plain(name: str, module: nn.Module) -> None:
    """The module computes what every form can compute."""
    if not isinstance(module, MultiHeadAttention):
        return
    extra = {
        "num_kv_heads": module.num_kv_heads != module.num_heads,
        "rotary": module.rotary is not None,
        "alibi": module.alibi,
        "window": module.window is not None,
        "learned_sink": module.sink is not None,
        "qk_norm": module.norm_q is not None,
    }
    found = ", ".join(option for option, there in extra.items() if there)
    if found:
        raise ValueError(
            f"{name}: got MultiHeadAttention with {found}, expected one without: no other form "
            "has that"
        )


def _check_writable(
    target: nn.Module, theirs: dict[str, Projection], ours: dict[str, Projection]
) -> None:
    """The source can be read, and writing to a tensor of the target changes that and no other."""
    places: dict[int, str] = {}
    for letter, tensor in _tensors("source", theirs):
        places.setdefault(tensor.data_ptr(), letter)
    written = _tensors("target", ours)
    own = {parameter.untyped_storage().data_ptr() for parameter in target.parameters()}
    for letter, tensor in written:
        if tensor.untyped_storage().data_ptr() not in own:
            raise ValueError(
                f"target: got {letter} that is computed from others, expected a parameter"
            )
        other = places.setdefault(tensor.data_ptr(), letter)
        if other != letter:
            raise ValueError(
                f"target: got {letter} and {other} that share a parameter, expected one for each"
            )


def _tensors(name: str, side: dict[str, Projection]) -> list[tuple[str, Tensor]]:
    """Weights and biases, each with the letter of its projection; all of them have values."""
    found = [(letter, x) for letter, both in side.items() for x in both if x is not None]
    for letter, tensor in found:
        if tensor.is_meta or isinstance(tensor, FakeTensor):
            raise ValueError(f"{name}: got {letter} without values, expected some")
        if not tensor.is_floating_point():
            raise ValueError(f"{name}: got {letter} of {tensor.dtype}, expected real floats")
    return found


def _of_torch(name: str, module: nn.MultiheadAttention) -> dict[str, Projection]:
    if module.bias_k is not None or module.add_zero_attn:
        raise ValueError(
            f"{name}: got nn.MultiheadAttention with add_bias_kv or add_zero_attn, expected one "
            "without: no other form has such a key"
        )
    if module.in_proj_weight is None:
        weights = [module.q_proj_weight, module.k_proj_weight, module.v_proj_weight]
    else:
        weights = list(module.in_proj_weight.chunk(3))
    biases = [None] * 3 if module.in_proj_bias is None else module.in_proj_bias.chunk(3)
    named = zip(("W_q", "W_k", "W_v"), weights, biases, strict=True)
    out = _of_linear(name, "W_o", module.out_proj)
    return {letter: Projection(W, b) for letter, W, b in named} | {"W_o": out}
