"""Slices whose place is a value: ``dynamic_slice`` and ``dynamic_update_slice``.

Their sizes are metadata, their starts are values: Python ints, or a tensor that holds one start per axis. Starts are
arguments of the kernel, so slices at a million places share one binding.

A start out of range is an error, never clipped (StableHLO clamps it, which hides the mistake) and never wrapped:
negative starts are out of range too. Basic indexing, ``x[a:b]``, has Python's wrapping and gives a view.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tensor_core.errors import ArgumentError, ShapeError
from tensor_core.shapes import Shape
from tensor_runtime.dispatch.arguments import wholes
from tensor_runtime.dispatch.call import execute_several
from tensor_runtime.dispatch.index_checked import IndexedSpec
from tensor_runtime.dispatch.out import Out, written
from tensor_runtime.static_types.combined import product_dtype
from tensor_runtime.static_types.results import same_dtype_into
from tensor_runtime.tensors.tensor import Tensor, unwrap

Starts = Tensor | Sequence[int] | int


def _sliced(operation: str, shape: Shape, *rest: Any) -> Shape:
    sizes: Shape = rest[-1]
    _check_starts(operation, shape, rest[:-1])
    if len(sizes) != len(shape):
        raise ArgumentError(
            f"{operation}: {len(sizes)} sizes {sizes} for shape {shape} of rank {len(shape)}; give one per axis",
            operation=operation,
        )
    for axis, (size, extent) in enumerate(zip(sizes, shape, strict=True)):
        if not 0 <= size <= extent:
            raise ArgumentError(
                f"{operation}: size {size} along axis {axis} of extent {extent}; accepted: 0 to {extent}",
                operation=operation,
                axis=axis,
            )
    return sizes


def updated(operation: str, shape: Shape, update: Shape, *rest: Any) -> Shape:
    """Shape rule of ``dynamic_update_slice``: from the shapes, that of the starts if they are a tensor, and None.

    >>> updated("dynamic_update_slice", (4, 4), (2, 1), (2,), None)
    (4, 4)
    """
    _check_starts(operation, shape, rest[:-1])
    if len(update) != len(shape) or any(size > extent for size, extent in zip(update, shape, strict=True)):
        raise ShapeError(
            f"{operation}: an update of shape {update} does not lie inside shape {shape}; "
            "accepted: equal rank, and no extent larger",
            operation=operation,
            shapes=(shape, update),
        )
    return shape


def _check_starts(operation: str, shape: Shape, starts: Sequence[Shape]) -> None:
    if starts and starts[0] != (len(shape),):
        raise ShapeError(
            f"{operation}: starts of shape {starts[0]} for shape {shape}; accepted: ({len(shape)},), one per axis",
            operation=operation,
            shapes=(shape, starts[0]),
        )


DYNAMIC_SLICE: Final = IndexedSpec("dynamic_slice", result_shape=_sliced)
DYNAMIC_UPDATE_SLICE: Final = IndexedSpec("dynamic_update_slice", result_shape=updated, indices=2)


@same_dtype_into
def dynamic_slice(x: Tensor, starts: Starts, sizes: Sequence[int] | int, /, *, out: Out = None) -> Tensor:
    """Copy of the slice of given sizes that starts at given indices.

    Args:
        x: any dtype and layout, shape [N0, N1, ...].
        starts: one per axis, 0 <= start <= N - size: Python ints, or an I32 or I64 tensor of shape [rank], which the
            host waits for, as a start out of range is told at once; with ``checks("deferred")`` it does not.
        sizes: extents of the result, part of the binding's key.

    Returns:
        An owned tensor of shape ``sizes`` and the dtype of ``x``.

    Raises:
        IndexingError: a start out of range; nothing is clipped, where StableHLO's operation of that name clamps. A
            start along an axis of which the slice takes nothing is checked as well.
        ArgumentError: a size out of range, or not one start and one size per axis.
        DTypeError: starts that are no integers.

    >>> x = tensor([[1, 2, 3], [4, 5, 6]])
    >>> dynamic_slice(x, (0, 1), (2, 2)).to_numpy().tolist()
    [[2, 3], [5, 6]]
    >>> dynamic_slice(x, tensor([1, 0]), (1, 2)).to_numpy().tolist()
    [[4, 5]]
    """
    name = "dynamic_slice"
    extents = wholes(name, "sizes", sizes)
    if isinstance(starts, Tensor):
        result = execute_several(DYNAMIC_SLICE, (x, starts), extents)
    else:
        result = execute_several(DYNAMIC_SLICE, (x,), extents, _one_per_axis(name, x, starts))
    return result if out is None else written("dynamic_slice", out, result, x)


@product_dtype
def dynamic_update_slice(x: Tensor, update: Tensor, starts: Starts, /, *, out: Out = None) -> Tensor:
    """Copy of ``x`` in which the slice that starts at given indices is ``update``.

    ``mutable_view(x)[a:b] = update`` writes in place instead.

    Args:
        x: any dtype and layout, shape [N0, N1, ...].
        update: shape [S0, S1, ...], no extent larger than that of ``x``; its dtype converts to that of ``x``.
        starts: one per axis, 0 <= start <= N - S; as for :func:`dynamic_slice`.

    Returns:
        An owned tensor of the shape and dtype of ``x``.

    Raises:
        IndexingError: a start out of range; nothing is clipped.
        ShapeError: the update does not lie inside ``x``.
        LossyConversionError: the update's dtype can hold values that the dtype of ``x`` cannot.

    >>> dynamic_update_slice(zeros((4,)), tensor([1, 2]), 1).to_numpy().tolist()
    [0.0, 1.0, 2.0, 0.0]
    """
    name = "dynamic_update_slice"
    if isinstance(starts, Tensor):
        result = execute_several(DYNAMIC_UPDATE_SLICE, (x, update, starts), None)
    else:
        result = execute_several(DYNAMIC_UPDATE_SLICE, (x, update), None, _one_per_axis(name, x, starts))
    return result if out is None else written("dynamic_update_slice", out, result, x, update)


def _one_per_axis(operation: str, x: Tensor, starts: Any) -> tuple[int, ...]:
    found = wholes(operation, "starts", starts)
    rank = unwrap(operation, x)[0].rank
    if len(found) != rank:
        raise ArgumentError(f"{operation}: {len(found)} starts {found} for rank {rank}; give one per axis")
    return found
