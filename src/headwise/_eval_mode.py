"""A module in eval mode for one caller, whatever mode it is in for all others."""

from typing import TypeVar

from torch import nn

Module = TypeVar("Module", bound=nn.Module)


def without_dropout(module: Module) -> Module:
    """The module as it would be in eval mode, with the same weights, buffers and hooks.

    The module itself keeps its mode, since another thread may be training it.
    """
    if not any(part.training for part in module.modules()):
        return module
    module = getattr(module, "_orig_mod", module)  # of a compiled module, what was compiled
    twin = module.__new__(type(module))
    twin.__dict__ = module.__dict__.copy()
    twin.training = False
    twin._modules = {
        name: None if child is None else without_dropout(child)
        for name, child in module._modules.items()
    }
    return twin
