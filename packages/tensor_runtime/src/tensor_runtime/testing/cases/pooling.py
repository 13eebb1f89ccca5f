"""Cases of ``tensor_runtime.ops.pooling``, by the list of elements that each window holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import inf, nan
from typing import Any, Final, NamedTuple

from tensor_core.dtypes import ALL, DTYPES, F64, I64, REAL, Bool, DType
from tensor_core.errors import ArgumentError, DTypeError, ShapeError
from tensor_core.host.tensor import HostTensor
from tensor_core.shapes import Shape
from tensor_runtime.dispatch.dtype_rules import inexact
from tensor_runtime.dispatch.spec import same
from tensor_runtime.ops import pooling
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.cases.convolution import Pairs, pairs_of, per_axis, window_counts
from tensor_runtime.testing.cases.reduction import largest
from tensor_runtime.testing.oracle import Host, Index, indices, tabulated, whole_numbers


class Row(NamedTuple):
    """One pooling: its oracle on the elements of a window, what it accepts and what it gives."""

    call: Callable[..., Any]
    oracle: Callable[[list[Any]], Any]
    accepts: frozenset[DType]
    result: Callable[[DType], DType]

    @property
    def name(self) -> str:
        """The public name."""
        return str(self.call.__name__)


def average(elements: list[Any], /) -> Any:
    """The mean.

    >>> average([1, 2])
    1.5
    """
    return sum(elements) / len(elements)


ROWS: Final = (
    Row(pooling.max_pool, largest, REAL | {Bool}, same),
    Row(pooling.mean_pool, average, ALL, inexact),
)
_WINDOWS: Final[tuple[tuple[str, Shape, int | Shape, dict[str, Any]], ...]] = (
    ("one axis", (2, 5, 2), 2, {}),
    ("two axes", (2, 4, 6, 2), (2, 3), {}),
    ("three axes", (1, 2, 3, 4, 2), (1, 3, 2), {"strides": 1}),
    ("overlapping windows", (1, 5, 4, 2), 3, {"strides": (1, 2)}),
    ("strides beyond the window", (1, 9, 1), 2, {"strides": 4}),
    ("SAME", (2, 5, 4, 1), (3, 2), {"padding": "SAME"}),
    ("SAME with strides", (1, 5, 6, 1), 3, {"strides": 2, "padding": "SAME"}),
    ("SAME with a window larger than the operand", (1, 2, 1), 5, {"strides": 1, "padding": "SAME"}),
    ("explicit padding", (1, 4, 3, 2), 3, {"strides": 1, "padding": ((2, 1), (0, 2))}),
    ("negative padding", (1, 5, 2), 2, {"padding": ((-1, 1),)}),
    ("dilation", (1, 6, 5, 2), 2, {"strides": 1, "dilation": (3, 2)}),
    ("a window of one element", (2, 3, 2), 1, {}),
    ("a window larger than the operand", (2, 2, 3, 1), 3, {}),
    ("nothing in the batch", (0, 4, 2), 2, {}),
    ("no channels", (2, 4, 0), 2, {}),
    ("no elements along an axis", (2, 0, 4, 2), 2, {}),
)
_REFUSED: Final[tuple[tuple[str, Shape, Any, dict[str, Any], Any], ...]] = (
    ("rank 2 refused", (2, 3), 2, {}, ShapeError),
    ("a window of 0", (2, 5, 3), 0, {}, ArgumentError),
    ("a window of too many axes", (2, 5, 3), (2, 2), {}, ArgumentError),
    ("unknown padding", (2, 5, 3), 2, {"padding": "FULL"}, ArgumentError),
    ("strides of 0", (2, 5, 3), 2, {"strides": 0}, ArgumentError),
    ("a window of padding in front", (2, 5, 3), 2, {"padding": ((2, 0),)}, ArgumentError),
    ("a window of padding behind", (2, 5, 3), 2, {"padding": ((0, 3),)}, ArgumentError),
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for row in ROWS:
        for dtype in DTYPES:
            x = whole_numbers((2, 4, 3, 2), dtype, 1)
            if dtype in row.accepts:
                yield case_of(row, str(dtype), x, 2, strides=1)
            else:
                yield refused(row.name, f"{dtype} refused", (x,), lambda x, row=row: row.call(x, 2), DTypeError)
        for label, shape, window, options in _WINDOWS:
            for dtype in (F64, I64):
                yield case_of(row, f"{label}, {dtype}", whole_numbers(shape, dtype, -9), window, **options)
        for label, shape, window, options, error in _REFUSED:
            call = partial(_pooled_by, row, window, options)
            yield refused(row.name, label, (whole_numbers(shape, F64),), call, error)
        special = HostTensor.from_flat([1.0, inf, nan, -inf, -inf, 2.0], (1, 6, 1), F64)
        yield case_of(row, "NaN and infinities", special, 2, padding=((0, 1),), strides=1)


def _pooled_by(row: Row, window: Any, options: dict[str, Any], x: Any) -> Any:
    return row.call(x, window, **options)


def case_of(row: Row, label: str, x: Host, window: int | Shape, /, **options: Any) -> Case:
    """One operand, by :func:`pooled`. Sums of whole numbers are exact; the unit allowed hides the sign of zero."""
    call = partial(_pooled_by, row, window, options)
    return Case(row.name, label, (x,), call, partial(pooled, row, x, window, **options), ulps=1)


def pooled(
    row: Row,
    x: Host,
    window: int | Shape,
    /,
    *,
    strides: int | Shape | None = None,
    padding: str | Pairs = "VALID",
    dilation: int | Shape = 1,
) -> Host:
    """The row's oracle on the elements of every window.

    >>> pooled(ROWS[1], HostTensor.from_flat([1, 3, 5], (1, 3, 1)), 2, padding="SAME").to_flat()
    [2.0, 5.0]
    """
    spatial = x.shape[1:-1]
    taps, gaps = per_axis(window, len(spatial)), per_axis(dilation, len(spatial))
    steps = taps if strides is None else per_axis(strides, len(spatial))
    pairs = pairs_of(padding, spatial, taps, steps, gaps)

    def rule(index: Index) -> Any:
        n, *place, c = index
        held = []
        for tap in indices(taps):
            where = [o * s + k * d - b for o, s, k, d, (b, _) in zip(place, steps, tap, gaps, pairs, strict=True)]
            if all(0 <= i < extent for i, extent in zip(where, spatial, strict=True)):
                held.append(x[n, *where, c])
        return row.oracle(held)

    counts = window_counts(spatial, taps, steps, pairs, gaps)
    return tabulated((x.shape[0], *counts, x.shape[-1]), row.result(x.dtype), rule)
