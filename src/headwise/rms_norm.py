"""RMSNorm: layer normalisation without the mean and without the bias."""

import torch
from torch import Tensor, nn

from headwise._check import check_real, check_widths
from headwise._check_tensors import check_vectors

HALVES = (torch.float16, torch.bfloat16)


class RMSNorm(nn.Module):
    """Each vector divided by its root mean square, then scaled column by column.

    Args:
        d_model: length of the vectors.
        eps: added to the mean of the squares, so that a vector of zeros stays one.
    """

    def __init__(self, d_model: int, eps: float = 1e-6) -> None:
        super().__init__()
        check_widths(d_model=d_model)
        check_real("eps", eps, 0, 1, above=True)
        self.d_model, self.eps = int(d_model), float(eps)
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """x (..., d_model), every vector about as long as √d_model before the scale: same shape."""
        check_vectors("x", x, self.d_model, self)
        # In float16 the square of 256 is already infinite, so squares are taken in single.
        wide = x.float() if x.dtype in HALVES else x
        mean_square = (wide * wide).mean(dim=-1, keepdim=True)  # (..., 1)
        normal = wide * torch.rsqrt(mean_square + self.eps)
        return self.weight * (normal.to(x.dtype) if x.dtype in HALVES else normal)

    def extra_repr(self) -> str:
        """The two settings."""
        return f"{self.d_model}, eps={self.eps:g}"
