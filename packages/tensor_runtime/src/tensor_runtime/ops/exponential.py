"""Elementwise functions: exponentials, logarithms, roots, the error function.

Integers and Bool are computed in F64. Floats follow IEEE 754 and never warn; results are owned, compact and
column-major. Unless a docstring says otherwise, a function takes every dtype, a complex one gives its principal value,
and a real result lies within 4 rounding units of the exact value; a complex one does relative to its magnitude, for
arguments of moderate size.
"""

from __future__ import annotations

from typing import Final

from tensor_core.dtypes import REAL, Bool
from tensor_runtime.dispatch.call import execute_binary, execute_unary
from tensor_runtime.dispatch.dtype_rules import inexact
from tensor_runtime.dispatch.out import Out
from tensor_runtime.dispatch.spec import ElementwiseSpec
from tensor_runtime.static_types.results import inexact_dtype, quotient_dtype
from tensor_runtime.tensors.tensor import Number, Tensor

EXP: Final = ElementwiseSpec("exp", result_dtype=inexact)
EXPM1: Final = ElementwiseSpec("expm1", result_dtype=inexact)
LOG: Final = ElementwiseSpec("log", result_dtype=inexact)
LOG1P: Final = ElementwiseSpec("log1p", result_dtype=inexact)
SQRT: Final = ElementwiseSpec("sqrt", result_dtype=inexact)
EXP2: Final = ElementwiseSpec("exp2", result_dtype=inexact)
LOG2: Final = ElementwiseSpec("log2", result_dtype=inexact)
LOG10: Final = ElementwiseSpec("log10", result_dtype=inexact)
CBRT: Final = ElementwiseSpec("cbrt", accepts=REAL | {Bool}, result_dtype=inexact)
LOGADDEXP: Final = ElementwiseSpec("logaddexp", 2, accepts=REAL | {Bool}, result_dtype=inexact)
RSQRT: Final = ElementwiseSpec("rsqrt", result_dtype=inexact)
ERF: Final = ElementwiseSpec("erf", accepts=REAL | {Bool}, result_dtype=inexact)
ERFC: Final = ElementwiseSpec("erfc", accepts=REAL | {Bool}, result_dtype=inexact)


@inexact_dtype
def exp(a: Tensor, /, out: Out = None) -> Tensor:
    """Exponential; integers and Bool give F64. Within 4 rounding units of the exact value.

    >>> exp(tensor([0.0, 1.0]))
    Tensor(F64, (2,), column-major, cpu)
           1.0  2.7182818
    """
    return execute_unary(EXP, a, out)


@inexact_dtype
def exp2(a: Tensor, /, out: Out = None) -> Tensor:
    """2 to the power ``a``; integers and Bool give F64.

    >>> exp2(tensor([-1.0, 0.5, 3.0]))
    Tensor(F64, (3,), column-major, cpu)
           0.5  1.4142136        8.0
    """
    return execute_unary(EXP2, a, out)


@inexact_dtype
def expm1(a: Tensor, /, out: Out = None) -> Tensor:
    """exp(a) - 1, accurate near 0, where the difference would lose its digits; of complex numbers too.

    Of a complex zero the real part is 0.0, whatever the sign of the operand's.

    >>> expm1(tensor([0.0, 1e-20]))
    Tensor(F64, (2,), column-major, cpu)
       0.0  1e-20
    """
    return execute_unary(EXPM1, a, out)


@inexact_dtype
def log(a: Tensor, /, out: Out = None) -> Tensor:
    """Natural logarithm: minus infinity of 0, NaN below. The complex one has its cut along the negative real axis.

    >>> log(tensor([1.0, 0.0, -1.0]))
    Tensor(F64, (3,), column-major, cpu)
      0.0  -inf   nan
    """
    return execute_unary(LOG, a, out)


