"""Causal attention over long texts with padding: no mask of all pairs, and the same numbers."""

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import headwise.attention
from headwise import fused_attention, padding_mask
from headwise.attention import attention
from headwise.heads import share_heads
from headwise.masks import causal_mask, combine

EXACT = {"rtol": 1e-10, "atol": 1e-10}


@pytest.fixture(autouse=True)
def soon_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headwise.attention, "LONG", 8)


def qkv(length: int = 9, num_kv_heads: int = 4, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    torch.manual_seed(0)
    heads = (4, num_kv_heads, num_kv_heads)
    return [torch.randn(2, h, length, 6, dtype=dtype, requires_grad=True) for h in heads]


LEFT, RIGHT = padding_mask(torch.tensor([9, 4])).flip(-1), padding_mask(torch.tensor([9, 0]))
HEADS = torch.rand(2, 4, 1, 9, generator=torch.Generator().manual_seed(1)) > 0.5


class Sizes(TorchDispatchMode):
    """The number of elements of the largest tensor that anything returned."""

    def __init__(self) -> None:
        super().__init__()
        self.largest = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        out = function(*args, **(kwargs or {}))
        for x in out if isinstance(out, tuple | list) else (out,):
            self.largest = max(self.largest, x.numel() if isinstance(x, Tensor) else 0)
        return out


@pytest.mark.parametrize("num_kv_heads", [4, 2])
@pytest.mark.parametrize("mask", [LEFT, RIGHT, LEFT[1, 0]], ids=["left", "right", "two axes"])
def test_padding_that_is_in_the_vectors_changes_no_number(mask: Tensor, num_kv_heads: int) -> None:
    Q, K, V = inputs = qkv(num_kv_heads=num_kv_heads)
    out = fused_attention(Q, K, V, mask, is_causal=True)
    seen = combine(mask, causal_mask(9))
    expected, _ = attention(Q, share_heads(K, 4), share_heads(V, 4), seen)
    torch.testing.assert_close(out, expected, **EXACT)
    ours, theirs = (torch.autograd.grad(y.square().sum(), inputs) for y in (out, expected))
    for got, wanted in zip(ours, theirs, strict=True):
        torch.testing.assert_close(got, wanted, **EXACT)


def test_row_that_sees_nothing_gives_zeros() -> None:
    out = fused_attention(*qkv(), LEFT, is_causal=True)
    assert (out[1, :, :5] == 0).all() and (out[0] != 0).all()


def test_no_tensor_holds_all_pairs() -> None:
    Q, K, V = (x.detach() for x in qkv(256))
    with Sizes() as sizes:
        fused_attention(Q, K, V, padding_mask(torch.tensor([256, 100])), is_causal=True)
    assert sizes.largest < 256 * 256 / 4
    with Sizes() as sizes:  # while this one has to
        fused_attention(Q, K, V, causal_mask(256))
    assert sizes.largest >= 256 * 256


@pytest.mark.parametrize(
    "case", ["other heads", "grouped heads", "dropout", "bias", "half", "wider", "fewer", "one"]
)
def test_whatever_else_there_is_goes_by_a_mask(case: str) -> None:
    Q, K, V = qkv(num_kv_heads=2 if case == "grouped heads" else 4)
    mask, options = LEFT, {}
    if case in ("other heads", "grouped heads"):
        mask = HEADS
    if case == "dropout":
        options["dropout"] = 1e-12
    if case == "bias":
        options["bias"] = torch.ones(9, 9).tril().double()
    if case == "half":
        Q, K, V = Q.half(), K.half(), V.half()
    if case == "wider":
        V = torch.cat((V, V), dim=-1)
    if case == "fewer":
        Q = Q[:, :, 3:]
    if case == "one":
        mask = mask[..., :1] | True
    out = fused_attention(Q, K, V, mask, is_causal=True, **options)
    seen = combine(mask, causal_mask(Q.size(2), 9))
    all_K, all_V = share_heads(K, 4), share_heads(V, 4)
    expected, _ = attention(Q, all_K, all_V, seen, bias=options.get("bias"))
    tolerance = {"rtol": 2e-3, "atol": 2e-3} if case == "half" else EXACT
    torch.testing.assert_close(out, expected, **tolerance)
