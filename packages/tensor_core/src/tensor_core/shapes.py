"""Shapes and axes: the arithmetic that layouts, views and operations share.

Everything is computed in Python's unbounded integers. Strides count elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from tensor_core.errors import ArgumentError, AxisError, IndexingError, ShapeError, SizeLimitError, shortened
from tensor_core.static_types import Any, Final, Literal, SupportsIndex

Shape = tuple[int, ...]
Order = Literal["F", "C"]  # "F": the first index runs fastest; "C": the last
ShapeVec = tuple[int, ...]  # extents, 0 or more
StrideVec = tuple[int, ...]  # signed steps, in elements
LARGEST: Final = 2**63 - 1  # native code counts elements, bytes and strides in int64
MOST_AXES: Final = 2**16  # that a shape or a permutation may name


def as_shape(shape: Iterable[SupportsIndex] | SupportsIndex, /) -> Shape:
    """A tuple of extents of what a user wrote: an int, or a sequence of ints of 0 or more.

    Raises:
        ShapeError: an extent is negative or no int.
        SizeLimitError: more elements than int64 counts; an extent of 0 counts as 1 here, so that no product of the
            others wraps.

    >>> as_shape(3), as_shape([2, 0])
    ((3,), (2, 0))
    """
    # Most are plain and small, and need no more than this.
    if isinstance(shape, tuple) and type(shape) is tuple and 0 < len(shape) < 64 and {*map(type, shape)} == {int}:
        plain: Shape = shape
        if min(plain) > 0 and prod(plain) <= LARGEST:
            return plain
    elif type(shape) is int and 0 < shape <= LARGEST:
        return (shape,)
    try:
        extents = _listed(shape)
        wanted = tuple(extent.__index__() for extent in extents)
    except (TypeError, AttributeError):
        raise ShapeError(f"shape: found {shortened(shape)}; accepted: an int or a sequence of ints") from None
    if any(isinstance(extent, bool) for extent in extents) or any(extent < 0 for extent in wanted):
        raise ShapeError(f"shape: found {shortened(shape)}; accepted: extents of 0 or more", shape=wanted)
    if element_count([extent or 1 for extent in wanted]) > LARGEST:
        raise SizeLimitError(
            f"shape: {shortened(wanted)} has more than 2**63 - 1 elements; make it smaller", shape=wanted
        )
    return wanted


def element_count(shape: Sequence[int], /) -> int:
    """Number of elements: the product of the extents; 1 at rank 0.

    >>> element_count((2, 3)), element_count(())
    (6, 1)
    """
    try:
        return prod(shape)
    except TypeError:
        return prod(as_shape(shape))  # which says what is wrong


def normalize_axis(axis: SupportsIndex, rank: int, operation: str, /) -> int:
    """An axis counted from the front; negative ones count from the end.

    Raises:
        AxisError: out of range.

    >>> normalize_axis(-1, 3, "sum")
    2
    """
    try:
        position = axis.__index__()
    except (TypeError, AttributeError):
        raise AxisError(f"{operation}: axis is {shortened(axis)}; accepted: an int", operation=operation) from None
    if not -rank <= position < rank:
        accepted = f"accepted: {-rank} to {rank - 1}" if rank else "rank 0 has no axes"
        raise AxisError(
            f"{operation}: axis {shortened(position)} is out of range for rank {rank}; {accepted}",
            operation=operation,
            axis=axis,
        )
    return position + rank if position < 0 else position


def normalize_axes(axes: Sequence[SupportsIndex] | SupportsIndex, rank: int, operation: str, /) -> tuple[int, ...]:
    """Distinct axes counted from the front, in the order given.

    Raises:
        AxisError: out of range, or one axis twice.

    >>> normalize_axes((-1, 0), 3, "sum")
    (2, 0)
    """
    try:
        named = _listed(axes)
    except TypeError:
        raise AxisError(f"{operation}: axes are {shortened(axes)}; accepted: an int or a sequence of ints") from None
    positions = tuple(normalize_axis(axis, rank, operation) for axis in named)
    if len(set(positions)) != len(positions):
        raise AxisError(
            f"{operation}: axes {named} name one axis twice; name each once", operation=operation, axes=named
        )
    return positions


def as_permutation(axes: Sequence[SupportsIndex], rank: int, /) -> tuple[int, ...]:
    """A permutation of all axes, counted from the front.

    Raises:
        AxisError: not every axis exactly once.

    >>> as_permutation((-1, 0, 1), 3)
    (2, 0, 1)
    """
    order = normalize_axes(axes, rank, "transpose")
    if len(order) != rank:
        raise AxisError(f"transpose: {len(order)} axes for rank {rank}; name every axis once", axes=order, rank=rank)
    return order


def broadcast_shapes(*shapes: Iterable[int] | int) -> Shape:
    """The shape to which all shapes broadcast, aligned at the last axis; 1 against 0 gives 0.

    Raises:
        ShapeError: aligned extents differ and none of them is 1.

    >>> broadcast_shapes((2, 1), (3,)), broadcast_shapes((1,), (0,))
    ((2, 3), (0,))
    """
    extents = [as_shape(shape) for shape in shapes]
    rank = max(map(len, extents), default=0)
    result = [1] * rank
    for shape in extents:
        for axis, extent in enumerate(shape, rank - len(shape)):
            if extent != 1:
                if result[axis] not in (1, extent):
                    listed = " and ".join(map(str, extents))
                    raise ShapeError(
                        f"broadcast: shapes {listed} do not fit; accepted: extents equal or 1, aligned at the last "
                        "axis",
                        shapes=tuple(extents),
                    )
                result[axis] = extent
    return tuple(result)


def compact_strides(shape: Sequence[int], /) -> tuple[int, ...]:
    """Column-major strides without gaps: the first axis has stride 1.

    An extent of 0 counts as 1, so that the strides of an empty tensor are defined.

    >>> compact_strides((2, 3, 4))
    (1, 2, 6)
    """
    strides = []
    step = 1
    try:
        for extent in shape:
            strides.append(step)
            step *= extent or 1
    except (TypeError, ValueError):
        return compact_strides(as_shape(shape))  # which says what is wrong
    return tuple(strides)


def row_major_strides(shape: Sequence[int], /) -> tuple[int, ...]:
    """Row-major strides without gaps: the last axis has stride 1.

    >>> row_major_strides((2, 3, 4))
    (12, 4, 1)
    """
    return compact_strides(as_shape(shape)[::-1])[::-1]


def canonical_strides(shape: Sequence[int], strides: Sequence[int], /) -> tuple[int, ...]:
    """The strides that stand for all strides of equal meaning.

    An axis of extent 0 or 1 gets its compact stride, and an empty tensor gets compact strides throughout.

    >>> canonical_strides((1, 3), (99, 1)), canonical_strides((0, 3), (7, 7))
    ((1, 1), (1, 1))
    """
    compact = compact_strides(shape)
    try:
        if 0 in shape:
            return compact
        return tuple(
            natural if extent == 1 else stride for extent, stride, natural in zip(shape, strides, compact, strict=True)
        )
    except (TypeError, ValueError):
        raise ShapeError(
            f"canonical_strides: shape {shortened(shape)} and strides {shortened(strides)}; accepted: one int per axis"
        ) from None


def ordered_strides(shape: Sequence[int], order: object, /) -> tuple[int, ...]:
    """Strides without gaps: column-major for "F", row-major for "C".

    Raises:
        ArgumentError: another order.

    >>> ordered_strides((2, 3), "F"), ordered_strides((2, 3), "C")
    ((1, 2), (3, 1))
    """
    named = order if isinstance(order, str) else None
    if named == "F":
        return compact_strides(shape)
    if named == "C":
        return row_major_strides(shape)
    raise ArgumentError(f"order: found {shortened(order)}; accepted: 'F' (column-major), 'C' (row-major)")


def ravel_index(index: Sequence[int], shape: Iterable[int] | int, /, *, order: str) -> int:
    """Position of an index among all elements in a row.

    Args:
        index: 0 to extent - 1 per axis.
        shape: the extents n.
        order: "F", the first index runs fastest: i0 + n0·(i1 + n1·(i2 + ...)); "C", the last does:
            ((i0·n1 + i1)·n2 + i2)...

    Raises:
        IndexingError: not one index per axis, or out of range.

    >>> ravel_index((1, 2), (2, 3), order="F"), ravel_index((1, 0), (2, 3), order="C")
    (5, 3)
    """
    extents = as_shape(shape)
    strides = ordered_strides(extents, order)
    try:
        inside = len(index) == len(extents) and all(0 <= k < n for k, n in zip(index, extents, strict=True))
        position = sum(k.__index__() * stride for k, stride in zip(index, strides, strict=False))
    except (AttributeError, TypeError):
        inside, position = False, 0
    if not inside:
        raise IndexingError(
            f"ravel_index: index {shortened(index)} for shape {extents}; accepted: 0 to extent - 1 per axis"
        )
    return position


def unravel_index(position: int, shape: Iterable[int] | int, /, *, order: str) -> tuple[int, ...]:
    """Index of the element at a position in a row; undoes :func:`ravel_index`.

    Raises:
        IndexingError: the position is negative, or not less than the number of elements.

    >>> unravel_index(4, (2, 3), order="F"), unravel_index(4, (2, 3), order="C")
    ((0, 2), (1, 1))
    """
    extents = as_shape(shape)
    strides, count = ordered_strides(extents, order), element_count(extents)
    try:
        place = position.__index__()
    except (AttributeError, TypeError):
        place = -1
    if not 0 <= place < count:
        raise IndexingError(
            f"unravel_index: position {shortened(position)} for shape {extents}; accepted: 0 to {count - 1}"
            if count
            else f"unravel_index: position {shortened(position)} for shape {extents}, which has no elements"
        )
    return tuple(place // stride % extent for stride, extent in zip(strides, extents, strict=True))


def _listed(numbers: Any) -> tuple[int, ...]:
    """One int, NumPy's or of rank 0, or several; more of them than anybody means are a mistake."""
    is_one = not hasattr(numbers, "__len__") or getattr(numbers, "shape", None) == ()
    if isinstance(numbers, int) or (hasattr(numbers, "__index__") and is_one):
        return (numbers,)
    if hasattr(numbers, "__len__") and len(numbers) > MOST_AXES:
        raise TypeError
    return tuple(numbers)
