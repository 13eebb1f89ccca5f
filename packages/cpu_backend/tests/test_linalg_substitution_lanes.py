"""Substitution in lanes beside NumPy's kernel of the same forms."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import pytest

from tensor_core.dtypes import C32, C64, F32, F64, DType
from tensor_cpu.kernels.linalg.substitution import lanes as in_lanes
from tensor_cpu.kernels.linalg.substitution import numpy as by_numpy
from tensor_cpu.system.extension import AVAILABLE
from tensor_runtime.contracts.linalg import TriangularSolveParams
from tensor_runtime.errors import NonFiniteError, SingularMatrixError
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="the extension was not built")


def kernels(dtype: DType, size: int, columns: int, count: int, params: TriangularSolveParams) -> tuple[Any, Any]:
    forms: tuple[Form, Form] = (
        form_of(dtype, (size, size, count), CPU),
        form_of(dtype, (size, columns, count), CPU),
    )
    return in_lanes.bind(forms, forms[1], params), by_numpy.bind_triangular_solve(forms, forms[1], params)


def arrays(dtype: DType, size: int, columns: int, count: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(size)
    parts = [
        rng.standard_normal((count, n, size)) + 1j * rng.standard_normal((count, n, size)) for n in (size, columns)
    ]
    a, b = (part if dtype.kind == "complex" else part.real for part in parts)
    return (a + 3 * np.eye(size)).astype(dtype.numpy_name), np.ascontiguousarray(b).astype(dtype.numpy_name)


@pytest.mark.parametrize("dtype", [F32, F64, C32, C64])
@pytest.mark.parametrize(
    ("size", "columns", "count"), [(1, 1, 5), (2, 6, 33), (4, 3, 17), (5, 20, 9), (16, 2, 40), (17, 1, 9), (64, 19, 6)]
)
def test_lanes_give_numpys_solutions(dtype: DType, size: int, columns: int, count: int) -> None:
    a, b = arrays(dtype, size, columns, count)
    for lower, transpose, conjugate in product((True, False), repeat=3):
        lanes, numpys = kernels(dtype, size, columns, count, TriangularSolveParams(lower, transpose, conjugate, False))
        before = a.tobytes(), b.tobytes()
        found, expected = lanes(a, b), numpys(a, b)
        assert np.abs(found - expected).max() <= 100 * np.finfo(found.dtype).eps * np.abs(expected).max()
        assert (a.tobytes(), b.tobytes()) == before


@pytest.mark.parametrize("dtype", [F32, F64, C32, C64])
@pytest.mark.parametrize(("size", "columns"), [(65, 1), (100, 2), (131, 1)])
def test_systems_of_any_size_with_few_sides_are_solved_column_by_column(dtype: DType, size: int, columns: int) -> None:
    a, b = arrays(dtype, size, columns, 3)
    a = np.ascontiguousarray(a / (2 * size) + np.eye(size, dtype=a.dtype))  # well-conditioned
    for lower, conjugate in product((True, False), repeat=2):
        params = TriangularSolveParams(lower, False, conjugate, False)
        ours, numpys = kernels(dtype, size, columns, 3, params)
        found, expected = ours(a, b), numpys(a, b)
        assert np.abs(found - expected).max() <= 20 * np.finfo(found.dtype).eps * np.abs(expected).max()


@pytest.mark.parametrize("dtype", [F32, F64, C32, C64])
@pytest.mark.parametrize(
    ("size", "columns"), [(3, 2), (6, 1), (7, 19), (8, 1), (8, 2), (12, 2), (16, 1), (16, 3), (17, 2), (40, 1), (70, 1)]
)
def test_a_matrix_has_the_same_bits_wherever_it_stands_in_a_batch(dtype: DType, size: int, columns: int) -> None:
    a, b = arrays(dtype, size, columns, 50)
    for lower, transpose in product((True, False), repeat=2):
        params = TriangularSolveParams(lower, transpose, False, False)
        if (whole := kernels(dtype, size, columns, 50, params)[0]) is None:
            assert size > 64 and transpose
            continue
        expected = whole(a, b)
        for k, few in ((0, 1), (7, 1), (49, 1), (20, 5), (3, 8), (9, 16), (23, 24)):
            alone = kernels(dtype, size, columns, few, params)[0]
            if alone is None:  # too few to fill the lanes
                assert few < 8 and (transpose or columns > 2 or (size <= 16 and dtype in (F32, C32)))
                continue
            part = slice(k, k + few)
            assert alone(a[part], b[part]).tobytes() == expected[part].tobytes()


@pytest.mark.parametrize("dtype", [F32, F64, C32, C64])
@pytest.mark.parametrize(("size", "count"), [(1, 5), (4, 1), (8, 40), (16, 3)])
@pytest.mark.parametrize("transpose", [False, True])
def test_diagonals_that_are_taken_to_be_ones_are_not_read(dtype: DType, size: int, count: int, transpose: bool) -> None:
    a, b = arrays(dtype, size, 2, count)
    params = TriangularSolveParams(True, transpose, False, True)
    ones, unread = a.copy(), a.copy()
    ones.reshape(count, -1)[:, :: size + 1] = 1
    unread.reshape(count, -1)[:, :: size + 1] = np.nan
    expected = kernels(dtype, size, 2, count, params._replace(unit_diagonal=False))[0](ones, b)
    assert kernels(dtype, size, 2, count, params)[0](unread, b).tobytes() == expected.tobytes()
    assert checked(dtype, size, 2, count, params)[0](unread, b).tobytes() == expected.tobytes()
    assert np.isnan(unread.reshape(count, -1)[:, :: size + 1]).all()


def test_zeros_on_a_diagonal_give_infinities_and_the_other_triangle_may_hold_anything() -> None:
    a, b = arrays(F64, 2, 1, 6)
    a[3, 1, 1], b[3] = 0.0, 1.0
    a[:, 1, 0] = np.nan  # of the transposed array: the upper triangle
    a[:, 0, 1] = 0.0
    found = kernels(F64, 2, 1, 6, TriangularSolveParams(True, False, False, False))[0](a, b)
    assert np.isinf(found[3, 0, 1])
    assert np.isfinite(np.delete(found, 3, 0)).all()


@pytest.mark.parametrize("dtype", [F32, F64, C32, C64])
@pytest.mark.parametrize("size", [2, 4, 5, 6, 8, 12, 13, 16, 24])
def test_the_triangle_that_is_not_read_changes_nothing(dtype: DType, size: int) -> None:
    a, b = arrays(dtype, size, 1, 41)
    for lower, transpose in product((True, False), repeat=2):
        lanes = kernels(dtype, size, 1, 41, TriangularSolveParams(lower, transpose, False, False))[0]
        expected = lanes(a, b)
        spoilt = a.copy()
        unread = np.tril_indices(size, -1) if lower else np.triu_indices(size, 1)  # of the transposed arrays
        spoilt[:, *unread] = np.nan
        assert lanes(spoilt, b).tobytes() == expected.tobytes()


def test_few_or_large_matrices_and_unread_diagonals_of_larger_ones_are_left_to_others() -> None:
    params = TriangularSolveParams(True, False, False, False)
    assert kernels(F64, 65, 3, 1000, params)[0] is None
    assert kernels(F64, 65, 1, 1000, params._replace(transpose=True))[0] is None
    assert kernels(F64, 17, 3, 5, params)[0] is None
    assert kernels(F64, 17, 18, 10, params)[0] is None
    assert kernels(F64, 2, 600, 1, params)[0] is None
    assert kernels(F64, 17, 2, 100, params._replace(unit_diagonal=True))[0] is None


@pytest.mark.parametrize("dtype", [F32, F64, C32, C64])
def test_matrices_with_subnormal_diagonals_are_divided_and_no_others(dtype: DType) -> None:
    rng = np.random.default_rng(0)
    numbers, minute = np.dtype(dtype.numpy_name).type, np.finfo(dtype.numpy_name).tiny / 64
    x = rng.integers(-9, 10, (5, 20, 17))
    lower = np.tril(rng.integers(-2, 3, (5, 17, 17)), -1) + np.eye(17)
    lower[[1, 4], 16, :16] = 0
    a, b = lower.swapaxes(1, 2).astype(numbers), (x @ lower.swapaxes(1, 2)).astype(numbers)
    a[[1, 4], 16, 16] = minute
    b[[1, 4], :, 16] *= numbers(minute)
    forms = form_of(dtype, (17, 17, 5), CPU), form_of(dtype, (17, 20, 5), CPU)
    params = TriangularSolveParams(True, False, False, False)

    assert (by_numpy.bind_triangular_solve(forms, forms[1], params)(a, b) == x).all()


@pytest.mark.parametrize("dtype", [F32, F64, C32, C64])
@pytest.mark.parametrize("size", [8, 9, 12, 17, 24, 31, 64])
def test_columns_of_few_right_hand_sides_have_the_bits_of_many(dtype: DType, size: int) -> None:
    a, b = arrays(dtype, size, 3, 11)
    for lower in (True, False):
        params = TriangularSolveParams(lower, False, False, False)
        many = kernels(dtype, size, 3, 11, params)[0](a, b)
        for columns in (1, 2):
            few = np.ascontiguousarray(b[:, :columns])
            found = kernels(dtype, size, columns, 11, params)[0](a, few)
            assert found.tobytes() == np.ascontiguousarray(many[:, :columns]).tobytes()


def checked(dtype: DType, size: int, columns: int, count: int, params: TriangularSolveParams) -> tuple[Any, Any]:
    forms = form_of(dtype, (size, size, count), CPU), form_of(dtype, (size, columns, count), CPU)
    lanes = in_lanes.bind_checked(forms, forms[1], params)
    assert lanes is not None
    return lanes, by_numpy.bind_checked(forms, forms[1], params)


@pytest.mark.parametrize("dtype", [F32, F64, C32, C64])
@pytest.mark.parametrize(
    ("size", "columns"), [(1, 1), (3, 2), (6, 1), (8, 1), (9, 2), (16, 3), (20, 1), (30, 4), (67, 1)]
)
def test_every_element_that_is_not_finite_and_every_zero_on_a_diagonal_is_found(
    dtype: DType, size: int, columns: int
) -> None:
    rng = np.random.default_rng(size)
    turns, kinds = (True, False) if size <= 64 else (False,), (False, True) if dtype.kind == "complex" else (False,)
    for lower, transpose, conjugate in product((True, False), turns, kinds):
        lanes, numpys = checked(dtype, size, columns, 11, TriangularSolveParams(lower, transpose, conjugate, False))
        a, b = arrays(dtype, size, columns, 11)
        assert np.isfinite(lanes(a, b)).all()
        for value in (np.nan, np.inf, -np.inf):
            for operand in (a, b):
                place = tuple(int(rng.integers(0, extent)) for extent in operand.shape)
                before = operand[place]
                expected = lanes(a, b).tobytes()
                operand[place] = value
                column, row = place[1:]
                if operand is a and (row < column if lower else row > column):
                    assert lanes(a, b).tobytes() == expected
                    assert np.isfinite(numpys(a, b)).all()
                else:
                    with pytest.raises(NonFiniteError) as told:
                        lanes(a, b)
                    with pytest.raises(NonFiniteError, match=f"^{re.escape(str(told.value))}$"):
                        numpys(a, b)
                    assert (told.value.batch_index, told.value.element_index) == ((place[0],), place[:0:-1])
                operand[place] = before
        which, row = int(rng.integers(0, 11)), int(rng.integers(0, size))
        for unread in (np.inf, np.nan):  # on the diagonal, where a quotient by it is zero, and not
            before = a[which, row, row]
            a[which, row, row] = unread
            with pytest.raises(NonFiniteError):
                lanes(a, b)
            a[which, row, row] = before
        a[which, row, row] = 0.0
        with pytest.raises(SingularMatrixError) as refused:
            lanes(a, b)
        assert refused.value.batch_index == (which,)
        with pytest.raises(SingularMatrixError):
            numpys(a, b)


def test_solutions_beyond_the_range_are_no_failures() -> None:
    a, b = np.zeros((9, 8, 8)), np.zeros((9, 1, 8))
    a[:], b[..., -1] = np.eye(8) * 1e-200, 1e200
    for dtype, conjugate in ((F64, False), (C64, True)):
        x, y = a.astype(dtype.numpy_name), b.astype(dtype.numpy_name)
        found = checked(dtype, 8, 1, 9, TriangularSolveParams(True, False, conjugate, False))[0](x, y)
        assert np.isinf(found[..., -1]).all()
        assert not found[..., :-1].any()
