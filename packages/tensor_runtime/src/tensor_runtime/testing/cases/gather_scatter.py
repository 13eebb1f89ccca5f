"""Cases of ``take``, ``take_along_axis``, ``put_along_axis``, ``gather``, ``scatter`` and ``nonzero``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tensor_core.dtypes import DTYPES, F64, I32, I64, Bool, DType
from tensor_core.errors import ArgumentError, AxisError, DTypeError, IndexingError, ReadOnlyError, ShapeError
from tensor_core.host.tensor import HostTensor
from tensor_core.shapes import broadcast_shapes, element_count, unravel_index
from tensor_runtime.ops.gather_scatter import gather, nonzero, put_along_axis, scatter, take, take_along_axis
from tensor_runtime.ops.views import copy
from tensor_runtime.tensors.tensor import Tensor
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, Index, broadcast_index, indices, stored, tabulated, whole_numbers

Place = Callable[[Index], Index]


def cases() -> Iterator[Case]:
    """Every dtype, index dtype and kind of geometry, and what is refused."""
    for dtype in DTYPES:
        yield from _takes(dtype)
        yield from _lines(dtype)
        yield from _gathers(dtype)
        yield from _nonzeros(dtype)
    yield from _refusals()


def row_major(position: int, shape: Index, /) -> Index:
    """Index of an element that row-major order counts; a negative position counts from the end.

    >>> row_major(4, (2, 3)), row_major(-1, (2, 3))
    ((1, 1), (1, 2))
    """
    return unravel_index(position % element_count(shape), shape, order="C")


def _ints(nested: Any, shape: Index | None = None, dtype: DType = I64) -> Host:
    return HostTensor.from_nested(nested, dtype) if shape is None else HostTensor.zeros(shape, dtype)


def _takes(dtype: DType) -> Iterator[Case]:
    x = whole_numbers((3, 4), dtype)
    some = [_ints([[0, -1], [2, 2]]), _ints(1, dtype=I32), _ints(None, (0, 2)), _ints([-3], dtype=I32)]
    for where in some:
        for axis in (None, 0, 1, -2):
            yield _take(x, where, axis)
    yield _take(whole_numbers((), dtype), _ints([0, -1, 0]), None)
    yield _take(whole_numbers((0, 3), dtype), _ints([2, 0]), 1)
    yield _take(whole_numbers((2, 3, 2), dtype), _ints([1, 1]), 1)


def _take(x: Host, where: Host, axis: int | None) -> Case:
    def expected() -> Host:
        if axis is None:
            return tabulated(where.shape, x.dtype, lambda at: x[row_major(where[at], x.shape)])
        k, inner = axis % x.rank, where.rank

        def rule(at: Index) -> Any:
            return x[(*at[:k], where[at[k : k + inner]] % x.shape[k], *at[k + inner :])]

        return tabulated((*x.shape[:k], *where.shape, *x.shape[k + 1 :]), x.dtype, rule)

    label = f"{x.dtype}-{x.shape}-{where.dtype}-{where.shape}-axis-{axis}"
    return Case("take", label, (x, where), lambda x, where: take(x, where, axis), expected)


def _lines(dtype: DType) -> Iterator[Case]:
    x = whole_numbers((3, 4), dtype)
    for where, axis in (
        (_ints([[0, -1, 2, 1], [1, 1, 0, -3]]), 0),
        (_ints([[3, -4], [0, 0], [1, -1]], dtype=I32), -1),
        (_ints([[2, 1, 2]]), 1),
        (_ints(None, (3, 0)), 1),
        (_ints([11, -12, 5, 5]), None),
    ):
        yield from _line(x, where, axis)
    yield Case(
        "take_along_axis",
        f"{dtype}-broadcast-operand",
        (whole_numbers((1, 3), dtype), _ints([[0], [2]])),
        lambda x, where: take_along_axis(x, where, 1),
        lambda: tabulated((2, 1), dtype, lambda at: whole_numbers((1, 3), dtype)[0, 2 * at[0]]),
    )


def _line(x: Host, where: Host, axis: int | None) -> Iterator[Case]:
    label = f"{x.dtype}-{where.dtype}-{where.shape}-axis-{axis}"
    places, shape = _places(x, where, axis), _target(x.shape, where.shape, axis)
    values = whole_numbers(shape, x.dtype, start=-7, modulus=13)
    yield Case(
        "take_along_axis",
        label,
        (x, where),
        lambda x, where: take_along_axis(x, where, axis),
        lambda: tabulated(shape, x.dtype, lambda at: x[places(at)]),
    )
    yield Case(
        "put_along_axis",
        label,
        (x, where, values),
        lambda x, where, values: _put(x, where, values, axis),
        lambda: _written(x, shape, places, values),
    )


def _target(shape: Index, where: Index, axis: int | None) -> Index:
    if axis is None:
        return where
    k = axis % len(shape)
    beside = broadcast_shapes((*shape[:k], 1, *shape[k + 1 :]), (*where[:k], 1, *where[k + 1 :]))
    return (*beside[:k], where[k], *beside[k + 1 :])


def _places(x: Host, where: Host, axis: int | None) -> Place:
    def place(at: Index) -> Index:
        if axis is None:
            return row_major(where[at], x.shape)
        k = axis % x.rank
        return (*at[:k], where[broadcast_index(at, where.shape)] % x.shape[k], *at[k + 1 :])

    return place


def _put(x: Tensor, where: Tensor, values: Tensor, axis: int | None) -> Tensor:
    written = copy(x)
    put_along_axis(written.mutable_view(), where, values, axis)
    return written


def _written(x: Host, shape: Index, places: Place, values: Host) -> Host:
    elements = {at: x[at] for at in indices(x.shape)}
    for at in indices(shape):
        elements[places(at)] = values[at]
    return tabulated(x.shape, x.dtype, lambda at: elements[at])


GEOMETRIES: tuple[tuple[str, Index, Any, dict[str, Any], Index, Index], ...] = (
    ("leading", (4, 3), [[2, 0], [2, 3]], {}, (1, 3), (2, 2, 3)),
    ("leading-vector", (4,), [1, 1, 0], {}, (1,), (3,)),
    ("leading-none", (0, 2), [], {}, (1, 2), (0, 2)),
    ("points", (4, 3), [[2, 0], [3, 2], [2, 0]], {"start_axes": (0, 1), "vector_axis": -1}, (1, 1), (3,)),
    ("points-vector-first", (4, 3), [[2, 3], [0, 2]], {"start_axes": (0, 1), "vector_axis": 0}, (1, 1), (2,)),
    ("one-index", (4, 3), [1, 2], {"start_axes": (1, 0), "collapsed_axes": ()}, (2, 2), (2, 2)),
    (
        "slices",
        (4, 3),
        [1, 0, 2],
        {"start_axes": (0,), "collapsed_axes": (), "offset_axes": (0, 2)},
        (2, 1),
        (2, 3, 1),
    ),
    ("second-axis", (4, 3), [2, 2], {"start_axes": (1,), "offset_axes": (0,)}, (4, 1), (4, 2)),
    ("empty-slices", (4, 3), [4, 0], {"collapsed_axes": (), "offset_axes": (0, 1)}, (0, 3), (0, 3, 2)),
    ("rank-0", (), [], {"start_axes": (), "collapsed_axes": (), "vector_axis": 0}, (), ()),
)
"""Label, operand's shape, indices, options, slice sizes, shape of the tensor of all slices."""