@inexact_dtype
def log1p(a: Tensor, /, out: Out = None) -> Tensor:
    """log(1 + a), accurate near 0, of complex numbers too; minus infinity of -1, NaN below.

    The complex one has its cut along the negative real axis from -1 on.

    Source: W. Kahan, Branch cuts for complex elementary functions, in: The State of the Art in Numerical Analysis,
    1987, 165-211.

    >>> log1p(tensor([0.0, 1e-20]))
    Tensor(F64, (2,), column-major, cpu)
       0.0  1e-20
    """
    return execute_unary(LOG1P, a, out)


@inexact_dtype
def log2(a: Tensor, /, out: Out = None) -> Tensor:
    """Logarithm to base 2: minus infinity of 0, NaN below; of complex numbers as :func:`log`.

    >>> log2(tensor([1.0, 8.0, 0.0]))
    Tensor(F64, (3,), column-major, cpu)
      0.0   3.0  -inf
    """
    return execute_unary(LOG2, a, out)


@inexact_dtype
def log10(a: Tensor, /, out: Out = None) -> Tensor:
    """Logarithm to base 10: minus infinity of 0, NaN below; of complex numbers as :func:`log`.

    >>> log10(tensor([1.0, 1000.0, 0.0]))
    Tensor(F64, (3,), column-major, cpu)
      0.0   3.0  -inf
    """
    return execute_unary(LOG10, a, out)


@quotient_dtype
def logaddexp(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """log(exp(a) + exp(b)), which neither overflows nor underflows on the way. Real operands and Bool.

    Within 4 rounding units of the larger operand's magnitude, or of log 2 where that is larger; two equal infinities
    give themselves.

    >>> logaddexp(tensor([0.0, -1000.0]), tensor([0.0, -1000.0]))
    Tensor(F64, (2,), column-major, cpu)
       0.69314718  -999.30685
    """
    return execute_binary(LOGADDEXP, a, b, out)


@inexact_dtype
def cbrt(a: Tensor, /, out: Out = None) -> Tensor:
    """Real cube root, of negative numbers too. Real operands and Bool.

    >>> cbrt(tensor([8.0, -27.0]))
    Tensor(F64, (2,), column-major, cpu)
      2.0  -3.0
    """
    return execute_unary(CBRT, a, out)


@inexact_dtype
def sqrt(a: Tensor, /, out: Out = None) -> Tensor:
    """Square root, correctly rounded for real operands; NaN below zero. Integers and Bool give F64.

    The complex root has its branch cut along the negative real axis.

    >>> sqrt(tensor([4.0, -1.0]))
    Tensor(F64, (2,), column-major, cpu)
     2.0  nan
    """
    return execute_unary(SQRT, a, out)


@inexact_dtype
def rsqrt(a: Tensor, /, out: Out = None) -> Tensor:
    """One over the square root: an infinity of 0, with its sign; NaN below, NaN of complex 0.

    >>> rsqrt(tensor([4.0, 0.0, -1.0]))
    Tensor(F64, (3,), column-major, cpu)
     0.5  inf  nan
    """
    return execute_unary(RSQRT, a, out)


@inexact_dtype
def erf(a: Tensor, /, out: Out = None) -> Tensor:
    """Error function, 2/√π times the integral of exp(-t²) from 0 to a. Real operands and Bool.

    >>> erf(tensor([0.0, float("inf")]))
    Tensor(F64, (2,), column-major, cpu)
     0.0  1.0
    """
    return execute_unary(ERF, a, out)


@inexact_dtype
def erfc(a: Tensor, /, out: Out = None) -> Tensor:
    """1 - erf(a), accurate where that is small. Real operands and Bool.

    Within 8 rounding units of the exact value, also where that is subnormal, so that a unit is the smallest number.

    >>> erfc(tensor([0.0, float("inf")]))
    Tensor(F64, (2,), column-major, cpu)
     1.0  0.0
    """
    return execute_unary(ERFC, a, out)
