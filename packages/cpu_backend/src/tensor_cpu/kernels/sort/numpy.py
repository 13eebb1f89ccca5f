"""Kernels of order, on transposed arrays.

Axis k of a tensor of rank r is axis r - 1 - k of its transposed array; a tensor's row-major order is the Fortran order
of its transposed array. Descending order is the ascending order of a key: minus a float (NaN stays last, zeros of both
signs stay equal), the complement of an integer or Bool, which cannot overflow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tensor_core.dtypes import F32, F64, I32, I64
from tensor_core.promotion import promote
from tensor_cpu.kernel_table import Binder, bind
from tensor_cpu.storage import NUMPY_DTYPES, Array, empty, truth
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_cpu.system.extension import AVAILABLE, LIBRARY
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Counted, Kernel

if TYPE_CHECKING:
    from tensor_runtime.contracts.gather_scatter import SortParams, UniqueParams


def bind_sort(operands: tuple[Form], result: Form, params: SortParams, /) -> Kernel:
    """Elements in order along an axis.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (3,), CPU)
    >>> bind_sort((form,), form, (0, True))(np.array([1.0, np.nan, 2.0])).tolist()
    [2.0, 1.0, nan]
    """
    axis = params[0]
    place, key = _order(operands[0], *params)

    def in_order(x: Array) -> Array:
        source = x.ravel(order="F") if axis is None else x
        out = source.copy(order="C")
        if key is not None:
            key(out, out=out)
        few = out if out.ndim <= MOST_AXES_IN_ORDER else out.reshape(_about(out.shape, place))
        _sort_in_place(few, source if key is None or source.ndim > 1 else key(source), place if few is out else 1)
        if key is not None:
            key(out, out=out)
        return out

    return ignoring_fp_errors(in_order)


def _line_in_order(x: Array) -> Array:
    """Of a line without gaps, of real numbers: equal ones can be told apart only where zeros of both signs occur."""
    out = x.copy()
    out.sort()
    if out.dtype.kind == "f":
        LIBRARY.settle_zeros(out, x)
    return out


def bind_argsort(operands: tuple[Form], result: Form, params: SortParams, /) -> Kernel:
    """Indices that sort along an axis.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(I64, (4,), CPU)
    >>> bind_argsort((form,), form, (0, True))(np.array([1, 2, 1, 2])).tolist()
    [1, 3, 0, 2]
    """
    axis = params[0]
    place, key = _order(operands[0], *params)

    def order(x: Array) -> Array:
        line = truth(x.ravel(order="F") if axis is None else x)
        keys = line if key is None else key(line)
        if keys.ndim > MOST_AXES_IN_ORDER:
            found = keys.reshape(_about(keys.shape, place)).argsort(axis=1, kind="stable").reshape(keys.shape)
        else:
            found = keys.argsort(axis=place, kind="stable")
        return np.asarray(found, np.int64, order="C")

    return ignoring_fp_errors(order)


def _order(form: Form, axis: int | None, descending: bool) -> tuple[int, Callable[..., Any] | None]:
    """The axis of the transposed array, and a function that is its own inverse and turns the order round if need be."""
    place = -1 if axis is None else form.rank - 1 - axis % form.rank
    if not descending:
        return place, None
    return place, np.negative if form.dtype.kind in ("float", "complex") else np.invert


def _about(shape: tuple[int, ...], place: int) -> tuple[int, int, int]:
    """Extents before an axis, along it, and behind it."""
    return prod(shape[:place]), shape[place], prod(shape[place + 1 :])


MOST_AXES_IN_ORDER: Final = 32
"""Axes with which NumPy sorts; arrays may have more."""
_LOWEST: Final[dict[str, Any]] = {"f4": np.int32(-(2**31)), "f8": np.int64(-(2**63))}
"""Bits of -0.0, read as an integer."""
_SHORT: Final = 64  # elements up to which the stable method is the faster one


def _sort_in_place(x: Array, source: Array, axis: int = -1) -> None:
    """Stable as far as anybody can see.

    Equal integers cannot be told apart, so any method will do, and NumPy's vectorised one is up to ten times faster
    than its stable one. Equal floats can be told apart only where both zeros occur; of a line, ``source`` has them in
    the order they had.
    """
    kind = x.dtype.kind
    if x.size <= _SHORT or kind == "c":
        x.sort(axis=axis, kind="stable")
    elif kind == "f" and x.ndim == 1:
        x.sort()
        first = int(x.searchsorted(0.0))
        if not x[first : first + 2].all():
            zeros = source[source == 0]
            x[first : first + zeros.size] = zeros
    elif kind == "f" and (LIBRARY.has_negative_zero if AVAILABLE else _has_negative_zero)(x):
        x.sort(axis=axis, kind="stable")
    else:
        x.sort(axis=axis)


def _has_negative_zero(x: Array) -> bool:
    lowest = _LOWEST[x.dtype.str[1:]]
    found: Any = x.view(lowest.dtype) == lowest
    return bool(found.any())


def bind_searchsorted(side: Any, operands: tuple[Form, Form], result: Form, /) -> Kernel:
    """Where values belong in a sorted line.

    >>> from tensor_core import F64, I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> line, values = form_of(I64, (3,), CPU), form_of(F64, (2,), CPU)
    >>> kernels = [bind_searchsorted(side, (line, values), form_of(I64, (2,), CPU)) for side in ("left", "right")]
    >>> [kernel(np.array([1, 2, 3]), np.array([2.0, 2.5])).tolist() for kernel in kernels]
    [[1, 2], [2, 2]]
    """
    line, values = operands
    dtype = NUMPY_DTYPES[promote(line.dtype, values.dtype)]

    def found(x: Array, y: Array) -> Array:
        where = truth(x.astype(dtype, copy=False)).searchsorted(truth(y.astype(dtype, copy=False)), side=side)
        return np.array(where, np.int64, copy=None, order="C")

    return ignoring_fp_errors(found)


def bind_unique(operands: tuple[Form], result: tuple[Form, ...], params: UniqueParams, /) -> Kernel:
    """Distinct elements in order, and what was asked about them.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(I64, (4,), CPU)
    >>> kernel = bind_unique((form,), (form, form), (False, False, True, True))
    >>> distinct = kernel(np.array([3, 1, 3, 3]))
    >>> distinct.count, [array.tolist() for array in distinct.arrays]
    (2, [[1, 3], [1, 3]])
    """
    form = operands[0]
    wants_index, wants_inverse, wants_counts, equal_nan = params
    if AVAILABLE and not any(params[:2]) and form.is_compact and form.dtype in (F32, F64, I32, I64):
        return partial(_counted_values if wants_counts else _distinct_values, equal_nan)
    may_be_nan = form.dtype.kind in ("float", "complex")
    line_form = form_of(form.dtype, (form.size,), form.placement)
    order_of = bind("argsort", (line_form,), form_of(I64, (form.size,), form.placement), (0, False))

    def distinct(x: Array) -> Counted:
        x = truth(x)
        line = x.ravel(order="F")
        if wants_index or wants_inverse:
            order = order_of(line)
            line = line[order]
        else:
            order = None
            source, line = line, line.copy()
            _sort_in_place(line, source)
        first = np.ones(line.shape, bool)
        np.not_equal(line[1:], line[:-1], out=first[1:])
        if equal_nan and may_be_nan and line.size:
            first[1 + int(np.isnan(line).searchsorted(True)) :] = False
        arrays = [line[first]]
        if wants_index and order is not None:
            arrays.append(order[first].astype(np.int64, copy=False))
        if wants_inverse and order is not None:
            ranks = np.empty(line.shape, np.int64)
            ranks[order] = first.cumsum(dtype=np.int64) - 1
            inverse = empty(result[1 + wants_index])
            inverse[...] = ranks.reshape(form.shape).T
            arrays.append(inverse)
        if wants_counts:
            arrays.append(np.diff(first.nonzero()[0], append=line.size).astype(np.int64, copy=False))
        return Counted(tuple(arrays), arrays[0].size)

    return ignoring_fp_errors(distinct)


def _distinct_values(equal_nan: bool, x: Array) -> Counted:
    line = _line_in_order(x.ravel(order="F"))
    count = LIBRARY.keep_distinct(line, equal_nan, None)
    return Counted((_first(line, count),), count)


def _counted_values(equal_nan: bool, x: Array) -> Counted:
    line = _line_in_order(x.ravel(order="F"))
    counts = np.empty(line.shape, np.int64)
    count = LIBRARY.keep_distinct(line, equal_nan, counts)
    return Counted((_first(line, count), _first(counts, count)), count)


def _first(line: Array, count: int) -> Array:
    return line if count == line.size else line[:count].copy()


BINDERS: Final[Mapping[str, Binder]] = {
    "sort": bind_sort,
    "argsort": bind_argsort,
    "searchsorted_left": lambda operands, result, params: bind_searchsorted("left", operands, result),
    "searchsorted_right": lambda operands, result, params: bind_searchsorted("right", operands, result),
    "unique": bind_unique,
}
