"""Kernels that make arrays from nothing but a form and a few numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from tensor_core.dtypes import FLOATING
from tensor_cpu.kernel_table import Binder
from tensor_cpu.storage import NUMPY_DTYPES, Array, empty
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel


def bind_full(result: Form, /) -> Kernel:
    """One value everywhere.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> bind_full(form_of(F64, (2,), CPU))(-0.0).tolist()
    [-0.0, -0.0]
    """
    shape, dtype = result.shape[::-1], NUMPY_DTYPES[result.dtype]

    def filled(value: complex) -> Array:
        return np.zeros(shape, dtype) if value == 0 and not _signed(value) else np.full(shape, value, dtype)

    return ignoring_fp_errors(filled)


def _signed(value: complex) -> bool:
    """Whether a zero bears a minus sign, which fresh zero pages would lose."""
    return "-" in repr(value)


def bind_eye(result: Form, /) -> Kernel:
    """Ones on the main diagonal.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> bind_eye(form_of(F64, (2, 3), CPU))().tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    """
    rows, columns = result.shape
    dtype = NUMPY_DTYPES[result.dtype]
    return lambda: np.eye(columns, rows, dtype=dtype)


_FAR: Final = 2**62
"""Within it no number on the way to the last element leaves I64."""


def bind_arange(result: Form, /) -> Kernel:
    """Element k is start + k * step, computed in F64 or I64 and not accumulated.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> tenths = bind_arange(form_of(F64, (11,), CPU))(0.0, 0.1)
    >>> from itertools import accumulate
    >>> float(tenths[10]), list(accumulate([0.1] * 10))[-1]
    (1.0, 0.9999999999999999)
    """
    dtype = NUMPY_DTYPES[result.dtype]

    def spaced(start: float, step: float) -> Array:
        whole = isinstance(start, int) and isinstance(step, int) and result.dtype not in FLOATING
        if whole and abs(start) + result.size * abs(step) < _FAR:
            numbers: Array = np.arange(int(start), int(start + result.size * step), int(step), dtype=dtype)
            return numbers
        array = empty(result)
        steps: Array = np.arange(result.size, dtype=np.int64 if whole else np.float64)
        if result.size:
            steps *= step
            np.add(steps, start, out=array, casting="unsafe")
        return array

    return ignoring_fp_errors(spaced)


def bind_linspace(result: Form, /) -> Kernel:
    """Element k is start + k * step, computed in F64 or C64; the last one is the end itself if that belongs to them.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> bind_linspace(form_of(F64, (3,), CPU))(0.0, 1.0, True).tolist()
    [0.0, 0.5, 1.0]
    """
    count = result.size

    def spaced(start: complex, stop: complex, endpoint: bool) -> Array:
        out = empty(result)
        if count == 0:
            return out
        steps = np.arange(count, dtype=np.float64)
        parts = count - 1 if endpoint else count
        step = np.divide(np.subtract(stop, start), max(parts, 1))
        if np.isfinite(step):
            if out.dtype == steps.dtype:
                np.multiply(steps, step, out=out)
                out += start
            else:
                out[...] = steps * step + start
        else:  # the ends are further apart than the largest number
            out[...] = start * (1 - steps / parts) + stop * (steps / parts)
        out[0] = start
        if endpoint and count > 1:
            out[-1] = stop
        return out

    return ignoring_fp_errors(spaced)


def _none(bind: Callable[[Form], Kernel]) -> Binder:
    return lambda operands, result, params: bind(result)


BINDERS: Final[Mapping[str, Binder]] = {
    "full": _none(bind_full),
    "empty": _none(lambda result: lambda: empty(result)),
    "eye": _none(bind_eye),
    "arange": _none(bind_arange),
    "linspace": _none(bind_linspace),
}
