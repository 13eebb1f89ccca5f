"""Properties of layouts, against NumPy and against enumeration."""

from __future__ import annotations

import struct
from random import Random
from typing import Any, Final

import numpy as np

from properties import Property, draw
from tensor_core import (
    I64,
    HostTensorView,
    OutOfBoundsLayoutError,
    SizeLimitError,
    SliceSpec,
    TensorError,
    TensorLayout,
    ViewRequiresCopyError,
    canonical_strides,
    compose_view,
    element_offset,
    is_injective,
    layouts_overlap,
    reachable_range,
    reverse_view,
    slice_view,
    transpose_view,
    validate_layout,
)
from tensor_core.host.storage import Storage

ITEMSIZE: Final = 8
_STRIDES: Final = (0, 1, -1, 2, -3, 2**31, -(2**31), 2**62, -(2**62), 2**63 - 1, 2**63, -(2**63))
_EXTENTS: Final = (0, 1, 2, 3, 5, 2**31, 2**40, 2**63 - 1)


def _as_numpy(layout: TensorLayout, memory: Any) -> Any:
    """An array over 0, 1, 2, ... with exactly this layout."""
    strides = [stride * ITEMSIZE for stride in layout.strides]
    return np.ndarray(layout.shape, np.int64, memory.data, layout.offset * ITEMSIZE if layout.size else 0, strides)


def _numpy_step(x: Any, step: draw.Step) -> Any:
    name, arguments = step
    match name:  # in indices, an ellipsis keeps NumPy from turning rank 0 into a scalar
        case "transpose_view":
            return x.transpose(*arguments)
        case "slice_view":
            return x[(*(slice(spec.start, spec.end, spec.step) for spec in arguments[0]), ...)]
        case "expand_view":
            return np.expand_dims(x, *arguments)
        case "squeeze_view":
            return np.squeeze(x)
        case "reshape_view":
            return x.reshape(*arguments, order="F", copy=False)
        case "index_view":
            return x[arguments[0] if Ellipsis in arguments[0] else (*arguments[0], ...)]
        case "broadcast_view":
            return np.broadcast_to(x, *arguments)
        case "reverse_view":
            return x[(*(slice(None, None, -1 if axis in arguments[0] else 1) for axis in range(x.ndim)), ...)]
        case "window_view":
            return np.lib.stride_tricks.sliding_window_view(x, *arguments)
        case _:
            return np.diagonal(x, 0, *arguments)


