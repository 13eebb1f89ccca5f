"""Change of element type for whole host tensors: the scalar definitions, applied to every element.

This is the executable specification of ``convert`` and ``cast``: slow, and what every backend's bits are compared with.
"""

from __future__ import annotations

from tensor_core.dtypes import DTypeLike, TensorScalar, as_dtype
from tensor_core.errors import ArgumentError, CastRangeError, DTypeError, shortened
from tensor_core.host.storage import Storage
from tensor_core.host.tensor import HostTensor, HostTensorView, S
from tensor_core.layout import TensorLayout
from tensor_core.promotion import can_convert
from tensor_core.scalar_conversion import OVERFLOW_POLICIES, Overflow, cast_scalar, lossy_conversion
from tensor_core.shapes import unravel_index
from tensor_core.static_types import Any, overload


@overload
def convert(x: HostTensorView[Any], dtype: type[S], /) -> HostTensor[S]: ...
@overload
def convert(x: HostTensorView[Any], dtype: type[TensorScalar], /) -> HostTensor[TensorScalar]: ...  # type: ignore[overload-cannot-match]
@overload
def convert(x: HostTensorView[Any], dtype: DTypeLike, /) -> HostTensor[Any]: ...


def convert(x: HostTensorView[Any], dtype: DTypeLike, /) -> HostTensor[Any]:
    """An owned tensor of another element type that can hold the values; decided from the types alone.

    Allowed exactly when ``promote(x.dtype, dtype)`` is ``dtype``; an owned tensor that has it already is returned
    itself. I64 to F64 and C64 is allowed and rounds integers beyond 2**53.

    Raises:
        LossyConversionError: the type cannot hold the values; ``cast`` goes further.
        DTypeError: no such type, or not a host tensor.

    >>> from tensor_core import F64
    >>> convert(HostTensor.from_nested([1, 2]), F64).to_nested()
    [1.0, 2.0]
    """
    source, target = _checked("convert", x), as_dtype(dtype)
    if not can_convert(source.dtype, target):
        raise lossy_conversion(source.dtype, target)
    return source.to_contiguous() if source.dtype is target else cast(source, target)


@overload
def cast(x: HostTensorView[Any], dtype: type[S], /, overflow: Overflow = "error") -> HostTensor[S]: ...
@overload
def cast(  # type: ignore[overload-cannot-match]
    x: HostTensorView[Any], dtype: type[TensorScalar], /, overflow: Overflow = "error"
) -> HostTensor[TensorScalar]: ...
@overload
def cast(x: HostTensorView[Any], dtype: DTypeLike, /, overflow: Overflow = "error") -> HostTensor[Any]: ...


def cast(x: HostTensorView[Any], dtype: DTypeLike, /, overflow: Overflow = "error") -> HostTensor[Any]:
    """An owned tensor of any other element type, also where values are lost; see :func:`tensor_core.cast_scalar`.

    Raises:
        CastRangeError: a value does not fit and ``overflow`` is "error"; ``index`` is the first in column-major order.
        ArgumentError: another ``overflow``.
        DTypeError: no such type, or not a host tensor.

    >>> from tensor_core import I32
    >>> cast(HostTensor.from_nested([1.9, -1.9, 3e9]), I32, "saturate").to_nested()
    [1, -1, 2147483647]
    """
    source, target = _checked("cast", x), as_dtype(dtype)
    if overflow not in OVERFLOW_POLICIES:
        raise ArgumentError(
            f"cast: overflow is {shortened(overflow)}; accepted: 'error', 'saturate', 'wrap'", overflow=overflow
        )
    if source.dtype is target:
        return source.copy()
    elements = []
    for position, element in enumerate(source.to_flat(order="F")):
        try:
            elements.append(cast_scalar(element, source.dtype, target, overflow))
        except CastRangeError as error:
            index = unravel_index(position, source.shape, order="F")
            text = str(error).removeprefix("cast: ")
            raise CastRangeError(
                f"cast: element {index}: {text}", index=index, value=element, source=source.dtype, target=target
            ) from None
    return HostTensor(Storage.of(target, elements), TensorLayout(source.shape))


def _checked(operation: str, x: object) -> HostTensorView[Any]:
    if not isinstance(x, HostTensorView):
        raise DTypeError(f"{operation}: found {type(x).__name__}; accepted: a HostTensor or a HostTensorView")
    return x
