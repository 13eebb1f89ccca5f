"""Cases of ``tensor_runtime.ops.arrangement``: views under NumPy's names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from tensor_core.dtypes import F64
from tensor_core.errors import AxisError, ShapeError
from tensor_runtime.ops.arrangement import broadcast_arrays, flip, meshgrid, swapaxes, unstack
from tensor_runtime.tensors.tensor import Tensor
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, Index, tabulated, whole_numbers


def cases() -> Iterator[Case]:
    """Every case of the family."""
    x = whole_numbers((2, 3, 4), F64)
    swapped = tabulated((4, 3, 2), F64, lambda at: x[at[::-1]])
    yield Case("swapaxes", "the ends", (x,), lambda t: swapaxes(t, 0, -1), lambda: swapped, shares=True)
    yield refused("swapaxes", "out of range", (x,), lambda t: swapaxes(t, 0, 3), AxisError)
    for axes, turned in ((None, (0, 1, 2)), (-1, (2,)), ((0, 1), (0, 1)), ((), ())):
        wanted = tabulated(x.shape, F64, partial(_turned, x, turned))
        yield Case("flip", f"{axes}", (x,), partial(_flipped, axes), partial(_given, wanted), shares=True)
    parts = tuple(tabulated((2, 4), F64, partial(_part, x, k)) for k in range(3))
    yield Case("unstack", "the middle", (x,), lambda t: unstack(t, 1), lambda: parts, shares=True)
    yield refused("unstack", "out of range", (x,), lambda t: unstack(t, 3), AxisError)
    column, row = whole_numbers((2, 1), F64), whole_numbers((3,), F64)
    both = (
        tabulated((2, 3), F64, lambda at: column[at[0], 0]),
        tabulated((2, 3), F64, lambda at: row[at[1]]),
    )
    yield Case("broadcast_arrays", "two", (column, row), broadcast_arrays, lambda: both, shares=True)
    yield refused("broadcast_arrays", "unequal", (whole_numbers((2,), F64), row), broadcast_arrays, ShapeError)
    other = whole_numbers((2,), F64, 5)
    plot = (tabulated((2, 3), F64, lambda at: row[at[1]]), tabulated((2, 3), F64, lambda at: other[at[0]]))
    grid = (tabulated((3, 2), F64, lambda at: row[at[0]]), tabulated((3, 2), F64, lambda at: other[at[1]]))
    yield Case("meshgrid", "xy", (row, other), meshgrid, lambda: plot, shares=True)
    yield Case("meshgrid", "ij", (row, other), lambda a, b: meshgrid(a, b, indexing="ij"), lambda: grid, shares=True)
    yield refused("meshgrid", "a matrix", (column, row), meshgrid, ShapeError)


def _turned(x: Host, axes: tuple[int, ...], at: Index) -> Any:
    return x[tuple(-1 - i if axis in axes else i for axis, i in enumerate(at))]


def _flipped(axes: Any, x: Tensor) -> Tensor:
    return flip(x, axes)


def _part(x: Host, k: int, at: Index) -> Any:
    return x[at[0], k, at[1]]


def _given(wanted: Any) -> Any:
    return wanted
