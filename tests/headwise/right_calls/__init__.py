"""Right calls of everything public in headwise, from which the tests make wrong ones.

A module that is listed in MODULES needs a right call for each of its public functions, classes
and methods. A parameter may be free of a rule: then what breaks the rule is right as well.
"""

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

from headwise import (
    alibi,
    attention,
    by_hand,
    cache,
    convert,
    data_parallel,
    feed_forward,
    flash,
    flex,
    heads,
    kernels,
    latent,
    layers,
    masks,
    multi_head,
    museum,
    positional,
    rotary,
    single_head,
    timing,
    trace,
    transformer,
    variants,
    windows,
)
from headwise.drawing import diagrams, plot
from headwise.models import numerals, translator, translator_training
from right_calls import blocks, decoders, pictures, published, smollm2, stacks, tiled, tools
from right_calls.call import Call, Table

__all__ = ["MODULES", "RIGHT", "Call", "public"]

MODULES: list[ModuleType] = [
    *(attention, convert, data_parallel, feed_forward, heads, layers, masks, multi_head),
    *(numerals, positional, single_head, timing, trace, transformer, translator),
    *(translator_training, variants, diagrams, plot, museum),
]
RIGHT: Table = {**blocks.RIGHT, **stacks.RIGHT, **tools.RIGHT, **pictures.RIGHT}
MODULES += [by_hand, cache, rotary, alibi, windows, flex]
MODULES += [flash, kernels, latent]
RIGHT |= tiled.RIGHT
# What these offer is defined in files of their own.
GATHERED = (diagrams, plot, museum, kernels)
# Records hold whatever they are given; commands take words, and have tests of their own.
RECORDS = {"convert.Projection", "museum.Exhibit", "timing.Cost", "trace.Step"} | {
    "transformer.Weights"
}
RECORDS |= {"by_hand.Steps", "flash.Running"}
RECORDS |= {"cache.CachedLayer"}  # a protocol
MODULES += decoders.MODULES
RIGHT |= decoders.RIGHT
RECORDS |= decoders.RECORDS
MODULES += published.MODULES
RIGHT |= published.RIGHT
RECORDS |= published.RECORDS
MODULES += smollm2.MODULES
RIGHT |= smollm2.RIGHT
RECORDS |= smollm2.RECORDS
COMMANDS = {"data_parallel.main", "minilm.main", "timing.main", "translator.main"}
COMMANDS |= smollm2.COMMANDS


def public(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """Functions, classes and methods that the module defines or offers, by their names."""
    short = module.__name__.rpartition(".")[2]
    found: dict[str, Callable[..., Any]] = {}
    for name, thing in vars(module).items():
        own = getattr(thing, "__module__", None) == module.__name__
        if name.startswith("_") or not (own or (module in GATHERED and name in module.__all__)):
            continue
        if inspect.isfunction(thing) or inspect.isclass(thing):
            found[f"{short}.{name}"] = thing
        if inspect.isclass(thing):
            for method, function in vars(thing).items():
                if inspect.isfunction(function) and not method.startswith("_"):
                    found[f"{short}.{name}.{method}"] = function
    return {
        name: thing
        for name, thing in found.items()
        if name not in COMMANDS
        and not any(name == record or name.startswith(f"{record}.") for record in RECORDS)
        and not name.endswith("extra_repr")
        and ".check_" not in name
    }
