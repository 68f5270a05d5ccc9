"""Right calls of layers, of whole models, and of what moves weights."""

import torch

from headwise import convert, layers, transformer
from right_calls.blocks import held
from right_calls.call import ANYWHERE, SEEN, SIZE, TOKENS, Call, Table, X, mha, of

LAYER = {**SIZE, "d_ff": 16, "dropout": 0.1, "activation": "relu", "norm_first": False}


def model() -> transformer.Transformer:
    return transformer.Transformer(9, 8, d_model=8, num_heads=2, num_layers=2)


def cached() -> Call:
    """A whole decoder in the middle of a sequence."""
    whole = model().eval()
    cache = whole.decoder.new_cache()
    memory, mask = torch.randn(2, 4, 8), torch.ones(2, 1, 1, 4, dtype=torch.bool)
    whole.decode(TOKENS[:, :2], memory, mask, cache)
    arguments = {"tgt": TOKENS, "memory": memory, "memory_mask": mask, "cache": cache}
    return Call(whole.decode, arguments, {"tgt": {"longer"}})


def decoder_layer() -> Call:
    layer, cache = layers.DecoderLayer(8, 2), layers.LayerCache()
    layer(X[:, :2], X, cache=cache)
    arguments = {"x": X[:, 2:], "memory": X, "mask": SEEN[2:], "memory_mask": SEEN[2:]}
    arguments |= {"cache": cache, "need_weights": False}
    return Call(layer, arguments)


def decoder() -> Call:
    stack = transformer.Decoder([layers.DecoderLayer(8, 2) for _ in range(2)])
    cache = stack.new_cache()
    stack(X[:, :2], X, cache=cache)
    arguments = {"x": X[:, 2:], "memory": X, "mask": SEEN[2:], "memory_mask": SEEN[2:]}
    arguments |= {"cache": cache, "need_weights": False}
    return Call(stack, arguments)


RIGHT: Table = {
    "convert.convert": lambda: Call(convert.convert, {"source": mha(), "target": mha()}),
    "convert.projections": lambda: Call(convert.projections, {"module": mha()}),
    "convert.head_count": lambda: Call(convert.head_count, {"module": mha()}),
    "layers.DecoderLayer": lambda: Call(layers.DecoderLayer, LAYER),
    "layers.DecoderLayer.forward": decoder_layer,
    "layers.EncoderLayer": lambda: Call(layers.EncoderLayer, {**LAYER, "eps": 1e-12}),
    "layers.EncoderLayer.forward": lambda: of(
        layers.EncoderLayer(8, 2), x=X, mask=SEEN, is_causal=False, need_weights=False
    ),
    "layers.LayerCache": lambda: Call(layers.LayerCache, {"own": held(), "memory": held(True)}),
    "layers.LayerCache.copy": lambda: Call(layers.LayerCache().copy, {}),
    "layers.LayerCache.update": lambda: Call(
        layers.LayerCache().update, {"other": layers.LayerCache()}
    ),
    "layers.Residual": lambda: Call(
        layers.Residual, {"d_model": 8, "dropout": 0.1, "norm_first": True, "eps": 1e-12}
    ),
    "layers.Residual.enter": lambda: of(layers.Residual(8, norm_first=True), "enter", x=X),
    "layers.Residual.leave": lambda: of(layers.Residual(8), "leave", x=X, change=X),
    "transformer.Decoder": lambda: Call(
        transformer.Decoder, {"layers": [layers.DecoderLayer(8, 2)]}
    ),
    "transformer.Decoder.forward": decoder,
    "transformer.Decoder.new_cache": lambda: Call(model().decoder.new_cache, {}),
    "transformer.Encoder": lambda: Call(
        transformer.Encoder, {"layers": [layers.EncoderLayer(8, 2)]}
    ),
    "transformer.Encoder.forward": lambda: of(
        transformer.Encoder([layers.EncoderLayer(8, 2)]),
        x=X,
        mask=SEEN,
        is_causal=False,
        need_weights=False,
    ),
    "transformer.Transformer": lambda: Call(
        transformer.Transformer,
        {"src_vocab": 9, "tgt_vocab": 8, **LAYER, "num_layers": 1, "max_len": 7, "pad": 0}
        | {"tie_weights": False},
    ),
    "transformer.Transformer.decode": cached,
    "transformer.Transformer.embed_src": lambda: of(
        model(), "embed_src", src=TOKENS, free={"src": {"longer"}}
    ),
    "transformer.Transformer.embed_tgt": lambda: of(
        model(), "embed_tgt", tgt=TOKENS, start=0, free={"tgt": {"longer"}}
    ),
    "transformer.Transformer.forward": lambda: of(
        model(),
        src=TOKENS,
        tgt=TOKENS,
        src_lengths=torch.tensor([3, 2]),
        tgt_lengths=torch.tensor([3, 2]),
        need_weights=False,
        free={"src": {"longer"}, "tgt": {"longer"}},
    ),
    "transformer.Transformer.generate": lambda: of(
        model(),
        "generate",
        src=TOKENS,
        max_len=2,
        bos=1,
        eos=2,
        src_lengths=torch.tensor([3, 2]),
        use_cache=True,
        need_logits=False,
        free={"src": {"longer"}},
    ),
    "transformer.Transformer.visible": lambda: of(
        model(),
        "visible",
        tokens=TOKENS,
        lengths=torch.tensor([3, 2]),
        free={"tokens": ANYWHERE | {"longer"}},
    ),
}
