"""``int``, ``float`` and ``complex`` of a tensor of one element: Python's values, our errors."""

from __future__ import annotations

from math import inf, nan

import pytest

import tensor_runtime as tr
from tensor_core import ArgumentError, CastRangeError


@pytest.mark.parametrize("dtype", ["F32", "F64"])
def test_int_truncates_what_is_finite_and_refuses_the_rest(dtype: str) -> None:
    assert [int(tr.tensor(value, dtype=dtype)) for value in (2.75, -2.75, 0.0)] == [2, -2, 0]
    with pytest.raises(ArgumentError, match="int: the element is nan; accepted: finite numbers"):
        int(tr.tensor(nan, dtype=dtype))
    for value in (inf, -inf):
        with pytest.raises(CastRangeError, match=f"int: the element is {value}; accepted: finite numbers"):
            int(tr.tensor(value, dtype=dtype))


def test_the_errors_of_int_are_those_that_python_raises_for_a_float() -> None:
    for value, error in ((nan, ValueError), (inf, OverflowError)):
        with pytest.raises(error):
            int(value)
        with pytest.raises(error):
            int(tr.tensor(value))


def test_float_and_complex_take_what_int_refuses() -> None:
    assert float(tr.tensor(inf)) == inf
    assert complex(tr.tensor(-inf)) == complex(-inf)
