"""Kernels of means, variances, norms and positions of extremes, on twins.

Axis k of a tensor of rank r is axis r - 1 - k of its twin. Sums are NumPy's: pairwise along the axis that lies
contiguous in memory, one after the other along the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, sqrt
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import COMPLEX
from tensor_cpu.arrays import NUMPY_DTYPES, Array, empty
from tensor_cpu.products import bind_dot
from tensor_cpu.quiet import quiet
from tensor_cpu.rows import Binder
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel
from tensor_runtime.rules import Axes, inexact, reduced_axes

TwinAxes = tuple[int, ...]
_FEW: Final = 4096  # elements up to which a copy in row-major order is the fastest way to look at them so


def _twin_axes(name: str, form: Form, axis: Axes) -> TwinAxes:
    return tuple(form.rank - 1 - position for position in reduced_axes(name, form.rank, axis))


def _count(form: Form, axes: TwinAxes) -> int:
    count = 1
    for axis in axes:
        count *= form.shape[form.rank - 1 - axis]
    return count


def bind_mean(operands: tuple[Form], result: Form, detail: tuple[Axes, bool], /) -> Kernel:
    """Sum over axes, divided by the number of elements.

    >>> from tensor_core import F64, I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> bind_mean((form_of(I64, (2,), CPU),), form_of(F64, (), CPU), (0, False))(np.array([1, 2])).tolist()
    1.5
    """
    form = operands[0]
    axis, keepdims = detail
    axes = _twin_axes("mean", form, axis)
    count, dtype = float(_count(form, axes)), NUMPY_DTYPES[result.dtype]

    def mean(x: Array) -> Array:
        out = empty(result)
        np.add.reduce(x, axis=axes, dtype=dtype, out=out, keepdims=keepdims)
        return _divided(out, count)

    return quiet(mean)


def _divided(x: Array, divisor: float) -> Array:
    """In place; complex numbers part by part, since a division by a + 0j would spoil infinities."""
    if x.dtype.kind == "c":
        np.divide(x.real, divisor, out=x.real)
        np.divide(x.imag, divisor, out=x.imag)
    else:
        np.divide(x, divisor, out=x)
    return x


def bind_spread(name: str, operands: tuple[Form], result: Form, detail: tuple[Axes, bool, float], /) -> Kernel:
    """Variance or standard deviation in two passes.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form, result = form_of(F64, (2,), CPU), form_of(F64, (), CPU)
    >>> bind_spread("std", (form,), result, (None, False, 0.0))(np.array([1.0, 3.0])).tolist()
    1.0
    """
    form = operands[0]
    axis, keepdims, correction = detail
    axes = _twin_axes(name, form, axis)
    count = _count(form, axes)
    divisor = max(count - correction, 0.0)
    computed = NUMPY_DTYPES[inexact(form.dtype)]

    def spread(x: Array) -> Array:
        centre = np.add.reduce(x, axis=axes, dtype=computed, keepdims=True)
        centre = _divided(np.asarray(centre), float(count))
        squares = _squares(np.asarray(np.subtract(x, centre, dtype=computed)), in_place=True)
        out = empty(result)
        np.add.reduce(squares, axis=axes, out=out, keepdims=keepdims)
        np.divide(out, divisor, out=out)
        return np.sqrt(out, out=out) if name == "std" else out

    return quiet(spread)


def _squares(x: Array, *, in_place: bool = False) -> Array:
    """|x|², real."""
    if x.dtype.kind != "c":
        return np.asarray(np.square(x, out=x if in_place else None))
    squares = np.asarray(np.square(x.real))
    squares += np.square(x.imag)
    return squares


def bind_argument(name: str, operands: tuple[Form], result: Form, detail: tuple[int | None, bool], /) -> Kernel:
    """Index of the first largest or smallest element, NaN before all.

    >>> from tensor_core import I64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form, result = form_of(I64, (2, 2), CPU), form_of(I64, (), CPU)
    >>> bind_argument("argmax", (form,), result, (None, False))(np.array([[1, 9], [9, 0]])).tolist()
    1
    """
    form = operands[0]
    axis, _ = detail
    shape = result.shape[::-1]
    find: Any = np.ndarray.argmax if name == "argmax" else np.ndarray.argmin
    extreme = np.maximum.reduce if name == "argmax" else np.minimum.reduce
    if axis is not None:
        place = form.rank - 1 - axis % form.rank
        return quiet(lambda x: np.asarray(find(x, axis=place)).astype(np.int64, order="C", copy=False).reshape(shape))

    def one(x: Array) -> Array:
        if x.ndim < 2 or x.size <= _FEW:
            position = np.array(find(x.T), np.int64)
            return position.reshape(shape) if shape else position
        value = extreme(x, axis=None)
        return np.asarray(_first(x == value if value == value else x != x), np.int64).reshape(shape)

    return quiet(one)


def _first(mask: Array) -> int:
    """Row-major index, in the tensor's order of axes, of the first True; there is one.

    The last axis of a twin is the slowest one in row-major order.

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


