"""Numbers at equal distances: ``arange`` and ``linspace``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import ceil, floor, inf, isfinite
from sys import float_info
from typing import Any, Final

from tensor_core.dtypes import C64, F64, FLOATING, I64, DTypeLike
from tensor_core.errors import ArgumentError, DTypeError, SizeLimitError, SliceError, shortened
from tensor_core.scalar_conversion import to_element
from tensor_runtime.dispatch.arguments import flag, whole
from tensor_runtime.dispatch.conversion import as_dtype_or, plain_number
from tensor_runtime.ops.creation import created
from tensor_runtime.ops.native_calls import place
from tensor_runtime.placement import CPU, Placement
from tensor_runtime.static_types.creation import typed_arange, typed_linspace
from tensor_runtime.tensors.tensor import Number, Tensor

_FAR: Final = 2**62


@typed_arange
def arange(
    start: int | float,
    stop: int | float | None = None,
    step: int | float = 1,
    /,
    *,
    inclusive: bool = False,
    dtype: DTypeLike | None = None,
    placement: Placement | str = CPU,
) -> Tensor:
    """Numbers from ``start`` up to, and without, ``stop``; with one argument, from 0. Element k is start + k * step.

    Args:
        start: first element; left out, 0.
        stop: end, which no element reaches.
        step: distance of neighbours, of either sign.
        inclusive: an element that meets ``stop`` belongs to the result; with a float among the arguments, one within
            4 rounding units of ``(stop - start) / step`` meets it.
        dtype: None takes I64 for ints, F64 with a float among them.
        placement: where it goes.

    Raises:
        SliceError: a step of 0.
        ArgumentError: an argument that is infinite or NaN.
        CastRangeError: an element outside the dtype's range.

    >>> arange(2, 8, 3)
    Tensor(I64, (2,), column-major, cpu)
     2  5
    >>> arange(2, 8, 3, inclusive=True).to_numpy().tolist(), arange(0, 0.3, 0.1, inclusive=True).shape
    ([2, 5, 8], (4,))
    """
    return _arange_call(start, stop, step, inclusive, dtype, placement)


def _arange(start: Any, stop: Any, step: Any, inclusive: bool, dtype: Any, placement: Any) -> Tensor:
    if stop is None:
        start, stop = 0, start
    ints = type(start) is type(stop) is type(step) is int
    if ints and dtype is None and inclusive is False and step > 0 and start > -_FAR and stop < _FAR:
        # What most ask for, of which there is nothing to judge.
        return created("arange", I64, (max(0, int(-((start - stop) // step))),), placement, start, step)
    start, stop, step = (plain_number("arange", value) for value in (start, stop, step))
    for value in (start, stop, step):
        if type(value) not in (int, float) or (type(value) is float and not isfinite(value)):
            raise ArgumentError(
                f"arange: found {shortened(value)}; accepted: finite Python ints and floats", value=value
            )
    if step == 0:
        raise SliceError("arange: the step is 0; give a positive or a negative one")
    ints = all(type(value) is int for value in (start, stop, step))
    extent = _steps_between(start, stop, step, flag("arange", "inclusive", inclusive))
    wanted = as_dtype_or(dtype, I64 if ints else F64)
    if extent:
        to_element(start, wanted)
        to_element(start + (extent - 1) * step, wanted)
    else:
        start, step = 0, 1  # which kernels read, as large as they may be
    return created("arange", wanted, (extent,), placement, start, step)


def _steps_between(start: int | float, stop: int | float, step: int | float, inclusive: bool) -> int:
    """How many numbers lie from start up to stop; the quotient of ints is exact."""
    count: int | float
    if all(type(value) is int for value in (start, stop, step)):
        count = (stop - start) // step + 1 if inclusive else -((start - stop) // step)
    else:
        try:
            count = (stop - start) / step
        except OverflowError:  # an int beyond the range of floats
            count = inf if (stop > start) == (step > 0) else -inf
        if inclusive and isfinite(count):
            nearest = round(count)
            count = (nearest if abs(count - nearest) <= 4 * float_info.epsilon * abs(count) else floor(count)) + 1
    if count > 2**63 - 1:
        raise SizeLimitError(
            f"arange: from {shortened(start)} to {shortened(stop)} by {step} are more than 2**63 - 1 numbers"
        )
    return ceil(max(0, count))


@typed_linspace
def linspace(
    start: Number,
    stop: Number,
    /,
    num: int = 50,
    *,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    placement: Placement | str = CPU,
) -> Tensor:
    """Numbers at equal distances from ``start`` to ``stop``.

    Element k is start + k * step, computed in F64 or C64 and then rounded; the last one is ``stop`` itself.

    Args:
        start: first element, an int, a float or a complex number.
        stop: last element, or, without ``endpoint``, the one that would follow the last.
        num: how many; 0 or more. One number is ``start``.
        endpoint: whether ``stop`` belongs to them; the step is (stop - start) / (num - 1), or without it / num.
        dtype: a floating one; None takes C64 for complex ends, else F64.
        placement: where it goes.

    Raises:
        ArgumentError: an end that is infinite, NaN or no Python number; a count that is negative or no int.
        DTypeError: an integer dtype or Bool (NumPy would round down: ``cast(floor(linspace(...)), I64)``), or a real
            one for complex ends.

    >>> linspace(0, 1, 5)
    Tensor(F64, (5,), column-major, cpu)
      0.0  0.25   0.5  0.75   1.0
    """
    return _linspace_call(start, stop, num, endpoint, dtype, placement)


def _linspace(start: Any, stop: Any, num: Any, endpoint: bool, dtype: Any, placement: Any) -> Tensor:
    ends = [_finite_end(plain_number("linspace", value)) for value in (start, stop)]
    count = whole("linspace", "num", num)
    if count < 0:
        raise ArgumentError(f"linspace: num is {count}; accepted: an int of 0 or more", value=num)
    wanted = as_dtype_or(dtype, C64 if complex in map(type, ends) else F64)
    if wanted not in FLOATING or (wanted.kind != "complex" and complex in map(type, ends)):
        accepted = "C32, C64" if complex in map(type, ends) else "C32, C64, F32, F64"
        raise DTypeError(f"linspace: dtype is {wanted}; accepted: {accepted}", operation="linspace")
    return created("linspace", wanted, (count,), placement, *ends, flag("linspace", "endpoint", endpoint))


def _finite_end(value: Any) -> float | complex:
    try:
        number = complex(value) if type(value) is complex else float(value) if type(value) in (int, float) else None
    except OverflowError:
        number = None
    if number is None or not (isfinite(number.real) and isfinite(number.imag)):
        raise ArgumentError(f"linspace: found {shortened(value)}; accepted: finite Python numbers", value=value)
    return number


# What the functions above call: the ones in Python, or native ones that stand for them (``ops.native_calls``).
_arange_call: Callable[..., Tensor] = _arange
_linspace_call: Callable[..., Tensor] = _linspace
place("arange", _arange, partial(globals().__setitem__, "_arange_call"))
place("linspace", _linspace, partial(globals().__setitem__, "_linspace_call"))
