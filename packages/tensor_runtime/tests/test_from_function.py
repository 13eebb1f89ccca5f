"""Numbers from a rule: linspace and inclusive arange as NumPy's, and tables of a Python function."""

from __future__ import annotations

from collections.abc import Callable
from re import escape
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core import C32, C64, F32, F64, I32, I64, Bool
from tensor_core.errors import ArgumentError, CastRangeError, DTypeError, ShapeError

moderate = st.floats(-1e6, 1e6, allow_subnormal=False)


@given(moderate, moderate, st.integers(0, 40), st.booleans())
def test_linspace_is_numpys(start: float, stop: float, num: int, endpoint: bool) -> None:
    found = tr.linspace(start, stop, num, endpoint=endpoint)
    assert (found.dtype, found.shape) == (F64, (num,))
    np.testing.assert_array_equal(found.to_numpy(), np.linspace(start, stop, num, endpoint=endpoint))


def test_linspace_has_exact_ends_and_any_floating_dtype() -> None:
    assert tr.linspace(0.1, 0.7, 7).to_numpy()[[0, -1]].tolist() == [0.1, 0.7]
    assert tr.linspace(0, 1).shape == (50,)
    assert tr.linspace(2, 3, 1).to_numpy().tolist() == [2.0]
    assert tr.linspace(1j, 1, 3).to_numpy().tolist() == np.linspace(1j, 1, 3).tolist()
    assert tr.linspace(1j, 1, 3).dtype is C64
    for dtype in (F32, C32, C64):
        found = tr.linspace(0, 1, 7, dtype=dtype)
        np.testing.assert_array_equal(found.to_numpy(), np.linspace(0, 1, 7).astype(dtype.numpy_name))
    wide = tr.linspace(-1.7e308, 1.7e308, 5).to_numpy()
    np.testing.assert_allclose(wide, [-1.7e308, -0.85e308, 0.0, 0.85e308, 1.7e308])


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), "1", None, 10**400, True])
def test_linspace_runs_between_finite_numbers(wrong: Any) -> None:
    with pytest.raises(ArgumentError, match=r"linspace: found .*; accepted: finite Python numbers"):
        tr.linspace(0, wrong)
    with pytest.raises(ArgumentError, match="linspace: num is -1; accepted: an int of 0 or more"):
        tr.linspace(0, 1, -1)


def test_linspace_is_floating() -> None:
    for dtype in (I64, Bool):
        with pytest.raises(DTypeError, match=f"linspace: dtype is {escape(str(dtype))}; accepted: C32, C64, F32, F64"):
            tr.linspace(0, 1, dtype=dtype)
    with pytest.raises(DTypeError, match="linspace: dtype is F64; accepted: C32, C64"):
        tr.linspace(0, 1j, dtype=F64)


@given(st.integers(-20, 20), st.integers(-20, 20), st.integers(-4, 4).filter(bool))
def test_an_inclusive_range_of_ints_holds_a_stop_that_it_meets(start: int, stop: int, step: int) -> None:
    beyond = stop + (1 if step > 0 else -1)
    found = tr.arange(start, stop, step, inclusive=True)
    assert found.dtype is I64
    assert found.to_numpy().tolist() == list(range(start, beyond, step))


def test_an_inclusive_range_of_floats_forgives_rounding() -> None:
    assert tr.arange(0, 0.3, 0.1, inclusive=True).shape == (4,)
    assert tr.arange(0.0, 1.0, 0.1, inclusive=True).shape == (11,)
    assert tr.arange(0.0, 1.05, 0.1, inclusive=True).shape == (11,)
    assert tr.arange(1.0, 0.0, inclusive=True).shape == (0,)
    assert tr.arange(1.0, 1.0, inclusive=True).to_numpy().tolist() == [1.0]
    assert tr.arange(3, inclusive=True).to_numpy().tolist() == [0, 1, 2, 3]
    with pytest.raises(CastRangeError):
        tr.arange(0, 2**31, 2**31, inclusive=True, dtype=I32)


