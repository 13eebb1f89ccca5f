"""Indexing by masks, and by tensors, arrays and lists of integers, with NumPy's meaning.

Reading gives a copy. Integers, slices, ``None`` and ``...`` of the same index are applied first, as a view; then a mask
becomes the positions of its true elements, and positions along one axis are a ``take``, along several a ``gather``.
Index tensors broadcast among themselves. Their axes stand where they stood, if they and the integers of the index are
neighbours, else in front, as in NumPy. An index out of range is an error, whatever the result's size.

A list is a value of the host like a number, and goes to the place of the operand; an array is on the host and stays
there. What a tensor on a device holds is not read, but for the count of a mask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from operator import index as as_index
from typing import Any, Final, NamedTuple, SupportsIndex

from tensor_core.dtypes import I64, INTEGER, Bool
from tensor_core.errors import BackendUnavailableError, IndexingError, ShapeError, TensorError
from tensor_core.foreign import own_dtype, shape_of
from tensor_core.shapes import Shape, broadcast_shapes
from tensor_runtime.backends.registry import registry
from tensor_runtime.backends.shared.value_errors import out_of_range
from tensor_runtime.contracts.gather_scatter import SliceOptions
from tensor_runtime.dispatch.conversion import convert
from tensor_runtime.ops.comparison import greater_equal, less
from tensor_runtime.ops.creation import asarray, tensor
from tensor_runtime.ops.gather_scatter import gather_at, nonzero, take
from tensor_runtime.ops.joining import stack
from tensor_runtime.ops.logic import logical_and
from tensor_runtime.ops.ranges import arange
from tensor_runtime.ops.selection import where
from tensor_runtime.ops.views import broadcast_to, copy, move_axes, reshape, reshape_view, transpose_view
from tensor_runtime.placement import stands_for
from tensor_runtime.protocols import DEFERRED, RETOLD
from tensor_runtime.tensors.tensor import Tensor

NOWHERE: Final = -(1 << 56)
"""No element's number, nor is the sum of some of these and of numbers of elements."""
_SEQUENCES: Final = (list, tuple, range)
_ALL: Final = slice(None)


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
    alone = alone_on_axis(x, index)
    if alone is not None:
        axis, positions = alone
        return _take(x, positions if positions.dtype is not Bool else nonzero(positions)[0], axis, axis)
    if type(index) is Tensor and index._form.dtype is Bool and index._form.shape == x._form.shape and index.rank:
        return as_line(x)[as_line(index)]
    together = together_named(x, index)
    if together is not None:
        return _gathered(x, index, (*range(len(index)),), 0, (*range(len(index)),))
    parts = taken_apart(x, index)
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
            positions = positions_of(chosen)
        vectors.insert(0, (axis, of_x, positions))
    if len(vectors) == 1:
        axis, of_x, positions = vectors[0]
        if parts.front and axis:
            base, axis = move_axes(base, axis, 0), 0
        return _take(base, positions, axis, of_x)
    axes = tuple(axis for axis, _, _ in vectors)
    tensors = tuple(positions for _, _, positions in vectors)
    return _gathered(base, tensors, axes, 0 if parts.front else axes[0], tuple(of_x for _, of_x, _ in vectors))


def alone_on_axis(x: Tensor, index: Any) -> tuple[int, Tensor] | None:
    """The axis and the line of integers or of Bool, where there is nothing else but ``:`` in front of it.

    >>> alone_on_axis(zeros((2, 3)), (slice(None), tensor([1, 2])))[0]
    1
    """
    axis = 0
    if type(index) is tuple:
        axis = len(index) - 1
        if axis < 0 or any(type(item) is not slice or item != _ALL for item in index[:-1]):
            return None
        index = index[-1]
    if not isinstance(index, Tensor):
        return None
    form, shape = index._form, x._form.shape
    if len(form.shape) != 1 or axis >= len(shape):
        return None
    if form.dtype is Bool:
        return (axis, index) if form.shape[0] == shape[axis] else None
    return (axis, index) if form.dtype in INTEGER else None


def together_named(x: Tensor, index: Any) -> Shape | None:
    """The shape of several tensors of integers, all of one form, which are for the first axes.

    >>> together_named(zeros((2, 3)), (tensor([0, 1, 1]), tensor([1, 2, 0])))
    (3,)
    """
    if type(index) is not tuple or not 1 < len(index) <= len(x._form.shape):
        return None
    first = index[0]
    if type(first) is not Tensor or not first._form.shape or first._form.dtype not in INTEGER:
        return None
    form = first._form
    return form.shape if all(type(item) is Tensor and item._form is form for item in index) else None


