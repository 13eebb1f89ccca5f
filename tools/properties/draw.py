"""What properties draw: shapes, layouts, steps of a chain of views, and elements; the awkward ones often."""

from __future__ import annotations

import struct
from itertools import product
from math import inf, nan
from random import Random
from typing import Any, Final

import tensor_core
from tensor_core import C32, C64, F32, F64, I32, I64, Bool, DType, HostTensor, SliceSpec, TensorLayout, reachable_range

Step = tuple[str, tuple[Any, ...]]

_REAL: Final = (
    0.0,
    -0.0,
    1.0,
    -1.5,
    0.1,
    inf,
    -inf,
    nan,
    -nan,
    5e-324,
    -5e-324,
    2.0**-1022,
    2.0**-149,
    2.0**-126,
    1e300,
)
_EDGES: Final = (2.0**24 + 1, 2.0**31 - 1, 2.0**31, 2.0**31 - 0.5, -(2.0**31), -(2.0**31) - 1, -(2.0**31) - 0.5)
_FAR: Final = (
    1e300,
    2.0**53,
    2.0**63,
    2.0**63 - 1024,
    -(2.0**63),
    -(2.0**63) - 2048,
    1e20,
    -1e20,
    3.5e38,
    2.0**127,
    2.0**128,
)
_FLOATS: Final = (*_REAL, *_EDGES, *_FAR)
_INTEGERS: Final = (
    0,
    1,
    -1,
    2**24 + 1,
    2**31 - 1,
    -(2**31),
    2**31,
    -(2**31) - 1,
    2**53 + 1,
    2**60 + 2**36 + 1,
    2**63 - 1,
    -(2**63),
)


def shape(rng: Random, max_rank: int = 4, max_extent: int = 4, min_extent: int = 0) -> tuple[int, ...]:
    """Any rank from 0, extents 0 and 1 included.

    >>> max(shape(Random(3), 2), default=0) <= 4
    True
    """
    return tuple(rng.randint(min_extent, max_extent) for _ in range(rng.randint(0, max_rank)))


def layout(rng: Random, extents: tuple[int, ...] | None = None, max_stride: int = 6) -> tuple[TensorLayout, int]:
    """A layout with strides of any sign, zero included, or a nearly compact one; and the length of its allocation."""
    extents = shape(rng) if extents is None else extents
    if rng.random() < 0.4:
        whole = TensorLayout(extents)
        part = whole
        for name in rng.choices(("transpose_view", "slice_view", "reverse_view"), k=rng.randint(0, 2)):
            part = apply(part, step(rng, part, (name,)))
        return part, whole.size
    strides = [rng.randint(-max_stride, max_stride) for _ in extents]
    lowest, highest = reachable_range(TensorLayout(extents, strides)) or (0, -1)
    front, back = rng.randint(0, 3), rng.randint(0, 3)
    return TensorLayout(extents, strides, front - lowest), front + highest - lowest + 1 + back


def offsets(of: TensorLayout) -> list[int]:
    """Every element's offset, the first index fastest: the definition, by enumeration.

    >>> offsets(TensorLayout((2, 2), (1, -3), 3))
    [3, 4, 0, 1]
    """
    strides = of.strides[::-1]
    return [
        of.offset + sum(k * stride for k, stride in zip(index, strides, strict=True))
        for index in product(*map(range, of.shape[::-1]))
    ]


def slice_spec(rng: Random, extent: int) -> SliceSpec:
    """A slice inside an axis, of either direction."""
    stride = rng.randint(1, 3) * rng.choice((1, -1))
    last = extent if stride > 0 else max(extent - 1, 0)
    return SliceSpec(rng.randint(0, last), rng.choice((None, rng.randint(0, last))), stride)


def regrouped(rng: Random, size: int) -> tuple[int, ...]:
    """A shape with as many elements: prime factors dealt out again, with extents 1 between."""
    if size == 0:
        return (*shape(rng, 2), 0)
    extents = [1]
    for prime in (2, 3, 5, 7, 11, 13):
        while size % prime == 0:
            size //= prime
            if rng.random() < 0.5:
                extents.append(prime)
            else:
                extents[-1] *= prime
    if size > 1:
        extents.append(size)
    if rng.random() < 0.3:
        extents.insert(rng.randint(0, len(extents)), 1)
    return tuple(extents[1:] if extents[0] == 1 and rng.random() < 0.8 else extents)