def _source(x_shape: Index, where: Host, options: dict[str, Any], rank: int) -> Place:
    """The element of the operand at which each element of the tensor of all slices lies."""
    start = options.get("start_axes", (0,))
    collapsed = options.get("collapsed_axes", start)
    kept = [axis for axis in range(len(x_shape)) if axis not in collapsed]
    offset = options.get("offset_axes", tuple(range(rank - len(kept), rank)))
    vector = options.get("vector_axis", where.rank if len(start) == 1 else -1)
    vector += where.rank if vector < 0 else 0

    def place(at: Index) -> Index:
        batch = tuple(along for axis, along in enumerate(at) if axis not in offset)
        found = [0] * len(x_shape)
        for k, axis in enumerate(start):
            found[axis] += where[batch if vector == where.rank else (*batch[:vector], k, *batch[vector:])]
        for axis, position in zip(kept, offset, strict=True):
            found[axis] += at[position]
        return tuple(found)

    return place


_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "replace": lambda old, new: new,
    "add": lambda old, new: old + new,
    "multiply": lambda old, new: old * new,
    "min": min,
    "max": max,
}


def _gathers(dtype: DType) -> Iterator[Case]:
    for label, shape, nested, options, sizes, total in GEOMETRIES if dtype in (F64, I64) else GEOMETRIES[::3]:
        x, updates = whole_numbers(shape, dtype), whole_numbers(total, dtype, start=-2, modulus=5)
        where = _ints(nested, dtype=I32) if dtype is F64 and nested else _ints(nested) if nested else _ints(None, (0,))
        source = _source(shape, where, options, len(total))
        yield _gather(f"{dtype}-{label}", x, where, options, sizes, total, source)
        for mode in _COMBINE:
            if (mode in ("min", "max") and dtype.kind == "complex") or (mode == "multiply" and label != "leading"):
                continue
            yield _scatter(f"{dtype}-{label}-{mode}", x, where, updates, options, mode, source)


