"""Change of dtype: ``convert`` is checked, ``cast`` may lose values, nothing else changes a dtype silently.

``convert`` is decided from dtypes alone: allowed exactly when promoting both gives the target. ``cast`` is defined
for all pairs; its scalar definition is ``tensor_core.cast_scalar``, and every backend gives the same bits.
"""

from __future__ import annotations

from typing import Any, Final

from tensor_core.dtypes import INTEGER, DType, DTypeLike, as_dtype
from tensor_core.errors import DTypeError, LossyConversionError
from tensor_core.foreign import number_of, refuse_masked
from tensor_core.promotion import can_convert, promote_scalar
from tensor_runtime.backends.bindings import Binding, BindingTable
from tensor_runtime.backends.error_translation import MISSES, call_translated, fail
from tensor_runtime.backends.kernel_facts import KernelFacts, state
from tensor_runtime.backends.registry import registry
from tensor_runtime.contracts.contract import bound_params
from tensor_runtime.dispatch.arguments import choice
from tensor_runtime.dispatch.spec import PYTHON_NUMBERS
from tensor_runtime.form import Form, form_of
from tensor_runtime.protocols import Result
from tensor_runtime.static_types.creation import typed_cast, typed_convert, typed_typed
from tensor_runtime.tensors.tensor import Number, Tensor, unwrap, wrap

_EXPLICIT: Final = {"bool": "bool(x)", "int": "int(x)", "float": "x.real", "complex": "complex(x)"}
OVERFLOW_POLICIES: Final = ("error", "saturate", "wrap")


def check_convertible(operation: str, source: Form | type, target: DType, /) -> None:
    """Refuse a conversion that is not in the promotion lattice; a Python number adopts ``target`` when its kind can.

    >>> from tensor_core import F64, I64
    >>> check_convertible("copy_into", float, I64)
    Traceback (most recent call last):
        ...
    tensor_core.errors.LossyConversionError: copy_into: float to I64 can lose values; write int(x) for a number
    """
    if isinstance(source, Form):
        allowed, name = can_convert(source.dtype, target), str(source.dtype)
    else:
        allowed, name = source in PYTHON_NUMBERS and promote_scalar(target, source) is target, source.__name__
    if not allowed:
        explicit = f"cast(x, {target.name}) does it all the same"
        if not isinstance(source, Form):  # cast takes tensors; a Python number has Python's own
            explicit = f"write {_EXPLICIT[target.kind]} for a number"
            if source is complex and target.kind == "int":
                explicit = "write int(x.real) for a number"
        raise LossyConversionError(
            f"{operation}: {name} to {target} can lose values; {explicit}",
            operation=operation,
            target=target,
        )


def _bind_conversion(key: tuple[str, Form, DType, str]) -> Binding:
    operation, form, dtype, overflow = key
    result = form_of(dtype, form.shape, form.placement)
    return registry.bind(operation, (form,), result, bound_params(operation, overflow)), result


def _policy(kernel: str, operands: tuple[Any, ...], result: Result, params: Any) -> str | None:
    """The policy on values out of range, where there may be some."""
    (form,) = operands
    assert isinstance(form, Form) and isinstance(result, Form)
    if result.dtype not in INTEGER or can_convert(form.dtype, result.dtype):
        return None
    return f"{kernel} to integers has the policy {params.overflow!r}"


def _out_of_range(kernel: str, operands: tuple[Any, ...], result: Result, params: Any) -> str | None:
    return _policy(kernel, operands, result, params) if params.overflow == "error" else None


state("convert", KernelFacts(elementwise=True, option=lambda kernel, operands, result, params: None))
state("cast", KernelFacts(elementwise=True, refuses=_out_of_range, option=_policy))

_CONVERSIONS: Final = BindingTable(_bind_conversion)


