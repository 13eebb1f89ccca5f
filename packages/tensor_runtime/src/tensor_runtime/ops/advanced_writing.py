"""Writing to elements that masks, and tensors, arrays and lists of integers name, with NumPy's meaning.

The index is taken apart as for reading (``advanced_indexing``). Positions along one axis are a ``put_along_axis``; of
several, what they name is counted in the order of the elements first. Nothing is written when one is out of range.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

from tensor_core.dtypes import Bool
from tensor_core.errors import ShapeError, TensorError
from tensor_core.shapes import Shape, broadcast_shapes
from tensor_runtime.dispatch.call import execute_ternary
from tensor_runtime.dispatch.out import mutable_view_of, write
from tensor_runtime.ops.advanced_indexing import (
    alone_on_axis,
    as_line,
    broadcast_indices,
    from_the_front,
    in_words_of_the_index,
    multiples,
    positions_of,
    renamed,
    taken_apart,
    together_named,
)
from tensor_runtime.ops.arithmetic import add
from tensor_runtime.ops.gather_scatter import nonzero, put_along_axis
from tensor_runtime.ops.selection import WHERE, where
from tensor_runtime.ops.views import broadcast_to, reshape, reshape_view
from tensor_runtime.tensors.tensor import Tensor, TypedTensorViewMut

_ASSIGNMENT: Final = "view[...] = x"
_NUMBERS: Final = frozenset({bool, int, float, complex})


def assign(view: TypedTensorViewMut[Any], index: Any, value: Tensor, /) -> None:
    """Write ``value``, broadcast, to the elements that ``view[index]`` names; of those named twice the last one stays.

    Nothing is written when an index is out of range.

    >>> x = tensor([[1, 2, 3], [4, 5, 6]])
    >>> assign(x.mutable_view(), x > 3, tensor(0))
    >>> assign(x.mutable_view(), (0, [0, -1]), tensor([7, 8]))
    >>> x.to_numpy().tolist()
    [[7, 2, 8], [0, 0, 0]]
    """
    alone = alone_on_axis(view, index)
    if alone is not None and alone[1].dtype is not Bool:
        axis, positions = alone
        extents = view._form.shape
        shape = (*extents[:axis], positions.shape[0], *extents[axis + 1 :])
        _put(view, positions, value if not value.rank else broadcast_value(value, shape), axis, axis)
        return
    together = together_named(view, index)
    if together is not None and len(index) == view.rank and view._form.is_compact:
        value = broadcast_value(value, together)
        _put_together(view, index, value)
        return
    parts = taken_apart(view, index)
    if isinstance(parts, list):
        view[tuple(parts)] = value
        return
    base: Any = view[parts.basic]
    if len(parts.chosen) == 1 and parts.chosen[0][2].dtype is Bool and value.rank == 0:
        axis, _, mask = parts.chosen[0]
        aligned = reshape_view(mask, (*mask.shape, *[1] * (base.rank - axis - max(mask.rank, 1))))
        write(base, where(aligned, value, base), _ASSIGNMENT)
        return
    vectors: list[tuple[int, int, Tensor]] = []
    for axis, of_x, chosen in parts.chosen:
        if chosen.dtype is not Bool:
            vectors.append((axis, of_x, chosen))
            continue
        along = nonzero(chosen) if chosen.rank else (positions_of(chosen),)
        vectors += [(axis + step, of_x + step, positions) for step, positions in enumerate(along)]
    shape = broadcast_indices([positions.shape for _, _, positions in vectors])
    axes = [axis for axis, _, _ in vectors]
    place = 0 if parts.front else axes[0]
    kept = [axis for axis in range(base.rank) if axis not in axes]
    beside = [base.shape[axis] for axis in kept]
    target = (*beside[:place], *shape, *beside[place:])
    value = broadcast_value(value, target)
    if len(vectors) == 1 and len(shape) == 1 and place == axes[0]:
        _put(base, vectors[0][2], value, place, vectors[0][1])
        return
    strides = [prod(base.shape[axis + 1 :]) for axis in range(base.rank)]  # of elements counted in row-major order
    sums: list[Tensor] = []
    for axis, of_x, positions in vectors:
        steps = from_the_front(positions, base.shape[axis], of_x, strides[axis])
        sums.append(reshape(broadcast_to(steps, shape), (*shape, *[1] * (len(kept) - place))))
    for number, axis in enumerate(kept):
        after = len(target) - 1 - (number if number < place else number + len(shape))
        steps = multiples(base.shape[axis], strides[axis], base.placement)
        sums.append(reshape_view(steps, (base.shape[axis], *[1] * after)))
    offsets = sums[0]
    for more in sums[1:]:
        offsets = add(offsets, more)
    put_along_axis(base, as_line(broadcast_to(offsets, target)), as_line(value), axis=None)


def fill_masked(view: TypedTensorViewMut[Any], mask: Tensor, value: object, /) -> bool:
    """Write a Python number where a mask of the view's shape holds, in place; False where that is not what is asked.

    >>> x = tensor([1, 2, 3])
    >>> fill_masked(x.mutable_view(), x > 1, 0), fill_masked(x.mutable_view(), x > 1, 0.5), x.to_numpy().tolist()
    (True, False, [1, 0, 0])
    """
    form, of_mask = view._form, mask._form
    if of_mask.dtype is not Bool or of_mask.shape != form.shape or of_mask.placement is not form.placement:
        return False
    if type(value) not in _NUMBERS:
        return False
    try:
        execute_ternary(WHERE, mask, value, view, view)  # type: ignore[arg-type]  # which is a number
    except TensorError:  # of another kind than the view's, or out of its range
        return False
    return True


def _put(view: TypedTensorViewMut[Any], positions: Tensor, value: Tensor, axis: int, of_x: int) -> None:
    """Write at one line of positions along an axis, the same for all lines of the view."""
    rank = view.rank
    lying = positions if rank == 1 else reshape(positions, (*[1] * axis, -1, *[1] * (rank - axis - 1)))
    in_words_of_the_index(
        lambda error: renamed(error, of_x, view.shape[axis], (axis,)), put_along_axis, view, lying, value, axis
    )


def _put_together(view: TypedTensorViewMut[Any], vectors: Sequence[Tensor], value: Tensor) -> None:
    """Write elements of a view without gaps, each named by one position along every axis."""
    offsets: Any = None
    step = 1
    for axis, positions in enumerate(vectors):
        more = from_the_front(positions, view.shape[axis], axis, step)
        offsets = more if offsets is None else add(offsets, more)
        step *= view.shape[axis]
    line = mutable_view_of(reshape_view(view, -1))
    put_along_axis(line, as_line(offsets), as_line(value), axis=0)  # of those named twice NumPy's last one stays


def broadcast_value(value: Tensor, shape: Shape, /) -> Tensor:
    """A view of what is written, of the shape of the elements written; leading axes of extent 1 are left out.

    >>> broadcast_value(zeros((1, 2)), (3, 2)).shape, broadcast_value(zeros((1, 1, 2)), (2,)).shape
    ((3, 2), (2,))
    """
    if value.shape == shape:
        return value
    while value.rank > len(shape) and value.shape[0] == 1:
        value = value[0]
    try:
        if broadcast_shapes(value.shape, shape) == shape:
            return broadcast_to(value, shape)
    except ShapeError:
        pass
    raise ShapeError(f"{_ASSIGNMENT}: shape {value.shape} does not broadcast to {shape}", shapes=(value.shape, shape))
