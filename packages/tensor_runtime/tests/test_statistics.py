"""Means, variances, norms and positions of extremes equal NumPy's, and never warn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from numpy_agreement import REAL_OR_BOOL, folds_agree, operands_and_axes
from tensor_core import F64, I64
from tensor_core.dtypes import FLOATING
from tensor_core.errors import ArgumentError, AxisError, DTypeError
from tensor_runtime.backends.registry import registry
from tensor_runtime.testing.simulated_device import SimulatedBackend

INF, NAN = float("inf"), float("nan")


@pytest.fixture(scope="module")
def bare() -> Iterator[None]:
    """A device "bare" without a kernel for norms, where they are lowered."""
    tr.register_backend("bare", SimulatedBackend(tr.backend("cpu"), "bare", {"norm": "no such unit"}))
    yield
    registry.unregister("bare")


@given(operands_and_axes())
def test_means_are_numpys_and_nan_of_nothing(drawn: Any) -> None:
    x, a, axis, keepdims = drawn
    dtype = x.dtype if x.dtype in FLOATING else F64
    with np.errstate(all="ignore"):
        sums = np.asarray(np.sum(a, axis=axis, keepdims=keepdims, dtype=dtype.numpy_name))
        expected = sums / (a.size / sums.size if sums.size else 1)
    if a.size or not sums.size:
        folds_agree(tr.mean(x, axis=axis, keepdims=keepdims), expected, dtype, 4)
    else:
        assert np.isnan(tr.mean(x, axis=axis, keepdims=keepdims).to_numpy()).all()


def test_the_parts_of_a_complex_mean_do_not_mix() -> None:
    assert tr.mean(tr.tensor([complex(INF, 2.0), complex(1.0, 4.0)])).item() == complex(INF, 3.0)


@pytest.mark.parametrize("dtype", [tr.F32, tr.F64, tr.C32, tr.C64])
@pytest.mark.parametrize("correction", [2, 3])
def test_without_degrees_of_freedom_a_variance_is_infinite(dtype: tr.DType, correction: int) -> None:
    x = tr.cast(tr.tensor([0.0, 1.0]), dtype)
    assert tr.var(x, correction=correction).item() == tr.std(x, correction=correction).item() == float("inf")


@given(operands_and_axes(), st.sampled_from([0, 1, 0.5, 2]))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's own, about nothing and about degrees of freedom
def test_variances_are_numpys(drawn: Any, correction: float) -> None:
    x, a, axis, keepdims = drawn
    real = (x.dtype if x.dtype in FLOATING else F64).component
    options: Any = {"axis": axis, "keepdims": keepdims}
    wide = a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)
    with np.errstate(all="ignore"):
        expected = np.var(wide, ddof=correction, **options)
        found = tr.var(x, correction=correction, **options)
        roots = tr.std(x, correction=correction, **options)
    scale = 1e-5 if real is tr.F32 else 1e-13
    assert (found.dtype, roots.dtype, found.shape) == (real, real, np.shape(expected))
    np.testing.assert_allclose(found.to_numpy(), expected, rtol=scale, atol=scale * 100)
    # The root may be taken before the variance is rounded.
    unit = float(np.finfo(found.to_numpy().dtype).eps)
    np.testing.assert_allclose(roots.to_numpy(), np.sqrt(found.to_numpy()), rtol=unit)


def test_a_correction_is_a_finite_number() -> None:
    x = tr.tensor([1.0, 2.0])
    assert tr.var(x, correction=2).item() == INF
    assert np.isnan(tr.var(tr.ones(2), correction=3).item())
    for wrong in ("1", None, NAN, INF, 10**400):
        with pytest.raises(ArgumentError, match=r"correction is .*; accepted: a finite int or float"):
            tr.std(x, correction=wrong)  # type: ignore[arg-type]


@given(operands_and_axes(REAL_OR_BOOL), st.sampled_from(["argmax", "argmin"]), st.integers(0, 3))
def test_positions_of_extremes_are_numpys(drawn: Any, name: str, few: int) -> None:
    x, _, axis, keepdims = drawn
    x = tr.cast(tr.remainder(tr.cast(x, I64), few + 1), x.dtype)  # so that many are equal
    a, axis = x.to_numpy(), axis if isinstance(axis, int) else None
    if a.size == 0 and (axis is None or a.shape[axis] == 0):
        with pytest.raises(ArgumentError, match=f"{name} of nothing"):
            getattr(tr, name)(x, axis=axis)
        return
    expected = getattr(np, name)(a, axis=axis, keepdims=keepdims)
    folds_agree(getattr(tr, name)(x, axis=axis, keepdims=keepdims), expected, I64)


@pytest.mark.parametrize("shape", [(5000,), (70, 90), (3, 2000), (9, 30, 40)])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions_among_many_elements_count_in_row_major_order(shape: tuple[int, ...], name: str) -> None:
    a = np.random.default_rng(3).integers(0, 5, shape).astype(np.float64)
    for array in (a, np.asfortranarray(a), a.T):
        assert getattr(tr, name)(tr.asarray(array)).item() == getattr(np, name)(array)
    a[tuple(extent // 2 for extent in shape)] = NAN
    a[tuple(extent - 1 for extent in shape)] = NAN
    assert getattr(tr, name)(tr.asarray(a)).item() == getattr(np, name)(a)


def test_positions_take_one_axis_of_what_has_an_order() -> None:
    x = tr.tensor([[1, 9, 3], [9, 5, 4]])
    assert tr.argmax(x).item() == 1  # row-major; column-major would be 1 as well, so look at the transpose, too
    assert tr.argmax(x.T).item() == 1
    assert tr.argmax(tr.tensor([[0, 0, 7], [7, 0, 0]])).item() == 2
    with pytest.raises(ArgumentError, match="argmax: axis is \\(0, 1\\); accepted: an int"):
        tr.argmax(x, axis=(0, 1))  # type: ignore[arg-type]
    with pytest.raises(DTypeError, match="argmin: operand is C64"):
        tr.argmin(tr.zeros(2, dtype="C64"))
    with pytest.raises(AxisError, match="argmin"):
        tr.argmin(tr.tensor(1), axis=0)


ORDERS = st.sampled_from([0, 1, 2, 3, 0.5, -1, -2.5, INF, -INF])


@given(operands_and_axes(), ORDERS)
def test_norms_are_numpys(drawn: Any, order: float) -> None:
    x, a, axis, keepdims = drawn
    real = (x.dtype if x.dtype in FLOATING else F64).component
    along = tuple(range(a.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if order == -INF and any(a.shape[one] == 0 for one in along):
        with pytest.raises(ArgumentError, match="norm of nothing"):
            tr.norm(x, order, axis=axis)
        return
    sizes = np.abs(a.astype(np.complex128))
    along = tuple(one % a.ndim for one in along)
    with np.errstate(all="ignore"):
        if order == 0:
            expected = np.sum(sizes != 0, axis=along, keepdims=keepdims).astype(float)
        elif order == INF:
            expected = np.max(sizes, axis=along, keepdims=keepdims, initial=0)
        elif order == -INF:
            expected = np.min(sizes, axis=along, keepdims=keepdims)
        elif order == 2:
            squares = np.square(a.real, dtype=float) + np.square(a.imag, dtype=float)
            expected = np.sqrt(np.sum(squares, axis=along, keepdims=keepdims))
        else:
            expected = np.sum(sizes**order, axis=along, keepdims=keepdims) ** (1 / order)
        found = tr.norm(x, order, axis=axis, keepdims=keepdims)
    assert (found.dtype, found.is_compact, found.shape) == (real, True, np.shape(expected))
    np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-5 if real is tr.F32 else 1e-13)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("order", [0, 1, 2, 3, 0.5, -1, np.inf, -np.inf])
@pytest.mark.parametrize("place", ["cpu", "bare"])
def test_a_norm_of_an_infinite_and_a_nan_part_is_numpys_wherever_they_stand(
    place: str, order: float, dtype: str, bare: None
) -> None:
    for element in (complex(np.nan, np.inf), complex(-np.inf, np.nan)):
        for rest in (1 + 1j, complex(np.inf, 0), complex(np.nan, 0)):
            for rows, columns in ((1, 8), (3, 5), (2, 300), (300, 2)):
                for position in {0, 1, columns // 2, columns - 1}:
                    line = np.full(columns, 1 + 1j, dtype)
                    line[position], line[position - 1] = element, rest
                    matrix = np.tile(line, (rows, 1))
                    with np.errstate(all="ignore"):
                        expected = np.linalg.norm(line.astype("complex128"), order)
                    for operand, axis in ((matrix, 1), (matrix.T, 0), (matrix[:, ::-1], -1), (matrix[0], None)):
                        x = tr.to(tr.asarray(operand), place)
                        found = tr.to(tr.norm(x, order, axis=axis), "cpu").to_numpy()
                        np.testing.assert_allclose(found, np.broadcast_to(expected, found.shape), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["F32", "F64", "C32", "C64"])
@pytest.mark.parametrize("order", [1, 2, 3, -3, INF])
def test_norms_neither_overflow_nor_underflow_on_the_way(dtype: str, order: float) -> None:
    exponent = 120 if dtype in ("F32", "C32") else 1000
    plain = tr.tensor([[3.0, 4.0, 0.5], [1.0, 2.0, 0.25]], dtype=dtype)
    expected = tr.norm(plain, order, axis=1).to_numpy()
    for power in (exponent, -exponent):
        scale = 2.0**power
        found = tr.norm(plain * scale, order, axis=1).to_numpy()
        np.testing.assert_allclose(found / scale, expected, rtol=1e-6 if exponent == 120 else 1e-14)
        np.testing.assert_allclose(tr.norm((plain * scale)[0], order).to_numpy() / scale, expected[0], rtol=1e-6)


def test_rows_of_one_norm_are_scaled_each_for_itself() -> None:
    x = tr.tensor([[3e200, 4e200], [3e-200, 4e-200], [0.0, 0.0], [INF, 1.0], [NAN, INF], [5e-324, 0.0]])
    expected = [5e200, 5e-200, 0.0, INF, NAN, 5e-324]
    np.testing.assert_allclose(tr.norm(x, axis=1).to_numpy(), expected, rtol=1e-15)
    assert np.isnan(tr.norm(x).item())


@pytest.mark.parametrize("wrong", ["fro", None, NAN, 1j, 10**400])
def test_an_order_is_a_number(wrong: Any) -> None:
    with pytest.raises(ArgumentError, match=r"norm: ord is .*accepted: an int, a float, inf or -inf"):
        tr.norm(tr.ones(2), wrong)


@pytest.mark.parametrize(("dtype", "small"), [("F32", 1e-22), ("C32", 1e-22), ("F64", 1e-150), ("C64", 1e-150)])
def test_a_deviation_keeps_its_digits_where_its_square_is_too_small_for_the_dtype(dtype: str, small: float) -> None:
    x = tr.cast(tr.tensor([[small, -small]] * 3 + [[0.0, 0.0]]), dtype)

    found = tr.std(x, 1).to_numpy()

    np.testing.assert_allclose(found, [small] * 3 + [0.0], rtol=1e-6)
    assert abs(float(tr.std(x[:1])) / small - 1) < 1e-6


@pytest.mark.parametrize("far", [1e300, 1e-300, INF, NAN])
@pytest.mark.parametrize("axis", [0, 1, (0, 1)])
def test_a_norm_has_the_bits_that_it_has_without_a_neighbour_out_of_range(far: float, axis: Any) -> None:
    x = np.random.default_rng(11).standard_normal((20, 9, 5))
    beside = np.array(x)
    beside[0, 0, 4] = far
    if far == 1e-300:
        beside[:, :, 4] = far
    for order in ("C", "F"):
        for dtype in ("float64", "complex128"):
            plain, found = (
                tr.norm(tr.asarray(array.astype(dtype, order=order)), axis=axis).to_numpy() for array in (x, beside)
            )
            np.testing.assert_array_equal(found[..., :4], plain[..., :4])
            first = found[(0,) * (found.ndim - 1) + (4,)]
            many = {0: 20, 1: 9, (0, 1): 180}[axis] if far == 1e-300 else 1
            assert first == pytest.approx(far * many**0.5, nan_ok=True)
