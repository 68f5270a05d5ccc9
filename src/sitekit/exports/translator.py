"""The trained translator: what it reads, and what it would write next, with all its weights."""

from __future__ import annotations

from torch import Tensor

from headwise.models import translator
from sitekit.graph_inputs import Floats, Integers
from sitekit.graphs import Program

# float16 as the page gets them: what is proved there is proved of these numbers.
MODEL = translator.load().half().float()
_SRC = Integers("batch", "src_len", least=1, most=len(translator.SRC_TOKENS) - 1)
_TGT = Integers("batch", "tgt_len", least=1, most=len(translator.TGT_TOKENS) - 1)


def encode(src: Tensor) -> object:
    """The memory, and each layer's weights."""
    return MODEL.encoder(MODEL.embed_src(src), MODEL.visible(src), need_weights=True)


def decode(tgt: Tensor, memory: Tensor, src: Tensor) -> object:
    """The logits after each word, and each layer's weights: on words, and on the source."""
    x = MODEL.embed_tgt(tgt)
    x, *weights = MODEL.decoder(
        x, memory, MODEL.visible(tgt), MODEL.visible(src), need_weights=True
    )
    return MODEL.W_vocab(x), weights


PROGRAMS = {
    "translator_encode": Program(encode, {"src": _SRC}, MODEL),
    "translator_decode": Program(
        decode,
        {"tgt": _TGT, "memory": Floats("batch", "src_len", 64, most=1.0), "src": _SRC},
        MODEL,
    ),
}
