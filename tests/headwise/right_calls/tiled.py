"""Right calls of attention tile by tile, in PyTorch and in Triton, and of latent attention."""

import torch

from headwise import flash, kernels
from right_calls.call import SEEN, Call, K, Table

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
