"""Layouts: shape, strides and offset; where each element lies, without touching one.

Lengths, strides and offsets count elements, never bytes. Strides are signed. One validator, :func:`validate_layout`,
runs in unbounded integers before anything native sees a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd

from tensor_core.errors import (
    ArgumentError,
    IndexingError,
    LayoutError,
    OutOfBoundsLayoutError,
    SizeLimitError,
    shortened,
)
from tensor_core.records import Record
from tensor_core.shapes import (
    LARGEST,
    Shape,
    as_shape,
    canonical_strides,
    compact_strides,
    element_count,
    row_major_strides,
)
from tensor_core.static_types import Final

_EXACT_LIMIT: Final = 4096  # elements up to which overlap is decided by enumeration


class TensorLayout(Record):
    """Shape, strides and offset of a tensor or view.

    Args:
        shape: extents of 0 or more.
        strides: one signed step per axis, in elements; compact (column-major) when left out.
        offset: where the first element lies, in elements.

    Raises:
        ShapeError: a negative extent.
        LayoutError: not one stride per axis.
        SizeLimitError: a stride, the offset or the number of elements does not fit into int64.

    >>> TensorLayout((2, 3), (1, 2))
    TensorLayout(shape=(2, 3), strides=(1, 2), offset=0)
    """

    __slots__ = ("shape", "strides", "offset")

    shape: Shape
    strides: Shape
    offset: int

    def __init__(self, shape: Iterable[int] | int, strides: Iterable[int] | None = None, offset: int = 0) -> None:
        extents = as_shape(shape)
        try:
            steps = compact_strides(extents) if strides is None else tuple(stride.__index__() for stride in strides)
            start = offset.__index__()
        except (AttributeError, TypeError):
            found = f"strides {shortened(strides)} and offset {shortened(offset)}"
            raise LayoutError(f"TensorLayout: {found}; accepted: ints") from None
        if len(steps) != len(extents):
            raise LayoutError(
                f"TensorLayout: shape {extents} has rank {len(extents)} but there are {len(steps)} strides; "
                "give one per axis",
                shape=extents,
                strides=steps,
            )
        if max(map(abs, (*steps, start))) > LARGEST:
            found = f"strides {shortened(steps)} and offset {shortened(start)}"
            raise SizeLimitError(
                f"TensorLayout: {found}; accepted: magnitudes up to 2**63 - 1", strides=steps, offset=start
            )
        self._set(extents, steps, start)

    @classmethod
    def compact(cls, shape: Iterable[int] | int, /) -> TensorLayout:
        """Column-major without gaps.

        >>> TensorLayout.compact((2, 3)).strides
        (1, 2)
        """
        return cls(shape)

    @classmethod
    def row_major(cls, shape: Iterable[int] | int, /) -> TensorLayout:
        """Row-major without gaps.

        >>> TensorLayout.row_major((2, 3)).strides
        (3, 1)
        """
        extents = as_shape(shape)
        return cls(extents, row_major_strides(extents))

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return element_count(self.shape)

    @property
    def is_compact(self) -> bool:
        """Whether the elements lie column-major without gaps; axes of extent 0 or 1 may have any stride."""
        return canonical_strides(self.shape, self.strides) == compact_strides(self.shape)

    @property
    def is_row_major(self) -> bool:
        """Whether the elements lie row-major without gaps."""
        return canonical_strides(self.shape[::-1], self.strides[::-1]) == compact_strides(self.shape[::-1])


def check_layout(operation: str, layout: object, /) -> None:
    """Refuse what is no layout, such as the tensor that has it.

    >>> check_layout("is_injective", TensorLayout((2,)))
    """
    if not isinstance(layout, TensorLayout):
        raise ArgumentError(f"{operation}: found a {type(layout).__name__}; accepted: a TensorLayout, as x.layout is")


def element_offset(layout: TensorLayout, index: Sequence[int], /) -> int:
    """Where the element of an index lies, in elements: offset + Σ index·stride.

    Raises:
        IndexingError: not one index per axis, or out of range (negative indices included).

    >>> element_offset(TensorLayout((2, 3)), (1, 2)), element_offset(TensorLayout.row_major((2, 3)), (1, 2))
    (5, 5)
    """
    check_layout("element_offset", layout)
    try:
        inside = len(index) == layout.rank and all(map(_is_inside, index, layout.shape))
    except TypeError:
        inside = False
    if not inside:
        raise IndexingError(
            f"element_offset: index {shortened(index)} for shape {layout.shape}; accepted: 0 to extent - 1 per axis"
        )
    return layout.offset + sum(position * stride for position, stride in zip(index, layout.strides, strict=True))


def _is_inside(position: int, extent: int) -> bool:
    return 0 <= position < extent


def reachable_range(layout: TensorLayout, /) -> tuple[int, int] | None:
    """Lowest and highest offset of any element, in elements; None when there is none.

    >>> reachable_range(TensorLayout((2, 3), (1, -2), 4)), reachable_range(TensorLayout((0,)))
    ((0, 5), None)
    """
    check_layout("reachable_range", layout)
    if 0 in layout.shape:
        return None
    spans = [(extent - 1) * stride for extent, stride in zip(layout.shape, layout.strides, strict=True)]
    return (
        layout.offset + sum(span for span in spans if span < 0),
        layout.offset + sum(span for span in spans if span > 0),
    )


def validate_layout(layout: TensorLayout, buffer_length: int, itemsize: int = 1, /) -> None:
    """Prove that every element of a layout lies inside an allocation.

    Args:
        layout: what is to be proved.
        buffer_length: length of the allocation in elements.
        itemsize: bytes per element.

    Raises:
        ArgumentError: no layout, or no numbers.
        OutOfBoundsLayoutError: an element lies outside, or the offset of an empty layout does.
        SizeLimitError: a byte count, or a stride or offset in bytes, does not fit into int64. Extents of 0 count as 1
            here, so that no product of the others can wrap.

    >>> validate_layout(TensorLayout((2, 3)), 6, 8)
    """
    check_layout("validate_layout", layout)
    for what, number in (("buffer_length", buffer_length), ("itemsize", itemsize)):
        if not isinstance(number, int):
            raise ArgumentError(f"validate_layout: {what} is {shortened(number)}; accepted: an int")
    count = element_count([extent or 1 for extent in layout.shape])
    numbers = (*layout.shape, *map(abs, layout.strides), abs(layout.offset), buffer_length)
    if count * itemsize > LARGEST or any(number * itemsize > LARGEST for number in numbers):
        raise SizeLimitError(
            f"layout: {layout!r} of {itemsize}-byte elements needs numbers beyond 2**63 - 1; make it smaller",
            layout=layout,
        )
    reach = reachable_range(layout)
    lowest, highest = reach or (layout.offset, layout.offset - 1)
    if lowest < 0 or highest >= buffer_length or (reach is None and layout.offset > buffer_length):
        raise OutOfBoundsLayoutError(
            f"layout: {layout!r} reaches elements {lowest} to {highest} of an allocation of {buffer_length}; "
            "accepted: offsets inside it",
            layout=layout,
            buffer_length=buffer_length,
        )


def is_injective(layout: TensorLayout, /) -> bool:
    """Whether no two indices name one element.

    Exact for nested strides and for up to 4096 elements; beyond, False where neither decides, so that a True is always
    right.

    >>> is_injective(TensorLayout((2, 3), (3, 1))), is_injective(TensorLayout((2,), (0,)))
    (True, False)
    """
    check_layout("is_injective", layout)
    if 0 in layout.shape:
        return True
    axes = sorted(
        (abs(stride), extent) for extent, stride in zip(layout.shape, layout.strides, strict=True) if extent > 1
    )
    if any(stride == 0 for stride, _ in axes):
        return False
    span = 0
    for stride, extent in axes:
        if stride <= span:
            break
        span += stride * (extent - 1)
    else:
        return True
    if layout.size > _EXACT_LIMIT:
        return False
    return len(_offsets(layout)) == layout.size


def layouts_overlap(a: TensorLayout, b: TensorLayout, /) -> bool:
    """Whether two layouts over one allocation share an element.

    Exact for up to 4096 elements each; beyond, True whenever their ranges meet and their strides do not keep them
    apart.

    >>> evens, odds = TensorLayout((4,), (2,), 0), TensorLayout((4,), (2,), 1)
    >>> layouts_overlap(evens, odds), layouts_overlap(evens, evens)
    (False, True)
    """
    check_layout("layouts_overlap", a)
    check_layout("layouts_overlap", b)
    first, second = reachable_range(a), reachable_range(b)
    if first is None or second is None or first[1] < second[0] or second[1] < first[0]:
        return False
    if a.size <= _EXACT_LIMIT and b.size <= _EXACT_LIMIT:
        return not _offsets(a).isdisjoint(_offsets(b))
    lattice = gcd(
        *(
            stride
            for layout in (a, b)
            for extent, stride in zip(layout.shape, layout.strides, strict=True)
            if extent > 1
        )
    )
    return lattice == 0 or (a.offset - b.offset) % lattice == 0


def _offsets(layout: TensorLayout) -> set[int]:
    offsets = {layout.offset}
    for extent, stride in zip(layout.shape, layout.strides, strict=True):
        offsets = {offset + position * stride for offset in offsets for position in range(extent)}
    return offsets
