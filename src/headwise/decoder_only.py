"""A decoder-only model, which can be shaped like GPT-2 or like Llama."""

import math
from typing import cast

import torch
from torch import Tensor, nn

from headwise._check import (
    KNOWN,
    ROWS,
    check_divides,
    check_each,
    check_flags,
    check_kind,
    check_positions,
    check_sizes,
    check_widths,
)
from headwise._check_tensors import check_device, check_range, check_tokens, check_where
from headwise.block import Block, check_block, make_norm
from headwise.cache import KeyValueCache
from headwise.feed_forward import check_feed_forward
from headwise.generation import Writer
from headwise.multi_head import MultiHeadAttention
from headwise.positional import sinusoidal
from headwise.rotary import Layout, Rotary

POSITIONS = ("learned", "rotary", "sinusoidal", "alibi", "none")


class DecoderOnly(Writer):
    """From tokens to scores (logits) for the token that follows each of them.

    Args:
        vocab: how many tokens there are.
        d_model: width of the model.
        num_heads: heads in every attention.
        num_layers: how many blocks.
        num_kv_heads: heads of the keys and values, num_heads by default.
        d_k: width of one head, d_model / num_heads by default.
        d_ff: width inside the feed-forward networks.
        max_len: how many positions there are, if they are learned or sinusoidal; the other
            kinds have no last one.
        norm: "layer" or "rms".
        activation: "swiglu", or one of FeedForward's.
        positions: "learned" or "sinusoidal", added to the embeddings; "rotary" or "alibi", at work
            in every attention; or "none".
        bias: whether linear maps and layer norms have biases.
        tied: the output matrix is the embedding itself, not one of its own.
        eps: of the norms.
        theta, layout, scale: of rotary positions, as in Rotary.
        window, sinks, learned_sink, qk_norm: as in MultiHeadAttention.
        dropout: the share dropped while training.
    """

    def __init__(
        self,
        vocab: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        *,
        num_kv_heads: int | None = None,
        d_k: int | None = None,
        d_ff: int | None = None,
        max_len: int = 1024,
        norm: str = "rms",
        activation: str = "swiglu",
        positions: str = "rotary",
        bias: bool = False,
        tied: bool = True,
        eps: float = 1e-5,
        theta: float = 10_000.0,
        layout: Layout = "halves",
        scale: float = 1.0,
        window: int | None = None,
        sinks: int = 0,
        learned_sink: bool = False,
        qk_norm: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_sizes(vocab=vocab, max_len=max_len, most=ROWS)
        check_sizes(num_layers=num_layers, most=10_000)
        check_widths(d_model=d_model, num_heads=num_heads)
        if d_k is None:
            check_divides(num_heads, d_model)
        check_block(norm, activation, bias, eps, dropout)
        check_feed_forward(d_model, d_ff, dropout, "relu")
        check_kind("positions", positions, str)
        if positions not in POSITIONS:
            raise ValueError(f"positions: got {positions!r}, expected one of {sorted(POSITIONS)}")
        check_flags(tied=tied)

        width = d_model // num_heads if d_k is None else d_k
        rotary = Rotary(width, theta=theta, layout=layout, scale=scale)

        def attention() -> MultiHeadAttention:
            return MultiHeadAttention(
                d_model,
                num_heads,
                num_kv_heads=num_kv_heads,
                d_k=d_k,
                bias=bias,
                dropout=dropout,
                rotary=rotary if positions == "rotary" else None,
                alibi=positions == "alibi",
                window=window,
                sinks=sinks,
                learned_sink=learned_sink,
                qk_norm=qk_norm,
            )

        self.blocks = nn.ModuleList(
            Block(
                attention(),
                d_ff=d_ff,
                norm=norm,
                activation=activation,
                bias=bias,
                eps=eps,
                dropout=dropout,
            )
            for _ in range(num_layers)
        )
        self.vocab, self.d_model = int(vocab), int(d_model)
        self.max_len = int(max_len) if positions in ("learned", "sinusoidal") else None
        self.embedding = nn.Embedding(vocab, d_model)
        self.position_embedding = None if self.max_len is None else nn.Embedding(max_len, d_model)
        self.dropout = nn.Dropout(dropout) if dropout else nn.Identity()
        self.norm = make_norm(norm, d_model, eps=eps, bias=bias)
        self.W_vocab = nn.Linear(d_model, vocab, bias=False)
        self._initialise(positions)
        if tied:  # last, or whatever is drawn for one of them would replace both
            self.W_vocab.weight = self.embedding.weight

    @classmethod
    def gpt2_like(
        cls,
        vocab: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        *,
        max_len: int = 1024,
        dropout: float = 0.0,
    ) -> "DecoderOnly":
        """A model shaped like GPT-2, whose smallest is gpt2_like(50_257, 768, 12, 12)."""
        return cls(
            *(vocab, d_model, num_heads, num_layers),
            max_len=max_len,
            norm="layer",
            activation="gelu_tanh",
            positions="learned",
            bias=True,
            tied=True,
            dropout=dropout,
        )

    @classmethod
    def llama_like(
        cls,
        vocab: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        *,
        num_kv_heads: int | None = None,
        d_ff: int | None = None,
        theta: float = 10_000.0,
        tied: bool = False,
    ) -> "DecoderOnly":
        """A model shaped like Llama: rotary positions, RMSNorm, SwiGLU, and no bias anywhere."""
        return cls(
            *(vocab, d_model, num_heads, num_layers),
            num_kv_heads=num_kv_heads,
            d_ff=d_ff,
            norm="rms",
            activation="swiglu",
            positions="rotary",
            bias=False,
            tied=tied,
            theta=theta,
        )

    def _initialise(self, positions: str) -> None:
        """Small random weights, as GPT-2's; smaller where each block adds to the sum of all."""
        for name, module in self.named_modules():
            if isinstance(module, nn.Linear):
                last = name.endswith(("W_o", "W_2"))
                std = 0.02 / math.sqrt(2 * len(self.blocks)) if last else 0.02
                nn.init.normal_(module.weight, std=std)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)
        if positions == "sinusoidal":
            assert self.position_embedding is not None and self.max_len is not None
            code = sinusoidal(self.max_len, self.d_model)  # (max_len, d_model)
            self.position_embedding.weight = nn.Parameter(code, requires_grad=False)

    def new_cache(self, max_len: int | None = None, *, ring: bool = True) -> list[KeyValueCache]:
        """An empty cache for one batch, with a part for each block.

        Args:
            max_len: how many positions to take room for at once; by default it grows.
            ring: if the model has a window, keep no more than that and the sinks.
        """
        check_flags(ring=ring)
        attention = cast(Block, self.blocks[0]).attention
        window, sinks = (attention.window, attention.sinks) if ring else (None, 0)
        return [KeyValueCache(max_len=max_len, window=window, sinks=sinks) for _ in self.blocks]

    def forward(
        self,
        tokens: Tensor,
        mask: Tensor | None = None,
        *,
        positions: Tensor | None = None,
        cache: list[KeyValueCache] | None = None,
    ) -> Tensor:
        """The logits (batch, seq_len, vocab): row t scores what follows tokens[:, : t + 1].

        Args:
            tokens: (batch, seq_len); with a cache, only those that are new.
            mask: boolean, True where a query may see a key; broadcasts to
                (batch, num_heads, seq_len, key_len), cached keys included. Rows filled up at
                their ends need none, since nothing sees what comes later.
            positions: where each token stands, (seq_len,) or (batch, seq_len); by default they
                go on where the cache ends. Rows filled up at their beginnings need them.
            cache: what earlier calls kept, from `new_cache`; this call adds to it once it has
                succeeded.
        """
        logits: Tensor = self.W_vocab(self.hidden(tokens, mask, positions=positions, cache=cache))
        return logits  # (batch, seq_len, vocab)

    def hidden(
        self,
        tokens: Tensor,
        mask: Tensor | None = None,
        *,
        positions: Tensor | None = None,
        cache: list[KeyValueCache] | None = None,
    ) -> Tensor:
        """What the logits are made of, (batch, seq_len, d_model); the arguments are forward's."""
        check_tokens("tokens", tokens, ("batch", "seq_len"), self.vocab)
        check_device("tokens", tokens, "the weights", self.embedding.weight)
        self._check_cache(cache)
        where = self._where(tokens, positions, cache)
        x: Tensor = self.embedding(tokens)  # (batch, seq_len, d_model)
        if self.position_embedding is not None:
            x = x + self.position_embedding(where)
        x = self.dropout(x)

        # Who writes has the cache to himself, and gives it up if a call fails.
        grown = (cache or []) if KNOWN.to_fit else [part.copy() for part in cache or []]
        for i, block in enumerate(self.blocks):
            x = block(x, mask, positions=positions, cache=grown[i] if cache else None)
        x = self.norm(x)  # (batch, seq_len, d_model)
        if not KNOWN.to_fit:
            for part, new in zip(cache or [], grown, strict=True):
                part.update(new)
        return x

    def _where(
        self, tokens: Tensor, positions: Tensor | None, cache: list[KeyValueCache] | None
    ) -> Tensor:
        """Where the tokens stand, which is at one of the learned positions if there are any."""
        if positions is None:
            start = cache[0].length if cache else 0
            if self.max_len is not None:
                check_positions("tokens", start, tokens.size(1), self.max_len)
            return torch.arange(start, start + tokens.size(1), device=tokens.device)
        check_where("positions", positions, tokens.size(0), tokens.size(1), tokens)
        if self.max_len is not None:
            check_range("positions", positions, 0, self.max_len - 1)
        return positions

    def _check_cache(self, cache: list[KeyValueCache] | None) -> None:
        """The cache, if any, is one of `new_cache`, grown by whole calls."""
        if cache is None or KNOWN.to_fit:
            return
        check_each("cache", cache, KeyValueCache, expected="a list of KeyValueCache")
        lengths = [part.length for part in cache]
        if len(set(map(id, cache))) != len(self.blocks) or len(set(lengths)) > 1:
            raise ValueError(
                f"cache: got parts of lengths {lengths}, "
                f"expected {len(self.blocks)} parts of one length"
            )
