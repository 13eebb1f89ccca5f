"""Einsums of one operand: diagonals, sums over labels, permutation, embedding on diagonals.

The steps are always in this order, and only those that are needed: a view of the diagonals (repeated input labels), a
sum (labels that the result lacks), one copy in the result's order, spread over the diagonals (repeated output labels)
of a zero array. Sum and zero may be those of another algebra than plus-times.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from math import prod
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tensor_core.shapes import Shape
from tensor_cpu.kernels.copy.permute import Fill, bind_fill, fuse
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.backends.shared.axes import FormLike, Labels, Operand, native, row_major
from tensor_runtime.backends.workspaces import with_workspace, workspace_of

Kernel = Callable[[Any], Any]

_MOST_ADDED: Final = 32  # values of short summed axes
_SMALL: Final = 4096  # elements of an operand for which one call is best


def bind_unary_einsum(operands: tuple[FormLike], result: FormLike, params: tuple[Labels, Labels], /) -> Kernel:
    """Kernel of ``result[labels_out] = sum of operand[labels_in]`` over the labels that ``labels_out`` lacks.

    Args:
        operands: the operand's form.
        result: the result's form, compact. Sums are made in its dtype; of Bool, a sum is an or.
        params: (labels_in, labels_out), one label per axis of the tensor. Both may repeat a label: the input is read
            on the diagonal, the result is zero off the diagonal.

    Returns:
        A function of the operand's native array that returns a new native array.

    >>> from tensor_core import F64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> vector, matrix = form_of(F64, (2,), CPU), form_of(F64, (2, 2), CPU)
    >>> bind_unary_einsum((matrix,), vector, ((0, 0), (0,)))(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [1.0, 4.0]
    >>> bind_unary_einsum((vector,), matrix, ((0,), (0, 0)))(np.array([1.0, 4.0])).tolist()
    [[1.0, 0.0], [0.0, 4.0]]
    """
    labels_in, labels_out = params
    operand = native(operands[0], labels_in)
    return bind_rearrangement(operand, row_major(labels_out[::-1], result.shape[::-1], result.dtype.numpy_name))


def bind_rearrangement(operand: Operand, result: Operand, add: np.ufunc = np.add, zero: Any = 0) -> Kernel:
    """The same in reversed order of axes; the result's labels need not be distinct.

    Args:
        operand: of any strides.
        result: without gaps.
        add: what sums.
        zero: the sum of nothing, which also stands off the diagonals of the result.

    >>> kernel = bind_rearrangement(row_major((0, 1, 2), (2, 2, 3), "int64"), row_major((2, 0), (3, 2), "int64"))
    >>> kernel(np.arange(12).reshape(2, 2, 3)).tolist()
    [[3, 15], [5, 17], [7, 19]]
    """
    view, labels, steps_in = _diagonal(operand)
    summed = tuple(place for place, label in enumerate(labels) if label not in result.labels)
    kept = [label for label in labels if label in result.labels]
    distinct = list(dict.fromkeys(result.labels))
    order = tuple(kept.index(label) for label in distinct)
    back = tuple(distinct.index(label) for label in kept)  # from the result's order to the operand's
    dtype, shape, empty = np.dtype(result.dtype), result.shape, np.empty
    sizes = dict(zip(operand.labels, operand.shape, strict=True))
    sum_into = _bind_sum(tuple(sizes[label] for label in labels), steps_in, summed, dtype, add, zero)
    extents = dict(zip(result.labels, shape, strict=True))
    thin = tuple(extents[label] for label in distinct)

    if len(distinct) < len(result.labels):
        steps = dict.fromkeys(distinct, 0)
        for label, stride in zip(result.labels, result.strides, strict=True):
            steps[label] += stride * dtype.itemsize
        strides = tuple(steps.values())
        blank = partial(np.full, shape, zero, dtype) if zero else partial(np.zeros, shape, dtype)

        def embedded(x: Any) -> Any:
            out = blank()
            diagonal = as_strided(out, thin, strides)
            if summed:
                sum_into(diagonal.transpose(back), view(x))
            else:
                diagonal[...] = view(x).transpose(order)
            return out

        return with_workspace(ignoring_fp_errors(embedded), workspace_of(sum_into) if summed else 0)

    if summed:

        def reduced(x: Any) -> Any:
            out = empty(shape, dtype)
            sum_into(out.transpose(back), view(x))
            return out

        return with_workspace(ignoring_fp_errors(reduced), workspace_of(sum_into))
    steps_of = dict(zip(labels, steps_in, strict=True))
    merged, merged_strides = fuse(thin, tuple(steps_of[label] for label in distinct))
    fill = bind_fill(merged, merged_strides)
    if fill is np.copyto:
        return lambda x: view(x).transpose(order).astype(dtype, order="C")

    def permuted(x: Any) -> Any:
        out = empty(shape, dtype)
        fill(out.reshape(merged), view(x).transpose(order).reshape(merged))
        return out

    return permuted


def _bind_sum(
    extents: Shape, strides: Shape, summed: tuple[int, ...], dtype: np.dtype[Any], add: np.ufunc, zero: Any
) -> Fill:
    """Kernel of ``target[...] = source`` summed over these axes.

    NumPy's reduction is 50 times slower than additions of whole arrays when its innermost axis is short (12 ms against
    0.2 for half a million pairs), so short summed axes are looped over in Python.
    """
    if summed and prod(extents[axis] for axis in summed) == 0:  # maxima of nothing are an error in NumPy

        def fill(target: Any, source: Any) -> None:
            target[...] = zero

        return fill
    looped: list[int] = []
    for axis in sorted(summed, key=lambda axis: abs(strides[axis])):
        if prod(extents[place] for place in looped) * extents[axis] > _MOST_ADDED:
            break
        looped.append(axis)
    if prod(extents) < _SMALL or not looped:
        return lambda target, source: add.reduce(source, axis=summed, dtype=dtype, out=target)
    kept = [axis for axis in range(len(extents)) if axis not in looped]
    order = (*looped, *kept)
    reduced = tuple(place for place, axis in enumerate(kept) if axis in summed)
    first, *others = product(*(range(extents[axis]) for axis in looped))

    def sum_into(target: Any, source: Any) -> None:
        source = source.transpose(order)
        if not reduced:
            target[...] = source[first]
            for place in others:
                add(target, source[place], out=target)
            return
        add.reduce(source[first], axis=reduced, dtype=dtype, out=target)
        for place in others:
            add(target, add.reduce(source[place], axis=reduced, dtype=dtype), out=target)

    sums = prod(extents[axis] for axis in kept if axis not in summed)  # of a place, before they are added
    return with_workspace(sum_into, sums * dtype.itemsize if reduced and others else 0)


def _diagonal(operand: Operand) -> tuple[Kernel, Labels, Shape]:
    """A view with each label once, and its labels and strides. Merged axes come last."""
    labels, strides, merges = list(operand.labels), list(operand.strides), []
    for label in dict.fromkeys(operand.labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            merges.append((first, second))
            strides.append(strides[first] + strides[second])
            labels.append(label)
            for place in (second, first):
                del labels[place], strides[place]
    if not merges:
        return lambda x: x, tuple(labels), tuple(strides)

    def diagonal(x: Any) -> Any:
        for first, second in merges:
            x = x.diagonal(0, first, second)
        return x

    return diagonal, tuple(labels), tuple(strides)
