"""Nearly equal elements: ``isclose`` and ``allclose``, whose steps are one kernel where the backend fuses."""

from __future__ import annotations

from typing import Any, Final

from tensor_core.dtypes import F64
from tensor_core.errors import ArgumentError, shortened
from tensor_runtime.backends.error_translation import naming
from tensor_runtime.dispatch.arguments import flag
from tensor_runtime.dispatch.conversion import as_number, convert
from tensor_runtime.dispatch.out import Out
from tensor_runtime.fusion.fuse import fuse
from tensor_runtime.ops.arithmetic import abs as abs_of
from tensor_runtime.ops.arithmetic import add, multiply, subtract
from tensor_runtime.ops.comparison import equal, less_equal
from tensor_runtime.ops.logic import logical_and, logical_or
from tensor_runtime.ops.reduction import all as all_of
from tensor_runtime.ops.rounding import isfinite, isnan
from tensor_runtime.ops.selecting import tensors_of
from tensor_runtime.tensors.tensor import Number, Tensor


@naming("fuse", "subtract")
def isclose(
    a: Tensor | Number,
    b: Tensor | Number,
    /,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
    *,
    out: Out = None,
) -> Tensor:
    """Whether elements are nearly equal: abs(a - b) <= atol + rtol * abs(b); NumPy's function.

    Equal infinities are close; NaN is to nothing, or to NaN if ``equal_nan``.

    Args:
        a, b: tensors that broadcast, of any dtypes, or one of them a number.
        rtol: relative to ``b``; 0 or more.
        atol: 0 or more.
        equal_nan: whether NaN is close to NaN.

    Raises:
        ShapeError: the shapes do not broadcast.
        PlacementError: they live in different places.

    >>> isclose(tensor([1.0, 1e-9]), tensor([1.0 + 1e-7, 0.0])).to_numpy().tolist()
    [True, True]
    """
    compare = _close_or_nan if flag("isclose", "equal_nan", equal_nan) else _close
    x, y = tensors_of("isclose", a, b)
    found: Tensor = compare(x, y, _tolerance("rtol", rtol), _tolerance("atol", atol), out=out)
    return found


def allclose(
    a: Tensor | Number, b: Tensor | Number, /, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether all elements are nearly equal, as a Python bool: :func:`isclose` of each, which the host waits for.

    >>> allclose(tensor([1.0, 2.0]), tensor([1.0, 2.0 + 1e-9])), allclose(tensor([1.0]), 2)
    (True, False)
    """
    return bool(all_of(_each_close(a, b, rtol, atol, equal_nan)))


_each_close: Final = naming("isclose", own="allclose")(isclose)


@fuse
def _close(a: Tensor, b: Tensor, rtol: float, atol: float) -> Tensor:
    return _nearness(_inexact(a), _inexact(b), rtol, atol)


@fuse
def _close_or_nan(a: Tensor, b: Tensor, rtol: float, atol: float) -> Tensor:
    x, y = _inexact(a), _inexact(b)
    return logical_or(_nearness(x, y, rtol, atol), logical_and(isnan(x), isnan(y)))


def _nearness(x: Tensor, y: Tensor, rtol: float, atol: float) -> Tensor:
    bound = add(multiply(abs_of(y), rtol), atol)
    near = logical_and(less_equal(abs_of(subtract(x, y)), bound), isfinite(y))
    return logical_or(near, equal(x, y))


def _inexact(x: Tensor) -> Tensor:
    return x if x.dtype.kind in ("float", "complex") else convert(x, F64)


def _tolerance(name: str, value: Any) -> float:
    number = as_number("isclose", value)
    if isinstance(number, complex) or not number >= 0:
        raise ArgumentError(f"isclose: {name} is {shortened(value)}; accepted: a real number of 0 or more")
    return float(number)
