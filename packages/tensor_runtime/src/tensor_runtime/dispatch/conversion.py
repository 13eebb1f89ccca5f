"""Change of dtype: ``convert`` is checked, ``cast`` may lose values, nothing else changes a dtype silently.

``convert`` is decided from dtypes alone: allowed exactly when promoting both gives the target. ``cast`` is defined
for all pairs; its scalar definition is ``tensor_core.cast_scalar``, and every backend gives the same bits.
"""

from __future__ import annotations

from typing import Any, Final

from tensor_core.dtypes import INTEGER, DType, DTypeLike, Element, as_dtype
from tensor_core.errors import DTypeError, PlacementError, TensorError
from tensor_core.foreign import number_of, refuse_masked
from tensor_core.promotion import can_convert
from tensor_runtime.backends.bindings import Binding
from tensor_runtime.backends.kernel_facts import KernelFacts
from tensor_runtime.backends.registry import registry
from tensor_runtime.contracts.contract import bound_params
from tensor_runtime.dispatch.arguments import choice
from tensor_runtime.dispatch.call import execute_with_params
from tensor_runtime.dispatch.dtype_rules import same_shape
from tensor_runtime.dispatch.spec import OpSpec, check_convertible, plain_operand
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import is_stand_in
from tensor_runtime.protocols import Result
from tensor_runtime.static_types.creation import typed_cast, typed_convert, typed_typed
from tensor_runtime.tensors.tensor import Tensor, unwrap

OVERFLOW_POLICIES: Final = ("error", "saturate", "wrap")
Change = tuple[object, str]  # (the dtype as the caller names it, policy)


def _policy(kernel: str, operands: tuple[Any, ...], result: Result, params: Any) -> str | None:
    """The policy on values out of range, where there may be some."""
    (form,) = operands
    assert isinstance(form, Form) and isinstance(result, Form)
    if result.dtype not in INTEGER or can_convert(form.dtype, result.dtype):
        return None
    return f"{kernel} to integers has the policy {params.overflow!r}"


def _out_of_range(kernel: str, operands: tuple[Any, ...], result: Result, params: Any) -> str | None:
    return _policy(kernel, operands, result, params) if params.overflow == "error" else None


class ConversionSpec(OpSpec):
    """A change of dtype. The result's dtype is part of the params, under the name that the caller gave it.

    So a name finds its binding as the dtype itself does, and what it stands for is found out once.

    >>> CAST.infer((zeros(2)._form,), ("int32", "wrap"))
    Form(I32, (2,), cpu)
    """

    __slots__ = ()

    def __init__(self, name: str, facts: KernelFacts) -> None:
        super().__init__(name, result_shape=same_shape, takes_params=True, facts=facts)

    def infer(self, operands: tuple[Any, ...], params: Any = None, /) -> Form:
        """Form of the result; errors as for ``cast`` or ``convert``."""
        (form,) = operands
        dtype = as_dtype(params[0])
        choice(self.name, "overflow", params[1], OVERFLOW_POLICIES)
        if self is CONVERT:
            check_convertible(self.name, form, dtype)
        return form_of(dtype, form.shape, form.placement)

    def _build(self, key: tuple[Form, Change]) -> Binding:
        form, params = key
        result = self.infer((form,), params)
        return registry.bind(self.kernel, (form,), result, bound_params(self.kernel, params[1])), result


CONVERT: Final = ConversionSpec(
    "convert", KernelFacts(elementwise=True, option=lambda kernel, operands, result, params: None)
)
CAST: Final = ConversionSpec("cast", KernelFacts(elementwise=True, refuses=_out_of_range, option=_policy))


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
    form, _ = unwrap("convert", x)
    target = as_dtype(dtype)
    if form.dtype is target:
        return x
    return execute_with_params(CONVERT, x, (target, "error"))


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
    try:
        return execute_with_params(CAST, x, (dtype, overflow))
    except TypeError as error:  # of what cannot be part of a key
        if isinstance(error, TensorError):
            raise
    return execute_with_params(CAST, x, (as_dtype(dtype), choice("cast", "overflow", overflow, OVERFLOW_POLICIES)))


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


def as_number(operation: str, value: object, /) -> Element:
    """The Python number that a user wrote: plainly, as another scalar, or as a tensor of rank 0 on the host.

    Raises:
        DTypeError: it is none.
        PlacementError: a tensor on a device.

    >>> as_number("full", 2.5), as_number("full", tensor(2.5))
    (2.5, 2.5)
    """
    number = number_in(operation, value)
    if number is None:
        refuse_masked(operation, value)
        kind = f"a tensor of shape {value._form.shape}" if isinstance(value, Tensor) else f"a {type(value).__name__}"
        raise DTypeError(
            f"{operation}: the value is {kind}; accepted: Python's bool, int, float and complex", operation=operation
        )
    return number


def number_in(operation: str, value: object, /) -> Element | None:
    """The Python number that a scalar, or a tensor of rank 0 on the host, equals; None for anything else.

    Raises:
        PlacementError: a tensor of rank 0 on a device.

    >>> number_in("full", tensor(2.5)), number_in("full", "2.5")
    (2.5, None)
    """
    number = number_of(value)
    return number_of(plain_number(operation, value)) if number is None and isinstance(value, Tensor) else number


def plain_number(operation: str, value: Any, /) -> Any:
    """A scalar, or a tensor of rank 0 on the host, as the Python number that it equals; anything else as it is.

    Raises:
        PlacementError: a tensor of rank 0 on a device, which is not read silently.

    >>> plain_number("arange", tensor(2)), plain_number("arange", "x")
    (2, 'x')
    """
    if not isinstance(value, Tensor) or value._form.shape:
        return plain_operand(value)
    place = value._form.placement
    if not is_stand_in(place) and not hasattr(registry.backend_for(place), "lend"):
        raise PlacementError(
            f"{operation}: a number is in a tensor on {place}, and nothing is moved silently; write x.item()",
            operation=operation,
            placement=place,
        )
    return value.item()
