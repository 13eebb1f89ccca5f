"""Elementwise arithmetic, under NumPy's names and with NumPy's meaning.

Operands broadcast right-aligned and are promoted to their common dtype; one of two may be a Python number, which
adopts the tensor's dtype when its kind can hold it. Results are owned, compact and column-major. Floats follow IEEE
754 and never warn; integers wrap on overflow.
"""

from __future__ import annotations

from typing import Any, Final

from tensor_core.dtypes import INTEGER, NUMERIC, REAL, Bool
from tensor_core.errors import DTypeError
from tensor_runtime.backends.error_translation import naming
from tensor_runtime.dispatch.call import execute_binary, execute_unary
from tensor_runtime.dispatch.dtype_rules import boolean, component, inexact
from tensor_runtime.dispatch.out import Out
from tensor_runtime.dispatch.spec import PYTHON_NUMBERS, ElementwiseSpec
from tensor_runtime.form import Form
from tensor_runtime.protocols import Result
from tensor_runtime.static_types.results import (
    boolean_dtype,
    common_dtype,
    component_dtype,
    inexact_dtype,
    quotient_dtype,
    same_dtype_out,
)
from tensor_runtime.tensors.tensor import Number, Tensor, unwrap


def _negative_exponent(kernel: str, operands: tuple[Any, ...], result: Result, params: Any, /) -> str | None:
    assert isinstance(result, Form)
    if result.dtype not in INTEGER:
        return None
    exponent = operands[1]
    known = type(exponent) in PYTHON_NUMBERS and exponent >= 0
    return None if known else f"{kernel} of integers refuses a negative exponent"


ADD: Final = ElementwiseSpec("add", 2)
SUBTRACT: Final = ElementwiseSpec("subtract", 2, accepts=NUMERIC)
MULTIPLY: Final = ElementwiseSpec("multiply", 2)
DIVIDE: Final = ElementwiseSpec("divide", 2, result_dtype=inexact)
NEGATIVE: Final = ElementwiseSpec("negative", accepts=NUMERIC)
POSITIVE: Final = ElementwiseSpec("positive", accepts=NUMERIC)
POW: Final = ElementwiseSpec("pow", 2, accepts=NUMERIC, refuses=_negative_exponent)
SIGN: Final = ElementwiseSpec("sign", accepts=NUMERIC)
ABS: Final = ElementwiseSpec("abs", accepts=NUMERIC, result_dtype=component)
COPYSIGN: Final = ElementwiseSpec("copysign", 2, accepts=REAL | {Bool}, result_dtype=inexact)
NEXTAFTER: Final = ElementwiseSpec("nextafter", 2, accepts=REAL | {Bool}, result_dtype=inexact)
SIGNBIT: Final = ElementwiseSpec("signbit", accepts=REAL | {Bool}, result_dtype=boolean)
CONJ: Final = ElementwiseSpec("conj", accepts=NUMERIC)


