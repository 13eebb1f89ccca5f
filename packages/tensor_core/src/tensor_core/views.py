"""Views: new layouts over the same elements.

Every function takes a layout and returns a layout. Nothing here reads or copies an element, so every function costs
O(rank), whatever the size. Lengths and strides count elements, never bytes. Strides may be negative.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tensor_core.errors import (
    AxisError,
    IndexingError,
    OutOfBoundsLayoutError,
    ShapeError,
    SliceError,
    ViewRequiresCopyError,
    shortened,
)
from tensor_core.layout import TensorLayout, check_layout, reachable_range
from tensor_core.shapes import as_permutation, as_shape, element_count, normalize_axes, normalize_axis
from tensor_core.slices import SliceSpec, from_python, resolve


def transpose_view(layout: TensorLayout, axes: Sequence[int] | None = None, /) -> TensorLayout:
    """Axes in another order: axis k of the result is axis ``axes[k]`` of the operand; None reverses them all.

    Raises:
        AxisError: not a permutation of the axes.

    >>> transpose_view(TensorLayout((2, 3)))
    TensorLayout(shape=(3, 2), strides=(2, 1), offset=0)
    """
    check_layout("transpose_view", layout)
    order = tuple(reversed(range(layout.rank))) if axes is None else as_permutation(axes, layout.rank)
    return TensorLayout([layout.shape[axis] for axis in order], [layout.strides[axis] for axis in order], layout.offset)


def slice_view(layout: TensorLayout, specs: Sequence[SliceSpec], /) -> TensorLayout:
    """One slice per axis.

    Raises:
        ShapeError: not one slice per axis.
        SliceError: a slice reaches outside its axis; nothing is clipped.

    >>> slice_view(TensorLayout((4, 3)), [SliceSpec(3, None, -2), SliceSpec(1, 2)])
    TensorLayout(shape=(2, 1), strides=(-2, 4), offset=7)
    """
    check_layout("slice_view", layout)
    if not isinstance(specs, (tuple, list)) or len(specs) != layout.rank:
        found = f"{len(specs)} slices" if isinstance(specs, (tuple, list)) else shortened(specs)
        raise ShapeError(f"slice_view: {found} for shape {layout.shape}; give one per axis")
    shape, strides, offset = [], [], layout.offset
    for axis, spec in enumerate(specs):
        try:
            first, extent, step = resolve(spec, layout.shape[axis])
        except SliceError as error:
            raise SliceError(f"slice_view: axis {axis}: {error}", axis=axis) from None
        shape.append(extent)
        # With one element or none the step means nothing, and the product might leave int64.
        strides.append(layout.strides[axis] * (step if extent > 1 else 1))
        offset += first * layout.strides[axis]
    return _strided(layout, shape, strides, offset)


def index_view(layout: TensorLayout, index: object, /) -> TensorLayout:
    """What ``x[index]`` names.

    An int drops its axis, a slice wraps and clips as Python's do, None adds an axis, ``...`` stands for the rest.

    Raises:
        IndexingError: out of range, too many indices, or an index of another kind.

    >>> index_view(TensorLayout((4, 3)), (-1, slice(None, None, -1)))
    TensorLayout(shape=(3,), strides=(-4,), offset=11)
    """
    check_layout("index_view", layout)
    items = index if isinstance(index, tuple) else (index,)
    named = sum(item is not None and item is not Ellipsis for item in items)
    if sum(item is Ellipsis for item in items) > 1 or named > layout.rank:
        raise IndexingError(
            f"indexing: {shortened(items)} for shape {layout.shape}; accepted: one index per axis and one '...'"
        )
    rest = (slice(None),) * (layout.rank - named)
    cut = next((position for position, item in enumerate(items) if item is Ellipsis), None)
    items = (*items, *rest) if cut is None else (*items[:cut], *rest, *items[cut + 1 :])
    shape, strides, offset, axis = [], [], layout.offset, 0
    for item in items:
        if item is None:
            shape.append(1)
            strides.append(0)
            continue
        extent, stride = layout.shape[axis], layout.strides[axis]
        if isinstance(item, slice):
            first, count, step = resolve(from_python(item, extent), extent)
            shape.append(count)
            strides.append(stride * (step if count > 1 else 1))
            offset += first * stride
        else:
            offset += _position(item, axis, extent) * stride
        axis += 1
    return _strided(layout, shape, strides, offset)


def _strided(layout: TensorLayout, shape: list[int], strides: list[int], offset: int) -> TensorLayout:
    """A part of a layout; one without elements stays where the whole is, so that it cannot leave the allocation."""
    return TensorLayout(shape, strides, layout.offset if 0 in shape else offset)


def _position(item: object, axis: int, extent: int) -> int:
    try:
        position: int | None = None if isinstance(item, bool) else item.__index__()  # type: ignore[attr-defined]
    except (AttributeError, TypeError):
        position = None
    if position is None:
        raise IndexingError(
            f"indexing: axis {axis} has the index {shortened(item)}; accepted: an int, a slice, None and '...'",
            axis=axis,
        )
    if not -extent <= position < extent:
        raise IndexingError(
            f"indexing: index {shortened(position)} is out of range for axis {axis} of extent {extent}",
            axis=axis,
            index=position,
        )
    return position % extent


def reshape_view(layout: TensorLayout, shape: Iterable[int] | int, /) -> TensorLayout:
    """Another shape with the elements in the same column-major order.

    Axes are merged and split wherever their strides allow it; what would need a copy is refused.

    Raises:
        ShapeError: another number of elements.
        ViewRequiresCopyError: no strides describe the result.

    Source: axes of extent > 1 are grouped with those of the target into runs of equal product; a run can be
    reshaped when each of its axes continues the one before, stride[k + 1] = extent[k] · stride[k].

    >>> reshape_view(TensorLayout((2, 3, 4)), (6, 4))
    TensorLayout(shape=(6, 4), strides=(1, 6), offset=0)
    """
    check_layout("reshape_view", layout)
    target = as_shape(shape)
    if element_count(target) != layout.size:
        raise ShapeError(
            f"reshape_view: shape {layout.shape} has {layout.size} elements and {target} has {element_count(target)}; "
            "accepted: equal numbers",
            shapes=(layout.shape, target),
        )
    if layout.size == 0:
        return TensorLayout(target, None, layout.offset)
    old = [(n, step) for n, step in zip(layout.shape, layout.strides, strict=True) if n != 1]
    strides: list[int] = []
    taken = 0  # axes of ``old`` that earlier runs used up
    while taken < len(old):
        first = len(strides)
        (extent, stride), end = old[taken], taken + 1
        product, stop = target[first], first + 1
        while product != extent:
            if product < extent:
                product *= target[stop]
                stop += 1
            else:
                extent *= old[end][0]
                end += 1
        if any(old[k + 1][1] != old[k][0] * old[k][1] for k in range(taken, end - 1)):
            raise ViewRequiresCopyError(
                f"reshape_view: {layout!r} cannot become shape {target} without a copy; to_contiguous() first",
                layout=layout,
                shape=target,
            )
        strides.extend(stride * element_count(target[first:k]) for k in range(first, stop))
        taken = end
    # What is left of the target are axes of extent 1, whose strides mean nothing.
    strides.extend([strides[-1] * target[len(strides) - 1] if strides else 1] * (len(target) - len(strides)))
    return TensorLayout(target, strides, layout.offset)


def broadcast_view(layout: TensorLayout, shape: Iterable[int] | int, /) -> TensorLayout:
    """A larger shape, aligned at the last axis; repeated elements have stride 0.

    Raises:
        ShapeError: an extent is neither equal nor 1, or the rank is smaller.

    >>> broadcast_view(TensorLayout((3, 1)), (2, 3, 4))
    TensorLayout(shape=(2, 3, 4), strides=(0, 1, 0), offset=0)
    """
    check_layout("broadcast_view", layout)
    target = as_shape(shape)
    extra = len(target) - layout.rank
    strides = [0] * len(target)
    fits = extra >= 0
    for axis, (extent, stride) in enumerate(zip(layout.shape, layout.strides, strict=True), extra):
        if fits and target[axis] == extent:
            strides[axis] = stride
        elif extent != 1:
            fits = False
    if not fits:
        raise ShapeError(
            f"broadcast_view: shape {layout.shape} does not broadcast to {target}; accepted: extents equal or 1, "
            "aligned at the last axis",
            shapes=(layout.shape, target),
        )
    return TensorLayout(target, strides, layout.offset)


def reverse_view(layout: TensorLayout, axes: Sequence[int] | int, /) -> TensorLayout:
    """The same elements, running backwards along the axes named.

    Raises:
        AxisError: out of range, or one axis twice.

    >>> reverse_view(TensorLayout((2, 3)), 1)
    TensorLayout(shape=(2, 3), strides=(1, -2), offset=4)
    """
    check_layout("reverse_view", layout)
    strides, offset = list(layout.strides), layout.offset
    for axis in normalize_axes(axes, layout.rank, "reverse_view"):
        if layout.size:
            offset += (layout.shape[axis] - 1) * strides[axis]
        strides[axis] = -strides[axis]
    return TensorLayout(layout.shape, strides, offset)


def diagonal_view(layout: TensorLayout, first: int = 0, second: int = 1, /) -> TensorLayout:
    """The elements whose indices on two axes are equal; the diagonal comes last.

    With strides s and t on the two axes, one step along the diagonal moves s + t elements.

    Raises:
        AxisError: the axes coincide or are out of range.
        ShapeError: they differ in extent.

    Source: NumPy's stride model, where index (i, i) lies at i·s + i·t.

    >>> diagonal_view(TensorLayout((3, 3), (1, 3)), 0, 1)
    TensorLayout(shape=(3,), strides=(4,), offset=0)
    """
    check_layout("diagonal_view", layout)
    one, two = (normalize_axis(axis, layout.rank, "diagonal_view") for axis in (first, second))
    if one == two:
        raise AxisError(f"diagonal_view: both axes are axis {one}; name two", axis=one)
    if layout.shape[one] != layout.shape[two]:
        small, large = sorted((one, two), key=lambda axis: layout.shape[axis])
        raise ShapeError(
            f"diagonal_view: axis {small} has extent {layout.shape[small]} but axis {large} has {layout.shape[large]}; "
            "slice the longer one first",
            shape=layout.shape,
        )
    rest = [axis for axis in range(layout.rank) if axis not in (one, two)]
    return TensorLayout(
        [*(layout.shape[axis] for axis in rest), layout.shape[one]],
        [*(layout.strides[axis] for axis in rest), layout.strides[one] + layout.strides[two]],
        layout.offset,
    )


def window_view(layout: TensorLayout, window: Sequence[int] | int, axes: Sequence[int] | int, /) -> TensorLayout:
    """Sliding windows: each axis named shrinks to its number of positions, and the windows' own axes come last.

    Raises:
        ShapeError: a window of extent 0 or longer than its axis, or not one per axis.
        AxisError: out of range, or one axis twice.

    >>> window_view(TensorLayout((5,)), 3, 0)
    TensorLayout(shape=(3, 3), strides=(1, 1), offset=0)
    """
    check_layout("window_view", layout)
    lengths = as_shape(window)
    along = normalize_axes(axes, layout.rank, "window_view")
    if len(lengths) != len(along) or any(
        not 1 <= n <= layout.shape[axis] for n, axis in zip(lengths, along, strict=False)
    ):
        raise ShapeError(
            f"window_view: windows {lengths} along axes {along} of shape {layout.shape}; accepted: 1 to the extent"
        )
    shape = list(layout.shape)
    for length, axis in zip(lengths, along, strict=True):
        shape[axis] -= length - 1
    return TensorLayout((*shape, *lengths), (*layout.strides, *(layout.strides[axis] for axis in along)), layout.offset)


def squeeze_view(layout: TensorLayout, axes: Sequence[int] | int | None = None, /) -> TensorLayout:
    """Without the axes named, which have extent 1; None removes every such axis.

    Raises:
        ShapeError: an axis named has another extent.

    >>> squeeze_view(TensorLayout((1, 3, 1)), -1).shape
    (1, 3)
    """
    check_layout("squeeze_view", layout)
    if axes is None:
        gone: tuple[int, ...] = tuple(axis for axis, extent in enumerate(layout.shape) if extent == 1)
    else:
        gone = normalize_axes(axes, layout.rank, "squeeze_view")
    for axis in gone:
        if layout.shape[axis] != 1:
            raise ShapeError(
                f"squeeze_view: axis {axis} has extent {layout.shape[axis]}; accepted: axes of extent 1", axis=axis
            )
    kept = [axis for axis in range(layout.rank) if axis not in gone]
    return TensorLayout([layout.shape[axis] for axis in kept], [layout.strides[axis] for axis in kept], layout.offset)


def expand_view(layout: TensorLayout, axis: int, /) -> TensorLayout:
    """With a new axis of extent 1 at ``axis``.

    >>> expand_view(TensorLayout((2, 3)), -1).shape
    (2, 3, 1)
    """
    check_layout("expand_view", layout)
    position = normalize_axis(axis, layout.rank + 1, "expand_view")
    step = layout.strides[position - 1] * layout.shape[position - 1] if position else 1
    return TensorLayout(
        (*layout.shape[:position], 1, *layout.shape[position:]),
        (*layout.strides[:position], step, *layout.strides[position:]),
        layout.offset,
    )


def compose_view(layout: TensorLayout, inner: TensorLayout, /) -> TensorLayout:
    """A view of a view as one layout: ``inner`` counts the elements of ``layout`` in column-major order.

    With an owned tensor's layout this is ``inner`` itself. Otherwise a step of ``inner`` may lead from one column of
    ``layout`` into the next, where no single stride describes it; such a composition is refused.

    Args:
        layout: any view of an allocation.
        inner: a layout whose allocation is the elements of ``layout``.

    Raises:
        OutOfBoundsLayoutError: ``inner`` reaches outside the elements of ``layout``.
        ViewRequiresCopyError: no strides describe the result.

    Source: a position has mixed-radix digits, one per axis of ``layout``. They are affine in the indices of ``inner``
    exactly when the digits of its first neighbours, continued to every corner, stay digits.

    >>> rows = slice_view(TensorLayout((4, 3)), [SliceSpec(0, 4, 2), SliceSpec(0, 3)])
    >>> compose_view(rows, TensorLayout((3,), (-2,), 5))
    TensorLayout(shape=(3,), strides=(-4,), offset=10)
    """
    check_layout("compose_view", inner)
    check_layout("compose_view", layout)
    reach = reachable_range(inner)
    if reach is None:
        return TensorLayout(inner.shape, None, layout.offset)
    if reach[0] < 0 or reach[1] >= layout.size:
        raise OutOfBoundsLayoutError(
            f"compose_view: {inner!r} reaches elements {reach[0]} to {reach[1]} of {layout.size}; "
            "accepted: offsets inside them",
            layout=inner,
        )
    merged = _merged_axes(layout)
    first = _digits(inner.offset, merged)
    # An axis of extent 1 takes no step.
    steps = [
        [digit - start for digit, start in zip(_digits(inner.offset + stride, merged), first, strict=True)]
        if extent > 1
        else [0] * len(merged)
        for extent, stride in zip(inner.shape, inner.strides, strict=True)
    ]
    for k, (radix, _) in enumerate(merged):
        spans = [(extent - 1) * step[k] for extent, step in zip(inner.shape, steps, strict=True)]
        if (
            first[k] + sum(span for span in spans if span < 0) < 0
            or first[k] + sum(span for span in spans if span > 0) >= radix
        ):
            raise ViewRequiresCopyError(
                f"compose_view: no strides describe {inner!r} within {layout!r}; to_contiguous() first",
                layout=layout,
                inner=inner,
            )
    strides = [stride for _, stride in merged]
    return TensorLayout(inner.shape, [_dot(step, strides) for step in steps], layout.offset + _dot(first, strides))


def _merged_axes(layout: TensorLayout) -> list[tuple[int, int]]:
    """Extent and stride of each run of axes that continue one another; no axes of extent 1."""
    merged: list[tuple[int, int]] = []
    for extent, stride in zip(layout.shape, layout.strides, strict=True):
        if merged and stride == merged[-1][0] * merged[-1][1]:
            merged[-1] = merged[-1][0] * extent, merged[-1][1]
        elif extent != 1:
            merged.append((extent, stride))
    return merged


def _digits(position: int, axes: list[tuple[int, int]]) -> list[int]:
    digits = []
    for extent, _ in axes:
        position, digit = divmod(position, extent)
        digits.append(digit)
    return digits


def _dot(digits: list[int], strides: list[int]) -> int:
    return sum(digit * stride for digit, stride in zip(digits, strides, strict=True))
