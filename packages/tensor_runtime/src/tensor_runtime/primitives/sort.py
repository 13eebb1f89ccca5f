"""Strict order along an axis."""

from __future__ import annotations

from tensor_runtime.dispatch.arguments import whole
from tensor_runtime.ops import sort as public
from tensor_runtime.tensors.tensor import Tensor


def sort(x: Tensor, /, axis: int, *, descending: bool) -> Tensor:
    """Elements in order along an axis: ``tensor_runtime.sort`` without defaults, stable, NaN last.

    Raises:
        AxisError: an axis out of range; rank 0 has none.

    >>> sort(tensor([2, 3, 1]), 0, descending=False).to_numpy().tolist()
    [1, 2, 3]
    """
    return public.sort(x, whole("sort", "axis", axis), descending=descending)


def argsort(x: Tensor, /, axis: int, *, descending: bool) -> Tensor:
    """Indices, I64, that put elements in order along an axis; as :func:`sort` otherwise.

    >>> argsort(tensor([2, 3, 1]), 0, descending=False).to_numpy().tolist()
    [2, 0, 1]
    """
    return public.argsort(x, whole("argsort", "axis", axis), descending=descending)