def _assert_same(layout: TensorLayout, x: Any, memory: Any) -> None:
    assert layout.shape == x.shape, (layout, x.shape)
    strides = tuple(stride // ITEMSIZE for stride in x.strides)
    assert canonical_strides(layout.shape, layout.strides) == canonical_strides(x.shape, strides), (layout, strides)
    if layout.size:
        assert layout.offset == (x.__array_interface__["data"][0] - memory.ctypes.data) // ITEMSIZE, layout
        # The memory holds 0, 1, 2, ..., so an element is its own offset.
        assert draw.offsets(layout) == x.ravel(order="F").tolist(), layout


def chains_equal_numpys(rng: Random) -> None:
    """A chain of up to eight views, metadata and elements."""
    layout, length = draw.layout(rng)
    memory = np.arange(max(length, 1), dtype=np.int64)
    x = _as_numpy(layout, memory)
    for _ in range(rng.randint(0, 8)):
        if layout.rank > 6 or layout.size > 300:
            break
        step = draw.step(rng, layout)
        try:
            layout = draw.apply(layout, step)
        except ViewRequiresCopyError:
            continue  # the property of reshaping asks whether that was right
        x = _numpy_step(x, step)
    _assert_same(layout, x, memory)


def reach_equals_enumeration(rng: Random) -> None:
    """The closed form of the reachable range."""
    layout = draw.layout(rng, draw.shape(rng, 5, 5), 40)[0]
    found = draw.offsets(layout)
    assert reachable_range(layout) == ((min(found), max(found)) if found else None), layout


def _assert_validated(shape: list[int], strides: list[int], offset: int, length: int, itemsize: int) -> None:
    """The validator accepts exactly what lies inside an allocation and is countable in int64."""
    count = 1
    for extent in shape:
        count *= max(extent, 0) or 1
    numbers = (*shape, *strides, offset, length, count)
    countable = all(abs(number) * itemsize < 2**63 for number in numbers)
    spans = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
    lowest = offset + sum(span for span in spans if span < 0)
    highest = offset + sum(span for span in spans if span > 0)
    inside = 0 <= offset <= length if 0 in shape else lowest >= 0 and highest < length
    expected = countable and inside and min(shape, default=0) >= 0
    try:
        validate_layout(TensorLayout(shape, strides, offset), length, itemsize)
    except TensorError as error:
        assert not expected, (shape, strides, offset, length, itemsize)
        assert len(str(error)) <= 600
        assert min(shape, default=0) < 0 or isinstance(error, OutOfBoundsLayoutError | SizeLimitError)
    else:
        assert expected, (shape, strides, offset, length, itemsize)


def validation_accepts_the_inside(rng: Random) -> None:
    """Extents and strides around every power of two that native code stumbles over."""
    rank = rng.randint(0, 4)
    shape = rng.choices(_EXTENTS, k=rank)
    strides = [rng.choice(_STRIDES) if rng.random() < 0.5 else rng.randint(-5, 5) for _ in shape]
    offset = rng.choice(_STRIDES) if rng.random() < 0.2 else rng.randint(-3, 100)
    length = rng.choice((2**31, 2**62, 2**63 - 1)) if rng.random() < 0.4 else rng.randint(0, 100)
    _assert_validated(shape, strides, offset, length, rng.choice((1, 4, 8, 16)))


def validation_survives_any_integers(rng: Random) -> None:
    """Raw 8-byte integers, some of them shortened so that accepted layouts occur."""
    rank = rng.randrange(5)
    numbers = list(struct.unpack(f"<{2 * rank + 2}q", rng.randbytes(16 * rank + 16)))
    coarse = rng.getrandbits(len(numbers) + 1)
    for k in range(len(numbers)):
        if coarse >> k & 1:
            numbers[k] >>= 56 + rng.randrange(7)
    length = abs(numbers[-1])
    _assert_validated(numbers[:rank], numbers[rank : 2 * rank], numbers[-2], length, 1 << (coarse & 3))


def reshaping_refuses_what_numpy_copies(rng: Random) -> None:
    """The same verdict, and on success the same strides and elements."""
    layout, length = draw.layout(rng, draw.shape(rng, 5, 4), 12)
    memory = np.arange(max(length, 1), dtype=np.int64)
    step = draw.step(rng, layout, ("reshape_view",))
    try:
        expected = _numpy_step(_as_numpy(layout, memory), step)
    except ValueError:
        expected = None
    try:
        view = draw.apply(layout, step)
    except ViewRequiresCopyError as error:
        assert expected is None, (layout, step)
        assert repr(layout) in str(error)
        assert str(step[1][0]) in str(error)
    else:
        assert expected is not None, (layout, step)
        _assert_same(view, expected, memory)


def views_obey_their_algebra(rng: Random) -> None:
    """Inverses, two slices in one, a view of a view as one layout over the same memory."""
    layout, length = draw.layout(rng)
    order = rng.sample(range(layout.rank), layout.rank)
    back = sorted(range(layout.rank), key=order.__getitem__)
    assert transpose_view(transpose_view(layout, order), back) == layout
    axes = rng.sample(range(layout.rank), rng.randint(0, layout.rank))
    assert reverse_view(reverse_view(layout, axes), axes) == layout
    outer = [_forward_slice(rng, extent) for extent in layout.shape]
    once = slice_view(layout, outer)
    inner = [_forward_slice(rng, extent) for extent in once.shape]
    if all((b.end or 0) > b.start for b in inner):
        both = [
            SliceSpec(a.start + b.start * a.step, a.start + ((b.end or 0) - 1) * a.step + 1, a.step * b.step)
            for a, b in zip(outer, inner, strict=True)
        ]
        assert draw.offsets(slice_view(once, inner)) == draw.offsets(slice_view(layout, both)), (layout, outer, inner)
    chain, whole = layout, TensorLayout(layout.shape)
    names = ("transpose_view", "slice_view", "reverse_view", "broadcast_view", "expand_view", "squeeze_view")
    for _ in range(rng.randint(0, 3)):
        step = draw.step(rng, whole, names)
        chain, whole = draw.apply(chain, step), draw.apply(whole, step)
    assert draw.offsets(compose_view(layout, whole)) == draw.offsets(chain), (layout, whole)
    storage = Storage.of(I64, range(length))
    view: HostTensorView[I64] = HostTensorView(storage, layout)
    again = view.transpose_view(order).reverse_view(axes)
    assert again._storage is storage
    assert again.to_flat() == draw.offsets(again.layout)


def _forward_slice(rng: Random, extent: int) -> SliceSpec:
    start = rng.randint(0, extent)
    return SliceSpec(start, rng.randint(start, extent), rng.randint(1, 3))


def memory_is_lent_when_contiguous(rng: Random) -> None:
    """``as_slice`` succeeds exactly when the offsets in column-major order are consecutive."""
    layout, length = draw.layout(rng)
    found = draw.offsets(layout)
    view: HostTensorView[I64] = HostTensorView(Storage.of(I64, range(length)), layout)
    try:
        lent = view.as_slice().tolist()
    except ViewRequiresCopyError:
        assert found != list(range(layout.offset, layout.offset + len(found))), layout
    else:
        assert lent == found == list(range(layout.offset, layout.offset + len(found))), layout


def overlap_equals_enumeration(rng: Random) -> None:
    """Injectivity and overlap, exact when small, never wrong in the dangerous direction when large."""
    a, b = (draw.layout(rng, max_stride=9)[0] for _ in range(2))
    b = TensorLayout(b.shape, b.strides, b.offset + rng.randint(-20, 20))
    ours, theirs = draw.offsets(a), draw.offsets(b)
    assert is_injective(a) == (len(set(ours)) == len(ours)), a
    assert layouts_overlap(a, b) == layouts_overlap(b, a) == (not set(ours).isdisjoint(theirs)), (a, b)
    if rng.random() < 0.1:
        _assert_conservative(rng)


def _assert_conservative(rng: Random) -> None:
    extents = [rng.choice((2, 3, 100, 5000)) for _ in range(3)] + [5000]
    large = TensorLayout(extents, [rng.choice((1, 2, 3, 64, 100, 10**4, -1, -7)) for _ in extents])
    first = [rng.randrange(extent) for extent in extents]
    index = [rng.randrange(extent) for extent in extents]
    met = TensorLayout(extents, rng.sample(large.strides, len(extents)))
    shift = element_offset(large, first) - element_offset(met, index)
    assert layouts_overlap(large, TensorLayout(met.shape, met.strides, shift)), (large, met, shift)
    if is_injective(large):
        assert first == index or element_offset(large, first) != element_offset(large, index), large


PROPERTIES: Final = (
    Property("view-chains", "a chain of views equals NumPy's", chains_equal_numpys, 5_000, 1_000_000),
    Property("reach", "the reachable range equals enumeration", reach_equals_enumeration, 5_000, 200_000),
    Property(
        "validation", "validation accepts what lies inside", validation_accepts_the_inside, 20_000, 1_000_000, 1_000
    ),
    Property("reshape", "reshaping refuses what NumPy would copy", reshaping_refuses_what_numpy_copies, 5_000, 200_000),
    Property("view-algebra", "views obey their algebra", views_obey_their_algebra, 2_000, 50_000),
    Property("contiguity", "memory is lent exactly when contiguous", memory_is_lent_when_contiguous, 2_000, 50_000),
    Property("overlap", "injectivity and overlap equal enumeration", overlap_equals_enumeration, 5_000, 200_000),
    Property(
        "huge-integers",
        "validation survives any integers",
        validation_survives_any_integers,
        100_000,
        10_000_000,
        10_000,
    ),
)
