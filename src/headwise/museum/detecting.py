"""What the detectors share: how to call other people's code and read whatever it returns.

A detector ends in one of two ways: it returns, or it raises an AssertionError that says what is
wrong. So the code it judges may return a tensor of any dtype, a NumPy array or nested lists; an
exception in that code becomes an AssertionError too.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

Convention = Literal["True shows", "True hides", "1 shows", "1 hides", "-inf hides"]
"""What a mask may mean. The last one is added to the scores, and its 0 shows."""


def call(name: str, function: Callable[..., Any], *inputs: Any) -> Any:
    """What the function returns; name is the detector's word for it."""
    if not callable(function):
        raise TypeError(f"{name}: got {type(function).__name__}, expected a function")
    try:
        return function(*inputs)
    except Exception as error:
        raise AssertionError(f"{name} stopped with {type(error).__name__}: {error}") from error


def answer(name: str, function: Callable[..., Any], *inputs: Any, shape: tuple[int, ...]) -> Tensor:
    """What the function returns, in float64, with the shape that it should have.

    A last size of -1 stands for any. Axes of 1 in front may be there or not, and those before
    the last two may be folded into one: (1, 1, 5, 5) will do for (5, 5), and (8, 6, 2) for
    (2, 4, 6, 2).
    """
    found = as_tensor(name, call(name, function, *inputs))
    if shape[-1] == -1:
        shape = (*shape[:-1], *found.shape[-1:])
    same = found.shape[-2:] == shape[-2:] and found.numel() == math.prod(shape)
    assert same, f"{name} returned the shape {tuple(found.shape)}, expected {tuple(shape)}"
    return found.reshape(shape)


def answers(name: str, function: Callable[..., Any], *inputs: Any) -> tuple[Tensor, Tensor]:
    """The two arrays that the function returns, in float64, flattened, of one length."""
    returned = call(name, function, *inputs)
    try:
        one, other = returned
    except (TypeError, ValueError) as error:
        kind = type(returned).__name__
        raise AssertionError(f"{name} returned a {kind}, expected two arrays") from error
    first, second = as_tensor(name, one).flatten(), as_tensor(name, other).flatten()
    sizes = f"{name} returned {len(first)} and {len(second)} numbers, expected as many"
    assert len(first) == len(second), sizes
    return first, second


def as_tensor(name: str, returned: Any) -> Tensor:
    """Anything that holds numbers, in float64."""
    try:
        values = returned.tolist() if hasattr(returned, "tolist") else returned
        return torch.tensor(values, dtype=torch.float64)
    except Exception as error:
        kind = type(returned).__name__
        raise AssertionError(f"{name} returned a {kind}, expected one array of numbers") from error


@contextmanager
def evaluating(function: Callable[..., Any]) -> Iterator[None]:
    """A module in evaluation while it is judged, and afterwards as it was."""
    modules = function.modules() if isinstance(function, nn.Module) else ()
    modes = [(module, module.training) for module in modules]
    for module, _ in modes:
        module.training = False
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


def given(mask: Tensor, convention: Convention) -> Tensor:
    """A mask of ours, in which True shows, as code of another convention wants it."""
    check_convention(convention)
    if convention == "-inf hides":
        return torch.zeros(mask.shape).masked_fill(~mask, -math.inf)
    ones = ~mask if "hides" in convention else mask.clone()
    return ones.long() if "1" in convention else ones


def seen(mask: Tensor, convention: Convention) -> Tensor:
    """Where a mask from elsewhere shows a key.

    One with negative numbers is added to the scores, whatever the convention says, and -100 is
    enough to hide. True and 1 are the same here.
    """
    check_convention(convention)
    if mask.lt(0).any():
        convention = "-inf hides"
    shows, hides = mask == 0, mask == 1
    if convention == "-inf hides":
        hides = mask <= -100
    elif "shows" in convention:
        shows, hides = hides, shows
    other = mask[~(shows | hides)].tolist()
    assert not other, f"the mask holds {other[0]}, expected one where {convention}"
    return shows


def check_seen(found: Tensor, mask: Tensor, convention: Convention) -> None:
    """In every head, the queries of item b see what mask b shows.

    found is (batch, num_heads, query, key), mask is (batch, query, key).
    """
    for b, h, i in product(*map(range, found.shape[:3])):
        keys, expected = places(found[b, h, i]), places(mask[b, i])
        assert keys == expected, (
            f"query {i} of item {b} sees keys {keys} in head {h}, its mask shows {expected}, "
            f"where {convention}"
        )


def places(row: Tensor) -> list[int]:
    """The places at which a row is True."""
    return [place for place, true in enumerate(row.tolist()) if true]


def check_convention(convention: str) -> None:
    """The convention is one of those above."""
    names = get_args(Convention)
    if convention not in names:
        raise ValueError(f"convention: got {convention!r}, expected one of {', '.join(names)}")
