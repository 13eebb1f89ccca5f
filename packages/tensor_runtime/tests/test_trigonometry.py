"""Angles of points equal NumPy's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from numpy_agreement import close, layouts
from tensor_core import F32, F64, as_dtype
from tensor_core.dtypes import COMPLEX, DTYPES, REAL_FLOATING
from tensor_core.errors import DTypeError, ShapeError


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
