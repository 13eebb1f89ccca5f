"""Native kernels along the lines of an axis (csrc/lines): running sums and products, places of extremes, softmax.

An operand with gaps or of another order is copied first. Running sums go from the first element to the last, as NumPy's
do; exponentials and the sums of softmax are within a few rounding units.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, Final

from tensor_core.dtypes import C32, C64, F32, F64, I32, I64, Bool, DType
from tensor_cpu.kernel_table import NativeBinder, bind
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.backends.workspaces import with_workspace
from tensor_runtime.dispatch.dtype_rules import reduced_axes
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Kernel, Operand

TAKES: Final = "running sums and products of all dtypes, and places of extremes of real ones"
_COMPLEX: Final = (C32, C64)
MOST_COPIED: Final = 1 << 28
"""Bytes of an operand that may be copied first."""
_NUMPYS_LINES: Final[Mapping[DType, range]] = {
    F32: range(33, 512),
    F64: range(33, 512),
    I32: range(33, 1 << 16),
    I64: range(33, 1 << 16),
}
"""Elements of lines in memory along which NumPy finds places of extremes faster on one thread, but for processors with
AVX-512, which look for an extreme and its place in one pass; ours took 1.3 to 1.9 of its time."""
_FEW_COLUMNS: Final = 8  # side by side, of which a vector would hold too few
_LONG_COLUMN: Final = 256  # elements of each
_FEW: Final = 1 << 12  # elements of an operand, up to which the call is what costs


def lines_of(shape: tuple[int, ...], axes: tuple[int, ...], /) -> tuple[int, int, int] | None:
    """Extents beyond the axes, along them, and within them, of a compact tensor; None of axes apart.

    >>> lines_of((2, 3, 5), (1,)), lines_of((2, 3, 5), (0, 1)), lines_of((2, 3, 5), (0, 2))
    ((5, 3, 2), (5, 6, 1), None)
    """
    first, last = min(axes), max(axes)
    if len(axes) != last - first + 1:
        return None
    return prod(shape[last + 1 :]), prod(shape[first : last + 1]), prod(shape[:first])


def _numpys_lines(dtype: DType) -> range:
    return range(0) if LIBRARY.instruction_set() == "avx512" else _NUMPYS_LINES.get(dtype, range(0))


def after_copy(form: Form, kernel: Kernel | None, /) -> Kernel | None:
    """The kernel of an operand as it lies, given that of a compact one; None where too much would be copied.

    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> after_copy(form_of(F64, (2, 3), CPU), len) is len
    True
    """
    if kernel is None or form.is_compact:
        return kernel
    if form.nbytes > MOST_COPIED:
        return None
    copy, along = LIBRARY.bind_copy(form.shape[::-1], form.strides[::-1], form.dtype.name), kernel
    return lambda x: along(copy(x))


def bind_lines(name: str, operands: tuple[Operand, ...], result: Any, params: Any, /) -> Kernel | None:
    """The kernel along an axis, or along several that lie together; None where NumPy's is the only one.

    >>> import numpy as np
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (2, 3), CPU)
    >>> kernel = bind_lines("cumsum", (form,), form, (1,))
    >>> kernel(np.ones((3, 2))).tolist()
    [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]
    """
    (form,) = operands
    assert isinstance(form, Form)
    axis, dtype, finds = params[0], form.dtype, name in ("argmax", "argmin")
    widens = dtype in (I32, Bool) and result.dtype is I64
    if form.size == 0 or not (finds or widens or result.dtype is dtype) or (finds and dtype in _COMPLEX):
        return None
    if axis is None and finds and form.rank > 1:
        return after_copy(form, LIBRARY.bind_place(name, dtype.name, form.shape[::-1], result.shape[::-1]))
    if finds and axis is not None and not form.is_compact:
        form, axis = _in_order_of_memory(form, axis)
    axes = reduced_axes(name, form.rank, axis)
    lines = lines_of(form.shape, axes) if axes else None
    if lines is None:
        return None
    if finds and lines[2] == 1 and form.size > _FEW and lines[1] in _numpys_lines(dtype):
        return None
    if finds and 1 < lines[2] <= _FEW_COLUMNS and lines[1] >= _LONG_COLUMN and form.is_compact:
        return _of_columns(name, form, result, lines)
    return after_copy(form, LIBRARY.bind_lines(name, dtype.name, lines, result.shape[::-1], result.dtype.name))


def _in_order_of_memory(form: Form, axis: int, /) -> tuple[Form, int]:
    """The same memory as a compact form, where places along an axis come in the order of the result; else these."""
    order = sorted(range(form.rank), key=lambda k: (form.strides[k], form.shape[k]))
    kept = [k for k in order if k != axis % form.rank and form.shape[k] > 1]
    straight = form_of(form.dtype, tuple(form.shape[k] for k in order), form.placement)
    if kept != sorted(kept) or straight.strides != tuple(form.strides[k] for k in order):
        return form, axis
    return straight, order.index(axis % form.rank)


def _of_columns(name: str, form: Form, result: Form, lines: tuple[int, int, int], /) -> Kernel:
    """The places in a few long columns, which are made lines that lie side by side first."""
    outer, length, inner = lines
    copy = LIBRARY.bind_copy((outer, inner, length), (length * inner, 1, inner), form.dtype.name)
    turned = form_of(form.dtype, (length, outer * inner), form.placement)
    found = form_of(result.dtype, (outer * inner,), result.placement)
    kernel, shape = bind(name, (turned,), found, (0, False)), result.shape[::-1]
    places = (outer * inner, length)
    return with_workspace(lambda x: kernel(copy(x).reshape(places)).reshape(shape), form.nbytes)


def line_binder(name: str, /) -> NativeBinder:
    """:func:`bind_lines` of one kernel.

    >>> line_binder("argmax").__name__
    'bind'
    """

    def bind(operands: tuple[Operand, ...], result: Any, params: Any, /) -> Kernel | None:
        return bind_lines(name, operands, result, params)

    return bind


BINDERS: Final[Mapping[str, NativeBinder]] = {name: line_binder(name) for name in ("cumsum", "cumprod")}
