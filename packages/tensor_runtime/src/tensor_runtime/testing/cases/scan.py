"""Cases of ``tensor_runtime.ops.scan``: running sums and products, and folds strictly from left to right."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from itertools import accumulate
from typing import Any, Final

from tensor_core.dtypes import DTYPES, F64, I32, I64, DType
from tensor_core.errors import ArgumentError, AxisError
from tensor_core.host.tensor import HostTensor
from tensor_runtime.dispatch.dtype_rules import accumulator
from tensor_runtime.ops import scan
from tensor_runtime.ops.arithmetic import subtract
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, Index, reduced, tabulated, whole_numbers

_RUNNING: Final = ((scan.cumsum, operator.add), (scan.cumprod, operator.mul))


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for call, step in _RUNNING:
        yield from _running_cases(call, step)
    difference = partial(scan.fold, subtract)
    for dtype in (F64, I32):
        x = whole_numbers((2, 3, 2), dtype)
        for axis in (0, 1, -1):
            last = partial(_folded, x, axis % 3)
            yield Case("fold", f"{dtype} axis {axis}", (x,), partial(difference, axis=axis), last)
            yield Case(
                "scan",
                f"{dtype} axis {axis}",
                (x,),
                partial(scan.scan, subtract, axis=axis),
                partial(accumulated, operator.sub, dtype, x, axis % 3),
            )
    vector = HostTensor.from_nested([10, 3, 2])
    yield Case("fold", "from a number", (vector,), partial(difference, initial=100), partial(_number, 85))
    yield Case("fold", "over nothing", (vector,), _fold_nothing, partial(_number, 7))
    yield refused("fold", "over nothing, from nothing", (vector,), lambda x: scan.fold(subtract, x[:0]), ArgumentError)
    yield refused("fold", "axis out of range", (vector,), partial(difference, axis=1), AxisError)
    yield refused("scan", "another shape", (vector,), lambda x: scan.scan(lambda a, b: x, x), ArgumentError)


def accumulated(step: Callable[[Any, Any], Any], dtype: DType, x: Host, axis: int, /) -> Host:
    """``step`` of all elements up to each one along an axis, from the first to the last.

    >>> accumulated(operator.sub, I64, HostTensor.from_nested([10, 3, 2]), 0).to_nested()
    [10, 7, 5]
    """

    def rule(index: Index) -> Any:
        line: Sequence[Any] = [x[(*index[:axis], i, *index[axis + 1 :])] for i in range(index[axis] + 1)]
        return list(accumulate(line, step))[-1]

    return tabulated(x.shape, dtype, rule)


def _running_cases(call: Callable[..., Any], step: Callable[[Any, Any], Any]) -> Iterator[Case]:
    name = call.__name__

    def case(label: str, x: Host, axis: int | None) -> Case:
        result = partial(accumulated, step, accumulator(x.dtype), x, 0 if axis is None else axis % x.rank)
        return Case(name, label, (x,), partial(call, axis=axis), result, ulps=1)  # the sign of a zero is free

    for dtype in DTYPES:
        yield case(str(dtype), whole_numbers((2, 3), dtype), 1)
    for axis in (0, 1, -1):
        yield case(f"axis {axis}", whole_numbers((2, 3, 4), F64), axis)
    yield case("rank 1 without an axis", whole_numbers((5,), F64), None)
    yield case("extent 0", whole_numbers((2, 0), F64), 1)
    yield case("I64 wraps", HostTensor.from_nested([2**63 - 1, 2, 3]), 0)
    matrix = whole_numbers((2, 3), F64)
    yield refused(name, "rank 2 without an axis", (matrix,), call, ArgumentError)
    yield refused(name, "axis out of range", (matrix,), partial(call, axis=2), AxisError)
    yield refused(name, "rank 0", (whole_numbers((), F64),), partial(call, axis=0), AxisError)


def _folded(x: Host, axis: int) -> Host:
    return reduced(partial(reduce, operator.sub), x.dtype, x, (axis,))


def _fold_nothing(x: Any) -> Any:
    return scan.fold(subtract, x[:0], initial=7)


def _number(value: int) -> Host:
    return HostTensor.from_flat([value], (), I64)
