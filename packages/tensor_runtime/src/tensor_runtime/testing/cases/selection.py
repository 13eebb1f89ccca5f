"""Cases of ``tensor_runtime.ops.selection``: conditions, extremes and bounds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import inf, nan
from typing import Any, Final

from tensor_core.dtypes import C32, DTYPES, F32, F64, I32, I64, REAL, Bool, DType
from tensor_core.errors import DTypeError, ShapeError
from tensor_core.host.tensor import HostTensor
from tensor_core.promotion import promote
from tensor_runtime.ops import selection
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.cases.arithmetic import Row, binary_cases
from tensor_runtime.testing.oracle import Host, elementwise, stored, whole_numbers

_ORDERED: Final = REAL | {Bool}


def greater(x: Any, y: Any, /) -> Any:
    """The greater of two; NaN if either is. Of equal ones, the first.

    >>> greater(1, 2), greater(float("nan"), 1.0)
    (2, nan)
    """
    return x if x != x or x >= y else y


def lesser(x: Any, y: Any, /) -> Any:
    """The lesser of two; NaN if either is. Of equal ones, the first.

    >>> lesser(1, 2), lesser(1.0, float("nan"))
    (1, nan)
    """
    return x if x != x or x <= y else y


def between(x: Any, low: Any, high: Any, /) -> Any:
    """The nearest value between two bounds.

    >>> between(-5, 0, 3), between(2, 5, 1)
    (0, 1)
    """
    return lesser(greater(x, low), high)


# Of zeros with different signs either may be the greater one, so the edges are tried apart, without zeros.
EXTREMES: Final = (
    Row(selection.maximum, greater, _ORDERED, edges=False),
    Row(selection.minimum, lesser, _ORDERED, edges=False),
)
EDGES: Final = (1.5, -2.0, inf, -inf, nan)
SHAPES: Final = (((2, 3), (2, 3), (2, 3)), ((), (), ()), ((2, 3), (), (3,)), ((3,), (2, 1), ()), ((0, 1), (3,), (1,)))


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for row in EXTREMES:
        yield from binary_cases(row)
        for dtype in (F32, F64):
            a = HostTensor.from_flat(EDGES, (len(EDGES), 1), dtype)
            b = HostTensor.from_flat(EDGES, (len(EDGES),), dtype)
            yield Case(row.name, f"{dtype} edges", (a, b), row.call, partial(elementwise, row.oracle, dtype, a, b))
    yield from _where()
    yield from _clip()


def _where() -> Iterator[Case]:
    for dtype in DTYPES:
        condition, a, b = whole_numbers((2, 3), Bool), whole_numbers((2, 3), dtype), whole_numbers((3,), dtype, 1, 7)
        yield _where_case(str(dtype), condition, a, b)
        if dtype is not Bool:
            yield refused(
                "where", f"condition {dtype}", (whole_numbers((3,), dtype), a, b), selection.where, DTypeError
            )
    for shapes in SHAPES:
        yield _where_case(
            f"shapes {shapes}",
            *(whole_numbers(shape, dtype) for shape, dtype in zip(shapes, (Bool, F64, F64), strict=True)),
        )
    for first, second in ((I32, F32), (Bool, I64), (F64, C32)):
        yield _where_case(
            f"{first} with {second}", whole_numbers((4,), Bool), whole_numbers((4,), first), whole_numbers((4,), second)
        )
    condition, a = whole_numbers((2, 3), Bool), whole_numbers((2, 3), F32)
    two = HostTensor.from_flat([2.0], (), F32)
    yield _where_case("number on the right", condition, a, two)._replace(
        operands=(condition, a), call=lambda c, x: selection.where(c, x, 2)
    )
    yield _where_case("number on the left", condition, two, a)._replace(
        operands=(condition, a), call=lambda c, x: selection.where(c, 2, x)
    )
    whole = (HostTensor.from_flat([1], (), I64), HostTensor.from_flat([0], (), I64))
    yield _where_case("two numbers", condition, *whole)._replace(
        operands=(condition,), call=lambda c: selection.where(c, 1, 0)
    )
    edges = HostTensor.from_flat([nan, -0.0, inf, 1.0], (4,), F64)
    yield _where_case("bits", HostTensor.from_flat([True, True, False, False], (4,), Bool), edges, edges)
    yield refused(
        "where",
        "shapes that do not fit",
        (whole_numbers((2,), Bool), whole_numbers((3,), F64), whole_numbers((), F64)),
        selection.where,
        ShapeError,
    )


def _where_case(label: str, condition: Host, a: Host, b: Host) -> Case:
    dtype = promote(a.dtype, b.dtype)

    def expected() -> Host:
        return elementwise(lambda c, x, y: stored(x if c else y, dtype), dtype, condition, a, b)

    return Case("where", label, (condition, a, b), selection.where, expected)


def _clip() -> Iterator[Case]:
    for dtype in DTYPES:
        x, low, high = whole_numbers((2, 3), dtype), whole_numbers((3,), dtype, -2, 3), whole_numbers((), dtype, 2, 3)
        if dtype in _ORDERED:
            yield _clip_case(str(dtype), dtype, x, low, high)
            yield Case("clip", f"{dtype} no bounds", (x,), selection.clip, partial(_itself, x))
        else:
            yield refused("clip", f"{dtype} refused", (x, low, high), selection.clip, DTypeError)
            yield refused("clip", f"{dtype} refused without bounds", (x,), selection.clip, DTypeError)
    for shapes in SHAPES:
        yield _clip_case(f"shapes {shapes}", I64, *(whole_numbers(shape, I64, -k) for k, shape in enumerate(shapes)))
    x = whole_numbers((2, 3), I32)
    bounds = [HostTensor.from_flat([number], (), I32) for number in (-1, 2)]
    yield _clip_case("numbers", I32, x, *bounds)._replace(operands=(x,), call=lambda x: selection.clip(x, -1, 2))
    yield _clip_case("crossed bounds", I32, x, *bounds[::-1])._replace(
        operands=(x,), call=lambda x: selection.clip(x, 2, -1)
    )
    yield Case(
        "clip", "from below", (x,), lambda x: selection.clip(x, -1), partial(elementwise, greater, I32, x, bounds[0])
    )
    yield Case(
        "clip", "from above", (x,), lambda x: selection.clip(x, max=2), partial(elementwise, lesser, I32, x, bounds[1])
    )
    edges = HostTensor.from_flat([nan, 1.0, 1.0, inf, -inf], (5,), F64)
    low = HostTensor.from_flat([0.0, nan, 0.0, -inf, -1.0], (5,), F64)
    high = HostTensor.from_flat([2.0, 2.0, nan, 5.0, inf], (5,), F64)
    yield _clip_case("edges", F64, edges, low, high)


def _itself(x: Host) -> Host:
    return x


def _clip_case(label: str, dtype: DType, x: Host, low: Host, high: Host) -> Case:
    return Case("clip", label, (x, low, high), selection.clip, partial(elementwise, between, dtype, x, low, high))
