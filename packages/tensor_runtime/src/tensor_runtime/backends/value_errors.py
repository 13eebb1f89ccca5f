"""Errors of values that a kernel refuses: one wording for every backend, which says what it found and where.

A backend looks in its own way for the first offending element in column-major order; its index, or its number in that
order, is all that these need to know. Indices out of range have ``tensor_runtime.dispatch.index_checked.out_of_range``.
"""

from __future__ import annotations

from tensor_core.dtypes import DType
from tensor_core.errors import ArgumentError, CastRangeError, DivisionByZeroError

Index = tuple[int, ...]


def index_at(position: int, shape: Index, /) -> Index:
    """The index of an element by its number in column-major order.

    >>> index_at(4, (3, 2))
    (1, 1)
    """
    index = []
    for extent in shape:
        position, along = divmod(position, extent)
        index.append(along)
    return tuple(index)


def zero_divisor(operation: str, index: Index | None, /) -> DivisionByZeroError:
    """The error of a division of integers by 0.

    Args:
        operation: what the user called.
        index: of the first zero in the divisor; None where the divisor is a Python number.

    >>> print(zero_divisor("remainder", (1,)))
    remainder: the divisor at index (1,) is 0, and integers have no infinity; replace zeros with where(), or convert to
    F64 first
    """
    where = "the divisor is 0" if index is None else f"the divisor at index {index} is 0"
    return DivisionByZeroError(
        f"{operation}: {where}, and integers have no infinity; replace zeros with where(), or convert to F64 first",
        operation=operation,
        index=index,
    )


def negative_exponent(index: Index | None, value: int, /) -> ArgumentError:
    """The error of a power of integers with a negative exponent.

    Args:
        index: of the first one; None where the exponent is a Python number.
        value: the exponent.

    >>> print(negative_exponent(None, -1))
    pow: the exponent is -1, and integers have no negative powers; accepted: 0 or more (convert to F64 first)
    """
    where = "the exponent is" if index is None else f"the exponent at index {index} is"
    return ArgumentError(
        f"pow: {where} {value}, and integers have no negative powers; accepted: 0 or more (convert to F64 first)",
        operation="pow",
        index=index,
        value=value,
    )


def cast_out_of_range(index: Index, value: float, dtype: DType, /) -> CastRangeError:
    """The error of a cast to integers, of a value that they do not hold.

    Args:
        index: of the first such element.
        value: its real part.
        dtype: I32 or I64.

    >>> from tensor_core import I32
    >>> print(cast_out_of_range((2,), 1e10, I32))
    cast: element (2,) is 10000000000.0, out of range for I32; accepted: -2147483648 to 2147483647; or
    overflow='saturate' or 'wrap'
    """
    bits = 8 * dtype.itemsize
    return CastRangeError(
        f"cast: element {index} is {value!r}, out of range for {dtype}; accepted: {-(2 ** (bits - 1))} to "
        f"{2 ** (bits - 1) - 1}; or overflow='saturate' or 'wrap'",
        index=index,
        value=value,
        dtype=dtype,
    )


def number_out_of_range(operation: str, value: complex, dtype: DType, /) -> CastRangeError:
    """The error of a Python number beside a tensor of integers that do not hold it.

    >>> from tensor_core import I32
    >>> print(number_out_of_range("add", 2**31, I32))
    add: the number 2147483648 does not fit I32; convert the tensor to a wider dtype first
    >>> print(number_out_of_range("add", 2**300, I32))
    add: the number of 301 bits does not fit I32; convert the tensor to a wider dtype first
    """
    long = isinstance(value, int) and value.bit_length() > 256
    shown = f"of {value.bit_length()} bits" if long and isinstance(value, int) else str(value)
    return CastRangeError(
        f"{operation}: the number {shown} does not fit {dtype.name}; convert the tensor to a wider dtype first",
        value=value,
    )
