"""Indexing by masks, and by tensors, arrays and lists of integers, with NumPy's meaning.

Reading gives a copy. Integers, slices, ``None`` and ``...`` of the same index are applied first, as a view; then a mask
becomes the positions of its true elements, and positions along one axis are a ``take``, along several a ``gather``.
Index tensors broadcast among themselves. Their axes stand where they stood, if they and the integers of the index are
neighbours, else in front, as in NumPy. An index out of range is an error, whatever the result's size.

A list is a value of the host like a number, and goes to the place of the operand; an array is on the host and stays
there. What a tensor on a device holds is not read, but for the count of a mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index as as_index
from typing import Any, Final, NamedTuple

from tensor_core.dtypes import I64, INTEGER, Bool
from tensor_core.errors import BackendUnavailableError, IndexingError, ShapeError, TensorError
from tensor_core.foreign import own_dtype, shape_of
from tensor_core.shapes import broadcast_shapes
from tensor_runtime.backends.registry import registry
from tensor_runtime.dispatch.index_checked import out_of_range
from tensor_runtime.dispatch.out import write
from tensor_runtime.form import Shape
from tensor_runtime.ops.arithmetic import add
from tensor_runtime.ops.creation import asarray, tensor
from tensor_runtime.ops.gather_scatter import gather, nonzero, put_along_axis, take
from tensor_runtime.ops.joining import stack
from tensor_runtime.ops.ranges import arange
from tensor_runtime.ops.selection import where
from tensor_runtime.ops.views import broadcast_to, move_axes, reshape, reshape_view
from tensor_runtime.placement import stands_for
from tensor_runtime.tensors.tensor import Tensor, TypedTensorViewMut

_ASSIGNMENT: Final = "view[...] = x"
_SEQUENCES: Final = (list, tuple, range)


class _Index(NamedTuple):
    """An index taken apart."""

    basic: tuple[Any, ...]  # what makes a view of the operand in which index tensors and masks have whole axes
    chosen: list[tuple[int, int, Tensor]]  # axis of that view, axis of the operand, index tensor or mask
    front: bool  # whether the axes of the index tensors come first


def chooses(item: object, /) -> bool:
    """Whether an item of an index is a mask, or a tensor, array or list of integers; an int by ``__index__`` is not.

    >>> chooses([0, 1]), chooses(True), chooses(1), chooses(slice(None))
    (True, True, False, False)
    """
    if isinstance(item, (Tensor, bool, *_SEQUENCES)):
        return True
    shape = shape_of(item)
    return bool(shape) or (shape is not None and _is_truth(item))


def read(x: Tensor, index: Any, /) -> Tensor:
    """The elements that ``x[index]`` names, in an owned tensor.

    >>> x = tensor([[1, 2, 3], [4, 5, 6]])
    >>> read(x, tensor([1, 0, 1]))[:, 0].to_numpy().tolist(), read(x, x > 3).to_numpy().tolist()
    ([4, 1, 4], [4, 5, 6])
    >>> read(x, (slice(None), [0, -1])).to_numpy().tolist()
    [[1, 3], [4, 6]]
    """
    if isinstance(index, Tensor) and index.rank == 1 and x.rank:  # the most common ones, straight on
        if index.dtype in INTEGER:
            return _take(x, index, 0, 0)
        if index.dtype is Bool and index.shape[0] == x.shape[0]:
            return take(x, nonzero(index)[0], 0)
    parts = _taken_apart(x, index)
    if isinstance(parts, list):
        return x[tuple(parts)]
    base = x[parts.basic]
    vectors: list[tuple[int, int, Tensor]] = []  # axis of ``base``, axis of ``x``, positions
    for axis, of_x, chosen in reversed(parts.chosen):
        positions = chosen
        if chosen.dtype is Bool:
            rank = chosen.rank
            if rank > 1:  # as one axis, whose order is that of the mask's elements
                shape = base.shape
                base = reshape(base, (*shape[:axis], prod(chosen.shape), *shape[axis + rank :]), order="C")
                vectors = [(other - rank + 1, there, found) for other, there, found in vectors]
            positions = _positions(chosen)
        vectors.insert(0, (axis, of_x, positions))
    if len(vectors) == 1:
        axis, of_x, positions = vectors[0]
        if parts.front and axis:
            base, axis = move_axes(base, axis, 0), 0
        return _take(base, positions, axis, of_x)
    shape = _broadcast([positions.shape for _, _, positions in vectors])
    axes = tuple(axis for axis, _, _ in vectors)
    place = 0 if parts.front else axes[0]
    kept = base.rank - len(axes)
    starts = [_from_the_front(positions, base.shape[axis], of_x) for axis, of_x, positions in vectors]
    return gather(
        base,
        stack([broadcast_to(start, shape) for start in starts], -1),
        start_axes=axes,
        collapsed_axes=axes,
        vector_axis=len(shape),
        offset_axes=(*range(place), *range(place + len(shape), kept + len(shape))),
    )


def assign(view: TypedTensorViewMut[Any], index: Any, value: Tensor, /) -> None:
    """Write ``value``, broadcast, to the elements that ``view[index]`` names; of those named twice the last one stays.

    Nothing is written when an index is out of range.

    >>> x = tensor([[1, 2, 3], [4, 5, 6]])
    >>> assign(x.mutable_view(), x > 3, tensor(0))
    >>> assign(x.mutable_view(), (0, [0, -1]), tensor([7, 8]))
    >>> x.to_numpy().tolist()
    [[7, 2, 8], [0, 0, 0]]
    """
    parts = _taken_apart(view, index)
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
        along = nonzero(chosen) if chosen.rank else (_positions(chosen),)
        vectors += [(axis + step, of_x + step, positions) for step, positions in enumerate(along)]
    shape = _broadcast([positions.shape for _, _, positions in vectors])
    axes = [axis for axis, _, _ in vectors]
    place = 0 if parts.front else axes[0]
    kept = [axis for axis in range(base.rank) if axis not in axes]
    beside = [base.shape[axis] for axis in kept]
    target = (*beside[:place], *shape, *beside[place:])
    value = broadcast_value(value, target)
    if len(vectors) == 1 and len(shape) == 1 and place == axes[0]:
        positions = vectors[0][2]
        lying = reshape_view(positions, (*[1] * place, shape[0], *[1] * (base.rank - place - 1)))
        try:
            put_along_axis(base, lying, value, axis=place)
        except IndexingError as error:
            raise _renamed(error, vectors[0][1], base.shape[place], (place,)) from None
        return
    strides = [prod(base.shape[axis + 1 :]) for axis in range(base.rank)]  # of elements counted in row-major order
    sums: list[Tensor] = []
    for axis, of_x, positions in vectors:
        steps = _from_the_front(positions, base.shape[axis], of_x, strides[axis])
        sums.append(reshape(broadcast_to(steps, shape), (*shape, *[1] * (len(kept) - place))))
    for number, axis in enumerate(kept):
        after = len(target) - 1 - (number if number < place else number + len(shape))
        steps = _multiples(base.shape[axis], strides[axis], base.placement)
        sums.append(reshape_view(steps, (base.shape[axis], *[1] * after)))
    offsets = sums[0]
    for more in sums[1:]:
        offsets = add(offsets, more)
    put_along_axis(base, _line(broadcast_to(offsets, target)), _line(value), axis=None)


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


def _taken_apart(x: Tensor, index: Any) -> _Index | list[Any]:
    """The parts of an index; an index without tensors where it turns out to hold integers alone."""
    items = [_item(x, item) for item in (index if type(index) is tuple else (index,))]
    if not any(isinstance(item, Tensor) for item in items):
        return items
    named = sum(_axes_of(item) for item in items)
    if named > x.rank:
        raise IndexingError(
            f"indexing: {named} indices for shape {x.shape} of rank {x.rank}; give at most one per axis (a mask counts "
            "as many as it has axes)",
            shape=x.shape,
        )
    if sum(item is Ellipsis for item in items) > 1:
        raise IndexingError("indexing: more than one '...'; write it once", shape=x.shape)
    if Ellipsis not in [item for item in items if not isinstance(item, Tensor)]:
        items.append(Ellipsis)
    basic: list[Any] = []
    chosen: list[tuple[int, int, Tensor]] = []
    groups: list[bool] = []  # of neighbours that index by integers, or do not
    axis = of_x = 0
    for item in items:
        picks = isinstance(item, Tensor) or not (item is None or item is Ellipsis or isinstance(item, slice))
        if not groups or groups[-1] is not picks:
            groups.append(picks)
        if item is Ellipsis:
            added: list[Any] = [slice(None)] * (x.rank - named)
        elif not isinstance(item, Tensor):
            added = [item]
        else:
            chosen.append((axis, of_x, item))
            if item.dtype is Bool:
                _check_mask(x.shape, item, of_x)
            added = [slice(None)] * _axes_of(item) or [None]  # a mask of rank 0 chooses along a new axis
        basic += added
        axis += sum(one is None or isinstance(one, slice) for one in added)
        of_x += sum(one is not None for one in added)
    return _Index(tuple(basic), chosen, groups.count(True) > 1)


def _item(x: Tensor, item: Any) -> Any:
    """An item of an index as what it is: an integer, tensor of integers or Bool, or any of ``:``, ``None``, ``...``."""
    if not chooses(item):
        return item
    if isinstance(item, bool) or (not isinstance(item, _SEQUENCES) and not shape_of(item) and _is_truth(item)):
        return item if isinstance(item, Tensor) else tensor(bool(item), placement=x.placement)
    found = item if isinstance(item, Tensor) else _made(x, item)
    if found.dtype not in INTEGER and found.dtype is not Bool:
        raise IndexingError(
            f"indexing: an index is a {type(item).__name__} of {found.dtype.name}; accepted: integers and Bool; "
            "cast(index, I64) makes integers",
            operation="indexing",
        )
    if found.rank == 0 and found.dtype is not Bool and _is_on_the_host(found):
        return as_index(found)
    return found


def _made(x: Tensor, item: Any) -> Tensor:
    """A tensor of a list, or of somebody else's array."""
    try:
        if not isinstance(item, _SEQUENCES):
            return asarray(item, dtype=None if own_dtype(item) is not None else I64)
        nested = list(item)
        made = tensor(nested, placement=x.placement)
        return made if made.size else tensor(nested, dtype=I64, placement=x.placement)
    except TensorError as error:
        raise IndexingError(
            f"indexing: an index is a {type(item).__name__} that no tensor of integers or Bool can be made of: {error}",
            operation="indexing",
        ) from error


