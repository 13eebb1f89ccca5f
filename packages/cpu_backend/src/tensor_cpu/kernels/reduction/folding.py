"""Folds over any axes of transposed arrays by NumPy: sums that keep their digits, and no array as large as the operand.

NumPy adds pairwise along an axis that lies contiguous in memory, and one after the other along the others, where the
error grows with the number of elements. Here an operand is halved until a block fits the cache; what a block has to be
added up is moved to its end, where NumPy's sum is pairwise; and the sums of two halves are added. So at most 64
elements are added one after the other, and the error grows with the logarithm of their number.

Source: N. J. Higham, The accuracy of floating point summation, SIAM J. Sci. Comput. 14 (1993), 783-799.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from tensor_cpu.storage import Array
from tensor_runtime.form import Form

TransposedAxes = tuple[int, ...]
Terms = Callable[[Array, Any], Array]
"""What is folded: made of a block of the operand, and of what belongs to its results (see :func:`folded`)."""

BLOCK: Final = 1 << 16
"""Elements that are looked at at once."""
_FEW: Final = 64  # elements that may be added one after the other
_SLICES: Final = 8  # elements for which whole slices are added
_ROW: Final = 1 << 10  # results of a block, so that what lies side by side stays so


class _Fold(NamedTuple):
    axes: TransposedAxes
    terms: Terms
    ufunc: np.ufunc
    initial: Any


def folded(
    x: Array,
    axes: TransposedAxes,
    dtype: np.dtype[Any],
    /,
    terms: Terms = lambda block, _: block,
    beside: Array | None = None,
    *,
    ufunc: np.ufunc = np.add,
    initial: Any = None,
) -> Array:
    """The fold over axes of ``terms(x, beside)``, block by block; reduced axes stay, with extent 1.

    Args:
        x: a transposed array, any strides.
        axes: of the transposed array, not negative.
        dtype: of the result, in which the terms are folded.
        terms: elementwise, or by rows of results.
        beside: as the result; the second argument of ``terms``, cut as the results are.
        ufunc: np.add, np.maximum or np.minimum.
        initial: of an empty fold.

    >>> folded(np.ones((3, 2)), (0,), np.dtype(float), lambda x, c: x - c, np.array([[1.0, 2.0]])).tolist()
    [[0.0, -3.0]]
    """
    shape = tuple(1 if axis in axes else extent for axis, extent in enumerate(x.shape))
    out: Array = np.empty(shape, dtype)
    _fill(_Fold(axes, terms, ufunc, initial), out, x, beside)
    return out


def _fill(fold: _Fold, out: Array, x: Array, beside: Array | None) -> None:
    if x.size <= BLOCK:
        _fill_block(fold, out, fold.terms(x, beside))
        return
    kept = [axis for axis in range(x.ndim) if axis not in fold.axes]
    by_results = out.size > _ROW or all(x.shape[axis] == 1 for axis in fold.axes)
    axis = max(kept if by_results else fold.axes, key=lambda axis: x.shape[axis])
    middle = x.shape[axis] // 2
    low, high = ((*[slice(None)] * axis, part) for part in (slice(middle), slice(middle, None)))
    if by_results:
        for part in (low, high):
            _fill(fold, out[part], x[part], None if beside is None else beside[part])
        return
    _fill(fold, out, x[low], beside)
    other = np.empty_like(out)
    _fill(fold, other, x[high], beside)
    fold.ufunc(out, other, out=out)


def _fill_block(fold: _Fold, out: Array, terms: Array) -> None:
    axes, dtype = fold.axes, out.dtype
    if fold.ufunc is not np.add:
        fold.ufunc.reduce(terms, axis=axes, keepdims=True, out=out, initial=fold.initial)
        return
    if terms.size and terms.size // out.size <= _SLICES and len(axes) == 1:  # NumPy's loops over few elements are slow
        place = (slice(None),) * axes[0]
        np.copyto(out, terms[(*place, slice(0, 1))])
        for k in range(1, terms.shape[axes[0]]):
            np.add(out, terms[(*place, slice(k, k + 1))], out=out)
        return
    if out.size == 0 or terms.size // out.size <= _FEW:
        np.add.reduce(terms, axis=axes, dtype=dtype, keepdims=True, out=out)
        return
    order = [*(axis for axis in range(terms.ndim) if axis not in axes), *axes]
    lines = terms.transpose(order).reshape(out.size, -1).astype(dtype, order="C", copy=False)
    out[...] = np.add.reduce(lines, axis=1).reshape(out.shape)


def is_pairwise(form: Form, axes: TransposedAxes, /) -> bool:
    """Whether NumPy's own sum over these axes of the transposed array is pairwise, or adds a few elements only.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> form = form_of(F64, (100, 200), CPU)
    >>> is_pairwise(form, (1,)), is_pairwise(form, (0, 1)), is_pairwise(form, (0,))
    (True, True, False)
    """
    count = 1
    for axis in axes:
        count *= form.shape[form.rank - 1 - axis]
    return count <= _FEW or (form.is_compact and set(axes) == set(range(form.rank - len(axes), form.rank)))


def total(form: Form, axes: TransposedAxes, dtype: np.dtype[Any], /) -> Callable[[Array], Array]:
    """The sum of elements over axes, in ``dtype``; reduced axes stay, with extent 1.

    >>> from tensor_core import F32
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> total(form_of(F32, (2, 3), CPU), (0,), np.dtype(np.float32))(np.ones((3, 2), np.float32)).tolist()
    [[3.0, 3.0]]
    """
    if not is_pairwise(form, axes) or (form.dtype.numpy_name != dtype.name and form.size > BLOCK):
        return lambda x: folded(x, axes, dtype)
    shape = tuple(1 if axis in axes else extent for axis, extent in enumerate(form.shape[::-1]))
    kept = form.rank - len(axes)
    if form.is_compact and len(axes) > 1 and form.size and set(axes) == set(range(kept, form.rank)):
        lines = (*form.shape[::-1][:kept], -1)
        return lambda x: np.asarray(np.add.reduce(x.reshape(lines), axis=kept, dtype=dtype)).reshape(shape)
    # Into a compact array, because NumPy would keep the operand's order of strides.
    return lambda x: np.add.reduce(x, axis=axes, dtype=dtype, keepdims=True, out=np.empty(shape, dtype))
