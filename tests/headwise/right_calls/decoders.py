"""Right calls of the parts of a decoder-only model, of choosing tokens, and of making them."""

import torch

from headwise import beam_search, bpe, choosing, feed_forward, rms_norm, speculative
from right_calls.call import ANYWHERE, WHOLE, Call, Table, X, of

MODULES = [beam_search, bpe, choosing, rms_norm, speculative]
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
    "bpe.BytePairEncoding": lambda: Call(bpe.BytePairEncoding, {"merges": [(1, 2), (256, 3)]}),
    "bpe.BytePairEncoding.decode": lambda: Call(ENCODING.decode, {"tokens": [1, 2, 259]}),
    "bpe.BytePairEncoding.encode": lambda: Call(ENCODING.encode, {"text": "low"}, ANY_TEXT),
    "bpe.words": lambda: Call(bpe.words, {"text": "low lower"}, {"text": {"str"}}),
    "feed_forward.SwiGLU": lambda: Call(
        feed_forward.SwiGLU, {"d_model": 8, "d_ff": 16, "dropout": 0.1, "bias": True}
    ),
    "feed_forward.SwiGLU.forward": lambda: of(feed_forward.SwiGLU(8), x=X),
    "rms_norm.RMSNorm": lambda: Call(rms_norm.RMSNorm, {"d_model": 8, "eps": 1e-6}),
    "rms_norm.RMSNorm.forward": lambda: of(
        rms_norm.RMSNorm(8), x=X, free={"x": WHOLE - {"longer"}}
    ),
}