def _is_truth(item: Any) -> bool:
    return own_dtype(item) is Bool or (type(item).__module__ == "numpy" and type(item).__name__ in ("bool", "bool_"))


def _is_on_the_host(x: Tensor) -> bool:
    """Whether an element is read without moving it; of tensors without elements, whether it would be."""
    place = stands_for(x.placement)
    try:
        return hasattr(registry.backend_for(place), "lend")
    except BackendUnavailableError:  # a device that this machine lacks
        return False


def _axes_of(item: Any) -> int:
    """Of the operand's axes, how many an item of an index is for."""
    if isinstance(item, Tensor):
        return item.rank if item.dtype is Bool else 1
    return int(item is not None and item is not Ellipsis)


def _check_mask(shape: Shape, mask: Tensor, axis: int) -> None:
    if shape[axis : axis + mask.rank] != mask.shape:
        raise IndexingError(
            f"indexing: a mask of shape {mask.shape} for axes {axis} to {axis + mask.rank - 1} of shape {shape}; "
            "accepted: the extents of these axes",
            shapes=(mask.shape, shape),
        )


def _positions(mask: Tensor) -> Tensor:
    """Of the true elements, in row-major order."""
    return nonzero(mask if mask.rank == 1 else _line(mask))[0]


def _line(x: Tensor) -> Tensor:
    return reshape(x, (x.size,), order="C")


