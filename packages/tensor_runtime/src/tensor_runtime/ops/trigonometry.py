"""Trigonometric and hyperbolic functions, element by element.

Dtypes, accuracy and results as in ``tensor_runtime.ops.exponential``: integers and Bool give F64, complex operands the
principal value. Angles are in radians.
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

SIN: Final = ElementwiseSpec("sin", result_dtype=inexact)
COS: Final = ElementwiseSpec("cos", result_dtype=inexact)
TAN: Final = ElementwiseSpec("tan", result_dtype=inexact)
ASIN: Final = ElementwiseSpec("asin", result_dtype=inexact)
ACOS: Final = ElementwiseSpec("acos", result_dtype=inexact)
ATAN: Final = ElementwiseSpec("atan", result_dtype=inexact)
SINH: Final = ElementwiseSpec("sinh", result_dtype=inexact)
COSH: Final = ElementwiseSpec("cosh", result_dtype=inexact)
TANH: Final = ElementwiseSpec("tanh", result_dtype=inexact)
ASINH: Final = ElementwiseSpec("asinh", result_dtype=inexact)
ACOSH: Final = ElementwiseSpec("acosh", result_dtype=inexact)
ATANH: Final = ElementwiseSpec("atanh", result_dtype=inexact)
HYPOT: Final = ElementwiseSpec("hypot", 2, accepts=REAL | {Bool}, result_dtype=inexact)
ATAN2: Final = ElementwiseSpec("atan2", 2, accepts=REAL | {Bool}, result_dtype=inexact)


@inexact_dtype
def sin(a: Tensor, /, out: Out = None) -> Tensor:
    """Sine of an angle in radians; NaN of an infinity.

    >>> sin(tensor([0.0]))
    Tensor(F64, (1,), column-major, cpu)
     0.0
    """
    return execute_unary(SIN, a, out)


@inexact_dtype
def cos(a: Tensor, /, out: Out = None) -> Tensor:
    """Cosine of an angle in radians; NaN of an infinity.

    >>> cos(tensor([0.0]))
    Tensor(F64, (1,), column-major, cpu)
     1.0
    """
    return execute_unary(COS, a, out)


@inexact_dtype
def tan(a: Tensor, /, out: Out = None) -> Tensor:
    """Tangent of an angle in radians; NaN of an infinity.

    >>> tan(tensor([0.0]))
    Tensor(F64, (1,), column-major, cpu)
     0.0
    """
    return execute_unary(TAN, a, out)


@inexact_dtype
def asin(a: Tensor, /, out: Out = None) -> Tensor:
    """Angle in radians, from -π/2 to π/2, whose sine this is; NaN beyond -1 to 1, except for complex operands.

    >>> asin(tensor([0.0, 2.0]))
    Tensor(F64, (2,), column-major, cpu)
     0.0  nan
    """
    return execute_unary(ASIN, a, out)


@inexact_dtype
def acos(a: Tensor, /, out: Out = None) -> Tensor:
    """Angle in radians, from 0 to π, whose cosine this is; NaN beyond -1 to 1, except for complex operands.

    >>> acos(tensor([1.0, 2.0]))
    Tensor(F64, (2,), column-major, cpu)
     0.0  nan
    """
    return execute_unary(ACOS, a, out)


@inexact_dtype
def atan(a: Tensor, /, out: Out = None) -> Tensor:
    """Angle in radians, from -π/2 to π/2, whose tangent this is.

    >>> atan(tensor([0.0]))
    Tensor(F64, (1,), column-major, cpu)
     0.0
    """
    return execute_unary(ATAN, a, out)


@inexact_dtype
def sinh(a: Tensor, /, out: Out = None) -> Tensor:
    """Hyperbolic sine.

    >>> sinh(tensor([0.0]))
    Tensor(F64, (1,), column-major, cpu)
     0.0
    """
    return execute_unary(SINH, a, out)


@inexact_dtype
def cosh(a: Tensor, /, out: Out = None) -> Tensor:
    """Hyperbolic cosine.

    >>> cosh(tensor([0.0]))
    Tensor(F64, (1,), column-major, cpu)
     1.0
    """
    return execute_unary(COSH, a, out)


@inexact_dtype
def tanh(a: Tensor, /, out: Out = None) -> Tensor:
    """Hyperbolic tangent.

    >>> tanh(tensor([0.0, float("inf")]))
    Tensor(F64, (2,), column-major, cpu)
     0.0  1.0
    """
    return execute_unary(TANH, a, out)


@inexact_dtype
def asinh(a: Tensor, /, out: Out = None) -> Tensor:
    """Number whose hyperbolic sine this is.

    >>> asinh(tensor([0.0, 1.0]))
    Tensor(F64, (2,), column-major, cpu)
            0.0  0.88137359
    """
    return execute_unary(ASINH, a, out)


@inexact_dtype
def acosh(a: Tensor, /, out: Out = None) -> Tensor:
    """Number of 0 or more whose hyperbolic cosine this is; NaN below 1, except for complex operands.

    >>> acosh(tensor([1.0, 0.0]))
    Tensor(F64, (2,), column-major, cpu)
     0.0  nan
    """
    return execute_unary(ACOSH, a, out)


@inexact_dtype
def atanh(a: Tensor, /, out: Out = None) -> Tensor:
    """Number whose hyperbolic tangent this is: infinite of ±1, NaN beyond, except for complex operands.

    >>> atanh(tensor([0.0, -1.0, 2.0]))
    Tensor(F64, (3,), column-major, cpu)
      0.0  -inf   nan
    """
    return execute_unary(ATANH, a, out)


@quotient_dtype
def hypot(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """Length of the hypotenuse, sqrt(a² + b²), without overflow or underflow on the way. Real operands and Bool.

    Infinite where an operand is, also beside NaN. Arguments and errors as for :func:`atan2`.

    >>> hypot(tensor([3.0, 1e300]), tensor([4.0, 0.0]))
    Tensor(F64, (2,), column-major, cpu)
        5.0  1e+300
    """
    return execute_binary(HYPOT, a, b, out)


@quotient_dtype
def atan2(y: Tensor | Number, x: Tensor | Number, /, out: Out = None) -> Tensor:
    """Angle in radians, from -π to π, between the positive x axis and the point (x, y).

    Signs of zero choose the side: atan2(-0.0, -1.0) is -π. Both zero gives 0 or ±π, as in C; NaN in either gives NaN.

    Args:
        y: ordinates: real or Bool of any shape, or a Python number. Complex operands are refused.
        x: abscissas; broadcasts with ``y``.

    Returns:
        Their common dtype, F64 for integers and Bool.

    Raises:
        DTypeError: an operand is complex.
        ShapeError: the shapes do not broadcast.
        PlacementError: the operands live in different places.

    >>> atan2(tensor([0.0, 1.0]), tensor([1.0, 0.0]))
    Tensor(F64, (2,), column-major, cpu)
           0.0  1.5707963
    """
    return execute_binary(ATAN2, y, x, out)
