"""Cases of ``tensor_runtime.ops.exponential``: elementary functions of one operand."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from tensor_core.dtypes import ALL, C32, C64, DTYPES, F32, F64, REAL, Bool, DType
from tensor_core.errors import DTypeError
from tensor_core.host.tensor import HostTensor
from tensor_runtime.dispatch.dtype_rules import inexact
from tensor_runtime.ops import exponential
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.cases import arithmetic
from tensor_runtime.testing.cases.arithmetic import EDGES
from tensor_runtime.testing.oracle import elementwise, whole_numbers


class Row(NamedTuple):
    """One function: oracles on real and complex numbers, and the rounding units allowed."""

    call: Callable[..., Any]
    real: Callable[[float], Any]
    of_complex: Callable[[complex], complex] | None = None
    ulps: int = 4
    accepts: frozenset[DType] = ALL
    result: Callable[[DType], DType] = inexact
    start: int = -3  # smallest of the whole numbers tried

    @property
    def name(self) -> str:
        """The public name."""
        return str(self.call.__name__)

    def oracle(self, x: Any, /) -> Any:
        """The function of one element; outside its domain NaN, beyond the largest number infinity."""
        if isinstance(x, complex) and self.of_complex is not None:
            return self.of_complex(x)
        try:
            return self.real(x)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan


def logarithm(x: float, /) -> float:
    """Natural logarithm; of 0 minus infinity.

    >>> logarithm(0.0), logarithm(1.0)
    (-inf, 0.0)
    """
    return -math.inf if x == 0 else math.log(x)


def _log2(x: float) -> float:
    return -math.inf if x == 0 else math.log2(x)


def _log10(x: float) -> float:
    return -math.inf if x == 0 else math.log10(x)


def _cbrt(x: float) -> float:
    """The root of the nearest fraction, by one step of Newton's from the power of a third."""
    if x == 0 or not math.isfinite(x):
        return x
    root = math.copysign(abs(x) ** (1 / 3), x)
    return root - (root - x / (root * root)) / 3


def logaddexp(x: float, y: float, /) -> float:
    """log(exp(x) + exp(y)).

    >>> logaddexp(0.0, -math.inf), logaddexp(math.inf, math.inf)
    (0.0, inf)
    """
    if x == y:
        return x + math.log(2)
    return math.nan if x != x or y != y else max(x, y) + math.log1p(math.exp(-abs(x - y)))


def _log1p(x: float) -> float:
    return -math.inf if x == -1 else math.log1p(x)


def _reciprocal_root(x: float) -> float:
    return math.copysign(math.inf, x) if x == 0 else 1 / math.sqrt(x)


def _expm1_of_complex(z: complex) -> complex:
    """By formulas that keep their digits near 0; either zero in place of the real part gives 0."""
    x, y = z.real, z.imag
    real = math.expm1(x) * math.cos(y) - 2 * math.sin(y / 2) ** 2
    return complex(real + 0.0, math.exp(x) * math.sin(y))


def _log1p_of_complex(z: complex) -> complex:
    x, y = z.real, z.imag
    return complex(math.log1p(x * (2 + x) + y * y) / 2, math.atan2(y, 1 + x))


_REAL: Final = REAL | {Bool}
NEAR_ZERO: Final = (0.0, -0.0, 2.0**-70, -(2.0**-67), 2.0**-30, -(2.0**-31), 0.0625, -0.125)
"""Parts of complex numbers near 0, of few bits, so that every dtype holds them."""

ROWS: Final = (
    Row(exponential.exp, math.exp, cmath.exp),
    Row(exponential.sqrt, math.sqrt, cmath.sqrt, ulps=0),
    Row(exponential.expm1, math.expm1, _expm1_of_complex),
    Row(exponential.exp2, lambda x: math.inf if x >= 1024 else 2.0**x, lambda z: cmath.exp(z * math.log(2))),
    Row(exponential.log2, _log2, lambda z: cmath.log(z) / math.log(2), start=1),
    Row(exponential.log10, _log10, cmath.log10, start=1),
    Row(exponential.cbrt, _cbrt, accepts=_REAL),
    Row(exponential.log, logarithm, cmath.log, start=1),
    Row(exponential.log1p, _log1p, _log1p_of_complex, start=0),
    Row(exponential.rsqrt, _reciprocal_root, lambda z: 1 / cmath.sqrt(z), start=1),
    Row(exponential.erf, math.erf, accepts=_REAL),
    Row(exponential.erfc, math.erfc, accepts=_REAL, ulps=8),
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for row in ROWS:
        yield from cases_of(row)
        if row.call in (exponential.expm1, exponential.log1p):
            for dtype in (C32, C64):
                numbers = [complex(x, y) for x in NEAR_ZERO for y in NEAR_ZERO]
                yield case_of(row, f"{dtype} near 0", HostTensor.from_flat(numbers, (len(numbers),), dtype))
    of_two: Any = arithmetic.Row(exponential.logaddexp, logaddexp, _REAL, inexact)
    for case in arithmetic.binary_cases(of_two):
        yield case if case.error else case._replace(ulps=4)


def cases_of(row: Row, /) -> Iterator[Case]:
    """Dtypes, shapes and edges of one function."""
    for dtype in DTYPES:
        a = whole_numbers((2, 3), dtype, row.start)
        if dtype in row.accepts:
            yield case_of(row, str(dtype), a)
        else:
            yield refused(row.name, f"{dtype} refused", (a,), row.call, DTypeError)
    for shape in ((), (0, 2), (2, 1, 2)):
        yield case_of(row, f"shape {shape}", whole_numbers(shape, F64, row.start))
    for dtype in (F32, F64):
        for number in (*EDGES, 1000.0):
            yield case_of(row, f"{dtype} {number}", HostTensor.from_flat([number, number], (2,), dtype))


def case_of(row: Row, label: str, a: HostTensor[Any], /) -> Case:
    """One operand, by the row's oracle."""
    ulps = max(row.ulps, 4) if a.dtype.kind == "complex" else row.ulps
    return Case(row.name, label, (a,), row.call, lambda: elementwise(row.oracle, row.result(a.dtype), a), ulps)
