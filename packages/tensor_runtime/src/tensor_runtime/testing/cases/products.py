"""Cases of ``tensor_runtime.ops.products``: of small whole numbers, exact in every dtype and order."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from tensor_core.dtypes import DTYPES, F32, F64, I32, I64, DType
from tensor_core.errors import ShapeError
from tensor_core.host.tensor import HostTensor
from tensor_core.promotion import promote
from tensor_core.scalar_conversion import convert_scalar
from tensor_runtime.ops.products import dot, kron, outer, vecdot
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, Index, contracted, indices, tabulated, whole_numbers


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for dtype in DTYPES:
        a, b = whole_numbers((2, 3), dtype), whole_numbers((3, 2), dtype, -2)
        yield from _products(str(dtype), a, b)
    for shape, other in (
        ((), ()),
        ((), (2, 3)),
        ((2, 3), ()),
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (2, 3, 2)),
        ((2, 3), (2, 3, 2)),
        ((2, 0), (0, 3)),
        ((0, 3), (3, 2)),
        ((1, 3), (3, 1)),
    ):
        yield from _products(f"{shape} {other}", whole_numbers(shape, F64), whole_numbers(other, F64, -2))
    for dtype, other_dtype in ((I32, F32), (I64, F64), (F32, F64)):
        a, b = whole_numbers((2, 3), dtype), whole_numbers((3, 2), other_dtype)
        yield from _products(f"{dtype} {other_dtype}", a, b)
    wide = HostTensor.from_nested([2**62, 3], I64)
    yield from _products("I64 wraps", wide, wide)
    for dtype in DTYPES:
        yield from _vecdot(f"{dtype} rows", dtype, whole_numbers((2, 1, 3), dtype), whole_numbers((4, 3), dtype, -2))
    yield refused("vecdot", "unequal", (whole_numbers((3,), F64), whole_numbers((1,), F64)), vecdot, ShapeError)
    unequal = (whole_numbers((2, 3), F64), whole_numbers((2, 3), F64))
    yield refused("dot", "unequal extents", unequal, dot, ShapeError)
    yield refused("dot", "unequal lengths", (unequal[0], whole_numbers((2,), F64)), dot, ShapeError)


def _vecdot(label: str, dtype: DType, a: Host, b: Host) -> Iterator[Case]:
    rank = max(a.rank, b.rank)
    conjugated = tabulated(a.shape, a.dtype, lambda at: a[at].conjugate() if a.dtype.kind == "complex" else a[at])
    labels = tuple(range(rank - a.rank, rank)), tuple(range(rank - b.rank, rank)), tuple(range(rank - 1))
    yield Case("vecdot", label, (a, b), vecdot, partial(contracted, dtype, conjugated, b, labels), ulps=1)


def _products(label: str, a: Host, b: Host) -> Iterator[Case]:
    dtype = promote(a.dtype, b.dtype)
    if a.rank and b.rank and a.shape[-1] == b.shape[-1]:
        yield from _vecdot(label, dtype, a, b)
    yield Case("dot", label, (a, b), dot, partial(contracted, dtype, a, b, _labels(a.rank, b.rank)), ulps=1)
    yield Case("outer", label, (a, b), outer, partial(_outer, dtype, a, b), ulps=1)  # the sign of a zero is free
    yield Case("kron", label, (a, b), kron, partial(_kron, dtype, a, b), ulps=1)


def _labels(rank: int, other: int) -> tuple[list[int], list[int], list[int]]:
    of_a, of_b = list(range(rank)), list(range(rank, rank + other))
    if not rank or not other:
        return of_a, of_b, of_a + of_b
    inner = of_b.pop(max(other - 2, 0))
    out = of_a[:-1] + of_b
    of_b.insert(max(other - 2, 0), of_a[-1])
    assert inner not in out
    return of_a, of_b, out


def _product(dtype: DType, a: Host, at: Index, b: Host, to: Index) -> Any:
    return convert_scalar(a[at], a.dtype, dtype) * convert_scalar(b[to], b.dtype, dtype)


def _outer(dtype: DType, a: Host, b: Host) -> Host:
    of_a, of_b = sorted(indices(a.shape)), sorted(indices(b.shape))
    return tabulated((a.size, b.size), dtype, lambda index: _product(dtype, a, of_a[index[0]], b, of_b[index[1]]))


def _kron(dtype: DType, a: Host, b: Host) -> Host:
    rank = max(a.rank, b.rank)
    of_a, of_b = ((1,) * (rank - one.rank) + one.shape for one in (a, b))

    def rule(index: Index) -> Any:
        at = tuple(i // n for i, n in zip(index, of_b, strict=True))[rank - a.rank :]
        to = tuple(i % n for i, n in zip(index, of_b, strict=True))[rank - b.rank :]
        return _product(dtype, a, at, b, to)

    return tabulated([m * n for m, n in zip(of_a, of_b, strict=True)], dtype, rule)
