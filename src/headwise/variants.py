"""Five ways in which learners' notebooks write multi-head attention, each with its own signature.

They compute the same thing, and `headwise.convert` moves weights between them. What differs:

| class | inputs | bias | dropout | mask | heads |
|---|---|---|---|---|---|
| SeparateInputs | query, key, value | no | yes | (batch, query, key), 0 hides | an axis |
| MethodSteps | Q, K, V | yes | no | broadcasts to the scores, 0 hides | an axis, by methods |
| FoldedHeads | queries, keys, values, any width | if asked | yes | valid_lens | in the batch axis |
| OneHides | hidden_state | yes | no | attention_mask, 1 hides | an axis |
| ParameterOnly | x | yes | no | broadcasts to the scores, 0 hides | an axis |

The single heads of the same notebooks are in `headwise.single_head`. A query that may see nothing
gathers zeros in all of them. Masks may be boolean, or numbers 0 and 1.
"""

import torch
from torch import Tensor, nn

from headwise._check import check_divides, check_dropout, check_flags, check_widths, show
from headwise._check_tensors import (
    as_boolean,
    check_device,
    check_input,
    check_mask,
    check_shape,
    check_tensor,
)
from headwise.attention import attention
from headwise.heads import fold_heads, merge_heads, split_heads, unfold_heads
from headwise.masks import from_valid_lens

__all__ = ["FoldedHeads", "MethodSteps", "OneHides", "ParameterOnly", "SeparateInputs"]


class SeparateInputs(nn.Module):
    """Query, key and value come separately; no projection has a bias; the mask has no head axis.

    Args:
        d_model: width of the inputs and of the output.
        num_heads: how many heads; it divides d_model.
        dropout: the share of weights dropped while training.
    """

    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.1) -> None:
        super().__init__()
        check_widths(d_model=d_model)
        check_divides(num_heads, d_model)
        check_dropout(dropout)
        self.d_model, self.num_heads, self.dropout = int(d_model), int(num_heads), float(dropout)
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """Output (batch, query, d_model); the mask is (batch, query, key), and 0 hides.

        The mask gets its axis for the heads here. Without one, its batch axis would meet the
        heads, and where there are as many heads as batch items nothing would fail.
        """
        _check_inputs(self.W_q, self.d_model, query=query, key=key, value=value)
        if mask is not None:
            check_shape("mask", mask, (query.size(0), query.size(1), key.size(1)))
            mask = as_boolean("mask", mask)[:, None]  # (batch, 1, query, key)
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        heads, _ = attention(Q, K, V, mask, dropout=self.dropout if self.training else 0.0)
        out: Tensor = self.W_o(merge_heads(heads))  # (batch, query, d_model)
        return out