@common_dtype
def add(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """Sum of two operands, element by element; of Bool, the logical or.

    Args:
        a: any dtype and shape, or a Python number.
        b: broadcasts with ``a``.
        out: a mutable view of the result's shape that receives it; see ``tensor_runtime.dispatch.out``. Every
            function of this module takes one.

    Returns:
        Their common dtype and broadcast shape. Integers wrap.

    Raises:
        ShapeError: the shapes do not broadcast.
        PlacementError: the operands live in different places.
        DTypeError: an operand is no tensor and no Python number.
        LossyConversionError, OverlappingViewError, ReadOnlyError: ``out`` cannot receive the result.

    >>> add(tensor([[1, 2], [3, 4]]), tensor([10, 20]))
    Tensor(I64, (2, 2), column-major, cpu)
     11  22
     13  24
    """
    return execute_binary(ADD, a, b, out)


@common_dtype
def subtract(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """Difference of two operands, element by element; Bool has none. Errors as for :func:`add`.

    >>> subtract(tensor([3.0, 4.0]), 1)
    Tensor(F64, (2,), column-major, cpu)
     2.0  3.0
    """
    return execute_binary(SUBTRACT, a, b, out)


@common_dtype
def multiply(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """Product of two operands, element by element; of Bool, the logical and. Errors as for :func:`add`.

    >>> multiply(tensor([3.0, 4.0]), tensor([2.0, 0.5]))
    Tensor(F64, (2,), column-major, cpu)
     6.0  2.0
    """
    return execute_binary(MULTIPLY, a, b, out)


@quotient_dtype
def divide(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """True quotient, element by element; integers and Bool give F64. Errors as for :func:`add`.

    A zero divisor follows IEEE 754 (an infinity or NaN), for integers too: they are converted first.

    >>> divide(tensor([1, 2, 0]), tensor([2, 0, 0]))
    Tensor(F64, (3,), column-major, cpu)
     0.5  inf  nan
    """
    return execute_binary(DIVIDE, a, b, out)


@common_dtype
def pow(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """Power, element by element; also ``a ** b``. Bool has none; integers wrap.

    ``x ** 0`` is 1, also for 0 and NaN. A negative base with a broken exponent gives NaN; the complex power has its
    branch cut along the negative real axis. I32 and I64 beside a Python float give F64.

    Returns:
        The common dtype and broadcast shape; within 4 rounding units of the exact value for real floats, and the
        products ``a * a`` and ``a * a * a`` when ``b`` is the Python number 2 or 3. On the host also the quotient
        ``1 / a`` and the square root of real floats when it is -1 or 0.5.

    Raises:
        ArgumentError: integers with a negative exponent; ``index`` is that of the first one in ``b``, in column-major
            order, None for a Python number. The host waits for a device's word on that.

    Other errors as for :func:`add`.

    >>> pow(tensor([2, -3]), 3)
    Tensor(I64, (2,), column-major, cpu)
       8  -27
    """
    return execute_binary(POW, a, b, out)


@same_dtype_out
@naming("multiply")
def square(a: Tensor, /, out: Out = None) -> Tensor:
    """``a * a``, element by element; integers wrap. Not for Bool.

    >>> square(tensor([3, -4]))
    Tensor(I64, (2,), column-major, cpu)
      9  16
    """
    form = a._form if type(a) is Tensor else unwrap("square", a)[0]
    if form.dtype is Bool:
        raise DTypeError("square: operand is Bool; accepted: C32, C64, F32, F64, I32, I64", operation="square")
    return execute_binary(MULTIPLY, a, a, out)


@inexact_dtype
@naming("divide")
def reciprocal(a: Tensor, /, out: Out = None) -> Tensor:
    """``1 / a``, element by element: an infinity of 0, with its sign. Integers and Bool give F64.

    NumPy divides integers without a remainder here, which leaves 1, -1 and 0.

    >>> reciprocal(tensor([4.0, -0.0]))
    Tensor(F64, (2,), column-major, cpu)
     0.25  -inf
    """
    return execute_binary(DIVIDE, 1, a, out)


@same_dtype_out
def negative(a: Tensor, /, out: Out = None) -> Tensor:
    """Minus the operand; the smallest integer stays as it is. Not for Bool.

    >>> negative(tensor([1.0, -2.0]))
    Tensor(F64, (2,), column-major, cpu)
     -1.0   2.0
    """
    return execute_unary(NEGATIVE, a, out)


@same_dtype_out
def positive(a: Tensor, /, out: Out = None) -> Tensor:
    """A compact copy of the operand. Not for Bool.

    >>> positive(tensor([1.0, -2.0]))
    Tensor(F64, (2,), column-major, cpu)
      1.0  -2.0
    """
    return execute_unary(POSITIVE, a, out)


@same_dtype_out
def sign(a: Tensor, /, out: Out = None) -> Tensor:
    """-1, 0 or 1; of a complex z, z / |z|, and 0 of 0. Not for Bool.

    Zeros of both signs give +0, NaN gives NaN. A complex number with one infinite part gives 1, -1, i or -i; one with
    a NaN or two infinite parts gives NaN.

    >>> sign(tensor([-2.5, 0.0, 4.0]))
    Tensor(F64, (3,), column-major, cpu)
     -1.0   0.0   1.0
    """
    return execute_unary(SIGN, a, out)


@component_dtype
def abs(a: Tensor, /, out: Out = None) -> Tensor:
    """Magnitude; of a complex operand, the real type of its components. Not for Bool.

    >>> abs(tensor([3 + 4j, -1]))
    Tensor(F64, (2,), column-major, cpu)
     5.0  1.0
    """
    return execute_unary(ABS, a, out)


@same_dtype_out
def conj(a: Tensor, /, out: Out = None) -> Tensor:
    """Complex conjugate; a real operand is copied. Not for Bool.

    >>> conj(tensor([1 + 2j]))
    Tensor(C64 (complex128), (1,), column-major, cpu)
     1.0-2.0j
    """
    return execute_unary(CONJ, a, out)


@quotient_dtype
def copysign(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """Magnitude of ``a`` with the sign of ``b``, of zeros and NaN too. Integers and Bool give F64; not for complex.

    >>> copysign(tensor([1.0, -2.0]), tensor([-0.0, 3.0]))
    Tensor(F64, (2,), column-major, cpu)
     -1.0   2.0
    """
    return execute_binary(COPYSIGN, a, b, out)


@quotient_dtype
def nextafter(a: Tensor | Number, b: Tensor | Number, /, out: Out = None) -> Tensor:
    """The number of the dtype that follows ``a`` in the direction of ``b``; ``b`` itself where they are equal.

    Integers and Bool are taken as F64; not for complex numbers.

    >>> nextafter(tensor([1.0, 0.0]), 2.0).to_numpy().tolist()
    [1.0000000000000002, 5e-324]
    """
    return execute_binary(NEXTAFTER, a, b, out)


@boolean_dtype
def signbit(a: Tensor, /, out: Out = None) -> Tensor:
    """Whether the sign is minus, of -0.0 and of NaN too; as Bool. Not for complex numbers.

    >>> signbit(tensor([-1.0, -0.0, 0.0]))
    Tensor(Bool, (3,), column-major, cpu)
      True   True  False
    """
    return execute_unary(SIGNBIT, a, out)
