"""Cases of ``tensor_runtime.ops.reduction``: sums of small whole numbers are exact in every dtype and order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import nan, prod
from typing import Any, Final, NamedTuple

from tensor_core.dtypes import ALL, DTYPES, F64, I32, I64, REAL, Bool, DType
from tensor_core.errors import ArgumentError, AxisError, DTypeError, TensorError
from tensor_core.host.tensor import HostTensor
from tensor_runtime.dispatch.dtype_rules import Axes, accumulator, boolean, reduced_axes
from tensor_runtime.dispatch.spec import same
from tensor_runtime.ops import reduction
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import reduced, whole_numbers


class Row(NamedTuple):
    """One reduction: its oracle on a list of elements, what it accepts and gives, and its answer to no elements."""

    call: Callable[..., Any]
    oracle: Callable[[list[Any]], Any]
    accepts: frozenset[DType] = ALL
    result: Callable[[DType], DType] = same
    refuses_empty: type[TensorError] | None = None
    ulps: int = 0

    @property
    def name(self) -> str:
        """The public name."""
        return str(self.call.__name__)


def largest(elements: list[Any], /) -> Any:
    """The maximum; NaN if there is one.

    >>> largest([1.0, 3.0, 2.0])
    3.0
    """
    return nan if any(element != element for element in elements) else max(elements)


def smallest(elements: list[Any], /) -> Any:
    """The minimum; NaN if there is one.

    >>> smallest([3.0, 1.0, 2.0])
    1.0
    """
    return nan if any(element != element for element in elements) else min(elements)


_ORDERED: Final = REAL | {Bool}
ROWS: Final = (
    Row(reduction.sum, sum, result=accumulator),
    Row(reduction.prod, prod, result=accumulator, ulps=1),
    Row(reduction.max, largest, _ORDERED, refuses_empty=ArgumentError),
    Row(reduction.min, smallest, _ORDERED, refuses_empty=ArgumentError),
    Row(reduction.any, any, result=boolean),
    Row(reduction.all, all, result=boolean),
)
_AXES: Final[tuple[Axes, ...]] = (None, (), 0, -1, (0, 2), (1, -1))


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for row in ROWS:
        yield from cases_of(row)
    wrapping = HostTensor.from_nested([[2**63 - 1, 1], [2, 3]], I64)
    yield case_of(ROWS[0], "I64 wraps", wrapping, 1, False)
    yield case_of(ROWS[0], "I32 accumulates in I64", HostTensor.from_nested([2**31 - 1, 1], I32), None, False)


def cases_of(row: Row, /) -> Iterator[Case]:
    """Dtypes, axes, empty shapes and refusals of one reduction."""
    for dtype in DTYPES:
        a = whole_numbers((2, 3, 2), dtype)
        if dtype in row.accepts:
            yield case_of(row, str(dtype), a, 1, False)
            yield case_of(row, f"{dtype} over all", a, None, False)
        else:
            yield refused(row.name, f"{dtype} refused", (a,), row.call, DTypeError)
    a = whole_numbers((2, 3, 4), F64)
    for axis in _AXES:
        for keepdims in (False, True):
            yield case_of(row, f"axis {axis}{' kept' if keepdims else ''}", a, axis, keepdims)
    yield case_of(row, "rank 0", whole_numbers((), F64), None, False)
    empty = whole_numbers((2, 0, 3), F64)
    yield case_of(row, "empty, over another axis", empty, 0, False)
    if row.refuses_empty is None:
        yield case_of(row, "empty, over it", empty, 1, False)
    else:
        yield refused(row.name, "empty, over it", (empty,), lambda x: row.call(x, axis=1), row.refuses_empty)
    yield case_of(row, "NaN", HostTensor.from_nested([[1.0, nan], [2.0, 3.0]]), 1, False)
    for label, axis in (("axis out of range", 3), ("axis twice", (0, -3))):
        yield refused(row.name, label, (a,), lambda x, axis=axis: row.call(x, axis=axis), AxisError)


def case_of(row: Row, label: str, a: HostTensor[Any], axis: Axes, keepdims: bool, /) -> Case:
    """One operand, by the row's oracle over the axes named."""
    axes = reduced_axes(row.name, a.rank, axis)
    return Case(
        row.name,
        label,
        (a,),
        lambda x: row.call(x, axis=axis, keepdims=keepdims),
        lambda: reduced(row.oracle, row.result(a.dtype), a, axes, keepdims),
        row.ulps,
    )
