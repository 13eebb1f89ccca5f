"""Numbers beyond the dtype are compared all the same."""

from __future__ import annotations

import numpy as np
import pytest

import tensor_runtime as tr


@pytest.mark.parametrize("name", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
@pytest.mark.parametrize("dtype", ["I32", "I64", "F64", "Bool"])
@pytest.mark.parametrize("number", [2**31, -(2**31) - 1, 2**63, -(2**63) - 1, 2**200])
def test_a_number_beyond_the_dtype_is_compared_all_the_same(name: str, dtype: str, number: int) -> None:
    a = np.array([0, 1, 1]).astype(tr.zeros((), dtype=dtype).to_numpy().dtype)
    x = tr.asarray(a)

    assert getattr(tr, name)(x, number).to_numpy().tolist() == getattr(np, name)(a.astype(object), number).tolist()
    assert getattr(tr, name)(number, x).to_numpy().tolist() == getattr(np, name)(number, a.astype(object)).tolist()
    assert number not in x
