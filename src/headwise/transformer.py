"""The Transformer, encoder and decoder, with masks from the tokens and cached decoding."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from headwise._check import (
    ROWS,
    check_each,
    check_flags,
    check_kind,
    check_lengths,
    check_positions,
    check_sizes,
    check_start,
    check_whole,
)
from headwise._check_tensors import (
    check_counts,
    check_device,
    check_readable,
    check_shape,
    check_tokens,
)
from headwise._eval_mode import without_dropout
from headwise.layers import DecoderLayer, EncoderLayer, LayerCache, check_layer
from headwise.masks import padding_mask
from headwise.positional import LearnedPositions, SinusoidalPositions


class Encoder(nn.Module):
    """A stack of encoder layers and a last norm."""

    def __init__(self, layers: Sequence[EncoderLayer]) -> None:
        super().__init__()
        _check_layers(layers, EncoderLayer)
        self.layers = nn.ModuleList(layers)
        # Pre-LN needs it. Post-LN has it too, as in nn.Transformer; the paper does without.
        self.norm = nn.LayerNorm(layers[0].d_model)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        is_causal: bool = False,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, list[Tensor]]:
        """The memory (batch, seq_len, d_model); when asked, also each layer's weights.

        The arguments are those of EncoderLayer.forward.
        """
        weights = []
        for layer in self.layers:
            x = layer(x, mask, is_causal=is_causal, need_weights=need_weights)
            if need_weights:
                x, seen = x
                weights.append(seen)
        x = self.norm(x)
        return (x, weights) if need_weights else x


class Decoder(nn.Module):
    """A stack of decoder layers and a last norm."""

    def __init__(self, layers: Sequence[DecoderLayer]) -> None:
        super().__init__()
        _check_layers(layers, DecoderLayer)
        self.layers = nn.ModuleList(layers)
        self.norm = nn.LayerNorm(layers[0].d_model)

    def new_cache(self) -> list[LayerCache]:
        """An empty cache for one batch, with a part for each layer."""
        return [LayerCache() for _ in self.layers]

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        *,
        need_weights: bool = False,
        cache: list[LayerCache] | None = None,
    ) -> Tensor | tuple[Tensor, list[Tensor], list[Tensor]]:
        """The last hidden states (batch, seq_len, d_model); when asked, also each layer's weights.

        The arguments are those of DecoderLayer.forward; the cache is one of `new_cache`.
        """
        self._check_cache(cache)
        grown = [part.copy() for part in cache or []]
        weights, memory_weights = [], []
        for i, layer in enumerate(self.layers):
            part = grown[i] if cache else None
            x = layer(x, memory, mask, memory_mask, need_weights=need_weights, cache=part)
            if need_weights:
                x, seen, memory_seen = x
                weights.append(seen)
                memory_weights.append(memory_seen)
        x = self.norm(x)
        _keep_all(cache, grown)
        return (x, weights, memory_weights) if need_weights else x

    def _check_cache(self, cache: list[LayerCache] | None) -> None:
        """The cache, if any, is one of `new_cache`, grown by whole calls."""
        if cache is None:
            return
        check_each("cache", cache, LayerCache, expected="a list of LayerCache")
        for part in cache:
            part.check_parts("cache")
        lengths = [part.own.length for part in cache]
        if not len(set(map(id, cache))) == len(cache) == len(self.layers) or len(set(lengths)) > 1:
            raise ValueError(
                f"cache: got parts of lengths {lengths}, "
                f"expected {len(self.layers)} parts of one length"
            )


def _keep_all(cache: list[LayerCache] | None, grown: list[LayerCache]) -> None:
    """Let a cache hold what a call has made of its copy, now that the whole call has succeeded."""
    for part, new in zip(cache or [], grown, strict=True):
        part.update(new)


def _check_layers(layers: Sequence[nn.Module], one: type[nn.Module]) -> None:
    """There are layers, all of this kind and of one width."""
    check_kind("layers", layers, Sequence, nn.ModuleList, expected=f"a list of {one.__name__}")
    if len(layers) == 0:
        raise ValueError("layers: got none, expected at least one")
    for layer in layers:
        check_kind("layers", getattr(layer, "_orig_mod", layer), one)  # compiled ones as well
    widths = [layer.d_model for layer in layers]
    if len(set(widths)) > 1:
        raise ValueError(f"layers: got d_model = {widths}, expected one width")


class Weights(NamedTuple):
    """The attention weights of a whole model, in lists with one tensor a layer.

    encoder: (batch, num_heads, src_len, src_len).
    decoder: (batch, num_heads, tgt_len, tgt_len).
    memory: (batch, num_heads, tgt_len, src_len), how the decoder looks at the source.
    """

    encoder: list[Tensor]
    decoder: list[Tensor]
    memory: list[Tensor]


class Transformer(nn.Module):
    """From the source and the target so far to scores (logits) for each next target token.

    Args:
        src_vocab: how many source tokens there are.
        tgt_vocab: how many target tokens there are.
        d_model: width of the model.
        num_heads: heads in every attention; it divides d_model.
        num_layers: layers in the encoder, and as many in the decoder.
        d_ff: width inside the feed-forward networks, 4 * d_model by default.
        dropout: the share dropped while training, in the layers and of the embeddings.
        activation: "relu" or "gelu".
        norm_first: pre-LN; otherwise post-LN.
        max_len: the longest sequence there will be, and then positions are learned; by default
            they are sines and cosines, and there is no longest sequence.
        pad: the token that fills up short rows, on both sides. No attention sees it. -1: there
            is none.
        tie_weights: the output matrix is the target embedding itself, not one of its own.
    """

    def __init__(
        self,
        src_vocab: int,
        tgt_vocab: int,
        *,
        d_model: int = 512,
        num_heads: int = 8,
        num_layers: int = 6,
        d_ff: int | None = None,
        dropout: float = 0.1,
        activation: str = "relu",
        norm_first: bool = False,
        max_len: int | None = None,
        pad: int = 0,
        tie_weights: bool = False,
    ) -> None:
        super().__init__()
        check_layer(d_model, num_heads, d_ff, dropout, activation, norm_first)
        check_sizes(num_layers=num_layers, most=10_000)
        check_sizes(src_vocab=src_vocab, tgt_vocab=tgt_vocab, most=ROWS)
        check_sizes(max_len=1 if max_len is None else max_len, most=ROWS)
        check_whole("pad", pad, -1, min(src_vocab, tgt_vocab) - 1, "a token")
        check_flags(tie_weights=tie_weights)
        self.src_vocab, self.tgt_vocab, self.pad = int(src_vocab), int(tgt_vocab), int(pad)
        self.d_model, self.max_len = int(d_model), None if max_len is None else int(max_len)

        def positions() -> nn.Module:
            return SinusoidalPositions() if max_len is None else LearnedPositions(max_len, d_model)

        self.src_embedding, self.src_positions = nn.Embedding(src_vocab, d_model), positions()
        self.tgt_embedding, self.tgt_positions = nn.Embedding(tgt_vocab, d_model), positions()
        self.dropout = nn.Dropout(dropout)

        size = (d_model, num_heads, d_ff)
        self.encoder = Encoder(
            [
                EncoderLayer(*size, dropout=dropout, activation=activation, norm_first=norm_first)
                for _ in range(num_layers)
            ]
        )
        self.decoder = Decoder(
            [
                DecoderLayer(*size, dropout=dropout, activation=activation, norm_first=norm_first)
                for _ in range(num_layers)
            ]
        )
        self.W_vocab = nn.Linear(d_model, tgt_vocab, bias=False)

        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
            elif isinstance(module, nn.Embedding):
                # After × √d_model an embedding is then about as large as a positional code.
                nn.init.normal_(module.weight, std=d_model**-0.5)
        if tie_weights:
            self.W_vocab.weight = self.tgt_embedding.weight

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        *,
        src_lengths: Tensor | None = None,
        tgt_lengths: Tensor | None = None,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Weights]:
        """The logits (batch, tgt_len, tgt_vocab): row t scores what follows tgt[:, : t + 1].

        Args:
            src: source tokens (batch, src_len).
            tgt: target tokens so far (batch, tgt_len).
            src_lengths: how many tokens of each source are real, (batch,); by default all that
                are not pad.
            tgt_lengths: the same for the target.
            need_weights: also return the attention weights.
        """
        self._check_src(src, src_lengths)
        self._check_tgt(tgt, src.size(0), tgt_lengths)
        check_flags(need_weights=need_weights)
        src_mask = self.visible(src, src_lengths)  # (batch, 1, 1, src_len)
        tgt_mask = self.visible(tgt, tgt_lengths)  # (batch, 1, 1, tgt_len)

        memory = self.encoder(self.embed_src(src), src_mask, need_weights=need_weights)
        memory, encoder_weights = memory if need_weights else (memory, [])

        x = self.embed_tgt(tgt)  # (batch, tgt_len, d_model)
        x = self.decoder(x, memory, tgt_mask, src_mask, need_weights=need_weights)
        x, *decoder_weights = x if need_weights else (x,)

        logits = self.W_vocab(x)  # (batch, tgt_len, tgt_vocab)
        return (logits, Weights(encoder_weights, *decoder_weights)) if need_weights else logits

    def visible(self, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The mask (batch, 1, 1, seq_len) that hides the padding: pad tokens, or by lengths."""
        vocab = max(self.src_vocab, self.tgt_vocab)
        check_tokens("tokens", tokens, ("batch", "seq_len"), vocab)
        if lengths is None:
            return (tokens != self.pad)[:, None, None, :]  # (batch, 1, 1, seq_len)
        _check_lengths("lengths", lengths, tokens)
        return padding_mask(lengths, tokens.size(1))  # (batch, 1, 1, seq_len)

    def embed_src(self, src: Tensor) -> Tensor:
        """Source tokens (batch, src_len) as vectors with positions, (batch, src_len, d_model)."""
        self._check_src(src)
        x: Tensor = self.src_embedding(src) * math.sqrt(self.d_model)  # (batch, src_len, d_model)
        x = self.dropout(self.src_positions(x))
        return x

    def embed_tgt(self, tgt: Tensor, start: int = 0) -> Tensor:
        """The same for target tokens, of which the first stands at position start."""
        self._check_tgt(tgt, start=start)
        x: Tensor = self.tgt_embedding(tgt) * math.sqrt(self.d_model)  # (batch, tgt_len, d_model)
        x = self.dropout(self.tgt_positions(x, start))
        return x

    def decode(
        self,
        tgt: Tensor,
        memory: Tensor,
        memory_mask: Tensor | None,
        cache: list[LayerCache] | None = None,
    ) -> Tensor:
        """The logits (batch, new_len, tgt_vocab) of those target positions that are not cached yet.

        Args:
            tgt: all target tokens so far (batch, tgt_len), those in the cache included.
            memory: what the encoder gave, (batch, src_len, d_model).
            memory_mask: what of it may be seen, `visible` of the source; None shows all.
            cache: what earlier calls kept, from decoder.new_cache(); without, all is computed.
        """
        self._check_tgt(tgt)
        self.decoder._check_cache(cache)
        start = cache[0].own.length if cache else 0
        if cache and start >= tgt.size(1):
            raise ValueError(
                f"tgt: got {tgt.size(1)} tokens, expected more than the {start} in the cache"
            )
        grown = [part.copy() for part in cache or []]
        x = self.embed_tgt(tgt[:, start:], start)  # (batch, new_len, d_model)
        x = self.decoder(x, memory, self.visible(tgt), memory_mask, cache=grown if cache else None)
        logits: Tensor = self.W_vocab(x)  # (batch, new_len, tgt_vocab)
        _keep_all(cache, grown)
        return logits

    @torch.no_grad()
    def generate(
        self,
        src: Tensor,
        max_len: int,
        bos: int,
        eos: int,
        *,
        src_lengths: Tensor | None = None,
        use_cache: bool = True,
        need_logits: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """The likeliest next token again and again: (batch, new_len), without bos, at most max_len.

        A row ends with eos, and is filled up with pad while others go on, or with eos where there
        is no pad. Dropout is off, whatever mode the model is in, and the mode stays: a model may
        be used in several threads. Since the tokens decide when to stop, this cannot be exported;
        `decode` can.

        Args:
            src: source tokens (batch, src_len).
            max_len: the most tokens to write.
            bos: the token that stands before the first.
            eos: the token that ends a row, or -1: none does.
            src_lengths: as in `forward`.
            use_cache: keep keys and values, or compute everything anew for each token; the
                tokens are the same.
            need_logits: also return what they were chosen by, (batch, new_len, tgt_vocab).
        """
        self._check_src(src, src_lengths)
        check_readable("src", src)
        self.check_writing(max_len, bos, eos)
        check_flags(use_cache=use_cache, need_logits=need_logits)
        model = without_dropout(self)
        memory_mask = model.visible(src, src_lengths)  # (batch, 1, 1, src_len)
        memory = model.encoder(model.embed_src(src), memory_mask)  # (batch, src_len, d_model)
        cache = model.decoder.new_cache() if use_cache else None
        tokens = src.new_full((src.size(0), 1), bos)  # (batch, 1)
        all_logits = memory.new_empty(src.size(0), 0, self.tgt_vocab)
        finished = torch.zeros(src.size(0), dtype=torch.bool, device=src.device)
        filler = eos if self.pad == -1 else self.pad
        while tokens.size(1) <= max_len and not finished.all():
            logits = model.decode(tokens, memory, memory_mask, cache)
            logits = logits[:, -1]  # (batch, tgt_vocab)
            chosen = logits.argmax(-1).masked_fill(finished, filler)  # (batch,)
            finished = finished | (chosen == eos) | (chosen == self.pad)
            tokens = torch.cat((tokens, chosen[:, None]), dim=1)
            all_logits = torch.cat((all_logits, logits[:, None]), dim=1)
        return (tokens[:, 1:], all_logits) if need_logits else tokens[:, 1:]

    def _check_src(self, src: Tensor, src_lengths: Tensor | None = None) -> None:
        check_tokens("src", src, ("batch", "src_len"), self.src_vocab)
        check_device("src", src, "the weights", self.src_embedding.weight)
        _check_lengths("src_lengths", src_lengths, src)
        if self.max_len is not None:
            check_positions("src", 0, src.size(1), self.max_len)

    def _check_tgt(
        self,
        tgt: Tensor,
        batch: int | str = "batch",
        tgt_lengths: Tensor | None = None,
        start: int = 0,
    ) -> None:
        check_tokens("tgt", tgt, (batch, "tgt_len"), self.tgt_vocab)
        check_device("tgt", tgt, "the weights", self.tgt_embedding.weight)
        _check_lengths("tgt_lengths", tgt_lengths, tgt)
        check_start(start)
        if self.max_len is not None:
            check_positions("tgt", start, tgt.size(1), self.max_len)

    def check_writing(self, max_len: int, bos: int, eos: int) -> None:
        """`generate` can be asked for this."""
        check_lengths(max_len=max_len)
        check_whole("bos", bos, 0, self.tgt_vocab - 1, "a token")
        check_whole("eos", eos, -1, self.tgt_vocab - 1, "a token")
        if bos == self.pad:
            raise ValueError(f"bos: got {bos}, which is pad, expected a token that can be seen")
        if self.max_len is not None and max_len > self.max_len:
            raise ValueError(
                f"max_len: got {max_len}, expected at most {self.max_len}, as max_len = "
                f"{self.max_len} in this model"
            )


def _check_lengths(name: str, lengths: Tensor | None, tokens: Tensor) -> None:
    """The lengths, if any, are those of the tokens (batch, seq_len)."""
    if lengths is not None:
        check_shape(name, lengths, (tokens.size(0),))
        check_device(name, lengths, "the tokens", tokens)
        check_counts(name, lengths, seq_len=tokens.size(1))