def test_tabulate_calls_in_order_and_takes_the_dtype_from_the_first_number() -> None:
    calls = []

    def f(i: int) -> float:
        calls.append(i)
        return i / 2

    x = tr.tabulate(4, f)
    assert calls == [0, 1, 2, 3]
    assert (x.dtype, x.to_numpy().tolist()) == (F64, [0.0, 0.5, 1.0, 1.5])
    assert tr.tabulate(2, lambda i: i == 1).dtype is Bool
    assert tr.tabulate(2, lambda i: 1j * i).dtype is C64
    assert tr.tabulate(0, f, dtype=F32).dtype is F32


def test_from_function_runs_the_first_index_fastest() -> None:
    calls = []

    def f(i: int, j: int) -> int:
        calls.append((i, j))
        return 10 * i + j

    x = tr.from_function((2, 3), f, dtype=I32)
    assert calls == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]
    assert (x.dtype, x.to_numpy().tolist()) == (I32, [[0, 1, 2], [10, 11, 12]])
    assert tr.from_function((), lambda: 7).item() == 7
    assert tr.from_function(3, lambda i: i).to_numpy().tolist() == [0, 1, 2]
    assert tr.from_function((2, 0), f, dtype=F64).shape == (2, 0)


def test_tables_hold_numbers_of_one_kind() -> None:
    with pytest.raises(DTypeError, match="tabulate: call 1 gave a float and call 0 a int"):
        tr.tabulate(2, lambda i: i if i == 0 else 0.5)
    assert tr.tabulate(2, lambda i: i if i == 0 else 0.5, dtype=F64).to_numpy().tolist() == [0.0, 0.5]
    with pytest.raises(DTypeError, match="tabulate: call 0 gave a str; accepted: Python's bool, int"):
        tr.tabulate(1, str)  # type: ignore[arg-type]
    with pytest.raises(DTypeError, match="from_function: call 0 gave a ndarray"):
        tr.from_function(1, lambda i: np.array(0.5), dtype=F64)
    with pytest.raises(DTypeError):
        tr.tabulate(1, lambda i: 0.5, dtype=I64)
    with pytest.raises(CastRangeError):
        tr.tabulate(1, lambda i: 2**40, dtype=I32)
    for call in (lambda: tr.tabulate(0, lambda i: i), lambda: tr.from_function((0,), lambda i: i)):
        with pytest.raises(ArgumentError, match="no element to take a dtype from; name one"):
            call()
    with pytest.raises(ArgumentError, match="tabulate: n is -1"):
        tr.tabulate(-1, lambda i: i)
    with pytest.raises(ShapeError):
        tr.from_function((-1,), lambda i: i)


def test_a_table_is_made_by_a_function() -> None:
    for call in (tr.tabulate, tr.from_function):
        with pytest.raises(ArgumentError, match=r"f is a int; accepted: a function"):
            call(2, 1)  # type: ignore[arg-type]


def test_an_error_of_the_function_passes_through() -> None:
    with pytest.raises(ZeroDivisionError):
        tr.tabulate(1, lambda i: 1 // i)


@pytest.mark.parametrize(
    "call",
    [
        lambda: tr.split(tr.zeros((0,)), 10**8),
        lambda: tr.split(tr.zeros((0, 0)), 2**62),
        lambda: tr.tabulate(10**400, float),
        lambda: tr.tabulate(2**62, float),
        lambda: tr.from_function(2**62, float),
        lambda: tr.arange(10**400, 10**400 + 2),
        lambda: tr.arange(0.0, 10**400),
    ],
)
def test_what_no_memory_or_dtype_holds_is_refused_at_once(call: Callable[[], Any]) -> None:
    with pytest.raises(tr.TensorError):
        call()


def test_no_element_is_no_work() -> None:
    assert len(tr.split(tr.zeros((0,)), 5)) == 5
    assert tr.from_function((0, 2**40), float, dtype="F64").shape == (0, 2**40)
