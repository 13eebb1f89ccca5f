"""Functions under NumPy's names give what NumPy's do, over dtypes, layouts, shapes and special values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from numpy_agreement import UNIT, layouts, numbers, same
from tensor_core import F32, F64, Bool
from tensor_core.dtypes import COMPLEX, DTYPES
from tensor_core.errors import ArgumentError, AxisError, CastRangeError, DTypeError, ShapeError

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-310, 1e300, -1e300, 5e-324, math.inf, -math.inf, math.nan]
UNARY = ("log2", "log10", "exp2", "asinh", "acosh", "atanh", "cbrt")
NUMPYS = {"asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh}
SHAPES = ((), (0,), (3,), (2, 0, 3), (2, 3, 2))


def within(found: Any, expected: Any, units: float, dtype: str) -> None:
    """NaN and infinities in their places, zeros with their signs, the rest within some rounding units of each."""
    unit, smallest = UNIT[dtype], float(np.finfo(dtype).smallest_subnormal)
    for one, other in zip(np.ravel(found).tolist(), np.ravel(expected), strict=True):
        if math.isfinite(other):
            assert abs(np.longdouble(one) - other) <= units * max(unit * abs(other), smallest), (one, other)
        else:
            assert one == other or (one != one and other != other), (one, other)
        assert other != 0 or math.copysign(1, one) == math.copysign(1, other)


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_function_of_one_operand_is_accurate_and_right_at_the_edges(name: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        special = np.array(SPECIAL).astype(dtype)
        a = np.concatenate(
            [special, rng.normal(size=50).astype(dtype), (10.0 ** rng.uniform(-30, 30, 50)).astype(dtype)]
        )
        expected = NUMPYS.get(name, getattr(np, name, None))(a.astype(np.longdouble)).astype(np.longdouble)  # type: ignore[misc]
        if dtype == "float32":
            expected = np.where(np.abs(expected) > np.finfo(dtype).max, np.copysign(np.inf, expected), expected)
        else:
            expected = np.where(np.abs(expected) > np.finfo(dtype).max, np.copysign(np.inf, expected), expected)
    for x in layouts(a):
        found = getattr(tr, name)(x)
        assert found.is_compact
        within(found.to_numpy(), expected, 4, dtype)


@pytest.mark.parametrize("name", ["copysign", "nextafter", "hypot", "logaddexp"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_function_of_two_operands_is_numpys_at_all_pairs_of_edges(name: str, dtype: str) -> None:
    with np.errstate(all="ignore"):
        a = np.array(SPECIAL).astype(dtype)
        expected = getattr(np, name)(a[:, None], a)
    found = getattr(tr, name)(tr.tensor(a[:, None]), tr.tensor(a))
    assert found.dtype is (F32 if dtype == "float32" else F64)
    within(found.to_numpy(), expected.astype(np.longdouble), 2, dtype)
    np.testing.assert_array_equal(tr.signbit(tr.tensor(a)).to_numpy(), np.signbit(a))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_dtype_and_shape_is_computed_as_numpy_does_or_refused(dtype: Any, shape: tuple[int, ...]) -> None:
    a = numbers(shape, dtype, 1)
    floating = dtype.numpy_name if dtype.kind in ("float", "complex") else "float64"
    for x in layouts(a):
        with np.errstate(all="ignore"):
            for name in UNARY:
                if dtype in COMPLEX and name == "cbrt":
                    with pytest.raises(DTypeError, match="cbrt: operand is"):
                        tr.cbrt(x)
                    continue
                expected = NUMPYS.get(name, getattr(np, name, None))(a.astype(floating))  # type: ignore[misc]
                np.testing.assert_allclose(
                    getattr(tr, name)(x).to_numpy(), expected, rtol=8 * UNIT[floating], atol=8 * UNIT[floating]
                )
            for name in ("copysign", "nextafter", "hypot", "logaddexp"):
                if dtype in COMPLEX:
                    with pytest.raises(DTypeError, match=f"{name}: operands are"):
                        getattr(tr, name)(x, x)
                else:
                    expected = getattr(np, name)(a.astype(floating), a.astype(floating))
                    np.testing.assert_allclose(getattr(tr, name)(x, x).to_numpy(), expected, rtol=4 * UNIT[floating])
            if dtype is Bool:
                with pytest.raises(DTypeError, match="square: operand is Bool"):
                    tr.square(x)
            else:
                same(tr.square(x), np.square(a))
            np.testing.assert_allclose(
                tr.reciprocal(x).to_numpy(), np.true_divide(1, a.astype(floating)), rtol=4 * UNIT[floating]
            )
        assert tr.count_nonzero(x).item() == np.count_nonzero(a)
        same(tr.zeros_like(x), np.zeros_like(a))
        same(tr.ones_like(x), np.ones_like(a))
        assert tr.empty_like(x).shape == tr.empty_like(x, dtype="F32").shape == shape
        np.testing.assert_array_equal(tr.flip(x), np.flip(a))


@st.composite
def operands(draw: st.DrawFn) -> np.ndarray[Any, Any]:
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=1, max_size=3)))
    return numbers(shape, draw(st.sampled_from(DTYPES)), draw(st.integers(0, 99)))


@given(operands(), st.data())
def test_what_is_composed_equals_numpys(a: Any, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-a.ndim, a.ndim - 1))
    other = data.draw(st.integers(-a.ndim, a.ndim - 1))
    n = data.draw(st.integers(0, 3))
    for x in layouts(a):
        np.testing.assert_array_equal(tr.swapaxes(x, axis, other), np.swapaxes(a, axis, other))
        np.testing.assert_array_equal(tr.flip(x, axis), np.flip(a, axis))
        for part, expected in zip(tr.unstack(x, axis), np.moveaxis(a, axis, 0), strict=True):
            np.testing.assert_array_equal(part, expected)
        same(tr.diff(x, n, axis), np.diff(a, n, axis))
        same(tr.count_nonzero(x, axis, keepdims=True), np.count_nonzero(a, axis, keepdims=True))
        same(tr.roll(x, (1, n, -2), (axis, other, axis)), np.roll(a, (1, n, -2), (axis, other, axis)))
        same(tr.roll(x, (1, n), axis), np.roll(a, (1, n), axis))
        same(tr.roll(x, (1, n)), np.roll(a, (1, n)))
        if a.shape[axis]:
            where = data.draw(st.integers(-a.shape[axis], a.shape[axis] - 1))
            same(tr.delete(x, where, axis), np.delete(a, where, axis))
            same(tr.delete(x, [where, 0], axis), np.delete(a, [where, 0], axis))
        same(tr.delete(x, slice(n, None, 2), axis), np.delete(a, slice(n, None, 2), axis))
        some = numbers((n,), tr.F64, n)
        same(tr.isin(x, tr.tensor(some)), np.isin(a, some))
        same(tr.isin(x, 3, invert=True), np.isin(a, 3, invert=True))
        places = data.draw(st.sampled_from([0, -1, (0, -1), (0, 2), [1, 0], ()]))
        assert tr.expand_dims(x, places).shape == np.expand_dims(a, tuple(np.ravel(places).astype(int))).shape


@pytest.mark.parametrize(
    "dtypes", [("float64", "float64"), ("complex64", "float32"), ("int32", "complex128"), ("bool", "bool")]
)
@pytest.mark.parametrize("shapes", [((3,), (3,)), ((2, 1, 3), (4, 3)), ((2, 0), (2, 0)), ((0, 3), (1, 3))])
def test_vecdot_conjugates_the_first_operand_and_broadcasts(dtypes: Any, shapes: Any) -> None:
    a, b = (numbers(shape, tr.tensor(np.zeros(1, dtype)).dtype, 3) for shape, dtype in zip(shapes, dtypes, strict=True))
    expected = np.vecdot(a, b)
    for x in layouts(a):
        for y in layouts(b):
            same(tr.vecdot(x, y), expected)
    same(tr.vecdot(tr.tensor(a.T), tr.tensor(b.T), 0), np.vecdot(a.T, b.T, axis=0)) if a.ndim == b.ndim else None
    with pytest.raises(ShapeError, match="vecdot: shapes"):
        tr.vecdot(tr.ones(3), tr.ones(1))


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "i4", "i8"])
@pytest.mark.parametrize("shape", [(7,), (5, 9), (3, 8, 5), (2, 3, 4, 17)])
def test_vecdot_of_equal_shapes_sums_along_any_axis(dtype: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(4)
    a, b = (rng.integers(-4, 5, shape) for _ in range(2))
    if dtype.startswith("c"):
        a, b = a + 1j * b[::-1], b - 1j * a
    a, b = a.astype(dtype), b.astype(dtype)
    for axis in range(-len(shape), len(shape)):
        found, expected = tr.vecdot(tr.tensor(a), tr.tensor(b), axis), np.asarray(np.vecdot(a, b, axis=axis))
        np.testing.assert_array_equal(found.to_numpy(), expected, strict=True)
    for axis in (len(shape), -len(shape) - 1):
        with pytest.raises(AxisError, match="vecdot"):
            tr.vecdot(tr.tensor(a), tr.tensor(b), axis)


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("sparse", [False, True])
def test_meshgrid_is_numpys(indexing: Any, sparse: bool) -> None:
    vectors = [np.arange(3), np.arange(2.0), np.array(7), np.arange(0)]
    for count in range(5):
        found = tr.meshgrid(*map(tr.tensor, vectors[:count]), indexing=indexing, sparse=sparse)
        expected = np.meshgrid(*vectors[:count], indexing=indexing, sparse=sparse)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other, strict=True)


@pytest.mark.parametrize("k", [-4, -3, -1, 0, 1, 2, 4, 9])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2), (0, 3)])
def test_eye_has_ones_on_any_diagonal(k: int, shape: tuple[int, int]) -> None:
    same(tr.eye(*shape, k, dtype="I32"), np.eye(*shape, k, dtype="i4"))
    same(tr.eye(shape[0], k=np.int64(k)), np.eye(shape[0], k=k))


def test_diff_takes_numbers_and_tensors_on_either_side() -> None:
    a = np.array([[1, 4, 9], [2, 3, 5]])
    x = tr.tensor(a)
    same(tr.diff(x, prepend=0, append=2.5), np.diff(a, prepend=0, append=2.5))
    same(tr.diff(x, 2, 0, append=tr.tensor(a)), np.diff(a, 2, 0, append=a))
    same(tr.diff(tr.tensor([True, False, False])), np.diff([True, False, False]))
    for call, error in (
        (lambda: tr.diff(x, -1), ArgumentError),
        (lambda: tr.diff(tr.tensor(1)), AxisError),
        (lambda: tr.diff(x, 1, 2), AxisError),
        (lambda: tr.diff(x, prepend=tr.ones((3, 1))), ShapeError),
    ):
        with pytest.raises(error):
            call()


def test_what_is_like_another_tensor_refuses_what_full_refuses() -> None:
    x = tr.tensor([1, 2], dtype="I32")
    same(tr.full_like(x, 7, dtype="F64"), np.full(2, 7.0))
    with pytest.raises(DTypeError):
        tr.full_like(x, 2.5)
    with pytest.raises(CastRangeError):
        tr.full_like(x, 2**31)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool"])
@pytest.mark.parametrize("axis", [-1, 0, (0, 2), None, ()])
@pytest.mark.parametrize("call", [tr.layer_norm, tr.rms_norm], ids=lambda call: str(call.__name__))
def test_a_normalisation_is_within_its_bound_of_extended_precision(
    call: Callable[..., Any], axis: Any, dtype: str
) -> None:
    rng = np.random.default_rng(5)
    a = (rng.normal(size=(6, 5, 7)) * 3 + 2).astype(dtype)
    wide = a.astype(np.longdouble)
    centre = wide.mean(axis, keepdims=True) if call is tr.layer_norm else np.zeros_like(wide)
    root = np.sqrt(((wide - centre) ** 2).mean(axis, keepdims=True) + np.longdouble(1e-3))
    floating = dtype if dtype.startswith("float") else "float64"
    bound = 70 * UNIT[floating] * (np.abs(wide) + np.abs(centre)) / root
    for x in layouts(a):
        found = call(x, axis, eps=1e-3)
        assert str(found.to_numpy().dtype) == floating
        assert (np.abs(found.to_numpy() - (wide - centre) / root) <= bound).all()


def test_a_normalisation_survives_large_and_vanishing_numbers() -> None:
    for scale in (1e300, 1e-300):
        np.testing.assert_allclose(
            tr.rms_norm(tr.tensor([scale, 7 * scale]), eps=0.0).to_numpy(), [0.2, 1.4], rtol=1e-14
        )
    large = tr.tensor([3e38, -3e38], dtype="F32")
    np.testing.assert_allclose(tr.rms_norm(large).to_numpy(), [1, -1], rtol=1e-6)
    assert tr.layer_norm(tr.full((3,), 5.0)).tolist() == [0.0] * 3
    assert np.isnan(tr.layer_norm(tr.tensor([1.0, math.nan])).to_numpy()).all()
    target = tr.zeros((2, 3))
    x = tr.tensor([[1.0, 2.0, 6.0], [0.0, 0.0, 1.0]])
    assert tr.layer_norm(x, weight=2.0, bias=tr.tensor([1.0, 0.0, 0.0]), out=target) is target
    np.testing.assert_allclose(target.to_numpy()[:, 1], 2 * tr.layer_norm(x).to_numpy()[:, 1], rtol=1e-14)
    for wrong in (-1.0, math.nan, "1", None):
        with pytest.raises(ArgumentError, match="layer_norm: eps is"):
            tr.layer_norm(x, eps=wrong)  # type: ignore[arg-type]


def test_layer_norm_takes_elements_whose_squares_are_beyond_the_range() -> None:
    for dtype, size in ((tr.F64, 1e200), (tr.F32, 1e30)):
        found = tr.layer_norm(tr.tensor([size, -size, 0.0], dtype=dtype)).to_numpy()
        np.testing.assert_allclose(found, [1.5**0.5, -(1.5**0.5), 0.0], rtol=1e-6)


def test_differences_stop_where_nothing_is_left_and_none_leave_the_operand_as_it_is() -> None:
    x = tr.tensor([1, 2, 4])
    assert tr.diff(x, 2**62).shape == (0,)
    assert tr.diff(x, 0, prepend=7).to_numpy().tolist() == [1, 2, 4]  # as NumPy's