class MethodSteps(nn.Module):
    """Each step is a method: split_heads, scaled_dot_product_attention, combine_heads.

    Args:
        d_model: width of the inputs and of the output.
        num_heads: how many heads; it divides d_model.
    """

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        check_widths(d_model=d_model)
        check_divides(num_heads, d_model)
        self.d_model, self.num_heads = int(d_model), int(num_heads)
        self.d_k = self.d_model // self.num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def scaled_dot_product_attention(
        self, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """What each query gathers, (batch, num_heads, seq_length, d_k)."""
        out, _ = attention(Q, K, V, None if mask is None else as_boolean("mask", mask))
        return out

    def split_heads(self, x: Tensor) -> Tensor:
        """(batch, seq_length, d_model) to (batch, num_heads, seq_length, d_k)."""
        check_shape("x", x, ("batch", "seq_length", self.d_model))
        batch, seq_length, _ = x.size()
        x = x.view(batch, seq_length, self.num_heads, self.d_k)
        return x.transpose(1, 2)  # (batch, num_heads, seq_length, d_k)

    def combine_heads(self, x: Tensor) -> Tensor:
        """(batch, num_heads, seq_length, d_k) to (batch, seq_length, d_model)."""
        check_shape("x", x, ("batch", self.num_heads, "seq_length", self.d_k))
        batch, _, seq_length, _ = x.size()
        x = x.transpose(1, 2).contiguous()
        return x.view(batch, seq_length, self.d_model)  # (batch, seq_length, d_model)

    def forward(self, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Tensor:
        """Output (batch, query, d_model); the mask broadcasts to the scores, and 0 hides.

        Here the letters stand for the inputs, (batch, seq_length, d_model), before projection.
        """
        _check_inputs(self.W_q, self.d_model, Q=Q, K=K, V=V)
        Q = self.split_heads(self.W_q(Q))
        K = self.split_heads(self.W_k(K))
        V = self.split_heads(self.W_v(V))
        heads = self.scaled_dot_product_attention(Q, K, V, mask)
        out: Tensor = self.W_o(self.combine_heads(heads))  # (batch, query, d_model)
        return out


class FoldedHeads(nn.Module):
    """Heads lie in the batch axis, inputs may differ in width, and valid_lens stands for a mask.

    Args:
        key_size: width of the keys.
        query_size: width of the queries.
        value_size: width of the values.
        num_hiddens: width of all heads together, and of the output.
        num_heads: how many heads; it divides num_hiddens.
        dropout: the share of weights dropped while training.
        bias: whether the four projections have a bias.
    """

    def __init__(
        self,
        key_size: int,
        query_size: int,
        value_size: int,
        num_hiddens: int,
        num_heads: int,
        dropout: float,
        bias: bool = False,
    ) -> None:
        super().__init__()
        check_widths(key_size=key_size, query_size=query_size, value_size=value_size)
        check_widths(num_hiddens=num_hiddens)
        check_divides(num_heads, num_hiddens, width="num_hiddens")
        check_dropout(dropout)
        check_flags(bias=bias)
        self.key_size, self.query_size, self.value_size = map(
            int, (key_size, query_size, value_size)
        )
        self.num_hiddens, self.num_heads = int(num_hiddens), int(num_heads)
        self.dropout = float(dropout)
        self.W_q = nn.Linear(query_size, num_hiddens, bias=bias)
        self.W_k = nn.Linear(key_size, num_hiddens, bias=bias)
        self.W_v = nn.Linear(value_size, num_hiddens, bias=bias)
        self.W_o = nn.Linear(num_hiddens, num_hiddens, bias=bias)

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None
    ) -> Tensor:
        """Output (batch, query, num_hiddens); valid_lens is (batch,) or (batch, query).

        Each query of item b sees the first valid_lens[b] keys, or each its own number of them.
        """
        self._check(queries, keys, values, valid_lens)
        mask = None
        if valid_lens is not None:
            # The heads of one batch item stand next to each other, and so must its masks.
            mask = from_valid_lens(valid_lens, keys.size(1)).squeeze(1)  # (batch, ..., key_len)
            mask = mask.repeat_interleave(self.num_heads, dim=0)  # (batch * num_heads, ...)
        Q = fold_heads(self.W_q(queries), self.num_heads)  # (batch * num_heads, query, d_k)
        K = fold_heads(self.W_k(keys), self.num_heads)
        V = fold_heads(self.W_v(values), self.num_heads)
        heads, _ = attention(Q, K, V, mask, dropout=self.dropout if self.training else 0.0)
        out: Tensor = self.W_o(unfold_heads(heads, self.num_heads))  # (batch, query, num_hiddens)
        return out

    def _check(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None
    ) -> None:
        check_input("queries", queries, ("batch", "query", self.query_size), self.W_q)
        batch, query_len, _ = queries.shape
        check_input("keys", keys, (batch, "key", self.key_size), self.W_k)
        check_input("values", values, (batch, keys.size(1), self.value_size), self.W_v)
        if valid_lens is not None:
            check_tensor("valid_lens", valid_lens)
            check_device("valid_lens", valid_lens, "queries", queries)
            if valid_lens.shape not in ((batch,), (batch, query_len)):
                raise ValueError(
                    f"valid_lens: got shape {show(valid_lens.shape)}, "
                    f"expected ({batch},) or ({batch}, {query_len})"
                )


