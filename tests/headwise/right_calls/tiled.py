"""Right calls of attention tile by tile, in PyTorch and in Triton, and of latent attention."""

import torch

from headwise import flash, kernels, latent
from headwise.rotary import Rotary
from right_calls.call import SEEN, Call, K, Table, X

TILED = {"Q": K, "K": K, "V": K, "mask": SEEN, "bias": torch.zeros(3, 3), "is_causal": True}
TILED |= {"window": 2, "sinks": 1, "tile": 2}
FREE = {"V": {"longer"}, "bias": {"double", "half"}}

RIGHT: Table = {
    "flash.flash_attention": lambda: Call(flash.flash_attention, TILED, FREE),
    "kernels.triton_attention": lambda: Call(kernels.triton_attention, {**TILED, "tile": 16}, FREE),
    "flash.running_softmax": lambda: Call(
        flash.running_softmax, {"scores": torch.zeros(3), "V": torch.zeros(3, 2)}, {"V": {"longer"}}
    ),
}


def mla() -> latent.LatentAttention:
    return latent.LatentAttention(8, 2, 6, Rotary(4))


def decoding() -> Call:
    layer, cache = mla(), latent.LatentCache()
    layer(X[:, :2], cache=cache)
    arguments = {"x": X[:, 2:], "mask": SEEN[2:], "is_causal": True, "absorbed": True}
    return Call(layer, {**arguments, "cache": cache, "positions": torch.tensor([2])})


def kept(method: str) -> Call:
    layer, cache = mla(), latent.LatentCache()
    layer(X, cache=cache)
    arguments = {"layer": layer, "latent": torch.zeros(2, 1, 3, 6), "K_r": torch.zeros(2, 1, 3, 4)}
    return Call(getattr(cache, method), arguments)


RIGHT |= {
    "latent.LatentAttention": lambda: Call(
        latent.LatentAttention,
        {"d_model": 8, "num_heads": 2, "d_latent": 6, "rotary": Rotary(4), "d_k": 4, "d_v": 4},
    ),
    "latent.LatentAttention.forward": decoding,
    "latent.LatentCache": lambda: Call(latent.LatentCache, {}),
    "latent.LatentCache.keep": lambda: kept("keep"),
    "latent.LatentCache.recall": lambda: kept("recall"),
}
