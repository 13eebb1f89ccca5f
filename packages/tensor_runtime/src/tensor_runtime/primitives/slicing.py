"""Strict slices: at places that are written, and at places that are values."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any, Final

from tensor_core.errors import ArgumentError, DTypeError
from tensor_runtime.dispatch.arguments import wholes
from tensor_runtime.dispatch.call import execute_several
from tensor_runtime.ops.indexing import getitem
from tensor_runtime.ops.slicing import DYNAMIC_SLICE, updated
from tensor_runtime.primitives.strict import StrictIndexedSpec
from tensor_runtime.tensors.tensor import Tensor, unwrap

_DYNAMIC_UPDATE_SLICE: Final = StrictIndexedSpec("dynamic_update_slice", result_shape=updated, indices=2)


def slice(x: Tensor, /, start: Sequence[int], limit: Sequence[int], strides: Sequence[int]) -> Tensor:
    """View of the elements at start, start + stride, … below the limit, along every axis.

    ``x[a:b:c]`` has Python's wrapping and clipping; here nothing wraps, clips, or runs backwards (``reverse`` does).

    Args:
        x: shape [N0, N1, ...].
        start: first index along each axis, 0 <= start <= limit.
        limit: the index that is not reached, start <= limit <= N.
        strides: distance of neighbours along each axis, 1 or more.

    Returns:
        A view of extents ceil((limit - start) / stride).

    Raises:
        ArgumentError: a number out of range, or not one of each kind per axis.

    Source: the operation ``slice`` of StableHLO.

    >>> slice(tensor([1, 2, 3, 4, 5]), (1,), (5,), (2,)).to_numpy().tolist()
    [2, 4]
    """
    form, _ = unwrap("slice", x)
    given = {"start": wholes("slice", "start", start), "limit": wholes("slice", "limit", limit)}
    given["strides"] = wholes("slice", "strides", strides)
    for name, numbers in given.items():
        if len(numbers) != form.rank:
            raise ArgumentError(
                f"slice: {name} has {len(numbers)} numbers for shape {form.shape}; give one per axis", operation="slice"
            )
    along = []
    for axis, (first, end, step) in enumerate(zip(*given.values(), strict=True)):
        extent = form.shape[axis]
        if not (0 <= first <= end <= extent and step > 0):
            raise ArgumentError(
                f"slice: from {first} to {end} by {step} along axis {axis} of extent {extent}; "
                "accepted: 0 <= start <= limit <= extent, and strides of 1 or more",
                operation="slice",
                axis=axis,
            )
        along.append(builtins.slice(first, end, step))
    return getitem(x, (*along, ...))


def dynamic_slice(x: Tensor, starts: Tensor, /, sizes: Sequence[int]) -> Tensor:
    """Copy of the slice of given sizes that starts at index values.

    Args:
        x: any dtype, shape [N0, N1, ...].
        starts: I32 or I64, shape [rank]; 0 <= start <= N - size. The host waits for them.
        sizes: extents of the result.

    Raises:
        IndexingError: a start out of range; StableHLO clamps.
        ArgumentError: a size out of range, or not one per axis.
        DTypeError: the starts are no tensor, or no integers.

    >>> dynamic_slice(tensor([1, 2, 3, 4]), tensor([1]), (2,)).to_numpy().tolist()
    [2, 3]
    """
    _require_tensor("dynamic_slice", starts)
    return execute_several(DYNAMIC_SLICE, (x, starts), wholes("dynamic_slice", "sizes", sizes))


def dynamic_update_slice(x: Tensor, update: Tensor, starts: Tensor, /) -> Tensor:
    """Copy of ``x`` in which the slice that starts at index values is ``update``.

    Args:
        x: any dtype, shape [N0, N1, ...].
        update: the dtype of ``x``, shape [S0, S1, ...], no extent larger.
        starts: I32 or I64, shape [rank]; 0 <= start <= N - S. The host waits for them.

    Raises:
        IndexingError: a start out of range; StableHLO clamps.
        ShapeError: the update does not lie inside ``x``.
        DTypeError: the dtypes of ``x`` and ``update`` differ; the starts are no tensor, or no integers.

    >>> dynamic_update_slice(tensor([0, 0, 0, 0]), tensor([1, 2]), tensor([1])).to_numpy().tolist()
    [0, 1, 2, 0]
    """
    _require_tensor("dynamic_update_slice", starts)
    return execute_several(_DYNAMIC_UPDATE_SLICE, (x, update, starts), None)


def _require_tensor(operation: str, starts: Any) -> None:
    if not isinstance(starts, Tensor):
        raise DTypeError(
            f"primitives.{operation}: the starts are a {type(starts).__name__}; accepted: an I32 or I64 tensor",
            operation=operation,
        )