def bind_norm(operands: tuple[Form], result: Form, detail: tuple[Axes, bool, float], /) -> Kernel:
    """Norm of any order over axes.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form, result = form_of(F64, (2,), CPU), form_of(F64, (), CPU)
    >>> bind_norm((form,), result, (None, False, 2.0))(np.array([3 * 2.0**600, 4 * 2.0**600])) / 2.0**600
    np.float64(5.0)
    """
    form = operands[0]
    axis, keepdims, order = detail
    axes = _twin_axes("norm", form, axis)
    options: dict[str, Any] = {"axis": axes, "keepdims": keepdims}
    real, computed = NUMPY_DTYPES[result.dtype], NUMPY_DTYPES[inexact(form.dtype)]
    if order == 0:
        return quiet(lambda x: np.add.reduce(x != 0, dtype=real, out=empty(result), **options))
    if order == 2:
        return quiet(_euclidean(form, result, axes, keepdims))

    def absolute(x: Array) -> Array:
        return np.asarray(np.abs(x.astype(computed, copy=False)))  # never ``x`` itself

    if order == 1:
        return quiet(lambda x: np.add.reduce(absolute(x), out=empty(result), **options))
    if order == inf:
        return quiet(lambda x: np.maximum.reduce(absolute(x), out=empty(result), initial=0, **options))
    if order == -inf:
        return quiet(lambda x: np.minimum.reduce(absolute(x), out=empty(result), **options))
    return quiet(lambda x: _powers(absolute(x), order, axes, result))


def _powers(a: Array, order: float, axes: TwinAxes, result: Form) -> Array:
    """(sum of a**order)**(1/order), scaled by the term that decides; overwrites ``a``."""
    if order > 0:
        scale = np.asarray(np.maximum.reduce(a, axis=axes, initial=0, keepdims=True))
    else:
        scale = np.asarray(np.minimum.reduce(a, axis=axes, initial=inf, keepdims=True))
    scale[(scale == 0) | ~np.isfinite(scale)] = 1
    terms = np.divide(a, scale, out=a)
    np.power(terms, order, out=terms)
    total = np.asarray(np.add.reduce(terms, axis=axes, keepdims=True))
    out = empty(result)
    np.multiply(np.power(total, 1 / order), scale, out=out.reshape(scale.shape))
    return out


def _euclidean(form: Form, result: Form, axes: TwinAxes, keepdims: bool) -> Callable[[Array], Array]:
    """Square root of the sum of |x|², by scaled elements where that overflows or loses digits."""
    computed = NUMPY_DTYPES[inexact(form.dtype)]
    limits = np.finfo(NUMPY_DTYPES[result.dtype])
    # Squares below the smallest normal number are lost, each by at most that number: together they do not count
    # beside a sum above this.
    lowest = float(limits.tiny) / float(limits.eps) * max(_count(form, axes), 1)
    everything = form.is_compact and len(axes) == form.rank and form.dtype not in COMPLEX
    dot = bind_dot(NUMPY_DTYPES[result.dtype].name, form.size) if everything else np.dot

    def sum_of_squares(x: Array) -> Array:
        out = empty(result)
        np.add.reduce(_squares(x), axis=axes, out=out, keepdims=keepdims)
        return out

    def euclidean(x: Array) -> Array:
        x = x.astype(computed, copy=False)
        if everything:
            line = x.reshape(-1)
            total = float(dot(line, line))
            out = empty(result)
            if lowest < total < inf:
                out[...] = sqrt(total)
                return out
            return _scaled(x, sum_of_squares, axes, out)
        out = sum_of_squares(x)
        if bool(((out > lowest) & (out < inf)).all()):
            return np.sqrt(out, out=out)
        return _scaled(x, sum_of_squares, axes, out)

    return euclidean


def _scaled(x: Array, sum_of_squares: Callable[[Array], Array], axes: TwinAxes, out: Array) -> Array:
    """The norm with the largest element brought near 1 by a power of 2, which is exact."""
    parts = (x.real, x.imag) if x.dtype.kind == "c" else (x,)
    sizes = [np.maximum.reduce(np.abs(part), axis=axes, initial=0, keepdims=True) for part in parts]
    largest = np.asarray(sizes[0] if len(sizes) == 1 else np.maximum(*sizes))
    exponents = np.asarray(np.frexp(np.where(np.isfinite(largest), largest, 1))[1])
    y = np.empty_like(x, order="C", subok=False)
    for target, part in zip((y.real, y.imag) if len(parts) == 2 else (y,), parts, strict=True):
        np.ldexp(part, -exponents, out=target)
    np.sqrt(sum_of_squares(y), out=out)
    np.ldexp(out, exponents.reshape(out.shape), out=out)
    return out


BINDERS: Final[Mapping[str, Binder]] = {
    "mean": bind_mean,
    "var": lambda operands, result, detail: bind_spread("var", operands, result, detail),
    "std": lambda operands, result, detail: bind_spread("std", operands, result, detail),
    "argmax": lambda operands, result, detail: bind_argument("argmax", operands, result, detail),
    "argmin": lambda operands, result, detail: bind_argument("argmin", operands, result, detail),
    "norm": bind_norm,
}
