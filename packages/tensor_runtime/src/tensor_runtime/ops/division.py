"""Division with a whole quotient, and its remainders.

Quotients are rounded down (``floor_divide``, what ``remainder`` leaves) or toward zero (``trunc_divide``, what ``fmod``
leaves). For finite operands, ``floor_divide(a, b) * b + remainder(a, b)`` is ``a``, and so is
``trunc_divide(a, b) * b + fmod(a, b)``: exactly for integers, to rounding for floats.

Integers refuse a zero divisor, where NumPy warns and gives 0; ``check=False`` gives 0 too, and spares the host the wait
for a device's word that nothing was wrong. Floats follow IEEE 754. Where the result has no element, nothing is divided
and nothing refused.
"""

from __future__ import annotations

from typing import Any, Final

from tensor_core.dtypes import FLOATING, REAL
from tensor_runtime.dispatch.arguments import flag
from tensor_runtime.dispatch.call import execute_binary
from tensor_runtime.dispatch.out import Out
from tensor_runtime.dispatch.spec import PYTHON_NUMBERS, ElementwiseSpec
from tensor_runtime.form import Form
from tensor_runtime.protocols import Result
from tensor_runtime.static_types.results import common_dtype
from tensor_runtime.tensors.tensor import Number, Tensor


def zero_divisor(kernel: str, operands: tuple[Any, ...], result: Result, params: Any, /) -> str | None:
    """What a checked division may refuse, as ``KernelFacts.refuses`` says it: integers, unless the divisor is known.

    >>> form = tensor([1])._form
    >>> zero_divisor("remainder", (form, int), form, None), zero_divisor("remainder", (form, 2), form, None)
    ('remainder of integers refuses a zero divisor', None)
    """
    assert isinstance(result, Form)
    divisor = operands[1]
    known = type(divisor) in PYTHON_NUMBERS and divisor != 0
    return None if result.dtype in FLOATING or known else f"{kernel} of integers refuses a zero divisor"


def _spec(name: str) -> ElementwiseSpec:
    return ElementwiseSpec(name, 2, accepts=REAL, refuses=zero_divisor)


def _unchecked(name: str) -> ElementwiseSpec:
    return ElementwiseSpec(name, 2, accepts=REAL, kernel=f"{name}_unchecked")


FLOOR_DIVIDE: Final = _spec("floor_divide")
REMAINDER: Final = _spec("remainder")
TRUNC_DIVIDE: Final = _spec("trunc_divide")
FMOD: Final = _spec("fmod")
_UNCHECKED: Final = {spec: _unchecked(spec.name) for spec in (FLOOR_DIVIDE, REMAINDER, TRUNC_DIVIDE, FMOD)}


@common_dtype
def floor_divide(a: Tensor | Number, b: Tensor | Number, /, *, check: bool = True, out: Out = None) -> Tensor:
    """Quotient rounded down, element by element; also ``a // b``.

    Args:
        a: I32, I64, F32 or F64 of any shape, or a Python number. Not Bool, not complex.
        b: broadcasts with ``a``.
        check: whether a zero divisor of integers is an error; if not, its quotient is 0. Reading that status makes the
            host wait for a device.

    Returns:
        Their common dtype and broadcast shape. The smallest integer divided by -1 wraps to itself. Of floats, the
        quotient that goes with :func:`remainder`: 1.0 // 0.1 is 9.0; by zero an infinity or NaN, of an infinity NaN.

    Raises:
        DivisionByZeroError: an integer divisor is 0; its ``index`` is that of the first one in ``b``, in column-major
            order, None for a Python number.
        ShapeError: the shapes do not broadcast.
        PlacementError: the operands live in different places.
        DTypeError: a dtype that is not accepted.

    >>> floor_divide(tensor([-7, 7]), 2)
    Tensor(I64, (2,), column-major, cpu)
     -4   3
    >>> floor_divide(tensor([1, 2]), tensor([1, 0]))
    Traceback (most recent call last):
        ...
    tensor_core.errors.DivisionByZeroError: floor_divide: the divisor at index (1,) is 0, and integers have no infinity; replace zeros with where(), or convert to F64 first
    """  # noqa: E501
    return execute_binary(FLOOR_DIVIDE if flag("floor_divide", "check", check) else _UNCHECKED[FLOOR_DIVIDE], a, b, out)


@common_dtype
def remainder(a: Tensor | Number, b: Tensor | Number, /, *, check: bool = True, out: Out = None) -> Tensor:
    """What :func:`floor_divide` leaves, with the sign of the divisor, as Python's ``%``; also ``a % b``.

    The smallest integer leaves 0 beside -1. Of floats: a zero divisor or an infinite ``a`` gives NaN; beside an
    infinite divisor of the other sign, that infinity. Arguments and errors as for :func:`floor_divide`.

    >>> remainder(tensor([-7, 7]), tensor([2, -2]))
    Tensor(I64, (2,), column-major, cpu)
      1  -1
    """
    return execute_binary(REMAINDER if flag("remainder", "check", check) else _UNCHECKED[REMAINDER], a, b, out)


@common_dtype
def trunc_divide(a: Tensor | Number, b: Tensor | Number, /, *, check: bool = True, out: Out = None) -> Tensor:
    """Quotient rounded toward zero, as in C. Arguments and errors as for :func:`floor_divide`.

    Of floats, the quotient that goes with :func:`fmod`; by zero an infinity or NaN, of an infinity NaN; a quotient
    between -1 and 0 gives -0.0.

    >>> trunc_divide(tensor([-7, 7]), 2)
    Tensor(I64, (2,), column-major, cpu)
     -3   3
    """
    return execute_binary(TRUNC_DIVIDE if flag("trunc_divide", "check", check) else _UNCHECKED[TRUNC_DIVIDE], a, b, out)


@common_dtype
def fmod(a: Tensor | Number, b: Tensor | Number, /, *, check: bool = True, out: Out = None) -> Tensor:
    """What :func:`trunc_divide` leaves, with the sign of ``a``, as C's ``fmod``: exact.

    The smallest integer leaves 0 beside -1. Of floats: a zero divisor or an infinite ``a`` gives NaN; an infinite
    divisor leaves ``a``. Arguments and errors as for :func:`floor_divide`.

    >>> fmod(tensor([-7, 7]), tensor([2, -2]))
    Tensor(I64, (2,), column-major, cpu)
     -1   1
    """
    return execute_binary(FMOD if flag("fmod", "check", check) else _UNCHECKED[FMOD], a, b, out)
