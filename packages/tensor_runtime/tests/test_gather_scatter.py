"""Elements chosen by index values: NumPy's functions equal NumPy's, gather and scatter a loop over every element."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core import DTYPES
from tensor_core.dtypes import COMPLEX
from tensor_core.errors import (
    DTypeError,
    IndexingError,
    LossyConversionError,
    ShapeError,
)

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
shapes = st.lists(st.integers(0, 4), max_size=3).map(tuple)
dtypes = st.sampled_from(DTYPES)
index_dtypes = st.sampled_from(["int32", "int64"])


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
    order = np.argsort(axes).tolist()
    x = tr.transpose(tr.asarray(memory.transpose(axes)), order)[index]
    return x, memory[index]


def numbers(shape: Shape, dtype: Any, modulus: int = 11) -> Array:
    array = (np.arange(int(np.prod(shape))) * 7 % modulus - 4).reshape(shape)
    return (array + 1j * (array % 3) if dtype in COMPLEX else array).astype(dtype.numpy_name)


@st.composite
def operands(draw: st.DrawFn, shape: Shape, dtype: Any) -> tuple[tr.Tensor, Array]:
    return draw(strided(numbers(shape, dtype)))


@st.composite
def indices(draw: st.DrawFn, shape: Shape, low: int, high: int) -> tuple[tr.Tensor, Array]:
    count = int(np.prod(shape))
    values = draw(st.lists(st.integers(low, max(low, high)), min_size=count, max_size=count))
    return draw(strided(np.array(values, dtype=draw(index_dtypes)).reshape(shape)))


def check(result: tr.Tensor, expected: Array, dtype: Any, *sources: tr.Tensor) -> None:
    assert result.shape == expected.shape
    np.testing.assert_array_equal(result.to_numpy(), expected)
    assert result.dtype is dtype and result.is_compact
    assert result.to_numpy().strides == np.asfortranarray(expected).strides or result.size <= 1 or 1 in result.shape
    for source in sources:
        assert not np.shares_memory(result.to_numpy(), source.to_numpy())


@given(st.data(), dtypes)
def test_take_is_numpys(data: st.DataObject, dtype: Any) -> None:
    shape = data.draw(shapes)
    x, a = data.draw(operands(shape, dtype))
    axis = data.draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
    extent = a.size if axis is None else shape[axis]
    i, b = data.draw(indices(data.draw(shapes) if extent else (0, 2), -extent, extent - 1))

    check(tr.take(x, i, axis=axis), np.take(a, b, axis=axis), dtype, x)


@given(st.data(), dtypes)
def test_gather_without_options_indexes_the_leading_axis(data: st.DataObject, dtype: Any) -> None:
    shape = (data.draw(st.integers(1, 4)), *data.draw(shapes))
    x, a = data.draw(operands(shape, dtype))
    i, b = data.draw(indices(data.draw(shapes), 0, shape[0] - 1))

    check(tr.gather(x, i), a[b], dtype, x)
    check(tr.take(x, i, axis=0), a[b], dtype, x)


@given(st.data(), dtypes)
def test_take_along_axis_is_numpys(data: st.DataObject, dtype: Any) -> None:
    shape = (*data.draw(shapes), data.draw(st.integers(0, 4)))
    x, a = data.draw(operands(shape, dtype))
    axis = data.draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
    extent = a.size if axis is None else shape[axis]
    if axis is None:
        wanted: Shape = (data.draw(st.integers(0, 5)),)
    else:
        beside = [data.draw(st.sampled_from([n, 1])) if n != 1 else data.draw(st.integers(0, 3)) for n in shape]
        beside[axis] = data.draw(st.integers(0, 5))
        wanted = tuple(beside)
    if extent == 0:
        wanted = tuple(0 if axis is None or k == axis % len(shape) else n for k, n in enumerate(wanted))
    i, b = data.draw(indices(wanted, -extent, extent - 1))

    check(tr.take_along_axis(x, i, axis), np.take_along_axis(a, b, axis), dtype, x)


@given(st.data(), dtypes)
def test_put_along_axis_writes_what_numpys_writes_and_the_last_of_several_wins(data: st.DataObject, dtype: Any) -> None:
    shape = (*data.draw(shapes), data.draw(st.integers(1, 4)))
    x, a = data.draw(operands(shape, dtype))
    axis = data.draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
    extent = a.size if axis is None else shape[axis]
    if axis is None:
        wanted: Shape = (data.draw(st.integers(0, 5)) if extent else 0,)
    else:
        places = [data.draw(st.sampled_from([n, 1])) for n in shape]
        places[axis] = data.draw(st.integers(0, 5)) if extent else 0
        wanted = tuple(places)
    i, b = data.draw(indices(wanted, -extent, extent - 1))
    target = wanted if axis is None else (*shape[: axis % len(shape)], wanted[axis], *shape[axis % len(shape) + 1 :])
    given_shape = tuple(data.draw(st.sampled_from([n, 1])) for n in target)[data.draw(st.integers(0, len(target))) :]
    values, v = data.draw(operands(given_shape, dtype))
    expected = a.copy()
    whole_i = np.broadcast_to(b, target)
    whole_v = np.broadcast_to(v, target)
    for place in (index[::-1] for index in itertools.product(*map(range, reversed(target)))):
        if axis is None:
            expected[np.unravel_index(int(whole_i[place]) % extent, shape)] = whole_v[place]
        else:
            at = list(place)
            at[axis] = int(whole_i[place])
            expected[tuple(at)] = whole_v[place]

    assert tr.put_along_axis(x.mutable_view(), i, values, axis) is None  # type: ignore[func-returns-value]

    np.testing.assert_array_equal(x.to_numpy(), expected)


def test_put_along_axis_reads_before_it_writes() -> None:
    x = tr.tensor([0, 1, 2, 3])
    tr.put_along_axis(x.mutable_view(), x[::-1], x, 0)
    assert x.to_numpy().tolist() == [3, 2, 1, 0]
    y = tr.tensor([1.0, 2.0, 3.0])
    tr.put_along_axis(y.mutable_view(), tr.tensor([0, 1]), y[1:], 0)
    assert y.to_numpy().tolist() == [2.0, 3.0, 3.0]


def test_put_along_axis_writes_nothing_when_an_index_is_out_of_range() -> None:
    x = tr.zeros((3,))
    with pytest.raises(IndexingError, match=r"put_along_axis: indices\[1\] is 3"):
        tr.put_along_axis(x.mutable_view(), tr.tensor([0, 3]), 1.0, 0)
    assert x.to_numpy().tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_put_along_axis_takes_a_number(dtype: Any) -> None:
    x = tr.zeros((2, 2), dtype=dtype)
    tr.put_along_axis(x.mutable_view(), tr.tensor([[1], [0]]), True if dtype is tr.Bool else 1)
    assert x.to_numpy().tolist() == [[0, 1], [1, 0]]


def loop(shape: Shape, index: Array, geometry: dict[str, Any], result: Shape) -> dict[Shape, Shape]:
    """Element of the operand for each element of the gathered tensor, in column-major order of the latter."""
    offset, vector = geometry["offset_axes"], geometry["vector_axis"]
    kept = [axis for axis in range(len(shape)) if axis not in geometry["collapsed_axes"]]
    pairs = {}
    for place in (one[::-1] for one in itertools.product(*map(range, reversed(result)))):
        batch = [along for axis, along in enumerate(place) if axis not in offset]
        at = [0] * len(shape)
        for k, axis in enumerate(geometry["start_axes"]):
            where = tuple(batch) if vector == index.ndim else (*batch[:vector], k, *batch[vector:])
            at[axis] += int(index[where])
        for axis, position in zip(kept, offset, strict=True):
            at[axis] += place[position]
        pairs[place] = tuple(at)
    return pairs


@st.composite
def gathers(draw: st.DrawFn, dtype: Any) -> tuple[tr.Tensor, Array, tr.Tensor, Array, dict[str, Any], Shape, Shape]:
    shape = draw(st.lists(st.integers(1, 4), max_size=3).map(tuple))
    rank = len(shape)
    start = tuple(draw(st.permutations(range(rank)))[: draw(st.integers(0, rank))])
    collapsed = tuple(axis for axis in range(rank) if draw(st.booleans()))
    sizes = tuple(1 if axis in collapsed else draw(st.integers(0, shape[axis])) for axis in range(rank))
    batch = draw(st.lists(st.integers(0, 3), max_size=2).map(tuple))
    implied = len(start) == 1 and draw(st.booleans())
    vector = len(batch) if implied else draw(st.integers(0, len(batch)))
    index_shape = batch if implied else (*batch[:vector], len(start), *batch[vector:])
    index = np.zeros(index_shape, draw(index_dtypes))
    for k, axis in enumerate(start):
        part: Any = index if implied else np.moveaxis(index, vector, -1)[..., k]
        for place in np.ndindex(part.shape):
            part[place] = draw(st.integers(0, shape[axis] - sizes[axis]))
    kept = [axis for axis in range(rank) if axis not in collapsed]
    total = len(batch) + len(kept)
    offset = tuple(sorted(draw(st.permutations(range(total)))[: len(kept)]))
    extents = iter(batch)
    inside = dict(zip(offset, kept, strict=True))
    result = tuple(sizes[inside[axis]] if axis in inside else next(extents) for axis in range(total))
    options = {"offset_axes": offset, "collapsed_axes": collapsed, "start_axes": start, "vector_axis": vector}
    x, a = draw(operands(shape, dtype))
    i, b = draw(strided(index))
    return x, a, i, b, options, sizes, result


@given(st.data(), dtypes)
def test_gather_is_a_loop_over_its_elements(data: st.DataObject, dtype: Any) -> None:
    x, a, i, b, options, sizes, shape = data.draw(gathers(dtype))
    expected = np.zeros(shape, a.dtype)
    for place, source in loop(a.shape, b, options, shape).items():
        expected[place] = a[source]

    check(tr.gather(x, i, **options, slice_sizes=sizes), expected, dtype, x)


@given(st.data(), dtypes, st.sampled_from(["replace", "add", "multiply", "min", "max"]))
def test_scatter_is_a_loop_over_the_updates_in_column_major_order(data: st.DataObject, dtype: Any, mode: str) -> None:
    x, a, i, b, options, _, shape = data.draw(gathers(dtype))
    updates, u = data.draw(operands(shape, dtype))
    if mode in ("min", "max") and dtype in COMPLEX:
        with pytest.raises(DTypeError, match=r"scatter: mode 'm.*accepted: Bool, F32, F64, I32, I64"):
            tr.scatter(x, i, updates, mode=mode, **options)
        return
    combine: Any = {
        "replace": lambda old, new: new,
        "add": np.add,
        "multiply": np.multiply,
        "min": np.minimum,
        "max": np.maximum,
    }[mode]
    expected, before = a.copy(), a.copy()
    for place, target in loop(a.shape, b, options, shape).items():
        expected[target] = combine(expected[target], u[place])

    check(tr.scatter(x, i, updates, mode=mode, **options), expected, dtype, x)
    np.testing.assert_array_equal(x.to_numpy(), before)


def test_scatter_without_options_indexes_the_leading_axis() -> None:
    x = tr.zeros((3, 2), dtype="I64")
    result = tr.scatter(x, tr.tensor([2, 0, 2]), tr.tensor([[1, 2], [3, 4], [5, 6]]), mode="add")
    assert result.to_numpy().tolist() == [[3, 4], [0, 0], [6, 8]]


def test_scatter_wraps_integers_and_propagates_nan() -> None:
    x = tr.full((1,), 2**31 - 1, dtype="I32")
    one = tr.full((1,), 1, dtype="I32")
    assert tr.scatter(x, tr.tensor([0]), one, mode="add").item() == -(2**31)
    nan = tr.tensor([float("nan"), 1.0])
    for mode in ("min", "max"):
        assert np.isnan(tr.scatter(tr.zeros((1,)), tr.tensor([0, 0]), nan, mode=mode).item())


def test_updates_convert_to_the_operands_dtype_or_are_refused() -> None:
    assert tr.scatter(tr.zeros((2,)), tr.tensor([1]), tr.tensor([3]), mode="replace").to_numpy().tolist() == [0.0, 3.0]
    with pytest.raises(LossyConversionError, match="scatter: F64 to I64 can lose values; cast"):
        tr.scatter(tr.tensor([1]), tr.tensor([0]), tr.tensor([1.0]), mode="add")
    with pytest.raises(LossyConversionError, match="put_along_axis: F64 to I64"):
        tr.put_along_axis(tr.tensor([1]).mutable_view(), tr.tensor([0]), tr.tensor([1.0]))


@given(st.data(), dtypes)
def test_nonzero_is_numpys(data: st.DataObject, dtype: Any) -> None:
    shape = (data.draw(st.integers(0, 4)), *data.draw(shapes))
    array = numbers(shape, dtype, modulus=5) * data.draw(st.sampled_from([0, 1]))
    x, a = data.draw(strided(array.astype(dtype.numpy_name)))

    found = tr.nonzero(x)

    expected = a.nonzero()
    assert len(found) == len(shape)
    for positions, wanted in zip(found, expected, strict=True):
        check(positions, wanted, tr.I64)


def test_nan_and_imaginary_numbers_are_not_zero() -> None:
    assert tr.nonzero(tr.tensor([0.0, -0.0, float("nan")]))[0].to_numpy().tolist() == [2]
    assert tr.nonzero(tr.tensor([0j, 1j]))[0].to_numpy().tolist() == [1]
    with pytest.raises(ShapeError, match="nonzero: the operand has rank 0 and no index"):
        tr.nonzero(tr.tensor(1.0))


def test_counts_and_index_values_are_no_part_of_a_binding() -> None:
    x = tr.zeros((6,))
    for call in (tr.nonzero, tr.unique):
        call(x)
    built = tr.binding_cache.stats().builds
    for k in range(6):
        x.mutable_view()[k] = float(k)
        assert tr.nonzero(x)[0].shape == (k,)
        assert tr.unique(x).shape == (k + 1,)
    assert tr.binding_cache.stats().builds - built <= 4  # of the writes
