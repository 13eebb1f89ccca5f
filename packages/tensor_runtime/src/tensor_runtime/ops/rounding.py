"""Rounding to whole numbers, and telling finite numbers from the others.

Rounding keeps the dtype; integers and Bool are whole already and are copied, where NumPy gives ``round`` of Bool in a
half-precision type. A result of zero keeps the sign of the operand.
"""

from __future__ import annotations

from math import prod
from sys import float_info
from typing import Final

from tensor_core.dtypes import COMPLEX, FLOATING, REAL, Bool, DType
from tensor_core.errors import ArgumentError, CastRangeError, DTypeError
from tensor_runtime.dispatch.arguments import whole
from tensor_runtime.dispatch.call import execute_unary
from tensor_runtime.dispatch.conversion import cast
from tensor_runtime.dispatch.dtype_rules import boolean
from tensor_runtime.dispatch.out import Out, written
from tensor_runtime.dispatch.spec import ElementwiseSpec
from tensor_runtime.ops.arithmetic import divide, multiply
from tensor_runtime.ops.complex_parts import complex, imag, real
from tensor_runtime.static_types.results import boolean_dtype, same_dtype_out
from tensor_runtime.tensors.tensor import Tensor, unwrap

_ORDERED: Final = REAL | {Bool}

FLOOR: Final = ElementwiseSpec("floor", accepts=_ORDERED)
CEIL: Final = ElementwiseSpec("ceil", accepts=_ORDERED)
TRUNC: Final = ElementwiseSpec("trunc", accepts=_ORDERED)
ROUND: Final = ElementwiseSpec("round")
ISNAN: Final = ElementwiseSpec("isnan", result_dtype=boolean)
ISINF: Final = ElementwiseSpec("isinf", result_dtype=boolean)
ISFINITE: Final = ElementwiseSpec("isfinite", result_dtype=boolean)


@same_dtype_out
def floor(a: Tensor, /, out: Out = None) -> Tensor:
    """The greatest whole number not above the element. Not for complex operands.

    >>> floor(tensor([1.5, -1.5]))
    Tensor(F64, (2,), column-major, cpu)
      1.0  -2.0
    """
    return execute_unary(FLOOR, a, out)


@same_dtype_out
def ceil(a: Tensor, /, out: Out = None) -> Tensor:
    """The least whole number not below the element. Not for complex operands.

    >>> ceil(tensor([1.5, -1.5]))
    Tensor(F64, (2,), column-major, cpu)
      2.0  -1.0
    """
    return execute_unary(CEIL, a, out)


@same_dtype_out
def trunc(a: Tensor, /, out: Out = None) -> Tensor:
    """The element without its fraction: rounded toward zero. Not for complex operands.

    >>> trunc(tensor([1.5, -1.5]))
    Tensor(F64, (2,), column-major, cpu)
      1.0  -1.0
    """
    return execute_unary(TRUNC, a, out)


@same_dtype_out
def round(a: Tensor, /, decimals: int = 0, out: Out = None) -> Tensor:
    """The nearest number of so many decimals, step by step; see ``tensor_runtime.round``.

    >>> round(tensor([0.5, 1.5, -2.6])).tolist(), round(tensor([0.125, 1.26]), 2).tolist()
    ([0.0, 2.0, -3.0], [0.12, 1.26])
    """
    places = whole("round", "decimals", decimals)
    dtype = unwrap("round", a)[0].dtype if places else None
    if dtype is Bool and places < 0:
        raise DTypeError(
            f"round: the operand is Bool and decimals {places}; accepted below 0: C32, C64, F32, F64, I32, I64",
            operation="round",
        )
    if dtype is None or (places > 0 and dtype not in FLOATING):
        return execute_unary(ROUND, a, out)
    found = complex(_to(places, real(a)), _to(places, imag(a))) if dtype in COMPLEX else _to(places, a)
    return found if out is None else written("round", out, found, a)


def _to(places: int, a: Tensor) -> Tensor:
    """Rounded to decimals other than 0, of the same dtype."""
    scale = power_of_ten(abs(places))
    there, back = (multiply, divide) if places > 0 else (divide, multiply)
    found = back(execute_unary(ROUND, there(a, scale)), scale)
    return found if found.dtype is a.dtype else _as_integers(found, a.dtype)


def _as_integers(found: Tensor, dtype: DType) -> Tensor:
    try:
        return cast(found, dtype)
    except CastRangeError as error:
        fields = vars(error)
        raise CastRangeError(
            f"round: element {fields['index']} becomes {fields['value']!r}, out of range for {dtype}; accepted: "
            "multiples that it holds; round convert(x, F64) for others",
            **{**fields, "operation": "round"},
        ) from None


def power_of_ten(places: int) -> float:
    """As a product of tens, which is what NumPy scales by; refused where it is beyond any float.

    >>> power_of_ten(2)
    100.0
    """
    if places > float_info.max_10_exp:
        raise ArgumentError(
            f"round: decimals are {places} away from 0; accepted: -{float_info.max_10_exp} to {float_info.max_10_exp}",
            operation="round",
        )
    return prod([10.0] * places)


@boolean_dtype
def isnan(a: Tensor, /, out: Out = None) -> Tensor:
    """Whether an element is NaN; of complex operands, either part. Any dtype; integers and Bool never are.

    >>> isnan(tensor([1.0, float("nan")]))
    Tensor(Bool, (2,), column-major, cpu)
     False   True
    """
    return execute_unary(ISNAN, a, out)


@boolean_dtype
def isinf(a: Tensor, /, out: Out = None) -> Tensor:
    """Whether an element is an infinity of either sign; of complex operands, either part. Any dtype.

    >>> isinf(tensor([1.0, float("-inf")]))
    Tensor(Bool, (2,), column-major, cpu)
     False   True
    """
    return execute_unary(ISINF, a, out)


@boolean_dtype
def isfinite(a: Tensor, /, out: Out = None) -> Tensor:
    """Whether an element is neither NaN nor an infinity; of complex operands, both parts. Any dtype.

    >>> isfinite(tensor([1.0, float("inf"), float("nan")]))
    Tensor(Bool, (3,), column-major, cpu)
      True  False  False
    """
    return execute_unary(ISFINITE, a, out)
