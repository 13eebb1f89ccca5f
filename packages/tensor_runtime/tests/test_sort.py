"""Order equals NumPy's, and is stable: equal elements, zeros of both signs among them, keep their order."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core import DTYPES, I64
from tensor_core.dtypes import COMPLEX, REAL_FLOATING
from tensor_core.errors import ArgumentError, AxisError, DTypeError, ShapeError

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
NAN = float("nan")
shapes = st.lists(st.integers(0, 4), max_size=3).map(tuple)
dtypes = st.sampled_from(DTYPES)


@st.composite
def strided(draw: st.DrawFn, array: Array) -> tuple[tr.Tensor, Array]:
    """A tensor of awkward strides with the elements of an array, and the array that it borrows."""
    rank = array.ndim
    steps = [draw(st.sampled_from([1, 1, 2, -1, -2])) for _ in range(rank)]
    axes = draw(st.permutations(range(rank)))
    larger = [extent * abs(step) for extent, step in zip(array.shape, steps, strict=True)]
    memory = np.zeros([larger[axis] for axis in axes], array.dtype, order="F").transpose(np.argsort(axes))
    index: Any = (..., *(slice(None, None, step) for step in steps))
    memory[index] = array
    x = tr.transpose(tr.asarray(memory.transpose(axes)), np.argsort(axes).tolist())[index]
    return x, memory[index]


def elements(dtype: Any) -> st.SearchStrategy[Any]:
    """Few different ones, so that many are equal."""
    if dtype is tr.Bool:
        return st.booleans()
    if dtype in COMPLEX:
        return st.builds(complex, st.sampled_from([0.0, -0.0, 1.0, NAN]), st.sampled_from([0.0, -0.0, -1.0, NAN]))
    if dtype in REAL_FLOATING:
        return st.sampled_from([0.0, -0.0, 1.5, -2.0, NAN, float("inf"), -float("inf")])
    return st.sampled_from([0, 1, -1, 5, -(2**31), 2**31 - 1])


@st.composite
def operands(draw: st.DrawFn, shape: Shape, dtype: Any) -> tuple[tr.Tensor, Array]:
    count = int(np.prod(shape))
    values = draw(st.lists(elements(dtype), min_size=count, max_size=count))
    return draw(strided(np.array(values, dtype.numpy_name).reshape(shape)))


def same(result: tr.Tensor, expected: Array) -> None:
    """Equal shapes and elements; NaN equals NaN, zeros of different signs differ."""
    found = result.to_numpy()
    assert result.shape == expected.shape and result.is_compact
    np.testing.assert_array_equal(found, expected)
    if expected.dtype.kind in "fc":
        for one, other in ((found.real, expected.real), (found.imag, expected.imag)):
            kept = ~np.isnan(one)
            np.testing.assert_array_equal(np.signbit(one)[kept], np.signbit(other)[kept])


def descending_order(line: list[Any]) -> list[int]:
    """Stable order, greatest first, NaN last; complex groups as in ascending order."""

    def parts(value: Any) -> tuple[float, float]:
        return (value.real, value.imag)

    def group(value: Any) -> int:
        real, imag = parts(value)
        return 2 * (real != real) + (imag != imag)

    def compare(i: int, j: int) -> int:
        a, b = line[i], line[j]
        if group(a) != group(b):
            return group(a) - group(b)
        for p, q in zip(parts(a), parts(b), strict=True):
            if p == p and p != q:
                return -1 if p > q else 1
        return 0

    return sorted(range(len(line)), key=cmp_to_key(compare))


@given(st.data(), dtypes)
def test_sort_and_argsort_are_numpys_stable_ones(data: st.DataObject, dtype: Any) -> None:
    shape = (*data.draw(shapes), data.draw(st.integers(0, 6)))
    x, a = data.draw(operands(shape, dtype))
    axis = data.draw(st.sampled_from([None, *range(-len(shape), len(shape))]))

    values, order = tr.sort(x, axis), tr.argsort(x, axis)

    same(values, np.sort(a, axis=axis, kind="stable"))
    same(order, np.argsort(a, axis=axis, kind="stable"))
    assert (values.dtype, order.dtype) == (dtype, I64)
    assert not np.shares_memory(values.to_numpy(), x.to_numpy())
    if axis is not None:
        same(tr.take_along_axis(x, order, axis), values.to_numpy())


@pytest.mark.parametrize("descending", [False, True])
def test_zeros_of_a_matrix_in_one_line_stay_in_row_major_order(descending: bool) -> None:
    x = np.zeros((10, 12))
    x[3], x[:, 5], x[7, 2] = -0.0, -0.0, 1.0
    zeros = np.delete(x.reshape(-1), 7 * 12 + 2)
    expected = [1.0, *zeros] if descending else [*zeros, 1.0]
    for operand in (tr.asarray(x), tr.copy(tr.asarray(x))):
        same(tr.sort(operand, None, descending=descending), np.array(expected))


@given(st.data(), dtypes)
def test_descending_order_is_stable_and_puts_nan_last(data: st.DataObject, dtype: Any) -> None:
    shape = (*data.draw(st.lists(st.integers(0, 3), max_size=1)), data.draw(st.integers(0, 6)))
    x, a = data.draw(operands(shape, dtype))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    expected = (
        np.apply_along_axis(lambda line: np.array(descending_order(line.tolist()), np.int64), axis, a)
        if a.size
        else np.zeros(shape, np.int64)
    )

    same(tr.argsort(x, axis, descending=True), expected)
    same(tr.sort(x, axis, descending=True), np.take_along_axis(a, expected, axis))
    flat = np.array(descending_order(a.ravel().tolist()), np.int64)
    same(tr.argsort(x, None, descending=True), flat)
    same(tr.sort(x, None, descending=True), a.ravel()[flat])


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rank", [32, 33, 60])
def test_tensors_of_many_axes_are_sorted_like_those_of_few(rank: int, dtype: Any, descending: bool) -> None:
    a = (np.array([3, 0, 2, 0, 1, 3, -1, 2, 0, 1, 4, 0]) * np.ones(10)[:, None]).astype(dtype.numpy_name)
    few = a.reshape(2, 5, 12)[..., ::-1]
    axes = {0: 0, 1: 5, 2: rank - 1}
    shape = [1] * rank
    for axis, place in axes.items():
        shape[place] = few.shape[axis]
    for axis, place in axes.items():
        for call in (tr.sort, tr.argsort):
            expected = call(tr.asarray(few), axis, descending=descending).to_numpy()
            same(call(tr.asarray(few.reshape(shape)), place, descending=descending), expected.reshape(shape))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32])
@pytest.mark.parametrize("signed_zeros", [False, True])
def test_long_lines_are_sorted_stably(dtype: Any, signed_zeros: bool) -> None:
    a = np.random.default_rng(7).integers(-50, 50, 5000).astype(dtype)
    if signed_zeros:
        a[::3] *= dtype(-1)
    for descending in (False, True):
        order = np.argsort(-a if descending else a, kind="stable")
        same(tr.argsort(tr.asarray(a), descending=descending), order)
        same(tr.sort(tr.asarray(a), descending=descending), a[order])


def test_integers_at_the_ends_of_their_range_sort_in_both_orders() -> None:
    x = tr.tensor([0, -(2**63), 2**63 - 1])
    assert tr.sort(x).to_numpy().tolist() == [-(2**63), 0, 2**63 - 1]
    assert tr.sort(x, descending=True).to_numpy().tolist() == [2**63 - 1, 0, -(2**63)]


def test_rank_0_has_no_axis_to_sort_along() -> None:
    x = tr.tensor(3.0)
    for function in (tr.sort, tr.argsort):
        with pytest.raises(AxisError, match=function.__name__):
            function(x)
        assert function(x, None).shape == (1,)
        with pytest.raises(AxisError):
            function(tr.zeros((2, 2)), 2)
        with pytest.raises(ArgumentError, match="axis is 'a'; accepted: an int"):
            function(x, "a")  # type: ignore[arg-type]


@given(st.data(), dtypes, dtypes, st.sampled_from(["left", "right"]))
def test_searchsorted_is_numpys(data: st.DataObject, dtype: Any, other: Any, side: str) -> None:
    x, a = data.draw(operands((data.draw(st.integers(0, 6)),), dtype))
    a.sort()
    values, v = data.draw(operands(data.draw(shapes), other))
    common = np.result_type(a, v)

    result = tr.searchsorted(x, values, side)

    expected = np.asarray(np.searchsorted(a.astype(common), v.astype(common), side=side))  # type: ignore[call-overload]
    same(result, expected)
    assert result.dtype is I64


def test_searchsorted_takes_a_line_and_a_side() -> None:
    with pytest.raises(ShapeError, match=r"searchsorted: the sorted operand has shape \(2, 2\); accepted: rank 1"):
        tr.searchsorted(tr.zeros((2, 2)), tr.zeros((2,)))
    with pytest.raises(ArgumentError, match="side is 'middle'; accepted: 'left', 'right'"):
        tr.searchsorted(tr.zeros((2,)), tr.zeros((2,)), "middle")
    for foreign in ([1], 1, np.array([1])):
        with pytest.raises(DTypeError, match=r"searchsorted: found .*; accepted: a tensor"):
            tr.searchsorted(foreign, tr.zeros((2,)))  # type: ignore[arg-type]
        for function in (tr.sort, tr.argsort, tr.unique, tr.nonzero):
            with pytest.raises(DTypeError, match=f"{function.__name__}: found"):
                function(foreign)  # type: ignore[arg-type]


@given(st.data(), dtypes, st.booleans(), st.booleans())
def test_unique_is_numpys(data: st.DataObject, dtype: Any, equal_nan: bool, plain: bool) -> None:
    shape = data.draw(shapes)
    x, a = data.draw(operands(shape, dtype))
    expected = np.unique(a, return_index=True, return_inverse=True, return_counts=True, equal_nan=equal_nan)
    # NumPy leaves open which of equal elements stands for them; here it is the first one in sorted order.
    values = a.ravel()[expected[1]]

    found = tr.unique(x, True, True, True, equal_nan=equal_nan)

    for result, wanted in zip(found, (values, *expected[1:]), strict=True):
        same(result, wanted)
    assert [result.dtype for result in found] == [dtype, I64, I64, I64]
    same(tr.unique(x, equal_nan=equal_nan), values)
    for options in ((True, False, False), (False, True, False), (False, False, True), (True, False, True)):
        some = tr.unique(x, *options, equal_nan=equal_nan)
        picked = [values] + [one for one, wanted in zip(expected[1:], options, strict=True) if wanted]
        for result, wanted in zip(some, picked, strict=True):
            same(result, wanted)


@given(st.data(), dtypes)
def test_the_array_api_names_count_every_nan(data: st.DataObject, dtype: Any) -> None:
    x, _ = data.draw(operands(data.draw(shapes), dtype))
    values, index, inverse, counts = tr.unique(x, True, True, True, equal_nan=False)

    everything = tr.unique_all(x)

    for result, wanted in zip(everything, (values, index, inverse, counts), strict=True):
        same(result, wanted.to_numpy())
    assert everything._fields == ("values", "indices", "inverse_indices", "counts")
    same(tr.unique_values(x), values.to_numpy())
    same(tr.unique_counts(x).counts, counts.to_numpy())
    same(tr.unique_inverse(x).inverse_indices, inverse.to_numpy())
    assert tr.unique_inverse(x).values.shape == tr.unique_counts(x).values.shape == values.shape


def test_no_sort_warns_whatever_numpy_is_told() -> None:
    x = tr.tensor([NAN, -0.0, float("inf")])
    with np.errstate(all="raise"):
        tr.sort(x)
        tr.argsort(x, descending=True)
        tr.unique(x, True)
        tr.searchsorted(tr.tensor([1.0]), x)
