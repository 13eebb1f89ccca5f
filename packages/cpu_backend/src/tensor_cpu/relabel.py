"""Relabelling one operand: diagonals, sums over labels, permutation, embedding on diagonals.

The steps are always in this order, and only those that are needed: a view of the diagonals (repeated input labels), a sum
(labels that the result lacks), one copy in the result's order, spread over the diagonals (repeated output labels) of
a zero array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tensor_cpu.axes import FormLike, Labels, Operand, Shape, native, row_major
from tensor_cpu.permute import bind_fill, fuse
from tensor_cpu.quiet import quiet

Kernel = Callable[[Any], Any]


def bind_relabel(operands: tuple[FormLike], result: FormLike, detail: tuple[Labels, Labels], /) -> Kernel:
    """Kernel of ``result[labels_out] = sum of operand[labels_in]`` over the labels that ``labels_out`` lacks.

    Args:
        operands: the operand's form.
        result: the result's form, compact. Sums are made in its dtype; of Bool, a sum is an or.
        detail: (labels_in, labels_out), one label per axis of the tensor. Both may repeat a label: the input is read
            on the diagonal, the result is zero off the diagonal.

    Returns:
        A function of the operand's native array that returns a new native array.
    """
    labels_in, labels_out = detail
    operand = native(operands[0], labels_in)
    return bind_rearrangement(operand, row_major(labels_out[::-1], result.shape[::-1], result.dtype.numpy_name))


def bind_rearrangement(operand: Operand, result: Operand) -> Kernel:
    """The same in twin order; the result's labels need not be distinct."""
    view, labels, steps_in = _diagonal(operand)
    summed = tuple(place for place, label in enumerate(labels) if label not in result.labels)
    kept = [label for label in labels if label in result.labels]
    distinct = list(dict.fromkeys(result.labels))
    order = tuple(kept.index(label) for label in distinct)
    back = tuple(distinct.index(label) for label in kept)  # from the result's order to the operand's
    dtype, shape, empty, add = np.dtype(result.dtype), result.shape, np.empty, np.add.reduce
    extents = dict(zip(result.labels, shape, strict=True))
    thin = tuple(extents[label] for label in distinct)

    if len(distinct) < len(result.labels):
        steps = dict.fromkeys(distinct, 0)
        for label, stride in zip(result.labels, result.strides, strict=True):
            steps[label] += stride * dtype.itemsize
        strides = tuple(steps.values())

        def embedded(x: Any) -> Any:
            out = np.zeros(shape, dtype)
            diagonal = as_strided(out, thin, strides)
            if summed:
                add(view(x), axis=summed, dtype=dtype, out=diagonal.transpose(back))
            else:
                diagonal[...] = view(x).transpose(order)
            return out

        return quiet(embedded)

    if summed:

        def reduced(x: Any) -> Any:
            out = empty(shape, dtype)
            add(view(x), axis=summed, dtype=dtype, out=out.transpose(back))
            return out

        return quiet(reduced)
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
