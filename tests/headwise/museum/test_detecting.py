"""Every detector ends in a pass or in an AssertionError, whatever it is given to judge."""

import inspect
import math
from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import pytest
import torch
from torch import Tensor

from headwise.museum import EXHIBITS, TODAY, Exhibit
from headwise.museum.detecting import Convention, answer, as_tensor, given, seen

ALL = EXHIBITS + TODAY
every_exhibit = pytest.mark.parametrize("exhibit", ALL, ids=[one.id for one in ALL])

FORMS: dict[str, Callable[[Tensor], Any]] = {
    "float64": lambda x: x.double(),
    "bfloat16": lambda x: x.bfloat16(),
    "float16": lambda x: x.half(),
    "with a gradient": lambda x: x.double().requires_grad_(),
    "numpy": lambda x: x.numpy(),
    "numpy, backwards in memory": lambda x: (
        np.flip(x.flip(-1).numpy(), -1) if x.dim() else x.numpy()
    ),
    "numpy, one more axis": lambda x: x[None].numpy(),
    "lists": lambda x: x.tolist(),
}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def in_form(function: Callable[..., Any], form: Callable[[Tensor], Any]) -> Callable[..., Any]:
    """The function, with what it returns in another form; token ids become NumPy's at most."""

    def formed(*inputs: Any) -> Any:
        made = function(*inputs)
        if isinstance(made, tuple):
            return tuple(form(one) if form is FORMS["numpy"] else one for one in made)
        return form(made)

    return formed


@every_form
@every_exhibit
def test_right_code_passes_in_every_form(exhibit: Exhibit, form: Callable[[Tensor], Any]) -> None:
    exhibit.detector(in_form(exhibit.right, form))


@every_form
@every_exhibit
def test_wrong_code_is_caught_in_every_form(
    exhibit: Exhibit, form: Callable[[Tensor], Any]
) -> None:
    with pytest.raises(AssertionError):
        exhibit.detector(in_form(exhibit.wrong, form))


def raising(*_: Any) -> Any:
    raise IndexError("index out of range")


NONSENSE: dict[str, Callable[..., Any]] = {
    "nothing": lambda *_: None,
    "a word": lambda *_: "softmax",
    "a number": lambda *_: 3.0,
    "a number of NumPy's": lambda *_: np.float32(3),
    "three tensors": lambda *_: (torch.zeros(2, 3), torch.zeros(2, 3), torch.zeros(2, 3)),
    "a pair of words": lambda *_: ("inputs", "labels"),
    "a dictionary": lambda *_: {"input_ids": torch.zeros(1, 3), "labels": torch.zeros(1, 3)},
    "an empty tensor": lambda *_: torch.zeros(0),
    "an empty array with axes": lambda *_: np.zeros((1, 8, 0)),
    "another shape": lambda *_: torch.ones(7, 7, 7),
    "complex numbers": lambda *_: torch.ones(5, 5, dtype=torch.complex64),
    "a number beyond float64": lambda *_: [[10**400]],
    "ragged lists": lambda *_: [[1], [1, 2]],
    "an array of objects": lambda *_: np.array([[None]]),
    "an error": raising,
    "too few parameters": lambda: torch.zeros(2, 3),
}


@pytest.mark.parametrize("function", NONSENSE.values(), ids=NONSENSE)
@every_exhibit
def test_nonsense_gets_an_assertion_error(exhibit: Exhibit, function: Callable[..., Any]) -> None:
    with pytest.raises(AssertionError, match=r"\w+ \w+"):
        exhibit.detector(function)


def filled_like(function: Callable[..., Any], value: float) -> Callable[..., Any]:
    """A function that returns the right shape, with one number all over."""

    def filled(*inputs: Any) -> Any:
        made = function(*inputs)
        if isinstance(made, tuple):
            return tuple(torch.full(one.shape, value) for one in made)
        return torch.full(made.shape, value)

    return filled


