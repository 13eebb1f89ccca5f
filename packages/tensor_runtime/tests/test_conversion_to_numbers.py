"""``int``, ``float``, ``complex``, ``round`` and ``format`` of a tensor of one element: Python's values, our errors."""

from __future__ import annotations

from math import inf, nan

import pytest

import tensor_runtime as tr
from tensor_core import ArgumentError, CastRangeError, DTypeError


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


def test_round_and_format_of_one_element_are_those_of_the_number() -> None:
    assert (round(tr.tensor(2.5)), round(tr.tensor([-2.675]), 2), round(tr.tensor(25), -1)) == (2, -2.67, 20)
    assert isinstance(round(tr.tensor(2.7)), int)
    assert f"{tr.tensor([1.0, 2.71828])[1]:.3f} {tr.tensor(42):05d} {tr.tensor(1 + 2j):.1f}" == "2.718 00042 1.0+2.0j"
    x = tr.tensor([1, 2])
    assert f"{x}" == str(x)


def test_round_and_format_refuse_what_is_no_single_number_in_our_words() -> None:
    with pytest.raises(ArgumentError, match=r"format: shape \(2,\) has 2 elements"):
        f"{tr.zeros(2):.3f}"
    with pytest.raises(ArgumentError, match=r"format: Unknown format code 'd'.*; the element is a F64"):
        f"{tr.tensor(1.5):d}"
    with pytest.raises(ArgumentError, match="round: the element is nan"):
        round(tr.tensor(nan))
    with pytest.raises(CastRangeError, match="round: the element is inf"):
        round(tr.tensor(inf))
    with pytest.raises(DTypeError, match="round: the element is complex"):
        round(tr.tensor(1j))
    with pytest.raises(ArgumentError, match="round: digits is 'x'"):
        round(tr.tensor(1.5), "x")  # type: ignore[arg-type]