@typed_convert
def convert(x: Tensor, dtype: DTypeLike, /) -> Tensor:
    """Copy of another dtype that can hold the values; checked from the dtypes alone.

    Allowed exactly when ``promote(x.dtype, dtype) == dtype``. That includes I64 to F64 and C64, which rounds integers
    beyond 2**53 to nearest.

    Args:
        x: any shape and layout.
        dtype: one of the seven, its name, or a NumPy dtype.

    Returns:
        An owned compact tensor, or ``x`` itself when it has the dtype already.

    Raises:
        LossyConversionError: the dtype cannot hold the values; ``cast`` goes further.
        DTypeError: no such dtype.

    >>> convert(tensor([1, 2]), "F64")
    Tensor(F64, (2,), column-major, cpu)
     1.0  2.0
    """
    form, array = unwrap("convert", x)
    target = as_dtype(dtype)
    if form.dtype is target:
        return x
    check_convertible("convert", form, target)
    kernel, result = _CONVERSIONS["convert", form, target, "error"]
    return wrap(result, call_translated("convert", result, kernel, array))


@typed_cast
def cast(x: Tensor, dtype: DTypeLike, /, overflow: str = "error") -> Tensor:
    """Copy of another dtype, also where values are lost; defined for every pair of dtypes.

    * Float to integer truncates toward zero. A value out of range, NaN or an infinity is then an error that names the
      first such index in column-major order, or is saturated (NaN gives 0), or wraps modulo 2**n (NaN and
      infinities give 0). I64 to I32 follows the same policy.
    * F64 to F32 rounds to nearest and overflows to an infinity.
    * Complex to real keeps the real part.
    * Anything to Bool is ``x != 0``: NaN is true; a complex number is true when either part is not 0.

    Args:
        x: any shape and layout.
        dtype: one of the seven, its name, or a NumPy dtype.
        overflow: "error", "saturate" or "wrap"; concerns integer targets only.

    Returns:
        An owned compact tensor.

    Raises:
        CastRangeError: a value does not fit and ``overflow`` is "error".
        ArgumentError: another policy.
        DTypeError: no such dtype.

    >>> cast(tensor([1.9, -1.9]), "I32")
    Tensor(I32, (2,), column-major, cpu)
      1  -1
    """
    result = Tensor()
    try:
        kernel, result._form = _CONVERSIONS.found["cast", x._form, dtype, overflow]
    except MISSES:
        return _cast(x, dtype, overflow)
    try:
        result._array = kernel(x._array)
    except Exception as error:
        fail("cast", error, result._form)
    return result


def _cast(x: Tensor, dtype: DTypeLike, overflow: str) -> Tensor:
    """The long way: a first call, a name of a dtype, a mistake."""
    form, array = unwrap("cast", x)
    target = as_dtype(dtype)
    overflow = choice("cast", "overflow", overflow, OVERFLOW_POLICIES)
    kernel, result = _CONVERSIONS["cast", form, target, overflow]
    return wrap(result, call_translated("cast", result, kernel, array))


@typed_typed
def typed(x: Tensor, dtype: DTypeLike, /) -> Tensor:
    """The same tensor, whose dtype is checked here and known to the type checker from here on.

    Args:
        x: any shape and layout.
        dtype: one of the seven; as a class, it makes the result a ``TypedTensor`` of it for the checker.

    Returns:
        ``x`` itself.

    Raises:
        DTypeError: ``x`` has another dtype; ``convert`` changes it.

    >>> x = tensor([1.0, 2.0])
    >>> typed(x, "F64") is x
    True
    """
    found, wanted = unwrap("typed", x)[0].dtype, as_dtype(dtype)
    if found is not wanted:
        raise DTypeError(
            f"typed: the tensor's dtype is {found} and not {wanted}; convert() or cast() makes another one",
            operation="typed",
            found=found,
            accepted=wanted,
        )
    return x


def as_dtype_or(dtype: Any, default: DType, /) -> DType:
    """The dtype that a user names, or the default for None."""
    return default if dtype is None else as_dtype(dtype)


def as_number(operation: str, value: object, /) -> Number:
    """The Python number that a user wrote: plainly, as a NumPy scalar, or as an instance of a subclass.

    Raises:
        DTypeError: it is none.

    >>> as_number("full", 2.5)
    2.5
    """
    number = number_of(value)
    if number is None:
        refuse_masked(operation, value)
        raise DTypeError(
            f"{operation}: the value is a {type(value).__name__}; accepted: Python's bool, int, float and complex",
            operation=operation,
        )
    return number
