"""Native kernels that put elements elsewhere: copies of any view, relabelling without sums, conversion, filling.

They cost a fraction of NumPy's copy at every size: tiny results for want of its iterator, large permuted ones because
the copy goes tile by tile, in several threads, into warm memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import DTYPES
from tensor_cpu.kernels.axes import Shape, native
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_cpu.system.extension import LIBRARY
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel, Operand, Result

_MANY: Final = 1 << 14  # elements of a result that are worth more than NumPy's one loop
_NAMES: Final = {np.dtype(dtype.numpy_name): dtype.name for dtype in DTYPES}


def bind_copy(operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel | None:
    """The kernel that copies any view to a new compact array.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> view, result = form_of(F64, (2, 3), CPU, (3, 1)), form_of(F64, (2, 3), CPU)
    >>> bind_copy((view,), result, None)(np.arange(6.0).reshape(2, 3).T).tolist()
    [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    """
    (form,) = operands
    assert isinstance(form, Form)
    return LIBRARY.bind_copy(form.shape[::-1], form.strides[::-1], form.dtype.name)


def bind_copy_into(operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel | None:
    """The kernel that copies one view into another; overlapping memory behaves as if the source were copied first.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form, x = form_of(I64, (3,), CPU), np.array([1, 2, 3, 4])
    >>> bind_copy_into((form, form), form, None)(x[1:], x[:-1])
    >>> x.tolist()
    [1, 1, 2, 3]
    """
    target, source = operands
    assert isinstance(target, Form)
    assert isinstance(source, Form)
    if target.dtype is not source.dtype or 0 in target.strides:
        return None
    return LIBRARY.bind_copy_into(target.shape[::-1], target.strides[::-1], source.strides[::-1], target.dtype.name)


def bind_unary_einsum(operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel | None:
    """The kernel that permutes labels, and reads diagonals; None where labels are summed or the result has diagonals.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> matrix, vector = form_of(F64, (2, 2), CPU), form_of(F64, (2,), CPU)
    >>> bind_unary_einsum((matrix,), vector, ((0, 0), (0,)))(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [1.0, 4.0]
    >>> bind_unary_einsum((matrix,), vector, ((0, 1), (0,))) is None
    True
    """
    (form,) = operands
    assert isinstance(form, Form)
    assert isinstance(result, Form)
    labels_in, labels_out = params
    if {*labels_in} != {*labels_out} or len({*labels_out}) < len(labels_out) or form.dtype is not result.dtype:
        return None
    operand = native(form, labels_in)
    steps = dict.fromkeys(operand.labels, 0)
    for label, stride in zip(operand.labels, operand.strides, strict=True):
        steps[label] += stride
    strides = tuple(steps[label] for label in reversed(labels_out))
    return LIBRARY.bind_copy(result.shape[::-1], strides, result.dtype.name)


def fill_kernel(extents: Shape, strides: Shape, otherwise: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """Kernel of ``target[...] = source`` for a target without gaps; ``otherwise`` takes all other arrays.

    Args:
        extents: the shape of both.
        strides: of the source, in elements.
        otherwise: what writes where the dtypes differ, or the target has gaps.

    >>> target = np.empty((2, 3))
    >>> fill_kernel((2, 3), (1, 2), np.copyto)(target, np.arange(6.0).reshape(3, 2).T)
    >>> target.tolist()
    [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]
    """
    compact = [1]
    for extent in reversed(extents[1:]):
        compact.append(compact[-1] * extent)
    target_strides = tuple(reversed(compact[: len(extents)]))

    @cache
    def writer(dtype: np.dtype[Any]) -> tuple[Shape, Kernel]:
        write = LIBRARY.bind_copy_into(extents, target_strides, strides, _NAMES[dtype])
        return tuple(stride * dtype.itemsize for stride in strides), write

    def fill(target: Any, source: Any) -> None:
        dtype = target.dtype
        if source.dtype is dtype and target.flags.c_contiguous and dtype in _NAMES:
            expected, write = writer(dtype)
            if source.strides == expected:
                write(target, source)
                return
        otherwise(target, source)

    return fill


def copy_kernel(
    extents: Shape, strides: Shape, dtype: np.dtype[Any], otherwise: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    """Kernel that copies a source of this shape to a new compact array; ``otherwise`` is called for other sources.

    >>> copy_kernel((2, 3), (1, 2), np.dtype("float64"), np.copy)(np.arange(6.0).reshape(3, 2).T).tolist()
    [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]
    """
    native_copy = LIBRARY.bind_copy(extents, strides, _NAMES[dtype])
    expected = tuple(stride * dtype.itemsize for stride in strides)

    def copy(source: Any) -> Any:
        return native_copy(source) if source.dtype is dtype and source.strides == expected else otherwise(source)

    return copy


def bind_convert(operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel | None:
    """The kernel that changes the dtype; None where a value may not fit, which NumPy's kernel looks for.

    >>> from tensor_core import C64, F64, I32
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> integers, numbers = form_of(I32, (3,), CPU, (-1,)), form_of(C64, (3,), CPU)
    >>> bind_convert((integers,), numbers, None)(np.array([1, 2, 3], np.int32)[::-1]).tolist()
    [(3+0j), (2+0j), (1+0j)]
    >>> bind_convert((form_of(F64, (3,), CPU),), integers, "error") is None
    True
    """
    (form,) = operands
    assert isinstance(form, Form)
    assert isinstance(result, Form)
    if form.dtype is result.dtype:
        return bind_copy(operands, result, None)
    return LIBRARY.bind_convert(form.shape[::-1], form.strides[::-1], form.dtype.name, result.dtype.name)


def bind_full(operands: tuple[Operand, ...], result: Result, params: Any, /) -> Kernel | None:
    """The kernel that repeats one number; None for few elements.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> bind_full((), form_of(F64, (100, 200), CPU), None)(-0.0)[3, :2].tolist()
    [-0.0, -0.0]
    """
    assert isinstance(result, Form)
    if result.size < _MANY:
        return None
    dtype = np.dtype(result.dtype.numpy_name)
    repeat = LIBRARY.bind_copy(result.shape[::-1], (0,) * result.rank, result.dtype.name)
    return ignoring_fp_errors(lambda value: repeat(np.full((), value, dtype)))


BINDERS: Final[Mapping[str, Any]] = {
    "copy": bind_copy,
    "copy_into": bind_copy_into,
    "unary_einsum": bind_unary_einsum,
    "convert": bind_convert,
    "cast": bind_convert,
    "full": bind_full,
}
