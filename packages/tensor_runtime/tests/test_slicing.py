"""Slices at places that are values equal NumPy's slices, and nothing is ever clipped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core import DTYPES
from tensor_core.errors import (
    ArgumentError,
    DTypeError,
    IndexingError,
    LossyConversionError,
    PlacementError,
    ShapeError,
)

Array = np.ndarray[Any, Any]


@st.composite
def operands(draw: st.DrawFn, shape: tuple[int, ...], dtype: str) -> tuple[tr.Tensor, Array]:
    """A tensor of awkward strides, and the array that it equals."""
    steps = [draw(st.sampled_from([1, 1, 2, -1, -2])) for _ in shape]
    larger = [extent * abs(step) for extent, step in zip(shape, steps, strict=True)]
    axes = draw(st.permutations(range(len(shape))))
    memory = np.asfortranarray(np.arange(int(np.prod(larger))) % 7 - 3).astype(dtype)
    array = memory.reshape([larger[axis] for axis in axes], order="F").transpose(np.argsort(axes))
    x = tr.transpose(tr.asarray(memory.reshape([larger[axis] for axis in axes], order="F")), np.argsort(axes).tolist())
    index: Any = (..., *(slice(None, None, step) for step in steps))
    return x[index], array[index]


@given(st.data(), st.sampled_from(DTYPES), st.sampled_from([None, "int32", "int64"]))
def test_a_dynamic_slice_is_numpys_slice(data: st.DataObject, dtype: Any, of_starts: str | None) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 5), max_size=4)))
    x, a = data.draw(operands(shape, dtype.numpy_name))
    sizes = tuple(data.draw(st.integers(0, extent)) for extent in shape)
    starts = tuple(data.draw(st.integers(0, extent - size)) for extent, size in zip(shape, sizes, strict=True))
    given_starts: Any = starts if of_starts is None else tr.asarray(np.array(starts, dtype=of_starts))

    result = tr.dynamic_slice(x, given_starts, sizes)

    index: Any = (..., *(slice(start, start + size) for start, size in zip(starts, sizes, strict=True)))
    expected = a[index]
    np.testing.assert_array_equal(result.to_numpy(), expected)
    assert result.dtype is dtype and result.is_compact
    assert not np.shares_memory(result.to_numpy(), x.to_numpy())


@given(st.data(), st.sampled_from(DTYPES), st.booleans())
def test_a_dynamic_update_changes_the_slice_and_nothing_else(data: st.DataObject, dtype: Any, as_tensor: bool) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 5), max_size=4)))
    x, a = data.draw(operands(shape, dtype.numpy_name))
    sizes = tuple(data.draw(st.integers(0, extent)) for extent in shape)
    starts = tuple(data.draw(st.integers(0, extent - size)) for extent, size in zip(shape, sizes, strict=True))
    update, b = data.draw(operands(sizes, dtype.numpy_name))
    given_starts: Any = tr.asarray(np.array(starts, dtype=np.int64)) if as_tensor else starts
    before, expected = a.copy(), a.copy()

    result = tr.dynamic_update_slice(x, update, given_starts)

    index: Any = (..., *(slice(start, start + size) for start, size in zip(starts, sizes, strict=True)))
    expected[index] = b
    np.testing.assert_array_equal(result.to_numpy(), expected)
    np.testing.assert_array_equal(x.to_numpy(), before)
    assert result.dtype is dtype and result.is_compact


def test_slices_at_all_places_share_one_binding() -> None:
    x = tr.zeros((50, 3))
    tr.dynamic_slice(x, (0, 0), (2, 2))
    tr.dynamic_slice(x, tr.tensor([0, 0]), (2, 2))
    borrowed = tr.asarray(np.array([7, 1]))  # the forms of arrays that come in are bound, too
    built = tr.binding_cache.stats().builds
    for place in range(49):
        tr.dynamic_slice(x, (place, 1), (2, 2))
    tr.dynamic_slice(x, borrowed, (2, 2))
    assert tr.binding_cache.stats().builds == built


@pytest.mark.parametrize("starts", [(0, 2), (-1, 0), (3, 0), (0, 10**30)])
@pytest.mark.parametrize("as_tensor", [False, True])
def test_a_start_out_of_range_is_an_error_and_never_clipped(starts: tuple[int, int], as_tensor: bool) -> None:
    x = tr.zeros((4, 3))
    if as_tensor:
        if starts[1] > 2**62:
            return
        given_starts: Any = tr.tensor(list(starts))
    else:
        given_starts = starts
    axis = 0 if starts[0] else 1
    message = rf"starts\[{axis}\] is {starts[axis]}, out of range for axis {axis} of extent {x.shape[axis]} and size 2"
    with pytest.raises(IndexingError, match=message) as caught:
        tr.dynamic_slice(x, given_starts, (2, 2))
    assert (caught.value.axis, caught.value.value) == (axis, starts[axis])
    with pytest.raises(IndexingError, match="accepted: 0 to"):
        tr.dynamic_update_slice(x, tr.ones((2, 2)), given_starts)


def test_starts_are_checked_where_nothing_is_taken() -> None:
    x = tr.zeros((4, 0))
    assert tr.dynamic_slice(x, (4, 0), (0, 0)).shape == (0, 0)
    with pytest.raises(IndexingError, match="accepted: 0 to 4"):
        tr.dynamic_slice(x, (5, 0), (0, 0))


def test_wrong_arguments_are_named() -> None:
    x = tr.zeros((4, 3))
    with pytest.raises(ArgumentError, match="1 starts \\(0,\\) for rank 2; give one per axis"):
        tr.dynamic_slice(x, 0, (1, 1))
    with pytest.raises(ArgumentError, match="1 sizes \\(1,\\) for shape \\(4, 3\\)"):
        tr.dynamic_slice(x, (0, 0), 1)
    with pytest.raises(ArgumentError, match="size 5 along axis 0 of extent 4; accepted: 0 to 4"):
        tr.dynamic_slice(x, (0, 0), (5, 1))
    with pytest.raises(ArgumentError, match=r"sizes are .* accepted: an int or a sequence of ints"):
        tr.dynamic_slice(x, (0, 0), (1.5, 1))  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"starts are .*True"):
        tr.dynamic_slice(x, (True, 0), (1, 1))
    with pytest.raises(ShapeError, match="starts of shape \\(3,\\) for shape \\(4, 3\\); accepted: \\(2,\\)"):
        tr.dynamic_slice(x, tr.tensor([0, 0, 0]), (1, 1))
    with pytest.raises(DTypeError, match="the indices are F64; accepted: I32, I64"):
        tr.dynamic_slice(x, tr.tensor([0.0, 0.0]), (1, 1))
    with pytest.raises(ShapeError, match="an update of shape \\(5, 1\\) does not lie inside shape \\(4, 3\\)"):
        tr.dynamic_update_slice(x, tr.zeros((5, 1)), (0, 0))
    with pytest.raises(ShapeError, match="does not lie inside"):
        tr.dynamic_update_slice(x, tr.zeros((1,)), (0, 0))
    with pytest.raises(LossyConversionError, match=r"dynamic_update_slice: C64 \(complex128\) to F64 can lose values"):
        tr.dynamic_update_slice(x, tr.zeros((1, 1), dtype="C64"), (0, 0))
    with pytest.raises(DTypeError, match="dynamic_slice: found list"):
        tr.dynamic_slice([1], 0, 1)  # type: ignore[arg-type]
    with pytest.raises(DTypeError, match="found int"):
        tr.dynamic_update_slice(x, 1, (0, 0))  # type: ignore[arg-type]


def test_operands_in_two_places_are_an_error() -> None:
    from tensor_runtime.placement import CPU, MemoryKind, Placement

    elsewhere = tr.tensor([0, 0])
    form = elsewhere._form
    from tensor_runtime.form import form_of

    elsewhere._form = form_of(form.dtype, form.shape, Placement(MemoryKind.PinnedHost, CPU.device))
    with pytest.raises(PlacementError, match="dynamic_slice: operands live in different places"):
        tr.dynamic_slice(tr.zeros((2, 2)), elsewhere, (1, 1))
