"""Angles of points equal NumPy's."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core import F32, F64, as_dtype
from tensor_core.dtypes import COMPLEX, DTYPES, REAL_FLOATING
from tensor_core.errors import DTypeError, ShapeError

Array = np.ndarray[Any, Any]
UNIT = {"float32": 2.0**-23, "float64": 2.0**-52, "complex64": 2.0**-23, "complex128": 2.0**-52}


def layouts(a: Array) -> Iterator[tr.Tensor]:
    """The same tensor compact, transposed, reversed."""
    yield tr.asarray(a, copy=True)
    yield tr.asarray(np.array(a.T, order="F")).T
    if a.ndim:
        yield tr.asarray(np.array(a[::-1], order="F"))[::-1]


def close(result: tr.Tensor, expected: Any, units: float = 4) -> None:
    """Within some rounding units of the largest finite element, NaN and infinities in the same places."""
    expected = np.asarray(expected)
    assert result.dtype is as_dtype(expected.dtype)
    assert result.is_compact
    found = result.to_numpy()
    assert found.shape == expected.shape
    for ours, theirs in ((found.real, expected.real), (found.imag, expected.imag)):
        finite = np.isfinite(theirs)
        np.testing.assert_array_equal(ours[~finite], theirs[~finite])
        if finite.any():
            largest = np.abs(expected[np.isfinite(expected)]).max(initial=0)
            assert np.abs(ours[finite] - theirs[finite]).max() <= units * UNIT[str(expected.dtype)] * max(
                float(largest), 1e-300
            )


@pytest.mark.parametrize("a_type", DTYPES, ids=str)
@pytest.mark.parametrize("b_type", DTYPES, ids=str)
@pytest.mark.parametrize("shapes", [((2, 3), (2, 3)), ((), ()), ((3,), (2, 1)), ((0, 1), (3,))], ids=str)
def test_atan2_equals_numpys(a_type: Any, b_type: Any, shapes: Any) -> None:
    rng = np.random.default_rng(4)
    a, b = (
        np.asarray(rng.integers(-3, 4, shape)).astype(dtype.numpy_name)
        for shape, dtype in zip(shapes, (a_type, b_type), strict=True)
    )
    for y in layouts(a):
        for x in layouts(b):
            if a_type in COMPLEX or b_type in COMPLEX:
                with pytest.raises(DTypeError, match="atan2: operands are"):
                    tr.atan2(y, x)
                continue
            common = as_dtype(np.result_type(a, b))
            computed = (common if common in REAL_FLOATING else F64).numpy_name
            close(tr.atan2(y, x), np.arctan2(a.astype(computed), b.astype(computed)), 1)


@pytest.mark.parametrize("dtype", sorted(set(DTYPES) - COMPLEX, key=str), ids=str)
@pytest.mark.parametrize("number", [True, 2, -2.5], ids=str)
def test_atan2_takes_python_numbers(dtype: Any, number: Any) -> None:
    a = np.array([[0, 1, 3], [1, 2, 1]]).astype(dtype.numpy_name)
    computed = dtype.numpy_name if dtype is F32 else "float64"
    for x in layouts(a):
        close(tr.atan2(x, number), np.arctan2(a.astype(computed), np.dtype(computed).type(number)), 1)
        close(tr.atan2(number, x), np.arctan2(np.dtype(computed).type(number), a.astype(computed)), 1)


def test_edges_of_atan2_are_those_of_c() -> None:
    a = np.array([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan])
    found = tr.atan2(tr.asarray(a[:, None]), tr.asarray(a)).to_numpy()
    expected = np.array([[math.atan2(y, x) for x in a] for y in a])
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    with pytest.raises(ShapeError, match="atan2: shapes"):
        tr.atan2(tr.ones(2), tr.ones(3))