def _broadcast(shapes: Sequence[Shape]) -> Shape:
    try:
        return broadcast_shapes(*shapes)
    except ShapeError:
        listed = ", ".join(map(str, shapes))
        raise IndexingError(
            f"indexing: index tensors of shapes {listed} do not broadcast; accepted: extents that are equal or 1 (a "
            "mask counts as a vector, as long as it has true elements)",
            shapes=tuple(shapes),
        ) from None


def _take(x: Tensor, indices: Tensor, axis: int, of_x: int) -> Tensor:
    try:
        return take(x, indices, axis)
    except IndexingError as error:
        raise _renamed(error, of_x, x.shape[axis]) from None


def _from_the_front(indices: Tensor, extent: int, of_x: int, step: int = 1) -> Tensor:
    """Indices counted from the front, times ``step``; checked."""
    return _take(_multiples(extent, step, indices.placement), indices, 0, of_x)


def _multiples(extent: int, step: int, placement: Any) -> Tensor:
    step = max(step, 1)
    return arange(0, extent * step, step, dtype=I64, placement=placement)


def _renamed(error: IndexingError, axis: int, extent: int, along: tuple[int, ...] = ()) -> IndexingError:
    """The error of an index out of range in the words of the index that the user wrote."""
    position: Any = getattr(error, "position", ())
    position = tuple(position[place] for place in along) if along else position
    place = f"indices[{', '.join(map(str, position))}]" if position else "the index"
    low, high = (-extent, extent - 1) if extent else (0, -1)
    value: Any = error.value
    return out_of_range(
        "indexing", place, value, f"axis {axis} of extent {extent}", low, high, axis=axis, position=position
    )
