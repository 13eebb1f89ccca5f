"""Cases of ``tensor_runtime.ops.normalization``, by exact fractions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import sqrt
from typing import Any

from tensor_core.dtypes import COMPLEX, DTYPES, F32, F64
from tensor_core.errors import ArgumentError, AxisError, DTypeError
from tensor_runtime.dispatch.dtype_rules import inexact
from tensor_runtime.ops.normalization import layer_norm, rms_norm
from tensor_runtime.testing.case import Case, refused
from tensor_runtime.testing.oracle import Host, reduced, tabulated, whole_numbers


def cases() -> Iterator[Case]:
    """Every case of the family."""
    for call, centred in ((layer_norm, True), (rms_norm, False)):
        name = str(call.__name__)
        for dtype in DTYPES:
            x = whole_numbers((2, 3), dtype, -2)
            if dtype in COMPLEX:
                yield refused(name, f"{dtype} refused", (x,), call, DTypeError)
            else:
                yield _case(name, call, str(dtype), x, -1, centred)
        for axis in (0, (0, 2), None, -2):
            yield _case(name, call, f"axis {axis}", whole_numbers((2, 3, 2), F64, -5), axis, centred)
        yield _case(name, call, "no elements", whole_numbers((2, 0), F64), 1, centred)
        x = whole_numbers((2, 3), F32)
        yield refused(name, "an axis out of range", (x,), lambda t, call=call: call(t, 2), AxisError)
        yield refused(name, "a negative eps", (x,), lambda t, call=call: call(t, eps=-1.0), ArgumentError)
    x, weight, bias = whole_numbers((2, 3), F64, 1), whole_numbers((3,), F64, 2), whole_numbers((3,), F64, -1)
    plain = _normalised(x, -1, 0.5, True)
    scaled = tabulated((2, 3), F64, lambda at: plain[at] * weight[at[1]] + bias[at[1]])
    yield Case(
        "layer_norm",
        "scaled",
        (x, weight, bias),
        lambda t, w, b: layer_norm(t, weight=w, bias=b, eps=0.5),
        lambda: scaled,
        ulps=16,
    )


def _case(name: str, call: Callable[..., Any], label: str, x: Host, axis: Any, centred: bool) -> Case:
    return Case(
        name, label, (x,), lambda t: call(t, axis, eps=0.25), lambda: _normalised(x, axis, 0.25, centred), ulps=16
    )


def _normalised(x: Host, axis: Any, eps: float, centred: bool) -> Host:
    dtype = inexact(x.dtype)
    if not x.size:
        return tabulated(x.shape, dtype, lambda at: 0.0)
    axes = range(x.rank) if axis is None else [one % x.rank for one in (axis if isinstance(axis, tuple) else (axis,))]

    def moment(line: Any) -> float:
        exact = [Fraction(one) for one in line]
        middle = sum(exact) / len(exact) if centred else 0
        return sqrt(sum((one - middle) ** 2 for one in exact) / len(exact) + Fraction(eps))

    means = reduced(lambda line: float(sum(map(Fraction, line)) / len(line)), F64, x, tuple(axes), True)
    roots = reduced(moment, F64, x, tuple(axes), True)

    def rule(at: Any) -> float:
        place = tuple(0 if k in axes else i for k, i in enumerate(at))
        return float((x[at] - means[place] if centred else x[at]) / roots[place])

    return tabulated(x.shape, dtype, rule)
