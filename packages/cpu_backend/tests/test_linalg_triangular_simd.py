"""Substitution in lanes beside NumPy's kernel of the same forms."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tensor_core.dtypes import C32, C64, F32, F64, DType
from tensor_cpu.kernels.linalg import triangular, triangular_simd
from tensor_cpu.system.extension import AVAILABLE
from tensor_runtime.contracts.linalg import TriangularSolveParams
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="the extension was not built")


def kernels(dtype: DType, size: int, columns: int, count: int, params: TriangularSolveParams) -> tuple[Any, Any]:
    forms: tuple[Form, Form] = (
        form_of(dtype, (size, size, count), CPU),
        form_of(dtype, (size, columns, count), CPU),
    )
    return triangular_simd.bind(forms, forms[1], params), triangular.bind_triangular_solve(forms, forms[1], params)


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


@pytest.mark.parametrize("dtype", [F64, C64])
def test_a_matrix_has_the_same_bits_wherever_it_stands_in_a_batch(dtype: DType) -> None:
    a, b = arrays(dtype, 3, 2, 50)
    params = TriangularSolveParams(True, False, False, False)
    whole = kernels(dtype, 3, 2, 50, params)[0](a, b)
    alone = kernels(dtype, 3, 2, 1, params)[0]
    for k in (0, 7, 49):
        assert alone(a[k : k + 1], b[k : k + 1]).tobytes() == whole[k : k + 1].tobytes()


def test_zeros_on_a_diagonal_give_infinities_and_the_other_triangle_may_hold_anything() -> None:
    a, b = arrays(F64, 2, 1, 6)
    a[3, 1, 1], b[3] = 0.0, 1.0
    a[:, 1, 0] = np.nan  # of the transposed array: the upper triangle
    a[:, 0, 1] = 0.0
    found = kernels(F64, 2, 1, 6, TriangularSolveParams(True, False, False, False))[0](a, b)
    assert np.isinf(found[3, 0, 1])
    assert np.isfinite(np.delete(found, 3, 0)).all()


def test_few_or_large_matrices_and_unread_diagonals_are_left_to_others() -> None:
    params = TriangularSolveParams(True, False, False, False)
    assert kernels(F64, 65, 1, 1000, params)[0] is None
    assert kernels(F64, 17, 1, 5, params)[0] is None
    assert kernels(F64, 17, 18, 10, params)[0] is None
    assert kernels(F64, 2, 500, 1, params)[0] is None
    assert kernels(F64, 2, 2, 100, params._replace(unit_diagonal=True))[0] is None
