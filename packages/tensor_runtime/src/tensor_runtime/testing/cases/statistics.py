"""Cases of ``tensor_runtime.ops.statistics``: means, spreads, norms, and where the extremes are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import nan, sqrt
from typing import Any, Final

from tensor_core.dtypes import DTYPES, F64, I64, REAL, Bool
from tensor_core.errors import ArgumentError, AxisError, DTypeError
from tensor_core.host.tensor import HostTensor
from tensor_runtime.dispatch.dtype_rules import inexact
from tensor_runtime.ops import statistics
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.cases.reduction import Row, cases_of
from tensor_runtime.testing.oracle import Host, reduced, whole_numbers


def mean(elements: list[Any], /) -> Any:
    """The arithmetic mean; NaN of nothing.

    >>> mean([1, 2])
    1.5
    """
    return sum(elements) / len(elements) if elements else nan


def variance(elements: list[Any], /) -> float:
    """The mean squared distance from the mean.

    >>> variance([1.0, 3.0])
    1.0
    """
    middle = mean(elements)
    return float(mean([abs(element - middle) ** 2 for element in elements]))


_ORDERED: Final = REAL | {Bool}
ROWS: Final = (
    Row(statistics.mean, mean, result=inexact, ulps=2),
    Row(statistics.var, variance, result=statistics.real_inexact, ulps=8),
    Row(statistics.std, lambda elements: sqrt(variance(elements)), result=statistics.real_inexact, ulps=8),
    Row(statistics.norm, lambda x: sqrt(sum(abs(e) ** 2 for e in x)), result=statistics.real_inexact, ulps=4),
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for row in ROWS:
        yield from cases_of(row)
    for call, choose in ((statistics.argmax, max), (statistics.argmin, min)):
        yield from _positions(call, choose)


def _positions(call: Callable[..., Any], choose: Callable[..., Any]) -> Iterator[Case]:
    """Where the extreme element is, the first of several; of all axes in row-major order."""
    name = call.__name__

    def of(a: Host, axis: int | None) -> Host:
        if axis is None:
            elements = a.to_flat(order="C")
            return HostTensor.from_flat([elements.index(choose(elements))], (), I64)
        return reduced(lambda elements: elements.index(choose(elements)), I64, a, (axis % a.rank,))

    for dtype in DTYPES:
        a = whole_numbers((2, 3, 2), dtype)
        if dtype not in _ORDERED:
            yield refused(name, f"{dtype} refused", (a,), call, DTypeError)
            continue
        for axis in (None, 0, 1, -1):
            yield Case(name, f"{dtype} axis {axis}", (a,), partial(call, axis=axis), partial(of, a, axis))
    a = whole_numbers((2, 0), F64)
    yield refused(name, "empty, over it", (a,), partial(call, axis=1), ArgumentError)
    yield Case(name, "empty, over another axis", (a,), partial(call, axis=0), lambda: HostTensor.zeros((0,), I64))
    yield refused(name, "axis out of range", (a,), partial(call, axis=2), AxisError)
    first = HostTensor.from_nested([1.0, nan, 5.0, nan, -5.0])
    yield Case(name, "NaN comes first", (first,), call, lambda: HostTensor.from_flat([1], (), I64))