def _gathered(x: Tensor, vectors: Sequence[Tensor], axes: tuple[int, ...], place: int, of_x: tuple[int, ...]) -> Tensor:
    """Elements at several positions at once, along these axes of a view; where they stood, or in front, at a place."""
    shape = broadcast_indices([positions.shape for positions in vectors])
    stacked = stack([one if one._form.shape == shape else broadcast_to(one, shape) for one in vectors], -1)
    rank, kept = len(shape), x.rank - len(axes)
    offsets = (*range(place), *range(place + rank, kept + rank))
    options = SliceOptions(offsets, axes, axes, rank, from_end=True)

    def said(error: IndexingError) -> IndexingError:
        position: Any = error.position
        number: int = position[-1]
        positions = vectors[number]
        at = position[rank - positions.rank : rank]  # where it was before it was broadcast
        inside = tuple(0 if extent == 1 else place for place, extent in zip(at, positions.shape, strict=True))
        return renamed(error, of_x[number], x.shape[axes[number]], position=inside)

    gathered: Tensor = in_words_of_the_index(said, gather_at, x, stacked, options)
    return gathered


def taken_apart(x: Tensor, index: Any) -> _Index | list[Any]:
    """The parts of an index; an index without tensors where it turns out to hold integers alone.

    >>> parts = taken_apart(zeros((2, 3)), (slice(None), [1, 2]))
    >>> [(axis, of_x) for axis, of_x, _ in parts.chosen], parts.front
    ([(1, 1)], False)
    """
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


def positions_of(mask: Tensor) -> Tensor:
    """Of the true elements, in row-major order."""
    return nonzero(mask if mask.rank == 1 else as_line(mask))[0]


def as_line(x: Tensor) -> Tensor:
    """All elements in row-major order.

    >>> as_line(tensor([[1, 2], [3, 4]])).to_numpy().tolist()
    [1, 2, 3, 4]
    """
    turned = transpose_view(x)
    return reshape_view(turned if turned.is_compact else copy(turned), (x.size,))


def broadcast_indices(shapes: Sequence[Shape]) -> Shape:
    """The shape in which index tensors of these shapes meet.

    >>> broadcast_indices([(2, 1), (3,)])
    (2, 3)
    """
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
    """Elements at positions along one axis of a view, which is an axis of ``x[index]`` for the errors."""
    taken: Tensor = in_words_of_the_index(lambda error: renamed(error, of_x, x.shape[axis]), take, x, indices, axis)
    return taken


def in_words_of_the_index(
    said: Callable[[IndexingError], IndexingError], call: Callable[..., Any], /, *arguments: Any
) -> Any:
    """Make a call whose refusals of indices are said otherwise, at once and where they come late.

    >>> in_words_of_the_index(lambda error: renamed(error, 1, 2), take, tensor([5, 6]), tensor([2]))
    Traceback (most recent call last):
    tensor_core.errors.IndexingError: indexing: indices[0] is 2, out of range for axis 1 of extent 2; accepted: -2 to 1
    """
    token = None
    if DEFERRED.get():
        token = RETOLD.set(lambda error: said(error) if isinstance(error, IndexingError) else error)
    try:
        return call(*arguments)
    except IndexingError as error:
        raise said(error) from None
    finally:
        if token is not None:
            RETOLD.reset(token)


def from_the_front(indices: Tensor, extent: int, of_x: int, step: int = 1) -> Tensor:
    """Indices counted from the front, times ``step``; checked.

    Where the check comes late, one that is refused becomes :data:`NOWHERE`, which whatever writes there refuses again.

    >>> from_the_front(tensor([0, -1, 2]), 4, 0, 10).to_numpy().tolist()
    [0, 30, 20]
    """
    counted = _take(multiples(extent, step, indices.placement), indices, 0, of_x)
    if not DEFERRED.get():
        return counted
    given = convert(indices, I64)
    return where(logical_and(greater_equal(given, -extent), less(given, extent)), counted, NOWHERE)


def multiples(extent: int, step: int, placement: Any) -> Tensor:
    """So many multiples of a step, of at least 1, from 0 on.

    >>> multiples(3, 5, "cpu").to_numpy().tolist()
    [0, 5, 10]
    """
    step = max(step, 1)
    return arange(0, extent * step, step, placement=placement)


def renamed(
    error: IndexingError, axis: SupportsIndex, extent: int, along: tuple[int, ...] = (), position: Any = None
) -> IndexingError:
    """The error of an index out of range in the words of the index that the user wrote.

    >>> print(renamed(IndexingError("take: ...", position=(2,), value=7), 1, 3))
    indexing: indices[2] is 7, out of range for axis 1 of extent 3; accepted: -3 to 2
    """
    if position is None:
        position = getattr(error, "position", ())
    position = tuple(position[place] for place in along) if along else position
    place = f"indices[{', '.join(map(str, position))}]" if position else "the index"
    low, high = (-extent, extent - 1) if extent else (0, -1)
    value: Any = error.value
    return out_of_range(
        "indexing", place, value, f"axis {axis} of extent {extent}", low, high, axis=axis, position=position
    )