def index(rng: Random, extents: tuple[int, ...]) -> tuple[Any, ...]:
    """An index of ints, slices, None and at most one ellipsis that a shape allows."""
    items: list[Any] = []
    for extent in extents[: rng.randint(0, len(extents))]:
        if extent and rng.random() < 0.4:
            items.append(rng.randint(-extent, extent - 1))
        else:
            start, end = (rng.choice((None, rng.randint(-extent - 2, extent + 2))) for _ in range(2))
            items.append(slice(start, end, rng.choice((None, -3, -2, -1, 1, 2, 3))))
    if rng.random() < 0.3:
        items.insert(rng.randint(0, len(items)), None)
    if rng.random() < 0.5:
        items.append(Ellipsis)
    return tuple(items)


def step(rng: Random, of: TensorLayout, names: tuple[str, ...] = ()) -> Step:
    """Name and arguments of one view function that a layout allows; reshapes may still need a copy."""
    extents, rank = of.shape, of.rank
    long_axes = [axis for axis, extent in enumerate(extents) if extent]
    equal = [(i, j) for i in range(rank) for j in range(rank) if i != j and extents[i] == extents[j]]
    choices = ["transpose_view", "slice_view", "expand_view", "squeeze_view", "reshape_view", "index_view"]
    choices += ["broadcast_view", "reverse_view"] + ["window_view"] * bool(long_axes) + ["diagonal_view"] * bool(equal)
    match rng.choice([name for name in choices if not names or name in names]):
        case "transpose_view" as name:
            return name, (tuple(rng.sample(range(rank), rank)),)
        case "slice_view" as name:
            return name, (tuple(slice_spec(rng, extent) for extent in extents),)
        case "expand_view" as name:
            return name, (rng.randint(0, rank),)
        case "squeeze_view" as name:
            return name, (None,)
        case "reshape_view" as name:
            return name, (regrouped(rng, of.size),)
        case "index_view" as name:
            return name, (index(rng, extents),)
        case "broadcast_view" as name:
            front = shape(rng, 1, 3)
            return name, ((*front, *(rng.randint(0, 3) if extent == 1 else extent for extent in extents)),)
        case "reverse_view" as name:
            return name, (tuple(rng.sample(range(rank), rng.randint(0, rank))),)
        case "window_view" as name:
            axis = rng.choice(long_axes)
            return name, (rng.randint(1, extents[axis]), axis)
        case name:
            return name, rng.choice(equal)


def apply(of: TensorLayout, chosen: Step) -> TensorLayout:
    """The layout after a step.

    >>> apply(TensorLayout((2, 3)), ("transpose_view", ((1, 0),))).shape
    (3, 2)
    """
    name, arguments = chosen
    result: TensorLayout = getattr(tensor_core, name)(of, *arguments)
    return result


def element(rng: Random, dtype: DType) -> Any:
    """An element of a type: an edge case, or anything that the bits of one can be."""
    if dtype is Bool:
        return rng.random() < 0.5
    if dtype in (I32, I64):
        bits = 8 * dtype.itemsize
        low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        chosen = rng.choice(_INTEGERS) if rng.random() < 0.5 else rng.randint(low, high) >> rng.randrange(bits)
        return min(max(chosen, low), high)
    if dtype in (C32, C64):
        return complex(element(rng, dtype.component), element(rng, dtype.component))
    if rng.random() < 0.5:
        number = rng.choice(_FLOATS) if rng.random() < 0.7 else rng.uniform(-4, 4) * 2.0 ** rng.choice((0, 20, 30, 62))
        return stored(number, dtype)
    return struct.unpack("<f" if dtype is F32 else "<d", rng.randbytes(dtype.itemsize))[0]


def stored(number: float, dtype: DType) -> float:
    """The nearest number that F32 or F64 holds.

    >>> stored(0.1, F64), stored(1e39, F32)
    (0.1, inf)
    """
    if dtype is F64:
        return number
    return float(tensor_core.to_element(number, dtype).real)


def specials(dtype: DType) -> list[Any]:
    """Every edge case of a type, once.

    >>> specials(Bool), len(specials(C64)) > 64
    ([False, True], True)
    """
    if dtype is Bool:
        return [False, True]
    if dtype in (I32, I64):
        limit = 2 ** (8 * dtype.itemsize - 1)
        return [number for number in _INTEGERS if -limit <= number < limit]
    parts = [stored(number, dtype.component) for number in _FLOATS]
    if dtype in (F32, F64):
        return parts
    return [complex(re, im) for re in parts for im in (0.0, -0.0, 1.0, nan, -inf)]


def tensor(rng: Random, dtype: DType, extents: tuple[int, ...]) -> HostTensor[Any]:
    """A host tensor of drawn elements."""
    count = TensorLayout(extents).size
    return HostTensor.from_flat([element(rng, dtype) for _ in range(count)], extents, dtype)
