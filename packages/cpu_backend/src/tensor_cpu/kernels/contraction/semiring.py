"""Contractions in another algebra than plus-times: "semiring_contract" and "semiring_unary_einsum", on NumPy.

``result[labels_out]`` is the algebra's sum, over the labels that ``labels_out`` lacks, of its products of
``a[labels_a]`` and ``b[labels_b]``. The terms are made by broadcasting, a block at a time: the longest axis is halved
until the terms of a block fit in ``_BLOCK`` elements. One operand alone is summed by the algebra's sum, and embedded
into its zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, Final

import numpy as np

from tensor_core.errors import UnsupportedOperationError
from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.contraction.choice import bind_contract, bind_unary_einsum
from tensor_cpu.kernels.contraction.unary_einsum import bind_rearrangement
from tensor_cpu.storage import NUMPY_DTYPES
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.algebras import OR_AND, PLUS_TIMES, Semiring
from tensor_runtime.backends.shared.axes import FIRST, RESULT, SECOND, Labels, access, join, look, native, row_major
from tensor_runtime.backends.workspaces import with_workspace
from tensor_runtime.form import Form

Kernel = Callable[[Any, Any], Any]
Params = tuple[Labels, Labels, Labels, Semiring]
UnaryParams = tuple[Labels, Labels, Semiring]
Array = np.ndarray[Any, Any]

_BLOCK: Final = 1 << 16  # elements; half a megabyte of F64 stays in a second-level cache
_UFUNCS: Final[Mapping[str, np.ufunc]] = {
    "add": np.add,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
}


def bind_semiring_contract(operands: tuple[Form, Form], result: Form, params: Params, /) -> Kernel:
    """Kernel of the algebra's sum of products of two operands.

    Args:
        operands: forms with any strides, of dtypes that promote to the result's.
        result: a compact form.
        params: (labels_a, labels_b, labels_out, algebra); labels as for ``contract``.

    Returns:
        A function of two native arrays that returns a new native array. It never warns, and says its workspace: the
        operands that it has to convert, the terms of a block, and sums that wait for others.

    Raises:
        UnsupportedOperationError: this backend does not know the algebra.

    >>> from tensor_core import F64
    >>> from tensor_runtime.algebras import MAX_PLUS
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> vector = form_of(F64, (3,), CPU)
    >>> kernel = bind_semiring_contract((vector, vector), form_of(F64, (), CPU), ((0,), (0,), (), MAX_PLUS))
    >>> float(kernel(np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 0.0])))
    22.0
    """
    *labels, algebra = params
    labels_a, labels_b, labels_out = labels
    if algebra is OR_AND or algebra is PLUS_TIMES:
        return bind_contract(operands, result, (labels_a, labels_b, labels_out))
    add, multiply = (_ufunc("semiring_contract", algebra, name) for name in (algebra.addition, algebra.multiplication))
    shape, dtype = result.shape[::-1], NUMPY_DTYPES[result.dtype]
    if 0 in (*operands[0].shape, *operands[1].shape):  # an empty result, or sums of no terms
        zero = algebra.zero_of(result.dtype)
        return lambda x, y: np.full(shape, zero, dtype)
    out = row_major(labels_out[::-1], shape, dtype.name)
    x, y = native(operands[0], labels_a), native(operands[1], labels_b)
    axes = join(x, y, out)
    groups = [(axis,) for axis in axes]
    look_x, look_y = look(x, access(x, groups, FIRST)), look(y, access(y, groups, SECOND))
    extents = tuple(axis.extent for axis in axes if axis.strides[RESULT] is not None)

    def kernel(x: Array, y: Array) -> Array:
        made = np.empty(shape, dtype)
        left, right = look_x(x).astype(dtype, copy=False), look_y(y).astype(dtype, copy=False)
        _accumulate(add, multiply, left, right, made.reshape(extents))
        return made

    elements = sum(operand.size for operand in operands if operand.dtype is not result.dtype)
    elements += _taken(extents, [axis.extent for axis in axes if axis.strides[RESULT] is None])
    return with_workspace(ignoring_fp_errors(kernel), elements * dtype.itemsize)


def bind_semiring_unary_einsum(operands: tuple[Form], result: Form, params: UnaryParams, /) -> Callable[[Any], Any]:
    """Kernel of diagonals, the algebra's sums, a permutation and an embedding of one operand.

    Args:
        operands: a form with any strides, of the result's dtype.
        result: a compact form.
        params: (labels_in, labels_out, algebra); labels as for ``unary_einsum``.

    Returns:
        A function of a native array that returns a new native array. It never warns, and says its workspace.

    Raises:
        UnsupportedOperationError: this backend does not know the algebra.

    >>> from tensor_core import F64
    >>> from tensor_runtime.algebras import MIN_PLUS
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> vector, matrix = form_of(F64, (2,), CPU), form_of(F64, (2, 2), CPU)
    >>> bind_semiring_unary_einsum((vector,), matrix, ((0,), (0, 0), MIN_PLUS))(np.array([1.0, 4.0])).tolist()
    [[1.0, inf], [inf, 4.0]]
    >>> smallest = bind_semiring_unary_einsum((matrix,), vector, ((0, 1), (1,), MIN_PLUS))
    >>> smallest(np.array([[1.0, 4.0], [3.0, 2.0]])).tolist()
    [1.0, 2.0]
    """
    labels_in, labels_out, algebra = params
    if algebra is OR_AND or algebra is PLUS_TIMES:
        return bind_unary_einsum(operands, result, (labels_in, labels_out))
    add = _ufunc("semiring_unary_einsum", algebra, algebra.addition)
    out = row_major(labels_out[::-1], result.shape[::-1], result.dtype.numpy_name)
    return bind_rearrangement(native(operands[0], labels_in), out, add, algebra.zero_of(result.dtype))


def _ufunc(kernel: str, algebra: Semiring, name: str) -> np.ufunc:
    """NumPy's function of an algebra's addition or multiplication."""
    if name not in _UFUNCS:
        raise UnsupportedOperationError(
            f"{kernel}: the cpu backend does not compute in the algebra {algebra.name}; combine elementwise operations "
            "and reductions",
            operation=kernel,
        )
    return _UFUNCS[name]


def _accumulate(add: np.ufunc, multiply: np.ufunc, x: Array, y: Array, out: Array) -> None:
    """Fill ``out``, whose axes come first in ``x`` and ``y``; the axes after them are contracted."""
    shape = np.broadcast_shapes(x.shape, y.shape)
    if prod(shape) <= _BLOCK:
        terms = multiply(x, y)
        add.reduce(terms, axis=tuple(range(out.ndim, terms.ndim)), out=out)
        return
    axis = _longest(shape, out.ndim)
    middle = shape[axis] // 2
    for part in (slice(None, middle), slice(middle, None)):
        half_x, half_y = (_part(array, axis, part) for array in (x, y))
        if axis < out.ndim:
            _accumulate(add, multiply, half_x, half_y, _part(out, axis, part))
        elif part.start is None:
            _accumulate(add, multiply, half_x, half_y, out)
        else:
            others = np.empty_like(out)
            _accumulate(add, multiply, half_x, half_y, others)
            add(out, others, out=out)


def _longest(shape: Sequence[int], kept: int) -> int:
    """The axis to be halved; contracted ones, behind those kept, only where the other half's sums are small."""
    return max(range(kept if prod(shape[:kept]) > _BLOCK else len(shape)), key=shape.__getitem__)


def _taken(kept: Sequence[int], contracted: Sequence[int]) -> int:
    """Elements that sums of these extents take at once.

    >>> _taken([3], [4]), _taken([2], [1 << 16])
    (12, 65538)
    """
    shape, waiting = [*kept, *contracted], 0
    while prod(shape) > _BLOCK:
        axis = _longest(shape, len(kept))
        shape[axis] -= shape[axis] // 2
        waiting += prod(shape[: len(kept)]) if axis >= len(kept) else 0
    return waiting + prod(shape)


def _part(array: Array, axis: int, part: slice) -> Array:
    """A part of the array along an axis; all of it where the axis is broadcast."""
    return array if array.shape[axis] == 1 else array[(slice(None),) * axis + (part,)]


BINDERS: Final[Mapping[str, Binder]] = {
    "semiring_contract": bind_semiring_contract,
    "semiring_unary_einsum": bind_semiring_unary_einsum,
}
"""Binders by operation."""
