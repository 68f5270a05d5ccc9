"""A written shape is held against a shape, and its names bind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proseproof import shape_dims


@given(st.lists(st.integers(0, 9), max_size=5))
def test_written_shape_agrees_with_itself_and_no_other(shape: list[int]) -> None:
    dims = shape_dims.parse_dims("(" + "".join(f"{size}, " for size in shape) + ")")
    assert dims is not None
    shape_dims.agree(dims, shape, {})
    with pytest.raises(shape_dims.ShapeError):
        shape_dims.agree(dims, [*shape, 1], {})
    for axis in range(len(shape)):
        other = [size + (place == axis) for place, size in enumerate(shape)]
        with pytest.raises(shape_dims.ShapeError):
            shape_dims.agree(dims, other, {})


@given(
    st.lists(st.sampled_from("abc"), max_size=5),
    st.fixed_dictionaries({name: st.integers(1, 9) for name in "abc"}),
)
def test_names_bind_to_what_the_shape_says(names: list[str], sizes: dict[str, int]) -> None:
    dims = shape_dims.parse_dims("(" + "".join(f"{name}, " for name in names) + ")")
    assert dims is not None
    bound = shape_dims.agree(dims, [sizes[name] for name in names], {})
    assert bound == {name: sizes[name] for name in names}
