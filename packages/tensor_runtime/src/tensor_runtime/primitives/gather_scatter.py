"""Strict ``gather`` and ``scatter``: every option is written, and updates have the dtype of what they go to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tensor_runtime.contracts.gather_scatter import SliceOptions
from tensor_runtime.dispatch.arguments import choice, whole, wholes
from tensor_runtime.dispatch.call import execute_pair, execute_several
from tensor_runtime.ops import gather_scatter as public
from tensor_runtime.primitives.strict import StrictIndexedSpec
from tensor_runtime.tensors.tensor import Tensor


class _StrictScatterSpec(StrictIndexedSpec, public.ScatterSpec):
    """Updates have the dtype of what they go to."""

    __slots__ = ()


_SCATTER: Final = _StrictScatterSpec("scatter", result_shape=public.scattered)


def gather(
    x: Tensor,
    indices: Tensor,
    /,
    *,
    offset_axes: Sequence[int],
    collapsed_axes: Sequence[int],
    start_axes: Sequence[int],
    vector_axis: int,
    slice_sizes: Sequence[int],
) -> Tensor:
    """Slices of equal sizes whose places are index values: ``tensor_runtime.gather`` without defaults.

    Args:
        x: any dtype and layout.
        indices: I32 or I64; components of one index lie along ``vector_axis``.
        offset_axes: axes of the result that run inside a slice, ascending.
        collapsed_axes: axes of ``x`` of slice size 1 that the result leaves out.
        start_axes: the axis of ``x`` along which each component runs.
        vector_axis: axis of the indices that holds the components; their rank says that each is a whole index.
        slice_sizes: of a slice, for each axis of ``x``.

    Returns:
        An owned tensor of the dtype of ``x``: the slices' axes at ``offset_axes``, the batch axes elsewhere, in order.

    Raises:
        IndexingError: a start outside 0 to N - size; StableHLO clamps.
        ShapeError, AxisError, ArgumentError: options that do not fit.
        DTypeError: indices that are no integers.

    >>> options = {"offset_axes": (), "collapsed_axes": (0,), "start_axes": (0,), "vector_axis": 1, "slice_sizes": (1,)}
    >>> gather(tensor([5, 6, 7]), tensor([2, 0]), **options).to_numpy().tolist()
    [7, 5]
    """
    options = _options("gather", offset_axes, collapsed_axes, start_axes, vector_axis, slice_sizes)
    return execute_pair(public.GATHER, x, indices, options)


def scatter(
    x: Tensor,
    indices: Tensor,
    updates: Tensor,
    /,
    *,
    mode: str,
    offset_axes: Sequence[int],
    collapsed_axes: Sequence[int],
    start_axes: Sequence[int],
    vector_axis: int,
) -> Tensor:
    """Copy of ``x`` with slices of it combined with updates: ``tensor_runtime.scatter`` without defaults.

    Args:
        x: any dtype and layout.
        indices: as for :func:`gather`.
        updates: the dtype of ``x``, shaped like what ``gather`` with the same options gives.
        mode: "replace", "add", "multiply", "min" or "max".
        offset_axes: axes of ``updates`` that run inside a slice.
        collapsed_axes: axes of ``x`` that ``updates`` leaves out.
        start_axes: as for :func:`gather`.
        vector_axis: as for :func:`gather`.

    Returns:
        An owned tensor of the shape and dtype of ``x``.

    Raises:
        IndexingError: a start out of range; StableHLO drops such updates.
        ShapeError, AxisError, ArgumentError: options or updates that do not fit, or another mode.
        DTypeError: indices that are no integers, updates of another dtype, or an order of complex numbers.

    >>> options = {"offset_axes": (), "collapsed_axes": (0,), "start_axes": (0,), "vector_axis": 1}
    >>> scatter(tensor([0, 0, 0]), tensor([0, 2, 0]), tensor([1, 2, 3]), mode="add", **options).to_numpy().tolist()
    [4, 0, 2]
    """
    mode = choice("scatter", "mode", mode, tuple(public.SCATTER_MODES))
    options = _options("scatter", offset_axes, collapsed_axes, start_axes, vector_axis, None)
    return execute_several(_SCATTER, (x, indices, updates), (mode, options))


def _options(
    operation: str,
    offset_axes: Sequence[int],
    collapsed_axes: Sequence[int],
    start_axes: Sequence[int],
    vector_axis: int,
    slice_sizes: Sequence[int] | None,
) -> SliceOptions:
    return SliceOptions(
        wholes(operation, "offset_axes", offset_axes),
        wholes(operation, "collapsed_axes", collapsed_axes),
        wholes(operation, "start_axes", start_axes),
        whole(operation, "vector_axis", vector_axis),
        None if slice_sizes is None else wholes(operation, "slice_sizes", slice_sizes),
    )
