"""Right calls of the parts of a decoder-only model, of choosing tokens, and of making them."""

from collections.abc import Callable

import torch

from headwise import (
    beam_search,
    block,
    bpe,
    choosing,
    decoder_only,
    feed_forward,
    generation,
    rms_norm,
    speculative,
)
from headwise.multi_head import KeyValueCache
from right_calls.call import ANYWHERE, SEEN, SIZE, TOKENS, WHOLE, Call, Table, X, mha, of

MODULES = [beam_search, block, bpe, choosing, decoder_only, generation, rms_norm, speculative]
RECORDS = {"beam_search.Beam"}
ENCODING = bpe.BytePairEncoding.learn("low lower lowest", 260)
LOGITS = torch.randn(2, 5)
SO_FAR = torch.tensor([[3, 4, 1], [4, 3, -1]])
# Tokens may be of any whole dtype; logits of any floating one, and any number of them.
FREE = {"logits": {"double", "half", "longer"} | ANYWHERE, "tokens": {"longer"}}
CHOICE = {"temperature": 0.5, "top_k": 3, "top_p": 0.9, "min_p": 0.1, "repetition_penalty": 1.5}
ANY_TEXT = {"text": {"str", "bytes"}}


def chance() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def scores(tokens: torch.Tensor, rows: object = None) -> torch.Tensor:
    """Logits for what follows each token, or for a beam search what follows each row."""
    logits = torch.zeros(*tokens.shape, 5)
    return logits if rows is None else logits[:, -1]


def model() -> decoder_only.DecoderOnly:
    return decoder_only.DecoderOnly(9, 8, 2, 2, max_len=7, positions="learned")


def read_on(method: str | None = None) -> Call:
    """A whole model in the middle of a text."""
    whole = model()
    cache = whole.new_cache()
    whole(TOKENS[:, :2], cache=cache)
    arguments = {"tokens": TOKENS[:, 2:], "mask": SEEN[2:], "cache": cache}
    return of(whole, method, **arguments, positions=torch.tensor([2]))


def middle_block() -> Call:
    layer, cache = block.Block(mha()), KeyValueCache()
    layer(X[:, :2], cache=cache)
    arguments = {"x": X[:, 2:], "mask": SEEN[2:], "cache": cache}
    return of(layer, **arguments, positions=torch.tensor([2]))


def written(method: Callable[[], Callable[..., object]]) -> Callable[[], Call]:
    return lambda: Call(
        method(),
        {"prompts": [[3, 4], [5]], "max_new": 2, "choice": choosing.Choice(top_k=3), "eos": 2}
        | {"use_cache": True, "generator": chance()},
    )


def streamed() -> Call:
    call = written(lambda: model().stream)()
    arguments = {"prompt": [3, 4], **call.arguments}
    del arguments["prompts"]
    return Call(call.function, arguments)


def searched(method: Callable[[], Callable[..., object]]) -> Callable[[], Call]:
    return lambda: Call(
        method(),
        {"prompt": [3, 4], "width": 2, "max_new": 2, "eos": 2, "length_penalty": 1.0}
        | {"use_cache": True},
        {"length_penalty": {"range"}},
    )


GUESSING = {"target": scores, "draft": scores, "ahead": 2, "choice": choosing.GREEDY}


