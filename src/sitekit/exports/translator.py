"""The trained translator: what it reads, and what it would write next, with all its weights.

Parts of it can be switched off: heads, characters, positions, the causal mask. The model itself
stays as it is; hooks change what goes into its modules and what comes out of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from headwise.masks import causal_mask, combine
from headwise.models import translator
from headwise.transformer import Decoder, Encoder
from sitekit.graph_inputs import Floats, Integers, Mask
from sitekit.graphs import Program

# float16 as the page gets them: what is proved there is proved of these numbers.
MODEL = translator.load().half().float()
_SRC = Integers("batch", "src_len", least=1, most=len(translator.SRC_TOKENS) - 1)
_TGT = Integers("batch", "tgt_len", least=1, most=len(translator.TGT_TOKENS) - 1)
_LAYERS, _HEADS = translator.MODEL["num_layers"], translator.MODEL["num_heads"]


def _all(stack: Encoder | Decoder, name: str) -> list[Any]:
    """The attention of this name in every layer."""
    return [getattr(layer, name) for layer in stack.layers]


@contextmanager
def _placed(embedded: nn.Module, on: Tensor) -> Iterator[None]:
    """Positions are added if this is on."""

    def choose(module: nn.Module, args: tuple[Any, ...], out: Tensor) -> Tensor:
        return torch.where(on, out, args[0])

    with embedded.register_forward_hook(choose):
        yield


@contextmanager
def _heads(attentions: Sequence[Any], on: Tensor) -> Iterator[None]:
    """Of each layer, only the heads that are on give anything to W_o; on is (layers, heads)."""
    with ExitStack() as stack:
        for i, attention in enumerate(attentions):

            def gate(module: nn.Module, args: tuple[Tensor], gates: Tensor = on[i]) -> Tensor:
                out: Tensor = args[0].unflatten(-1, (_HEADS, -1)) * gates[:, None]
                return out.flatten(-2)

            stack.enter_context(attention.W_o.register_forward_pre_hook(gate))
        yield


@contextmanager
def _sight(attentions: Sequence[Any], mask: Tensor | None) -> Iterator[None]:
    """What queries may see is this mask's to say, and nothing else's."""

    def see(module: nn.Module, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        return args, kwargs | {"mask": mask, "is_causal": False}

    with ExitStack() as stack:
        for attention in attentions:
            stack.enter_context(attention.register_forward_pre_hook(see, with_kwargs=True))
        yield


def encode(src: Tensor, shown: Tensor, heads: Tensor, positions: Tensor) -> object:
    """The memory, and each layer's weights.

    Args:
        src: the characters, (batch, src_len).
        shown: whether each of them may be seen, (batch, src_len).
        heads: whether each head is on, (layers, heads).
        positions: whether there are positions, (1,).
    """
    with _placed(MODEL.src_positions, positions):
        x = MODEL.embed_src(src)
    mask = combine(MODEL.visible(src), shown[:, None, None])
    with _heads(_all(MODEL.encoder, "attention"), heads):
        return MODEL.encoder(x, mask, need_weights=True)


def decode(
    tgt: Tensor,
    memory: Tensor,
    shown: Tensor,
    own_heads: Tensor,
    source_heads: Tensor,
    positions: Tensor,
    causal: Tensor,
) -> object:
    """The probabilities of what follows each word, and each layer's weights and their means.

    The weights are those on words, on the source, and on the source as the mean over the heads,
    where a head that is off counts as one that sees nothing.

    Args:
        tgt: the words, (batch, tgt_len).
        memory: what the encoder gave, (batch, src_len, 64).
        shown: whether each character may be seen, (batch, src_len).
        own_heads: whether each head of the self-attention is on, (layers, heads).
        source_heads: the same for the cross-attention.
        positions: whether there are positions, (1,).
        causal: whether later words are hidden, (1,).
    """
    with _placed(MODEL.tgt_positions, positions):
        x = MODEL.embed_tgt(tgt)
    mask = combine(MODEL.visible(tgt), causal_mask(tgt.size(1)) | ~causal)
    with (
        _sight(_all(MODEL.decoder, "self_attention"), mask),
        _heads(_all(MODEL.decoder, "self_attention"), own_heads),
        _heads(_all(MODEL.decoder, "cross_attention"), source_heads),
    ):
        x, own, source = MODEL.decoder(x, memory, None, shown[:, None, None], need_weights=True)
    gated = [seen * source_heads[i, :, None, None] for i, seen in enumerate(source)]
    means = [seen.mean(dim=1) for seen in gated]
    return torch.softmax(MODEL.W_vocab(x), dim=-1), own, source, means


_SHOWN, _ON, _GATES = Mask("batch", "src_len"), Mask(1), Mask(_LAYERS, _HEADS)

PROGRAMS = {
    "translator_encode": Program(
        encode, {"src": _SRC, "shown": _SHOWN, "heads": _GATES, "positions": _ON}, MODEL
    ),
    "translator_decode": Program(
        decode,
        {
            "tgt": _TGT,
            "memory": Floats("batch", "src_len", 64, most=1.0),
            "shown": _SHOWN,
            "own_heads": _GATES,
            "source_heads": _GATES,
            "positions": _ON,
            "causal": _ON,
        },
        MODEL,
    ),
}