class OneHides(nn.Module):
    """One input, and a mask in which 1 hides: the opposite of the other forms.

    Args:
        hidden_size: width of the input and of the output.
        num_heads: how many heads; it divides hidden_size.
    """

    def __init__(self, hidden_size: int, num_heads: int) -> None:
        super().__init__()
        check_widths(hidden_size=hidden_size)
        check_divides(num_heads, hidden_size, width="hidden_size")
        self.hidden_size, self.num_heads = int(hidden_size), int(num_heads)
        self.head_dim = self.hidden_size // self.num_heads
        self.W_q = nn.Linear(hidden_size, hidden_size)
        self.W_k = nn.Linear(hidden_size, hidden_size)
        self.W_v = nn.Linear(hidden_size, hidden_size)
        self.W_o = nn.Linear(hidden_size, hidden_size)

    def split_head(self, x: Tensor) -> Tensor:
        """(batch, seq_len, hidden_size) to (batch, num_heads, seq_len, head_dim)."""
        check_shape("x", x, ("batch", "seq_len", self.hidden_size))
        batch, seq_len, _ = x.shape
        x = x.reshape(batch, seq_len, self.num_heads, self.head_dim)
        return x.transpose(1, 2)  # (batch, num_heads, seq_len, head_dim)

    def forward(self, hidden_state: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Output (batch, seq_len, hidden_size); in attention_mask 1 hides.

        attention_mask is (seq_len, seq_len), or has four axes that broadcast to
        (batch, num_heads, seq_len, seq_len).
        """
        _check_inputs(self.W_q, self.hidden_size, hidden_state=hidden_state)
        batch, seq_len, _ = hidden_state.shape
        mask = None
        if attention_mask is not None:
            mask = ~as_boolean("attention_mask", attention_mask)
            scores = (batch, self.num_heads, seq_len, seq_len)
            check_mask(mask, scores, hidden_state, name="attention_mask")
        Q = self.split_head(self.W_q(hidden_state))
        K = self.split_head(self.W_k(hidden_state))
        V = self.split_head(self.W_v(hidden_state))
        heads, _ = attention(Q, K, V, mask)
        joined = heads.transpose(1, 2).reshape(batch, seq_len, self.hidden_size)
        out: Tensor = self.W_o(joined)  # (batch, seq_len, hidden_size)
        return out


class ParameterOnly(nn.Module):
    """Bare parameters in place of nn.Linear: weights (d_model in, d_model out), Q = x @ W_q + b_q.

    Weights start Xavier-uniform, biases at zero.

    Args:
        d_model: width of the input and of the output.
        num_heads: how many heads; it divides d_model.
    """

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        check_widths(d_model=d_model)
        check_divides(num_heads, d_model)
        self.d_model, self.num_heads = int(d_model), int(num_heads)
        self.d_k = self.d_model // self.num_heads
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
        """Output (batch, seq_len, d_model) and weights (batch, num_heads, seq_len, seq_len).

        The mask broadcasts to the weights, and 0 hides.
        """
        _check_inputs(self, self.d_model, x=x)
        batch, seq_len, _ = x.shape
        Q = x @ self.W_q + self.b_q  # (batch, seq_len, d_model)
        K = x @ self.W_k + self.b_k
        V = x @ self.W_v + self.b_v

        Q = Q.view(batch, seq_len, self.num_heads, self.d_k).transpose(1, 2)
        K = K.view(batch, seq_len, self.num_heads, self.d_k).transpose(1, 2)
        V = V.view(batch, seq_len, self.num_heads, self.d_k).transpose(1, 2)
        heads, weights = attention(Q, K, V, None if mask is None else as_boolean("mask", mask))

        out = heads.transpose(1, 2).reshape(batch, seq_len, self.d_model)
        out = out @ self.W_o + self.b_o  # (batch, seq_len, d_model)
        return out, weights


def _check_inputs(layer: nn.Module, width: int, **inputs: Tensor) -> None:
    """Inputs are (batch, ..., width), of one batch, the second and third of one length."""
    (first, x), *others = inputs.items()
    check_input(first, x, ("batch", "seq_len", width), layer)
    length: int | str = "key_len"
    for name, other in others:
        check_input(name, other, (x.size(0), length, width), layer)
        length = other.size(1)
