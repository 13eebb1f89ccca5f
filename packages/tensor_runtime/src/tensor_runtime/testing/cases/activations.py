"""Cases of ``tensor_runtime.ops.activations``, by their definitions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from tensor_core.dtypes import DTYPES, F32, F64, REAL, Bool, DType
from tensor_core.errors import ArgumentError, AxisError, DTypeError
from tensor_core.host.tensor import HostTensor
from tensor_runtime.dispatch.dtype_rules import inexact, reduced_axes
from tensor_runtime.dispatch.spec import same
from tensor_runtime.ops import activations
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.cases.exponential import Row, cases_of
from tensor_runtime.testing.oracle import Host, Index, indices, tabulated, whole_numbers

_REAL: Final = REAL | {Bool}


def logistic(x: float, /) -> float:
    """1 / (1 + exp(-x)).

    >>> logistic(0.0), logistic(-1000.0)
    (0.5, 0.0)
    """
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x)) if x < 0 else x


def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x))) if x == x else x


def _weighted(weight: Callable[[float], float]) -> Callable[[float], float]:
    """``x * weight(x)``, with its limit at minus infinity."""
    return lambda x: -0.0 if x == -math.inf else x * weight(x)


def _normal(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def _nearly_normal(x: float) -> float:
    return logistic(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))  # (1 + tanh(u)) / 2 without its cancellation


def _tanh_gelu(x: Any) -> Any:
    return activations.gelu(x, approximate="tanh")


_tanh_gelu.__name__ = "gelu"

ROWS: Final = (
    Row(activations.sigmoid, logistic, accepts=_REAL),
    Row(activations.silu, _weighted(logistic), accepts=_REAL, ulps=8),
    Row(activations.softplus, _softplus, accepts=_REAL, ulps=8),
    Row(activations.gelu, _weighted(_normal), accepts=_REAL, ulps=8),
    Row(activations.relu, lambda x: x if x > 0 or x != x else 0, accepts=REAL, result=same, ulps=1),
)


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for row in ROWS:
        yield from cases_of(row)
    approximate = Row(_tanh_gelu, _weighted(_nearly_normal), accepts=_REAL, ulps=8)
    for case in cases_of(approximate):
        yield case._replace(label=f"tanh {case.label}")
    yield refused(
        "gelu",
        "another approximation",
        (whole_numbers((2,), F64),),
        lambda x: activations.gelu(x, approximate="fast"),
        ArgumentError,
    )
    for function in (activations.softmax, activations.log_softmax):
        yield from _softmax(function)


def _softmax(function: Any) -> Iterator[Case]:
    name = function.__name__
    for dtype in DTYPES:
        x = whole_numbers((2, 3), dtype)
        if dtype in _REAL:
            yield _softmax_case(function, str(dtype), x, -1)
        else:
            yield refused(name, f"{dtype} refused", (x,), function, DTypeError)
    for axis in (0, (0, 2), None, ()):
        yield _softmax_case(function, f"axis {axis}", whole_numbers((2, 3, 2), F64), axis)
    for shape, axis in (((), None), ((0,), 0), ((2, 0), -1), ((0, 2), -1), ((1,), 0)):
        yield _softmax_case(function, f"shape {shape} axis {axis}", whole_numbers(shape, F32), axis)
    for label, line in (
        ("large", [1000.0, 1000.0, -1000.0]),
        ("minus infinity", [-math.inf, 0.0, 1.0]),
        ("minus infinities", [-math.inf] * 3),
        ("infinity", [math.inf, 0.0, 1.0]),
        ("NaN", [0.0, math.nan, 1.0]),
    ):
        for dtype in (F32, F64):
            yield _softmax_case(function, f"{dtype} {label}", HostTensor.from_flat(line, (3,), dtype), -1)
    x = whole_numbers((2, 3), F64)
    yield refused(name, "axis out of range", (x,), lambda x: function(x, 2), AxisError)
    yield refused(name, "axis twice", (x,), lambda x: function(x, (0, -2)), AxisError)
    yield refused(name, "rank 0", (whole_numbers((), F64),), function, AxisError)


def _softmax_case(function: Any, label: str, x: Host, axis: Any) -> Case:
    name: str = function.__name__
    return Case(name, label, (x,), lambda t: function(t, axis), partial(_along, name, x, axis), 16)


def _along(name: str, x: Host, axis: Any) -> Host:
    axes = reduced_axes(name, x.rank, axis)
    extents = [extent if position in axes else 1 for position, extent in enumerate(x.shape)]
    dtype: DType = inexact(x.dtype)

    def rule(index: Index) -> float:
        start = [0 if position in axes else i for position, i in enumerate(index)]
        line = [float(x[tuple(i + j for i, j in zip(start, step, strict=True))]) for step in indices(extents)]
        return share(float(x[index]), line, name == "log_softmax")

    return tabulated(x.shape, dtype, rule)


def share(value: float, line: Sequence[float], logarithm: bool, /) -> float:
    """exp(value) as a part of the sum over the line, or its logarithm.

    >>> share(0.0, [0.0, 0.0], False)
    0.5
    """
    if any(x != x or x == math.inf for x in line) or max(line) == -math.inf:
        return math.nan
    total = math.fsum(math.exp(x - max(line)) for x in line)
    if logarithm:
        return value - max(line) - math.log(total)
    return math.exp(value - max(line)) / total
