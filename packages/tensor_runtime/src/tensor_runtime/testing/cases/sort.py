"""Cases of ``sort``, ``argsort``, ``searchsorted`` and ``unique``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cmp_to_key
from typing import Any

from tensor_core.dtypes import DTYPES, F64, I32, I64, Bool, DType
from tensor_core.errors import ArgumentError, AxisError, ShapeError
from tensor_core.host.tensor import HostTensor
from tensor_core.promotion import promote
from tensor_core.scalar_conversion import convert_scalar
from tensor_runtime.ops.sort import (
    argsort,
    searchsorted,
    sort,
    unique,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, Index, indices, tabulated, whole_numbers

NAN, INF = float("nan"), float("inf")


def cases() -> Iterator[Case]:
    """Every dtype, both directions, every axis, ties, and the numbers that IEEE 754 orders in its own way."""
    for dtype in DTYPES:
        for x in _operands(dtype):
            yield from _sorts(x)
            yield from _uniques(x)
        yield from _searches(dtype)
    yield from _refusals()


def _operands(dtype: DType) -> Iterator[Host]:
    yield whole_numbers((7,), dtype, modulus=4)
    yield whole_numbers((3, 4), dtype, modulus=5)
    if dtype in (F64, I64, Bool):
        yield whole_numbers((0, 3), dtype)
        yield whole_numbers((), dtype)
    if dtype.kind == "float":
        yield HostTensor.from_flat([0.0, NAN, -0.0, INF, -1.5, -INF, 0.0, NAN], (8,), dtype)
    if dtype.kind == "complex":
        parts = (1.0, NAN, -0.0, 0.0)
        yield HostTensor.from_flat([complex(a, b) for a in parts for b in reversed(parts)], (16,), dtype)
    if dtype in (I32, I64):
        low = -(2 ** (8 * dtype.itemsize - 1))
        yield HostTensor.from_flat([0, low, -1 - low, low], (4,), dtype)


def key(value: Any, /) -> tuple[int, float, float]:
    """Ascending order: the groups of NaN last, then by real part, then by imaginary part.

    >>> key(2.0) < key(complex(1, NAN)) < key(complex(NAN, 0))
    True
    """
    real, imag = value.real, value.imag
    group = 2 * (real != real) + (imag != imag)
    return group, 0 if real != real else real, 0 if imag != imag else imag


def ordered(line: list[Any], descending: bool, /) -> list[int]:
    """Stable order of the elements; descending keeps the groups of NaN where they are.

    >>> ordered([1.0, NAN, 2.0], True)
    [2, 0, 1]
    """

    def compare(i: int, j: int) -> int:
        (p, *a), (q, *b) = key(line[i]), key(line[j])
        if p != q or a == b:
            return p - q
        return -1 if (a > b) == descending else 1

    return sorted(range(len(line)), key=cmp_to_key(compare))


def _row_major(x: Host) -> list[Any]:
    return [x[at] for at in sorted(indices(x.shape))]


def _sorts(x: Host) -> Iterator[Case]:
    for axis in (None, *range(-1, x.rank - 1)):
        for descending in (False, True):
            label = f"{x.dtype}-{x.shape}-{x.size}-axis-{axis}-{'down' if descending else 'up'}"

            def order(axis: int | None = axis, descending: bool = descending) -> Host:
                if axis is None:
                    return HostTensor.from_flat(ordered(_row_major(x), descending), (x.size,), I64)
                k = axis % x.rank

                def rule(at: Index) -> int:
                    line = [x[(*at[:k], along, *at[k + 1 :])] for along in range(x.shape[k])]
                    return ordered(line, descending)[at[k]]

                return tabulated(x.shape, I64, rule)

            def values(axis: int | None = axis, order: Any = order) -> Host:
                found = order()
                if axis is None:
                    line = _row_major(x)
                    return tabulated(found.shape, x.dtype, lambda at: line[found[at]])
                k = axis % x.rank
                return tabulated(x.shape, x.dtype, lambda at: x[(*at[:k], found[at], *at[k + 1 :])])

            options: dict[str, Any] = {"axis": axis, "descending": descending}
            yield Case("sort", label, (x,), lambda x, options=options: sort(x, **options), values)
            yield Case("argsort", label, (x,), lambda x, options=options: argsort(x, **options), order)


def _searches(dtype: DType) -> Iterator[Case]:
    line = HostTensor.from_flat(sorted(whole_numbers((9,), dtype, modulus=4).to_flat(), key=key), (9,), dtype)
    sought = [whole_numbers((2, 3), dtype, modulus=7), whole_numbers((), I32), whole_numbers((0,), F64)]
    if dtype.kind == "float":
        line = HostTensor.from_flat([-INF, -0.0, 0.0, 2.0, 2.0, NAN], (6,), dtype)
        sought.append(HostTensor.from_flat([NAN, 0.0, -INF, 2.0, 3.0], (5,), dtype))
    for values in sought:
        for side in ("left", "right"):
            yield _search(line, values, side)


def _search(line: Host, values: Host, side: str) -> Case:
    common = promote(line.dtype, values.dtype)

    def expected() -> Host:
        def rule(at: Index) -> int:
            value = key(convert_scalar(values[at], values.dtype, common))
            before = [key(convert_scalar(one, line.dtype, common)) for one in line.to_flat()]
            return sum(one < value if side == "left" else one <= value for one in before)

        return tabulated(values.shape, I64, rule)

    label = f"{line.dtype}-{values.dtype}-{values.shape}-{side}"
    return Case("searchsorted", label, (line, values), lambda x, v: searchsorted(x, v, side), expected)


def distinct(x: Host, equal_nan: bool, /) -> tuple[Host, Host, Host, Host]:
    """Values, first indices, inverse indices and counts.

    >>> [part.to_nested() for part in distinct(HostTensor.from_nested([3, 1, 1]), True)]
    [[1, 3], [1, 0], [1, 0, 0], [2, 1]]
    """
    line = _row_major(x)
    groups: list[list[int]] = []
    for position in ordered(line, False):
        here = line[position]
        there = line[groups[-1][0]] if groups else None
        both_nan = equal_nan and here != here and there is not None and there != there
        if groups and (here == there or both_nan):
            groups[-1].append(position)
        else:
            groups.append([position])
    rank = {position: number for number, group in enumerate(groups) for position in group}
    count = (len(groups),)
    numbers = {at: rank[position] for position, at in enumerate(sorted(indices(x.shape)))}
    return (
        HostTensor.from_flat([line[group[0]] for group in groups], count, x.dtype),
        HostTensor.from_flat([group[0] for group in groups], count, I64),
        tabulated(x.shape, I64, lambda at: numbers[at]),
        HostTensor.from_flat([len(group) for group in groups], count, I64),
    )


def _uniques(x: Host) -> Iterator[Case]:
    label = f"{x.dtype}-{x.shape}-{x.size}"
    yield Case("unique", label, (x,), unique, lambda: distinct(x, True)[0])
    yield Case("unique", f"{label}-all", (x,), lambda x: unique(x, True, True, True), lambda: distinct(x, True))
    yield Case("unique_all", label, (x,), unique_all, lambda: distinct(x, False))
    if x.rank == 1:
        yield Case("unique", f"{label}-index", (x,), lambda x: unique(x, True), lambda: distinct(x, True)[:2])
        yield Case("unique_values", label, (x,), unique_values, lambda: distinct(x, False)[0])
        yield Case("unique_counts", label, (x,), unique_counts, lambda: distinct(x, False)[::3])
        yield Case("unique_inverse", label, (x,), unique_inverse, lambda: distinct(x, False)[::2])


def _refusals() -> Iterator[Case]:
    x, number = whole_numbers((2, 3), F64), whole_numbers((), Bool)
    yield refused("sort", "axis", (x,), lambda x: sort(x, 2), AxisError)
    yield refused("sort", "rank-0", (number,), sort, AxisError)
    yield refused("argsort", "rank-0", (number,), argsort, AxisError)
    yield refused("searchsorted", "rank-2", (x, x), searchsorted, ShapeError)
    line = whole_numbers((2,), I64)
    yield refused("searchsorted", "side", (line, line), lambda x, v: searchsorted(x, v, "middle"), ArgumentError)
