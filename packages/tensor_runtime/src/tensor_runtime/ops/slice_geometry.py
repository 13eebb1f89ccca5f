"""Where the slices of ``gather`` and ``scatter`` lie: pure metadata, shared by specs and backends.

Both walk over slices of one operand, of equal sizes. A slice's place is named by index values; its elements stand in
the gathered (or scattered) tensor at the *offset axes*, and the slices follow each other along the others, the *batch
axes*, which are those of the indices.
"""

from __future__ import annotations

from typing import NamedTuple

from tensor_core.errors import ArgumentError, AxisError, ShapeError
from tensor_core.shapes import Shape, normalize_axes
from tensor_runtime.contracts.gather_scatter import SliceOptions

Axes = tuple[int, ...]


class SliceGeometry(NamedTuple):
    """Slice options, complete and checked; every axis counts from the front."""

    start_axes: Axes  # axis of the operand that each component of an index runs along
    vector_axis: int  # axis of the indices that holds the components; their rank if each element is a whole index
    sizes: Shape  # of a slice, for each axis of the operand
    kept_axes: Axes  # axes of the operand that are not collapsed, in order
    offset_axes: Axes  # axis of the tensor of all slices for each of them
    batch_axes: Axes  # the other axes of the tensor of all slices
    shape: Shape  # of the tensor of all slices: gather's result, scatter's updates


def gather_geometry(operation: str, shape: Shape, indices: Shape, options: SliceOptions, /) -> SliceGeometry:
    """Geometry of a gather from an operand with indices of these shapes.

    Raises:
        ShapeError, AxisError, ArgumentError: they do not fit; the message says which and why.

    >>> gather_geometry("gather", (5, 3), (2, 4), SliceOptions()).shape
    (2, 4, 3)
    """
    start, collapsed, vector, batch = _index_parts(operation, shape, indices, options)
    kept = tuple(axis for axis in range(len(shape)) if axis not in collapsed)
    sizes = options.slice_sizes
    if sizes is None:
        sizes = tuple(1 if axis in collapsed else extent for axis, extent in enumerate(shape))
    _check_sizes(operation, shape, sizes, collapsed)
    offset = _offset_axes(operation, options, len(batch) + len(kept), len(kept))
    return _joined(start, vector, sizes, kept, offset, batch)


def scatter_geometry(
    operation: str, shape: Shape, indices: Shape, updates: Shape, options: SliceOptions, /
) -> SliceGeometry:
    """Geometry of a scatter into an operand; the updates' shape gives the slices' sizes.

    Raises:
        ShapeError, AxisError, ArgumentError: as for :func:`gather_geometry`, and updates of another shape.

    >>> scatter_geometry("scatter", (5, 3), (2,), (2, 3), SliceOptions()).sizes
    (1, 3)
    """
    start, collapsed, vector, batch = _index_parts(operation, shape, indices, options)
    kept = tuple(axis for axis in range(len(shape)) if axis not in collapsed)
    rank = len(batch) + len(kept)
    if len(updates) != rank:
        raise ShapeError(
            f"{operation}: updates of shape {updates} for an operand of shape {shape} and indices of shape {indices}; "
            f"accepted: rank {rank}, {len(batch)} batch axes {batch} and {len(kept)} axes of the slice",
            shapes=(shape, indices, updates),
        )
    offset = _offset_axes(operation, options, rank, len(kept))
    sizes = [1] * len(shape)
    for axis, position in zip(kept, offset, strict=True):
        sizes[axis] = updates[position]
    _check_sizes(operation, shape, tuple(sizes), collapsed)
    geometry = _joined(start, vector, tuple(sizes), kept, offset, batch)
    if geometry.shape != updates:
        raise ShapeError(
            f"{operation}: updates of shape {updates}, but indices of shape {indices} give batch axes {batch}; "
            f"accepted: {geometry.shape}",
            shapes=(shape, indices, updates),
        )
    return geometry


def _index_parts(
    operation: str, shape: Shape, indices: Shape, options: SliceOptions
) -> tuple[Axes, frozenset[int], int, Shape]:
    """Start axes, collapsed axes, vector axis and batch shape."""
    rank = len(shape)
    if options.start_axes is None and not rank:
        raise ShapeError(f"{operation}: the operand has rank 0 and no axis to index; accepted: rank 1 or more")
    start = (0,) if options.start_axes is None else normalize_axes(options.start_axes, rank, operation)
    collapsed = start if options.collapsed_axes is None else normalize_axes(options.collapsed_axes, rank, operation)
    vector = options.vector_axis
    if vector is None:
        vector = len(indices) if len(start) == 1 else -1
    if not -len(indices) <= vector <= len(indices):
        raise AxisError(
            f"{operation}: vector_axis is {vector} for indices of rank {len(indices)}; "
            f"accepted: {-len(indices)} to {len(indices)}, where {len(indices)} means that each element is an index",
            axis=vector,
        )
    vector += len(indices) if vector < 0 else 0
    components = indices[vector] if vector < len(indices) else 1
    if components != len(start):
        raise ShapeError(
            f"{operation}: indices of shape {indices} hold {components} components along axis {vector}, but "
            f"{len(start)} axes {start} of the operand are indexed; accepted: equal numbers",
            shapes=(shape, indices),
        )
    return start, frozenset(collapsed), vector, (*indices[:vector], *indices[vector + 1 :])


def _check_sizes(operation: str, shape: Shape, sizes: Shape, collapsed: frozenset[int]) -> None:
    if len(sizes) != len(shape):
        raise ArgumentError(f"{operation}: {len(sizes)} slice sizes {sizes} for shape {shape}; give one per axis")
    for axis, (size, extent) in enumerate(zip(sizes, shape, strict=True)):
        if axis in collapsed and size != 1:
            raise ArgumentError(
                f"{operation}: axis {axis} is collapsed, but its slice size is {size}; accepted: 1", axis=axis
            )
        # A collapsed axis of extent 0 may stand here, with no index at all: there is then no slice to take.
        if not 0 <= size <= extent and not (axis in collapsed and extent == 0):
            raise ArgumentError(
                f"{operation}: slice size {size} along axis {axis} of extent {extent}; accepted: 0 to {extent}",
                axis=axis,
            )


def _offset_axes(operation: str, options: SliceOptions, rank: int, count: int) -> Axes:
    if options.offset_axes is None:
        return tuple(range(rank - count, rank))
    if len(options.offset_axes) != count:
        raise ArgumentError(
            f"{operation}: {len(options.offset_axes)} offset axes {options.offset_axes} for {count} axes of the "
            "operand that are not collapsed; give one for each"
        )
    offset = normalize_axes(options.offset_axes, rank, operation)
    if list(offset) != sorted(offset):
        raise ArgumentError(f"{operation}: offset axes {offset}; accepted: ascending (permute the result instead)")
    return offset


def _joined(start: Axes, vector: int, sizes: Shape, kept: Axes, offset: Axes, batch: Shape) -> SliceGeometry:
    rank = len(offset) + len(batch)
    batch_axes = tuple(axis for axis in range(rank) if axis not in offset)
    extents = dict(zip(batch_axes, batch, strict=True)) | {
        position: sizes[axis] for axis, position in zip(kept, offset, strict=True)
    }
    return SliceGeometry(start, vector, sizes, kept, offset, batch_axes, tuple(extents[axis] for axis in range(rank)))