@pytest.mark.parametrize("value", [0.0, math.nan, -math.inf])
@every_exhibit
def test_one_number_all_over_is_caught(exhibit: Exhibit, value: float) -> None:
    with pytest.raises(AssertionError):
        exhibit.detector(filled_like(exhibit.right, value))


@pytest.mark.parametrize("given", [None, 5, torch.zeros(2, 2), "tril"], ids=repr)
@every_exhibit
def test_what_is_no_function_gets_a_type_error_with_its_name(exhibit: Exhibit, given: Any) -> None:
    name = next(iter(inspect.signature(exhibit.detector).parameters))
    with pytest.raises(TypeError, match=f"^{name}: got {type(given).__name__}, expected a func"):
        exhibit.detector(given)


def test_error_of_the_judged_code_is_kept() -> None:
    with pytest.raises(
        AssertionError, match="weights stopped with IndexError: index out"
    ) as caught:
        answer("weights", raising, shape=(2, 3))
    assert isinstance(caught.value.__cause__, IndexError)


def test_shape_may_have_axes_of_one_in_front_or_be_folded() -> None:
    for shape in ((4, 6), (1, 4, 6), (1, 1, 4, 6)):
        assert answer("mask", torch.zeros, shape, shape=(4, 6)).shape == (4, 6)
    assert answer("split", torch.zeros, (6, 4, 5), shape=(2, 3, 4, 5)).shape == (2, 3, 4, 5)
    assert answer("embed", torch.zeros, (8, 9), shape=(1, 8, -1)).shape == (1, 8, 9)
    with pytest.raises(AssertionError, match=r"returned the shape \(6, 4\), expected \(4, 6\)"):
        answer("mask", torch.zeros, (6, 4), shape=(4, 6))


def test_numbers_arrive_as_they_were() -> None:
    x = torch.tensor([[0.1, -math.inf], [3.0, 1e-40]])
    for form in (x, x.numpy(), x.tolist(), x.numpy().astype(">f4")):
        assert as_tensor("x", form).equal(x.double())
    assert as_tensor("x", np.array([True, False])).equal(torch.tensor([1.0, 0.0]).double())


@pytest.mark.parametrize("convention", get_args(Convention))
def test_mask_survives_the_way_into_a_convention_and_back(convention: Convention) -> None:
    mask = torch.tensor([[True, False], [True, True]])
    there = given(mask, convention)
    assert there.data_ptr() != mask.data_ptr()
    assert seen(there.double(), convention).equal(mask)


def test_each_convention_hands_out_its_own_dtype() -> None:
    mask = torch.tensor([True, False])
    assert given(mask, "True hides").tolist() == [False, True]
    assert [type(x) for x in given(mask, "1 shows").tolist()] == [int, int]
    assert given(mask, "1 hides").tolist() == [0, 1]
    assert given(mask, "-inf hides").tolist() == [0.0, -math.inf]


def test_added_mask_is_recognised_in_every_convention() -> None:
    added = torch.tensor([[0.0, -1e4]]).double()
    for convention in get_args(Convention):
        assert seen(added, convention).tolist() == [[True, False]]


def test_mask_of_other_numbers_is_no_mask() -> None:
    with pytest.raises(AssertionError, match=r"holds 2\.0, expected one where True shows"):
        seen(torch.tensor([0.0, 1.0, 2.0]), "True shows")
    with pytest.raises(AssertionError, match=r"holds -1\.0, expected one where -inf hides"):
        seen(torch.tensor([0.0, -1.0]), "True hides")
    with pytest.raises(AssertionError, match="holds nan"):
        seen(torch.tensor([math.nan]), "1 shows")


@pytest.mark.parametrize("exhibit", [one for one in EXHIBITS if one.id in ("X4", "X5", "X8")])
def test_unknown_convention_is_refused_with_the_known_ones(exhibit: Exhibit) -> None:
    names = "True shows, True hides, 1 shows, 1 hides, -inf hides"
    with pytest.raises(ValueError, match=f"convention: got 'hides', expected one of {names}"):
        exhibit.detector(exhibit.right, convention="hides")
