"""Native calls of indices, shapes and orders of axes, and what is written through them: as the functions in Python."""

from __future__ import annotations

from collections.abc import Callable
from inspect import unwrap
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensor_runtime as tr
from native_call_cases import BORROWED, DTYPES, NATIVE, outcome, tensors
from tensor_core.errors import TensorError
from tensor_runtime.ops import host_data, indexing, methods, views
from tensor_runtime.tensors.tensor import Tensor

pytestmark = pytest.mark.usefixtures("cpu_serves")

bounds = st.none() | st.integers(-6, 6) | st.sampled_from((10**30, -(10**30), 2**31, True))
items = st.one_of(
    st.integers(-5, 5),
    st.builds(slice, bounds, bounds, st.none() | st.integers(-3, 3) | st.sampled_from((10**30, -(2**40)))),
    st.none(),
    st.just(Ellipsis),
    st.sampled_from((10**30, "text", 1.5)),
)


@NATIVE
@settings(max_examples=60)
@given(tensors(), items | st.lists(items, max_size=6).map(tuple))
def test_any_index_gives_the_view_or_the_error_that_python_gives(x: Tensor, index: Any) -> None:
    BORROWED[:] = [x]
    for _ in range(2):  # the second time its form is known
        assert outcome(lambda: x[index]) == outcome(indexing.getitem, x, index)


@NATIVE
@settings(max_examples=60)
@given(tensors(), items | st.lists(items, max_size=4).map(tuple), st.sampled_from((*range(12),)))
def test_what_is_written_through_a_view_is_what_python_writes(x: Tensor, index: Any, chosen: int) -> None:
    if 0 in x.strides:
        x = tr.copy(x)
    values: list[Any] = [True, 3, -(2**31), 2**31, 2**60 + 1, 10**30, 0.5, -0.0, 1e300, float("nan"), 2 - 3j, x]

    def written(call: Callable[..., Any]) -> Any:
        copied = tr.copy(tr.reverse_view(x, tuple(range(x.rank))))  # strides of either sign, and rows beside it
        view = tr.reverse_view(copied, tuple(range(x.rank))).mutable_view()
        value = values[chosen] if chosen < 11 else tr.copy(view)
        found = outcome(call, view, index, value)
        return found, repr(copied.to_numpy().tolist())

    assert written(lambda view, index, value: view.__setitem__(index, value)) == written(indexing.setitem)


@NATIVE
def test_elements_written_over_themselves_are_copied_first() -> None:
    x = tr.tensor([1.0, 2.0, 3.0, 4.0])
    view = x.mutable_view()
    view[1:] = view[:-1]
    assert x.to_numpy().tolist() == [1.0, 1.0, 2.0, 3.0]
    view[::-1] = x[:]
    assert x.to_numpy().tolist() == [3.0, 2.0, 1.0, 1.0]
    view[:2] = tr.tensor([7, 8])  # of another dtype
    assert x.to_numpy().tolist() == [7.0, 8.0, 1.0, 1.0]
    lent = np.zeros(2)
    lent.flags.writeable = False
    with pytest.raises(TensorError):
        tr.asarray(lent).mutable_view()[0] = 1.0
    with pytest.raises(TensorError):
        x[0] = 1.0  # type: ignore[index]


@NATIVE
@settings(max_examples=40)
@given(tensors(), st.data())
def test_axes_in_another_order_are_those_of_python(x: Tensor, data: st.DataObject) -> None:
    BORROWED[:] = [x]
    given_axes = st.permutations(range(x.rank)) | st.lists(st.integers(-5, 5), max_size=5)
    order = data.draw(given_axes)
    for axes in (order, tuple(order), [axis - x.rank for axis in order], None, 1.5, (True,)):
        for _ in range(2):
            assert outcome(tr.transpose_view, x, axes) == outcome(unwrap(views._in_order), x, axes)


@NATIVE
@settings(max_examples=40)
@given(tensors(), st.lists(st.integers(-2, 8), max_size=4), st.sampled_from(("F", "C")))
def test_axes_reversed_and_other_shapes_are_those_of_python(x: Tensor, shape: list[int], order: str) -> None:
    BORROWED[:] = [x]
    for _ in range(2):
        assert outcome(lambda: x.T) == outcome(views.reversed_axes, x)
        assert outcome(x.to_numpy) == outcome(host_data.as_numpy, x)
        assert outcome(tr.to_numpy, x) == outcome(host_data.as_numpy, x)
        assert outcome(x.reshape, -1) == outcome(views.reshape, x, -1)
        for wanted in (shape, tuple(shape)):
            assert outcome(x.reshape, *wanted) == outcome(methods._reshape, x, *wanted)
            assert outcome(x.reshape, wanted, order=order) == outcome(views.reshape, x, wanted, order=order)


@NATIVE
@pytest.mark.parametrize("dtype", DTYPES)
def test_long_lines_are_written_as_numpy_writes_them(dtype: str) -> None:
    for index in (
        slice(None),
        slice(None, None, 2),
        slice(None, None, -3),
        (slice(None), 5),
        (7, slice(None)),
        (slice(3, 90, 2), slice(None, None, -1)),
        (slice(None), slice(40)),
    ):
        shape = tr.zeros((130, 50))[index].shape
        numbers = tr.from_flat([k % 5 for k in range(int(np.prod(shape)))], shape)
        value = tr.cast(numbers, dtype)
        turned = tr.transpose(tr.copy(tr.transpose(value)))
        for written in (True if dtype == "Bool" else 3, False if dtype == "Bool" else 0, value, turned):
            x = tr.cast(tr.from_flat([k % 2 for k in range(130 * 50)], (130, 50)), dtype)
            expected = x.to_numpy().copy()
            x.mutable_view()[index] = written
            expected[index] = written.to_numpy() if isinstance(written, Tensor) else written
            np.testing.assert_array_equal(x.to_numpy(), expected)
