"""Cases of ``tensor_runtime.ops.statistics``: means, spreads, norms, and where the extremes are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import inf, nan, sqrt
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
    yield from _norms()
    yield from _corrected()


def norm_of(elements: list[Any], order: float) -> float:
    """The norm of an order, by its definition.

    >>> norm_of([3.0, -4.0], 1), norm_of([3.0, -4.0], inf), norm_of([3.0, 0.0], -1)
    (7.0, 4.0, 0.0)
    """
    sizes = [abs(element) for element in elements]
    if order == 0:
        return float(sum(size != 0 for size in sizes))
    if order in (inf, -inf):
        return float(max(sizes) if order > 0 else min(sizes))
    if order < 0 and 0 in sizes:
        return 0.0
    return float(sum(size**order for size in sizes) ** (1 / order))


def _norms() -> Iterator[Case]:
    """Orders beside 2, in every dtype and where powers would overflow or vanish."""
    for order in (1, 0, inf, -inf, 3, 0.5, -1):
        for dtype in DTYPES:
            a = whole_numbers((2, 3, 2), dtype)
            yield _norm(f"{dtype} order {order}", a, order, 1)
        yield _norm(f"order {order} without zeros", whole_numbers((3, 4), F64, start=1), order, 0)
    for label, size in (("large", 1e300), ("small", 1e-300)):
        a = HostTensor.from_nested([3 * size, 4 * size])
        for order, factor in ((2, 5.0), (3, 91 ** (1 / 3)), (0.5, 7 + 48**0.5)):
            call = partial(statistics.norm, ord=order)
            yield Case("norm", f"{label} order {order}", (a,), call, partial(_single, factor * size), 16)
    nothing = HostTensor.zeros((0,), F64)
    for order, answer in ((2, 0.0), (1, 0.0), (0, 0.0), (inf, 0.0), (3, 0.0), (-1, inf)):
        call = partial(statistics.norm, ord=order)
        yield Case("norm", f"of nothing order {order}", (nothing,), call, partial(_single, answer))
    yield refused("norm", "of nothing order -inf", (nothing,), partial(statistics.norm, ord=-inf), ArgumentError)
    yield refused("norm", "order NaN", (whole_numbers((2,), F64),), partial(statistics.norm, ord=nan), ArgumentError)


def _single(value: float) -> Host:
    return HostTensor.from_flat([value], (), F64)


def _norm(label: str, a: Host, order: float, axis: int) -> Case:
    call = partial(statistics.norm, ord=order, axis=axis)
    oracle = partial(norm_of, order=order)
    result = statistics.real_inexact(a.dtype)
    return Case("norm", label, (a,), call, partial(reduced, oracle, result, a, (axis,)), 16)


def _corrected() -> Iterator[Case]:
    """Divisors of fewer than the number of elements, and of 0."""
    a = whole_numbers((2, 3), F64)

    def spread(elements: list[Any], correction: float) -> float:
        left = max(len(elements) - correction, 0)
        total = variance(elements) * len(elements)
        return total / left if left else inf if total else nan

    for correction in (1, 0.5, 3, 4):
        call = partial(statistics.var, axis=1, correction=correction)
        expected = partial(reduced, partial(spread, correction=correction), F64, a, (1,))
        yield Case("var", f"correction {correction}", (a,), call, expected, 8)
    same = HostTensor.from_nested([2.0, 2.0])
    for function in (statistics.var, statistics.std):
        undefined = partial(function, correction=2)
        yield Case(function.__name__, "0 by 0", (same,), undefined, partial(_single, nan))


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
