"""Kernels of means, variances, norms and positions of extremes, on transposed arrays.

Axis k of a tensor of rank r is axis r - 1 - k of its transposed array. Sums are those of
:mod:`tensor_cpu.kernels.reduction.folding`, in F64 where they are of squares or sizes, so nothing overflows
on the way in F32, and no array as large as the operand is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, sqrt
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tensor_core.dtypes import COMPLEX, F32, F64
from tensor_cpu.kernel_table import Binder
from tensor_cpu.kernels.reduction.folding import TransposedAxes, folded, total
from tensor_cpu.storage import NUMPY_DTYPES, Array, empty
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.dispatch.dtype_rules import Axes, reduced_axes
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel

if TYPE_CHECKING:
    from tensor_runtime.contracts.reduction import ArgumentParams, NormParams, ReduceParams, SpreadParams

_REAL: Final = np.dtype(np.float64)
_COMPLEX: Final = np.dtype(np.complex128)
_WHOLE: Final = np.dtype(np.int64)
_DOT: Final = 64  # elements of a scalar product, which BLAS may add one after the other
_FEW: Final = 4096  # elements up to which a copy in row-major order is the fastest way to look at them so


def _transposed_axes(name: str, form: Form, axis: Axes) -> TransposedAxes:
    return tuple(form.rank - 1 - position for position in reduced_axes(name, form.rank, axis))


def _count(form: Form, axes: TransposedAxes) -> int:
    count = 1
    for axis in axes:
        count *= form.shape[form.rank - 1 - axis]
    return count


def bind_mean(operands: tuple[Form], result: Form, params: ReduceParams, /) -> Kernel:
    """Sum over axes, divided by the number of elements.

    >>> from tensor_core import F64, I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> bind_mean((form_of(I64, (2,), CPU),), form_of(F64, (), CPU), (0, False))(np.array([1, 2])).tolist()
    1.5
    """
    form = operands[0]
    axes = _transposed_axes("mean", form, params[0])
    count, sums, shape = float(_count(form, axes)), total(form, axes, NUMPY_DTYPES[result.dtype]), result.shape[::-1]
    return ignoring_fp_errors(lambda x: _divided(sums(x), count).reshape(shape))


def _divided(x: Array, divisor: float) -> Array:
    """In place; complex numbers part by part, since a division by a + 0j would spoil infinities."""
    if x.dtype.kind == "c":
        np.divide(x.real, divisor, out=x.real)
        np.divide(x.imag, divisor, out=x.imag)
    else:
        np.divide(x, divisor, out=x)
    return x


def bind_spread(name: str, operands: tuple[Form], result: Form, params: SpreadParams, /) -> Kernel:
    """Variance or standard deviation in two passes.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form, result = form_of(F64, (2,), CPU), form_of(F64, (), CPU)
    >>> bind_spread("std", (form,), result, (None, False, 0.0))(np.array([1.0, 3.0])).tolist()
    1.0
    """
    form = operands[0]
    axis, _, correction = params
    axes = _transposed_axes(name, form, axis)
    count = _count(form, axes)
    divisor = max(count - correction, 0.0)
    sums = total(form, axes, _COMPLEX if form.dtype in COMPLEX else _REAL)

    def spread(x: Array) -> Array:
        centres = _divided(sums(x), float(count))
        squares = folded(x, axes, _REAL, _squared_deviations, centres)
        np.divide(squares, divisor, out=squares)
        return _finished(np.sqrt(squares, out=squares) if name == "std" else squares, result)

    return ignoring_fp_errors(spread)


def _squared_deviations(x: Array, centres: Array) -> Array:
    return _squares(np.asarray(np.subtract(x, centres)), in_place=True)


def _squares(x: Array, *, in_place: bool = False) -> Array:
    """|x|², in F64."""
    if x.dtype.kind != "c":
        return np.asarray(np.square(x, out=x if in_place else None, dtype=_REAL))
    squares = np.asarray(np.square(x.real, dtype=_REAL))
    squares += np.square(x.imag, dtype=_REAL)
    return squares


def _finished(values: Array, result: Form) -> Array:
    """The values, which keep reduced axes, as the result wants them."""
    return values.astype(NUMPY_DTYPES[result.dtype], copy=False).reshape(result.shape[::-1])


def bind_argument(name: str, operands: tuple[Form], result: Form, params: ArgumentParams, /) -> Kernel:
    """Index of the first largest or smallest element, NaN before all.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form, result = form_of(I64, (2, 2), CPU), form_of(I64, (), CPU)
    >>> bind_argument("argmax", (form,), result, (None, False))(np.array([[1, 9], [9, 0]])).tolist()
    1
    """
    form = operands[0]
    axis, _ = params
    shape = result.shape[::-1]
    find: Any = np.ndarray.argmax if name == "argmax" else np.ndarray.argmin
    extreme = np.maximum.reduce if name == "argmax" else np.minimum.reduce
    if axis is not None:
        place = form.rank - 1 - axis % form.rank
        return ignoring_fp_errors(
            lambda x: np.asarray(find(x, axis=place)).astype(np.int64, order="C", copy=False).reshape(shape)
        )

    def one(x: Array) -> Array:
        if x.ndim < 2 or x.size <= _FEW:
            position = np.array(find(x.T), np.int64)
            return position.reshape(shape) if shape else position
        value = extreme(x, axis=None)
        return np.asarray(_first(x == value if value == value else x != x), np.int64).reshape(shape)

    return ignoring_fp_errors(one)


def _first(mask: Array) -> int:
    """Row-major index, in the tensor's order of axes, of the first True; there is one.

    The last axis of a transposed array is the slowest one in row-major order.

    >>> _first(np.array([[False, False], [False, True], [True, False]]))
    2
    """
    index = 0
    while mask.ndim:
        others = tuple(range(mask.ndim - 1))
        position = int(np.argmax(np.logical_or.reduce(mask, axis=others)))
        index = index * mask.shape[-1] + position
        mask = mask[..., position]
    return index


def bind_norm(operands: tuple[Form], result: Form, params: NormParams, /) -> Kernel:
    """Norm of any order over axes.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form, result = form_of(F64, (2,), CPU), form_of(F64, (), CPU)
    >>> bind_norm((form,), result, (None, False, 2.0))(np.array([3 * 2.0**600, 4 * 2.0**600])) / 2.0**600
    np.float64(5.0)
    """
    form = operands[0]
    axis, _, order = params
    axes = _transposed_axes("norm", form, axis)
    if order == 0:
        return ignoring_fp_errors(lambda x: _finished(folded(x, axes, _WHOLE, lambda block, _: block != 0), result))
    if order == 2:
        return ignoring_fp_errors(_euclidean(form, result, axes))
    if order == 1:
        return ignoring_fp_errors(lambda x: _finished(folded(x, axes, _REAL, _sizes), result))
    if order == inf:
        return ignoring_fp_errors(lambda x: _finished(_extreme(x, axes, np.maximum), result))
    if order == -inf:
        return ignoring_fp_errors(lambda x: _finished(_extreme(x, axes, np.minimum), result))
    return ignoring_fp_errors(lambda x: _finished(_powers(x, order, axes), result))


def _sizes(x: Array, _: Any = None) -> Array:
    """|x| in F64, whose size no number of F32 leaves; never ``x`` itself."""
    return np.asarray(np.abs(x.astype(_COMPLEX if x.dtype.kind == "c" else _REAL, copy=False)))


def _extreme(x: Array, axes: TransposedAxes, ufunc: np.ufunc) -> Array:
    return folded(x, axes, _REAL, _sizes, ufunc=ufunc, initial=0 if ufunc is np.maximum else inf)


def _powers(x: Array, order: float, axes: TransposedAxes) -> Array:
    """(sum of |x|**order)**(1/order), scaled by the term that decides."""
    scale = _extreme(x, axes, np.maximum if order > 0 else np.minimum)
    scale[(scale == 0) | ~np.isfinite(scale)] = 1

    def terms(block: Array, scale: Array) -> Array:
        sizes = _sizes(block)
        return _raised(np.divide(sizes, scale, out=sizes), order)

    sums = folded(x, axes, _REAL, terms, scale)
    return np.asarray(np.multiply(np.power(sums, 1 / order, out=sums), scale, out=sums))


def _raised(sizes: Array, order: float) -> Array:
    """The sizes to this power, in place; by products, reciprocals and roots, which take a fraction of a power's time.

    >>> _raised(np.array([1.0, 2.0]), 3.0).tolist(), _raised(np.array([1.0, 2.0]), -1.0).tolist()
    ([1.0, 8.0], [1.0, 0.5])
    """
    if order == 3:
        return np.asarray(np.multiply(sizes * sizes, sizes, out=sizes))
    if order == -1:
        return np.asarray(np.reciprocal(sizes, out=sizes))
    if order == 0.5:
        return np.asarray(np.sqrt(sizes, out=sizes))
    return np.asarray(np.power(sizes, order, out=sizes))


def lowest_sum(result: Form, count: int, /) -> float:
    """The sum of so many squares in the result's dtype above which those that are lost do not count.

    Squares below the smallest normal number are lost, each by at most that number.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> lowest_sum(form_of(F64, (), CPU), 1) == 2.0**-970
    True
    """
    limits = np.finfo(NUMPY_DTYPES[result.dtype])
    return float(limits.tiny) / float(limits.eps) * max(count, 1)


def _euclidean(form: Form, result: Form, axes: TransposedAxes) -> Callable[[Array], Array]:
    """Square root of the sum of |x|², by scaled elements where that overflows or loses digits."""
    lowest = lowest_sum(result, _count(form, axes))
    everything = form.is_compact and len(axes) == form.rank and form.dtype in (F32, F64)

    def euclidean(x: Array) -> Array:
        if everything:
            total = _dot(x.reshape(-1))
            if lowest < total < inf:
                out = empty(result)
                out[...] = sqrt(total)
                return out
        squares = folded(x, axes, _REAL, lambda block, _: _squares(block))
        # Those of F32 never leave the range of F64.
        inside = None if result.dtype is F32 else (squares > lowest) & (squares < inf)
        roots = np.sqrt(squares, out=squares)
        if inside is None or inside.all():
            return _finished(roots, result)
        return _finished(np.where(inside, roots, _scaled(x, axes)), result)

    return euclidean


def _dot(line: Array) -> float:
    """Sum of squares: scalar products of a few elements, whose sum is pairwise."""
    whole = line.size // _DOT * _DOT
    rows, rest = line[:whole].reshape(-1, _DOT), line[whole:]
    return float(np.add.reduce(np.vecdot(rows, rows))) + float(rest.dot(rest))


def _scaled(x: Array, axes: TransposedAxes) -> Array:
    """The norm with the largest element brought near 1 by a power of 2, which is exact."""

    def larger_part(block: Array, _: Any) -> Array:
        if block.dtype.kind != "c":
            return np.asarray(np.abs(block))
        return np.asarray(np.maximum(np.abs(block.real), np.abs(block.imag)))

    def squares(block: Array, exponents: Array) -> Array:
        parts = (block.real, block.imag) if block.dtype.kind == "c" else (block,)
        found = [np.square(np.ldexp(part, -exponents)) for part in parts]
        return np.asarray(found[0] if len(found) == 1 else found[0] + found[1])

    largest = folded(x, axes, _REAL, larger_part, ufunc=np.maximum, initial=0)
    exponents = np.asarray(np.frexp(np.where(np.isfinite(largest), largest, 1))[1])
    sums = folded(x, axes, _REAL, squares, exponents)
    return np.asarray(np.ldexp(np.sqrt(sums, out=sums), exponents, out=sums))


BINDERS: Final[Mapping[str, Binder]] = {
    "mean": bind_mean,
    "var": lambda operands, result, params: bind_spread("var", operands, result, params),
    "std": lambda operands, result, params: bind_spread("std", operands, result, params),
    "argmax": lambda operands, result, params: bind_argument("argmax", operands, result, params),
    "argmin": lambda operands, result, params: bind_argument("argmin", operands, result, params),
    "norm": bind_norm,
}
