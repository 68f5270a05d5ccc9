"""Projections may be other layers than nn.Linear: wrappers, and quantized ones."""

import pytest
import torch
from torch import Tensor, nn

from headwise import MultiHeadAttention
from headwise.layers import EncoderLayer

X = torch.randn(2, 5, 12, dtype=torch.float64)


def mha() -> MultiHeadAttention:
    torch.manual_seed(0)
    return MultiHeadAttention(12, 4).double()


class LowRank(nn.Module):
    """A frozen linear layer and a small change to it, which hides the layer's weight."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base, self.A = base, nn.Parameter(torch.zeros(12, 2, dtype=torch.float64))
        self.B = nn.Parameter(torch.randn(2, 12, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + x @ self.A @ self.B


@pytest.mark.parametrize("need_weights", [False, True])
def test_projection_may_be_a_wrapper_without_a_weight(need_weights: bool) -> None:
    module = mha()
    expected = module(X, need_weights=need_weights)
    module.W_q = LowRank(module.W_q)
    torch.testing.assert_close(module(X, need_weights=need_weights), expected)
    with pytest.raises(ValueError, match=r"query: got dtype torch.float32"):
        module(X.float())


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("make", [MultiHeadAttention, EncoderLayer])
def test_projections_may_be_quantized(make: type[nn.Module]) -> None:
    module, x = make(12, 4).eval(), X.float()
    smaller = torch.ao.quantization.quantize_dynamic(module, {nn.Linear}, dtype=torch.qint8)
    torch.testing.assert_close(smaller(x), module(x), rtol=0.1, atol=0.1)
    with pytest.raises(ValueError, match=r"got dtype torch.int64, expected a floating one"):
        smaller(x.long())
