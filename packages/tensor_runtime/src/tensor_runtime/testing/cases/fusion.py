"""Cases of ``tensor_runtime.fuse``: whole chains, whose oracle is the same chain on single numbers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import exp, inf, nan, sin, sqrt
from typing import Any, Final

from tensor_core.dtypes import F32, F64, FLOATING, I32, I64, NUMERIC, REAL, Bool, DType
from tensor_core.errors import ArgumentError, DivisionByZeroError, ShapeError, UnsupportedOperationError
from tensor_core.host.tensor import HostTensor
from tensor_core.promotion import promote
from tensor_runtime.fusion.fuse import fuse
from tensor_runtime.ops import exponential, reduction, selection, trigonometry
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import elementwise, tabulated, whole_numbers

_OPERATION: Final = "fuse"


def polynomial(x: Any, y: Any, /) -> Any:
    """x y² - 2 x + 3, for tensors and numbers alike.

    >>> polynomial(2, 3)
    17
    """
    return x * y * y - 2 * x + 3


def _bounded(x: Any, y: Any, /) -> Any:
    return selection.where(x < y, x * 2, selection.clip(y, -1, 2))


def _bounded_number(x: Any, y: Any, /) -> Any:
    return x * 2 if x < y else min(max(y, -1), 2)


def _bell(x: Any, y: Any, /) -> Any:
    return exponential.exp(-x * x) * trigonometry.sin(y) + exponential.sqrt(x * x + 1)


def _bell_number(x: Any, y: Any, /) -> Any:
    return exp(-x * x) * sin(y) + sqrt(x * x + 1)


_POLYNOMIAL: Final = fuse(polynomial)
_BOUNDED: Final = fuse(_bounded)
_BELL: Final = fuse(_bell)
_SEVERAL: Final = fuse(lambda x, y: (x * y, x - y))
_QUOTIENT: Final = fuse(lambda x, y: 1 + x // y)
_TOTAL: Final = fuse(lambda x, y: reduction.sum(x * y))
_NUMBER: Final = fuse(lambda x, y: 1.0)
_SHAPES: Final = {
    "one-shape": ((2, 3), (2, 3)),
    "row": ((2, 3), (3,)),
    "outer": ((2, 1, 2), (3, 1)),
    "rank-0": ((), (4,)),
    "both-rank-0": ((), ()),
    "empty": ((2, 0), (2, 1)),
}


def cases() -> Iterator[Case]:
    """Chains over every dtype and shape, and what is refused."""
    for dtype in sorted(NUMERIC, key=str):
        yield from _chains(dtype)
    yield _of_numbers()
    yield _special()
    x, y = whole_numbers((2, 3), F64), whole_numbers((3,), F32, start=1)
    products = partial(elementwise, lambda a, b: a * b, F64, x, y)
    differences = partial(elementwise, lambda a, b: a - b, F64, x, y)
    yield Case(_OPERATION, "several-results", (x, y), _SEVERAL, lambda: (products(), differences()))
    zeros = whole_numbers((2, 3), I64), whole_numbers((3,), I64)
    yield refused(_OPERATION, "shapes", (x, whole_numbers((2,), F64)), _POLYNOMIAL, ShapeError)
    yield refused(_OPERATION, "zero-divisor", (zeros[0], HostTensor.zeros((3,), I64)), _QUOTIENT, DivisionByZeroError)
    yield refused(_OPERATION, "reduction", (x, y), _TOTAL, UnsupportedOperationError)
    yield refused(_OPERATION, "number-returned", (x, y), _NUMBER, ArgumentError)


def _chains(dtype: DType) -> Iterator[Case]:
    for name, (first, second) in _SHAPES.items():
        x, y = whole_numbers(first, dtype), whole_numbers(second, dtype, start=-2)
        exact = partial(elementwise, polynomial, dtype, x, y)
        yield Case(_OPERATION, f"polynomial-{dtype.name}-{name}", (x, y), _POLYNOMIAL, exact)
    for other in sorted(REAL if dtype in REAL else FLOATING, key=str):
        common = promote(dtype, other)
        x, y = whole_numbers((2, 3), dtype), whole_numbers((1, 3), other, start=-1)
        mixed = partial(elementwise, polynomial, common, x, y, computed=common)
        yield Case(_OPERATION, f"polynomial-{dtype.name}-{other.name}", (x, y), _POLYNOMIAL, mixed)
    if dtype in REAL:
        x, y = whole_numbers((3, 4), dtype), whole_numbers((4,), dtype, start=-2)
        chosen = partial(elementwise, _bounded_number, dtype, x, y)
        yield Case(_OPERATION, f"bounded-{dtype.name}", (x, y), _BOUNDED, chosen)
        result = dtype if dtype in FLOATING else F64
        smooth = partial(elementwise, _bell_number, result, x, y)
        yield Case(_OPERATION, f"bell-{dtype.name}", (x, y), _BELL, smooth, ulps=16)


def _of_numbers() -> Case:
    x = whole_numbers((3, 2), I32)
    expected = partial(elementwise, lambda a: polynomial(a, 0.5), F64, x)
    return Case(_OPERATION, "beside-a-number", (x,), lambda a: _POLYNOMIAL(a, 0.5), expected)


def _special() -> Case:
    values = [inf, -inf, nan, 0.0, -0.0]
    x = tabulated((5,), F64, lambda index: values[index[0]])
    y = tabulated((5, 1), Bool, lambda index: index[0] % 2 == 0)
    return Case(_OPERATION, "special-values", (x, y), _POLYNOMIAL, partial(elementwise, polynomial, F64, x, y))
