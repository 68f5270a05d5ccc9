"""One head of self-attention, written twice: with nn.Parameter alone, and with nn.Linear.

Both take a mask, so each also stands for the masked form. A mask may be (seq_len, seq_len) or
(batch, seq_len, seq_len), True where a query may see a key.
"""

import torch
from torch import Tensor, nn

from headwise._check import check_widths
from headwise._check_tensors import check_input
from headwise.attention import attention


class ParameterHead(nn.Module):
    """One head whose weights are bare parameters, (d_model in, d_model out): Q = x @ W_q + b_q.

    Weights start Xavier-uniform, biases at zero.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        check_widths(d_model=d_model)
        self.d_model = int(d_model)
        self.W_q = nn.Parameter(torch.empty(d_model, d_model))
        self.W_k = nn.Parameter(torch.empty(d_model, d_model))
        self.W_v = nn.Parameter(torch.empty(d_model, d_model))
        self.W_o = nn.Parameter(torch.empty(d_model, d_model))
        self.b_q = nn.Parameter(torch.zeros(d_model))
        self.b_k = nn.Parameter(torch.zeros(d_model))
        self.b_v = nn.Parameter(torch.zeros(d_model))
        self.b_o = nn.Parameter(torch.zeros(d_model))
        for W in (self.W_q, self.W_k, self.W_v, self.W_o):
            nn.init.xavier_uniform_(W)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Output (batch, seq_len, d_model) and weights (batch, seq_len, seq_len)."""
        check_input("x", x, ("batch", "seq_len", self.d_model), self)
        Q = x @ self.W_q + self.b_q  # (batch, seq_len, d_model)
        K = x @ self.W_k + self.b_k
        V = x @ self.W_v + self.b_v
        out, weights = attention(Q, K, V, mask)
        out = out @ self.W_o + self.b_o  # (batch, seq_len, d_model)
        return out, weights


class LinearHead(nn.Module):
    """One head whose weights are nn.Linear layers, which keep them as (d_model out, d_model in).

    Weights and biases start as nn.Linear starts them: uniform within 1 / sqrt(d_model).
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        check_widths(d_model=d_model)
        self.d_model = int(d_model)
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Output (batch, seq_len, d_model) and weights (batch, seq_len, seq_len)."""
        check_input("x", x, ("batch", "seq_len", self.d_model), self.W_q)
        Q, K, V = self.W_q(x), self.W_k(x), self.W_v(x)
        out, weights = attention(Q, K, V, mask)
        out = self.W_o(out)  # (batch, seq_len, d_model)
        return out, weights
