"""Diagonals, triangles and moved axes equal NumPy's; what only renames elements shares them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core import DTYPES, F64, I32, I64
from tensor_core.dtypes import FLOATING
from tensor_core.errors import ArgumentError, AxisError, ShapeError
from tensor_runtime.testing.strategies import tensors

any_tensor = tensors(dtype=st.sampled_from(DTYPES))
matrices = any_tensor.filter(lambda x: x.rank >= 2)
offsets = st.integers(-6, 6)


def same(result: tr.Tensor, expected: Any, dtype: Any) -> None:
    wanted = np.asarray(expected)
    assert (result.dtype, result.shape, result.is_compact) == (dtype, wanted.shape, True)
    np.testing.assert_array_equal(result.to_numpy(), wanted)


@st.composite
def two_axes(draw: st.DrawFn, rank: int) -> tuple[int, int]:
    first, second = draw(st.permutations(range(rank)))[:2]
    return first - draw(st.sampled_from([0, rank])), second


@given(matrices, offsets, st.data())
def test_a_diagonal_is_numpys_and_a_view(x: tr.Tensor, offset: int, data: st.DataObject) -> None:
    axes = data.draw(two_axes(x.rank))
    found, expected = tr.extract_diagonal(x, offset, axes), np.diagonal(x.to_numpy(), offset, *axes)
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.to_numpy(), expected)
    assert found.size == 0 or np.shares_memory(found.to_numpy(), x.to_numpy())


@given(matrices, offsets, st.data())
def test_a_trace_is_numpys(x: tr.Tensor, offset: int, data: st.DataObject) -> None:
    axes = data.draw(two_axes(x.rank))
    dtype = x.dtype if x.dtype in FLOATING else I64
    same(tr.trace(x, offset, *axes), np.trace(x.to_numpy(), offset, *axes, dtype=dtype.numpy_name), dtype)


@given(any_tensor.filter(lambda x: x.rank >= 1), st.integers(-3, 3), st.data())
def test_an_embedded_diagonal_comes_out_again_and_the_rest_is_zero(
    x: tr.Tensor, offset: int, data: st.DataObject
) -> None:
    axes = data.draw(two_axes(x.rank + 1))
    made = tr.embed_diagonal(x, offset, axes)
    extent = x.shape[-1] + abs(offset)
    assert made.shape[axes[0]] == made.shape[axes[1]] == extent
    assert (made.dtype, made.is_compact) == (x.dtype, True)
    np.testing.assert_array_equal(tr.extract_diagonal(made, offset, axes).to_numpy(), x.to_numpy())
    assert np.count_nonzero(made.to_numpy()) == np.count_nonzero(x.to_numpy())


def test_embedding_is_the_inverse_of_extracting_with_the_same_axes() -> None:
    x = tr.tensor([[1, 2], [3, 4]])
    assert tr.embed_diagonal(tr.tensor([1, 2])).to_numpy().tolist() == [[1, 0], [0, 2]]
    assert tr.embed_diagonal(x).shape == (2, 2, 2)
    assert tr.embed_diagonal(x)[:, :, 1].to_numpy().tolist() == [[3, 0], [0, 4]]
    np.testing.assert_array_equal(tr.extract_diagonal(tr.embed_diagonal(x)).to_numpy(), x.to_numpy())
    with pytest.raises(ShapeError, match="embed_diagonal: the operand has rank 0"):
        tr.embed_diagonal(tr.tensor(1))


@given(matrices, st.integers(-6, 6), st.sampled_from(["tril", "triu"]))
def test_triangles_are_numpys(x: tr.Tensor, k: int, name: str) -> None:
    same(getattr(tr, name)(x, k), getattr(np, name)(x.to_numpy(), k), x.dtype)


@given(matrices, st.integers(-6, 6), st.sampled_from(["tril", "triu"]), st.data())
def test_triangles_take_any_two_axes(x: tr.Tensor, k: int, name: str, data: st.DataObject) -> None:
    axes = data.draw(two_axes(x.rank))
    a = getattr(np, name)(np.moveaxis(x.to_numpy(), axes, (-2, -1)), k)
    same(getattr(tr, name)(x, k, axes=axes), np.moveaxis(a, (-2, -1), axes), x.dtype)


def test_triangles_leave_no_nan_and_take_any_int() -> None:
    x = tr.full((2, 2), float("nan"))
    assert tr.tril(x).to_numpy()[0, 1] == 0
    assert tr.tril(tr.ones((2, 3)), -(10**30)).to_numpy().sum() == 0
    assert tr.triu(tr.ones((2, 3)), -(10**30)).to_numpy().sum() == 6


def test_two_different_axes_are_asked_for() -> None:
    x = tr.zeros((2, 2))
    for function in (tr.extract_diagonal, tr.embed_diagonal, tr.tril, tr.triu):
        with pytest.raises(AxisError):
            function(x, axes=(0, 0))
        with pytest.raises(AxisError):
            function(x, axes=(0, 7))
        with pytest.raises(ArgumentError, match="accepted: two axes"):
            function(x, axes=(0,))
        with pytest.raises(ArgumentError, match="accepted: an int"):
            function(x, 1.0)  # type: ignore[arg-type]
    for function in (tr.tril, tr.triu):
        with pytest.raises(ShapeError, match=r"the operand has shape \(3,\); accepted: rank 2 or more"):
            function(tr.zeros(3))
    with pytest.raises(AxisError):
        tr.trace(tr.zeros(3))


@given(any_tensor, st.data())
def test_moved_axes_are_numpys(x: tr.Tensor, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, x.rank))
    source, to = (data.draw(st.permutations(range(x.rank)))[:count] for _ in range(2))
    source = [axis - data.draw(st.sampled_from([0, x.rank])) for axis in source]
    found, expected = tr.move_axes(x, source, to), np.moveaxis(x.to_numpy(), source, to)
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.to_numpy(), expected)
    assert found.size == 0 or np.shares_memory(found.to_numpy(), x.to_numpy())


def test_moved_axes_have_one_place_each() -> None:
    x = tr.zeros((2, 3, 4))
    assert tr.move_axes(x, -1, 0).shape == (4, 2, 3)
    with pytest.raises(ArgumentError, match=r"move_axes: 2 axes \(0, 1\) to 1 places"):
        tr.move_axes(x, (0, 1), 0)
    for wrong in ((0, 0), 3):
        with pytest.raises(AxisError, match="move_axes"):
            tr.move_axes(x, wrong, (0, 1))
    with pytest.raises(AxisError, match=r"move_axes: axes are 1\.5"):
        tr.move_axes(x, 1.5, 0)  # type: ignore[arg-type]


@given(any_tensor, st.data())
def test_broadcast_in_dim_puts_each_axis_where_the_caller_says(x: tr.Tensor, data: st.DataObject) -> None:
    rank = x.rank + data.draw(st.integers(0, 2))
    axes = data.draw(st.permutations(range(rank)))[: x.rank]
    shape = [data.draw(st.integers(0, 3)) for _ in range(rank)]
    for place, extent in zip(axes, x.shape, strict=True):
        if extent != 1:
            shape[place] = extent
    found = tr.broadcast_in_dim(x, shape, axes)
    a = x.to_numpy().transpose(np.argsort(axes))
    extents = dict(zip(sorted(axes), a.shape, strict=True))
    expected = np.broadcast_to(a.reshape([extents.get(axis, 1) for axis in range(rank)]), shape)
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.to_numpy(), expected)


def test_broadcast_in_dim_shares_and_checks() -> None:
    x = tr.tensor([1, 2])
    y = tr.broadcast_in_dim(x, (3, 2, 2), 1)
    assert y.strides == (0, 1, 0)
    assert np.shares_memory(y.to_numpy(), x.to_numpy())
    with pytest.raises(ShapeError, match=r"axis 0 of shape \(2,\) goes to axis 0 of \(3, 2\); accepted: equal"):
        tr.broadcast_in_dim(x, (3, 2), 0)
    with pytest.raises(ArgumentError, match=r"2 axes \(0, 1\) for shape \(2,\)"):
        tr.broadcast_in_dim(x, (3, 2), (0, 1))
    with pytest.raises(AxisError):
        tr.broadcast_in_dim(x, (3, 2), 2)


pairs = tensors(dtype=st.sampled_from(DTYPES), max_steps=2)


def product_dtype(a: tr.Tensor, b: tr.Tensor) -> Any:
    return tr.promote(a.dtype, b.dtype)


@given(pairs, pairs)
def test_outer_and_kron_are_numpys(a: tr.Tensor, b: tr.Tensor) -> None:
    dtype = product_dtype(a, b)
    x, y = (one.to_numpy().astype(dtype.numpy_name) for one in (a, b))
    same(tr.outer(a, b), np.outer(x, y), dtype)
    if x.size and y.size:  # NumPy's kron of nothing has lost axes
        same(tr.kron(a, b), np.kron(x, y), dtype)
    else:
        rank = max(a.rank, b.rank)
        full = [(1,) * (rank - one.rank) + one.shape for one in (a, b)]
        assert tr.kron(a, b).shape == tuple(m * n for m, n in zip(*full, strict=True))


@given(pairs, st.data())
def test_dot_is_numpys(a: tr.Tensor, data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(0, 3), max_size=3))
    if shape and a.rank:
        shape[max(len(shape) - 2, 0)] = a.shape[-1]
    b = data.draw(tensors(dtype=st.sampled_from(DTYPES), shape=st.just(tuple(shape)), max_steps=0))
    dtype = product_dtype(a, b)
    expected = np.dot(a.to_numpy().astype(dtype.numpy_name), b.to_numpy().astype(dtype.numpy_name))
    same(tr.dot(a, b), expected, dtype)


def test_products_say_what_they_take() -> None:
    with pytest.raises(ShapeError, match=r"dot: shapes \(2, 3\) and \(2, 3\); accepted: .* but they have 3 and 2"):
        tr.dot(tr.zeros((2, 3)), tr.zeros((2, 3)))
    with pytest.raises(ArgumentError, match=r"dot: an operand is a Python number; multiply\(\) scales a tensor"):
        tr.dot(2, tr.zeros(3))  # type: ignore[arg-type]
    assert tr.dot(tr.tensor(2), tr.tensor([1, 2], dtype=I32)).dtype is I64
    assert tr.kron(tr.eye(2), tr.ones((1, 2))).to_numpy().tolist() == [[1, 1, 0, 0], [0, 0, 1, 1]]
    assert tr.outer(tr.tensor([[1, 2], [3, 4]]), tr.tensor(1)).to_numpy().tolist() == [[1], [2], [3], [4]]
    assert tr.outer(tr.zeros(0), tr.ones(2)).dtype is F64
