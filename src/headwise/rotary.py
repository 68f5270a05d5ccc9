"""Rotary positions (RoPE): queries and keys are turned, so that scores know distances alone."""

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from headwise._check import KNOWN, being_traced, check_divides, check_positive, check_widths, show
from headwise._check_tensors import check_floats, check_shape, check_tensor, check_where
from headwise.positional import _widest

Layout = Literal["halves", "pairs"]
LAYOUTS = ("halves", "pairs")
FEW = 64  # positions, as when a batch is continued by a token each


class _Last(NamedTuple):
    """What a module was last asked for, and gave."""

    positions: Tensor
    dtype: torch.dtype
    key: object  # all that the turns depend on
    turns: tuple[Tensor, Tensor]


class Rotary(nn.Module):
    """Turns each pair of a head's columns by the position times the frequency of that pair.

    A query at m and a key at n are turned by m and by n times a frequency, so their product knows
    m - n and nothing else of m and n. There is nothing to learn, and no longest position.

    Which two columns are a pair is a matter of layout: with "halves", as in the models of Hugging
    Face, column i goes with column i + rotary_dim / 2; with "pairs", as in the paper, column 2i
    goes with column 2i + 1. Weights of one layout are of no use in the other, until
    `halves_to_pairs` or `pairs_to_halves` has put their rows in order.

    Args:
        d_k: width of one head's queries and keys.
        theta: pair i turns by theta ** (-2i / rotary_dim) from one position to the next.
        layout: "halves" or "pairs".
        scale: positions are divided by it (position interpolation): 4 fits a text four times as
            long into the positions that a model was trained on.
        rotary_dim: how many columns turn, an even number; by default all, and otherwise the first.
    """

    def __init__(
        self,
        d_k: int,
        *,
        theta: float = 10_000.0,
        layout: Layout = "halves",
        scale: float = 1.0,
        rotary_dim: int | None = None,
    ) -> None:
        super().__init__()
        check_widths(d_k=d_k)
        check_positive(theta=theta, scale=scale)
        _check_layout(layout)
        self.d_k, self.rotary_dim = int(d_k), check_rotary_dim(d_k, rotary_dim)
        self.theta, self.layout, self.scale = float(theta), layout, float(scale)
        self._last: _Last | None = None
        self._paces: tuple[object, Tensor] | None = None

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        """x, each vector turned to its position: the same shape.

        Args:
            x: queries or keys, (batch, num_heads, seq_len, d_k).
            positions: whole numbers, (seq_len,) or (batch, seq_len).
        """
        self._check(x, positions)
        cos, sin = self._remembered(positions, torch.promote_types(x.dtype, torch.float32))
        rest = None
        if self.rotary_dim < self.d_k:
            x, rest = x[..., : self.rotary_dim], x[..., self.rotary_dim :]
        if self.layout == "halves":
            partner = x.roll(self.rotary_dim // 2, -1)  # (batch, num_heads, seq_len, rotary_dim)
        else:
            partner = torch.unflatten(x, -1, (-1, 2)).flip(-1).flatten(-2)
        turned = torch.addcmul(x * cos, partner, sin)  # (batch, num_heads, seq_len, rotary_dim)
        if turned.dtype != x.dtype:
            turned = turned.to(x.dtype)
        return turned if rest is None else torch.cat((turned, rest), dim=-1)

    def _check(self, x: Tensor, positions: Tensor) -> None:
        if KNOWN.to_fit:
            return
        check_shape("x", x, ("batch", "num_heads", "seq_len", self.d_k))
        check_floats("x", x)
        check_where("positions", positions, x.size(0), x.size(2), x)

    def _remembered(self, positions: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """`_turns`, worked out once for queries, keys and all layers that share this module.

        While a model writes, that saves more than half of the time that turning takes.
        """
        last, paces = self._last, self._paces  # other threads may put their own there at any time
        if KNOWN.to_fit and last and last.positions is positions and last.dtype == dtype:
            return last.turns
        hard_to_read = positions.device.type != "cpu" or positions.numel() > FEW
        if hard_to_read or torch.compiler.is_compiling() or being_traced():
            return self._turns(positions, dtype)
        try:
            where = tuple(positions.flatten().tolist())
        except RuntimeError:  # vmap and FakeTensorMode say so in errors of their own
            return self._turns(positions, dtype)
        settings = (self.theta, self.scale, self.layout, self.rotary_dim)
        # What inference mode makes cannot be used outside it.
        key = (where, positions.shape, dtype, settings, torch.is_inference_mode_enabled())
        if last is None or last.key != key:
            if paces is None or paces[0] != settings:
                paces = self._paces = settings, self._frequencies(positions.device)
            last = _Last(positions, dtype, key, self._turns(positions, dtype, paces[1]))
        self._last = last._replace(positions=positions)
        return last.turns

    def _frequencies(self, device: torch.device) -> Tensor:
        """By how much each pair turns from one position to the next, (rotary_dim / 2,)."""
        # At position 100,000 single precision no longer knows the angle to three digits.
        exponents = torch.arange(0, self.rotary_dim, 2, dtype=_widest(device), device=device)
        frequencies: Tensor = self.theta ** -(exponents / self.rotary_dim)
        return frequencies

    def _turns(
        self, positions: Tensor, dtype: torch.dtype, frequencies: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """What each column and its partner are multiplied by, (..., 1, seq_len, rotary_dim).

        Of a pair, the first turns by its cosine and minus the sine of the second, the second by
        its cosine and the sine of the first.
        """
        if frequencies is None:
            frequencies = self._frequencies(positions.device)
        where = positions.to(frequencies.dtype)[..., None] / self.scale
        angles = (where * frequencies).unsqueeze(-3)  # (..., 1, seq_len, rotary_dim / 2)
        cos, sin = angles.cos().to(dtype), angles.sin().to(dtype)
        if self.layout == "halves":
            return torch.cat((cos, cos), dim=-1), torch.cat((-sin, sin), dim=-1)
        pairs = torch.stack((cos, cos), dim=-1), torch.stack((-sin, sin), dim=-1)
        return pairs[0].flatten(-2), pairs[1].flatten(-2)

    def extra_repr(self) -> str:
        """All settings."""
        return (
            f"{self.d_k}, theta={self.theta:g}, layout={self.layout!r}, scale={self.scale:g}, "
            f"rotary_dim={self.rotary_dim}"
        )


def halves_to_pairs(weight: Tensor, num_heads: int, *, rotary_dim: int | None = None) -> Tensor:
    """W_q or W_k for the layout "pairs", with the rows of each head in another order.

    weight is that of an nn.Linear, (num_heads * d_k, d_model), or its bias, (num_heads * d_k,),
    of a model with the layout "halves"; for W_k, num_heads is that of the keys. The gain of
    QK-norm, (d_k,), is one head's.
    """
    heads = _heads(weight, num_heads)  # (num_heads, d_k, ...)
    width = check_rotary_dim(heads.size(1), rotary_dim)
    a, b = heads[:, :width].chunk(2, dim=1)
    turned = torch.stack((a, b), dim=2).flatten(1, 2)  # (num_heads, rotary_dim, ...)
    return torch.cat((turned, heads[:, width:]), dim=1).flatten(0, 1)


def pairs_to_halves(weight: Tensor, num_heads: int, *, rotary_dim: int | None = None) -> Tensor:
    """The way back: W_q or W_k of the layout "pairs" for the layout "halves"."""
    heads = _heads(weight, num_heads)  # (num_heads, d_k, ...)
    width = check_rotary_dim(heads.size(1), rotary_dim)
    turned = torch.cat((heads[:, 0:width:2], heads[:, 1:width:2], heads[:, width:]), dim=1)
    return turned.flatten(0, 1)


def _heads(weight: Tensor, num_heads: int) -> Tensor:
    """The rows of the weight, head by head."""
    check_tensor("weight", weight)
    if weight.dim() not in (1, 2) or not weight.size(0):
        raise ValueError(
            f"weight: got shape {show(weight.shape)}, expected (num_heads * d_k, d_model) or "
            "(num_heads * d_k,)"
        )
    check_divides(num_heads, weight.size(0), width="the rows of weight")
    return weight.reshape(num_heads, weight.size(0) // num_heads, *weight.shape[1:])


def check_rotary_dim(d_k: int, rotary_dim: int | None) -> int:
    """How many columns of a head turn, which is an even number."""
    name, width = ("d_k", d_k) if rotary_dim is None else ("rotary_dim", rotary_dim)
    check_widths(**{name: width})
    if width % 2 or width > d_k:
        most = "" if rotary_dim is None else f" of at most d_k = {d_k}"
        raise ValueError(f"{name}: got {width}, expected an even number{most}, as pairs turn")
    return int(width)


def _check_layout(layout: str) -> None:
    if layout not in LAYOUTS:
        error = ValueError if isinstance(layout, str) else TypeError
        raise error(f'layout: got {layout!r}, expected "halves" or "pairs"')