RIGHT: Table = {
    "beam_search.beam_search": lambda: Call(
        beam_search.beam_search,
        {"step": scores, "prompt": [1, 2], "width": 2, "max_new": 3, "eos": 4}
        | {"length_penalty": 1.0, "device": "cpu"},
        {"length_penalty": {"range"}},
    ),
    "choosing.Choice": lambda: Call(choosing.Choice, CHOICE),
    "choosing.Choice.adjust": lambda: Call(
        choosing.Choice(**CHOICE).adjust, {"logits": LOGITS, "tokens": SO_FAR}, FREE
    ),
    "choosing.Choice.probabilities": lambda: Call(
        choosing.Choice(**CHOICE).probabilities, {"logits": LOGITS, "tokens": SO_FAR}, FREE
    ),
    "choosing.min_p": lambda: Call(choosing.min_p, {"logits": LOGITS, "p": 0.1}, FREE),
    "choosing.sample": lambda: Call(
        choosing.sample, {"logits": LOGITS, "generator": chance()}, FREE
    ),
    "choosing.top_k": lambda: Call(choosing.top_k, {"logits": LOGITS, "k": 3}, FREE),
    "choosing.top_p": lambda: Call(choosing.top_p, {"logits": LOGITS, "p": 0.9}, FREE),
    "choosing.with_repetition_penalty": lambda: Call(
        choosing.with_repetition_penalty,
        {"logits": LOGITS, "tokens": SO_FAR, "penalty": 1.5},
        FREE,
    ),
    "choosing.with_temperature": lambda: Call(
        choosing.with_temperature, {"logits": LOGITS, "temperature": 0.5}, FREE
    ),
    "speculative.one_round": lambda: Call(
        speculative.one_round,
        {**GUESSING, "tokens": [1, 2], "draw": lambda weights: int(weights.argmax())}
        | {"device": "cpu"},
    ),
    "speculative.speculative": lambda: Call(
        speculative.speculative,
        {**GUESSING, "prompt": [1, 2], "max_new": 3, "eos": 4}
        | {"generator": chance(), "device": "cpu"},
    ),
    "block.Block": lambda: Call(
        block.Block,
        {"attention": mha(), "d_ff": 16, "norm": "rms", "activation": "swiglu", "bias": False}
        | {"eps": 1e-5, "dropout": 0.1},
    ),
    "block.Block.forward": middle_block,
    "block.make_norm": lambda: Call(
        block.make_norm, {"norm": "layer", "d_model": 8, "eps": 1e-5, "bias": True}
    ),
    "bpe.BytePairEncoding": lambda: Call(bpe.BytePairEncoding, {"merges": [(1, 2), (256, 3)]}),
    "bpe.BytePairEncoding.decode": lambda: Call(ENCODING.decode, {"tokens": [1, 2, 259]}),
    "bpe.BytePairEncoding.encode": lambda: Call(ENCODING.encode, {"text": "low"}, ANY_TEXT),
    "bpe.words": lambda: Call(bpe.words, {"text": "low lower"}, {"text": {"str"}}),
    "decoder_only.DecoderOnly": lambda: Call(
        decoder_only.DecoderOnly,
        {"vocab": 9, **SIZE, "num_layers": 1, "num_kv_heads": 1, "d_k": 4, "d_ff": 16}
        | {"max_len": 7, "norm": "rms", "activation": "swiglu", "positions": "rotary"}
        | {"bias": False, "tied": True, "eps": 1e-5, "theta": 100.0, "layout": "pairs"}
        | {"scale": 2.0, "window": 3, "sinks": 1, "learned_sink": True, "qk_norm": True}
        | {"dropout": 0.1},
    ),
    "decoder_only.DecoderOnly.forward": read_on,
    "decoder_only.DecoderOnly.hidden": lambda: read_on("hidden"),
    "decoder_only.DecoderOnly.new_cache": lambda: Call(
        model().new_cache, {"max_len": 7, "ring": True}
    ),
    "feed_forward.SwiGLU": lambda: Call(
        feed_forward.SwiGLU, {"d_model": 8, "d_ff": 16, "dropout": 0.1, "bias": True}
    ),
    "feed_forward.SwiGLU.forward": lambda: of(feed_forward.SwiGLU(8), x=X),
    "generation.Writer": lambda: Call(generation.Writer, {}),
    "generation.Writer.beam_search": searched(lambda: model().beam_search),
    "generation.Writer.generate": written(lambda: model().generate),
    "generation.Writer.stream": streamed,
    "rms_norm.RMSNorm": lambda: Call(rms_norm.RMSNorm, {"d_model": 8, "eps": 1e-6}),
    "rms_norm.RMSNorm.forward": lambda: of(
        rms_norm.RMSNorm(8), x=X, free={"x": WHOLE - {"longer"}}
    ),
}
