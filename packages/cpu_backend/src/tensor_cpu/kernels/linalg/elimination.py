"""LU decompositions with complete pivoting, of all matrices of a batch at once, step by step in NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, Final

import numpy as np

from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.linalg.checks import require_finite
from tensor_cpu.kernels.linalg.limits.powers import scaled
from tensor_cpu.kernels.params import taking_fields
from tensor_cpu.storage import NUMPY_DTYPES, Array
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel


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
    rows, columns, *batch = operands[0].shape
    count = prod(batch)
    each = np.arange(count)
    wide = np.result_type(NUMPY_DTYPES[operands[0].dtype], np.float64)

    def kernel(x: Array) -> tuple[Array, ...]:
        if check:
            require_finite("lu", "a", x)
        stack = np.asarray(x).reshape(count, columns, rows).transpose(2, 1, 0)
        a: Any = np.array(stack, wide, order="C")  # [M, N, batch], neighbours of one step side by side
        power = np.frexp(_size(a).reshape(rows * columns, count).max(axis=0, initial=0.0))[1]
        a = scaled(a, -power)  # so that no reciprocal is infinite and no product overflows
        of_rows = np.repeat(np.arange(rows)[:, None], count, axis=1)
        of_columns = np.repeat(np.arange(columns)[:, None], count, axis=1)
        for step in range(min(rows, columns)):
            left = np.abs(a[step:, step:]).reshape((rows - step) * (columns - step), count)
            down, along = np.divmod(left.argmax(axis=0), columns - step)
            row, column = step + down, step + along
            _exchange(a.transpose(1, 0, 2), step, column, each)
            _exchange(of_columns[:, None], step, column, each)
            _exchange(a, step, row, each)
            _exchange(of_rows[:, None], step, row, each)
            a[step + 1 :, step] /= np.where(a[step, step] == 0, 1, a[step, step])
            a[step + 1 :, step + 1 :] -= a[step + 1 :, step, None] * a[step, step + 1 :]
        upper = np.arange(rows)[:, None] <= np.arange(columns)
        a[upper] = scaled(a[upper], power)
        parts = (a.transpose(2, 1, 0), of_rows.T, of_columns.T)
        return tuple(
            np.array(part, NUMPY_DTYPES[one.dtype], order="C").reshape(one.shape[::-1])
            for part, one in zip(parts, result, strict=True)
        )

    return ignoring_fp_errors(kernel)


def _size(x: Any) -> Any:
    """The sum of the parts of each element, which costs no root."""
    return np.abs(x.real) + np.abs(x.imag) if x.dtype.kind == "c" else np.abs(x)


def _exchange(a: Any, step: int, other: Array, each: Array) -> None:
    """Exchange row ``step`` of each matrix with its own row ``other``."""
    taken = a[other, :, each].T
    a[other, :, each] = a[step].T
    a[step] = taken


BINDERS: Final[Mapping[str, Binder]] = {"lu_complete": taking_fields(bind_lu_complete)}
