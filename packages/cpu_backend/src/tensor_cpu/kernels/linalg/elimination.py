"""LU decompositions of all matrices of a batch at once, step by step in NumPy; and one by one where they are few."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, Final

import numpy as np

from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.linalg import factors
from tensor_cpu.kernels.linalg.checks import require_finite
from tensor_cpu.kernels.linalg.scaling import scaled
from tensor_cpu.kernels.params import taking_fields
from tensor_cpu.storage import NUMPY_DTYPES, Array
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel

_MANY: Final = 8
"""Matrices per row or column of one, from which steps through all are faster than a call of LAPACK for each."""


def bind_lu_factor(operands: tuple[Form], result: tuple[Form, ...], check: bool, /) -> Kernel:
    """The kernel with partial pivoting: LAPACK's for few matrices, NumPy's for many.

    >>> from tensor_core import F64, I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form, rows = form_of(F64, (2, 2), CPU), form_of(I64, (2,), CPU)
    >>> [part.T.tolist() for part in bind_lu_factor((form,), (form, rows), True)(np.array([[1.0, 2.0], [3.0, 4.0]]))]
    [[[2.0, 4.0], [0.5, 1.0]], [1, 0]]
    """
    rows, columns, *batch = operands[0].shape
    if prod(batch) <= _MANY * min(rows, columns):
        return factors.bind("lu_factor", operands, result, check)
    return _eliminating("lu_factor", operands[0], result, check)


def bind_lu_complete(operands: tuple[Form], result: tuple[Form, ...], check: bool, /) -> Kernel:
    """The kernel with complete pivoting: the largest element that is left, and 0 where none is.

    >>> from tensor_core import F64, I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form, order = form_of(F64, (2, 2), CPU), form_of(I64, (2,), CPU)
    >>> kernel = bind_lu_complete((form,), (form, order, order), True)
    >>> [part.T.tolist() for part in kernel(np.array([[1.0, 2.0], [3.0, 4.0]]))]
    [[[4.0, 2.0], [0.75, -0.5]], [1, 0], [1, 0]]
    """
    return _eliminating("lu_complete", operands[0], result, check)


def _eliminating(name: str, form: Form, result: tuple[Form, ...], check: bool) -> Kernel:
    rows, columns, *batch = form.shape
    count = prod(batch)
    each = np.arange(count)
    wide = np.result_type(NUMPY_DTYPES[form.dtype], np.float64)
    complete = len(result) == 3

    def kernel(x: Array) -> tuple[Array, ...]:
        if check:
            require_finite("lu" if complete else name, "a", x)
        stack = np.asarray(x).reshape(count, columns, rows).transpose(2, 1, 0)
        a: Any = np.array(stack, wide, order="C")  # [M, N, batch], neighbours of one step side by side
        power = np.frexp(_size(a).reshape(rows * columns, count).max(axis=0, initial=0.0))[1]
        a = scaled(a, -power)  # so that no reciprocal is infinite and no product overflows
        of_rows = np.repeat(np.arange(rows)[:, None], count, axis=1)
        of_columns = np.repeat(np.arange(columns)[:, None], count, axis=1)
        for step in range(min(rows, columns)):
            row = column = np.full(count, step)
            if complete:
                left = np.abs(a[step:, step:]).reshape((rows - step) * (columns - step), count)
                down, along = np.divmod(left.argmax(axis=0), columns - step)
                row, column = step + down, step + along
                _exchange(a.transpose(1, 0, 2), step, column, each)
                _exchange(of_columns[:, None], step, column, each)
            else:
                row = step + _size(a[step:, step]).argmax(axis=0)
            _exchange(a, step, row, each)
            _exchange(of_rows[:, None], step, row, each)
            a[step + 1 :, step] /= np.where(a[step, step] == 0, 1, a[step, step])
            a[step + 1 :, step + 1 :] -= a[step + 1 :, step, None] * a[step, step + 1 :]
        upper = np.arange(rows)[:, None] <= np.arange(columns)
        a[upper] = scaled(a[upper], power)
        parts = (a.transpose(2, 1, 0), of_rows.T, *((of_columns.T,) if complete else ()))
        return tuple(
            np.array(part, NUMPY_DTYPES[one.dtype], order="C").reshape(one.shape[::-1])
            for part, one in zip(parts, result, strict=True)
        )

    return ignoring_fp_errors(kernel)


def _size(x: Any) -> Any:
    """By which LAPACK compares pivots."""
    return np.abs(x.real) + np.abs(x.imag) if x.dtype.kind == "c" else np.abs(x)


def _exchange(a: Any, step: int, other: Array, each: Array) -> None:
    """Exchange row ``step`` of each matrix with its own row ``other``."""
    taken = a[other, :, each].T
    a[other, :, each] = a[step].T
    a[step] = taken


BINDERS: Final[Mapping[str, Binder]] = {
    "lu_factor": taking_fields(bind_lu_factor),
    "lu_complete": taking_fields(bind_lu_complete),
}