def _gather(
    label: str, x: Host, where: Host, options: dict[str, Any], sizes: Index, total: Index, source: Place
) -> Case:
    return Case(
        "gather",
        label,
        (x, where),
        lambda x, where: gather(x, where, **options, slice_sizes=sizes),
        lambda: tabulated(total, x.dtype, lambda at: x[source(at)]),
    )


def _scatter(
    label: str, x: Host, where: Host, updates: Host, options: dict[str, Any], mode: str, source: Place
) -> Case:
    return Case(
        "scatter",
        label,
        (x, where, updates),
        lambda x, where, updates: scatter(x, where, updates, mode=mode, **options),
        lambda: _scattered(x, updates, source, _COMBINE[mode]),
    )


def _scattered(x: Host, updates: Host, source: Place, combine: Callable[[Any, Any], Any]) -> Host:
    elements = {at: x[at] for at in indices(x.shape)}
    for at in indices(updates.shape):
        place = source(at)
        elements[place] = stored(combine(elements[place], updates[at]), x.dtype)
    return tabulated(x.shape, x.dtype, lambda at: elements[at])


def _nonzeros(dtype: DType) -> Iterator[Case]:
    for shape in ((6,), (3, 4), (0, 2), (2, 0), (2, 2, 3)):
        x = whole_numbers(shape, dtype, start=0, modulus=3)

        def expected(x: Host = x) -> tuple[Host, ...]:
            found = sorted(at for at in indices(x.shape) if x[at] != 0)
            return tuple(HostTensor.from_flat([at[axis] for at in found], (len(found),), I64) for axis in range(x.rank))

        yield Case("nonzero", f"{dtype}-{shape}", (x,), nonzero, expected)


def _refusals() -> Iterator[Case]:
    x, zero, four = whole_numbers((4, 3), F64), _ints([0]), _ints([0, 4])
    minus, floats, truth = _ints([-1]), whole_numbers((1,), F64), HostTensor.from_nested([True])
    for function in (take, gather, take_along_axis):
        name = function.__name__
        for label, bad in (("float", floats), ("bool", truth)):
            yield refused(name, f"{label}-indices", (x, bad), function, DTypeError)
    yield refused("take", "outside", (x, four), lambda x, i: take(x, i, 0), IndexingError)
    yield refused("take", "outside-of-nothing", (_ints(None, (0,)), zero), lambda x, i: take(x, i, 0), IndexingError)
    yield refused(
        "take", "outside-result-empty", (_ints(None, (4, 0)), four), lambda x, i: take(x, i, 0), IndexingError
    )
    yield refused("take", "axis", (x, zero), lambda x, i: take(x, i, 2), AxisError)
    yield refused("take_along_axis", "outside", (x, _ints([[3]])), take_along_axis, IndexingError)
    yield refused("take_along_axis", "rank", (x, zero), take_along_axis, ShapeError)
    yield refused("put_along_axis", "outside", (x, _ints([[3]]), x), lambda x, i, v: _put(x, i, v, 1), ShapeError)
    yield refused(
        "put_along_axis", "read-only", (x, _ints([[0]])), lambda x, i: put_along_axis(x, i, 1.0), ReadOnlyError
    )
    yield refused("gather", "outside", (x, four), gather, IndexingError)
    yield refused("gather", "negative", (x, minus), gather, IndexingError)
    yield refused("gather", "no-axis", (_ints(1), zero), gather, ShapeError)
    yield refused("gather", "sizes", (x, zero), lambda x, i: gather(x, i, slice_sizes=(2, 3)), ArgumentError)
    row = whole_numbers((1, 3), F64)
    yield refused("scatter", "negative", (x, minus, row), lambda x, i, u: scatter(x, i, u, mode="add"), IndexingError)
    yield refused("scatter", "mode", (x, zero, row), lambda x, i, u: scatter(x, i, u, mode="sum"), ArgumentError)
    yield refused("scatter", "shape", (x, four, row), lambda x, i, u: scatter(x, i, u, mode="add"), ShapeError)
    z = whole_numbers((1,), DTYPES[-1])
    yield refused("scatter", "complex-max", (z, zero, z), lambda x, i, u: scatter(x, i, u, mode="max"), DTypeError)
    b = HostTensor.zeros((1,), Bool)
    yield refused("scatter", "lossy", (b, zero, floats), lambda x, i, u: scatter(x, i, u, mode="add"), DTypeError)
    yield refused("nonzero", "rank-0", (_ints(1),), nonzero, ShapeError)
