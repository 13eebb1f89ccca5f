"""Views and grids under NumPy's names: ``swapaxes``, ``flip``, ``unstack``, ``broadcast_arrays``, ``meshgrid``.

Everything here shares its elements with the operands, and copies none.
"""

from __future__ import annotations

from typing import Any, SupportsIndex

from tensor_core.errors import AxisError, ShapeError
from tensor_core.shapes import broadcast_shapes, normalize_axis
from tensor_runtime.dispatch.arguments import as_axes, choice, flag, whole
from tensor_runtime.dispatch.call import execute_with_params
from tensor_runtime.dispatch.dtype_rules import Axes
from tensor_runtime.ops import native_calls, views
from tensor_runtime.ops.joining import reverse
from tensor_runtime.ops.orders import exchanged
from tensor_runtime.ops.views import broadcast_to, expand_dims, transpose
from tensor_runtime.static_types.results import same_dtype
from tensor_runtime.tensors.tensor import Tensor, unwrap


@same_dtype
def swapaxes(x: Tensor, /, axis1: SupportsIndex, axis2: SupportsIndex) -> Tensor:
    """View with two axes in each other's place.

    Raises:
        AxisError: an axis out of range.

    >>> swapaxes(zeros((2, 3, 4)), 0, -1).shape
    (4, 3, 2)
    """
    if type(axis1) is type(axis2) is int and type(x) is Tensor:
        return transpose(x, exchanged(x._form.rank, axis1, axis2))
    form, _ = unwrap("swapaxes", x)
    first = normalize_axis(whole("swapaxes", "axis", axis1), form.rank, "swapaxes")
    second = normalize_axis(whole("swapaxes", "axis", axis2), form.rank, "swapaxes")
    return transpose(x, exchanged(form.rank, first, second))


@same_dtype
def flip(x: Tensor, /, axis: Axes = None) -> Tensor:
    """View that runs backwards along the axes named, all of them for None; another name for ``reverse``.

    Raises:
        AxisError: an axis out of range or named twice.

    >>> flip(tensor([[1, 2], [3, 4]])).to_numpy().tolist(), flip(tensor([[1, 2], [3, 4]]), 0).to_numpy().tolist()
    ([[4, 3], [2, 1]], [[3, 4], [1, 2]])
    """
    return reverse(x, axis if axis is None or type(axis) is int else as_axes("flip", axis))


def unstack(x: Tensor, /, axis: SupportsIndex = 0) -> tuple[Tensor, ...]:
    """Views without an axis, one for each index along it; what ``stack`` joins.

    Raises:
        AxisError: an axis out of range; rank 0 has none.

    >>> [part.to_numpy().tolist() for part in unstack(tensor([[1, 2], [3, 4]]), -1)]
    [[1, 3], [2, 4]]
    """
    return _unstack(x, axis)


@native_calls.standing_in(globals())
def _unstack(x: Any, axis: Any) -> tuple[Tensor, ...]:
    form, _ = unwrap("unstack", x)
    if not form.rank:
        raise AxisError("unstack: a tensor of rank 0 has no axis", operation="unstack")
    place = normalize_axis(whole("unstack", "axis", axis), form.rank, "unstack")
    before = (slice(None),) * place
    return tuple(x[(*before, position)] for position in range(form.shape[place]))


def broadcast_arrays(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Read-only views of all tensors in the shape to which they broadcast.

    Raises:
        ShapeError: they do not.

    >>> [part.shape for part in broadcast_arrays(zeros((2, 1)), zeros(3))]
    [(2, 3), (2, 3)]
    """
    shapes = [unwrap("broadcast_arrays", x)[0].shape for x in tensors]
    try:
        shape = broadcast_shapes(*shapes)
    except ShapeError as error:
        raise ShapeError(
            f"broadcast_arrays: shapes {', '.join(map(str, shapes))} do not broadcast; accepted: extents that are "
            "equal or 1, aligned at the last axis",
            operation="broadcast_arrays",
            shapes=tuple(shapes),
        ) from error
    return tuple(broadcast_to(x, shape) for x in tensors)


def meshgrid(*vectors: Tensor, indexing: str = "xy", sparse: bool = False) -> tuple[Tensor, ...]:
    """Coordinates of the points of a grid: for each vector a view that varies along that vector's own axis.

    Args:
        vectors: of rank 1; rank 0 counts as a vector of one element.
        indexing: "ij" puts the axis of vector k at place k; "xy" swaps the first two, as in plots.
        sparse: leave axes of extent 1 where nothing varies; they broadcast.

    Returns:
        As many read-only views as vectors; NumPy's are copies.

    Raises:
        ShapeError: a vector of rank 2 or more.
        ArgumentError: another ``indexing``.

    >>> x, y = meshgrid(tensor([1, 2, 3]), tensor([10, 20]))
    >>> x.to_numpy().tolist(), y.to_numpy().tolist()
    ([[1, 2, 3], [1, 2, 3]], [[10, 10, 10], [20, 20, 20]])
    """
    swapped = choice("meshgrid", "indexing", indexing, ("xy", "ij")) == "xy" and len(vectors) > 1
    thin = flag("meshgrid", "sparse", sparse)
    rank = len(vectors)
    grid: list[Tensor] = []
    extents = [1] * rank
    for position, vector in enumerate(vectors):
        form = vector._form if type(vector) is Tensor else unwrap("meshgrid", vector)[0]
        if form.rank > 1:
            raise ShapeError(
                f"meshgrid: operand {position} has shape {form.shape}; accepted: rank 1", operation="meshgrid"
            )
        place = 1 - position if swapped and position < 2 else position
        extents[place] = form.size
        others = tuple(axis for axis in range(rank) if axis != place or not form.rank)
        grid.append(expand_dims(vector, others) if others else transpose(vector))
    shape = tuple(extents)
    return tuple(grid) if thin else tuple(execute_with_params(views.BROADCAST_VIEW, x, shape) for x in grid)
