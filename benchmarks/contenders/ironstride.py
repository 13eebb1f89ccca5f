"""Ours, through the public interface: the memory of the row-major operands, read column-major.

Matrices are the exception: a batch of them is trailing here and leading elsewhere, so each side gets the same numbers
in the layout that is its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tensor_einsum
import tensor_linalg
import tensor_runtime as tr
from benchmarks.contenders.base import (
    MATRIX_OPERATIONS,
    Operations,
    Prepared,
    as_function,
    decomposition,
    spelled,
)
from benchmarks.drawing import Array


def read(result: Any) -> list[Any]:
    """The result as the peers number its axes."""
    return [result.to_numpy().T]


def permute(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """A view by explicit axes, made and materialised within the timing; the source may be a view, too."""
    source = tr.transpose_view(tr.asarray(arrays[0].T), tuple(arguments["source_axes"]))
    axes = tuple(arguments["axes_colmajor"])
    return Prepared(lambda: tr.copy(tr.transpose_view(source, axes)), read)


def elementwise(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """An expression of plain calls, or of one fused call where the row and the library have it."""
    tensors = [tr.asarray(array.T) for array in arrays]
    for position in arguments.get("reversed", ()):
        tensors[position] = tr.transpose(tensors[position])
    function = as_function(arguments["expression"], {"exp": tr.exp, "sin": tr.sin}, len(tensors))
    if arguments.get("fused"):
        function = tr.fuse(function)
    return Prepared(lambda: function(*tensors), read)


def reduction(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """A sum, mean, spread or norm along one axis or all; the axis is named in row-major words."""
    tensor, axis = tr.asarray(arrays[0].T), arguments["axis"]
    function = getattr(tr, arguments["function"])
    if axis is None:
        return Prepared(lambda: function(tensor), read)
    own_axis = arrays[0].ndim - 1 - axis
    return Prepared(lambda: function(tensor, axis=own_axis), read)


def call(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """A statement; operands have the peers' indices, and are column-major."""
    tensors = [tr.asarray(array, copy=True) for array in arrays]
    names = {**vars(tr), "o": tr.mutable_view(tr.zeros(arrays[0].shape))}
    function = as_function(arguments["statement"], names, len(tensors))
    return Prepared(lambda: function(*tensors), lambda result: [result.to_numpy()])


def everyday(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """What users type; the axis is named in row-major words."""
    tensors, axis = [tr.asarray(array.T) for array in arrays], arguments["axis"]
    own = {**arguments, "axis": axis if axis is None else arrays[0].ndim - 1 - axis}
    function = spelled(own, "ours", {**vars(tr), "kron": tensor_linalg.kron, "linalg": tensor_linalg}, len(arrays))
    return Prepared(lambda: function(*tensors), read, estimate=lambda: estimated(function, *tensors))


def estimated(function: Callable[..., Any], *tensors: tr.Tensor) -> float | None:
    """Seconds of a call in one thread, where cost models know all of its kernels but views.

    >>> x = tr.ones((8, 8, 1000))
    >>> estimated(tensor_linalg.matmul, x, x) > 0, estimated(tr.add, x, x)
    (True, None)
    """
    try:
        choices = [(one.choice, one.times) for one in tr.explain(function, *tensors) if one.bytes]
    except tr.TensorError:  # what reads elements cannot be explained without them
        return None
    known = [choice.seconds * times for choice, times in choices if choice and choice.seconds is not None]
    return sum(known) if known and len(known) == len(choices) else None


def max_plus(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """The product in which max stands for the sum and + for the product; operands change places, as they are read."""
    x, y = (tr.asarray(array.T) for array in arrays)
    algebra = tr.algebras.MAX_PLUS
    return Prepared(lambda: tr.dot_general(y, x, contracting=((1,), (0,)), algebra=algebra), read)


def matrices(function: str) -> Callable[[Mapping[str, Any], list[Array]], Prepared]:
    """One of ``tensor_linalg`` on compact [N, N, batch]."""

    def prepare(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
        call = getattr(tensor_linalg, function)
        options = {"lower": True} if function == "triangular_solve" else {}
        tensors = [tr.asarray(np.asfortranarray(np.moveaxis(array, 0, -1))) for array in arrays]

        def parts(result: Any) -> list[Any]:
            found = result if isinstance(result, tuple) else (result,)
            return [np.moveaxis(part.to_numpy(), -1, 0) for part in found]

        return decomposition(function, lambda: call(*tensors, **options), parts)

    return prepare


def einsum(arguments: Mapping[str, Any], arrays: list[Array]) -> Prepared:
    """A plan along the given path, or one that is searched, made once."""
    tensors = [tr.asarray(array.T) for array in arrays]
    options: dict[str, Any]
    if "path" in arguments:
        options = {"optimize": [tuple(step) for step in arguments["path"]]}
    else:
        options = {"seconds": arguments["search_seconds"]}
    plan = tensor_einsum.plan(arguments["subscripts_colmajor"], *tensors, **options)
    return Prepared(lambda: plan(*tensors), read)


OPERATIONS: Operations = {
    "call": call,
    "everyday": everyday,
    "permute": permute,
    "elementwise": elementwise,
    "reduction": reduction,
    "max-plus": max_plus,
    "einsum": einsum,
    **{name: matrices(name) for name in MATRIX_OPERATIONS},
}
