"""Right calls of the parts of a decoder-only model, of choosing tokens, and of making them."""

from headwise import bpe, feed_forward, rms_norm
from right_calls.call import WHOLE, Call, Table, X, of

ENCODING = bpe.BytePairEncoding.learn("low lower lowest", 260)
ANY_TEXT = {"text": {"str", "bytes"}}

RIGHT: Table = {
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
