"""Kernels around the loops of NumPy's ufuncs give NumPy's bits, in any number of threads, and its errors as ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.dtypes import C32, C64, F32, F64, I32, I64, Bool, DType
from tensor_core.errors import DivisionByZeroError
from tensor_cpu.kernel_table import binders, kernels_of
from tensor_cpu.kernels.elementwise.numpy import BINARY, UNARY
from tensor_cpu.storage import NUMPY_DTYPES
from tensor_cpu.system.extension import AVAILABLE
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU

if not AVAILABLE:
    pytest.skip("the extension module is not in use", allow_module_level=True)

RANDOM = np.random.default_rng(5)
DTYPES = (F32, F64, C32, C64, I32, I64)


def _drawn(dtype: DType, count: int) -> np.ndarray[Any, Any]:
    if dtype in (I32, I64):
        whole = RANDOM.integers(-60, 60, count)
        return np.where(whole == 0, 7, whole).astype(NUMPY_DTYPES[dtype])
    drawn = RANDOM.standard_normal(count) + (1j * RANDOM.standard_normal(count) if dtype in (C32, C64) else 0)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0])
    drawn[: min(count, 7)] = special[:count]
    return drawn.astype(NUMPY_DTYPES[dtype])


def _same(found: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> None:
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    assert found.tobytes() == wanted.tobytes() or np.array_equal(found, wanted, equal_nan=True)


def _kernel(name: str, operands: tuple[Any, ...], dtype: DType, count: int) -> Any:
    return binders("elementwise.loops")[name](operands, form_of(dtype, (count,), CPU), None)


@pytest.mark.parametrize("name", kernels_of("elementwise.loops"))
def test_a_loop_gives_what_the_call_of_numpy_gives(name: str) -> None:
    row = name.removesuffix("_unchecked")
    ufunc: Any = BINARY[row] if row in BINARY else UNARY[row]
    tried = 0
    for dtype in DTYPES:
        for count in (1, 5, 1000, 70_001):
            operands = [_drawn(dtype, count) for _ in range(ufunc.nin)]
            with np.errstate(all="ignore"):
                try:
                    wanted = ufunc(*operands)
                except (TypeError, ValueError):
                    continue
            of_result = (
                Bool if wanted.dtype == bool else next((d for d in DTYPES if NUMPY_DTYPES[d] == wanted.dtype), None)
            )
            if of_result is None:
                continue
            form = form_of(dtype, (count,), CPU)
            kernel = _kernel(name, (form,) * ufunc.nin, of_result, count)
            if kernel is None:
                continue
            tried += 1
            _same(kernel(*operands), wanted)
            backwards = form_of(dtype, (count,), CPU, (-1,))
            assert count == 1 or _kernel(name, (backwards,) * ufunc.nin, of_result, count) is None
    assert tried


@pytest.mark.parametrize("dtype", [F32, F64, I32, I64])
def test_python_numbers_become_elements_of_the_dtype(dtype: DType) -> None:
    x = _drawn(dtype, 100)
    form = form_of(dtype, (100,), CPU)
    for name in ("floor_divide", "remainder", "fmod"):
        with np.errstate(all="ignore"):
            _same(_kernel(name, (form, int), dtype, 100)(x, 7), BINARY[name](x, 7))
            _same(_kernel(name, (int, form), dtype, 100)(7, x), BINARY[name](7, x))
    assert _kernel("remainder", (form, complex), dtype, 100) is None


@pytest.mark.parametrize("dtype", ["I32", "I64"])
@pytest.mark.parametrize("count", [3, 1000, 300_000])
def test_a_zero_divisor_is_named_and_nothing_is_written(dtype: str, count: int) -> None:
    x, zero = tr.full((count,), 7, dtype=dtype), np.full(count, 3)
    zero[count // 2] = 0
    divisor, out = tr.cast(tr.asarray(zero), dtype), tr.full((count,), 5, dtype=dtype)

    for function in (tr.floor_divide, tr.remainder, tr.fmod):
        with pytest.raises(DivisionByZeroError, match=rf"the divisor at index \({count // 2},\) is 0"):
            function(x, divisor, out=out)
        with pytest.raises(DivisionByZeroError, match="the divisor is 0"):
            function(x, 0)
        assert function(x, 3)[0].item() == function(tr.tensor(7), 3).item()  # the flag of before is forgotten

    assert tr.all(out == 5).item()


def test_a_number_that_does_not_fit_is_refused_as_ever() -> None:
    with pytest.raises(tr.TensorError, match="does not fit I32"):
        tr.remainder(tr.full((5,), 7, dtype="I32"), 2**40)
